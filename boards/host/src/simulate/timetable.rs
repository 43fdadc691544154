//! Policies that plan an interval ahead: de Souza's PSP and the two it was compared with (2007,
//! §4).
//!
//! | policy | how many crawls | when |
//! |---|---|---|
//! | [`TimetableMethod::Psp`] | the best under politeness | MERGE |
//! | [`TimetableMethod::Mp2`] | the best under politeness | evenly for each page |
//! | [`TimetableMethod::MWolf`] | the best without politeness | evenly for each page |
//!
//! All are then dispatched politely, one crawl for each slot of the budget; what does not fit the
//! interval is dropped. Every law is taken for Poisson.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::dispatch::{Dispatch, Queue};
use dunlin::pace::merge::{PlannedCrawl, merge};
use dunlin::plan::select::select;
use dunlin::plan::{Objective, PlanHost};
use dunlin::time::{Duration, Instant};

use super::World;
use super::beliefs::{Beliefs, Believed};
use super::gated::{Fetched, Gated, Rule};

/// A method that makes a timetable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimetableMethod {
    /// de Souza's polite scheduling policy, with MERGE.
    Psp,
    /// The polite scheduling policy without MERGE.
    Mp2,
    /// Wolf's crawls, dispatched politely.
    MWolf,
}

/// Rounds that an interval has room for, at least: with fewer, whole crawls of one interval say
/// little about the next.
const ROUNDS: f64 = 4.0;

/// A plan for an interval at a time.
#[derive(Debug)]
pub struct Timetable {
    method: TimetableMethod,
    beliefs: Beliefs,
    /// Weight and host of every page.
    pages: Vec<(f64, u32)>,
    /// The pages of each host.
    by_host: Vec<Vec<u32>>,
    gaps: Vec<Duration>,
    interval: Duration,
    /// How many crawls an interval has.
    budget: u32,
    next: Instant,
    /// What is to be kept small.
    objective: Objective,
    /// Most crawls of each page in an interval; empty where none is limited.
    most: Vec<u32>,
}

/// A rule that fetches by the timetable of a [`TimetableMethod`].
pub fn timetable(
    world: &World,
    per_day: f64,
    learn: bool,
    method: TimetableMethod,
    objective: Objective,
) -> Gated<Timetable> {
    let days = (ROUNDS * world.pages.len() as f64 / per_day).max(1.0);
    let mut by_host = vec![Vec::new(); world.hosts.len()];
    for (index, page) in world.pages.iter().enumerate() {
        by_host[page.host].push(index as u32);
    }
    let rule = Timetable {
        method,
        beliefs: Beliefs::new(world, learn),
        pages: world
            .pages
            .iter()
            .map(|page| (page.weight, page.host as u32))
            .collect(),
        by_host,
        gaps: world.hosts.iter().map(|host| host.gap).collect(),
        interval: Duration::from_days(days),
        budget: ((per_day * days) as u32).max(1),
        next: Instant::ZERO,
        objective,
        most: world
            .limits
            .iter()
            .map(|limits| {
                let gap = limits.shortest_gap().as_micros();
                let most = Duration::from_days(days).as_micros().checked_div(gap);
                most.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX))
            })
            .collect(),
    };
    Gated::new(world, per_day, rule)
}

impl Rule for Timetable {
    fn eager(&self) -> bool {
        false
    }
    fn first(&mut self, _: usize) -> Instant {
        Instant::MAX
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        self.beliefs.record(fetched);
        None
    }
    fn refills_at(&self) -> Option<Instant> {
        Some(self.next)
    }
    fn refill(&mut self, _: Instant) -> Vec<(Instant, u32)> {
        let start = self.next;
        self.next += self.interval;
        let crawls = self.crawls();
        let (updates, queues) = self.times(&crawls);
        let slot = self.interval / u64::from(self.budget);
        let end = Instant::ZERO + self.interval;
        let starts = dispatched(&updates, queues, slot)
            .into_iter()
            .filter(|update| update.at < end);
        starts
            .map(|update| (start + (update.at - Instant::ZERO), update.page))
            .collect()
    }
}

