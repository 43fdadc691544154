//! `cargo xtask mutants`: faults put into the crate one at a time, each to be caught by the tests
//! of its room. cargo-mutants says which faults there are.
//!
//! A sample that is the same for the same seed, or all of them. Survivors have to be known, with a
//! reason each, in `host-tests/mutants.toml`. Faults by hand are there, too, see `by_hand`: all of
//! them have to be caught.
//!
//! Compiling takes longer than testing, so that all mutants are compiled at once, each behind a
//! switch. Only those without a place for a switch are compiled one by one.

mod by_hand;
mod mutant;
mod switches;
mod trial;
mod workplace;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use dunlin::math::split_mix;
use dunlin_host::output::progress::Progress;
use serde::Deserialize;

use self::by_hand::Fault;
use self::mutant::Mutant;
use self::switches::Switches;
use self::trial::Trial;
use self::workplace::Workplace;
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
}

/// Unit tests in files of their own, which are no code to put faults into.
const TESTS: &str = "**/tests.rs";

const ROOMS: &[Room] = &[
    Room {
        name: "store",
        files: &["src/store/**"],
        tests: &["store", "probe"],
    },
    Room {
        name: "scheduler",
        files: &["src/scheduler/**", "src/polite.rs"],
        tests: &["suite", "scheduler", "probe"],
    },
    Room {
        name: "fetch",
        files: &["src/fetch/**"],
        tests: &[
            "fetch_url",
            "fetch_response",
            "fetch_robots",
            "fetch_dates",
            "feed",
            "discover",
            "suite",
            "probe",
        ],
    },
    Room {
        name: "discover",
        files: &["src/discover/**", "src/rank/**", "src/xml/**"],
        tests: &["discover", "feed", "probe"],
    },
    Room {
        name: "fleet",
        files: &["src/fleet/**"],
        tests: &["fleet"],
    },
    Room {
        name: "probe",
        files: &["src/probe/**"],
        tests: &["probe", "suite"],
    },
];

/// Which of the mutants are tried.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Only this room; `by-hand` for the faults that somebody thought of.
    pub room: Option<&'a str>,
    /// All mutants instead of a sample.
    pub all: bool,
    /// Mutants of the sample, over all rooms.
    pub sample: usize,
    /// The seed that the sample is drawn with.
    pub seed: u64,
}

/// In place of a room: faults by hand.
const BY_HAND: &str = "by-hand";

/// The names of all rooms, and of what stands in place of one.
pub fn rooms() -> Vec<&'static str> {
    let rooms = ROOMS.iter().map(|room| room.name);
    rooms.chain([BY_HAND]).collect()
}

/// What became of mutants.
#[derive(Debug, Default)]
struct Outcomes {
    caught: usize,
    unviable: usize,
    survivors: Vec<String>,
}

/// Tries mutants and prints who survived.
///
/// # Errors
/// Too few were caught, a survivor has no reason, or cargo-mutants cannot work.
pub fn mutants(install: bool, choice: Choice<'_>) -> Result<()> {
    if choice.room == Some(BY_HAND) {
        return faults_by_hand();
    }
    setup::cargo_mutants(install)?;
    let mut listed: Vec<(Room, Mutant)> = Vec::new();
    let rooms = ROOMS.iter();
    for room in rooms.filter(|room| choice.room.is_none_or(|name| name == room.name)) {
        let names: Vec<Mutant> = serde_json::from_str(&capture(&mut list(room))?)
            .context("cannot read what cargo mutants lists")?;
        listed.extend(names.into_iter().map(|mutant| (*room, mutant)));
    }
    let total = listed.len();
    if !choice.all {
        sample(&mut listed, choice.sample, choice.seed, |(_, mutant)| {
            &mutant.name
        });
    }
    let outcomes = tried(&listed)?;
    judge(&outcomes, total)
}

/// Tries every fault that is listed: all have to be caught.
fn faults_by_hand() -> Result<()> {
    let mut faults = Vec::new();
    for fault in known()?.faults {
        let text = fs::read_to_string(root().join(&fault.file))
            .with_context(|| format!("cannot read {}", fault.file))?;
        faults.push(fault.into_mutant(&text)?);
    }
    let outcomes = tried(&faults)?;
    println!(
        "faults by hand: {} of {} caught",
        outcomes.caught,
        faults.len()
    );
    ensure!(
        outcomes.caught == faults.len(),
        "{} do not compile; not caught: {}",
        outcomes.unviable,
        outcomes.survivors.join("; ")
    );
    Ok(())
}

fn list(room: &Room) -> Command {
    let mut command = cargo();
    command.args(["mutants", "--list", "--json", "--package", "dunlin"]);
    command.args(["--exclude", TESTS]);
    for file in room.files {
        command.args(["--file", file]);
    }
    command
}

/// Keeps some `count` of them, chosen by the seed and their names, in their order. Code that moves,
/// comes or goes leaves the others in the sample.
fn sample<T>(of: &mut Vec<T>, count: usize, seed: u64, name: impl Fn(&T) -> &str) {
    let draw = |one: &T| {
        let name = without_place(name(one));
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        split_mix(&mut name.bytes().fold(seed, mix))
    };
    let mut drawn: Vec<u64> = of.iter().map(draw).collect();
    drawn.sort_unstable();
    if let Some(first_left) = drawn.get(count) {
        of.retain(|one| draw(one) < *first_left);
    }
}

