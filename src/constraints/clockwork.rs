//! Pages that change by the clock: at which of the moments to visit them.

use super::Updates;
use crate::model::Objective;
use crate::model::quasi::Walk;

/// The updates that a decision looks ahead to.
const AHEAD: usize = 12;

/// The moments at which a page may change: an interval that comes again and again, and the updates
/// in it.
///
/// A visit belongs just after an update. Which updates are worth one follows from what a visit
/// costs: [`Self::next`] looks at the next twelve and finds the visits that cost least together
/// with the staleness they leave (a dynamic programme over the last visit). What it costs to wait
/// is [`model::quasi`](crate::model::quasi)'s, which chooses the crawls of a timetable.
///
/// ```
/// use dunlin::constraints::{ClockUpdate, Clockwork, Updates};
/// use dunlin::model::Objective;
/// use dunlin::time::Duration;
///
/// // At 0:00 and at 1:00, for sure.
/// let update = |hour| ClockUpdate { offset: Duration::HOUR * hour, probability: 1.0 };
/// let bytes = [update(0).to_bytes(), update(1).to_bytes()].concat();
/// let clock = Clockwork::new(86_400_000, Updates::from_bytes(&bytes));
/// // Visited at 1:00: what is found at 0:00 lasts for an hour, what is found at 1:00 for 23.
/// let one = clock.phase(3_600_000_000);
/// let next = |price| clock.next(one, Objective::Freshness, price);
/// let hours = |price| next(price).map(|visit| (visit.days * 24.0).round());
/// assert_eq!(hours(0.5), Some(24.0));
/// assert_eq!(hours(0.01), Some(23.0));
/// assert_eq!(hours(0.97), None, "no update is worth so much");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clockwork<'a> {
    interval_ms: u32,
    updates: Updates<'a>,
}

/// Days of a millisecond.
const MILLI: f32 = 1.0 / 86_400e3;

impl<'a> Clockwork<'a> {
    /// Updates in order, all of them within an interval of so many milliseconds.
    pub const fn new(interval_ms: u32, updates: Updates<'a>) -> Self {
        Self {
            interval_ms,
            updates,
        }
    }

    /// Is there none? Then nothing of the below means anything.
    pub const fn is_none(&self) -> bool {
        self.interval_ms == 0 || self.updates.is_empty()
    }

    /// Where in the interval a moment is, in days, of which the local time is given in
    /// microseconds.
    pub fn phase(&self, local: u64) -> f32 {
        let interval = u64::from(self.interval_ms.max(1)) * 1_000;
        ((local % interval) >> 10) as u32 as f32 * (1.024 * MILLI)
    }

    /// The `index`-th update from the start of an interval on: how many days after a phase, and
    /// with what chance. In single precision, which is a hundredth of a second in a day.
    #[inline(never)] // Once for all callers.
    fn ahead(&self, phase: f32, index: usize) -> (f32, f32) {
        let count = self.updates.len().max(1);
        let (offset_ms, probability) = self.updates.raw(index % count);
        let periods = (index / count) as f32;
        // A corrupt list may have updates before the phase, and chances that are none.
        let later = (periods * self.interval_ms as f32 + offset_ms as f32) * MILLI - phase;
        (later, probability)
    }

    /// The first update after a phase, counted from 0; as many as there are if it is the first of
    /// the next interval.
    fn first_after(&self, phase: f32) -> usize {
        let count = self.updates.len();
        // A visit that was within a second of an update counts as one at it.
        let later = |index: &usize| self.ahead(phase, *index).0 > 1e-5;
        (0..count).find(later).unwrap_or(count)
    }

    /// The days from a visit at this phase until the next one, which is just at an update, if a
    /// visit costs `price` days of staleness (or, if age is the objective, of age × days); `None`
    /// if none of the next twelve updates is worth a visit. Work: the updates, and 90 steps.
    #[inline(never)] // Once for both callers.
    pub fn next(&self, phase: f32, objective: Objective, price: f32) -> Option<NextVisit> {
        let first = self.first_after(phase);
        // Backwards: what the time from each update on costs if the page is visited there.
        let mut stops = [Stop::VISIT; AHEAD + 2];
        for (index, stop) in stops.iter_mut().skip(1).enumerate() {
            let (time, probability) = self.ahead(phase, first + index);
            stop.time = time;
            stop.kept = 1.0 - probability;
        }
        let mut next = None;
        let mut later = 1;
        while let Some(from) = stops.len().checked_sub(later + 1) {
            let (before, after) = stops.split_at_mut(from + 1);
            let Some(here) = before.last_mut() else { break };
            let mut walk = Walk::from(here.time);
            here.cost = f32::INFINITY;
            for (index, stop) in after.iter().enumerate() {
                let waited = walk.wait(stop.time, objective);
                // The last stop ends the look ahead: nobody is visited there.
                let is_end = index + 1 == later;
                let cost = waited + if is_end { 0.0 } else { stop.cost + price };
                if cost < here.cost {
                    here.cost = cost;
                    here.visits = if is_end { 1.0 } else { stop.visits + 1.0 };
                    next = (!is_end).then_some(stop.time);
                }
                walk.miss(stop.kept);
            }
            later += 1;
        }
        let visits = stops.first().map_or(0.0, |here| here.visits);
        let end = stops.last().map_or(f32::INFINITY, |stop| stop.time);
        next.map(|days| NextVisit {
            days,
            per_day: visits / end,
        })
    }

