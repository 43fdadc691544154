//! Pages whose possible update times are known: a day's clock pattern (Wolf §2.1.2).
//!
//! Crawls belong on the potential update times. The cost of an interval splits between consecutive
//! crawls, so a dynamic programme over (last crawl, crawls left) is exact; Wolf's greedy choice is
//! here as well. The cost of a stretch grows by less per step the later its crawl was (the Monge
//! condition), so what each further crawl saves never rises: a quasi page can be priced like any
//! other.

use super::Objective;
use crate::math::Real;

/// A time at which the page may change. A list of them is sorted by offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<F> {
    /// When, from the start of the interval, in intervals: 0 ≤ offset < 1. An update at offset 0
    /// stands for the state the previous interval left: the chance that the copy is stale already.
    pub offset: F,
    /// The chance that the update is real, 0 to 1.
    pub probability: F,
}

/// A quasi-deterministic page: its cost after 0, 1, 2, … crawls, from [`costs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quasi<'a, F> {
    costs: &'a [F],
}

impl<'a, F: Real> Quasi<'a, F> {
    /// A page with these costs; crawls beyond the last save nothing. An empty list is a page that
    /// never changes.
    pub const fn new(costs: &'a [F]) -> Self {
        Self { costs }
    }

    /// Cost after `crawls` crawls.
    pub fn cost(&self, crawls: u32) -> F {
        self.costs
            .get(crawls as usize)
            .or(self.costs.last())
            .copied()
            .unwrap_or(F::ZERO)
    }

    /// What one more crawl saves. Never negative.
    pub fn drop(&self, crawls: u32) -> F {
        (self.cost(crawls) - self.cost(crawls.saturating_add(1))).max(F::ZERO)
    }

    /// How many crawls save at least `price` each.
    pub fn crawls(&self, price: F) -> u32 {
        let most = self.costs.len().saturating_sub(1) as u32;
        (0..most)
            .find(|crawls| !(self.drop(*crawls) >= price && self.drop(*crawls) > F::ZERO))
            .unwrap_or(most)
    }

    /// The costs it was made from.
    pub const fn costs(&self) -> &'a [F] {
        self.costs
    }
}

/// The cost of going on without a crawl, walked update by update.
pub(crate) struct Walk<F> {
    at: F,
    /// The chance that the copy is fresh.
    fresh: F,
    age: F,
    cost: F,
}

impl<F: Real> Walk<F> {
    /// A walk that begins with a crawl at `at`.
    pub(crate) fn from(at: F) -> Self {
        Self {
            at,
            fresh: F::ONE,
            age: F::ZERO,
            cost: F::ZERO,
        }
    }

    /// Waits until `to`; returns the cost so far.
    pub(crate) fn wait(&mut self, to: F, objective: Objective) -> F {
        let width = to - self.at;
        let aged = (F::ONE - self.fresh) * width;
        self.cost += match objective {
            Objective::Age => width * (self.age + F::HALF * aged),
            Objective::Freshness | Objective::Harmonic => aged,
        };
        self.age += aged;
        self.at = to;
        self.cost
    }

    /// An update passes uncrawled that leaves a copy fresh with this chance.
    pub(crate) fn miss(&mut self, kept: F) {
        self.fresh *= kept;
    }
}

/// The least cost of the updates `from..` when the last crawl was at `at` and one crawl may be
/// placed on any of them, `rest[j]` being the cost from a crawl on update `j` onwards. Also which
/// update that is.
fn best<F: Real>(
    objective: Objective,
    at: F,
    from: usize,
    updates: &[Update<F>],
    rest: &[F],
) -> (F, usize) {
    let mut walk = Walk::from(at);
    let mut least = (F::INFINITY, from);
    for (j, (update, rest)) in updates.iter().zip(rest).enumerate().skip(from) {
        let cost = walk.wait(update.offset, objective) + *rest;
        if cost < least.0 {
            least = (cost, j);
        }
        walk.miss(F::ONE - update.probability);
    }
    least
}

/// The cost of the updates `from..` when there are no more crawls after `at`.
fn without<F: Real>(objective: Objective, at: F, from: usize, updates: &[Update<F>]) -> F {
    let mut walk = Walk::from(at);
    for update in updates.iter().skip(from) {
        walk.wait(update.offset, objective);
        walk.miss(F::ONE - update.probability);
    }
    walk.wait(F::ONE, objective)
}

