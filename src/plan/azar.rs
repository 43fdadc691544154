//! Rates for visits at random moments: Azar's Algorithms 1 and 2.
//!
//! Maximise `Σ w ρ/(ρ+λ)` with `Σρ = R`. The condition is `ρ = √(wλ/κ) − λ`, and pages with `w/λ ≤
//! κ` get nothing. The paper sorts by `w/λ` to find which those are. Here the level `κ^−½` is
//! searched as for the other methods: demand is piecewise linear in it, so Newton's method lands on
//! the answer exactly as soon as it knows which pages are in, with caps and limits as well, in
//! fewer passes than sorting takes.

use super::check::{Checked, check};
use super::level::{CrawlDemand, Same, hand_out, search};
use super::{
    Allocation, Objective, Pages, PlanError, PlanHost, PlanPage, Spacing, optimal, page_cost,
};
use crate::math::{Real, Sum};
use crate::model::Change;

/// Divides `budget` crawls an interval as if visits came at random moments (Algorithm 2). `rates`
/// receives crawls an interval, one number a page.
///
/// Rates maximise the freshness of random visits; the allocation tells what they cost by
/// `objective` when visits are spread evenly (the paper's Fig. 1), and its bound is that of
/// [`optimal`]. Every law is taken for Poisson; quasi-deterministic pages take whole crawls at the
/// price κ.
///
/// Work: O(n) a pass, about ten passes, and half as many for the bound. Memory: one [`PlanHost`] a
/// host.
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn azar<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: F,
    objective: Objective,
    rates: &mut [F],
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, budget, rates.len(), false)?;
    let bound = optimal::rough_bound(&pages, hosts, objective, rates);
    hosts.iter_mut().for_each(PlanHost::reset);
    Ok(allot(&pages, hosts, &RandomVisits, objective, bound, rates))
}

/// Divides one visit a slot over the pages at random (Algorithm 1). A page's rate is its chance of
/// changing in a slot, below 1; `probabilities` receives its chance of being visited in one. Caps
/// are chances as well.
///
/// The allocation's cost is `1 − Σ w p/(p + Δ − pΔ) / Σ w`, the staleness right after a slot; rates
/// that are exactly optimal for it make its bound the same number.
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn azar_slots<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    probabilities: &mut [F],
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, F::ONE, probabilities.len(), false)?;
    for (index, page) in pages.iter() {
        if let Some(found) = page.change.rate().filter(|rate| !(*rate < F::ONE)) {
            return Err(PlanError::Slot {
                page: index,
                found: found.to_f64(),
            });
        }
    }
    let shared = search(&pages, hosts, &Slots, Same::exact(false), probabilities);
    let mut cost = Sum::ZERO;
    let crawls = hand_out(&pages, hosts, &Slots, |index, page, _, p, _| {
        let change = page.change.rate().unwrap_or(F::ZERO);
        let fresh = if change > F::ZERO {
            p / (p + change - p * change)
        } else {
            F::ONE
        };
        cost.add(page.weight * (F::ONE - fresh));
        if let Some(place) = probabilities.get_mut(index) {
            *place = p;
        }
    });
    let cost = if pages.weight > F::ZERO {
        cost.total() / pages.weight
    } else {
        F::ZERO
    };
    Ok(Allocation {
        cost,
        bound: cost,
        price: Slots.price(shared.low),
        crawls,
    })
}

/// Searches, hands out, and tells what it costs at even spacing.
pub(super) fn allot<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    demand: &impl CrawlDemand<F>,
    objective: Objective,
    bound: F,
    rates: &mut [F],
) -> Allocation<F> {
    let shared = search(pages, hosts, demand, Same::exact(false), rates);
    let mut cost = Sum::ZERO;
    let crawls = hand_out(pages, hosts, demand, |index, page, _, rate, _| {
        cost.add(page.weight * page_cost(page, objective, Spacing::Steady, rate));
        if let Some(place) = rates.get_mut(index) {
            *place = rate;
        }
    });
    let cost = if pages.weight > F::ZERO {
        cost.total() / pages.weight
    } else {
        F::ZERO
    };
    Allocation {
        cost,
        bound: bound.min(cost),
        price: demand.price(shared.low),
        crawls,
    }
}

/// Demand of a page that is visited at random times: `ρ = √(wλ)·level − λ`.
struct RandomVisits;

impl<F: Real> CrawlDemand<F> for RandomVisits {
    fn price(&self, level: F) -> F {
        F::ONE / (level * level)
    }
    fn whole(&self) -> bool {
        false
    }
    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F) {
        page.change.rate().map_or((F::ZERO, F::ZERO), |rate| {
            ((page.weight * rate).sqrt(), rate)
        })
    }
    fn at(&self, page: &PlanPage<'_, F>, level: F, price: F) -> (F, F) {
        if let Change::Quasi(quasi) = page.change {
            return (F::from_u32(quasi.crawls(price / page.weight)), F::ZERO);
        }
        line(self.asymptote(page), level)
    }
}

/// `p = (√(wΔ)·level − Δ)/(1 − Δ)`
struct Slots;

impl<F: Real> CrawlDemand<F> for Slots {
    fn price(&self, level: F) -> F {
        F::ONE / (level * level)
    }
    fn whole(&self) -> bool {
        false
    }
    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F) {
        page.change.rate().map_or((F::ZERO, F::ZERO), |rate| {
            (
                (page.weight * rate).sqrt() / (F::ONE - rate),
                rate / (F::ONE - rate),
            )
        })
    }
    fn at(&self, page: &PlanPage<'_, F>, level: F, _price: F) -> (F, F) {
        line(self.asymptote(page), level)
    }
}

/// `gain · level − offset`, not below 0.
fn line<F: Real>((gain, offset): (F, F), level: F) -> (F, F) {
    if !(gain > F::ZERO) {
        return (F::ZERO, F::ZERO);
    }
    let crawls = gain * level - offset;
    if crawls > F::ZERO {
        (crawls, gain)
    } else {
        (F::ZERO, F::ZERO)
    }
}
