//! What happens in a world under a policy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::learn::hints::Hint;
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};

use super::copy::Copy;
use super::{Policy, Random, Step, Tells, World};

/// How often it is told how far a simulation is.
const PIECES_WATCHED: f64 = 1_000.0;

/// How a simulation is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Simulated days in all.
    pub days: f64,
    /// The part before this day counts for nothing but learning.
    pub measured_from: f64,
    /// How many fetches can be under way at once.
    pub crawlers: usize,
    /// How long a fetch takes.
    pub fetch_time: Duration,
    /// The seed of the changes.
    pub seed: u64,
    /// Into how many pieces of time the course of freshness is cut; 0 for none.
    pub pieces: usize,
}

impl Options {
    /// A run of so many days, all of them measured, with four crawlers that take 100 ms.
    pub const fn new(days: f64, seed: u64) -> Self {
        Self {
            days,
            measured_from: 0.0,
            crawlers: 4,
            fetch_time: Duration::from_millis(100),
            seed,
            pieces: 0,
        }
    }
}

/// What came of it, over the part of the time that was measured.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Weighted mean of the share of time that copies were fresh.
    pub freshness: f64,
    /// Weighted mean age in seconds.
    pub age_s: f64,
    /// Weighted mean of H_k, k being the changes a copy lags behind.
    pub harmonic: f64,
    /// How many fetches were started.
    pub fetches: u64,
    /// Changes of all pages.
    pub changes: u64,
    /// Fetches that found a change.
    pub changes_seen: u64,
    /// Fetches without an answer.
    pub errors: u64,
    /// Mean seconds that fetches started after they were due, over all of the time.
    pub late_s: f64,
    /// Fetches that started too soon after another one from the same host, or at a forbidden hour.
    pub politeness_violations: u64,
    /// Fetches that started too soon after another one of the same page, by its limits.
    pub limit_violations: u64,
    /// Weighted mean freshness, piece by piece.
    pub course: Vec<f64>,
    /// Fetches of each host.
    pub host_fetches: Vec<u32>,
}

/// A simulation under way.
struct Simulation<'a> {
    world: &'a World,
    options: &'a Options,
    copies: Vec<Copy>,
    last_start: Vec<Option<Instant>>,
    /// The same for each page; empty where no page has limits.
    last_of_page: Vec<Option<Instant>>,
    in_flight: BinaryHeap<Reverse<(Instant, u32, Ending)>>,
    hints: Hints,
    failures: Random,
    started: u64,
    report: Report,
}

/// How a fetch will end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Changed,
    Unchanged,
    Failed,
}

/// Runs a policy on a world.
pub fn run(world: &World, policy: &mut dyn Policy, options: &Options) -> Report {
    run_watched(world, policy, options, |_| ())
}

/// The same, and tells the share of the work that is done, now and then.
pub fn run_watched(
    world: &World,
    policy: &mut dyn Policy,
    options: &Options,
    mut watch: impl FnMut(f64),
) -> Report {
    let mut simulation = Simulation::new(world, options);
    let end = Instant::ZERO + Duration::from_days(options.days);
    let piece = Duration::from_days(options.days / PIECES_WATCHED);
    let mut now = Instant::ZERO;
    let mut next_watch = now + piece;
    while now < end {
        // Not every so many turns: between two of them a page may change a million times.
        if now >= next_watch {
            watch(days_of(now) / options.days);
            next_watch = now + piece;
        }
        simulation.deliver(policy, now);
        let free = simulation.in_flight.len() < options.crawlers;
        let decision = if free { policy.next(now) } else { Step::Idle };
        let done = simulation.in_flight.peek().map(|Reverse((done, ..))| *done);
        let wake = done
            .into_iter()
            .chain(simulation.hints.next())
            .min()
            .unwrap_or(end);
        match decision {
            Step::Fetch(page) => simulation.fetch(page, now),
            Step::WaitUntil(then) => now = then.max(now + Duration::from_micros(1)).min(wake),
            Step::Idle => now = wake.max(now + Duration::from_micros(1)),
        }
    }
    simulation.finish(policy)
}

impl<'a> Simulation<'a> {
    fn new(world: &'a World, options: &'a Options) -> Self {
        let copy = |(index, page): (usize, &super::SimPage)| {
            Copy::new(&page.change, Random::stream(options.seed, index))
        };
        Self {
            world,
            options,
            copies: world.pages.iter().enumerate().map(copy).collect(),
            last_start: vec![None; world.hosts.len()],
            last_of_page: vec![None; world.limits.len()],
            in_flight: BinaryHeap::new(),
            hints: Hints::new(world, options.seed),
            failures: Random(!options.seed),
            started: 0,
            report: Report {
                course: vec![0.0; options.pieces],
                host_fetches: vec![0; world.hosts.len()],
                ..Report::default()
            },
        }
    }

    /// Hands the policy what has ended and what has been told by now.
    fn deliver(&mut self, policy: &mut dyn Policy, now: Instant) {
        while let Some(&Reverse((done, page, ending))) = self.in_flight.peek()
            && done <= now
        {
            self.in_flight.pop();
            let outcome = match ending {
                Ending::Changed => Outcome::Changed { modified_ago: None },
                Ending::Unchanged => Outcome::Unchanged,
                Ending::Failed => Outcome::Failed,
            };
            policy.record(page, outcome, now);
            let index = page as usize;
            let tells = self.world.hosts[self.world.pages[index].host].tells;
            let next = self.copies[index].next_change();
            if tells == Tells::Plans && ending != Ending::Failed && next.is_finite() {
                policy.hint(page, Hint::Expected(instant_of(next)), now);
            }
        }
        while let Some((page, hint)) = self.hints.take(self.world, now) {
            policy.hint(page, hint, now);
        }
    }

