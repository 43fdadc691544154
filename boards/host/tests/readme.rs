//! README.md as somebody types it: every `dunlin` command is run, beside the files that the page
//! shows, but for those that a list names with the reason. Other pages' commands are understood.

mod program;

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::{CommandFactory as _, Parser as _};
use dunlin::update::SecretKey;
use dunlin_host::cli::Cli;
use dunlin_readme::Exception::{self, Instead, Skipped};
use dunlin_readme::{
    block_after, commands, compare, exceptions, filled_in, is_only_named, options, words,
};
use program::site::{self, serve};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// A planner and its probes take a broker and its port.
const BROKER: Exception = Skipped(
    "tests/python/results.py runs init, planner, probe, orders and status on a port that is free",
);

/// What README's commands need to be run here: an end, a web on loopback, and names for what the
/// page leaves open. BRIEF and PROBE stand for what the test knows.
const EXCEPTIONS: [(&str, Exception); 14] = [
    (
        "monitor --elf boards/target/thumbv7em-none-eabihf/release/qemu-mps2 --log tcp:127.0.0.1:19021 --pages PAGES.csv",
        Skipped("a probe in QEMU logs there: `cargo xtask monitor` watches one so"),
    ),
    (
        "fleet PAGES.csv --mosquitto roof --state roof/state --crawls-per-day 2000 --web 8080",
        BROKER,
    ),
    (
        "run --fleet mqtt://p1:PASSWORD@127.0.0.1:1883/fleet",
        BROKER,
    ),
    (
        "run --fleet mqtt://p2:PASSWORD@127.0.0.1:1883/fleet",
        BROKER,
    ),
    ("fleet status --state roof/state", BROKER),
    (
        "fleet PAGES.csv --mosquitto roof --state roof/state",
        BROKER,
    ),
    ("run PAGES.csv", Instead("run PAGES.csv BRIEF")),
    (
        "run PAGES.csv --discover --places 256 --export FILE",
        Instead("run PAGES.csv --discover --places 256 --export found.csv BRIEF"),
    ),
    (
        "run PAGES.csv --archive DIR",
        Instead("run PAGES.csv --archive DIR --state STATE BRIEF"),
    ),
    (
        "collect --archive DIR",
        Instead("collect --archive DIR --listen 127.0.0.1:0 --seconds 1"),
    ),
    (
        "history URL --archive DIR",
        Instead("history http://example.org/ --archive DIR"),
    ),
    (
        "diff URL --archive DIR",
        Instead("diff http://example.org/ --archive DIR"),
    ),
    (
        "test-filter URL --archive DIR --select '#news li'",
        Instead("test-filter http://example.org/ --archive DIR --select '#news li'"),
    ),
    (
        "push http://example.org/news --to probe.local --key sender.key",
        Instead("push http://example.org/news --to PROBE --key sender.key"),
    ),
];

/// Pages besides README that say what to type: it is understood.
const PAGES: [&str; 6] = [
    "boards/EMBEDDING.md",
    "boards/host/ARCHIVE.md",
    "boards/host/COLLECT.md",
    "boards/host/FLEET.md",
    "boards/host/README.md",
    "boards/host/TOLD.md",
];

/// What follows the program's name, in commands that are more than names.
fn arguments_of(all: &[Vec<String>]) -> Vec<&[String]> {
    let program = Cli::command();
    let arguments = all.iter().map(|words| match &words[..] {
        [cargo, _, rest @ ..] if cargo == "cargo" => rest,
        words => &words[1..],
    });
    let is_typed = |arguments: &&[String]| !is_only_named(arguments, &program);
    arguments.filter(is_typed).collect()
}

fn understand(page: &str, arguments: &[String]) {
    let arguments = arguments.iter().map(|word| filled_in(word));
    let arguments: Vec<&str> = ["dunlin"].into_iter().chain(arguments).collect();
    let parsed = Cli::try_parse_from(&arguments);
    assert!(
        parsed.is_ok(),
        "{page}: {arguments:?}: {}",
        parsed.expect_err("an error")
    );
}