impl Timetable {
    /// How often to crawl each page in the interval.
    fn crawls(&self) -> Vec<u32> {
        let days: f64 = self.interval.as_days();
        let cap = |gap: &Duration| self.interval.as_micros().checked_div(gap.as_micros());
        let polite = |gap: &Duration| {
            cap(gap).map_or(PlanHost::unlimited(), |cap| PlanHost::new(cap as f64))
        };
        let mut hosts: Vec<PlanHost<f64>> = match self.method {
            TimetableMethod::MWolf => vec![PlanHost::unlimited(); self.gaps.len()],
            _ => self.gaps.iter().map(polite).collect(),
        };
        let pages = Believed {
            pages: &self.pages,
            rates: self.beliefs.rates(),
            days,
            most: &self.most,
        };
        let mut crawls = vec![0; self.pages.len()];
        // A sound world makes a sound demand.
        let planned = select(&pages, &mut hosts, self.budget, self.objective, &mut crawls);
        debug_assert!(planned.is_ok(), "{planned:?}");
        crawls
    }

    /// When they are meant to start, host by host.
    fn times(&self, crawls: &[u32]) -> (Vec<PlannedCrawl>, Vec<Queue>) {
        let mut updates = Vec::new();
        let mut queues = Vec::with_capacity(self.by_host.len());
        for (own, gap) in self.by_host.iter().zip(&self.gaps) {
            let counts: Vec<u32> = own.iter().map(|page| crawls[*page as usize]).collect();
            let first = updates.len();
            let total = counts.iter().map(|count| *count as usize).sum::<usize>();
            updates.resize(first + total, PlannedCrawl::default());
            let room = &mut updates[first..];
            if self.method == TimetableMethod::Psp {
                let merged = merge(&counts, self.interval, *gap, room);
                debug_assert!(merged.is_ok(), "caps are kept");
            } else {
                even(&counts, self.interval, room);
            }
            updates[first..]
                .iter_mut()
                .for_each(|update| update.page = own[update.page as usize]);
            queues.push(Queue {
                next: first as u32,
                end: updates.len() as u32,
                gap: *gap,
                ..Queue::default()
            });
        }
        (updates, queues)
    }
}

/// Every page at its own even times.
fn even(counts: &[u32], interval: Duration, updates: &mut [PlannedCrawl]) {
    let times = (0..).zip(counts).flat_map(|(page, &count)| {
        let whole = u64::from(count) + 1;
        (1..whole).map(move |crawl| PlannedCrawl {
            at: Instant::ZERO + interval * crawl / whole,
            page,
        })
    });
    updates
        .iter_mut()
        .zip(times)
        .for_each(|(place, update)| *place = update);
    updates.sort_unstable();
}

/// When crawls really start, if one may start every `slot`.
pub fn dispatched(
    updates: &[PlannedCrawl],
    mut queues: Vec<Queue>,
    slot: Duration,
) -> Vec<PlannedCrawl> {
    let hosts = queues.len();
    let mut waiting = vec![Entry::UNUSED; hosts];
    let mut places = vec![0_u32; hosts];
    let mut free = vec![Entry::UNUSED; hosts];
    let mut more = vec![0_u32; hosts];
    let waiting = SliceHeap::with_storage(&mut waiting[..], &mut places[..]);
    let free = SliceHeap::with_storage(&mut free[..], &mut more[..]);
    let Ok(mut dispatch) = Dispatch::new(updates, &mut queues, waiting, free) else {
        return Vec::new();
    };
    let mut idle = Instant::ZERO;
    let mut started = Vec::with_capacity(updates.len());
    while let Some(wake) = dispatch.wake() {
        let now = idle.max(wake);
        if let Some(start) = dispatch.next(now) {
            started.push(PlannedCrawl {
                at: now,
                page: start.update.page,
            });
        }
        idle = now + slot;
    }
    started
}
