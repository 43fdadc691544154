//! Ten minutes of a fleet: four probes in QEMU and two on this computer share 400 pages on 20
//! hosts. For five minutes nothing happens, and it is as fresh as one who knows everything could
//! be; then probes, broker and planner die one after the other.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dunlin_tools::firmware::budgets::FLEET;
use dunlin_tools::web::changing::{DAY, World, host};
use dunlin_tools::web::{Hit, Web};

use super::{Fleet, GAP, Plan, Process, firmware, judge};
use crate::show;

const PAGES: usize = 400;
const HOSTS: usize = 20;
/// Pages change every so many seconds: the busiest and the quietest.
const CHANGES: (f64, f64) = (40.0, 600.0);
/// Of every tenth page nobody says how often it changes.
const UNKNOWN: usize = 10;
/// Fetches a second, over all probes.
const BUDGET: f64 = 8.0;
const LEASE: Duration = Duration::from_secs(20);
/// What a planner takes besides when it, or its broker, has started again: it waits for probes that
/// the broker knows of, and for those that come together.
const PLACING: Duration = Duration::from_secs(12);
/// What it takes otherwise until a list is in force: a board starts with it.
const TAKING: Duration = Duration::from_secs(2);
/// Pages that the best plan, too, visits hardly ever, because they change too fast for the budget.
const SELDOM: usize = PAGES / 20;
/// The share of the optimum that has to be reached while nothing happens, and over all.
const NEAR: f64 = 0.97;
/// A server that has a computer for itself, but for the fleet, reads requests about as they come.
const SLACK: Duration = Duration::from_millis(20);
/// Events, the first ones, by which pages have no probe for a while.
const DEATHS: usize = 3;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Every page has been visited once, …
const SEEN: Duration = at(60);
/// … and a few times.
const SETTLED: Duration = at(90);
/// A probe in QEMU is gone for good.
const KILLED: Duration = at(300);
/// A probe on this computer stands still for longer than its lease, …
const FROZEN: Duration = at(345);
/// … and goes on without knowing.
const THAWED: Duration = at(375);
/// A probe in QEMU is gone, and comes back with an empty flash.
const WIPED: Duration = at(420);
const RESTARTED: Duration = at(455);
const BROKER_KILLED: Duration = at(490);
const PLANNER_KILLED: Duration = at(525);
const END: Duration = at(600);
/// How long a broker or a planner is away.
const AWAY: Duration = at(3);
/// What happens, when, and what a planner takes besides.
const EVENTS: [(&str, Duration, Duration); 6] = [
    ("a probe is killed", KILLED, TAKING),
    ("a probe is frozen", FROZEN, TAKING),
    ("a probe is wiped", WIPED, TAKING),
    ("the broker is restarted", RESTARTED, PLACING),
    ("the broker is killed", BROKER_KILLED, PLACING),
    ("the planner is killed", PLANNER_KILLED, PLACING),
];

/// Changes of what is believed of pages, as the planner's file has it.
#[derive(Default)]
struct Beliefs {
    /// The days in which something was seen, by the hash of a page's URL.
    seen: HashMap<u64, f32>,
    relearnt: usize,
}

impl Beliefs {
    /// Looks at what the planner has saved; a file that is being replaced is looked at later.
    fn look(&mut self, folder: &Path) {
        let bytes = fs::read(folder.join("state/learnt.bin")).unwrap_or_default();
        let (records, _) = bytes.get(8..).unwrap_or_default().as_chunks::<20>();
        for record in records {
            let (Some(url), Some(time)) = (
                record.first_chunk().copied().map(u64::from_le_bytes),
                record[12..].first_chunk().copied().map(f32::from_le_bytes),
            ) else {
                continue;
            };
            let before = self.seen.insert(url, time).unwrap_or(0.0);
            self.relearnt += usize::from(time < before / 2.0);
        }
    }
}

/// The list: a rate for most pages.
fn pages(world: &World, port: u16) -> String {
    let mut text = "url,changes_per_day\n".to_owned();
    for (number, page) in world.pages.iter().enumerate() {
        let rate = match number % UNKNOWN {
            0 => String::new(),
            _ => (page.rate * DAY).to_string(),
        };
        text += &format!("http://{}:{port}{},{rate}\n", host(page.host), page.path);
    }
    text
}

/// Waits for a moment, and looks at beliefs meanwhile.
fn until(then: Duration, web: &Web, fleet: &Fleet, beliefs: &mut Beliefs) {
    while web.now() < then {
        thread::sleep((then - web.now()).min(at(2)));
        beliefs.look(&fleet.folder.0);
    }
}