/// Turns `rest[j]`, the least cost from a crawl on update `j` with so many crawls after it, into
/// that with one crawl more (with none, the `first` time). In place: `rest[j]` reads only later
/// places, which still hold the old row.
fn deepen<F: Real>(objective: Objective, updates: &[Update<F>], rest: &mut [F], first: bool) {
    for j in 0..updates.len().min(rest.len()) {
        let at = updates.get(j).map_or(F::ZERO, |update| update.offset);
        let mut cost = without(objective, at, j + 1, updates);
        if !first {
            cost = cost.min(best(objective, at, j + 1, updates, rest).0);
        }
        if let Some(place) = rest.get_mut(j) {
            *place = cost;
        }
    }
}

/// Fills `costs` with the least cost of 0, 1, 2, … crawls, exactly; returns how many of them say
/// something new (crawls on every update leave nothing to save). O(Q² x) steps for Q updates and x
/// = `costs.len()`.
///
/// `scratch` holds at least one number an update, or nothing is filled and the answer is 0.
/// Harmonic cost is counted as staleness: an update time has no rate at which changes are missed.
///
/// ```
/// use dunlin::model::{Objective, quasi::{Update, costs}};
/// // An update at 6:00 nine days in ten and one at 18:00 every day, in units of the day.
/// let updates = [(0.25, 0.9), (0.75, 1.0)]
///     .map(|(offset, probability)| Update { offset, probability });
/// let (mut curve, mut scratch) = ([0.0_f64; 3], [0.0; 2]);
/// assert_eq!(costs(&updates, Objective::Freshness, &mut curve, &mut scratch), 3);
/// // One crawl saves most at 6:00: stale only from 18:00 on.
/// assert!((curve[0] - 0.7).abs() < 1e-12 && (curve[1] - 0.25).abs() < 1e-12 && curve[2] < 1e-12);
/// ```
pub fn costs<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    costs: &mut [F],
    scratch: &mut [F],
) -> usize {
    if scratch.len() < updates.len() {
        return 0;
    }
    let useful = costs.len().min(updates.len() + 1);
    let mut least = F::INFINITY;
    for (crawls, cost) in costs.iter_mut().take(useful).enumerate() {
        let found = if crawls == 0 {
            without(objective, F::ZERO, 0, updates)
        } else {
            deepen(objective, updates, scratch, crawls == 1);
            best(objective, F::ZERO, 0, updates, scratch).0
        };
        least = least.min(found);
        *cost = least.max(F::ZERO);
    }
    useful
}

/// The updates to crawl on, exactly: fills `times` with indices in rising order and returns how
/// many there are.
///
/// `scratch` holds `updates.len()` numbers for each crawl, or nothing is chosen and the answer is
/// 0.
pub fn choose<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    times: &mut [u16],
    scratch: &mut [F],
) -> usize {
    let count = times.len().min(updates.len());
    let width = updates.len();
    if width == 0 || scratch.len() < count * width {
        return 0;
    }
    // Row r: the cost from a crawl on update j with r crawls after it.
    for row in 0..count {
        let (before, rest) = scratch.split_at_mut(row * width);
        let Some(rest) = rest.get_mut(..width) else {
            return 0;
        };
        if let Some(last) = before
            .len()
            .checked_sub(width)
            .and_then(|start| before.get(start..))
        {
            rest.copy_from_slice(last);
        }
        deepen(objective, updates, rest, row == 0);
    }
    let mut at = F::ZERO;
    let mut from = 0;
    for (chosen, time) in times.iter_mut().take(count).enumerate() {
        let row = count - 1 - chosen;
        let rest = scratch.get(row * width..(row + 1) * width).unwrap_or(&[]);
        let (cost, j) = best(objective, at, from, updates, rest);
        if !cost.is_finite() {
            return chosen;
        }
        *time = j as u16;
        at = updates.get(j).map_or(F::ONE, |update| update.offset);
        from = j + 1;
    }
    count
}

/// Trying every update as the first takes no more steps than this, or than two crawls take.
const MOST_STEPS: usize = 1 << 16;

/// Up to how many crawls each of so many updates is tried as the first: with more of them, little
/// hangs on it.
fn crawls_tried(updates: usize) -> usize {
    (MOST_STEPS / updates.saturating_pow(3).max(1)).clamp(2, updates.max(2))
}

