//! The estimator a probe carries for every page: twelve bytes, one constant-time update a visit.
//!
//! A Gamma(a, b) belief about the change rate. What a visit says about the rate λ, after an
//! interval t:
//!
//! | the visit found | likelihood of λ | what happens to the belief |
//! |---|---|---|
//! | nothing new | e^{−λt} | b += t, exactly |
//! | a change, made s ago (`Last-Modified`) | λ e^{−λs} | a += 1, b += s, exactly |
//! | a change, some time since | 1 − e^{−λt} | the Gamma with the same mean and variance as the true posterior |
//!
//! Old evidence fades: a and b shrink together, so the rate stays and the doubt grows. It fades
//! with the days, because sites change their habits however seldom they are visited, and if so set
//! with every visit, which holds in any unit of time. A scheduler keeps apart what a page has shown
//! itself and what its host's pages have ([`HostPrior`](super::HostPrior)), so that evidence fades
//! towards the host's present word and every page profits from what the others show.
//!
//! Fading alone follows a page that changes its habits only after a half-life or two. So two
//! cumulative sums (Page 1954) watch for a rate four times as high or as low as believed; when one
//! of them is sure, the belief is moved there and told to doubt itself. A ten-fold rise or fall is
//! followed to within a factor of two in 10 to 17 visits as a rule, 30 in one case of twenty, where
//! fading alone takes 150 to 450 daily visits. Real pages change in bursts: on 598 documents of the
//! Open Terms Archive (© its contributors, ODC-BY 1.0) fading predicts what daily visits find 9 %
//! better than never forgetting does, and both together 17 % better (in log-likelihood).

use super::Visit;
use super::hints::Provider;
use crate::math::greater;
use crate::time::Duration;

/// How far the rate is supposed to have moved before the watch speaks up.
const JUMP: f32 = 4.0;
const LN_JUMP: f32 = 2.0 * core::f32::consts::LN_2;
/// The weakest belief: that of Jeffreys' prior for a rate.
const LEAST_SHAPE: f32 = 0.5;
/// What is left of the evidence after a jump: about as much as one visit that found a change.
const SHAPE_AFTER_JUMP: f32 = 1.0;
/// Beyond this, f32 no longer sees one more visit.
const MOST_SHAPE: f32 = 1e6;
/// A millisecond, in days: what a belief may at least weigh, so that rates stay finite.
const LEAST_TIME: f32 = 1e-8;
/// Some millions of years, in days.
const MOST_TIME: f32 = 1e9;
/// A change that was all but certain is no evidence of a rise, though many of them would add up to
/// some, in nats.
const EXPECTED_CHANGE: f32 = 0.1;
/// Evidence for a jump is kept in 1/1024 nats.
const NATS: f32 = 1024.0;
/// The last digit of the evidence says instead that the last visit found nothing new.
const UNCHANGED: u16 = 1;
/// Or that it found a change, or that nobody knows.
const CHANGED: u16 = 0;
/// Hosts that signal a smaller share of their changes are taken for hosts that signal none.
const LEAST_RECALL: f32 = 0.05;
/// A `Last-Modified` younger than this says "I was generated for you", not when the page changed.
const YOUNGEST_MODIFICATION: Duration = Duration::from_secs(5);

impl Visit {
    /// How long ago the page changed, if it says so and can be believed.
    pub(crate) fn dated(&self) -> Option<Duration> {
        self.modified_ago
            .filter(|ago| *ago >= YOUNGEST_MODIFICATION && *ago < self.interval)
    }
}

/// What is believed at first about the rate of a page: Gamma-distributed with this mean and shape.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Prior {
    shape: f32,
    time: f32,
}

impl Prior {
    /// Nothing known, not even how often the page is visited: it changes every other day, give or
    /// take a factor of ten. Schedulers start from [`HostPrior`](super::HostPrior) instead.
    pub const DEFAULT: Self = Self {
        shape: LEAST_SHAPE,
        time: 1.0,
    };

    /// No belief at all: what memory starts as.
    pub(crate) const ZERO: Self = Self {
        shape: 0.0,
        time: 0.0,
    };

