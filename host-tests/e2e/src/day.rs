//! A day of the probe's life in minutes: the firmware skips what it would sleep, and simulates the
//! network.
//!
//! It is the firmware that skips, and not QEMU (`-icount sleep=off`), whose skipped time came out a
//! microsecond apart in two runs now and then. By the source of QEMU 7.2
//! (`icount_start_warp_timer`), that is a race: setting the alarm wakes QEMU's main thread, and if
//! that one finds the core already halted by WFI, but its last instructions not yet added to the
//! clock, it skips to the alarm as if these had taken no time. They are added afterwards, and the
//! alarm rings late by as much: some 20 instructions of 64 ns.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use dunlin::model::Objective;
use dunlin::probe::LoggedEvent;
use dunlin_host::lists::listing::{Gate, Listing};
use dunlin_host::lists::pages::{ListedChange, ListedPage, ListedUpdate, PageList};
use dunlin_tools::qemu::crawl::Report;
use dunlin_tools::qemu::page_image::{self, ImageFile, Options};
use dunlin_tools::qemu::{self, Attached, Line, Machine, Time};
use dunlin_tools::{firmware, setup, shell};

/// Beyond 2³² µs, where the board's 32-bit counter starts again at 0, twenty times over.
const SECONDS: u32 = 86_400;
const DEADLINE: Duration = Duration::from_secs(600);
/// Fetches that the budget allows in that time.
const BUDGET: f64 = 20_000.0;

/// Fails unless the day passes as it should and two runs give the same log.
pub fn day(install: bool) -> Result<()> {
    setup::qemu(install)?;
    firmware::build(install, firmware::DAY)?;
    let names = [
        "a day",
        "the same day",
        "a day by the board's clock",
        "days of pages that change by the clock",
        "days of pages that may be visited once in each",
        "days for freshness and for age",
    ];
    let progress = shell::steps("day", &names);
    progress.begin(names[0]);
    let log = run(install, SECONDS, true)?;
    let report = check(&log)?;
    let summary = &report.summary;
    progress.begin(names[1]);
    let again = run(install, SECONDS, true)?;
    if let Some((first, second)) = log
        .iter()
        .zip(&again)
        .find(|(first, second)| first != second)
    {
        bail!("two runs in virtual time gave different logs, first here:\n{first}\n{second}");
    }
    ensure!(
        log.len() == again.len(),
        "two runs in virtual time gave logs of different lengths"
    );
    progress.begin(names[2]);
    // The board's own clock, in time that QEMU skips: what happens is the same to a microsecond or
    // so, which is what QEMU takes to ring.
    check(&run(install, SECONDS, false)?).context("with the board's own clock")?;
    progress.begin(names[3]);
    let fresh = daily(install)?;
    progress.begin(names[4]);
    let visits = limited(install)?;
    progress.begin(names[5]);
    let [freshness, age] = both_objectives(install)?;
    progress.end();
    println!("days of pages that change by the clock: freshness {fresh:.4}");
    println!("days of pages that may be visited once in each: {visits} visits, none too soon");
    println!(
        "visits to pages that are always stale: {:.0} % for freshness, {:.0} % for age",
        100.0 * freshness,
        100.0 * age
    );
    println!(
        "a day in virtual time: {} fetches, {} changes, {} errors, {} log lines, the same in two runs",
        summary.fetches,
        summary.changed,
        summary.errors,
        log.len()
    );
    Ok(())
}

/// Fails unless the day passed as it should.
fn check(log: &[Line]) -> Result<Report> {
    let mut report = Report::default();
    log.iter().for_each(|line| report.read(line));
    let summary = &report.summary;
    let minutes = log
        .iter()
        .filter(|line| {
            matches!(
                LoggedEvent::read(&line.message),
                Some(LoggedEvent::Totals(_))
            )
        })
        .count();
    ensure!(
        minutes > 24 * 60 - 2,
        "{minutes} reports in a day of minutes"
    );
    let spent = summary.fetches as f64 + summary.errors as f64;
    ensure!(
        (0.8 * BUDGET..1.01 * BUDGET).contains(&spent),
        "{spent} requests in a day, the budget is {BUDGET}"
    );
    ensure!(
        summary.errors > 0,
        "no page took longer than the deadline, and some should"
    );
    ensure!(
        report.lost == 0,
        "{} lines of the log were lost",
        report.lost
    );
    Ok(report)
}

/// Pages with one certain update a day, and as many fetches as pages.
const DAILY: usize = 40;

