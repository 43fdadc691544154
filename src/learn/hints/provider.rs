//! Does this host cry wolf? Recall and precision of a host's signals, learnt from visits in twelve bytes.

use super::Signals;
use crate::learn::Visit;

/// Signals, true signals and unannounced changes that a new host is credited with. Most hosts send none, and
/// sitemaps were measured at a precision below 0.2: a new host is believed a little, and soon by its own record.
const FIRST: Provider = Provider { signals: 2.0, right: 0.5, missed: 2.0 };
/// Signals and changes remembered; older ones fade, so that a host that has mended its ways is believed again.
const MEMORY: f32 = 256.0;
/// What one visit may add at most: a page not seen for months must not outweigh all others.
const MOST_AT_ONCE: f32 = 4.0;

/// A host's record.
///
/// A visit does not say which signals were true: a page that changed may have done so unannounced. So each visit adds
/// what is to be expected, given what is believed so far (an EM step; Cappé & Moulines 2009).
///
/// ```
/// use dunlin::learn::hints::Provider;
/// use dunlin::learn::Visit;
/// use dunlin::time::Duration;
///
/// // Signals every hour, but the page changes once a day.
/// let mut host = Provider::new();
/// for hour in 0..240 {
///     host.update(&Visit::new(Duration::HOUR, hour % 24 == 0), 1, 1.0);
/// }
/// assert!(host.precision() < 0.1, "cries wolf");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Provider {
    signals: f32,
    right: f32,
    missed: f32,
}

impl Provider {
    /// A host with no record.
    pub const fn new() -> Self {
        FIRST
    }

    /// The share of its signals that come from changes.
    pub fn precision(&self) -> f32 {
        self.right / self.signals
    }

    /// The share of its changes that send a signal. Without any record of signals this is a guess; a host that has
    /// never sent one soon has a recall near 0, and its pages are plain pages.
    pub fn recall(&self) -> f32 {
        self.right / (self.right + self.missed)
    }

    /// Both, for a page of this change rate per day.
    pub fn signals(&self, rate: f32) -> Signals<f32> {
        Signals::new(rate, self.recall(), self.precision())
    }

    /// Learns from a visit to a page of this `rate` per day that had sent `signals` since the visit before.
    /// Constant time: one exponential and one logarithm.
    pub fn update(&mut self, visit: &Visit, signals: u32, rate: f32) {
        let days: f32 = visit.interval.as_days();
        let sent = signals as f32;
        let (precision, recall) = (self.precision(), self.recall());
        let changed = 1.0 - self.signals(rate).fresh(days, signals);
        let (mut right, mut missed) = (0.0, 0.0);
        if visit.changed && changed > 0.0 {
            // Given that something changed, every part of it is likelier by 1/P(changed) than it was before.
            right = (sent * precision / changed).min(sent);
            missed = (1.0 - recall) * rate * days / changed;
        }
        let weight = MOST_AT_ONCE / (sent.max(right + missed)).clamp(MOST_AT_ONCE, f32::MAX);
        self.signals += weight * sent;
        self.right += weight * right;
        self.missed += weight * missed;
        self.fade();
    }

    fn fade(&mut self) {
        let kept = MEMORY / self.signals.max(self.right + self.missed).max(MEMORY);
        // Not to nothing: a host that falls silent must be able to speak up again.
        *self = Self {
            signals: (self.signals * kept).max(1e-3),
            right: (self.right * kept).max(1e-3),
            missed: (self.missed * kept).max(1e-3),
        };
        self.right = self.right.min(self.signals);
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self::new()
    }
}
