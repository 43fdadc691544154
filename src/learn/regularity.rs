//! Do pages change by chance, by the clock or in bursts? What visits find one after another tells.
//!
//! Visits at even gaps see how often a page is found unchanged, `p`, and that is not yet how fresh
//! its copies are: it depends on what happens between two visits. For three laws that is a mean of 1
//! and p, and each has its own chance that a page that was found unchanged is so at the next visit,
//! too.
//!
//! | pages change | a copy is fresh, on average over the gap | unchanged again |
//! |---|---|---|
//! | by the clock, one gap like the other | arithmetic mean, (1 + p)/2 | 2 − 1/p, or never |
//! | by chance (Poisson) | logarithmic mean, (1 − p)/(−ln p) | p |
//! | in bursts and after long gaps (Pareto, shape 1.5) | harmonic mean, 2p/(1 + p) | 1/√(2 − p²) |
//!
//! So the second visit of two says what the first cannot. [`Regularity`] follows it, for all pages
//! together: 1 by the clock, 0 by chance, −1 in bursts. Weibull's laws of shape 5 and ½ come out
//! within about 0.01 where the model by chance is off by up to 0.13 and 0.07.

use super::Estimate;
use crate::math::{greater, lesser, root};

/// At first the evidence counts against as much of the guess that pages change by chance.
const GUESS: f32 = 4.0;
/// Each visit fades by so much with the next, so that a world may change its ways.
const KEPT: f32 = 4095.0 / 4096.0;
/// Of pages that are found changed once in 50 visits, or unchanged, two visits say next to nothing
/// about the law.
const TELLING: core::ops::Range<f32> = 0.02..4.0;
/// Less is as good as never, and has a square that f32 can tell from 0.
const LEAST_UNCHANGED: f32 = 1e-6;

/// How regularly pages change: from −1, in bursts, over 0, by chance, to 1, by the clock. 24 bytes
/// for all pages.
///
/// ```
/// use dunlin::learn::Regularity;
///
/// // Pages that are found unchanged at every other visit, in turns.
/// let mut pages = Regularity::NONE;
/// for visit in 0..100 {
///     let was_unchanged = visit % 2 == 0;
///     pages.follow(was_unchanged, core::f32::consts::LN_2, was_unchanged);
/// }
/// // Copies are fresh for three quarters of the time, not for the 0.72 of chance.
/// assert!((pages.mean(0.5, 0.7213) - 0.75).abs() < 0.002);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Regularity {
    value: f32,
    /// Weighted sums over visits: of the weights, of what was found, of what the law would make of
    /// it, of the square of that, and of both together.
    weight: f32,
    found: f32,
    told: f32,
    told_squared: f32,
    found_told: f32,
}

impl Regularity {
    /// Nothing seen yet: by chance.
    pub const NONE: Self = Self {
        value: 0.0,
        weight: 0.0,
        found: 0.0,
        told: 0.0,
        told_squared: 0.0,
        found_told: 0.0,
    };

    /// From −1, in bursts, over 0, by chance, to 1, by the clock.
    pub fn value(&self) -> f32 {
        self.value
    }

    /// Learns from a visit to a page that was expected to be unchanged with the probability
    /// e^{−expected}, after a visit that found it unchanged, or not: a line through what was found
    /// over what the law would make of it, so that expectations that are too high or too low on the
    /// whole do no harm.
    pub fn follow(&mut self, was_unchanged: bool, expected: f32, changed: bool) {
        if !TELLING.contains(&expected) {
            return;
        }
        let odds = libm::expm1f(expected);
        // Zero on average if pages change by chance; its variance is the odds.
        let found = if changed { 1.0 } else { -odds };
        let correlation = if self.value < 0.0 {
            // (1/√(2 − p²) − p)/(1 − p), within 0.01; 1 − p is odds/(1 + odds).
            odds / (0.5 + 1.45 * odds)
        } else {
            lesser(odds, 1.0 / odds)
        };
        let told = if was_unchanged {
            correlation * odds
        } else {
            -correlation
        };
        let weight = 1.0 / odds;
        let add = |sum: &mut f32, more: f32| *sum = KEPT * *sum + more;
        add(&mut self.weight, weight);
        add(&mut self.found, weight * found);
        add(&mut self.told, weight * told);
        add(&mut self.told_squared, weight * told * told);
        add(&mut self.found_told, weight * found * told);
        let evidence = self.told_squared - self.told * self.told / self.weight;
        let slope = self.found_told - self.told * self.found / self.weight;
        self.value = lesser(greater(-1.0, slope / (GUESS + evidence)), 1.0);
    }

    /// The same for a page that had shown `own` by then.
    #[inline(never)] // As seldom as it is called.
    pub(crate) fn follow_page(&mut self, own: &Estimate, expected: f32, changed: bool) {
        // At its first visit there was nothing to compare with.
        if own.time() > 0.0 {
            self.follow(own.was_unchanged(), expected, changed);
        }
    }