    /// A mean rate per day, believed as firmly as if `shape` changes had been seen. What is no
    /// number, or out of range, is brought to the nearest one that a device can compute with.
    pub fn new(rate: f32, shape: f32) -> Self {
        let shape = if shape > LEAST_SHAPE {
            shape.min(MOST_SHAPE)
        } else {
            LEAST_SHAPE
        };
        Self {
            shape,
            time: (shape / rate.max(1.0 / MOST_TIME)).clamp(LEAST_TIME, MOST_TIME),
        }
    }

    /// When only the usual interval between visits is known, for whoever chose it had a reason: one
    /// change in each. At 200 visits the estimate then has forgotten its prior, whether the page
    /// changes ten times less often than it is visited or five times as often.
    pub fn from_interval(usual: Duration) -> Self {
        Self::new(1.0 / usual.as_days::<f32>().max(LEAST_TIME), LEAST_SHAPE)
    }

    /// The mean rate per day.
    pub fn rate(&self) -> f32 {
        self.shape / self.time
    }

    /// How firmly: the inverse square of the relative standard deviation.
    pub fn shape(&self) -> f32 {
        self.shape
    }
}

impl Default for Prior {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How the estimator forgets. The same for every page.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LearningSettings {
    /// ln 2 over the half-life in visits; 0 never forgets.
    per_visit: f32,
    /// ln 2 over the half-life in days; 0 never forgets.
    per_day: f32,
    /// Nats of evidence for a jump before it is believed.
    surprise: f32,
}

impl LearningSettings {
    /// Half the evidence is gone after 180 days, however many visits that are; a jump is believed
    /// at odds of e⁹ ≈ 8,000 to 1.
    pub const DEFAULT: Self = Self {
        per_visit: 0.0,
        per_day: core::f32::consts::LN_2 / 180.0,
        surprise: 9.0,
    };
    /// Every visit counts alike for ever, and no jump is believed: for pages known to be steady.
    pub const STEADY: Self = Self {
        per_visit: 0.0,
        per_day: 0.0,
        surprise: f32::INFINITY,
    };

    /// With a half-life in visits besides that in time, in whatever unit a world counts. Infinity
    /// never forgets by visits; below 1 is taken as 1.
    #[must_use]
    pub const fn with_memory(mut self, visits: f32) -> Self {
        let visits = if visits > 1.0 { visits } else { 1.0 };
        self.per_visit = core::f32::consts::LN_2 / visits;
        self
    }

    /// Sets another half-life in time. [`Duration::MAX`] never forgets by time.
    #[must_use]
    pub fn with_half_life(self, half_life: Duration) -> Self {
        let days = half_life.as_days::<f32>();
        let per_day = if half_life == Duration::MAX {
            0.0
        } else {
            core::f32::consts::LN_2 / days.max(LEAST_TIME)
        };
        Self { per_day, ..self }
    }

    /// What is left of evidence after a visit that came after so many days: e^{−x} by 1/(1 + x +
    /// x²/2), within 4 % up to a half-life between two visits.
    fn kept(&self, days: f32) -> f32 {
        let x = self.per_visit + days * self.per_day;
        1.0 / (1.0 + x + 0.5 * x * x)
    }

    /// Visits after which half the evidence is gone; infinite for never.
    pub(crate) fn memory(&self) -> f32 {
        core::f32::consts::LN_2 / self.per_visit
    }

    /// With another threshold, in nats, for believing a four-fold jump. Steady pages raise a false
    /// alarm less than once in e^`nats` visits. Infinity turns the watch off; below 1 is taken as
    /// 1.
    #[must_use]
    pub fn with_surprise(self, nats: f32) -> Self {
        Self {
            surprise: nats.max(1.0),
            ..self
        }
    }
}

impl Default for LearningSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is believed about one page's change rate. Twelve bytes.
///
/// [`Self::update`] takes constant time: a logarithm, and an exponential and two logarithms more
/// when the visit found a change; 247 and 478 instructions on a Cortex-M4F. Nothing a caller can
/// pass makes it NaN or infinite.
///
/// ```
/// use dunlin::learn::{Estimate, LearningSettings, Prior, Visit};
/// use dunlin::time::Duration;
///
/// // Daily visits that find a change three times in five: changes missed in between count too.
/// let mut page = Estimate::new(&Prior::DEFAULT);
/// for day in 0..200 {
///     page.update(&Visit::new(Duration::DAY, day % 5 < 3), &LearningSettings::STEADY);
/// }
/// assert!((page.rate() - 0.92).abs() < 0.02, "−ln 0.4 = 0.916, not 0.6: {}", page.rate());
/// assert!(page.standard_deviation() < 0.1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Estimate {
    /// a, the shape: as many changes as have been seen, counting what is remembered.
    shape: f32,
    /// b, the inverse scale: the days they took.
    time: f32,
    /// Evidence that the rate has risen or fallen, in 1/1024 nats.
    risen: u16,
    fallen: u16,
}

