//! Does this host cry wolf? Recall and precision of a host's signals, learnt from visits in sixteen
//! bytes.

use super::Signals;
use crate::learn::Visit;

/// Most hosts send no signals, and sitemaps were measured at a precision below 0.2: a new host is
/// believed a little, precision 0.25 and recall 0.2, and soon by its own record.
const FIRST: Provider = Provider {
    signals: 2.0,
    right: 0.5,
    silence: 2.0,
    missed: 1.6,
};
/// Signals and changes remembered; older ones fade, so that a host that has mended its ways is
/// believed again, if slowly: many hundreds of its signals have to come true.
const SIGNALS_REMEMBERED: f32 = 256.0;
/// Signals and changes that one visit may add at most: a page not seen for months must not outweigh
/// all others.
const MOST_AT_ONCE: u32 = 4;

/// A host of which clearly more than this share is true has proven itself.
#[cfg(feature = "hints")]
const PROVEN: f32 = 0.25;
/// And one of which clearly less than this is true only makes noise.
#[cfg(feature = "hints")]
const NOISE: f32 = 0.125;
/// The least precision that is guessed of a host without a record.
#[cfg(feature = "hints")]
const LEAST_GUESSED: f32 = 1.0 / 32.0;
/// What is clear: so many standard deviations away.
#[cfg(feature = "hints")]
const CLEAR: f32 = 2.0;

/// What the signals of a host have turned out to be worth.
///
/// A visit does not say which signals were true: a page that changed may have done so unannounced.
/// So each visit adds what is to be expected, given what is believed so far. Precision is learnt
/// from visits after signals, recall from visits after silence: of the changes to be expected by the
/// page's rate, how many came (an EM step)?
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
    /// Signals sent, and how many of them were right.
    signals: f32,
    right: f32,
    /// Changes that were to be expected, by their rate, of pages that sent no signal, and how many
    /// came all the same.
    silence: f32,
    missed: f32,
}

impl Provider {
    /// A host with no record.
    pub const fn new() -> Self {
        FIRST
    }

    /// A record that says nothing yet, to be put [`on`](Self::on) a guess.
    #[cfg(feature = "hints")]
    pub(crate) const NOTHING: Self = Self {
        signals: 0.0,
        right: 0.0,
        silence: 0.0,
        missed: 0.0,
    };

    /// What is guessed of one host, where this is known of many: with the weight of a new record.
    #[cfg(feature = "hints")]
    pub(crate) fn guess(&self) -> Self {
        Self {
            // However many have lied: a new host is tried, if not for long.
            right: FIRST.signals * self.precision().max(LEAST_GUESSED),
            missed: FIRST.silence * self.missed / self.silence,
            ..FIRST
        }
    }

    /// What is believed of a host with this record, of which that was guessed.
    #[cfg(feature = "hints")]
    pub(crate) fn on(&self, guess: &Self) -> Self {
        Self {
            signals: self.signals + guess.signals,
            right: self.right + guess.right,
            silence: self.silence + guess.silence,
            missed: self.missed + guess.missed,
        }
    }

    /// The record of a host of which this is believed: the inverse of [`on`](Self::on).
    #[cfg(feature = "hints")]
    pub(crate) fn beyond(&self, guess: &Self) -> Self {
        let signals = (self.signals - guess.signals).max(0.0);
        Self {
            signals,
            // What has faded may be less than what is guessed.
            right: (self.right - guess.right).max(0.0).min(signals),
            silence: (self.silence - guess.silence).max(0.0),
            missed: (self.missed - guess.missed).max(0.0),
        }
    }

    /// A source whose silence says nothing, as that of the pages beside a page: its recall is 0,
    /// and stays so if it learns by [`Self::update_beyond_chance`] only.
    #[cfg(feature = "hints")]
    pub(crate) const fn without_recall() -> Self {
        Self {
            missed: FIRST.silence,
            ..FIRST
        }
    }

    /// The share of its signals that come from changes.
    pub fn precision(&self) -> f32 {
        self.right / self.signals
    }

    /// The share of its changes that send a signal. Near 0 for a host that has sent none so far:
    /// its pages are plain pages.
    pub fn recall(&self) -> f32 {
        let kept = (1.0 - self.missed / self.silence).max(0.0);
        kept * self.right / (self.right + FIRST.right)
    }

    /// Its recall and precision, for a page of this change rate per day.
    #[inline(never)] // Once for all callers.
    pub fn signals(&self, rate: f32) -> Signals<f32> {
        Signals::new(rate, self.recall(), self.precision())
    }

    /// Is it clear that it tells the truth often enough?
    #[cfg(feature = "hints")]
    pub(crate) fn is_proven(&self) -> bool {
        self.precision() - CLEAR * self.doubt() > PROVEN
    }

