//! The probe from end to end, in QEMU: cases judged by the logs of servers on loopback
//! ([`run`]), the monitor in a browser and a terminal ([`monitor`]), a day in virtual time
//! ([`day`]), the on-target suite ([`suite`]) and the demo ([`demo`]).

mod collecting;
mod command;
mod crawling;
pub mod day;
mod debugger;
pub mod demo;
mod discovering;
mod fleet;
mod hostile;
pub mod monitor;
mod own_firmware;
mod pushing;
mod state;
pub mod suite;
mod tcp_log;
mod telling;
mod time;
mod time_server;
mod tls;
pub mod update;

pub use tls::front::Handshakes;
pub use tls::sessions::{Kept, kept};

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use dunlin_host::output::progress::Progress;
use dunlin_tools::firmware::budgets::{
    COLLECT, DISCOVER, FILTER, FLEET, HEADERS, HINTS, HTTPS, PUSH, UPDATE,
};
use dunlin_tools::{firmware, setup};
use libtest_mimic::{Arguments, Failed, Trial};

/// Cases at a time: they wait for clocks and answers far longer than they compute.
const AT_ONCE: usize = 5;

/// A name, and what has to pass with the firmware in this file.
type Case = (&'static str, fn(&Path) -> Result<()>);

/// All cases of a few minutes. Those that take longest come first, so that none of them is waited
/// for at the end.
const CASES: &[Case] = &[
    (
        "fresher than round robin at the same budget",
        crawling::beats_round_robin,
    ),
    ("killed at random moments", |elf| state::killed(elf, 5)),
    (
        "collected: three probes and a computer, every version once",
        |elf| collecting::delivers(elf, 30, 0),
    ),
    (
        "collected: by a collector that is killed and comes back",
        |elf| collecting::delivers(elf, 45, 1),
    ),
    ("collected: by a collector that stands still", |elf| {
        collecting::stalls(elf, &collecting::SHORT_STALLS)
    }),
    ("discovered: the most important pages, and no trap", |elf| {
        discovering::holds_the_best(elf, &discovering::SHORT)
    }),
    (
        "a fleet: three probes share a web, and one of them is gone",
        fleet::shares,
    ),
    (
        "a fleet: over TLS, and whom a probe trusts outlives a list",
        fleet::secure::trusts,
    ),
    (
        "collected: only what counts is a change, and secrets stay on the device",
        collecting::filters,
    ),
    (
        "a second run resumes, and knows what is not its own",
        state::resumes,
    ),
    (
        "a page that moved for good is asked for there after a power cut",
        state::moved,
    ),
    ("last words, and an end to boot loops", state::panics),
    (
        "a watchdog that bites, and an end to that, too",
        state::hangs,
    ),
    (
        "the last good image stands in for a bad one",
        state::last_good_image,
    ),
    (
        "a time server wins over Date headers, which stand in for it",
        time::time_server,
    ),
    ("a link that is lost for ten seconds", crawling::link_loss),
    (
        "a server that is killed and comes back",
        crawling::server_restarts,
    ),
    (
        "a hanging host blocks only itself; 429 and failing names",
        crawling::bad_hosts,
    ),
    (
        "a robots.txt that is made to be slow stalls nobody",
        crawling::slow_robots,
    ),
    (
        "kept connections and a robots.txt that has moved",
        command::kept_connections,
    ),
    (
        "a gateway, a static address, allowed hours",
        command::configured,
    ),
    (
        "polite, conditional, robots obeyed, changes seen",
        crawling::crawls_politely,
    ),
    (
        "redirects are followed, but never to private addresses",
        crawling::redirects,
    ),
    (
        "a web that misbehaves harms nobody, on this computer",
        |_| hostile::on_this_computer(false),
    ),
    ("a web that misbehaves harms nobody, in QEMU", |elf| {
        hostile::in_qemu(elf, false)
    }),
    (
        "https: certificates, each accepted or refused for its reason",
        tls::certificates,
    ),
    (
        "https: a maze of namesakes, within the stack that boards leave",
        tls::lost_in_a_maze,
    ),
    (
        "https: servers that break the rules hold nobody up",
        tls::protocol,
    ),
    ("https: sessions are resumed", tls::sessions::resumes),
    ("https: the greediest handshakes", |elf| {
        tls::sessions::greediest(elf, 12, 20)
    }),
    (
        "https: a host that changes its certificate and its authority",
        tls::sessions::rotates,
    ),
    ("https: OpenSSL and nginx", tls::real_peers),
    (
        "https: the same servers against dunlin run",
        tls::computer::on_this_computer,
    ),
    (
        "https: a host that changes its certificate, against dunlin run",
        tls::computer::rotates,
    ),
    ("https: nothing without the date", tls::without_time),
    (
        "https: beside http in one list, and redirects to it",
        tls::mixed::mixed,
    ),
    (
        "https: three long pages through one buffer",
        tls::mixed::at_once,
    ),
    (
        "a log over the network, for monitors that come and go",
        tcp_log::monitors_read_it,
    ),
    (
        "the guide's firmware of one's own crawls",
        own_firmware::crawls,
    ),
    (
        "updates: from one build to the next",
        update::from_one_build_to_the_next,
    ),
    (
        "updates: a build that panics, hangs, is mute, lost or gets no page is rolled back",
        update::rolled_back,
    ),
    (
        "updates: a good build stays on a list that is visited seldom",
        update::seldom,
    ),
    (
        "updates: the old build is back within eleven minutes",
        update::back_in_time,
    ),
    ("updates: keys, a release, and a probe", update::released),
    ("updates: the demo", update::demo::case),
    ("updates: what is refused", update::refusals),
    ("updates: a list takes another's place", update::lists),
    (
        "updates: a download goes on where it broke off",
        update::resumed,
    ),
    (
        "updates: a state file of before is taken over",
        update::taken_over,
    ),
    (
        "updates: a normal start takes no longer",
        update::starts_as_soon,
    ),
    ("updates: power cuts in steps", update::cut_in_steps),
    ("updates: killed at random moments", |elf| {
        update::killed(elf, 5)
    }),
    (
        "hints: a host is listened to within budget, and a liar gains nothing",
        |elf| telling::tells(elf, 40, -0.06, 0.12),
    ),
    (
        "pushes: who has a key is heard, and nobody else",
        pushing::hears,
    ),
    ("pushes: a flood of lies costs others nothing", |_| {
        pushing::floods(40, 0.05)
    }),
    ("Ctrl-C", command::interrupted),
    ("a log of warnings alone", command::quiet),
    ("a key of its own", command::key_of_its_own),
    (
        "images that are damaged, newer, too large or missing",
        crawling::bad_images,
    ),
    ("lists and options that cannot be run", command::refused),
];

/// Those that take many minutes, one after the other.
const LONG_CASES: &[Case] = &[
    ("killed at random moments, fifty times", |elf| {
        state::killed(elf, 50)
    }),
    (
        "updates: a power cut at every operation",
        update::cut_everywhere,
    ),
    (
        "updates: a good build stays after two minutes",
        update::two_minutes_up,
    ),
    ("updates: killed at random moments, fifty times", |elf| {
        update::killed(elf, 50)
    }),
    ("https: a thousand of the greediest handshakes", |elf| {
        tls::sessions::greediest(elf, 240, 1_000)
    }),
    (
        "https: ten minutes of resumed sessions, as fresh as over http",
        tls::sessions::ten_minutes,
    ),
    (
        "a fleet: ten minutes in which everything dies once",
        fleet::ten_minutes::survives,
    ),
    (
        "collected: three probes and a computer for five minutes",
        |elf| collecting::delivers(elf, 300, 0),
    ),
    (
        "collected: five minutes, with a collector that is killed thirty times",
        |elf| collecting::delivers(elf, 300, 30),
    ),
    (
        "collected: a collector that stalls costs no freshness",
        |elf| collecting::stalls(elf, &collecting::STALLS),
    ),
    ("discovered: 256 of 2,000 pages on ten hosts", |elf| {
        discovering::holds_the_best(elf, &discovering::LONG)
    }),
    (
        "hints: the truth, a lie and silence, for five minutes",
        |elf| telling::beside_silence(elf, 300, 0.05),
    ),
    ("pushes: a flood of lies, for five minutes", |_| {
        pushing::floods(300, 0.01)
    }),
    ("near the optimum", crawling::near_the_optimum),
    (
        "learns from nothing in seconds",
        crawling::learns_from_nothing,
    ),
    (
        "a web that misbehaves slowly harms nobody, on this computer",
        |_| hostile::on_this_computer(true),
    ),
    ("a web that misbehaves in every way, in QEMU", |elf| {
        hostile::in_qemu(elf, true)
    }),
];

/// Runs every case whose name contains `only`, and says how many passed.
///
/// # Errors
/// A case has failed, or no case has such a name.
pub fn run(install: bool, only: Option<&str>, long: bool) -> Result<u64> {
    // Said before anything is built, which takes minutes.
    let names = || CASES.iter().map(|(name, _)| *name);
    let long_names = || LONG_CASES.iter().map(|(name, _)| *name);
    if let Some(only) = only {
        find(only, names(), long_names(), long)?;
    }
    setup::qemu(install)?;
    setup::tls_peers(install)?;
    setup::signify(install)?;
    setup::broker(install)?;
    setup::python(install)?;
    // Those with features are looked for beside the other.
    firmware::build_https_firmware(install)?;
    firmware::build_firmware(install, &[COLLECT, FILTER, HEADERS].map(str::to_owned))?;
    firmware::build_firmware(install, &[DISCOVER.to_owned()])?;
    firmware::build_firmware(install, &[FLEET, HTTPS].map(str::to_owned))?;
    firmware::build_firmware(install, &[HINTS, PUSH].map(str::to_owned))?;
    firmware::build_firmware(install, &[UPDATE.to_owned()])?;
    firmware::build_boot_loader(install)?;
    if long {
        firmware::build_firmware(install, &[FLEET.to_owned()])?;
    }
    let elf = firmware::build(install, firmware::BOARD)?;
    WATCHED.store(only.is_some(), Ordering::Relaxed);
    let mut passed = conclude(CASES, &elf, only, AT_ONCE)?;
    if long {
        passed += conclude(LONG_CASES, &elf, only, 1)?;
    }
    Ok(passed)
}

/// Is there a case to run whose name contains `only`?
fn find<'a>(
    only: &str,
    mut cases: impl Iterator<Item = &'a str>,
    mut long_cases: impl Iterator<Item = &'a str>,
    long: bool,
) -> Result<()> {
    let is_meant = |name: &str| name.contains(only);
    if cases.any(is_meant) {
        return Ok(());
    }
    match (long_cases.any(is_meant), long) {
        (true, true) => Ok(()),
        (true, false) => bail!("the case {only:?} takes many minutes: it runs with --long"),
        (false, _) => bail!("found no case whose name contains {only:?}"),
    }
}

