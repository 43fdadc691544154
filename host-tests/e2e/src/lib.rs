//! The probe from end to end, in QEMU: cases judged by the logs of servers on loopback
//! ([`run`]), the monitor in a browser and a terminal ([`monitor`]), a day in virtual time
//! ([`day`]), the on-target suite ([`suite`]) and the demo ([`demo`]).

mod command;
mod crawling;
pub mod day;
mod debugger;
pub mod demo;
mod hostile;
pub mod monitor;
mod state;
pub mod suite;
mod tcp_log;
mod time;
mod time_server;
mod tls;

pub use tls::front::Handshakes;
pub use tls::sessions::{Kept, kept};

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use dunlin_tools::{firmware, setup};
use libtest_mimic::{Arguments, Failed, Trial};

/// Cases at a time: they wait for clocks and answers far longer than they compute.
const AT_ONCE: usize = 6;

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
        tls::on_this_computer,
    ),
    ("https: nothing without the date", tls::without_time),
    (
        "a log over the network, for monitors that come and go",
        tcp_log::monitors_read_it,
    ),
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
    ("https: a thousand of the greediest handshakes", |elf| {
        tls::sessions::greediest(elf, 240, 1_000)
    }),
    (
        "https: ten minutes of resumed sessions, as fresh as over http",
        tls::sessions::ten_minutes,
    ),
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
    setup::qemu(install)?;
    setup::tls_peers(install)?;
    // The one with https is looked for beside the other.
    firmware::build_firmware(install, true)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    let mut passed = conclude(CASES, &elf, only, AT_ONCE)?;
    if long {
        passed += conclude(LONG_CASES, &elf, only, 1)?;
    }
    ensure!(passed > 0, "no end-to-end case of that name");
    Ok(passed)
}

fn conclude(cases: &[Case], elf: &Path, only: Option<&str>, at_once: usize) -> Result<u64> {
    let arguments = Arguments {
        filter: only.map(str::to_owned),
        test_threads: Some(at_once),
        ..Arguments::default()
    };
    let trials = cases.iter().map(|case| trial(*case, elf.to_owned()));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    ensure!(
        !conclusion.has_failed(),
        "{} end-to-end cases failed",
        conclusion.num_failed
    );
    Ok(conclusion.num_passed)
}

fn trial((name, case): Case, elf: PathBuf) -> Trial {
    Trial::test(name, move || {
        CASE.set(name);
        show("begins");
        case(&elf).map_err(|error| {
            // Said now: the other cases go on for a while and would bury it.
            show(format_args!("FAILED: {error:#}"));
            Failed::from(format!("{error:#}"))
        })
    })
}

thread_local! {
    /// The case that runs in this thread.
    static CASE: RefCell<&'static str> = const { RefCell::new("") };
}

/// Prints a line of the case that runs in this thread, after the beginning of the case's name.
pub(crate) fn show(line: impl std::fmt::Display) {
    CASE.with_borrow(|name| eprintln!("{name:.16}| {line}"));
}