#[test]
fn what_other_pages_say_to_type_is_understood() {
    let mut understood = 0;
    for page in PAGES {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let all = commands(&text, &["dunlin", "cargo dunlin"]);
        for arguments in arguments_of(&all) {
            understand(page, arguments);
            understood += 1;
        }
    }
    assert!(understood > 15, "{understood}");
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
    fs::write(
        folder.join("sender.key"),
        "000102030405060708090a0b0c0d0e0f\n",
    )
    .expect("written");
    let secret = SecretKey::new(&[5; 32], *b"a number");
    let keys = folder.join("boards/keys");
    fs::create_dir_all(&keys).expect("a folder");
    fs::write(keys.join("list.sec"), secret.file(&[5; 32], "secret")).expect("written");
    let recorded = root().join("host-tests/data/monitor");
    for (from, to) in [
        ("probe.elf", "FILE"),
        ("probe.defmt", "LOG"),
        ("probe.defmt", "SOURCE"),
    ] {
        fs::copy(recorded.join(from), folder.join(to)).expect("copied");
    }
    std::os::unix::fs::symlink(root().join("host-tests"), folder.join("host-tests"))
        .expect("a link");
    // The web of the list: each answer is another version.
    let versions = AtomicUsize::new(0);
    let web = serve(move |request| match request.path.ends_with("/robots.txt") {
        true => site::page("User-agent: *\nAllow: /\n"),
        false => {
            let version = versions.fetch_add(1, Ordering::Relaxed);
            site::page(&format!("<ul id=news><li>version {version}</ul>"))
        }
    });
    let probe = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let probe = probe.local_addr().expect("an address").to_string();
    let brief = "--seconds 2 --politeness 100ms --crawls-per-day max --proxy http://127.0.0.1";
    let brief = format!("{brief}:{web}");
    let all = commands(&page, &["dunlin", "cargo dunlin"]);
    let all = arguments_of(&all);
    let mut run = 0;
    for (arguments, exception) in all.iter().zip(exceptions(&all, &EXCEPTIONS)) {
        let arguments = match exception {
            None => arguments.to_vec(),
            Some(Instead(line)) => words(&line.replace("BRIEF", &brief).replace("PROBE", &probe)),
            Some(_) => {
                understand("README.md", arguments);
                continue;
            }
        };
        let output = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(&arguments)
            .current_dir(&folder)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
        run += 1;
    }
    assert!(run > 20, "{run} run: {all:?}");
    // What they are to write is there.
    for file in [
        "report.html",
        "LOG.html",
        "day.svg",
        "found.csv",
        "pages.img",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
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

/// The lines for a firmware's Cargo.toml resolve, with their features.
#[test]
fn the_dependency_lines_resolve() {
    let guide = fs::read_to_string(root().join("boards/EMBEDDING.md")).expect("a page");
    let pages = [
        ("firmware", block_after(&readme(), "## In your firmware")),
        (
            "embedding",
            block_after(&guide, "## The probe in a firmware"),
        ),
    ];
    for (name, lines) in pages {
        let lines = lines.replace("PATH/TO/dunlin", root().to_str().expect("a path"));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src")).expect("a folder");
        fs::write(folder.join("src/lib.rs"), "#![no_std]\n").expect("written");
        let manifest = format!(
            "[package]\nname = \"firmware\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{lines}"
        );
        fs::write(folder.join("Cargo.toml"), manifest).expect("written");
        let cargo = |arguments: &[&str]| {
            let output = Command::new(env!("CARGO"))
                .args(arguments)
                .current_dir(&folder)
                .output()
                .expect("cargo starts");
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            output.status.success().then_some(()).ok_or(error)
        };
        // Embassy is there as soon as firmware was built once; before that it is asked for.
        let resolved =
            cargo(&["generate-lockfile", "--offline"]).or_else(|_| cargo(&["generate-lockfile"]));
        assert_eq!(resolved, Ok(()), "{name}");
        if std::env::var_os("DUNLIN_LONG").is_some() && name == "firmware" {
            assert_eq!(cargo(&["check", "--offline"]), Ok(()));
        }
        fs::remove_dir_all(&folder).expect("removed");
    }
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

/// The step "Python package" of `cargo xtask test --long` installs it so, in an empty environment.
#[test]
fn the_python_package_is_where_the_readme_says() {
    let lines = commands(&readme(), &["pip install"]);
    assert_eq!(lines, [["pip", "install", "./boards/host/python"]]);
    assert!(root().join("boards/host/python/pyproject.toml").is_file());
}

#[test]
fn every_default_is_in_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("OPTIONS.md");
    compare(
        &file,
        &options("The options of dunlin, and their defaults", &Cli::command()),
    );
}
