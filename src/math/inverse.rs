//! Inverses of the price functions: how long a gap a price buys.

use super::{Real, age_excess, excess, h};

/// The gap whose price is `q`, in mean changes: the `r` with `h(r) = q`.
///
/// `r = −1 − W₋₁(−(1−q)/e)` with the lower branch of Lambert's W. It depends on `v = −ln(1−q)` alone, and
/// `r / √(2v)` is so smooth that one rational function meets it to 1.9e-8 over the whole range: all an `f32`
/// can hold. `f64` adds one Halley step. No loop; relative error below 8ε in `f32` and 4ε in `f64` (there, where
/// `q` nears 1, of the `r` that belongs to a `q` half a step away).
///
/// 0 for `q ≤ 0`. Infinite for `q ≥ 1` and NaN: at that price a visit is never worth it.
///
/// ```
/// use dunlin::math::{h, h_inverse};
/// let gap = h_inverse(0.25_f32);
/// assert!((h(gap) - 0.25).abs() < 1e-6);
/// assert_eq!(h_inverse(1.0_f32), f32::INFINITY);
/// ```
pub fn h_inverse<F: Real>(q: F) -> F {
    let guess = h_inverse_estimate(q);
    if F::EPSILON > F::from_f64(1e-8) || !(guess > F::ZERO && guess.is_finite()) {
        return guess;
    }
    // Above 1 the complement 1 − q is what q stores exactly.
    let exp = (-guess).exp();
    let miss = if guess < F::ONE { h(guess) - q } else { (F::ONE - q) - (F::ONE + guess) * exp };
    let newton = miss / (guess * exp);
    guess - newton / (F::ONE - F::HALF * newton * (F::ONE - guess) / guess)
}

/// [`h_inverse`] to 2e-8 relative (4e-7 in `f32`): good enough to search a price with, at half the cost in `f64`.
pub fn h_inverse_estimate<F: Real>(q: F) -> F {
    if q <= F::ZERO {
        return F::ZERO;
    }
    if !(q < F::ONE) {
        return F::INFINITY;
    }
    let c = F::from_f64;
    let s = (-F::TWO * (-q).ln_1p()).sqrt();
    let top = c(0.046_667_946_668_911_435) + s * c(0.002_971_142_152_481_935_7);
    let top = c(0.821_098_549_439_494_68) + s * (c(0.282_953_658_995_657_44) + s * top);
    let bottom = c(0.092_591_703_404_445_113) + s * c(0.005_950_223_160_725_743_3);
    let bottom = F::ONE + s * (c(0.487_764_516_655_492_88) + s * bottom);
    s * (c(0.999_999_981_196_071_15) + s * top) / bottom
}

/// The `x ≥ 0` with `x − 1 + e^{−x} = y`: the gap a price buys when missed changes count harmonically.
///
/// At most 8 Newton steps on a convex function. Relative error below 4ε. 0 for `y ≤ 0`.
pub fn excess_inverse<F: Real>(y: F) -> F {
    let s = (F::TWO * y.max(F::ZERO)).sqrt();
    let guess = if y < F::ONE { s + s * s * F::from_f64(1.0 / 6.0) } else { y + F::ONE };
    newton(y, guess, excess, |x| -(-x).exp_m1())
}

/// The `x ≥ 0` with `x²/2 − h(x) = y`: the gap a price buys when age is what counts.
///
/// At most 8 Newton steps on a convex function. Relative error below 8ε. 0 for `y ≤ 0`.
pub fn age_excess_inverse<F: Real>(y: F) -> F {
    let y = y.max(F::ZERO);
    let guess = if y < F::ONE {
        let s = (F::from_f64(3.0) * y).powf(F::from_f64(1.0 / 3.0));
        s + s * s * F::from_f64(0.125)
    } else {
        (F::TWO * y + F::TWO).sqrt()
    };
    newton(y, guess, age_excess, |x| -x * (-x).exp_m1())
}

/// Newton's method on a convex increasing function: after the first step it comes down monotonically.
fn newton<F: Real>(y: F, guess: F, value: impl Fn(F) -> F, slope: impl Fn(F) -> F) -> F {
    let mut x = guess;
    if !(y > F::ZERO && x.is_finite()) {
        return if y > F::ZERO { F::INFINITY } else { F::ZERO };
    }
    for _ in 0..8 {
        let step = (value(x) - y) / slope(x);
        x -= step;
        if step.abs() <= F::TWO * F::EPSILON * x {
            break;
        }
    }
    x
}
