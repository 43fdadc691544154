//! README.md as somebody types it: every `dunlin` command is understood, and those that end by
//! themselves are run, beside the files that the page shows.

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{CommandFactory as _, Parser as _};
use dunlin_host::cli::Cli;
use dunlin_readme::{commands, compare, options};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// The block that follows a line with these words.
fn block_after(page: &str, words: &str) -> String {
    let (_, rest) = page
        .split_once(words)
        .unwrap_or_else(|| panic!("no {words:?}"));
    let block = rest.split("```").nth(1).expect("a block");
    block.split_once('\n').expect("a language").1.to_owned()
}

/// Does it run until it is told to stop, need a probe that runs or a key of one's own, or name no
/// file in particular?
fn goes_on(words: &[String]) -> bool {
    let open = |word: &String| {
        word.contains("tcp:")
            || word.ends_with(".sec")
            || ["SOURCE", "LOG", "DIR", "STATE"].contains(&word.as_str())
    };
    let is_planner = words[0] == "fleet" && words.iter().any(|word| word == "--state");
    ["run", "push"].contains(&&*words[0]) || is_planner || words.iter().any(open)
}

#[test]
fn the_readme_shows_every_column_of_hosts() {
    let block = block_after(&readme(), "What is special about some hosts is");
    let shown: Vec<&str> = block.lines().next().expect("a header").split(',').collect();
    let known = dunlin_host::lists::hosts::columns();
    let missing: Vec<&str> = known.filter(|name| !shown.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn what_the_readme_says_to_type_works() {
    let page = readme();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(
        folder.join("PAGES.csv"),
        block_after(&page, "A page list is"),
    )
    .expect("written");
    fs::write(
        folder.join("HOSTS.csv"),
        block_after(&page, "What is special about some hosts is"),
    )
    .expect("written");
    fs::write(
        folder.join("HISTORY.csv"),
        block_after(&page, "What visits found, for"),
    )
    .expect("written");
    fs::write(folder.join("robots.txt"), "User-agent: *\nAllow: /\n").expect("written");
    std::os::unix::fs::symlink(root().join("host-tests"), folder.join("host-tests"))
        .expect("a link");
    let mut run = 0;
    let mut understood = 0;
    let all = commands(&page, &["dunlin", "cargo dunlin"]);
    for words in &all {
        let skipped = if words[0] == "cargo" { 2 } else { 1 };
        let arguments = &words[skipped..];
        // A command that is only named, as in this sentence's `dunlin run`.
        if let [name] = arguments
            && name != "help"
        {
            let known = Cli::command().find_subcommand(name).is_some();
            assert!(known || name == "…", "{words:?}");
            continue;
        }
        if !goes_on(arguments) {
            let output = Command::new(env!("CARGO_BIN_EXE_dunlin"))
                .args(arguments)
                .current_dir(&folder)
                .stdin(std::process::Stdio::null())
                .output()
                .expect("the program starts");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{words:?}: {error}");
            run += 1;
        } else {
            let parsed = Cli::try_parse_from([&["dunlin".to_owned()], arguments].concat());
            assert!(
                parsed.is_ok(),
                "{words:?}: {}",
                parsed.expect_err("an error")
            );
            understood += 1;
        }
    }
    assert!(
        run >= 10 && understood >= 3,
        "{run} run, {understood} understood: {all:?}"
    );
    // The report of the README is a page of its own.
    let made = fs::read_dir(&folder).expect("the folder").flatten();
    let pages = made.filter(|file| file.path().extension().is_some_and(|end| end == "html"));
    assert_eq!(pages.count(), 1);
    assert!(folder.join("day.svg").is_file());
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_command_goes_on_after_a_backslash() {
    let page = "```text\ndunlin check PAGES.csv \\\n    --hosts HOSTS.csv\ndunlin terms\n```\n";
    let words = [
        vec!["dunlin", "check", "PAGES.csv", "--hosts", "HOSTS.csv"],
        vec!["dunlin", "terms"],
    ];
    assert_eq!(commands(page, &["dunlin"]), words);
}

#[test]
fn a_command_of_the_readme_that_is_wrong_is_noticed() {
    let page =
        "```text\ncargo dunlin plan PAGES.csv --crawl 5 # how often\n```\nor `dunlin chek X`\n";
    let all = commands(page, &["dunlin", "cargo dunlin"]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].last().map(String::as_str), Some("5"));
    assert!(Cli::try_parse_from(&all[0][1..]).is_err());
    assert!(Cli::try_parse_from(&all[1]).is_err());
}

/// The line for a firmware's Cargo.toml resolves, with its features.
#[test]
fn the_dependency_line_resolves() {
    let line = block_after(&readme(), "## In your firmware");
    let line = line.replace("PATH/TO/dunlin", root().to_str().expect("a path"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("firmware");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src")).expect("a folder");
    fs::write(folder.join("src/lib.rs"), "#![no_std]\n").expect("written");
    let manifest = format!(
        "[package]\nname = \"firmware\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{line}"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    let cargo = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(&folder)
            .output()
            .expect("cargo starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
    };
    cargo(&["generate-lockfile", "--offline"]);
    if std::env::var_os("DUNLIN_LONG").is_some() {
        cargo(&["check", "--offline"]);
    }
    fs::remove_dir_all(&folder).expect("removed");
}

/// `cargo install --path boards/host` brings the program.
#[test]
fn the_program_installs() {
    let line = commands(&readme(), &["cargo install"])
        .pop()
        .expect("a line");
    assert_eq!(
        line,
        ["cargo", "install", "--locked", "--path", "boards/host"]
    );
    if std::env::var_os("DUNLIN_LONG").is_none() {
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let installed = Command::new(env!("CARGO"))
        .args(&line[1..])
        .args(["--offline", "--debug", "--root"])
        .arg(&folder)
        .current_dir(root())
        .status()
        .expect("cargo starts");
    assert!(installed.success() && folder.join("bin/dunlin").is_file());
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn every_default_is_in_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("OPTIONS.md");
    compare(
        &file,
        &options("The options of dunlin, and their defaults", &Cli::command()),
    );
}
