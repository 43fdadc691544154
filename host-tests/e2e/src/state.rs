//! End to end: what survives when QEMU is killed, when the firmware panics, when the page image is
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin::probe::LoggedEvent;
use dunlin_host::lists::listing::Listing;
use dunlin_host::simulate::Random;
use dunlin_tools::qemu::crawl::Report;
use dunlin_tools::qemu::list::{listing, options};
use dunlin_tools::qemu::page_image::{self, ImageFile};
use dunlin_tools::qemu::state::StateFile;
use dunlin_tools::qemu::{self, Attached, End, Line, Machine, Time, temporary};
use dunlin_tools::web::{Answer, Web, shortest_gap};

use crate::crawling::{GAP, hits, no_robots, polite};
use crate::debugger;
use crate::trace;

/// A state file of our own, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(temporary("flash"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Boots the probe on a state file; QEMU is killed (SIGKILL) at the deadline if it has not ended by
/// then.
fn boot(
    elf: &Path,
    image: &[u8],
    state: &Scratch,
    more: &[&str],
    deadline: Duration,
) -> Result<(End, Vec<Line>)> {
    let image = ImageFile::write(image, elf)?;
    let state = StateFile::open(&state.0)?;
    let mut options: Vec<String> = more.iter().map(|option| (*option).into()).collect();
    options.push(state.option());
    let attached = Attached {
        image: Some((&image.path, image.address)),
        network: true,
        ..Attached::default()
    };
    let machine = Machine {
        elf,
        options: &options,
        time: Time::Real,
        deadline,
        attached,
    };
    let mut log = Vec::new();
    let end = qemu::run(machine, |line| {
        trace(line);
        log.push(line.clone());
    })?;
    Ok((end, log))
}

fn resumed(log: &[Line]) -> u64 {
    let pages = |line: &Line| match LoggedEvent::read(&line.message) {
        Some(LoggedEvent::Resumed(resumed)) => Some(resumed.pages.into()),
        _ => None,
    };
    log.iter().find_map(pages).unwrap_or(0)
}

fn said(log: &[Line], words: &str) -> bool {
    log.iter().any(|line| line.message.contains(words))
}

fn small_web(gap: Duration) -> Result<(Web, Listing)> {
    let web = Web::start(|hit| no_robots(hit).unwrap_or_else(|| Answer::version(hit, 0)))?;
    let pages = [
        ("good.test", "/a"),
        ("good.test", "/b"),
        ("third.test", "/c"),
        ("busy.test", "/d"),
    ];
    let list = listing(web.port(), &pages, gap);
    Ok((web, list))
}

/// Longer than a start takes: a probe that asked at once after it would be seen.
const LONG_GAP: Duration = Duration::from_secs(2);

/// The power goes at random moments, so often.
pub fn killed(elf: &Path, times: usize) -> Result<()> {
    let (web, list) = small_web(LONG_GAP)?;
    let (image, _) = page_image::build(&list, &options())?;
    let state = Scratch::new();
    // Long enough for every page to be fetched and stored.
    boot(elf, &image, &state, &[], Duration::from_secs(16))?;
    let first = web.log().len();
    let mut random = Random(20_261_116);
    let mut kills = 0;
    let mut early = 0;
    while kills < times {
        let moment = Duration::from_millis(500 + (random.unit() * 7_000.0) as u64);
        let (end, log) = boot(elf, &image, &state, &[], moment)?;
        ensure!(
            end == End::Deadline,
            "the firmware ended by itself: {end:?}"
        );
        if !log.iter().any(|line| line.message.starts_with("resumed ")) {
            // On a busy computer it is dead before it can say what it has found.
            early += 1;
            ensure!(early <= times, "it never says what it has found");
            continue;
        }
        kills += 1;
        let pages = resumed(&log);
        println!(
            "killed {kills} of {times} after {} ms: {pages} pages resumed",
            moment.as_millis()
        );
        ensure!(pages > 0, "nothing was resumed");
    }
    println!("{early} more kills came before the probe had read its flash");
    let log = web.log();
    for host in ["good.test", "third.test", "busy.test"] {
        let gap =
            shortest_gap(&log, host).with_context(|| format!("{host} was not asked twice"))?;
        println!(
            "{host}: {} ms between two requests at least, kills and all",
            gap.as_millis()
        );
        ensure!(
            gap >= LONG_GAP,
            "{host} was asked twice within {} ms",
            gap.as_millis()
        );
    }
    ensure!(log.len() > first, "nothing was fetched after a kill");
    for (host, path) in [
        ("good.test", "/a"),
        ("good.test", "/b"),
        ("third.test", "/c"),
        ("busy.test", "/d"),
    ] {
        let anew = hits(&log, host, path)
            .iter()
            .filter(|hit| hit.known.is_none())
            .count();
        ensure!(
            anew == 1,
            "{path} was asked for without its tag {anew} times: the tag was forgotten"
        );
    }
    Ok(())
}

