//! The budget as a leaky bucket: how many fetches a day, and how many at once.

use crate::time::{Duration, Instant};

/// The longest interval between fetches, two years: slower budgets are brought here, so that a full
/// bucket of 65,535 fetches is still a time that can be told.
const MOST_INTERVAL: Duration = Duration::from_micros(1 << 46);

/// In any window of length W at most `W · rate + burst` fetches start. It is kept as one moment,
/// without counting (the generic cell rate algorithm).
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// The time between fetches at the full rate; zero for no budget.
    interval: Duration,
    /// How far ahead of an even pace fetches may be.
    saved_up: Duration,
    burst: u16,
    /// When the bucket would be empty again.
    drained: Instant,
    /// So many pages may be fetched for the first time before the budget allows it.
    ahead: u32,
}

impl Budget {
    pub(super) const fn new(burst: u16) -> Self {
        Self {
            interval: Duration::ZERO,
            saved_up: Duration::ZERO,
            burst,
            drained: Instant::ZERO,
            ahead: 0,
        }
    }

    /// Another rate from now on. The bucket starts full: whatever was saved up before does not
    /// become a burst. The next fetch may start when it could have, or after one new interval if
    /// that is sooner.
    pub(super) fn set(&mut self, per_day: Option<f32>, now: Instant) {
        let wait = self.opens() - now;
        self.interval = per_day.map_or(Duration::ZERO, interval);
        self.saved_up = self.interval * u64::from(self.burst.saturating_sub(1));
        self.drained = now + wait.min(self.interval) + self.saved_up;
    }

    /// So many first fetches need not wait; they are spent all the same.
    pub(super) fn set_ahead(&mut self, fetches: u32) {
        self.ahead = fetches;
    }

    /// May a first fetch start although the bucket is full?
    pub(super) fn goes_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// A first fetch has come to something.
    pub(super) fn went_ahead(&mut self) {
        self.ahead = self.ahead.saturating_sub(1);
    }

    /// When the next fetch may start.
    pub(super) fn opens(&self) -> Instant {
        self.drained - self.saved_up
    }

    pub(super) fn spend(&mut self, now: Instant) {
        self.drained = self.drained.max(now) + self.interval;
    }

    /// Takes back a fetch that did not happen.
    pub(super) fn refund(&mut self) {
        self.drained = self.drained - self.interval;
    }
}

/// Between fetches at this many a day; rounded up by more than f32 has lost, so that no window sees
/// one too many.
fn interval(per_day: f32) -> Duration {
    let micros = (86_400e6 / per_day) as u64;
    Duration::from_micros((micros >> 22) + 1) + Duration::from_micros(micros).min(MOST_INTERVAL)
}