impl Estimate {
    /// Nothing known, not even its host.
    pub const UNKNOWN: Self = Self {
        shape: Prior::DEFAULT.shape,
        time: Prior::DEFAULT.time,
        risen: 0,
        fallen: 0,
    };

    /// No evidence at all: what memory starts as.
    pub(crate) const ZERO: Self = Self {
        shape: 0.0,
        time: 0.0,
        risen: 0,
        fallen: 0,
    };

    /// A page that nobody has looked at yet.
    pub fn new(prior: &Prior) -> Self {
        Self {
            shape: prior.shape,
            time: prior.time,
            risen: 0,
            fallen: 0,
        }
    }

    /// A belief made of [`Self::parts`] that were kept; `None` if no belief has such parts.
    pub fn from_parts(shape: f32, time: f32, [risen, fallen]: [u16; 2]) -> Option<Self> {
        let sound =
            (LEAST_SHAPE..=MOST_SHAPE).contains(&shape) && (LEAST_TIME..=MOST_TIME).contains(&time);
        sound.then_some(Self {
            shape,
            time,
            risen,
            fallen,
        })
    }

    /// What is believed of a page that has shown this much itself and of whose kind a prior is
    /// known.
    pub(crate) fn on(self, prior: &Prior) -> Self {
        Self {
            shape: self.shape + prior.shape,
            time: self.time + prior.time,
            ..self
        }
    }

    /// The same with a part only of what the page has shown.
    pub(crate) fn counted(self, share: f32) -> Self {
        Self {
            shape: share * self.shape,
            time: share * self.time,
            ..self
        }
    }

    /// The same page with another belief about its rate.
    pub(crate) fn with_belief(self, shape: f32, time: f32) -> Self {
        Self {
            shape,
            time,
            ..self
        }
    }

    /// How well this record and a prior foresee what a visit finds after so many days: how fast the
    /// logarithm of the likelihood of what it found grows with the `share` of the record that is
    /// counted on top of the prior, and how many changes it expected at that share: it was
    /// unchanged with the probability e^{−expected}.
    pub(crate) fn foresight(
        &self,
        prior: &Prior,
        share: f32,
        days: f32,
        changed: bool,
    ) -> (f32, f32) {
        let believed = self.counted(share).on(prior);
        let sum = believed.time + days;
        let log = libm::log1pf(days / believed.time);
        let expected = believed.shape * log;
        // Of the number of changes to be expected, as in [`Self::take_in`].
        let slope = self.shape * log - believed.shape * self.time * days / (believed.time * sum);
        let slope = if changed {
            slope / libm::expm1f(expected)
        } else {
            -slope
        };
        (slope, expected)
    }

    /// What of a belief the page has shown itself: the inverse of [`Self::on`].
    pub(crate) fn beyond(self, prior: &Prior) -> Self {
        Self {
            shape: greater(self.shape - prior.shape, 0.0),
            time: greater(self.time - prior.time, 0.0),
            ..self
        }
    }

    /// Forgets of what a page has shown itself as much as a visit makes it.
    pub(crate) fn faded(self, days: f32, settings: &LearningSettings) -> Self {
        let kept = settings.kept(days);
        Self {
            shape: self.shape * kept,
            time: self.time * kept,
            ..self
        }
    }

    /// Did the last visit find nothing new?
    pub(crate) fn was_unchanged(&self) -> bool {
        self.risen & UNCHANGED != 0
    }

    /// Shape, time and evidence of a jump, as a record keeps them.
    pub fn parts(&self) -> (f32, f32, [u16; 2]) {
        (self.shape, self.time, [self.risen, self.fallen])
    }

    /// b, the days of observation that the belief amounts to.
    pub fn time(&self) -> f32 {
        self.time
    }

    /// Changes per day: the mean of the belief. Positive and finite.
    pub fn rate(&self) -> f32 {
        self.shape / self.time
    }

