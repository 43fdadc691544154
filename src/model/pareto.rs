//! Changes with long silences between them.

use super::quadrature::integrate;
use super::{ChangeModel, Objective, drop_by_quadrature};
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

    /// The age on the law's own scale, `ln(1 + t/β)`.
    fn log_age(&self, age: F) -> F {
        (age * self.rate / (self.shape - F::ONE)).ln_1p()
    }

    /// `∫₀ʸ (e^v − 1)² e^{(1−α)v} dv`: what the second moment is, after `t = β(e^v − 1)`.
    fn second_integral(&self, y: F) -> F {
        let decay = self.shape - F::ONE;
        if y * decay.max(F::ONE) < F::TWO {
            // The closed form cancels here; the integrand is positive and smooth.
            return integrate(F::ZERO, y, 1, |v| {
                let risen = v.exp_m1();
                risen * risen * (-decay * v).exp()
            });
        }
        grown(F::TWO - decay, y) - F::TWO * grown(F::ONE - decay, y) + grown(-decay, y)
    }
}

/// The integral `∫₀ʸ e^{kv} dv`.
fn grown<F: Real>(k: F, y: F) -> F {
    if (k * y).abs() < F::EPSILON {
        y
    } else {
        (k * y).exp_m1() / k
    }
}

/// `(∫₀ʸ e^{av} dv − ∫₀ʸ e^{bv} dv)/(a − b)`, which is positive. Where the two nearly cancel, the
/// series `Σ yⁿ/n! · (aⁿ⁻² + aⁿ⁻³b + … + bⁿ⁻²)` over `n ≥ 2` does not: three products a term, and
/// no exponential.
fn divided_growth<F: Real>(a: F, b: F, y: F) -> F {
    let steep = a.abs().max(b.abs()).max(F::ONE);
    if !(y * steep < F::TWO) {
        return (grown(a, y) - grown(b, y)) / (a - b);
    }
    let ay = a * y;
    let by = b * y;
    let mut sum = F::ZERO;
    let mut symmetric = F::ONE;
    let mut power = F::ONE;
    let mut factor = F::HALF;
    let mut before = F::ONE;
    // 2ⁿ/n! is below 1e-17 of the sum by then.
    for n in 3..28 {
        let term = factor * symmetric;
        sum += term;
        // Every other term is 0 where a = −b.
        if term.abs() + before.abs() <= F::HALF * F::EPSILON * sum {
            break;
        }
        before = term;
        power *= by;
        symmetric = symmetric * ay + power;
        factor *= F::ONE / F::from_u32(n);
    }
    y * y * sum
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
        decay * decay / self.rate * divided_growth(F::ONE - decay, -decay, self.log_age(gap))
    }
    fn second_moment(&self, gap: F) -> F {
        if !(self.rate > F::ZERO) {
            return F::ZERO;
        }
        let decay = self.shape - F::ONE;
        let scale = decay / self.rate;
        decay * scale * scale * self.second_integral(self.log_age(gap))
    }

    fn drop(&self, objective: Objective, crawls: u32) -> F {
        if objective != Objective::Freshness {
            return drop_by_quadrature(self, objective, crawls);
        }
        if !(self.rate > F::ZERO) {
            return F::ZERO;
        }
        let now = F::from_u32(crawls) + F::ONE;
        let gap = F::ONE / (now + F::ONE);
        let width = gap / now;
        // ∫₀ᵈ (d−u) λ Ḡ(L₂+u) du with u = (β + L₂) s: Ḡ(L₂) comes out, and (1+s)^{−α} integrates
        // twice.
        let reach = (self.shape - F::ONE) / self.rate + gap;
        let rest = divided_growth(F::ONE, F::TWO - self.shape, (width / reach).ln_1p());
        self.value(objective, gap) + now * self.density(gap) * reach * reach * rest
    }
}