/// Cases measure clocks and rates. One that failed while others kept the processor busy is judged
/// once more, alone, and what it takes to pass is said.
fn conclude(cases: &[Case], elf: &Path, only: Option<&str>, at_once: usize) -> Result<u64> {
    let arguments = Arguments {
        filter: only.map(str::to_owned),
        test_threads: Some(at_once),
        ..Arguments::default()
    };
    let wanted = |case: &&Case| only.is_none_or(|only| case.0.contains(only));
    let total = cases.iter().filter(wanted).count() as u64;
    let failed = Arc::new(Mutex::new(Vec::new()));
    let done = Arc::new(Mutex::new((
        0,
        Progress::new("end to end", total).in_lines(),
    )));
    let trials = cases.iter().map(|case| {
        trial(
            *case,
            elf.to_owned(),
            Arc::clone(&failed),
            Arc::clone(&done),
        )
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let failed = std::mem::take(&mut *failed.lock().unwrap_or_else(PoisonError::into_inner));
    // A case that panicked is not among them.
    let again = failed.len() as u64;
    ensure!(
        conclusion.num_failed == again && again <= MOST_AGAIN,
        "{} end-to-end cases failed",
        conclusion.num_failed
    );
    for (name, case) in &failed {
        CASE.set(name);
        show("begins again, alone");
        WATCHED.store(true, Ordering::Relaxed);
        case(elf).with_context(|| format!("{name} failed twice, the second time alone"))?;
        show("passed alone, after it had failed beside other cases");
    }
    Ok(conclusion.num_passed + again)
}

/// Cases that may be judged once more: if there are more, it is not the processor.
const MOST_AGAIN: u64 = 5;

/// How many cases have ended.
type Done = Arc<Mutex<(u64, Progress)>>;

fn trial((name, case): Case, elf: PathBuf, failed: Arc<Mutex<Vec<Case>>>, done: Done) -> Trial {
    Trial::test(name, move || {
        CASE.set(name);
        show("begins");
        let start = Instant::now();
        let ended = case(&elf);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += 1;
        let count = done.0;
        done.1.at(count);
        drop(done);
        ended.map_err(|error| {
            show_recent();
            show(format_args!("FAILED: {error:#}"));
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.push((name, case));
            Failed::from(format!("{error:#}"))
        })?;
        let seconds = start.elapsed().as_secs();
        show(format_args!("passed in {seconds} s: {name}"));
        Ok(())
    })
}

thread_local! {
    /// The case that runs in this thread; empty in threads that a case has started.
    static CASE: Cell<&'static str> = const { Cell::new("") };
}

/// Prints a line of the case that runs in this thread, after the beginning of the case's name.
pub(crate) fn show(line: impl std::fmt::Display) {
    eprintln!("{:.16}| {line}", CASE.get());
}

/// A single case is watched: its probes' lines are printed as they come.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// The latest lines of all probes, each with its case.
static RECENT: Mutex<VecDeque<(&str, String)>> = Mutex::new(VecDeque::new());

/// Lines of probes that are kept: some hundreds a case that runs.
const MOST_RECENT: usize = 2_000;

/// Takes a line of a probe. Dozens of cases would drown what counts in them, so they are printed
/// only where one case is asked for by name, or when it has failed.
pub(crate) fn trace(line: impl std::fmt::Display) {
    if WATCHED.load(Ordering::Relaxed) {
        return show(line);
    }
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if recent.len() >= MOST_RECENT {
        recent.pop_front();
    }
    recent.push_back((CASE.get(), line.to_string()));
}

/// Prints what probes said lately in this thread's case, and in threads that some case has started.
fn show_recent() {
    let case = CASE.get();
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let of_this_case = recent
        .iter()
        .filter(|(name, _)| *name == case || name.is_empty());
    for (name, line) in of_this_case {
        eprintln!("{name:.16}| {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_case_is_refused_before_anything_is_built() {
        let found = |only: &str, long| {
            let names = ["it starts", "it stops"].into_iter();
            let said = find(only, names, ["it stays"].into_iter(), long);
            said.err().map(|error| error.to_string())
        };
        assert_eq!(found("stop", false), None);
        assert_eq!(found("stay", true), None);
        let expected = "the case \"stay\" takes many minutes: it runs with --long";
        assert_eq!(found("stay", false).as_deref(), Some(expected));
        let expected = "found no case whose name contains \"nothing\"";
        assert_eq!(found("nothing", true).as_deref(), Some(expected));
    }
}