/// A summary that counts what was resumed; then another list, of which one page remains.
pub fn resumes(elf: &Path) -> Result<()> {
    let (web, list) = small_web(GAP)?;
    let state = Scratch::new();
    let (image, _) = page_image::build(&list, &options())?;
    let report = |image: &[u8]| -> Result<(Report, Vec<Line>)> {
        let (end, log) = boot(elf, image, &state, &["seconds=6"], Duration::from_secs(40))?;
        end.success("the firmware", Duration::from_secs(40))?;
        let mut report = Report::default();
        log.iter().for_each(|line| report.read(line));
        Ok((report, log))
    };
    let (first, _) = report(&image)?;
    ensure!(
        first.summary.resumed_pages == 0,
        "a blank file held something"
    );
    let (second, _) = report(&image)?;
    ensure!(
        second.summary.resumed_pages == 4,
        "{} of 4 pages were resumed",
        second.summary.resumed_pages
    );
    ensure!(
        second.summary.changed + second.summary.first_versions == 0,
        "what has not changed was taken for new"
    );
    let other = listing(
        web.port(),
        &[("good.test", "/b"), ("good.test", "/new")],
        GAP,
    );
    let (other, _) = page_image::build(&other, &options())?;
    let (third, log) = report(&other)?;
    ensure!(
        third.summary.resumed_pages == 1,
        "{} pages of the other list",
        third.summary.resumed_pages
    );
    ensure!(
        said(&log, "other_list=true"),
        "the probe did not say that the list is another one"
    );
    // Under another key, all of it means nothing.
    let foreign = page_image::Options {
        seed: 99,
        ..options()
    };
    let (foreign, _) = page_image::build(&list, &foreign)?;
    let (fourth, log) = report(&foreign)?;
    ensure!(
        fourth.summary.resumed_pages == 0,
        "state under another key was trusted"
    );
    ensure!(
        said(&log, "foreign=true"),
        "the probe did not say that the state is another device's"
    );
    Ok(())
}

/// The power goes after a page has moved for good; its old place is asked once and for all.
pub fn moved(elf: &Path) -> Result<()> {
    let web = Web::start(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.path.as_str() {
            "/old" => Answer::status(301, "Location: /new"),
            _ => Answer::version(hit, 0),
        })
    })?;
    let list = listing(web.port(), &[("good.test", "/old")], GAP);
    let (image, _) = page_image::build(&list, &options())?;
    let state = Scratch::new();
    // What is learnt is stored after five seconds at the latest.
    boot(elf, &image, &state, &[], Duration::from_secs(10))?;
    let before = hits(&web.log(), "good.test", "/new").len();
    ensure!(before > 0, "the redirect was not followed");
    boot(elf, &image, &state, &[], Duration::from_secs(5))?;
    let log = web.log();
    ensure!(
        hits(&log, "good.test", "/new").len() > before,
        "nothing was fetched after the power cut"
    );
    let old = hits(&log, "good.test", "/old").len();
    ensure!(
        old == 1,
        "its old place was asked {old} times: the move was forgotten"
    );
    polite(&log, "good.test")
}

/// The last words are told at the next boot, and after three of them nothing is restored.
pub fn panics(elf: &Path) -> Result<()> {
    let (_web, list) = small_web(GAP)?;
    let (image, _) = page_image::build(&list, &options())?;
    let state = Scratch::new();
    let deadline = Duration::from_secs(40);
    boot(elf, &image, &state, &["seconds=6"], deadline)?
        .0
        .success("the firmware", deadline)?;
    for count in 0..=3 {
        let (end, log) = boot(elf, &image, &state, &["panic=1"], deadline)?;
        ensure!(end == End::Exit(1), "expected a panic, found {end:?}");
        ensure!(
            said(&log, "last words") == (count > 0),
            "start {count}: last words"
        );
        let empty = count == 3;
        ensure!(
            said(&log, "nothing restored") == empty,
            "start {count}: boot-loop protection"
        );
        ensure!(
            (resumed(&log) == 0) == empty,
            "start {count}: {} pages resumed",
            resumed(&log)
        );
    }
    let (end, log) = boot(elf, &image, &state, &["seconds=1"], deadline)?;
    end.success("the firmware", deadline)?;
    ensure!(
        said(&log, "told to panic"),
        "the last words were not what the panic said"
    );
    Ok(())
}

