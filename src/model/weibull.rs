//! Changes in bursts, or nearly regular.

use super::ChangeModel;
use crate::math::{Real, gamma_lower};

/// A Weibull page: `Ḡ(t) = e^{−(kt)^α}` with `k = λ Γ(1 + 1/α)` (Wolf §2.1.1). `α = 1` is Poisson.
///
/// In `f32` results are good to 4e-5, the accuracy of the incomplete gamma function there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weibull<F> {
    rate: F,
    shape: F,
    /// The logarithm of the mean in units of the scale, `ln Γ(1 + 1/α)`.
    ln_mean: F,
}

impl<F: Real> Weibull<F> {
    /// A page that changes `rate` times an interval on average; `shape` is α > 0.
    pub fn new(rate: F, shape: F) -> Self {
        Self {
            rate,
            shape,
            ln_mean: (F::ONE + F::ONE / shape).ln_gamma(),
        }
    }

    /// The exponent of the tail, `(kt)^α`.
    fn exponent(&self, age: F) -> F {
        (self.rate * age * self.ln_mean.exp()).powf(self.shape)
    }

    /// `λ ∫₀ᴸ t^{n−1} Ḡ(t) dt = Γ(n/α) / (α λ^{n−1} Γ(1+1/α)^n) · P(n/α, (kL)^α)`
    fn moment(&self, n: u32, gap: F) -> F {
        if !(gap > F::ZERO) || !(self.rate > F::ZERO) {
            return F::ZERO;
        }
        let order = F::from_u32(n);
        let z = self.exponent(gap);
        let powers = (1..n).fold(F::ONE, |power, _| power * gap);
        if z < F::EPSILON {
            // No change yet to all digits: Ḡ = 1, where z itself may already have vanished.
            return self.rate * gap * powers / order;
        }
        let a = order / self.shape;
        // (λ L)^{n−1} instead of λ^{n−1}: stays inside the number type for slow pages.
        let scale =
            (a.ln_gamma() - order * self.ln_mean - (order - F::ONE) * (self.rate * gap).ln()).exp();
        powers * scale / self.shape * gamma_lower(a, z)
    }
}

impl<F: Real> ChangeModel<F> for Weibull<F> {
    fn rate(&self) -> F {
        self.rate
    }
    fn density(&self, age: F) -> F {
        self.rate * (-self.exponent(age)).exp()
    }
    fn stale(&self, age: F) -> F {
        self.moment(1, age).min(F::ONE)
    }
    fn first_moment(&self, gap: F) -> F {
        self.moment(2, gap)
    }
    fn second_moment(&self, gap: F) -> F {
        self.moment(3, gap)
    }
    fn steepness(&self) -> F {
        self.shape.max(F::ONE)
    }
}
