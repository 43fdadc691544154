//! `cargo xtask test`: everything that must pass, in two lanes side by side, until the first
//! failure.
//!
//! One lane compiles and tests for this computer. The other one builds firmware and runs it in
//! QEMU, where most cases wait far longer than they compute. Neither needs what the other one
//! makes, and each works in a target folder of its own, so that cargo's locks keep nobody waiting.

mod steps;

use std::io::IsTerminal as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use dunlin_host::error::Error;
use dunlin_tools::firmware;
use dunlin_tools::shell::{self, find, say};
use dunlin_tools::words::{Words, hand_on};

use steps::{ALONE, COMPUTER, FIRMWARE, FIRST, Step};

/// How all steps are run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Install what is missing.
    pub install: bool,
    /// Run the long variants, too.
    pub long: bool,
    /// Go on after a failure.
    pub keep_going: bool,
}

/// Runs every step, or the one of this name in this very process.
pub fn test(settings: Settings, only: Option<&str>) -> Result<()> {
    match only {
        Some(name) => (named(name)?.run)(settings),
        None => all(settings),
    }
}

/// Every step in the order of the documentation.
fn steps(long: bool) -> impl Iterator<Item = &'static Step> {
    let alone = ALONE.iter().filter(move |_| long);
    FIRST.iter().chain(COMPUTER).chain(FIRMWARE).chain(alone)
}

fn named(name: &str) -> Result<&'static Step, Error> {
    let found = steps(true).find(|step| step.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = steps(true).map(|step| step.name).collect();
        Error::Usage(format!(
            "found step {name:?}, expected one of {}",
            known.join("; ")
        ))
    })
}

/// What has come of the steps so far.
#[derive(Debug, Default)]
struct Outcomes {
    passed: Vec<(&'static str, Duration)>,
    failed: Vec<(&'static str, Words)>,
}

/// Runs every step. After a failure no more are begun, and those that failed are named.
fn all(settings: Settings) -> Result<()> {
    let total = steps(settings.long).count();
    let begin = Instant::now();
    let outcomes = Mutex::new(Outcomes::default());
    let run = |lane: &'static [Step], place: Place| {
        let names: Vec<&str> = lane.iter().map(|step| step.name).collect();
        let progress = shell::steps("test", &names).in_lines();
        for step in lane {
            if !settings.keep_going && !lock(&outcomes).failed.is_empty() {
                return;
            }
            say(format_args!("step `{}` begins", step.name));
            progress.begin(step.name);
            let start = Instant::now();
            let words = Words::default();
            let result = step_in_child(step, place, settings, &words);
            let mut outcomes = lock(&outcomes);
            match result {
                Ok(()) => {
                    outcomes.passed.push((step.name, start.elapsed()));
                    say(format_args!(
                        "step `{}` passed in {:.0} s, {} of {total}",
                        step.name,
                        start.elapsed().as_secs_f64(),
                        outcomes.passed.len()
                    ));
                }
                Err(error) => {
                    outcomes.failed.push((step.name, words));
                    say(format_args!("step `{}` FAILED: {error:#}", step.name));
                }
            }
        }
        progress.end();
    };
    run(FIRST, Place::Front);
    thread::scope(|scope| {
        scope.spawn(|| run(COMPUTER, Place::Front));
        scope.spawn(|| run(FIRMWARE, Place::Beside));
    });
    if settings.long {
        run(ALONE, Place::Front);
    }
    let Outcomes { passed, failed } = outcomes.into_inner().unwrap_or_default();
    // Said again at the end: the other lane went on for a while, and its words lie between.
    for (name, words) in &failed {
        println!("step `{name}` failed; what it said of failures, and its last words:\n{words}");
    }
    for (name, time) in &passed {
        println!("{:6.0} s  {name}", time.as_secs_f64());
    }
    println!("{:6.0} s  in all", begin.elapsed().as_secs_f64());
    println!("{} passed, {} failed", passed.len(), failed.len());
    if let Some((name, _)) = failed.first() {
        bail!("step `{name}` failed");
    }
    Ok(())
}

/// Nobody panics while holding it.
fn lock(outcomes: &Mutex<Outcomes>) -> std::sync::MutexGuard<'_, Outcomes> {
    outcomes
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Where a step's words go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To where ours go, as they are. Steps here compile most of the time, and give way to the
    /// clocks and browsers of the other lane.
    Front,
    /// The same, each line after a mark that tells it from the other lane's.
    Beside,
}

