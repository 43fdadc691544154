//! Evenly spaced rates: Cho's optimum (Problem 5.1) in closed form, under host caps.
//!
//! The condition `∂F/∂f = μ` reads `w V(1/f) = μ`, with `V` the price index of the page's law; for
//! a Poisson page `h(λ/f) = μλ/w`, which inverts by Lambert's W. So a scalar search for μ solves
//! any number of pages, without sorting and without memory.

use super::block::Quick;
use super::check::{Checked, check};
use super::level::{CrawlDemand, Same, charge, hand_out, search};
use super::worth::share_of_most;
use super::{Allocation, Objective, Pages, PlanError, PlanHost, PlanPage, Spacing, page_cost};
use crate::math::{Real, Sum};
use crate::model::{Change, ChangeModel, Poisson};

/// Divides `budget` crawls an interval over the pages so that the weighted mean cost is least.
/// `rates` receives crawls an interval, one number a page.
///
/// Pages that change too fast for their weight (`w/λ ≤ price`) get nothing under
/// [`Objective::Freshness`]; under the other objectives every page that changes gets something.
///
/// Work: O(n) a pass, about ten passes. Memory: one [`PlanHost`] a host.
///
/// ```
/// use dunlin::model::Change;
/// use dunlin::plan::{Objective, PlanHost, PlanPage, optimal::optimal};
/// // Cho's Example 5.4: five pages that change 1 to 5 times a day, five visits a day.
/// let pages = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| PlanPage::new(1.0, Change::Poisson(rate)));
/// let (mut hosts, mut rates) = ([PlanHost::unlimited()], [0.0_f64; 5]);
/// let allocation = optimal(&pages[..], &mut hosts, 5.0, Objective::Freshness, &mut rates)?;
/// assert!((rates[0] - 1.1499).abs() < 1e-4 && rates[4] == 0.0);
/// assert!((1.0 - allocation.cost - 0.373_89).abs() < 1e-5);
/// # Ok::<(), dunlin::plan::PlanError>(())
/// ```
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn optimal<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: F,
    objective: Objective,
    rates: &mut [F],
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, budget, rates.len(), false)?;
    Ok(solve(&pages, hosts, objective, rates))
}

/// The least cost any rates can reach, and the price that goes with it: [`optimal()`] without the
/// rates.
///
/// # Errors
/// What is wrong with the demand.
pub fn bound<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: F,
    objective: Objective,
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, budget, usize::MAX, false)?;
    Ok(solve(&pages, hosts, objective, &mut []))
}

fn solve<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    objective: Objective,
    rates: &mut [F],
) -> Allocation<F> {
    let demand = Optimal { objective };
    let shared = search(pages, hosts, &demand, Same::exact(false), rates);
    let price = demand.price(shared.low);
    let mut cost = Sum::ZERO;
    let mut dual = Sum::ZERO;
    let crawls = hand_out(
        pages,
        hosts,
        &demand,
        |index, page, justified, rate, price| {
            let charged = cost_at_price(page, objective, justified, price);
            dual.add(page.weight * charged);
            dual.add(price * justified);
            let at_rate = if rate == justified {
                charged
            } else {
                page_cost(page, objective, Spacing::Steady, rate)
            };
            cost.add(page.weight * at_rate);
            if let Some(place) = rates.get_mut(index) {
                *place = rate;
            }
        },
    );
    let cost = if pages.weight > F::ZERO {
        cost.total() / pages.weight
    } else {
        F::ZERO
    };
    Allocation {
        cost,
        bound: weak_dual(pages, hosts, price, dual).min(cost),
        price,
        crawls,
    }
}

/// The bound alone, for methods that are not optimal themselves: from prices that are right to four
/// digits, which makes it right to about eight.
pub(super) fn rough_bound<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &mut [PlanHost<F>],
    objective: Objective,
    memory: &mut [F],
) -> F {
    let demand = Optimal { objective };
    let shared = search(pages, hosts, &demand, Same::rough(), memory);
    let mut dual = Sum::ZERO;
    charge(pages, hosts, &demand, |page, crawls, price| {
        dual.add(page.weight * cost_at_price(page, objective, crawls, price));
        dual.add(price * crawls);
    });
    weak_dual(pages, hosts, demand.price(shared.low), dual)
}

