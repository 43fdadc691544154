//! The world of a simulation, and what happens in it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::scheduler::{Decision, Outcome, PageId};
use dunlin::time::{Duration, Instant};

use super::{Change, Policy, Random};

/// Pages and hosts.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// All pages.
    pub pages: Vec<SimPage>,
    /// All hosts.
    pub hosts: Vec<SimHost>,
}

/// A page.
#[derive(Clone, Debug)]
pub struct SimPage {
    /// Its host's index.
    pub host: usize,
    /// Importance.
    pub weight: f64,
    /// Changes a day, on average: what a policy that need not learn is told.
    pub mean_rate: f64,
    /// When it changes.
    pub change: Change,
}

/// A host.
#[derive(Clone, Copy, Debug)]
pub struct SimHost {
    /// Least time between two fetches.
    pub gap: Duration,
}

/// What came of it, over the part of the time that was measured.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Weighted mean of the share of time that copies were fresh.
    pub freshness: f64,
    /// Weighted mean age in seconds.
    pub age_s: f64,
    /// Fetches started.
    pub fetches: u64,
    /// Fetches that found a change.
    pub changes_seen: u64,
    /// Fetches that started too soon after another one from the same host.
    pub politeness_violations: u64,
}

/// One page's copy.
struct Copy {
    fetched: f64,
    next_change: f64,
    random: Random,
    fresh: f64,
    age: f64,
}

/// Runs a policy for `days`, with so many fetches at once, each of which takes `fetch_time`. The part before
/// `measured_from` (days) counts for nothing but learning.
pub fn run(
    world: &World,
    policy: &mut dyn Policy,
    days: f64,
    measured_from: f64,
    crawlers: usize,
    fetch_time: Duration,
    seed: u64,
) -> Report {
    let mut report = Report::default();
    let mut copies: Vec<Copy> = world
        .pages
        .iter()
        .enumerate()
        .map(|(index, page)| {
            let mut random = Random(seed ^ (index as u64).wrapping_mul(0xd6e8_feb8_6659_fd93));
            let next_change = page.change.after(0.0, &mut random);
            Copy { fetched: f64::NAN, next_change, random, fresh: 0.0, age: 0.0 }
        })
        .collect();
    let end = Instant::ZERO + Duration::from_days(days);
    let mut last_start: Vec<Option<Instant>> = vec![None; world.hosts.len()];
    let mut in_flight: BinaryHeap<Reverse<(Instant, u32, bool)>> = BinaryHeap::new();
    let mut now = Instant::ZERO;
    while now < end {
        while let Some(&Reverse((done, page, changed))) = in_flight.peek()
            && done <= now
        {
            in_flight.pop();
            let outcome = if changed { Outcome::Changed { modified_ago: None } } else { Outcome::Unchanged };
            policy.record(PageId(page), outcome, now);
        }
        let decision = if in_flight.len() < crawlers { policy.next(now) } else { Decision::Idle };
        let wake = in_flight.peek().map_or(end, |Reverse((done, ..))| *done);
        match decision {
            Decision::Fetch(PageId(page)) => {
                let (index, time) = (page as usize, days_of(now));
                let sim = &world.pages[index];
                let gap = world.hosts[sim.host].gap;
                if last_start[sim.host].replace(now).is_some_and(|before| now - before < gap) {
                    report.politeness_violations += 1;
                }
                let changed = visit(&mut copies[index], sim, time, measured_from);
                if time >= measured_from {
                    report.fetches += 1;
                    report.changes_seen += u64::from(changed);
                }
                in_flight.push(Reverse((now + fetch_time, page, changed)));
            }
            Decision::WaitUntil(then) => now = then.max(now + Duration::from_micros(1)).min(wake),
            Decision::Idle => now = wake,
        }
    }
    let (mut fresh, mut age, mut weight) = (0.0, 0.0, 0.0);
    for (copy, page) in copies.iter_mut().zip(&world.pages) {
        account(copy, days, measured_from);
        fresh += page.weight * copy.fresh;
        age += page.weight * copy.age;
        weight += page.weight;
    }
    let measured = days - measured_from;
    report.freshness = fresh / weight / measured;
    report.age_s = age / weight / measured * 86_400.0;
    report
}

/// A fetch at `time`: books the copy that it replaces, and says whether the page had changed.
fn visit(copy: &mut Copy, page: &SimPage, time: f64, measured_from: f64) -> bool {
    account(copy, time, measured_from);
    let changed = copy.next_change <= time || copy.fetched.is_nan();
    while copy.next_change <= time {
        copy.next_change = page.change.after(copy.next_change, &mut copy.random);
    }
    copy.fetched = time;
    changed
}

/// Books fresh time and age of a copy from its fetch (or the start of measuring) until `until`.
fn account(copy: &mut Copy, until: f64, measured_from: f64) {
    if copy.fetched.is_nan() {
        return;
    }
    let from = copy.fetched.max(measured_from);
    copy.fresh += (copy.next_change.min(until) - from).max(0.0);
    let stale = |time: f64| (time - copy.next_change).max(0.0);
    copy.age += if until > from { 0.5 * (stale(until).powi(2) - stale(from).powi(2)) } else { 0.0 };
}

fn days_of(instant: Instant) -> f64 {
    instant.as_micros() as f64 / 86_400e6
}