    fn fetch(&mut self, page: u32, now: Instant) {
        let index = page as usize;
        let time = days_of(now);
        let sim = &self.world.pages[index];
        let host = &self.world.hosts[sim.host];
        let too_soon = self.last_start[sim.host]
            .replace(now)
            .is_some_and(|before| now - before < host.gap);
        let closed = !host.hours.wait(now - Instant::ZERO).is_zero();
        self.report.politeness_violations += u64::from(too_soon || closed);
        if let Some(last) = self.last_of_page.get_mut(index) {
            let gap = self.world.limits[index].shortest_gap();
            let before = last.replace(now);
            let too_soon = before.is_some_and(|before| now - before < gap);
            self.report.limit_violations += u64::from(too_soon);
        }
        self.started += 1;
        let failed = host.fails > 0.0 && self.failures.unit() <= host.fails;
        let measured = time >= self.options.measured_from;
        let ending = if failed {
            Ending::Failed
        } else {
            self.draw(index, time);
            let changed = self.copies[index].visit(&sim.change, time, self.options.measured_from);
            if changed {
                Ending::Changed
            } else {
                Ending::Unchanged
            }
        };
        if measured {
            self.report.fetches += 1;
            self.report.host_fetches[sim.host] += 1;
            self.report.errors += u64::from(failed);
            self.report.changes_seen += u64::from(ending == Ending::Changed);
        }
        self.in_flight
            .push(Reverse((now + self.options.fetch_time, page, ending)));
    }

    /// Adds the fresh time of a page's copy to the course.
    fn draw(&mut self, index: usize, until: f64) {
        let pieces = self.report.course.len();
        if pieces == 0 {
            return;
        }
        let start = self.options.measured_from;
        let (from, to) = self.copies[index].fresh_span(until, start);
        let width = (self.options.days - start) / pieces as f64;
        if !(to > from) {
            return;
        }
        let weight = self.world.pages[index].weight;
        let first = (((from - start) / width) as usize).min(pieces - 1);
        for (piece, sum) in self.report.course.iter_mut().enumerate().skip(first) {
            let begin = start + width * piece as f64;
            if begin >= to {
                break;
            }
            *sum += weight * (to.min(begin + width) - from.max(begin)).max(0.0);
        }
    }

    fn finish(mut self, policy: &dyn Policy) -> Report {
        let Options {
            days,
            measured_from,
            ..
        } = *self.options;
        let mut fresh = 0.0;
        let mut age = 0.0;
        let mut harmonic = 0.0;
        let mut weight = 0.0;
        for index in 0..self.copies.len() {
            self.draw(index, days);
            let copy = &mut self.copies[index];
            let page = &self.world.pages[index];
            copy.account(&page.change, days, measured_from);
            fresh += page.weight * copy.fresh;
            age += page.weight * copy.age;
            harmonic += page.weight * copy.harmonic;
            weight += page.weight;
            self.report.changes += copy.changes;
        }
        let measured = weight * (days - measured_from);
        let mut report = self.report;
        report.freshness = fresh / measured;
        report.age_s = age / measured * 86_400.0;
        report.harmonic = harmonic / measured;
        report.late_s = policy.late_seconds() as f64 / self.started.max(1) as f64;
        let piece = measured / report.course.len().max(1) as f64;
        report.course.iter_mut().for_each(|sum| *sum /= piece);
        report
    }
}

/// What hosts tell, in order of time: the same changes that the copies will see, drawn a second
/// time.
struct Hints {
    queue: BinaryHeap<Reverse<(Instant, u32)>>,
    streams: Vec<(Random, f64)>,
}

impl Hints {
    fn new(world: &World, seed: u64) -> Self {
        let tells = |page: &super::SimPage| world.hosts[page.host].tells != Tells::Nothing;
        if !world.pages.iter().any(tells) {
            return Self {
                queue: BinaryHeap::new(),
                streams: Vec::new(),
            };
        }
        let mut queue = BinaryHeap::new();
        let streams = (world.pages.iter().enumerate())
            .map(|(index, page)| {
                let mut random = Random::stream(seed, index);
                let change = page.change.first(&mut random);
                if tells(page) && change.is_finite() {
                    queue.push(Reverse((instant_of(change), index as u32)));
                }
                (random, change)
            })
            .collect();
        Self { queue, streams }
    }

    fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((told, _))| *told)
    }

    /// The next thing told by now.
    fn take(&mut self, world: &World, now: Instant) -> Option<(u32, Hint)> {
        let Reverse((_, index)) = self
            .queue
            .peek()
            .copied()
            .filter(|Reverse((told, _))| *told <= now)?;
        self.queue.pop();
        let page = &world.pages[index as usize];
        let (random, change) = &mut self.streams[index as usize];
        let this = *change;
        *change = page.change.after(this, random);
        if change.is_finite() {
            self.queue.push(Reverse((instant_of(*change), index)));
        }
        Some((index, Hint::Changed(instant_of(this))))
    }
}

fn days_of(instant: Instant) -> f64 {
    instant.as_micros() as f64 / 86_400e6
}

/// Rounded up: what is told of a change must not come before it.
fn instant_of(days: f64) -> Instant {
    Instant::from_micros((days * 86_400e6).ceil() as u64 + 1)
}