/// Everything that happens to the probes on this computer, the broker and the planner; from when to
/// when there was no broker.
fn trouble(web: &Web, fleet: &Fleet, beliefs: &mut Beliefs) -> Result<[Range<Duration>; 2]> {
    let folder = &fleet.folder.0;
    let broker = || {
        let mut mosquitto = Command::new("mosquitto");
        // Debian has it where only root looks.
        let path = std::env::var("PATH").unwrap_or_default();
        mosquitto.env("PATH", format!("{path}:/usr/sbin"));
        mosquitto
            .arg("-c")
            .arg(folder.join("broker/mosquitto.conf"));
        Process::start(mosquitto)
    };
    let url = format!("@{}", folder.join("planner.url").display());
    let plans = || fleet.planner(["--broker", &url]);
    let mut mosquitto = broker()?;
    let mut planner = plans()?;
    let frozen = fleet.on_this_computer("p5")?;
    let _stays = fleet.on_this_computer("p6")?;
    until(FROZEN, web, fleet, beliefs);
    frozen.signal("-STOP")?;
    until(THAWED, web, fleet, beliefs);
    frozen.signal("-CONT")?;
    until(RESTARTED, web, fleet, beliefs);
    mosquitto.signal("-TERM")?;
    mosquitto.ended()?;
    let restarted = away(web);
    mosquitto = broker()?;
    until(BROKER_KILLED, web, fleet, beliefs);
    mosquitto.signal("-KILL")?;
    mosquitto.ended()?;
    let killed = away(web);
    let _mosquitto = broker()?;
    until(PLANNER_KILLED, web, fleet, beliefs);
    planner.signal("-KILL")?;
    planner.ended()?;
    thread::sleep(AWAY);
    planner = plans()?;
    until(END, web, fleet, beliefs);
    drop(planner);
    Ok([restarted, killed])
}

/// Waits while somebody is away; from when to when that was.
fn away(web: &Web) -> Range<Duration> {
    let from = web.now();
    thread::sleep(AWAY);
    from..web.now()
}

/// The visits of each page, in order.
fn visits<'w>(world: &'w World, log: &[Hit]) -> Vec<(&'w str, usize, Vec<Duration>)> {
    let page = |page: &'w dunlin_tools::web::changing::Changing| {
        let own = |hit: &&Hit| hit.path == page.path;
        let mut at: Vec<Duration> = log.iter().filter(own).map(|hit| hit.at).collect();
        at.sort();
        (page.path.as_str(), page.host, at)
    };
    world.pages.iter().map(page).collect()
}

/// When a page is visited again at the latest after the event of this number: within lease,
/// politeness, its own gap, and what a planner takes. Whom the next event meets while it waits for
/// that visit has to wait once more, but not for another gap: a probe that dies keeps its pages for
/// another lease.
fn latest(number: usize, gap: Duration, next: Duration) -> Duration {
    let more = |number: usize, besides: Duration| match number < DEATHS {
        true => LEASE + GAP + besides,
        false => besides,
    };
    let (_, then, besides) = EVENTS[number];
    let mut latest = then + LEASE + GAP + gap + besides;
    for (number, (_, then, besides)) in EVENTS.into_iter().enumerate().skip(number + 1) {
        if then >= next || then > latest {
            break;
        }
        latest += more(number, besides);
    }
    latest
}

/// After everything that happens, every page is visited again in time. Says how much too late, or
/// how early, the latest were.
fn visited_again(world: &World, log: &[Hit]) -> Result<()> {
    let mut worst = EVENTS.map(|(what, ..)| (what, f64::MIN));
    let mut late = None;
    let mut seldom = 0;
    for (path, number, at) in visits(world, log) {
        let calm = at.iter().filter(|at| (SEEN..KILLED).contains(*at));
        let calm: Vec<Duration> = calm.copied().collect();
        let gaps = calm.windows(2).map(|pair| pair[1] - pair[0]);
        let name = format!("{}{path}", host(number));
        // Who is visited so seldom has a gap of all that time at least.
        seldom += usize::from(calm.len() < 2);
        let gap = gaps.max().unwrap_or(KILLED - SEEN);
        for (number, (what, worst)) in worst.iter_mut().enumerate() {
            let (_, then, _) = EVENTS[number];
            let next = at.iter().copied().find(|at| *at > then);
            // What has not been waited for long enough is not judged.
            let visited = next.unwrap_or(END);
            let latest = latest(number, gap, visited);
            if next.is_none() && END <= latest {
                continue;
            }
            *worst = worst.max(visited.as_secs_f64() - latest.as_secs_f64());
            if visited > latest {
                late = Some(format!(
                    "{name}, with a gap of {gap:?}, was visited {:?} after {what}, expected at most {:?}; visits: {at:?}",
                    visited - then,
                    latest - then
                ));
            }
        }
    }
    println!(
        "visits beyond the latest moment, in seconds: {worst:.1?}; {seldom} pages are visited too \
         seldom to have one"
    );
    ensure!(
        seldom <= SELDOM,
        "{seldom} pages have fewer than two visits while nothing happens, expected at most {SELDOM}"
    );
    match late {
        Some(late) => bail!(late),
        None => Ok(()),
    }
}