    /// How fresh copies are on average from one visit to the next, which finds them so with
    /// probability `unchanged`, if they were so for `by_chance` by a law of chance.
    pub fn mean(&self, unchanged: f32, by_chance: f32) -> f32 {
        let (other, share) = if self.value < 0.0 {
            (2.0 * unchanged / (1.0 + unchanged), -self.value)
        } else {
            (0.5 * (1.0 + unchanged), self.value)
        };
        by_chance + share * (other - by_chance)
    }

    /// The same at a moment: after so many `gaps`, at the end of one of which copies are fresh with
    /// probability `unchanged`.
    pub fn fresh(&self, unchanged: f32, gaps: f32, by_chance: f32) -> f32 {
        let unchanged = greater(unchanged, LEAST_UNCHANGED);
        let (other, share) = if self.value < 0.0 {
            let squared = unchanged * unchanged;
            (
                unchanged / root(squared + (1.0 - squared) * gaps),
                -self.value,
            )
        } else {
            (greater(1.0 - (1.0 - unchanged) * gaps, 0.0), self.value)
        };
        by_chance + share * (other - by_chance)
    }
}

impl Default for Regularity {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What visits find at one gap, of which each was expected to find a page unchanged with
    /// probability `expected`.
    fn after(expected: f32, outcomes: impl Iterator<Item = bool>) -> Regularity {
        let mut pages = Regularity::NONE;
        let mut was_unchanged = false;
        for changed in outcomes {
            pages.follow(was_unchanged, -libm::logf(expected), changed);
            was_unchanged = !changed;
        }
        pages
    }

    /// Two visits in five find a change, by the clock.
    fn by_clock() -> impl Iterator<Item = bool> {
        (0..500).map(|visit| visit * 2 % 5 < 2)
    }

    /// The same by chance.
    fn by_chance() -> impl Iterator<Item = bool> {
        let mut random = 1_u32;
        (0..2_000).map(move |_| {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            random % 5 < 2
        })
    }

    /// The same in bursts.
    fn in_bursts() -> impl Iterator<Item = bool> {
        (0..500).map(|visit| visit % 25 < 10)
    }

    #[test]
    fn the_clock_chance_and_bursts_are_told_apart() {
        let found = [
            after(0.6, by_clock()),
            after(0.6, by_chance()),
            after(0.6, in_bursts()),
        ];
        let [clock, chance, bursts] = found.map(|pages| pages.value());
        assert!(clock > 0.9, "{clock}");
        assert!(chance.abs() < 0.1, "{chance}");
        assert!(bursts < -0.9, "{bursts}");
        // By the clock: 0.6 at the end of each gap, and 1 at its beginning.
        assert!((found[0].mean(0.6, 0.783) - 0.8).abs() < 0.005);
    }

    #[test]
    fn wrong_expectations_are_no_habits() {
        for expected in [0.4, 0.5, 0.7, 0.8] {
            let chance = after(expected, by_chance()).value();
            assert!(chance.abs() < 0.15, "{expected}: {chance}");
        }
        // Pages that change at each visit have not shown when.
        assert_eq!(after(0.2, core::iter::repeat_n(true, 500)).value(), 0.0);
    }

    #[test]
    fn what_holds_at_each_moment_holds_on_average() {
        for pages in [after(0.6, by_clock()), after(0.6, in_bursts())] {
            for unchanged in [0.05_f32, 0.3, 0.6, 0.9] {
                let by_chance = |gaps: f32| libm::powf(unchanged, gaps);
                let moments = (0..1_000).map(|step| (step as f32 + 0.5) / 1_000.0);
                let sum: f32 = moments
                    .map(|gaps| pages.fresh(unchanged, gaps, by_chance(gaps)))
                    .sum();
                let mean = pages.mean(unchanged, (unchanged - 1.0) / libm::logf(unchanged));
                assert!(
                    (1e-3 * sum - mean).abs() < 1e-3,
                    "{unchanged}: {sum}, {mean}"
                );
            }
        }
    }

    #[test]
    fn nothing_makes_it_no_number() {
        for expected in [0.0, 1e-9, 0.5, 3.0, 80.0, f32::INFINITY, f32::NAN] {
            let mut pages = Regularity::NONE;
            for visit in 0..100_000 {
                pages.follow(visit % 3 == 0, expected, visit % 2 == 0);
            }
            for unchanged in [0.0, 1e-30, 0.5, 1.0] {
                for gaps in [0.0, 0.5, 1e9] {
                    let fresh = pages.fresh(unchanged, gaps, unchanged);
                    assert!(
                        (0.0..=1.0).contains(&fresh),
                        "{expected}, {unchanged}, {gaps}"
                    );
                }
            }
        }
    }
}