/// About how many steps [`long_run_costs`] takes for so many updates and as many crawls.
pub fn long_run_steps(updates: usize) -> usize {
    let tried = crawls_tried(updates).saturating_add(1);
    tried.saturating_mul(updates.saturating_pow(3))
}

/// The update to begin with for as many crawls as `row` is long: that from which they cost least.
/// `row` is left with anything, `least` with the least cost of 1, 2, … crawls.
fn best_start<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    row: &mut [F],
    least: &mut [F],
    rotated: &mut [Update<F>],
    scratch: &mut [F],
) -> usize {
    let mut best = (F::INFINITY, 0);
    for first in 0..updates.len() {
        let found = costs(rotate(updates, first, rotated), objective, row, scratch);
        let row = row.get(..found).unwrap_or(&[]);
        for (least, cost) in least.iter_mut().zip(row) {
            *least = least.min(*cost);
        }
        if let Some(last) = row.last().filter(|last| **last < best.0) {
            best = (*last, first);
        }
    }
    best.1
}

/// Fills `rotated` with the updates after `first`, seen from there, round to the one before it.
fn rotate<'a, F: Real>(
    updates: &[Update<F>],
    first: usize,
    rotated: &'a mut [Update<F>],
) -> &'a [Update<F>] {
    let (before, after) = updates.split_at(first.min(updates.len()));
    let Some((start, after)) = after.split_first() else {
        return &[];
    };
    let others = after
        .iter()
        .map(|update| (update, F::ZERO))
        .chain(before.iter().map(|update| (update, F::ONE)));
    let mut filled = 0;
    for (place, (update, round)) in rotated.iter_mut().zip(others) {
        *place = Update {
            offset: update.offset - start.offset + round,
            probability: update.probability,
        };
        filled += 1;
    }
    rotated.get(..filled).unwrap_or(&[])
}

/// Lowers costs to the straight lines between the lowest: what a mix of two numbers of crawls,
/// now the one and now the other, comes to. O(n²) steps.
fn make_convex<F: Real>(costs: &mut [F]) {
    let mut from = 0;
    while let Some((cost, rest)) = costs
        .get_mut(from..)
        .and_then(|costs| costs.split_first_mut())
    {
        let slope = |(index, next): (usize, &F)| (*next - *cost) / F::from_u32(index as u32 + 1);
        let steepest = rest.iter().enumerate().map(slope).enumerate().fold(
            None,
            |best: Option<(usize, F)>, (index, slope)| match best {
                Some((_, least)) if least <= slope => best,
                _ => Some((index, slope)),
            },
        );
        let Some((to, slope)) = steepest else { return };
        for (index, cost_between) in rest.iter_mut().take(to).enumerate() {
            *cost_between = *cost + slope * F::from_u32(index as u32 + 1);
        }
        from += to + 1;
    }
}

/// What [`costs`] is for one interval, for one after the other, all with the same crawls: the copy
/// is as old in the morning as the evening left it, and one that is never fetched is stale for
/// good. By age, a crawl every other interval leaves the copy half an interval older than one in
/// each; that line is drawn on to no crawls at all, where the age has no end.
///
/// One crawl is on some update; from there on it is the problem of one interval. For up to 16
/// updates, and for two crawls of any number, each update is tried as that one, and the costs are
/// exact; for more crawls the best to begin a few with has to do. `rotated` holds at least one
/// place an update, `scratch` one number an update and one a cost, or nothing is filled and the
/// answer is 0. Work: [`long_run_steps`].
///
/// ```
/// use dunlin::model::{Objective, quasi::{Update, long_run_costs}};
/// // An update at 6:00 nine days in ten and one at 18:00 every day, in units of the day.
/// let updates = [(0.25, 0.9), (0.75, 1.0)]
///     .map(|(offset, probability)| Update { offset, probability });
/// let mut rotated = updates;
/// let (mut curve, mut scratch) = ([0.0_f64; 3], [0.0; 5]);
/// long_run_costs(&updates, Objective::Freshness, &mut curve, &mut rotated, &mut scratch);
/// // One crawl, at 18:00: stale from 6:00 on, nine days in ten.
/// assert!((curve[0] - 1.0).abs() < 1e-12 && (curve[1] - 0.45).abs() < 1e-12 && curve[2] < 1e-12);
/// ```
pub fn long_run_costs<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    costs: &mut [F],
    rotated: &mut [Update<F>],
    scratch: &mut [F],
) -> usize {
    let useful = costs.len().min(updates.len() + 1);
    let Some((row, scratch)) = scratch.split_at_mut_checked(useful) else {
        return 0;
    };
    if scratch.len() < updates.len() || rotated.len() < updates.len() {
        return 0;
    }
    let Some((never, some)) = costs
        .get_mut(..useful)
        .and_then(|costs| costs.split_first_mut())
    else {
        return 0;
    };
    let Some(row) = row.get_mut(..some.len()) else {
        return 0;
    };
    some.fill(F::INFINITY);
    let near = crawls_tried(updates.len()).min(some.len());
    let (short, _) = row.split_at_mut(near);
    let first = best_start(updates, objective, short, some, rotated, scratch);
    if near < some.len() {
        self::costs(rotate(updates, first, rotated), objective, row, scratch);
        for (cost, found) in some.iter_mut().zip(row) {
            *cost = cost.min(*found);
        }
    }
    let changes = updates.iter().any(|update| update.probability > F::ZERO);
    *never = match objective {
        _ if !changes => F::ZERO,
        Objective::Age => F::ONE + some.first().copied().unwrap_or(F::ZERO),
        Objective::Freshness | Objective::Harmonic => F::ONE,
    };
    make_convex(costs.get_mut(..useful).unwrap_or(&mut []));
    useful
}

