//! `cargo xtask mutants`: faults put into the crate one at a time by cargo-mutants, each to be
//! caught by the tests of its room.
//!
//! A sample that is the same for the same seed, or all of them. Survivors have to be known, with a
//! reason each, in `host-tests/mutants.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use dunlin::math::split_mix;
use serde::Deserialize;

use crate::setup;
use crate::shell::{capture, cargo, root, say};

/// Mutants of a sample.
pub const SAMPLE: usize = 200;
/// Of the mutants that compile, so many of a hundred have to be caught.
const CAUGHT_PERCENT: usize = 90;

/// A part of the crate, and the test programs that belong to it.
#[derive(Clone, Copy, Debug)]
struct Room {
    name: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
    /// Some of them need the program for this computer, which is most of what there is to compile.
    needs_program: bool,
}

/// Unit tests in files of their own, which are no code to put faults into.
const TESTS: &str = "**/tests.rs";

const ROOMS: &[Room] = &[
    Room {
        name: "store",
        files: &["src/store/**"],
        tests: &["store"],
        needs_program: false,
    },
    Room {
        name: "scheduler",
        files: &["src/scheduler/**", "src/polite.rs"],
        tests: &["scheduler"],
        needs_program: true,
    },
    Room {
        name: "fetch",
        files: &["src/fetch/**"],
        tests: &[
            "fetch_url",
            "fetch_response",
            "fetch_robots",
            "fetch_dates",
            "suite",
            "probe",
        ],
        needs_program: false,
    },
    Room {
        name: "discover",
        files: &["src/discover/**", "src/rank/**", "src/xml/**"],
        tests: &["discover"],
        needs_program: true,
    },
    Room {
        name: "probe",
        files: &["src/probe/**"],
        tests: &["probe", "cancellation"],
        needs_program: false,
    },
];

/// What to try.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Only this room.
    pub room: Option<&'a str>,
    /// All mutants instead of a sample.
    pub all: bool,
    /// Mutants of the sample, over all rooms.
    pub sample: usize,
    /// Of the sample.
    pub seed: u64,
}

/// The names of all rooms.
pub fn rooms() -> Vec<&'static str> {
    ROOMS.iter().map(|room| room.name).collect()
}

/// What became of mutants.
#[derive(Debug, Default)]
struct Outcomes {
    caught: usize,
    unviable: usize,
    survivors: Vec<String>,
}

/// Tries mutants room by room and prints who survived.
///
/// # Errors
/// Too few were caught, a survivor has no reason, or cargo-mutants cannot work.
pub fn mutants(install: bool, choice: Choice<'_>) -> Result<()> {
    setup::cargo_mutants(install)?;
    let mut listed: Vec<(Room, String)> = Vec::new();
    let rooms = ROOMS.iter();
    for room in rooms.filter(|room| choice.room.is_none_or(|name| name == room.name)) {
        let names = capture(&mut list(room))?;
        listed.extend(names.lines().map(|name| (*room, name.to_owned())));
    }
    let total = listed.len();
    if !choice.all {
        sample(&mut listed, choice.sample, choice.seed);
    }
    let mut all = Outcomes::default();
    for room in ROOMS {
        let names: Vec<&str> = listed
            .iter()
            .filter(|(of, _)| of.name == room.name)
            .map(|(_, name)| name.as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        let outcomes = run(room, &names)?;
        println!(
            "mutants {}: {} of {} caught, {} do not compile",
            room.name,
            outcomes.caught,
            outcomes.caught + outcomes.survivors.len(),
            outcomes.unviable
        );
        all.caught += outcomes.caught;
        all.unviable += outcomes.unviable;
        all.survivors.extend(outcomes.survivors);
    }
    judge(&all, total)
}

fn list(room: &Room) -> Command {
    let mut command = cargo();
    command.args(["mutants", "--list", "--package", "dunlin"]);
    command.args(["--exclude", TESTS]);
    for file in room.files {
        command.args(["--file", file]);
    }
    command
}

/// Keeps `count` of them, chosen by the seed, in their order.
fn sample<T>(of: &mut Vec<T>, count: usize, mut seed: u64) {
    while of.len() > count {
        let place = split_mix(&mut seed) % of.len() as u64;
        of.remove(place as usize);
    }
}

/// Tries these mutants with the room's tests.
fn run(room: &Room, names: &[&str]) -> Result<Outcomes> {
    let target = root().join("target/mutants");
    let folder = target.join(room.name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut command = cargo();
    command
        .args(["mutants", "--package", "dunlin", "--exclude", TESTS])
        // The unit tests of the crate, and the room's test programs.
        .args(["--test-package", "dunlin", "--test-package", "host-tests"])
        .args(["--cargo-test-arg=--lib", "--no-shuffle", "--output"])
        .arg(&folder)
        // Dependencies are compiled once, not once a run.
        .env("CARGO_TARGET_DIR", target.join("build"))
        // A mutant that never ends is caught, too; a room's tests take a minute.
        .args(["--minimum-test-timeout", "120"]);
    if !room.needs_program {
        command.arg("--no-default-features");
    }
    for test in room.tests {
        command.args([
            "--cargo-test-arg=--test",
            &format!("--cargo-test-arg={test}"),
        ]);
    }
    for name in names {
        command.args(["--re", &format!("^{}$", escaped(name))]);
    }
    say(format_args!(
        "cargo mutants: {} of {}, log in {}",
        names.len(),
        room.name,
        folder.display()
    ));
    let status = command
        .stdin(Stdio::null())
        .status()
        .context("cannot start cargo mutants")?;
    // 2: some survived; 3: some never ended. What became of each is in a file.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo mutants failed: {status}");
    }
    let outcomes = read(&folder.join("mutants.out"))?;
    let tried = outcomes.caught + outcomes.survivors.len() + outcomes.unviable;
    ensure!(
        tried == names.len(),
        "{tried} mutants of {} were tried, expected {}",
        room.name,
        names.len()
    );
    Ok(outcomes)
}

/// What cargo-mutants wrote down: one name a line.
fn read(folder: &Path) -> Result<Outcomes> {
    let lines = |name: &str| -> Result<Vec<String>> {
        let file: PathBuf = folder.join(name);
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Outcomes {
        caught: lines("caught.txt")?.len() + lines("timeout.txt")?.len(),
        unviable: lines("unviable.txt")?.len(),
        survivors: lines("missed.txt")?,
    })
}

/// A name as a regular expression that matches it alone.
fn escaped(name: &str) -> String {
    let special = |c: char| r"\.+*?()|[]{}^$-".contains(c);
    let escape = |c: char| {
        if special(c) {
            format!("\\{c}")
        } else {
            c.to_string()
        }
    };
    name.chars().map(escape).collect()
}

/// A survivor's name without its line and column, which move when code above it changes.
fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => name.to_owned(),
    }
}

