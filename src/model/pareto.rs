//! Changes with long silences between them.

use super::ChangeModel;
use super::quadrature::integrate;
use crate::math::Real;

/// A Pareto page: `Ḡ(t) = (1 + t/β)^{−α}`, `β = (α − 1)/λ`, α > 1 (Wolf §2.1.1).
///
/// A law with α ≤ 1 has no mean and so no stationary process. Plans refuse it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto<F> {
    rate: F,
    shape: F,
}

impl<F: Real> Pareto<F> {
    /// A page that changes `rate` times an interval on average; `shape` is α > 1.
    pub const fn new(rate: F, shape: F) -> Self {
        Self { rate, shape }
    }

    /// `ln(1 + t/β)`
    fn log_age(&self, age: F) -> F {
        (age * self.rate / (self.shape - F::ONE)).ln_1p()
    }

    /// `∫₀ʸ (e^v − 1)ⁿ e^{(1−α)v} dv`, n = 1 or 2: what both moments are, after `t = β(e^v − 1)`.
    fn integral(&self, n: u32, y: F) -> F {
        let decay = self.shape - F::ONE;
        if y * decay.max(F::ONE) < F::TWO {
            // The closed form cancels here; the integrand is positive and smooth.
            return integrate(F::ZERO, y, 1, |v| {
                let risen = v.exp_m1();
                (if n == 1 { risen } else { risen * risen }) * (-decay * v).exp()
            });
        }
        let part = |k: F| if (k * y).abs() < F::EPSILON { y } else { (k * y).exp_m1() / k };
        let (one, two) = (part(-decay), part(F::ONE - decay));
        if n == 1 { two - one } else { part(F::TWO - decay) - F::TWO * two + one }
    }
}

impl<F: Real> ChangeModel<F> for Pareto<F> {
    fn rate(&self) -> F {
        self.rate
    }
    fn density(&self, age: F) -> F {
        self.rate * (-self.shape * self.log_age(age)).exp()
    }
    fn stale(&self, age: F) -> F {
        -((F::ONE - self.shape) * self.log_age(age)).exp_m1()
    }
    fn first_moment(&self, gap: F) -> F {
        if !(self.rate > F::ZERO) {
            return F::ZERO;
        }
        let decay = self.shape - F::ONE;
        decay * decay / self.rate * self.integral(1, self.log_age(gap))
    }
    fn second_moment(&self, gap: F) -> F {
        if !(self.rate > F::ZERO) {
            return F::ZERO;
        }
        let decay = self.shape - F::ONE;
        let scale = decay / self.rate;
        decay * scale * scale * self.integral(2, self.log_age(gap))
    }
}
