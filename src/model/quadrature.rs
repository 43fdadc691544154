//! Integrals and roots for laws without a closed form.

use crate::math::Real;

/// Gauss–Legendre on 8 points: abscissae on (0, 1) and weights that sum to ½ (each point stands for
/// two).
const POINTS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_80, 0.362_683_783_378_361_98),
    (0.525_532_409_916_328_99, 0.313_706_645_877_887_29),
    (0.796_666_477_413_626_74, 0.222_381_034_453_374_47),
    (0.960_289_856_497_536_23, 0.101_228_536_290_376_26),
];

/// `∫ f` over `panels` equal panels, 8 evaluations each. Exact for polynomials of degree 15 on a
/// panel.
pub(super) fn integrate<F: Real>(from: F, to: F, panels: u32, f: impl Fn(F) -> F) -> F {
    let half = F::HALF * (to - from) / F::from_u32(panels.max(1));
    let mut sum = F::ZERO;
    for panel in 0..panels.max(1) {
        let middle = from + half * (F::TWO * F::from_u32(panel) + F::ONE);
        for (at, weight) in POINTS {
            let away = half * F::from_f64(at);
            sum += F::from_f64(weight) * (f(middle - away) + f(middle + away));
        }
    }
    half * sum
}

/// The `x` in `[least, longest]` where the increasing `f` reaches `target`; infinite if it does not
/// by `longest`.
///
/// `f(least)` must not be above the target. At most 60 doublings and 60 Newton steps, each kept
/// inside a shrinking bracket.
pub(super) fn positive_root<F: Real>(
    least: F,
    longest: F,
    target: F,
    f: impl Fn(F) -> F,
    slope: impl Fn(F) -> F,
) -> F {
    let mut low = least;
    let mut high = least.max(F::MIN_POSITIVE);
    for _ in 0..60 {
        if f(high) >= target || high > longest {
            break;
        }
        low = high;
        high *= F::TWO;
    }
    if f(high) < target {
        return F::INFINITY;
    }
    let mut x = low.max(F::HALF * high);
    for _ in 0..60 {
        let miss = f(x) - target;
        if miss > F::ZERO {
            high = x;
        } else {
            low = x;
        }
        let step = miss / slope(x);
        let newton = x - step;
        let next = if newton > low && newton < high {
            newton
        } else {
            F::HALF * (low + high)
        };
        let moved = (next - x).abs();
        x = next;
        if moved <= F::TWO * F::EPSILON * x {
            break;
        }
    }
    x
}