/// Runs the step in a process of its own, so that the words of the two lanes can be told apart.
fn step_in_child(step: &Step, place: Place, settings: Settings, words: &Words) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = match find("nice").filter(|_| place == Place::Front) {
        Some(nice) => {
            let mut command = Command::new(nice);
            command.args(["-n", "5"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["test", "--step", step.name]);
    command.env(shell::IS_STEP, "1");
    if settings.long {
        command.arg("--long");
    }
    if !settings.install {
        command.arg("--no-install");
    }
    if step.needs_images {
        command.env(firmware::IS_BUILT, "1");
    }
    finish(&mut command, place, words)
}

/// What a step has said is read by then. Only a program that outlives its step keeps a pipe open
/// for longer.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs a command to its end; an error unless it ends with success. On a terminal, a step in front
/// has it for itself, for the progress bars of cargo.
fn finish(command: &mut Command, place: Place, words: &Words) -> Result<()> {
    command.stdin(Stdio::null());
    let cannot_start = "cannot start a step";
    if place == Place::Front && std::io::stderr().is_terminal() {
        let status = command.status().context(cannot_start)?;
        return judge(status);
    }
    let mark = match place {
        Place::Front => "",
        Place::Beside => "    | ",
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context(cannot_start)?;
    let output = hand_on(child.stdout.take(), words, move |line| {
        println!("{mark}{line}")
    });
    let errors = hand_on(child.stderr.take(), words, move |line| {
        eprintln!("{mark}{line}")
    });
    let status = child.wait().context("cannot wait for a step")?;
    for end in [output, errors] {
        if end.recv_timeout(LAST_WORDS) == Err(RecvTimeoutError::Timeout) {
            bail!("{status}, but a program that it started still runs");
        }
    }
    judge(status)
}

fn judge(status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{status}, see above");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_names_of_their_own() {
        let mut names: Vec<&str> = steps(true).map(|step| step.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// The time left is no guess where nothing was built before.
    #[test]
    fn it_is_known_how_long_each_step_usually_takes() {
        let known = |name| {
            let mut lines = shell::USUAL_TIMES.lines();
            lines.any(|line| {
                line.split_once('\t')
                    .is_some_and(|(known, _)| known == name)
            })
        };
        let unknown: Vec<_> = steps(false).filter(|step| !known(step.name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn a_step_passes_by_its_exit_code_alone() {
        for place in [Place::Front, Place::Beside] {
            let end = |script: &str| {
                let mut shell = Command::new("sh");
                finish(shell.args(["-c", script]), place, &Words::default())
            };
            assert!(end("echo it").is_ok(), "{place:?}");
            assert!(end("exit 1").is_err(), "{place:?}");
            assert!(end("echo it >&2; exit 101").is_err(), "{place:?}");
            assert!(end("kill -9 $$").is_err(), "{place:?}");
        }
    }

    #[test]
    fn a_program_that_outlives_its_step_fails_it_and_keeps_nobody_waiting() {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", "sleep 20 & exit 1"]);
        let ended = finish(shell, Place::Beside, &Words::default());
        let why = ended.expect_err("a failure").to_string();
        assert!(why.contains("exit status: 1"), "{why}");
        assert!(why.contains("still runs"), "{why}");
    }

    #[test]
    fn a_step_that_does_not_exist_is_refused_with_those_that_do() {
        let error = named("panics").err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("panic sites")));
    }
}
