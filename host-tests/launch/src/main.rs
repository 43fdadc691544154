//! What `cargo xtask` and `cargo dunlin` start: builds the program where one can see it, and then
//! becomes it.
//!
//! `cargo run` alone is either silent for the minutes of a first build, or adds lines of its own to
//! the program's, behind its errors even.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// A program's name, and how cargo builds it.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("xtask", &["--package", "xtask"]),
    (
        "dunlin",
        &["--release", "--package", "dunlin-host", "--bin", "dunlin"],
    ),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some((name, options)) = PROGRAMS.iter().find(|program| name == program.0) else {
        eprintln!("error: found program {name:?}, expected xtask or dunlin");
        return ExitCode::from(2);
    };
    match build(name, options) {
        Ok(program) => {
            let mut command = Command::new(&program);
            let error = command.args(arguments).envs(built_once()).exec();
            eprintln!("error: cannot start {}: {error}", program.display());
            ExitCode::FAILURE
        }
        Err(code) => code,
    }
}

/// Where continuous integration builds everything once, nothing is kept for building it faster the
/// next time: that takes longer and is thrown away.
fn built_once() -> Option<(&'static str, &'static str)> {
    let is_once = std::env::var_os("CI").is_some();
    is_once.then_some(("CARGO_INCREMENTAL", "0"))
}

/// Builds the program: cargo's own progress on a terminal, its lines elsewhere, nothing if there is
/// nothing to do.
fn build(name: &str, options: &[&str]) -> Result<PathBuf, ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .args(["build", "--message-format", "json-render-diagnostics"])
        .args(options)
        .envs(built_once())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let seen = std::io::stderr().is_terminal();
    if !seen {
        command.stderr(Stdio::piped());
    }
    let failed = |error: std::io::Error| {
        eprintln!("error: cannot start cargo: {error}");
        ExitCode::FAILURE
    };
    let mut child = command.spawn().map_err(failed)?;
    let words = child.stderr.take();
    let shown = std::thread::spawn(move || words.into_iter().for_each(pass_on));
    let mut messages = String::new();
    if let Some(mut output) = child.stdout.take() {
        // What cannot be read lacks the program's place, which is said below.
        let _ = output.read_to_string(&mut messages);
    }
    let status = child.wait().map_err(failed)?;
    let _ = shown.join();
    if !status.success() {
        return Err(ExitCode::FAILURE);
    }
    executable(&messages, name).ok_or_else(|| {
        eprintln!("error: cargo does not say where it built {name}");
        ExitCode::FAILURE
    })
}

/// Hands on what cargo says, but for the line that ends every build.
fn pass_on(words: impl std::io::Read) {
    let lines = BufReader::new(words).lines().map_while(Result::ok);
    lines
        .filter(|line| !line.trim_start().starts_with("Finished"))
        .for_each(|line| eprintln!("{line}"));
}

/// Where the program is, by cargo's messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    const FIELD: &str = "\"executable\":\"";
    let places = messages.lines().filter_map(|line| {
        let (_, rest) = line.split_once(FIELD)?;
        let (place, _) = rest.split_once('"')?;
        // JSON writes a backslash twice; no other character of a path needs it.
        Some(PathBuf::from(place.replace("\\\\", "\\")))
    });
    let mut programs = places.filter(|place| place.file_stem().is_some_and(|stem| stem == name));
    programs.next_back()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Every package below the given ones, with its features: several lines if build scripts need
    /// it with others.
    fn packages(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        let mut tree = Command::new(env!("CARGO"));
        tree.args([
            "tree",
            "--offline",
            "--prefix",
            "none",
            "--format",
            "{p}:{f}",
        ]);
        let output = tree.args(selection).output().expect("cargo");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        let mut packages = BTreeMap::<_, BTreeSet<_>>::new();
        // Lines without a package stand between the packages that were asked for.
        let lines = String::from_utf8_lossy(&output.stdout);
        let lines = lines.lines().map(|line| line.trim_end_matches(" (*)"));
        for (package, features) in lines.filter_map(|line| line.rsplit_once(':')) {
            let known = packages.entry(package.to_owned()).or_default();
            known.insert(features.to_owned());
        }
        packages
    }

    /// A package with other features is compiled again, and so is everybody who uses it. The
    /// features are asked for in xtask's Cargo.toml.
    #[test]
    fn tests_find_compiled_what_xtask_is_made_of() {
        let mut xtask = packages(&["--package", "xtask", "--edges", "normal,build"]);
        let tests = packages(&["--workspace", "--edges", "normal,build,dev"]);
        assert!(xtask.len() > 100, "{xtask:#?}");
        let apart = |package: &String, features: &mut BTreeSet<String>| {
            let there = tests.get(package);
            there.is_none_or(|there| there.is_disjoint(features))
        };
        xtask.retain(apart);
        assert!(xtask.is_empty(), "compiled with other features: {xtask:#?}");
    }

    #[test]
    fn the_program_is_where_cargo_says() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/a b/target/release/dunlin\",\"fresh\":true}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(
            executable(messages, "dunlin"),
            Some("/a b/target/release/dunlin".into())
        );
        assert_eq!(executable(messages, "xtask"), None);
    }
}
