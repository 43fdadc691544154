//! What signals are worth: the value of fetching a page that has sent some, when some are false and
//! some are missing.
//!
//! Changes come at rate λ. A share of them, the *recall*, sends a signal; a share of the signals,
//! the *precision*, comes from changes. A copy fetched τ ago, with k signals since, is then fresh
//! with probability `e^{−(1−recall)λτ} (1−precision)^k`: silence reassures, a signal alarms, and
//! how much is learnt for each host by [`Provider`](super::Provider).

use crate::math::Real;

/// Nobody is believed beyond this, so that no logarithm is infinite: the best provider may fail
/// once in a thousand.
const MOST_BELIEVED: f64 = 0.999;
/// Terms of the value's sum; further ones are worth less than a thousandth unless signals mean next
/// to nothing.
const MOST_TERMS: u32 = 32;

/// How a page's signals relate to its changes.
///
/// ```
/// use dunlin::learn::hints::Signals;
///
/// // A page that changes once a day, on a host that announces four changes in five, and is right
/// // half the time.
/// let page = Signals::<f32>::new(1.0, 0.8, 0.5);
/// assert!(page.fresh(1.0, 0) > 0.8, "a silent day");
/// assert!(page.fresh(0.1, 1) < 0.5, "a signal");
/// assert!(page.value(0.1, 1) > page.value(1.0, 0));
///
/// // Nobody listens to a host that never says anything true.
/// let liar = Signals::<f32>::new(1.0, 0.0, 0.0);
/// assert_eq!(liar.value(1.0, 5), liar.value(1.0, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Signals<F> {
    rate: F,
    recall: F,
    precision: F,
}

impl<F: Real> Signals<F> {
    /// From the page's change rate per day and its host's recall and precision, each brought into
    /// its range.
    pub fn new(rate: F, recall: F, precision: F) -> Self {
        let share = |share: F| share.max(F::ZERO).min(F::from_f64(MOST_BELIEVED));
        Self {
            rate: rate.max(F::MIN_POSITIVE).min(F::MAX),
            recall: share(recall),
            precision: share(precision),
        }
    }

    /// α: changes per day that send no signal.
    fn silent(&self) -> F {
        (F::ONE - self.recall) * self.rate
    }

    /// −ln(1 − precision): how much a signal adds to the log-odds of staleness.
    fn alarm(&self) -> F {
        -(-self.precision).ln_1p()
    }

    /// The probability that a copy is fresh, `days` after it was fetched, with `signals` since.
    pub fn fresh(&self, days: F, signals: u32) -> F {
        (-self.silent() * days - self.alarm() * F::from_u32(signals)).exp()
    }

    /// The age, in days, at which a copy of a page that sends no signals would be as likely stale.
    ///
    /// The cheap form for a scheduler that knows plain pages: time runs at (1 − recall) of its
    /// speed while the page is silent, and each signal moves its due time forward by −ln(1 −
    /// precision)/λ. No exponential.
    pub fn equivalent_age(&self, days: F, signals: u32) -> F {
        (F::ONE - self.recall) * days + self.alarm() / self.rate * F::from_u32(signals)
    }

    /// How much equivalent age a day adds on average, signals and all. 1 for a page without
    /// signals.
    pub fn speed(&self) -> F {
        let all = self.recall / self.precision.max(F::MIN_POSITIVE);
        (F::ONE - self.recall) + (all * self.alarm()).min(F::MAX)
    }