/// Runs days of pages that change once a day, at times that their list says, and returns how fresh
/// they were from the second one on. Fails below 0.99, and if `max` is exceeded.
fn daily(install: bool) -> Result<f64> {
    const DAY_S: f64 = 86_400.0;
    const DAYS: u32 = 3;
    let minute = |page: usize| 5 + 36 * page;
    let mut listing = full_list();
    listing.list.pages.truncate(DAILY);
    for (index, page) in listing.list.pages.iter_mut().enumerate() {
        // Each on a host of its own, whose robots.txt is asked for every day besides.
        page.url = format!("http://host{}.test/daily/{}", page.host, minute(index));
        page.max = Some(2);
        page.change = ListedChange::Quasi {
            updates: vec![ListedUpdate {
                offset: dunlin::time::Duration::from_secs(60 * minute(index) as u64),
                probability: 1.0,
            }],
        };
    }
    let options = Options {
        per_day: Some(DAILY as f64),
        ..Options::default()
    };
    let log = run_list(install, &listing, &options, DAYS * SECONDS, true)?;
    // Of each page: its versions, by when they were found.
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); DAILY];
    let mut asked: Vec<Vec<f64>> = vec![Vec::new(); DAILY];
    for line in &log {
        if let Some(LoggedEvent::End { page, changed, .. }) = LoggedEvent::read(&line.message) {
            let seconds = line.micros.unwrap_or(0) as f64 / 1e6;
            let times = [Some(&mut asked), changed.then_some(&mut found)];
            for times in times.into_iter().flatten() {
                times[usize::from(page)].push(seconds);
            }
        }
    }
    let mut stale = 0.0;
    for (page, times) in found.iter().enumerate() {
        for day in 1..DAYS {
            let update = DAY_S * f64::from(day) + 60.0 * minute(page) as f64;
            let next = update + DAY_S;
            let seen = times.iter().copied().find(|at| *at >= update);
            let end = next.min(f64::from(DAYS) * DAY_S);
            stale += seen.unwrap_or(end).min(end) - update;
        }
    }
    let soon = |times: &Vec<f64>| times.windows(2).any(|pair| pair[1] - pair[0] < 0.5 * DAY_S);
    ensure!(
        !asked.iter().any(soon),
        "a page that may be visited twice a day was visited within half a day"
    );
    let fresh = 1.0 - stale / (DAILY as f64 * DAY_S * f64::from(DAYS - 1));
    ensure!(
        fresh >= 0.99,
        "pages that change by the clock were fresh for {fresh:.4} of the time, not for 0.99"
    );
    Ok(fresh)
}

/// Runs days of pages that are worth five visits a day and may have one. How many they had. Fails if
/// one comes too soon, or if there are too few.
fn limited(install: bool) -> Result<usize> {
    const PAGES: usize = 20;
    const DAYS: u32 = 3;
    let day = f64::from(SECONDS);
    let mut listing = full_list();
    listing.list.pages.truncate(PAGES);
    for page in &mut listing.list.pages {
        page.max = Some(1);
        page.change = ListedChange::Poisson { rate: Some(5.0) };
    }
    let options = Options {
        per_day: Some(5.0 * PAGES as f64),
        ..Options::default()
    };
    let log = run_list(install, &listing, &options, DAYS * SECONDS, true)?;
    // Of each page, when its visits began.
    let mut begun: Vec<Vec<f64>> = vec![Vec::new(); PAGES];
    for line in &log {
        let (page, millis) = match LoggedEvent::read(&line.message) {
            Some(LoggedEvent::End { page, millis, .. }) => (page, millis),
            Some(LoggedEvent::Failed { page, millis, .. }) => (page, millis),
            _ => continue,
        };
        let seconds = line.micros.unwrap_or(0) as f64 / 1e6;
        begun[usize::from(page)].push(seconds - f64::from(millis) / 1e3);
    }
    let gaps = begun.iter().flat_map(|times| times.windows(2));
    let shortest = gaps.map(|pair| pair[1] - pair[0]).fold(f64::MAX, f64::min);
    // The log has whole milliseconds.
    ensure!(
        shortest > day - 0.01,
        "a page was visited {shortest:.3} s after it was, `max` allows {day} s"
    );
    let visits: usize = begun.iter().map(Vec::len).sum();
    ensure!(
        visits >= PAGES * (DAYS as usize - 1),
        "pages that may be visited once a day were visited {visits} times in {DAYS} days"
    );
    Ok(visits)
}