/// Runs the case, and judges it by the web's log.
pub fn survives(elf: &Path) -> Result<()> {
    let elf = firmware(elf, &[FLEET]);
    let (shortest, longest) = CHANGES;
    let seconds = END.as_secs_f64() + 60.0;
    let world = Arc::new(World::between(shortest, longest, PAGES, HOSTS, seconds, 1));
    let web = world.serve()?;
    let plan = Plan {
        pages: pages(&world, web.port()),
        per_day: BUDGET * DAY,
        lease: LEASE,
        ..Plan::default()
    };
    let fleet = Fleet::new(plan, 6)?;
    let mut beliefs = Beliefs::default();
    let lasting = |from: Duration, to: Duration| (to - from).as_secs() as u32;
    let without_broker = thread::scope(|scope| {
        let elf = &elf;
        let fleet = &fleet;
        let web = &web;
        let probe = |name: &'static str, seconds: u32| {
            scope.spawn(move || fleet.in_qemu(elf, name, seconds))
        };
        let gone = probe("p1", lasting(web.now(), KILLED));
        let wiped = scope.spawn(move || {
            fleet.in_qemu(elf, "p2", lasting(web.now(), WIPED))?;
            // What is in its flash is kept by nobody.
            fleet.in_qemu(elf, "p2", lasting(web.now(), END))
        });
        let stay = ["p3", "p4"].map(|name| probe(name, lasting(web.now(), END)));
        let trouble = trouble(web, fleet, &mut beliefs);
        for probe in [gone, wiped].into_iter().chain(stay) {
            let joined = probe.join();
            let report = joined.map_err(|_| anyhow::anyhow!("a probe's thread panicked"))??;
            ensure!(report.summary.fetches > 0, "a probe has fetched nothing");
        }
        trouble
    })?;
    let log = web.log();
    let closest = judge(&log, SLACK)?;
    let optimum = world.optimum(BUDGET, GAP)?;
    let calm = world.freshness(&log, SETTLED, KILLED);
    let whole = world.freshness(&log, SETTLED, END);
    let asked = |when: Range<Duration>| {
        let hits = log.iter().filter(|hit| when.contains(&hit.at));
        hits.count() as f64 / (when.end - when.start).as_secs_f64()
    };
    let alone = without_broker.map(asked);
    let again = visited_again(&world, &log).context("after something has happened");
    println!(
        "{} requests, {:.2} a second while nothing happens (budget {BUDGET}), {:.2} after that, the closest two to a \
         host after {closest:?}; freshness {calm:.4} while nothing happens, {optimum:.4} at best ({:.1} %), {whole:.4} \
         over all ({:.1} %); {alone:.1?} requests a second without a broker; {} pages with \
         beliefs, {} relearnt",
        log.len(),
        asked(SETTLED..KILLED),
        asked(KILLED..END),
        100.0 * calm / optimum,
        100.0 * whole / optimum,
        beliefs.seen.len(),
        beliefs.relearnt,
    );
    show(format_args!("{calm:.4} of {optimum:.4}"));
    again?;
    ensure!(
        beliefs.seen.len() * 10 >= PAGES / UNKNOWN * 9,
        "hardly anything was learnt"
    );
    ensure!(beliefs.relearnt == 0, "what was learnt was learnt again");
    ensure!(
        calm.min(whole) >= NEAR * optimum,
        "below 97 % of the optimum"
    );
    // Probes crawl on within their leases.
    let is_crawling = |rate: &f64| *rate >= BUDGET / 2.0;
    ensure!(
        alone.iter().all(is_crawling),
        "{alone:.1?} requests a second without a broker, expected half of {BUDGET}"
    );
    Ok(())
}
