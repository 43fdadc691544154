//! From visits at irregular intervals: the maximum-likelihood rate (Cho §6.4.3).
//!
//! It solves `Σ_changed t/(e^{λt} − 1) = Σ_unchanged t`. The left side falls and is convex in λ, so
//! Newton's method started below the solution climbs to it and never overshoots.

use super::Visit;
use crate::math::Real;

/// Newton steps. A dozen settle any history seen so far; the bound keeps the work finite for any
/// other.
const NEWTON_STEPS: u32 = 100;

/// The rate that makes a history of visits most likely, in changes per day. O(visits) a step, up to
/// 100 steps.
///
/// 0 if no visit found a change. `None` if the data cannot tell: no visits, or all of them found a
/// change, which an infinite rate explains best.
///
/// ```
/// use dunlin::learn::{Visit, irregular};
/// use dunlin::time::Duration;
///
/// // Cho, Example 6.5: changes after 6 h and 3 h, none after 4 h and 7 h: 2.67 changes in 20 h.
/// let visits = [(6, true), (4, false), (3, true), (7, false)]
///     .map(|(hours, changed)| Visit::new(Duration::HOUR * hours, changed));
/// let per_day: f64 = irregular(visits.iter().copied()).unwrap();
/// assert!((per_day * 20.0 / 24.0 - 2.666).abs() < 5e-4);
/// ```
pub fn irregular<F: Real>(visits: impl Iterator<Item = Visit> + Clone) -> Option<F> {
    let intervals = visits.map(|visit| (visit.changed, visit.interval.as_days::<F>()));
    let unchanged: F = intervals
        .clone()
        .filter(|(changed, _)| !changed)
        .map(|(_, days)| days)
        .sum();
    let changed = intervals
        .filter(|(changed, days)| *changed && *days > F::ZERO)
        .map(|(_, days)| (F::ONE, days));
    most_likely(changed, unchanged)
}

/// Solves `Σ n t/(e^{λt} − 1) = unchanged` for intervals `(n, t)`: n changes, each found after t.
fn most_likely<F: Real>(changed: impl Iterator<Item = (F, F)> + Clone, unchanged: F) -> Option<F> {
    if unchanged.is_nan() || unchanged <= F::ZERO {
        return None;
    }
    let (changes, days) = changed
        .clone()
        .fold((F::ZERO, F::ZERO), |(changes, days), (n, t)| {
            (changes + n, days + n * t)
        });
    // t/(e^{λt} − 1) ≥ 1/λ − t/2, so this is a lower bound.
    let mut rate = changes / (unchanged + days * F::HALF);
    if rate == F::ZERO {
        return Some(rate);
    }
    for _ in 0..NEWTON_STEPS {
        let mut excess = -unchanged;
        let mut slope = F::ZERO;
        for (n, t) in changed.clone() {
            let odds = (rate * t).exp_m1();
            let term = n * t / odds;
            excess += term;
            // The derivative is −t² e^{λt}/(e^{λt} − 1)²; the quotient form cannot overflow.
            slope += term * t * (F::ONE + F::ONE / odds);
        }
        let step = excess / slope;
        if !step.is_finite() || step <= rate * F::EPSILON {
            break;
        }
        rate += step;
    }
    rate.is_finite().then_some(rate)
}

/// Shortest interval that has a bin of its own: 2²⁶ µs, about a minute.
const FIRST_OCTAVE: u32 = 26;
/// Octaves: from a minute to 51 days.
const OCTAVES: usize = 16;

/// The same for a device: a history folded into 132 bytes, however long.
///
/// Intervals that found a change are counted by octave, and each octave keeps their sum. Treating
/// them as if all were as long as their octave's mean moves the rate by less than 3 % (intervals
/// spread over several octaves; not at all when visits are regular). Intervals below a minute and
/// above 51 days share the end bins.
///
/// Next to [`Estimate`](super::Estimate) it needs ten times the memory and has no prior, no
/// forgetting and no uncertainty, but it is the maximum-likelihood rate: a check on the other, or
/// one a host for what its pages do.
///
/// ```
/// use dunlin::learn::{IntervalSummary, Visit};
/// use dunlin::time::Duration;
///
/// let mut history = IntervalSummary::new();
/// for (hours, changed) in [(6, true), (4, false), (3, true), (7, false)] {
///     history.update(&Visit::new(Duration::HOUR * hours, changed));
/// }
/// assert!((history.rate().unwrap() * 20.0 / 24.0 - 2.67).abs() < 0.01);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct IntervalSummary {
    changes: [u32; OCTAVES],
    days: [f32; OCTAVES],
    unchanged_days: f32,
}

impl IntervalSummary {
    /// A summary of no visits.
    pub const fn new() -> Self {
        Self {
            changes: [0; OCTAVES],
            days: [0.0; OCTAVES],
            unchanged_days: 0.0,
        }
    }

    /// Counts a visit, in constant time.
    pub fn update(&mut self, visit: &Visit) {
        let days: f32 = visit.interval.as_days();
        if !visit.changed {
            self.unchanged_days += days;
            return;
        }
        let Some(octave) = visit.interval.as_micros().checked_ilog2() else {
            return;
        };
        let bin = (octave.saturating_sub(FIRST_OCTAVE) as usize).min(OCTAVES - 1);
        if let (Some(changes), Some(total)) = (self.changes.get_mut(bin), self.days.get_mut(bin)) {
            *changes = changes.saturating_add(1);
            *total += days;
        }
    }

    /// The most likely rate per day, as [`irregular`] says. O(16) a Newton step, up to 100 steps.
    pub fn rate(&self) -> Option<f32> {
        let bins = self
            .changes
            .iter()
            .zip(&self.days)
            .filter(|(changes, _)| **changes > 0);
        most_likely(
            bins.map(|(changes, days)| (*changes as f32, days / *changes as f32)),
            self.unchanged_days,
        )
    }
}