/// What becomes of each of these.
fn tried(mutants: &[(Room, Mutant)]) -> Result<Outcomes> {
    let workplace = Workplace::new()?;
    say(format_args!(
        "{} mutants, in target/mutants/copy; compiling it takes a few minutes",
        mutants.len()
    ));
    let switches = Switches::new(&workplace, mutants)?;
    let mut rooms: Vec<Room> = mutants.iter().map(|(room, _)| *room).collect();
    rooms.dedup_by_key(|room| room.name);
    let programs = match workplace.build(&rooms)? {
        Ok(programs) => programs,
        Err(why) => bail!("the tests do not compile in target/mutants/copy: {why}"),
    };
    let mut trials = Vec::new();
    for program in programs {
        let name = program.name.clone();
        let trial = Trial::new(program)?;
        trials.push(trial.with_context(|| format!("{name} fails without any mutant"))?);
    }
    let mut outcomes = Outcomes::default();
    let mut progress = Progress::new("trying mutants", mutants.len() as u64);
    for (number, (room, mutant)) in mutants.iter().enumerate() {
        if switches.left.contains(&number) {
            continue;
        }
        let fate = if switches.unviable.contains(&number) {
            Fate::Unviable
        } else {
            fate(&of_room(&trials, room), Some(number))?
        };
        outcomes.add(room, mutant, fate);
        progress.at(number as u64);
    }
    for (number, (room, mutant)) in mutants.iter().enumerate() {
        if switches.left.contains(&number) {
            let fate = alone(&workplace, room, mutant, &trials)?;
            outcomes.add(room, mutant, fate);
        }
    }
    Ok(outcomes)
}

/// What became of one mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// By the test program of this name.
    Caught(String),
    Survived,
    /// It does not compile.
    Unviable,
}

impl Outcomes {
    fn add(&mut self, room: &Room, mutant: &Mutant, fate: Fate) {
        println!("{fate:?}\t{}\t{}", room.name, mutant.name);
        match fate {
            Fate::Caught(_) => self.caught += 1,
            Fate::Unviable => self.unviable += 1,
            Fate::Survived => self.survivors.push(mutant.name.clone()),
        }
    }
}

/// The unit tests and the room's own.
fn of_room(trials: &[Trial], room: &Room) -> Vec<Trial> {
    let belongs = |trial: &&Trial| trial.name() == "dunlin" || room.tests.contains(&trial.name());
    trials.iter().filter(belongs).cloned().collect()
}

fn fate(trials: &[Trial], number: Option<usize>) -> Result<Fate> {
    for trial in trials {
        if trial.catches(number)? {
            return Ok(Fate::Caught(trial.name().to_owned()));
        }
    }
    Ok(Fate::Survived)
}

/// Compiles one mutant and tries it.
fn alone(workplace: &Workplace, room: &Room, mutant: &Mutant, trials: &[Trial]) -> Result<Fate> {
    let original = workplace.original(&mutant.file)?;
    let text = mutant
        .alone(original)
        .context("a mutant lies outside its file")?;
    workplace.write(&mutant.file, text.as_bytes())?;
    let fate = match workplace.build(&[*room])? {
        Err(_) => Fate::Unviable,
        Ok(programs) => {
            let known = |name: &str| trials.iter().find(|trial| trial.name() == name);
            let trials = programs
                .iter()
                .filter_map(|program| Some(known(&program.name)?.of(program)));
            fate(&trials.collect::<Vec<_>>(), None)?
        }
    };
    workplace.write(&mutant.file, original.as_bytes())?;
    Ok(fate)
}

/// A survivor's name without its line and column, which move when code above it changes.
fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => name.to_owned(),
    }
}

/// The file `host-tests/mutants.toml` as it is read.
#[derive(Debug, Default, Deserialize)]
struct Known {
    /// The survivors that are known, with the reason why no test catches them.
    #[serde(default)]
    survivors: BTreeMap<String, String>,
    #[serde(default)]
    faults: Vec<Fault>,
}

fn known() -> Result<Known> {
    let file = root().join("host-tests/mutants.toml");
    let text = fs::read_to_string(&file).unwrap_or_default();
    toml::from_str(&text).with_context(|| format!("cannot read {}", file.display()))
}

fn judge(all: &Outcomes, total: usize) -> Result<()> {
    let known = known()?;
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
        let of = |from: usize, seed| {
            let mut names: Vec<String> = (from..2_801).map(|name| name.to_string()).collect();
            sample(&mut names, SAMPLE, seed, |name| name);
            names
        };
        let drawn = of(0, 1);
        assert_eq!(drawn, of(0, 1));
        assert_ne!(drawn, of(0, 2));
        assert_eq!(drawn.len(), SAMPLE);
        let number = |name: &String| name.parse::<usize>().ok();
        assert!(drawn.is_sorted_by_key(number));
        // Some have gone: the others are still drawn.
        let later = of(400, 1);
        let stays = |name: &&String| number(name) >= Some(400);
        assert!(drawn.iter().filter(stays).all(|name| later.contains(name)));
    }

    #[test]
    fn names_survive_moves() {
        let name = "src/a.rs:15:9: replace <impl A for B<E>>::f -> Option<[u8]> with Some(())";
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
