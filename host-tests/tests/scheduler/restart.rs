//! The scheduler on a device that is switched off and on again: all that it knows goes through what
//! its store keeps.

use dunlin::scheduler::{LargeScheduler, Outcome, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::{Policy, Step, World};

/// A scheduler that learns, and is restarted at a moment, or again and again.
pub struct Restarting<'a> {
    world: &'a World,
    per_day: f32,
    scheduler: LargeScheduler,
    every: Duration,
    again: bool,
    restart: Instant,
    in_flight: u32,
}

impl<'a> Restarting<'a> {
    /// Pages are visited every `gap` days on average, and the device is restarted after so many
    /// visits, `again` and again or once.
    pub fn new(world: &'a World, gap: f64, visits: f64, again: bool) -> Self {
        let per_day = (world.pages.len() as f64 / gap) as f32;
        let every = Duration::from_days(visits * gap);
        Self {
            world,
            per_day,
            scheduler: scheduler(world, Some(per_day), true, Settings::DEFAULT),
            every,
            again,
            restart: Instant::ZERO + every,
            in_flight: 0,
        }
    }

    fn restarted(&self, now: Instant) -> LargeScheduler {
        let before = &self.scheduler;
        let mut after = scheduler(self.world, Some(self.per_day), true, Settings::DEFAULT);
        after.restore_price(before.price());
        after.restore_trust(before.trust());
        for host in (0..self.world.hosts.len()).filter_map(|index| before.host_id(index)) {
            let memo = before.host_memo(host).expect("a host");
            after.restore_host(host, &memo, now).expect("a host");
        }
        for page in (0..self.world.pages.len()).filter_map(|index| before.page_id(index)) {
            if let Some(last) = before.last_fetch(page) {
                let memo = before.page_memo(page).expect("a page");
                after
                    .restore_page(page, memo, now - last, true, now)
                    .expect("a page");
            }
        }
        after
    }
}

impl Policy for Restarting<'_> {
    fn next(&mut self, now: Instant) -> Step {
        // What is being fetched is waited for: it would be lost.
        if now >= self.restart && self.in_flight == 0 {
            self.scheduler = self.restarted(now);
            self.restart = if self.again {
                self.restart + self.every
            } else {
                Instant::MAX
            };
        }
        let step = Policy::next(&mut self.scheduler, now);
        self.in_flight += u32::from(matches!(step, Step::Fetch(_)));
        step
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        self.in_flight -= 1;
        Policy::record(&mut self.scheduler, page, outcome, now);
    }

    fn late_seconds(&self) -> u64 {
        self.scheduler.counters().late_seconds()
    }
}