    /// Visits a day of a page that is fetched whenever it reaches an equivalent age: what
    /// [`Self::days_until`] comes to on average.
    ///
    /// A signal takes the page beyond that age as a rule, not just up to it, so that this is much
    /// less than [`Self::speed`] over the age: a host that is always right asks for one visit a
    /// change, however much each of its signals alarms. Exactly, the mean time between two visits
    /// is `Σ_{j: jβ≤ι} P(j+1, γ(ι−jβ)/(1−recall))/γ`, with a signal worth β days of equivalent age,
    /// ι to be reached, and γ signals a day. Up to 33 terms of up to 96 steps.
    ///
    /// ```
    /// use dunlin::learn::hints::Signals;
    ///
    /// // It changes twice a day, and would be visited eight times a day if nobody told.
    /// let told = Signals::<f32>::new(2.0, 0.9, 0.999).visits_per_day(0.125);
    /// assert!(told > 2.0 && told < 3.0, "{told}");
    /// let silent = Signals::<f32>::new(2.0, 0.0, 0.5).visits_per_day(0.125);
    /// assert!((silent - 8.0).abs() < 1e-3);
    /// ```
    pub fn visits_per_day(&self, equivalent_age: F) -> F {
        if !(equivalent_age > F::ZERO && equivalent_age < F::MAX) {
            return F::ZERO;
        }
        let all = (self.recall * self.rate / self.precision.max(F::MIN_POSITIVE)).min(F::MAX);
        let quiet = F::ONE - self.recall;
        let step = self.alarm() / self.rate;
        let few = all * equivalent_age < F::from_f64(1e-3) * quiet;
        if few || step * F::from_u32(MOST_TERMS) < equivalent_age {
            // Signals are rare, or so many and so weak that they come to a steady speed.
            return self.speed() / equivalent_age;
        }
        let mut days = F::ZERO;
        let mut left = equivalent_age;
        for count in 0..=MOST_TERMS {
            days += more_than(count, all * left / quiet) / all;
            left -= step;
            if left <= F::ZERO {
                break;
            }
        }
        F::ONE / days
    }

    /// The inverse: how many days after the fetch a page with `signals` so far reaches an
    /// equivalent age. 0 if it has passed it already.
    pub fn days_until(&self, equivalent_age: F, signals: u32) -> F {
        let left = equivalent_age - self.alarm() / self.rate * F::from_u32(signals);
        left.max(F::ZERO) / (F::ONE - self.recall)
    }

    /// What it is worth to fetch a page of weight 1 now, in days of freshness: the index by which
    /// pages with signals of different worth compete for one budget. Without signals (recall 0) it
    /// is `(1 − (1+x)e^{−x})/λ`, x = λτ.
    ///
    /// With ι = τ + βk, where a signal is worth β = −ln(1−precision)/α days, and ν false and γ
    /// signals in all per day: `Σ_{j: jβ≤ι} ν^j/(λ+ν)^{j+1} P(j+1, (λ+ν)(ι−jβ)) − e^{−αι}/γ P(j+1,
    /// γ(ι−jβ))`, P being the chance of more than j Poisson events. Up to 33 terms of up to 96
    /// steps; some 1,100 instructions on a Cortex-M4F as a rule.
    pub fn value(&self, days: F, signals: u32) -> F {
        let rate = self.rate;
        let plain = |age: F| {
            let x = rate * age;
            more_than(1, x) / rate
        };
        let all = self.recall * rate / self.precision.max(F::MIN_POSITIVE);
        let silent = self.silent();
        let alarm = self.alarm();
        let age = days + alarm / silent * F::from_u32(signals);
        let step = alarm / silent;
        // Signals that are rare, or mean nothing: the page is a plain one, and the sum below would
        // not end.
        if all * days < F::from_f64(1e-6) && signals == 0 || step * F::from_u32(MOST_TERMS) < age {
            return plain(self.equivalent_age(days, signals));
        }
        let all = all.min(F::MAX / F::TWO);
        let wrong = all * (F::ONE - self.precision);
        let either = rate + wrong;
        let stale_share = (-silent * age).exp() / all;
        let mut value = F::ZERO;
        let mut scale = F::ONE / either;
        let mut left = age;
        for term in 0..=MOST_TERMS {
            value +=
                scale * more_than(term, either * left) - stale_share * more_than(term, all * left);
            scale *= wrong / either;
            left -= step;
            if left <= F::ZERO {
                break;
            }
        }
        value.max(F::ZERO)
    }
}

/// The chance of more than `count` Poisson events where `mean` are expected: the regularised lower
/// incomplete gamma function P(count + 1, mean). Sums whichever tail is the smaller, so that
/// nothing cancels. O(count + 20).
fn more_than<F: Real>(count: u32, mean: F) -> F {
    if mean <= F::ZERO {
        return F::ZERO;
    }
    let mut term = (-mean).exp();
    let mut below = term;
    for event in 1..=count {
        term *= mean / F::from_u32(event);
        below += term;
    }
    if mean > F::from_u32(count + 1) {
        return (F::ONE - below).max(F::ZERO);
    }
    let mut above = F::ZERO;
    for event in count + 1..count + 64 {
        term *= mean / F::from_u32(event);
        above += term;
        if term <= above * F::EPSILON {
            break;
        }
    }
    above
}
