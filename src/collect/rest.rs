//! When a collector that has failed is asked again.

use crate::time::{Duration, Instant};

/// The rest after a failure; each further one is twice as long …
const FIRST: Duration = Duration::from_secs(5);
/// … up to this.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a collector is left alone. While it is, fetches do not wait for it.
///
/// ```
/// use dunlin::collect::Rest;
/// use dunlin::time::{Duration, Instant};
///
/// let mut rest = Rest::NONE;
/// let now = Instant::ZERO;
/// assert!(!rest.lasts(now));
/// rest.failed(now);
/// assert!(rest.lasts(now) && !rest.lasts(now + Duration::from_secs(5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    until: Instant,
    next: Duration,
}

impl Rest {
    /// No rest: the collector has not failed.
    pub const NONE: Self = Self {
        until: Instant::ZERO,
        next: FIRST,
    };

    /// Is it left alone?
    pub fn lasts(&self, now: Instant) -> bool {
        now < self.until
    }

    /// A delivery failed. Several that fail at the same time are one failure.
    pub fn failed(&mut self, now: Instant) {
        if !self.lasts(now) {
            self.until = now + self.next;
            self.next = (self.next * 2).min(LONGEST);
        }
    }

    /// A delivery was taken.
    pub fn succeeded(&mut self) {
        *self = Self::NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_to_a_minute_and_a_delivery_ends_them() {
        let mut rest = Rest::NONE;
        let mut now = Instant::ZERO;
        let mut rests = [0; 6];
        for seconds in &mut rests {
            rest.failed(now);
            rest.failed(now); // Of another slot.
            while rest.lasts(now) {
                now += Duration::from_secs(1);
                *seconds += 1;
            }
        }
        assert_eq!(rests, [5, 10, 20, 40, 60, 60]);
        rest.succeeded();
        assert_eq!(rest, Rest::NONE);
    }
}
