//! What decides in a simulation: the crate's own scheduler, or one of the rules it is compared
//! with.

use dunlin::learn::hints::Hint;
use dunlin::scheduler::{Core, Decision, Large, Outcome, PageId, PageSettings, Settings};
use dunlin::time::{Duration, Instant};

use super::World;

/// Decides what to fetch. Pages are known by their index in the world.
pub trait Policy {
    /// What to do now.
    fn next(&mut self, now: Instant) -> Decision<u32>;
    /// What became of a fetch.
    fn record(&mut self, page: PageId<u32>, outcome: Outcome, now: Instant);
    /// What a host says about a page. Most do not listen.
    fn hint(&mut self, _page: PageId<u32>, _hint: Hint, _now: Instant) {}
    /// By how many seconds, in total, fetches started later than they were due.
    fn late_seconds(&self) -> u64;
}

impl Policy for Core<Large> {
    fn next(&mut self, now: Instant) -> Decision<u32> {
        Self::next(self, now)
    }

    fn record(&mut self, page: PageId<u32>, outcome: Outcome, now: Instant) {
        let known = Self::record(self, page, outcome, now);
        debug_assert_eq!(known, Ok(()));
    }

    fn hint(&mut self, page: PageId<u32>, hint: Hint, now: Instant) {
        let known = Self::hint(self, page, hint, now);
        debug_assert_eq!(known, Ok(()));
    }

    fn late_seconds(&self) -> u64 {
        self.counters().late_seconds()
    }
}

/// The scheduler that ships, on a world: with its rates, or without so that it has to learn them.
pub fn scheduler(
    world: &World,
    per_day: Option<f32>,
    learn: bool,
    settings: Settings,
) -> Core<Large> {
    let mut core = Core::large(world.pages.len(), world.hosts.len(), settings);
    let _ = core.set_budget(per_day, Instant::ZERO);
    core.set_clock(Duration::ZERO, Instant::ZERO);
    let hosts: Vec<_> = world
        .hosts
        .iter()
        .filter_map(|host| core.add_host(host.gap).ok())
        .collect();
    for (id, host) in hosts.iter().zip(&world.hosts) {
        let _ = core.set_hours(*id, host.hours);
    }
    for page in &world.pages {
        let rate = (!learn).then_some(page.mean_rate as f32);
        let settings = PageSettings {
            weight: page.weight as f32,
            rate,
            confidence: 1e6,
        };
        let _ = core.add_page(hosts[page.host], &settings, Instant::ZERO);
    }
    core
}
