//! What a fetch is worth, and when that reaches its price: the index engine's one formula.
//!
//! The probe does not know a page's change rate λ; it holds a Gamma(a, b) belief. A copy of age t is then fresh
//! with probability E e^{−λt} = (b/(b+t))^a, and the value of fetching it, w(∫₀^τ S − τ S(τ)), is the average of the
//! textbook value (w/λ)(1 − (1+λτ)e^{−λτ}) over the belief. It becomes the textbook one as the belief hardens
//! (a → ∞), and it explores by itself: a page of which little is known (a ≤ 1) is never given up, because it may
//! well be a quiet one.

use libm::{expf, expm1f, log1pf, logf};

use crate::learn::Estimate;
use crate::math::{excess, h, h_inverse};

/// Steps towards the root; the guess is good, two or three are the rule.
const MOST_STEPS: u32 = 6;
/// A thousandth of the gap: the value is flat around its best, so more would not be seen.
const ENOUGH: f32 = 1e-3;

/// Probability that a copy is still fresh after so many days.
pub(super) fn fresh(estimate: &Estimate, days: f32) -> f32 {
    expf(-estimate.shape() * log1pf(days / estimate.time()))
}

/// The gap in days at which a fetch is worth its price; infinite where it never is.
pub(super) fn gap(estimate: &Estimate, weight: f32, price: f32) -> f32 {
    let (a, b) = (estimate.shape(), estimate.time());
    let value = price / (weight * b);
    if value <= 0.0 {
        return 0.0;
    }
    let rest = a - 1.0;
    if rest > 0.0 && value * rest >= 1.0 {
        return f32::INFINITY;
    }
    // The hard belief's answer, r = λτ, in units of u = ln(1 + τ/b). Beyond its reach, somewhere in the tail.
    let guess = h_inverse((a * value).min(0.98));
    let mut u = guess / a;
    let target = logf(value);
    for _ in 0..MOST_STEPS {
        let (tail, found) = (expf(-rest * u), scaled_value(rest, u));
        // In logarithms of the value, which are nearly straight both for small u and far out.
        let slope = a * -expm1f(-u) * tail;
        let step = (target - logf(found)) * found / slope;
        u = (u + step).clamp(0.25 * u, 4.0 * u + 1.0);
        if step.abs() <= ENOUGH * u {
            break;
        }
    }
    b * expm1f(u)
}

/// What it is worth to fetch a page now that was fetched `days` ago, in weight × days.
pub(super) fn value(estimate: &Estimate, weight: f32, days: f32) -> f32 {
    let (rest, b) = (estimate.shape() - 1.0, estimate.time());
    weight * b * scaled_value(rest, log1pf(days / b))
}

/// Time-average freshness between fetches `gap` days apart.
pub(super) fn mean_freshness(estimate: &Estimate, gap: f32) -> f32 {
    if gap <= 0.0 {
        return 1.0;
    }
    let rest = estimate.shape() - 1.0;
    let u = log1pf(gap / estimate.time());
    let integral = if rest.abs() * u < 1e-3 { u } else { -expm1f(-rest * u) / rest };
    (integral * estimate.time() / gap).min(1.0)
}

/// The value in units of `w b`, with u = ln(1 + τ/b) and `rest` = a − 1. Without cancellation: written as printed,
/// f32 would leave nothing of it for small u.
fn scaled_value(rest: f32, u: f32) -> f32 {
    let r = rest * u;
    let first = if r.abs() < 1e-3 {
        0.5 * r * u
    } else if r < -1.0 {
        (1.0 - (1.0 + r) * expf(-r)) / rest
    } else {
        h(r) / rest
    };
    first + expf(-r) * excess(u)
}
