//! What a visit is worth, and the gap after which that reaches its price.
//!
//! A page of weight w that changes at a known rate λ and was visited τ ago: a visit is worth
//! (w/λ)(1 − (1+λτ)e^{−λτ}), at most w/λ. Allocators that know rates use that as it stands
//! ([`share_of_most`], and [`ChangeModel`](crate::model::ChangeModel) for other laws and
//! objectives).
//!
//! The probe does not know λ; it holds a Gamma(a, b) [`Belief`]. A copy of age t is then fresh with
//! probability S(t) = E e^{−λt} = (b/(b+t))^a, and a visit is worth w(∫₀^τ S − τ S(τ)), the average
//! of the value above over the belief. It becomes the known rate's as the belief hardens (a → ∞),
//! and it explores by itself: a page of which little is known (a ≤ 1) is never given up, because it
//! may well be a quiet one.

use libm::{expf, expm1f, log1pf, logf};

use crate::math::{Real, greater, h_inverse, root};
use crate::model::{Objective, Poisson};

/// Steps towards the root; the guess is good, one or two are the rule.
const MOST_GAP_STEPS: u32 = 5;
/// A step this small, in parts of the gap, leaves an error of a thousandth or two: the value is
/// flat around its best, so more would not be seen.
const ENOUGH: f32 = 0.08;
/// Steps towards the root where age counts: a third of the way at least, from the first guess.
const MOST_AGE_STEPS: u32 = 40;
/// A step this small, in parts of the gap, is the last.
const ENOUGH_AGE: f32 = 0.003;
/// From this shape on a belief is as good as a rate, to half a per cent of the gap.
const FIRM: f32 = 200.0;
/// Gaps this short, which most are where the budget is ample, follow from a series at once: to a
/// thousandth, or half a per cent of the gap where nothing is known of a page.
const SERIES_SUFFICES: f32 = 0.2;
/// A search does not look at gaps with fewer changes: there f32 leaves no digit of the value.
const FEW: f32 = 1e-3;
/// Below this `rest`, `∫S` is a logarithm as far as f32 can tell.
const NO_REST: f32 = 1e-3;

/// A price as a share of the most that a visit to a page of known rate can be worth, `w/λ`. From 1
/// on the page is not worth a visit at all; below, `λ gap = h⁻¹(share)`.
#[inline]
pub fn share_of_most<F: Real>(price: F, rate: F, weight: F) -> F {
    price * rate / weight
}

/// The gap in days after which a host's teller is asked again, if it tells the share `told` of the
/// changes of so many `pages`, which would have so many visits a day together without it.
///
/// A page that is told of late is stale for as long: with n pages of weight w and rate λ each, a
/// gap of I costs n w λ I/2 a day, and visits cost 1/I prices, which are w λ G²/2 where silent
/// pages have a gap of G. The sum is least at I = G/√n; what is told in vain or not told at all
/// does not count.
pub fn teller_gap(pages: f32, told: f32, visits_a_day: f32) -> f32 {
    libm::sqrtf(pages / told) / visits_a_day
}

/// What is believed about a change rate: a Gamma distribution, as if `shape` changes had been seen
/// in `time`.
///
/// In `f32`, which is what a probe computes with.
///
/// ```
/// use dunlin::plan::worth::Belief;
///
/// let page = Belief { shape: 4.0, time: 2.0 }; // about two changes a day
/// let gap = page.gap(1.0, 0.1, 0.0);
/// assert!((page.value(1.0, gap) - 0.1).abs() < 0.002);
/// // The dearer a visit, the longer the gap.
/// assert!(page.gap(1.0, 0.2, gap) > gap);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Changes seen, as it were: how firm the belief is.
    pub shape: f32,
    /// Days in which they were seen.
    pub time: f32,
}

impl Belief {
    /// Changes a day, on average over the belief.
    pub fn rate(&self) -> f32 {
        self.shape / self.time
    }

    /// The same rate at the most, believed as firmly.
    pub(crate) fn at_most(self, rate: f32) -> Self {
        Self {
            time: greater(self.time, self.shape / rate),
            ..self
        }
    }

    /// Probability that a copy is still fresh after so many days.
    pub fn fresh(&self, days: f32) -> f32 {
        expf(-self.shape * log1pf(days / self.time))
    }

    /// Time-average freshness between visits `gap` days apart.
    pub fn mean_freshness(&self, gap: f32) -> f32 {
        self.freshness_over(gap).0
    }

    /// The same, and the probability that a copy is still fresh at the end.
    pub(crate) fn freshness_over(&self, gap: f32) -> (f32, f32) {
        if gap <= 0.0 {
            return (1.0, 1.0);
        }
        let rest = self.shape - 1.0;
        let gaps = gap / self.time;
        let u = log1pf(gaps);
        let lost = expm1f(-rest * u);
        let mean = integral(rest, u, lost) / gaps;
        (mean.min(1.0), (1.0 + lost) / (1.0 + gaps))
    }