/// What [`choose`] is for one interval, for one after the other, as [`long_run_costs`] counts.
///
/// `rotated` holds at least one place an update, `scratch` `updates.len()` numbers for each crawl
/// and one more a crawl, or nothing is chosen and the answer is 0.
pub fn choose_for_long_run<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    times: &mut [u16],
    rotated: &mut [Update<F>],
    scratch: &mut [F],
) -> usize {
    let count = times.len().min(updates.len());
    let Some((head, tail)) = times
        .get_mut(..count)
        .and_then(|times| times.split_first_mut())
    else {
        return 0;
    };
    if rotated.len() < updates.len() || scratch.len() < count * updates.len() + count {
        return 0;
    }
    let (row, rest) = scratch.split_at_mut(crawls_tried(updates.len()).min(count));
    let first = best_start(updates, objective, row, &mut [], rotated, rest);
    let others = rotate(updates, first, rotated);
    let chosen = choose(others, objective, tail, scratch);
    *head = first as u16;
    for time in tail.iter_mut().take(chosen) {
        *time = ((usize::from(*time) + first + 1) % updates.len()) as u16;
    }
    let chosen = times.get_mut(..=chosen).unwrap_or(&mut []);
    chosen.sort_unstable();
    chosen.len()
}

/// The updates to crawl on, as Wolf chooses them: one by one, each where it saves most. At least 1
/// − 1/e of the best freshness. O(Q² x) steps, no scratch; fills `times` in rising order and
/// returns the cost.
pub fn choose_greedily<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    times: &mut [u16],
) -> F {
    let mut least = cost_of(updates, objective, &[], None);
    let count = times.len().min(updates.len());
    for taken in 0..count {
        let (chosen, _) = times.split_at(taken);
        let next = (0..updates.len())
            .filter(|j| !chosen.contains(&(*j as u16)))
            .fold(None, |best, j| {
                let cost = cost_of(updates, objective, chosen, Some(j));
                match best {
                    Some((least, _)) if least <= cost => best,
                    _ => Some((cost, j)),
                }
            });
        if let (Some((cost, j)), Some(place)) = (next, times.get_mut(taken)) {
            *place = j as u16;
            least = cost;
        }
    }
    if let Some(chosen) = times.get_mut(..count) {
        chosen.sort_unstable();
    }
    least
}

/// The cost of crawling on `chosen` and on `extra`.
fn cost_of<F: Real>(
    updates: &[Update<F>],
    objective: Objective,
    chosen: &[u16],
    extra: Option<usize>,
) -> F {
    let mut walk = Walk::from(F::ZERO);
    for (j, update) in updates.iter().enumerate() {
        walk.wait(update.offset, objective);
        if extra == Some(j) || chosen.contains(&(j as u16)) {
            walk.fresh = F::ONE;
            walk.age = F::ZERO;
        } else {
            walk.miss(F::ONE - update.probability);
        }
    }
    walk.wait(F::ONE, objective)
}
