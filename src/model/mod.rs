//! How pages change, and what that makes a visit worth.
//!
//! One trait, one file a law. Time is measured in *intervals* (the horizon `T` of the papers is 1)
//! and rates in changes an interval, so a law needs no unit and the same numbers serve an hour or a
//! month.
//!
//! A copy of age `t` is stale with probability `1 − S(t)`, `S(t) = λ ∫_t^∞ Ḡ(u) du` being the
//! equilibrium survival of the law (Wolf §2.1). Visits of one page belong at equal gaps, whatever
//! the law, except for pages whose possible update times are known ([`quasi`]).

mod pareto;
mod poisson;
mod quadrature;
pub mod quasi;
mod weibull;

pub use pareto::Pareto;
pub use poisson::Poisson;
pub use quasi::Quasi;
pub use weibull::Weibull;

use crate::math::Real;
use quadrature::{integrate, positive_root};

/// What is to be made small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Objective {
    /// The share of time a copy is stale. Gives up pages that change too fast to be kept fresh.
    #[default]
    Freshness,
    /// How long a copy has been stale, on average. Never gives a page up.
    Age,
    /// Staleness in which the k-th missed change counts 1/k: the cost grows at `(1 − S(t))/t`,
    /// which for Poisson pages is the expected harmonic number of missed changes. Never gives a
    /// page up.
    Harmonic,
}

/// A law of change for pages visited at equal gaps.
///
/// A law supplies five functions; the rest follows from two identities. What a visit is worth after
/// a gap `L`, `V(L) = ∫₀ᴸ t C'(t) dt` with `C` the cost of a copy of age `t`, and `A(x) − A(x+1) =
/// V(L₂) + (1/L₁) ∫₀ᵈ (d−u) C'(L₂+u) du` with `L₁ = 1/(x+1)`, `L₂ = 1/(x+2)`, `d = L₁ − L₂`: sums
/// of positive terms, so first differences do not cancel.
pub trait ChangeModel<F: Real> {
    /// Mean number of changes an interval, λ.
    fn rate(&self) -> F;
    /// How fast a copy of age `age` goes stale: `λ Ḡ(age)`.
    fn density(&self, age: F) -> F;
    /// Chance that a copy of age `age` is stale: `1 − S(age)`.
    fn stale(&self, age: F) -> F;
    /// The first moment of going stale, `λ ∫₀ᴸ t Ḡ(t) dt`.
    fn first_moment(&self, gap: F) -> F;
    /// The second moment of going stale, `λ ∫₀ᴸ t² Ḡ(t) dt`.
    fn second_moment(&self, gap: F) -> F;

    /// What a visit is worth after `gap`, for weight 1: the price index `V` (Olston & Pandey 2008).
    fn value(&self, objective: Objective, gap: F) -> F {
        match objective {
            Objective::Freshness => self.first_moment(gap),
            Objective::Harmonic => (gap * self.stale(gap) - self.first_moment(gap)).max(F::ZERO),
            Objective::Age => {
                (F::HALF * (gap * gap * self.stale(gap) - self.second_moment(gap))).max(F::ZERO)
            }
        }
    }

    /// The slope of [`Self::value`] in the gap.
    fn value_slope(&self, objective: Objective, gap: F) -> F {
        match objective {
            Objective::Freshness => gap * self.density(gap),
            Objective::Harmonic => self.stale(gap),
            Objective::Age => gap * self.stale(gap),
        }
    }

    /// The gap after which a visit is worth `price`, infinite if it never is. Inverse of
    /// [`Self::value`].
    fn gap(&self, objective: Objective, price: F) -> F {
        let rate = self.rate();
        if !(rate > F::ZERO) {
            return F::INFINITY;
        }
        // As if no change came early: V is never above this, so the gap is never shorter.
        let least = match objective {
            Objective::Age => (F::from_f64(3.0) * price / rate).powf(F::from_f64(1.0 / 3.0)),
            _ => (F::TWO * price / rate).sqrt(),
        };
        let longest = F::from_f64(1e9) / rate;
        let slope = |gap| self.value_slope(objective, gap);
        positive_root(
            least,
            longest,
            price,
            |gap| self.value(objective, gap),
            slope,
        )
    }

    /// How fast the cost of a copy grows at `age`: `C'`.
    fn cost_slope(&self, objective: Objective, age: F) -> F {
        match objective {
            Objective::Freshness => self.density(age),
            Objective::Age => self.stale(age),
            Objective::Harmonic if age > F::ZERO => self.stale(age) / age,
            Objective::Harmonic => self.rate(),
        }
    }