    /// What it is worth to visit a page now that was visited `days` ago, in weight × days.
    pub fn value(&self, weight: f32, days: f32) -> f32 {
        let rest = self.shape - 1.0;
        let b = self.time;
        weight * b * scaled_value(rest, log1pf(days / b)).0
    }

    /// The gap in days at which a visit is worth its price toward an objective: the age of copies,
    /// or their freshness.
    #[inline]
    pub fn gap_toward(&self, objective: Objective, weight: f32, price: f32, guess: f32) -> f32 {
        match objective {
            // The age of a copy grows by the day whoever is right about the rate.
            Objective::Age => self.gap_for_age(weight, price),
            _ => self.gap(weight, price, guess),
        }
    }

    /// The gap in days at which a visit is worth its price if it is the age of copies that counts,
    /// for the mean of the rates believed in: `x²/2 − (1 − (1+x)e^{−x}) = λ² price/w`, x = λ gap.
    /// Never infinite but for a page that does not change. Up to 40 steps.
    ///
    /// It is [`age_excess_inverse`](crate::math::age_excess_inverse) for a device: three digits
    /// instead of all, one exponential a step instead of two, and neither a power nor an exact
    /// root. A test holds it against the model, which calls that one.
    pub fn gap_for_age(&self, weight: f32, price: f32) -> f32 {
        let rate = self.shape / self.time;
        let wanted = price / weight * rate * rate;
        // The left side is convex, and at least x²/2 − 1: from above, steps only go down.
        let mut x = root((2.0 * wanted + 2.0).min(f32::MAX));
        for _ in 0..MOST_AGE_STEPS {
            let left = expf(-x);
            // The terms of the closed form cancel where x is small.
            let found = if x < 0.5 {
                x * x * x * (1.0 / 3.0 - x * (0.125 - x * (1.0 / 30.0)))
            } else {
                0.5 * x * x - 1.0 + (1.0 + x) * left
            };
            let step = (found - wanted) / (x * (1.0 - left));
            if !(step > ENOUGH_AGE * x) {
                break;
            }
            x -= step;
        }
        x / rate
    }

    /// The gap in days at which a visit is worth its price; infinite where it never is. A `guess`,
    /// such as the gap before, saves steps; 0 for none.
    pub fn gap(&self, weight: f32, price: f32, guess: f32) -> f32 {
        let a = self.shape;
        let b = self.time;
        let rest = a - 1.0;
        let value = price / (weight * b);
        if value <= 0.0 {
            return 0.0;
        }
        if rest > 0.0 && value * rest >= 1.0 {
            return f32::INFINITY;
        }
        if a >= FIRM {
            return Poisson::gap_worth(rest, b, value);
        }
        // The value as a series in τ/b, turned round: positive terms, of which the third makes a
        // quotient that stands for all that follow.
        let s = root(2.0 * value / a);
        let third = s * (11.0 * a + 2.0) * (1.0 / 24.0);
        if third < SERIES_SUFFICES {
            return b * s * (1.0 + s * (a + 1.0) / (3.0 - 3.0 * third));
        }
        // In units of u = ln(1 + τ/b). Without a guess, the firm belief's answer; beyond its reach,
        // somewhere in the tail.
        let guess = if guess > 0.0 {
            within(log1pf(guess / b), 0.0, 80.0)
        } else {
            h_inverse(within(a * value, 0.0, 0.98)) / a
        };
        let mut u = within(guess, FEW / a, f32::INFINITY);
        for _ in 0..MOST_GAP_STEPS {
            let (found, slope) = scaled_value(rest, u);
            if !(slope > 0.0) {
                // Far beyond: nothing is left of the copy.
                u *= 0.5;
                continue;
            }
            // In logarithms of the value, which are nearly straight both for small u and far out.
            let step = log_near_one(value / found) * found / slope;
            // Not `clamp`: it panics on bounds that are not numbers, and prints them, which takes
            // 11 kB of flash.
            u = within(u + step, 0.25 * u, 4.0 * u + 1.0);
            if step.abs() <= ENOUGH * u {
                break;
            }
        }
        b * expm1f(u)
    }
}

