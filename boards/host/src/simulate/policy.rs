//! What decides in a simulation: the crate's own scheduler, or one of the rules it is compared
//! with.

use dunlin::constraints::{ClockUpdate, CrawlLimits, ListedConstraints};
use dunlin::learn::hints::Hint;
use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};

use super::World;

/// What a policy wants to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a page that is to be fetched waits for its outcome"]
pub enum Step {
    /// Fetch this page of the world.
    Fetch(u32),
    /// Do nothing until then.
    WaitUntil(Instant),
    /// Do nothing until something is recorded.
    Idle,
}

/// Decides what to fetch. Pages are known by their index in the world.
pub trait Policy {
    /// What to do now.
    fn next(&mut self, now: Instant) -> Step;
    /// What became of a fetch.
    fn record(&mut self, page: u32, outcome: Outcome, now: Instant);
    /// What a host says about a page. Most do not listen.
    fn hint(&mut self, _page: u32, _hint: Hint, _now: Instant) {}
    /// By how many seconds, in total, fetches started later than they were due.
    fn late_seconds(&self) -> u64;
}

impl Policy for LargeScheduler {
    fn next(&mut self, now: Instant) -> Step {
        match Self::next(self, now) {
            Decision::Fetch(page) => Step::Fetch(page.index() as u32),
            Decision::WaitUntil(then) => Step::WaitUntil(then),
            Decision::Idle => Step::Idle,
        }
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        let known = self
            .page_id(page as usize)
            .map(|page| Self::record(self, page, outcome, now));
        debug_assert_eq!(known, Some(Ok(())));
    }

    fn hint(&mut self, page: u32, hint: Hint, now: Instant) {
        let known = self
            .page_id(page as usize)
            .map(|page| Self::hint(self, page, hint, now));
        debug_assert_eq!(known, Some(Ok(())));
    }

    fn late_seconds(&self) -> u64 {
        self.counters().late_seconds()
    }
}

/// What a list would say of a page. Who has to learn is not told by which clock it changes.
fn constraints_of(world: &World, page: usize, learn: bool) -> ListedConstraints {
    let limits = world.limits_of(page);
    let clock = match world.clock_of(page) {
        Some(quasi) if !learn => {
            let update = |&(offset, probability): &(f64, f64)| {
                ClockUpdate {
                    offset: Duration::from_days(offset),
                    probability: probability as f32,
                }
                .to_bytes()
            };
            let updates = quasi.updates.iter().flat_map(update).collect();
            Some((Duration::from_days(quasi.period), updates))
        }
        _ => None,
    };
    ListedConstraints { limits, clock }
}

/// The scheduler that ships, on a world: with its rates, or without so that it has to learn them.
pub fn scheduler(
    world: &World,
    per_day: Option<f32>,
    learn: bool,
    settings: Settings,
) -> LargeScheduler {
    let mut scheduler = LargeScheduler::new(world.pages.len(), world.hosts.len(), settings);
    let _ = scheduler.set_budget(per_day, Instant::ZERO);
    scheduler.set_clock(Duration::ZERO, Instant::ZERO);
    let hosts: Vec<_> = world
        .hosts
        .iter()
        .filter_map(|host| scheduler.add_host(host.gap).ok())
        .collect();
    for (id, host) in hosts.iter().zip(&world.hosts) {
        let _ = scheduler.set_hours(*id, host.hours);
    }
    // Most worlds have none, and they would take more memory than the scheduler.
    let constraints = || (0..world.pages.len()).map(|page| constraints_of(world, page, learn));
    let has_constraints: Vec<bool> = constraints()
        .map(|constraints| constraints.limits != CrawlLimits::NONE || constraints.clock.is_some())
        .collect();
    if has_constraints.contains(&true) {
        scheduler.set_constraints(constraints().collect());
    }
    for (page, has_constraints) in world.pages.iter().zip(has_constraints) {
        let rate = (!learn).then_some(page.mean_rate as f32);
        let settings = PageSettings::DEFAULT
            .with_weight(page.weight as f32)
            .with_rate(rate)
            .with_confidence(1e6)
            .with_constraints(has_constraints);
        let _ = scheduler.add_page(hosts[page.host], &settings, Instant::ZERO);
    }
    scheduler
}
