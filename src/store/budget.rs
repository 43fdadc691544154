//! How many erases a day the flash can bear.

use crate::time::{Duration, Instant};

/// In any window of length W at most `W · rate` and a day's worth of erases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// The time between erases at the full rate.
    interval: Duration,
    /// When all that was saved up would be there again.
    full: Instant,
    count: u32,
}

impl Budget {
    pub(super) const fn new(per_day: u64) -> Self {
        let per_day = if per_day == 0 { 1 } else { per_day };
        let interval = Duration::from_micros(Duration::DAY.as_micros() / per_day);
        Self {
            interval,
            full: Instant::ZERO,
            count: 0,
        }
    }

    /// Until when nothing may be erased; `None` if something may.
    pub(super) fn spent_until(&self, now: Instant) -> Option<Instant> {
        let opens = self.full - Duration::DAY;
        (opens > now).then_some(opens)
    }

    pub(super) fn spend(&mut self, now: Instant) {
        self.full = self.full.max(now) + self.interval;
        self.count = self.count.wrapping_add(1);
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}