    /// Mean cost of a page visited every `gap`: staleness, age in intervals, or harmonic staleness.
    fn cost(&self, objective: Objective, gap: F) -> F {
        if !(gap > F::ZERO) || !(self.rate() > F::ZERO) {
            return F::ZERO;
        }
        if !gap.is_finite() {
            return if objective == Objective::Freshness {
                F::ONE
            } else {
                F::INFINITY
            };
        }
        let stale_time = self.value(Objective::Harmonic, gap);
        match objective {
            Objective::Freshness => stale_time / gap,
            Objective::Age => (stale_time - self.value(Objective::Age, gap) / gap).max(F::ZERO),
            Objective::Harmonic => (self.harmonic(gap) - stale_time / gap).max(F::ZERO),
        }
    }

    /// `∫₀ᵗ (1 − S(u))/u du`: the harmonic cost of a copy of age `age`.
    fn harmonic(&self, age: F) -> F {
        // u = t e^{−s}; below λu = 1e-7 the integrand is λu to all digits that matter.
        let small = F::from_f64(1e-7);
        let depth = (self.rate() * age / small).ln();
        if !(depth > F::ZERO) {
            return self.rate() * age;
        }
        let panels = (depth * self.steepness()).to_u32().min(200) + 1;
        small + integrate(F::ZERO, depth, panels, |s| self.stale(age * (-s).exp()))
    }

    /// What one more crawl saves a page crawled `crawls` times: `A(x) − A(x+1)`. Never negative.
    fn drop(&self, objective: Objective, crawls: u32) -> F {
        drop_by_quadrature(self, objective, crawls)
    }

    /// How many times faster than linearly the tail can fall in the relative age; 1 unless the law
    /// says more.
    fn steepness(&self) -> F {
        F::ONE
    }
}

/// [`ChangeModel::drop`] for any law, by its second identity.
fn drop_by_quadrature<F: Real>(
    law: &(impl ChangeModel<F> + ?Sized),
    objective: Objective,
    crawls: u32,
) -> F {
    let now = F::from_u32(crawls) + F::ONE;
    let gap = F::ONE / (now + F::ONE);
    let width = gap / now;
    // A steep tail needs narrower panels; it can only be steep where the gap is wide.
    let panels = F::from_f64(6.0) * law.steepness() * width / gap;
    let rest = integrate(F::ZERO, width, panels.to_u32().min(40) + 1, |u| {
        (width - u) * law.cost_slope(objective, gap + u)
    });
    law.value(objective, gap) + now * rest
}

/// A page's law, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a, F> {
    /// Not known yet. A plan takes the geometric mean of the known rates, or one change an interval
    /// if none is.
    Unknown,
    /// Changes come independently at this rate (Cho §4 found it to fit most pages).
    Poisson(F),
    /// Gaps between changes follow a Weibull law.
    Weibull {
        /// Mean changes an interval.
        rate: F,
        /// α: below 1 bursts, above 1 regular.
        shape: F,
    },
    /// Gaps between changes follow a Pareto law.
    Pareto {
        /// Mean changes an interval.
        rate: F,
        /// α > 1; the smaller, the heavier the tail.
        shape: F,
    },
    /// Updates can only come at known times.
    Quasi(Quasi<'a, F>),
}

impl<F: Real> Change<'_, F> {
    /// Mean changes an interval; `None` if unknown or quasi-deterministic.
    pub fn rate(&self) -> Option<F> {
        match *self {
            Self::Poisson(rate) | Self::Weibull { rate, .. } | Self::Pareto { rate, .. } => {
                Some(rate)
            }
            Self::Unknown | Self::Quasi(_) => None,
        }
    }

    /// Runs `work` on the law; `None` for a page without one ([`Self::Unknown`], [`Self::Quasi`]).
    pub(crate) fn with<R>(&self, work: impl FnOnce(&dyn ChangeModel<F>) -> R) -> Option<R> {
        match *self {
            Self::Poisson(rate) => Some(work(&Poisson::new(rate))),
            Self::Weibull { rate, shape } => Some(work(&Weibull::new(rate, shape))),
            Self::Pareto { rate, shape } => Some(work(&Pareto::new(rate, shape))),
            Self::Unknown | Self::Quasi(_) => None,
        }
    }
}