    /// Is it clear that next to nothing of what it says is true?
    #[cfg(feature = "hints")]
    pub(crate) fn is_noise(&self) -> bool {
        self.precision() + CLEAR * self.doubt() < NOISE
    }

    /// The standard deviation of its precision.
    #[cfg(feature = "hints")]
    pub(crate) fn doubt(&self) -> f32 {
        let precision = self.precision();
        libm::sqrtf((precision * (1.0 - precision)).max(0.0) / (self.signals + 1.0))
    }

    /// Learns from a visit to a page of this `rate` per day that had sent `signals` since the visit
    /// before. Constant time: one exponential and one logarithm.
    pub fn update(&mut self, visit: &Visit, signals: u32, rate: f32) {
        // A rate that is none leaves the record as it is.
        let rate = if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        let expected = rate * visit.interval.as_days::<f32>();
        let unchanged = self.signals(rate).fresh(visit.interval.as_days(), 0);
        if signals > 0 {
            self.hear(signals.min(MOST_AT_ONCE), visit.changed, unchanged);
        } else {
            // Given that something changed, every part of it is likelier by 1/P(changed) than it
            // was before.
            let likelier = if visit.changed && unchanged < 1.0 {
                1.0 / (1.0 - unchanged)
            } else {
                0.0
            };
            let most = MOST_AT_ONCE as f32;
            let weight = most / expected.clamp(most, f32::MAX);
            self.missed += weight * (1.0 - self.recall()) * expected * likelier;
            self.silence += weight * expected;
        }
        self.fade();
    }

    /// Learns the precision from a visit after so many signals, which would have found the page as
    /// it was with this probability if none of them were true.
    ///
    /// Precision is believed to be distributed as Beta(right, signals − right). No change: each
    /// signal was wrong. A change: either it came without a signal, which says nothing, or one of
    /// them is the first that was right. The mean over these cases is exact; what they say counts
    /// as often as they are likely, so that changes that come anyway do not harden a belief.
    fn hear(&mut self, signals: u32, changed: bool, unchanged: f32) {
        let all = self.signals;
        let wrong = all - self.right;
        if !changed {
            self.signals += signals as f32;
            return;
        }
        let mut likely = 1.0 - unchanged;
        let mut precision = likely * self.right / all;
        let mut counted = 0.0;
        // So far, the signals were wrong and nothing else changed the page.
        let mut left = unchanged;
        for number in 0..signals {
            let before = number as f32;
            let right = left * self.right / (all + before);
            likely += right;
            precision += right * (self.right + 1.0) / (all + before + 1.0);
            counted += right * (before + 1.0);
            left *= (wrong + before) / (all + before);
        }
        if likely > 0.0 {
            self.signals += counted / likely;
            self.right = self.signals * (precision / likely).min(1.0);
        }
    }

    /// Learns from a visit after a signal of a source without recall. Of the changes found, what the
    /// page's `rate` per day explains is taken off, so that the precision of a source that knows
    /// nothing comes to 0 on average: an EM step would approach that too slowly.
    #[cfg(feature = "hints")]
    pub(crate) fn update_beyond_chance(&mut self, visit: &Visit, rate: f32) {
        let rate = if rate.is_finite() { rate } else { 0.0 };
        let fresh = Signals::new(rate, 0.0, 0.0).fresh(visit.interval.as_days(), 0);
        let changed = if visit.changed { 1.0 } else { 0.0 };
        self.right += changed - (1.0 - fresh);
        self.signals += fresh;
        let kept = SIGNALS_REMEMBERED / self.signals.max(SIGNALS_REMEMBERED);
        self.signals *= kept;
        self.right *= kept;
    }

    /// Has [`Self::update_beyond_chance`] found clearly more than chance? What chance finds deviates
    /// from its mean by less than the root of the visits that it would leave without a change.
    #[cfg(feature = "hints")]
    pub(crate) fn beats_chance(&self) -> bool {
        self.right > libm::sqrtf(self.signals)
    }

    /// Each pair fades together, so that shares stay; never to nothing, so that a host can always
    /// be heard again.
    fn fade(&mut self) {
        let kept = SIGNALS_REMEMBERED / self.signals.max(SIGNALS_REMEMBERED);
        self.signals *= kept;
        self.right = (self.right * kept).max(1e-3);
        let kept = SIGNALS_REMEMBERED / self.silence.max(self.missed).max(SIGNALS_REMEMBERED);
        self.silence = (self.silence * kept).max(1e-3);
        self.missed = (self.missed * kept).max(1e-3);
    }
}

impl Default for Provider {
    fn default() -> Self {
        Self::new()
    }
}
