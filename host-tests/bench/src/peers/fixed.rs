//! Jobs at fixed intervals, as APScheduler's `interval` trigger runs them: the same interval for
//! every page, the one that spends the budget, and starts spread over it. A run that was missed is
//! made once, late (`coalesce`), and the next ones keep to their times.

use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::{Fetched, Gated, Rule, World};

/// The rule; see the module.
#[derive(Debug)]
pub struct Fixed {
    interval: Duration,
    pages: u64,
}

/// On a world, with so many fetches a day.
pub fn fixed(world: &World, per_day: f64) -> Gated<Fixed> {
    let pages = world.pages.len();
    let rule = Fixed {
        interval: Duration::from_days(pages as f64 / per_day),
        pages: pages as u64,
    };
    Gated::new(world, per_day, rule)
}

impl Rule for Fixed {
    fn eager(&self) -> bool {
        false
    }

    fn first(&mut self, page: usize) -> Instant {
        Instant::ZERO + self.interval / self.pages * page as u64
    }

    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        let due = fetched.due;
        let missed = (fetched.now - due).as_micros() / self.interval.as_micros().max(1);
        Some(due + self.interval * (missed + 1))
    }
}
