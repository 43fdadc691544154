//! Changes that come independently of each other.

use super::{ChangeModel, Objective};
use crate::math::{
    Real, age_excess, age_excess_inverse, age_fraction, excess, excess_inverse, g, h, h_inverse,
    harmonic, staleness_drop,
};

/// A Poisson page: the gap to the next change is exponential (Cho §4, Wolf §2.1.1). Everything in
/// closed form.
///
/// ```
/// use dunlin::model::{ChangeModel, Objective, Poisson};
/// let page = Poisson::new(2.0_f64); // two changes an interval
/// // Visited four times an interval it is fresh 78.7 % of the time.
/// assert!((1.0 - page.cost(Objective::Freshness, 0.25) - 0.786_9).abs() < 1e-4);
/// // The gap after which a visit is worth 0.1:
/// let gap = page.gap(Objective::Freshness, 0.1);
/// assert!((page.value(Objective::Freshness, gap) - 0.1).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson<F> {
    rate: F,
}

impl<F: Real> Poisson<F> {
    /// A page that changes `rate` times an interval on average; 0 never changes.
    pub const fn new(rate: F) -> Self {
        Self { rate }
    }

    /// The gap after which a visit to a page that changes `changes` times in `time`, on average, is
    /// worth `value`, that in units of `time` and for weight 1: `h(λ gap) = λ value` (Cho §5.3).
    /// Infinite where no visit is worth so much.
    ///
    /// This is the one place where a gap follows from a price: [`ChangeModel::gap`] counts in
    /// intervals (`time` is 1), and a belief about a rate that has become firm (`plan::worth`)
    /// counts in its own time.
    #[inline]
    pub(crate) fn gap_worth(changes: F, time: F, value: F) -> F {
        time * h_inverse(value * changes) / changes
    }
}

impl<F: Real> ChangeModel<F> for Poisson<F> {
    fn rate(&self) -> F {
        self.rate
    }
    fn density(&self, age: F) -> F {
        self.rate * (-self.rate * age).exp()
    }
    fn stale(&self, age: F) -> F {
        -(-self.rate * age).exp_m1()
    }
    fn first_moment(&self, gap: F) -> F {
        if self.rate > F::ZERO {
            h(self.rate * gap) / self.rate
        } else {
            F::ZERO
        }
    }
    fn second_moment(&self, gap: F) -> F {
        (gap * gap * self.stale(gap) - F::TWO * self.value(Objective::Age, gap)).max(F::ZERO)
    }

    fn value(&self, objective: Objective, gap: F) -> F {
        let x = self.rate * gap;
        match objective {
            _ if !(x > F::ZERO) => F::ZERO,
            Objective::Freshness => h(x) / self.rate,
            Objective::Harmonic => excess(x) / self.rate,
            // Below this the series has one term, and squares would leave the number type.
            Objective::Age if x < F::from_f64(1e-8) => gap * gap * x * F::from_f64(1.0 / 3.0),
            Objective::Age => gap * gap * (age_excess(x) / (x * x)),
        }
    }

    fn gap(&self, objective: Objective, price: F) -> F {
        let rate = self.rate;
        if !(rate > F::ZERO) {
            return F::INFINITY;
        }
        match objective {
            Objective::Freshness => Self::gap_worth(rate, F::ONE, price),
            Objective::Harmonic => excess_inverse(price * rate) / rate,
            Objective::Age => {
                let y = price * rate * rate;
                if y < F::from_f64(1e-24) {
                    (F::from_f64(3.0) * price / rate).powf(F::from_f64(1.0 / 3.0))
                } else {
                    age_excess_inverse(y) / rate
                }
            }
        }
    }

    fn cost(&self, objective: Objective, gap: F) -> F {
        let r = self.rate * gap;
        match objective {
            _ if !(r > F::ZERO) => F::ZERO,
            Objective::Freshness => g(r),
            Objective::Age => gap * age_fraction(r),
            Objective::Harmonic => (harmonic(r) - g(r)).max(F::ZERO),
        }
    }

    fn harmonic(&self, age: F) -> F {
        harmonic(self.rate * age)
    }

    fn drop(&self, objective: Objective, crawls: u32) -> F {
        if objective == Objective::Freshness {
            return staleness_drop(self.rate, crawls);
        }
        let now = F::from_u32(crawls) + F::ONE;
        let gap = F::ONE / (now + F::ONE);
        let width = gap / now;
        // Smooth on the scale of the gap: one panel meets 1e-9 for the first crawl and better for
        // the rest.
        let rest = super::integrate(F::ZERO, width, 1, |u| {
            (width - u) * self.cost_slope(objective, gap + u)
        });
        self.value(objective, gap) + now * rest
    }
}