/// The share of visits that pages get which change many times between two of them, beside as many
/// that change once a day: for freshness, and for age. Such pages are stale whatever is done, but a
/// visit makes them younger. Fails unless the objective decides for whom the visits are.
fn both_objectives(install: bool) -> Result<[f64; 2]> {
    const PAGES: usize = 64;
    let mut listing = full_list();
    listing.list.pages.truncate(PAGES);
    let is_fast = |page: usize| page % 2 == 1;
    for (index, page) in listing.list.pages.iter_mut().enumerate() {
        if !is_fast(index) {
            page.url = format!("http://host{}.test/daily/{}", page.host, 20 * index);
        }
        let rate = Some(if is_fast(index) { 40.0 } else { 1.0 });
        page.change = ListedChange::Poisson { rate };
    }
    let mut shares = [0.0; 2];
    for (share, objective) in shares
        .iter_mut()
        .zip([Objective::Freshness, Objective::Age])
    {
        let options = Options {
            per_day: Some(2.0 * PAGES as f64),
            objective,
            ..Options::default()
        };
        let log = run_list(install, &listing, &options, 2 * SECONDS, true)?;
        let visits = log
            .iter()
            .filter_map(|line| match LoggedEvent::read(&line.message) {
                Some(LoggedEvent::End { page, .. }) => Some(is_fast(usize::from(page))),
                _ => None,
            });
        let visits: Vec<bool> = visits.collect();
        let fast = visits.iter().filter(|fast| **fast).count();
        *share = fast as f64 / visits.len().max(1) as f64;
    }
    let [freshness, age] = shares;
    ensure!(
        freshness < 0.25 && age > 0.5,
        "pages that are always stale got {freshness:.2} of the visits for freshness and {age:.2} for age"
    );
    Ok(shares)
}

/// Runs an hour of such a day, for what it costs.
pub fn hour(install: bool) -> Result<Report> {
    let mut report = Report::default();
    run(install, 3_600, false)?
        .iter()
        .for_each(|line| report.read(line));
    Ok(report)
}

/// Runs the firmware for so many virtual seconds and returns its log. With `skip` time passes only
/// while everybody waits; without, it is the board's own clock in time that QEMU skips.
fn run(install: bool, seconds: u32, skip: bool) -> Result<Vec<Line>> {
    let options = Options {
        per_day: Some(BUDGET),
        ..Options::default()
    };
    run_list(install, &full_list(), &options, seconds, skip)
}

fn run_list(
    install: bool,
    listing: &Listing,
    options: &Options,
    seconds: u32,
    skip: bool,
) -> Result<Vec<Line>> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::DAY)?;
    let (image, _) = page_image::build(listing, options)?;
    let image = ImageFile::write(&image, &elf)?;
    let arguments = [format!("seconds={seconds}"), format!("skip={skip}")];
    let time = if skip { Time::Real } else { Time::Skipping };
    let attached = Attached {
        image: Some((&image.path, image.address)),
        ..Attached::default()
    };
    log(Machine {
        elf: &elf,
        options: &arguments,
        time,
        deadline: DEADLINE,
        attached,
    })
}

/// As many pages and hosts as the firmware holds.
fn full_list() -> Listing {
    let hosts: Vec<String> = (0..qemu_mps2_capacity::HOSTS)
        .map(|host| format!("host{host}.test"))
        .collect();
    let page = |index: usize| {
        let host = index % hosts.len();
        let change = ListedChange::Poisson { rate: None };
        ListedPage {
            url: format!("http://{}/{index}", hosts[host]),
            name: None,
            host,
            weight: 1.0,
            change,
            min: 0,
            max: None,
            every: None,
            filter: None,
        }
    };
    let politeness = dunlin::time::Duration::from_secs(15);
    let gate = |name: &String| Gate {
        name: name.clone(),
        politeness,
        hours: None,
        provider: Default::default(),
    };
    Listing {
        gates: hosts.iter().map(gate).collect(),
        gate_of_host: (0..hosts.len()).collect(),
        pins: Vec::new(),
        headers: Vec::new(),
        tellers: Vec::new(),
        list: PageList {
            pages: (0..qemu_mps2_capacity::PAGES).map(page).collect(),
            hosts,
            ..PageList::default()
        },
    }
}

fn log(machine: Machine<'_>) -> Result<Vec<Line>> {
    let mut log = Vec::new();
    qemu::run(machine, |line| log.push(line.clone()))?
        .success("the firmware", DEADLINE)
        .context("a day")?;
    Ok(log)
}
