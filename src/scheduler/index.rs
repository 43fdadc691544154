//! What a fetch is worth, and when that reaches its price: the index engine's one formula.
//!
//! The probe does not know a page's change rate λ; it holds a Gamma(a, b) belief. A copy of age t
//! is then fresh with probability E e^{−λt} = (b/(b+t))^a, and the value of fetching it, w(∫₀^τ S −
//! τ S(τ)), is the average of the textbook value (w/λ)(1 − (1+λτ)e^{−λτ}) over the belief. It
//! becomes the textbook one as the belief hardens (a → ∞), and it explores by itself: a page of
//! which little is known (a ≤ 1) is never given up, because it may well be a quiet one.

use libm::{expf, expm1f, log1pf, logf, sqrtf};

use crate::learn::Estimate;
use crate::math::h_inverse;

/// Steps towards the root; the guess is good, one or two are the rule.
const MOST_STEPS: u32 = 5;
/// A step this small, in parts of the gap, leaves an error of a thousandth or two: the value is
/// flat around its best, so more would not be seen.
const ENOUGH: f32 = 0.08;
/// From this shape on a belief is as good as a rate, to half a per cent of the gap.
const FIRM: f32 = 200.0;
/// Below so many changes a gap, the first term of the value is all of it to a thousandth.
const FEW: f32 = 1e-3;

/// Probability that a copy is still fresh after so many days.
pub(super) fn fresh(estimate: &Estimate, days: f32) -> f32 {
    expf(-estimate.shape() * log1pf(days / estimate.time()))
}

/// The gap in days at which a fetch is worth its price; infinite where it never is. A `guess`, such
/// as the gap before, saves steps; 0 for none.
pub(super) fn gap(estimate: &Estimate, weight: f32, price: f32, guess: f32) -> f32 {
    let (a, b) = (estimate.shape(), estimate.time());
    let (value, rest) = (price / (weight * b), a - 1.0);
    if value <= 0.0 {
        return 0.0;
    }
    if rest > 0.0 && value * rest >= 1.0 {
        return f32::INFINITY;
    }
    if a >= FIRM {
        return b * h_inverse(value * rest) / rest;
    }
    if a * value < 0.5 * FEW * FEW {
        return b * sqrtf(2.0 * value / a);
    }
    // In units of u = ln(1 + τ/b). Without a guess, the firm belief's answer; beyond its reach,
    // somewhere in the tail.
    let guess = if guess > 0.0 {
        log1pf(guess / b).min(80.0)
    } else {
        h_inverse((a * value).min(0.98)) / a
    };
    let mut u = guess.max(FEW / a);
    for _ in 0..MOST_STEPS {
        let (found, slope) = scaled_value(rest, u);
        if !(slope > 0.0) {
            // Far beyond: nothing is left of the copy.
            u *= 0.5;
            continue;
        }
        // In logarithms of the value, which are nearly straight both for small u and far out.
        let step = logf(value / found) * found / slope;
        // Not `clamp`: it panics on bounds that are not numbers, and prints them, which takes 11 kB
        // of flash.
        u = within(u + step, 0.25 * u, 4.0 * u + 1.0);
        if step.abs() <= ENOUGH * u {
            break;
        }
    }
    b * expm1f(u)
}

fn within(wanted: f32, least: f32, most: f32) -> f32 {
    if wanted < least {
        least
    } else if wanted > most {
        most
    } else {
        wanted
    }
}

/// What it is worth to fetch a page now that was fetched `days` ago, in weight × days.
pub(super) fn value(estimate: &Estimate, weight: f32, days: f32) -> f32 {
    let (rest, b) = (estimate.shape() - 1.0, estimate.time());
    weight * b * scaled_value(rest, log1pf(days / b)).0
}

/// Time-average freshness between fetches `gap` days apart.
pub(super) fn mean_freshness(estimate: &Estimate, gap: f32) -> f32 {
    if gap <= 0.0 {
        return 1.0;
    }
    let (rest, b) = (estimate.shape() - 1.0, estimate.time());
    (integral(rest, log1pf(gap / b)) * b / gap).min(1.0)
}

/// The value in units of `w b`, `∫S − τS` with u = ln(1 + τ/b) and `rest` = a − 1, and its slope in
/// u. The terms cancel where u is small: from [`FEW`] changes on, f32 leaves three digits.
fn scaled_value(rest: f32, u: f32) -> (f32, f32) {
    let (tail, missed) = (expf(-rest * u), -expm1f(-u));
    (
        integral(rest, u) - missed * tail,
        (rest + 1.0) * missed * tail,
    )
}

/// `∫S` in units of b: (1 − e^{−rest u})/rest.
fn integral(rest: f32, u: f32) -> f32 {
    if rest.abs() < 1e-3 {
        u
    } else {
        -expm1f(-rest * u) / rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::Prior;

    /// By bisection, in f64.
    fn reference(shape: f64, time: f64, value: f64) -> f64 {
        let scaled = |u: f64| {
            let rest = shape - 1.0;
            let integral = if rest == 0.0 {
                u
            } else {
                -libm::expm1(-rest * u) / rest
            };
            integral + libm::expm1(-u) * libm::exp(-rest * u)
        };
        let (mut low, mut high) = (0.0, 80.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if scaled(middle) < value {
                low = middle
            } else {
                high = middle
            }
        }
        time * libm::expm1(high)
    }

    #[test]
    fn gaps_are_right_to_two_per_cent_for_every_belief() {
        for shape in [
            0.5_f32, 0.7, 0.999, 1.0, 1.001, 1.5, 3.0, 10.0, 50.0, 199.0, 201.0, 1e4, 1e6,
        ] {
            for rate in [1e-6_f32, 1e-3, 0.1, 1.0, 30.0, 1e4] {
                let estimate = Estimate::new(&Prior::new(rate, shape));
                for share in [1e-12_f32, 1e-7, 1e-4, 0.01, 0.1, 0.4, 0.7, 0.9, 0.97] {
                    // A share of the most that a fetch of the page can be worth, or of a mean gap's
                    // worth.
                    let value = share / (shape - 1.0).max(shape);
                    let expected = reference(
                        f64::from(shape),
                        f64::from(estimate.time()),
                        f64::from(value),
                    );
                    for guess in [0.0, 0.6, 1.0, 1.5] {
                        let guess = guess * expected as f32;
                        let found = f64::from(gap(&estimate, 1.0, value * estimate.time(), guess));
                        let error = (found / expected - 1.0).abs();
                        assert!(
                            error < 0.02,
                            "shape {shape}, rate {rate}, {share}: {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn no_price_makes_a_gap_that_is_not_a_number() {
        for shape in [0.5, 1.0, 2.0, 500.0, 1e6] {
            for rate in [0.0, 1e-9, 1.0, 1e6] {
                let estimate = Estimate::new(&Prior::new(rate, shape));
                for weight in [1e-9, 1.0, 1e9] {
                    for price in [0.0, 1e-20, 1e-3, 1.0, 1e20] {
                        for guess in [0.0, 1e-9, 1.0, 400.0, f32::INFINITY] {
                            let gap = gap(&estimate, weight, price, guess);
                            assert!(
                                gap >= 0.0,
                                "{shape}, {rate}, {weight}, {price}, {guess}: {gap}"
                            );
                        }
                    }
                }
            }
        }
    }
}