    /// The variance of the rate, per day squared.
    pub fn variance(&self) -> f32 {
        self.rate() / self.time
    }

    /// How far off the rate may well be, per day.
    pub fn standard_deviation(&self) -> f32 {
        libm::sqrtf(self.variance())
    }

    /// The inverse square of the relative standard deviation: about as many changes as the belief
    /// rests on.
    pub fn shape(&self) -> f32 {
        self.shape
    }

    /// The first visit: there is no earlier one to compare with, but a `Last-Modified` date says
    /// that the last change was `modified_ago`. Looking back from any moment, a Poisson process
    /// takes 1/λ on average (Cho, Lemma 6.2), so that counts in full.
    pub fn first_visit(&mut self, modified_ago: Duration) {
        if modified_ago >= YOUNGEST_MODIFICATION {
            self.dated_change(modified_ago.as_days());
            self.settle();
        }
    }

    /// Learns from a visit. A visit after no time at all (a clock that stepped back, a fetch
    /// repeated at once) says nothing and changes nothing.
    pub fn update(&mut self, visit: &Visit, settings: &LearningSettings) {
        if !visit.interval.is_zero() {
            self.fade(visit.interval.as_days(), settings);
            self.take_in(visit, settings);
        }
    }

    /// The same without fading. Says whether the page's habits turned out to have changed.
    pub(crate) fn take_in(&mut self, visit: &Visit, settings: &LearningSettings) -> bool {
        let days: f32 = visit.interval.as_days();
        if visit.interval.is_zero() {
            return false;
        }
        // e^{−expected} is the chance of finding nothing new, averaged over the belief:
        // (b/(b+t))^a.
        let expected = self.shape * libm::log1pf(days / self.time);
        let (risen, fallen, found) = if !visit.changed {
            self.time += days;
            let (risen, fallen) = (-(JUMP - 1.0) * expected, (1.0 - 1.0 / JUMP) * expected);
            (risen, fallen, UNCHANGED)
        } else {
            let (odds, risen, fallen) = undated(expected);
            match visit.dated() {
                Some(ago) => self.dated_change(ago.as_days()),
                None => self.undated_change(days, odds),
            }
            (risen, fallen, CHANGED)
        };
        self.watch(risen, fallen, found);
        self.jump(settings.surprise)
    }

    /// Learns from a visit to a page that had sent `signals` since the visit before, on a host with
    /// this record.
    ///
    /// Visits prompted by signals find changes more often than chance, so [`Self::update`] alone
    /// would take a punctual host's pages for ever busier ones. Here changes that were signalled
    /// count as seen when they happened, and only the share that the host keeps quiet about, (1 −
    /// recall)λ, is inferred from finding the page changed.
    pub fn update_signalled(
        &mut self,
        visit: &Visit,
        signals: u32,
        provider: &Provider,
        settings: &LearningSettings,
    ) {
        if !visit.interval.is_zero() {
            self.fade(visit.interval.as_days(), settings);
            self.take_in_signalled(visit, signals, provider, settings);
        }
    }

    /// The same without fading. Says whether the page's habits turned out to have changed.
    pub(crate) fn take_in_signalled(
        &mut self,
        visit: &Visit,
        signals: u32,
        provider: &Provider,
        settings: &LearningSettings,
    ) -> bool {
        let days: f32 = visit.interval.as_days();
        let believed = provider.signals(self.rate());
        let recall = provider.recall();
        if !visit.changed || recall < LEAST_RECALL || visit.interval.is_zero() {
            // A page that did not change is as good as watched, whatever was said about it.
            return self.take_in(visit, settings);
        }
        let changed = 1.0 - believed.fresh(days, signals);
        let right = provider.precision() * signals as f32 / changed.max(f32::MIN_POSITIVE);
        // The host's own share of the process is watched all the time: `told` changes are to be
        // expected from it.
        let told = recall * self.rate() * days;
        let (risen, fallen) = if right >= 0.5 {
            let right = right.min(signals as f32);
            self.shape += right;
            (LN_JUMP * right, -LN_JUMP * right)
        } else {
            let quiet = (1.0 - recall) * days;
            let (odds, risen, fallen) = undated(self.shape * libm::log1pf(quiet / self.time));
            self.undated_change(quiet, odds);
            (risen, fallen)
        };
        self.time += recall * days;
        let risen = risen - (JUMP - 1.0) * told;
        let fallen = fallen + (1.0 - 1.0 / JUMP) * told;
        self.watch(risen, fallen, CHANGED);
        self.jump(settings.surprise)
    }

