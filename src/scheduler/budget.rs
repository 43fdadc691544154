//! The budget as a leaky bucket: how many fetches a day, and how many at once.

use crate::time::{Duration, Instant};

/// In any window of length W at most `W · rate + burst` fetches start. One time, no counting (GCRA).
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Between fetches at the full rate; zero for no budget.
    interval: Duration,
    burst: u16,
    /// When the bucket would be empty again.
    drained: Instant,
}

impl Budget {
    pub(super) const fn new(burst: u16) -> Self {
        Self { interval: Duration::ZERO, burst, drained: Instant::ZERO }
    }

    /// Another rate from now on. The bucket starts full: whatever was saved up before does not become a burst.
    pub(super) fn set(&mut self, per_day: Option<f32>, now: Instant) {
        self.interval = match per_day {
            Some(rate) => Duration::from_micros((86_400e6 / rate) as u64).max(Duration::from_micros(1)),
            None => Duration::ZERO,
        };
        self.drained = self.drained.max(now + self.interval * u64::from(self.burst.saturating_sub(1)));
    }

    /// When the next fetch may start.
    pub(super) fn opens(&self) -> Instant {
        self.drained - self.interval * u64::from(self.burst.saturating_sub(1))
    }

    pub(super) fn spend(&mut self, now: Instant) {
        self.drained = self.drained.max(now) + self.interval;
    }

    /// Takes back a fetch that did not happen.
    pub(super) fn refund(&mut self) {
        self.drained = self.drained - self.interval;
    }
}
