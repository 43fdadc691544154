//! Inverses of the price functions: how long a gap a price buys.

use super::{Real, age_excess, excess};

/// A polynomial, coefficients from the highest power down. Written out, so that coefficients are
/// constants of the number type: a loop over `f64`s would convert each in software on a device.
macro_rules! horner {
    ($x:ident, [$first:literal $(, $next:literal)* $(,)?]) => {{
        let sum = F::from_f64($first);
        $(let sum = sum * $x + F::from_f64($next);)*
        sum
    }};
}

/// The same as `even(x²) + x·odd(x²)`: two short chains instead of a long one, for processors that
/// work on both at once.
macro_rules! horner_halves {
    ($x:ident, $even:tt, $odd:tt) => {{
        let square = $x * $x;
        horner!(square, $even) + $x * horner!(square, $odd)
    }};
}

/// The gap whose price is `q`, in mean changes: the `r` with `h(r) = q`.
///
/// `r = −1 − W₋₁(−(1−q)/e)` with the lower branch of Lambert's W. It depends on `v = −ln(1−q)`
/// alone, and `r / √(2v)` is so smooth that one rational function meets it over the whole range: to
/// 1.9e-8 with 8 coefficients for `f32`, to 1.3e-16 with 16 for `f64`. One logarithm, one root, no
/// loop. Relative error below 4ε.
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
    if q <= F::ZERO {
        return F::ZERO;
    }
    if !(q < F::ONE) {
        return F::INFINITY;
    }
    let (over, under) = h_inverse_fraction((F::TWO * q.ln_rest()).sqrt());
    over / under
}

/// [`h_inverse`] as a fraction, for who can make good use of its reciprocal, given `s = √(−2
/// ln(1−q))`.
#[inline]
pub(crate) fn h_inverse_fraction<F: Real>(s: F) -> (F, F) {
    // Fitted by least squares, reweighted until the error was level, in 70 digits.
    let (top, bottom) = if F::EPSILON > F::from_f64(1e-8) {
        (
            horner!(
                s,
                [
                    0.002_971_142_15,
                    0.046_667_946_7,
                    0.282_953_659,
                    0.821_098_549,
                    0.999_999_981
                ]
            ),
            horner!(s, [0.005_950_223_16, 0.092_591_703_4, 0.487_764_517, 1.0]),
        )
    } else {
        (
            horner_halves!(
                s,
                [
                    3.558_931_184_268_956_8e-7,
                    0.000_814_860_987_692_823_42,
                    0.071_641_389_094_717_552,
                    0.858_279_799_336_756_07,
                    1.0,
                ],
                [
                    3.055_340_569_740_025_1e-5,
                    0.010_111_138_693_467_215,
                    0.313_951_226_694_695_55,
                    1.369_296_234_981_742_4,
                ]
            ),
            horner_halves!(
                s,
                [
                    6.108_891_552_066_623_8e-5,
                    0.019_385_834_045_619_94,
                    0.485_181_054_342_393_3,
                    1.0,
                ],
                [
                    7.118_317_206_532_200_3e-7,
                    0.001_615_588_959_144_173_4,
                    0.127_151_165_020_415_06,
                    1.035_962_901_648_427_3,
                ]
            ),
        )
    };
    (s * top, bottom)
}

/// The `x ≥ 0` with `x − 1 + e^{−x} = y`: the gap a price buys when missed changes count
/// harmonically.
///
/// At most 8 Newton steps on a convex function. Relative error below 4ε. 0 for `y ≤ 0`.
pub fn excess_inverse<F: Real>(y: F) -> F {
    let s = (F::TWO * y.max(F::ZERO)).sqrt();
    let guess = if y < F::ONE {
        s + s * s * F::from_f64(1.0 / 6.0)
    } else {
        y + F::ONE
    };
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

/// Newton's method on a convex increasing function: after the first step it comes down
/// monotonically.
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