/// What a page costs at the crawls its price justifies. For most pages that takes no exponential:
/// `e^r = (1 + r)/(1 − q)` makes it `(r² − q)/(r² + r)`, with `r` changes a crawl.
fn cost_at_price<F: Real>(page: &PlanPage<'_, F>, objective: Objective, crawls: F, price: F) -> F {
    match page.change {
        // Limits would make the crawls differ from what the price alone says.
        Change::Poisson(rate) if objective == Objective::Freshness && page.is_within(crawls) => {
            let q = share_of_most(price, rate, page.weight);
            let inverse = crawls / rate;
            (F::ONE - q * inverse * inverse) / (F::ONE + inverse)
        }
        _ => page_cost(page, objective, Spacing::Steady, crawls),
    }
}

/// Weak duality: whatever the prices, no allocation costs less than its pages charged at those
/// prices, less what budget and caps are worth.
fn weak_dual<F: Real, P: Pages<F> + ?Sized>(
    pages: &Checked<'_, P, F>,
    hosts: &[PlanHost<F>],
    price: F,
    mut dual: Sum<F>,
) -> F {
    dual.add(-price * pages.budget);
    for host in hosts.iter().filter(|host| host.price > price) {
        dual.add(-(host.price - price) * host.cap);
    }
    if pages.weight > F::ZERO {
        (dual.total() / pages.weight).max(F::ZERO)
    } else {
        F::ZERO
    }
}

/// Demand of a page at its optimum: `f = 1/V⁻¹(price/w)`.
pub(super) struct Optimal {
    pub(super) objective: Objective,
}

impl Optimal {
    /// The power of the level the price falls with: rates then grow linearly with the level.
    fn power<F: Real>(&self) -> F {
        F::from_u32(if self.objective == Objective::Age {
            3
        } else {
            2
        })
    }
}

impl<F: Real> CrawlDemand<F> for Optimal {
    fn price(&self, level: F) -> F {
        let square = F::ONE / (level * level);
        if self.objective == Objective::Age {
            square / level
        } else {
            square
        }
    }

    fn whole(&self) -> bool {
        false
    }

    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F) {
        let Some(rate) = page.change.rate() else {
            return (F::ZERO, F::ZERO);
        };
        match self.objective {
            Objective::Age => (
                (page.weight * rate * F::from_f64(1.0 / 3.0)).powf(F::from_f64(1.0 / 3.0)),
                F::ZERO,
            ),
            _ => (
                (F::HALF * page.weight * rate).sqrt(),
                rate * F::from_f64(1.0 / 3.0),
            ),
        }
    }

    #[inline]
    fn quick(&self, page: &PlanPage<'_, F>, price: F) -> Option<Quick<F>> {
        let Change::Poisson(rate) = page.change else {
            return None;
        };
        let q = share_of_most(price, rate, page.weight);
        (self.objective == Objective::Freshness && q > F::ZERO).then_some(Quick { rate, q })
    }

    fn at(&self, page: &PlanPage<'_, F>, level: F, price: F) -> (F, F) {
        let nothing = (F::ZERO, F::ZERO);
        match page.change {
            _ if !(page.weight > F::ZERO) => nothing,
            Change::Quasi(quasi) => (F::from_u32(quasi.crawls(price / page.weight)), F::ZERO),
            Change::Poisson(rate) if !(rate > F::ZERO) => nothing,
            Change::Poisson(rate) => at_gap(self, &Poisson::new(rate), price / page.weight, level),
            _ => page
                .change
                .with(|law| at_gap(self, law, price / page.weight, level))
                .unwrap_or(nothing),
        }
    }
}

/// Demand of a page of any law at `price` for weight 1.
fn at_gap<F: Real>(
    demand: &Optimal,
    law: &(impl ChangeModel<F> + ?Sized),
    price: F,
    level: F,
) -> (F, F) {
    let gap = law.gap(demand.objective, price);
    if !(gap > F::ZERO) {
        return (F::INFINITY, F::ZERO);
    }
    if !gap.is_finite() {
        return (F::ZERO, F::ZERO);
    }
    let slope =
        demand.power::<F>() * price / (gap * gap * law.value_slope(demand.objective, gap) * level);
    (F::ONE / gap, slope)
}
