//! What happened, counted: one enum, so that a log, a monitor and a test speak of the same things.

use super::tick::Tick;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[non_exhaustive]
pub enum Counter {
    /// A fetch was started.
    Fetch,
    /// It found a new version.
    Changed,
    /// It found the version known already.
    Unchanged,
    /// The page is no longer there (404, 410).
    Gone,
    /// The page has moved.
    Redirected,
    /// The host asked for patience (429, 503).
    Refused,
    /// The host gave no usable answer.
    Failed,
    /// Robots rules forbid the page.
    Denied,
    /// Its host had to be asked for something else first.
    Postponed,
    /// A signal from a provider arrived.
    Hint,
    /// A page was due, but its host's gate was closed.
    SkippedByGate,
    /// A page was due, but the budget was spent.
    SkippedByBudget,
    /// A page was due, but the wall clock that its host's hours need is not known.
    SkippedByClock,
    /// A fetch started more than a tenth of its page's interval late.
    Late,
}

/// How many counters there are.
const KINDS: usize = Counter::Late as usize + 1;

/// How often each [`Counter`] happened since the start. Counts wrap after four thousand million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    counts: [u32; KINDS],
    /// How late fetches were, in ticks: a device adds them without dividing.
    late: u64,
}

impl Counters {
    pub(super) const fn new() -> Self {
        Self {
            counts: [0; KINDS],
            late: 0,
        }
    }

    /// How often it happened.
    ///
    /// ```
    /// use dunlin::scheduler::{Counter, Counters};
    /// assert_eq!(Counters::default().get(Counter::Fetch), 0);
    /// ```
    pub fn get(&self, counter: Counter) -> u32 {
        self.counts.get(counter as usize).copied().unwrap_or(0)
    }

    /// By how many seconds, in total, fetches started later than they were due.
    pub fn late_seconds(&self) -> u64 {
        Tick::duration(self.late).as_secs()
    }

    pub(super) fn count(&mut self, counter: Counter) {
        if let Some(count) = self.counts.get_mut(counter as usize) {
            *count = count.wrapping_add(1);
        }
    }

    pub(super) fn late(&mut self, ticks: u32) {
        self.late = self.late.saturating_add(u64::from(ticks));
    }
}