    /// The days until the first update that comes at least so many days after a phase; just so
    /// many if that is none of the next 64.
    pub fn at_or_after(&self, phase: f32, days: f32) -> f32 {
        let first = self.first_after(phase);
        let ahead = (first..first + 64).map(|index| self.ahead(phase, index).0);
        let mut late_enough = ahead.filter(|later| *later >= days);
        late_enough.next().unwrap_or(days)
    }

    /// For how many of so many days a copy that was fetched at a phase is fresh, on average. Work:
    /// 64 updates.
    pub fn fresh(&self, phase: f32, days: f32) -> f32 {
        let first = self.first_after(phase);
        let mut walk = Walk::from(0.0);
        for index in 0..64 {
            let (time, probability) = self.ahead(phase, first + index);
            if time > days {
                break;
            }
            walk.wait(time, Objective::Freshness);
            walk.miss(1.0 - probability);
        }
        days - walk.wait(days, Objective::Freshness)
    }
}

/// What is worth its price of the next twelve updates of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextVisit {
    /// The days until the first visit.
    pub days: f32,
    /// Visits a day, over all twelve.
    pub per_day: f32,
}

/// A moment at which a page may be visited.
#[derive(Clone, Copy)]
struct Stop {
    time: f32,
    /// The chance that a copy survives the update.
    kept: f32,
    /// What the time from a visit here on costs.
    cost: f32,
    /// Visits from here on, this one included.
    visits: f32,
}

impl Stop {
    const VISIT: Self = Self {
        time: 0.0,
        kept: 1.0,
        cost: 0.0,
        visits: 0.0,
    };
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::constraints::ClockUpdate;
    use crate::time::Duration;
    use std::vec::Vec;

    const DAY_MS: u32 = 86_400_000;

    fn clock_of(updates: &[(u64, f32)]) -> Vec<u8> {
        let bytes = |&(minute, probability): &(u64, f32)| {
            let offset = Duration::from_secs(60 * minute);
            ClockUpdate {
                offset,
                probability,
            }
            .to_bytes()
        };
        updates.iter().flat_map(bytes).collect()
    }

    /// The mean cost a day over many days of who visits when `next` says so, price included.
    fn cost_a_day(updates: &[(u64, f32)], price: f32) -> f32 {
        let bytes = clock_of(updates);
        let clock = Clockwork::new(DAY_MS, Updates::from_bytes(&bytes));
        let mut time = 0.0;
        let mut cost = 0.0;
        while time < 400.0 {
            let phase = clock.phase((time * 86_400e6) as u64);
            let Some(NextVisit { days: gap, .. }) = clock.next(phase, Objective::Freshness, price)
            else {
                let fresh = clock.fresh(phase, 4.0);
                return 1.0 - fresh / 4.0;
            };
            let fresh = clock.fresh(phase, gap);
            cost += f64::from(gap - fresh + price);
            time += f64::from(gap) + 2.0 / 86_400.0;
        }
        (cost / time) as f32
    }

    #[test]
    fn the_visits_that_cost_least_are_chosen() {
        // Each subset of the updates, visited every day, would cost so much.
        let lists: [&[(u64, f32)]; 5] = [
            &[(360, 1.0)],
            &[(0, 1.0), (60, 1.0)],
            &[(360, 0.9), (1_080, 1.0)],
            &[(0, 0.1), (600, 0.5), (700, 0.9), (1_300, 0.3)],
            &[(0, 1.0), (480, 1.0), (960, 1.0)],
        ];
        for updates in lists {
            let bytes = clock_of(updates);
            let clock = Clockwork::new(DAY_MS, Updates::from_bytes(&bytes));
            for price in [0.01, 0.1, 0.3, 0.6, 0.9] {
                let best = (1_u32..1 << updates.len())
                    .map(|chosen| {
                        let times: Vec<f32> = (0..updates.len())
                            .filter(|index| chosen >> index & 1 == 1)
                            .map(|index| updates[index].0 as f32 / 1_440.0)
                            .collect();
                        let ends = times[1..].iter().copied().chain([times[0] + 1.0]);
                        let gaps = times.iter().zip(ends);
                        gaps.map(|(from, to)| {
                            let fresh = clock.fresh(*from, to - from - 1e-6);
                            to - from - fresh + price
                        })
                        .sum::<f32>()
                    })
                    .fold(1.0, f32::min);
                let found = cost_a_day(updates, price);
                assert!(
                    found <= best + 0.02,
                    "{updates:?} at {price}: {found}, not {best}"
                );
            }
        }
    }

    #[test]
    fn a_list_that_is_not_one_ends_nothing() {
        assert!(Clockwork::new(DAY_MS, Updates::default()).is_none());
        let bytes = clock_of(&[(360, 1.0)]);
        let updates = Updates::from_bytes(&bytes);
        assert!(Clockwork::new(0, updates).is_none());
        for broken in [
            Clockwork::new(3_600_000, updates),
            Clockwork::new(0, updates),
            Clockwork::default(),
        ] {
            assert!(broken.at_or_after(0.0, 1e9) >= 1e9);
            let phase = broken.phase(u64::MAX);
            let _ = broken.next(phase, Objective::Age, f32::NAN);
            let _ = broken.fresh(phase, f32::INFINITY);
        }
    }

    #[test]
    fn where_age_counts_a_visit_comes_at_once() {
        let bytes = clock_of(&[(360, 1.0)]);
        let clock = Clockwork::new(DAY_MS, Updates::from_bytes(&bytes));
        let half_past_six = clock.phase(23_400_000_000);
        let next = clock.next(half_past_six, Objective::Age, 0.1);
        let gap = next.expect("worth it").days;
        assert!((gap - 23.5 / 24.0).abs() < 1e-5, "{gap}");
    }
}