/// The survivors that are known, with the reason why no test catches them.
#[derive(Debug, Default, Deserialize)]
struct Known {
    #[serde(default)]
    survivors: BTreeMap<String, String>,
}

fn judge(all: &Outcomes, total: usize) -> Result<()> {
    let file = root().join("host-tests/mutants.toml");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let known: Known =
        toml::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?;
    let mut unexplained = 0;
    for survivor in &all.survivors {
        match known.survivors.get(&without_place(survivor)) {
            Some(reason) => println!("survived, known: {survivor}: {reason}"),
            None => {
                unexplained += 1;
                println!("survived: {survivor}");
            }
        }
    }
    let tried = all.caught + all.survivors.len();
    println!(
        "mutants: {} of {tried} caught ({:.1} %), of {total} there are",
        all.caught,
        100.0 * all.caught as f64 / tried.max(1) as f64
    );
    ensure!(
        all.caught * 100 >= tried * CAUGHT_PERCENT,
        "expected {CAUGHT_PERCENT} % to be caught"
    );
    ensure!(
        unexplained == 0,
        "{unexplained} survivors without a reason in host-tests/mutants.toml"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let drawn = |seed| {
            let mut numbers: Vec<usize> = (0..2_801).collect();
            sample(&mut numbers, SAMPLE, seed);
            numbers
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(drawn(1).len(), SAMPLE);
        assert!(drawn(1).is_sorted());
    }

    #[test]
    fn names_match_themselves_and_survive_moves() {
        let name = "src/a.rs:15:9: replace <impl A for B<E>>::f -> Option<[u8]> with Some(())";
        assert_eq!(
            escaped(name),
            r"src/a\.rs:15:9: replace <impl A for B<E>>::f \-> Option<\[u8\]> with Some\(\(\)\)"
        );
        assert_eq!(
            without_place(name),
            "src/a.rs: replace <impl A for B<E>>::f -> Option<[u8]> with Some(())"
        );
    }

    #[test]
    fn survivors_need_a_reason_and_must_be_few() {
        let outcomes = |caught, survivors: &[&str]| Outcomes {
            caught,
            unviable: 0,
            survivors: survivors.iter().map(|name| (*name).to_owned()).collect(),
        };
        judge(&outcomes(10, &[]), 10).expect("all were caught");
        let unknown = outcomes(99, &["src/no.rs:1:1: nobody knows it"]);
        assert!(judge(&unknown, 100).is_err(), "no reason is given");
        assert!(judge(&outcomes(1, &["a", "b"]), 3).is_err(), "too many");
    }
}