/// The interrupt of the clock, without which nothing happens any more.
const CLOCK: usize = 8;

/// A firmware that hangs is reset by its watchdog and says so, and after three times nothing is
/// restored.
pub fn hangs(elf: &Path) -> Result<()> {
    let (_web, list) = small_web(GAP)?;
    let (image, _) = page_image::build(&list, &options())?;
    let state = Scratch::new();
    let deadline = Duration::from_secs(120);
    boot(elf, &image, &state, &["seconds=6"], deadline)?
        .0
        .success("the firmware", deadline)?;
    let image = ImageFile::write(&image, elf)?;
    let file = StateFile::open(&state.0)?;
    let debugger = temporary("debugger");
    let options = ["seconds=10".into(), file.option()];
    let attached = Attached {
        image: Some((&image.path, image.address)),
        network: true,
        debugger: Some(&debugger),
        ..Attached::default()
    };
    let machine = Machine {
        elf,
        options: &options,
        time: Time::Real,
        deadline,
        attached,
    };
    // What each start said, up to the moment at which it was made to hang.
    let mut starts = Vec::<Vec<Line>>::new();
    let mut hung = Ok(());
    let end = qemu::run(machine, |line| {
        trace(line);
        if line.message.starts_with("boot ") {
            starts.push(Vec::new());
        }
        let (count, Some(start)) = (starts.len(), starts.last_mut()) else {
            return;
        };
        start.push(line.clone());
        if line.message.starts_with("network up") && count <= 3 && hung.is_ok() {
            hung = debugger::hang(&debugger, elf, CLOCK);
        }
    });
    let _ = fs::remove_file(&debugger);
    hung?;
    end?.success("the firmware", deadline)?;
    ensure!(
        starts.len() == 4,
        "{} starts, expected one and three after a hang",
        starts.len()
    );
    for (count, log) in starts.iter().enumerate() {
        let reset = if count == 0 { "PowerOn" } else { "Watchdog" };
        let said_why =
            said(log, &format!("boot reset={reset} ")) && said(log, &format!(" fast={count}"));
        ensure!(
            said_why,
            "start {count}: expected reset={reset} and fast={count}, found {:?}",
            log.first()
        );
        let empty = count == 3;
        ensure!(
            said(log, "nothing restored") == empty,
            "start {count}: boot-loop protection"
        );
        ensure!(
            (resumed(log) == 0) == empty,
            "start {count}: {} pages resumed",
            resumed(log)
        );
        ensure!(
            said(log, "done after") == empty,
            "start {count}: it ran on, or did not"
        );
    }
    Ok(())
}

/// A damaged or newer image is refused, and the last good one is used.
pub fn last_good_image(elf: &Path) -> Result<()> {
    let (web, list) = small_web(GAP)?;
    let (good, _) = page_image::build(&list, &options())?;
    let state = Scratch::new();
    let deadline = Duration::from_secs(40);
    boot(elf, &good, &state, &["seconds=6"], deadline)?
        .0
        .success("the firmware", deadline)?;
    let mut damaged = good.clone();
    if let Some(byte) = damaged.last_mut() {
        *byte ^= 1;
    }
    let mut newer = good;
    newer[4] = 200;
    for (image, expected) in [
        (damaged, "damaged page image"),
        (newer, "page image of version 200"),
    ] {
        let before = web.log().len();
        let (end, log) = boot(elf, &image, &state, &["seconds=3"], deadline)?;
        end.success("the firmware", deadline)?;
        ensure!(said(&log, expected), "expected an error with {expected:?}");
        ensure!(
            said(&log, "last good page image"),
            "the probe did not say what it runs on"
        );
        ensure!(
            resumed(&log) == 4,
            "{} of 4 pages were resumed",
            resumed(&log)
        );
        ensure!(
            web.log().len() > before,
            "the probe did not run on the last good image"
        );
    }
    polite(&web.log(), "good.test")
}