    /// Exactly conjugate: the likelihood of a change s ago and none since is λ e^{−λs}.
    fn dated_change(&mut self, days: f32) {
        self.shape += 1.0;
        self.time += days;
    }

    /// Matches mean and variance of the posterior after "changed at least once in `days`". The
    /// posterior is the difference of two Gammas, and the textbook moments m₂ − m₁² cancel in f32;
    /// with σ = t/(b+t) and y = σ/(e^{expected} − 1) they reduce to a sum that does not.
    fn undated_change(&mut self, days: f32, odds: f32) {
        let sigma = days / (self.time + days);
        let y = sigma / odds;
        let spread = 1.0 + 2.0 * y - y * (sigma + self.shape * (sigma + y));
        if spread > 0.0 {
            let ratio = (1.0 + y) / spread;
            self.shape *= (1.0 + y) * ratio;
            self.time *= ratio;
        }
    }

    /// Forgets of a belief that stands alone.
    pub(crate) fn fade(&mut self, days: f32, settings: &LearningSettings) {
        let kept = settings.kept(days);
        let shape = self.shape * kept;
        if shape >= LEAST_SHAPE {
            self.shape = shape;
            self.time *= kept;
        } else {
            // The weakest belief keeps its rate, but not the memory of more time than fading lets
            // it have: a page that was quiet for years must not need years to be heard again.
            let fading = settings.per_visit / days + settings.per_day;
            self.time = (self.time * LEAST_SHAPE / self.shape).min(1.0 / fading);
            self.shape = LEAST_SHAPE;
        }
    }

    /// Page's cumulative sums: evidence adds up, but never below none at all. And what the visit
    /// found, [`UNCHANGED`] or [`CHANGED`].
    #[inline(never)] // Once for all callers.
    fn watch(&mut self, risen: f32, fallen: f32, found: u16) {
        self.risen = (f32::from(self.risen) + NATS * risen) as u16 & !UNCHANGED | found;
        self.fallen = (f32::from(self.fallen) + NATS * fallen) as u16;
        self.settle();
    }

    /// Believes in a jump once the evidence is strong enough, unless the belief is so weak that it
    /// follows anyway. Says whether it has jumped.
    fn jump(&mut self, surprise: f32) -> bool {
        let threshold = NATS * surprise;
        let factor = if f32::from(self.risen) >= threshold {
            JUMP
        } else if f32::from(self.fallen) >= threshold {
            1.0 / JUMP
        } else {
            return false;
        };
        let jumps = self.shape > SHAPE_AFTER_JUMP;
        if jumps {
            let rate = self.rate() * factor;
            self.shape = SHAPE_AFTER_JUMP;
            self.time = SHAPE_AFTER_JUMP / rate;
            self.settle();
        }
        self.risen = 0;
        self.fallen = 0;
        jumps
    }

    /// Keeps the belief where f32 can compute with it.
    #[inline(never)] // Once for all callers.
    fn settle(&mut self) {
        self.shape = self.shape.clamp(LEAST_SHAPE, MOST_SHAPE);
        self.time = self.time.clamp(LEAST_TIME, MOST_TIME);
    }
}

/// For a change where so many were expected: `e^{expected} − 1`, and the evidence, in nats, that
/// the rate has risen or fallen.
fn undated(expected: f32) -> (f32, f32, f32) {
    // From its fourth root: sums of positive terms, so nothing cancels.
    let root = libm::expm1f(expected * (1.0 / JUMP));
    let odds = root * (4.0 + root * (6.0 + root * (4.0 + root)));
    (
        odds,
        geometric(1.0 / (1.0 + odds)) - EXPECTED_CHANGE,
        -geometric(1.0 / (1.0 + root)),
    )
}

/// ln(1 + q + q² + q³) = ln((1 − q⁴)/(1 − q)): how much likelier a change is at four times the
/// rate, given that nothing changes with probability q.
fn geometric(q: f32) -> f32 {
    libm::logf(1.0 + q * (1.0 + q * (1.0 + q)))
}