/// The logarithm of what is mostly near 1, for there a search ends up at once. Within a factor of
/// two by a Padé approximant, in a fifth of the instructions: it is off by a thousandth at a factor
/// of two, and by nothing that f32 shows at 1.1.
fn log_near_one(x: f32) -> f32 {
    if x > 0.5 && x < 2.0 {
        3.0 * (x * x - 1.0) / (x * x + 4.0 * x + 1.0)
    } else {
        logf(x)
    }
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

/// The value in units of `w b`, `∫S − τS` with u = ln(1 + τ/b) and `rest` = a − 1, and its slope in
/// u. The terms cancel where u is small: from [`FEW`] changes on, f32 leaves three digits.
fn scaled_value(rest: f32, u: f32) -> (f32, f32) {
    let missed = -expm1f(-u);
    // e^{−rest u} − 1 gives both the tail and the integral.
    let lost = expm1f(-rest * u);
    let tail = 1.0 + lost;
    let value = integral(rest, u, lost) - missed * tail;
    let slope = (rest + 1.0) * missed * tail;
    (value, slope)
}

/// `∫S` in units of b: (1 − e^{−rest u})/rest, where `lost` is e^{−rest u} − 1.
#[inline(always)] // A comparison and a division.
fn integral(rest: f32, u: f32, lost: f32) -> f32 {
    if rest.abs() < NO_REST {
        u
    } else {
        -lost / rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ChangeModel, Objective};

    /// The belief that a rate is this, as firm as `shape` says.
    fn about(rate: f32, shape: f32) -> Belief {
        Belief {
            shape,
            time: shape / rate.max(1e-12),
        }
    }

    /// The same gap by bisection, in f64.
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
        let mut low = 0.0;
        let mut high = 80.0;
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
                let belief = about(rate, shape);
                for share in [1e-12_f32, 1e-7, 1e-4, 0.01, 0.1, 0.4, 0.7, 0.9, 0.97] {
                    // A share of the most that a fetch of the page can be worth, or of a mean gap's
                    // worth.
                    let value = share / (shape - 1.0).max(shape);
                    let expected =
                        reference(f64::from(shape), f64::from(belief.time), f64::from(value));
                    for guess in [0.0, 0.6, 1.0, 1.5] {
                        let guess = guess * expected as f32;
                        let found = f64::from(belief.gap(1.0, value * belief.time, guess));
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
    fn gaps_for_age_are_those_of_the_model() {
        for rate in [0.01_f32, 0.3, 1.0, 20.0] {
            for price in [1e-6_f32, 1e-3, 0.1, 2.0, 300.0] {
                let expected = Poisson::new(f64::from(rate)).gap(Objective::Age, price.into());
                let found = f64::from(about(rate, 50.0).gap_for_age(2.0, 2.0 * price));
                let error = (found / expected - 1.0).abs();
                assert!(error < 0.02, "{rate}, {price}: {found}, not {expected}");
            }
        }
        assert!(!(about(0.0, 1.0).gap_for_age(1.0, 1.0) < 1e3));
    }

    #[test]
    fn a_teller_is_asked_when_that_costs_least() {
        let (pages, gap) = (16.0, 2.0);
        let found = teller_gap(pages, 1.0, pages / gap);
        assert_eq!(found, gap / libm::sqrtf(pages));
        // What is told late, and what visits cost, for a weight and a rate of 1.
        let cost = |interval: f32| pages * interval / 2.0 + gap * gap / 2.0 / interval;
        for other in [0.8, 0.9, 1.1, 1.2] {
            assert!(cost(found) < cost(other * found), "{other}");
        }
    }

    #[test]
    fn no_price_makes_a_gap_that_is_not_a_number() {
        for shape in [0.5, 1.0, 2.0, 500.0, 1e6] {
            for rate in [0.0, 1e-9, 1.0, 1e6] {
                let belief = about(rate, shape);
                for weight in [1e-9, 1.0, 1e9] {
                    for price in [0.0, 1e-20, 1e-3, 1.0, 1e20] {
                        for guess in [0.0, 1e-9, 1.0, 400.0, f32::INFINITY] {
                            let gap = belief.gap(weight, price, guess);
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

    #[test]
    fn a_firm_belief_is_a_known_rate() {
        let firm = about(2.0, 1e5);
        let known = Poisson::new(2.0_f32);
        for gap in [0.01_f32, 0.1, 0.5, 2.0] {
            let near = |found: f32, expected: f32| {
                assert!(
                    (found - expected).abs() <= 0.005 * expected,
                    "{gap}: {found}, {expected}"
                );
            };
            let value = known.value(Objective::Freshness, gap);
            near(firm.value(1.0, gap), value);
            near(firm.gap(1.0, value, 0.0), gap);
            near(firm.fresh(gap), 1.0 - known.stale(gap));
            near(
                firm.mean_freshness(gap),
                1.0 - known.cost(Objective::Freshness, gap),
            );
        }
        // What is never worth its price is so for both.
        assert_eq!(firm.gap(1.0, 0.6, 0.0), f32::INFINITY);
        assert!(share_of_most(0.6_f32, 2.0, 1.0) >= 1.0);
        assert_eq!(known.gap(Objective::Freshness, 0.6), f32::INFINITY);
    }
}
