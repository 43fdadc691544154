//! Whole crawls by price: the optimum of [`greedy`](super::greedy) without walking its steps.
//!
//! At a price θ a page takes every crawl that saves at least θ. The search for the θ at which that
//! meets budget and caps is the Galil–Megiddo / Frederickson–Johnson idea, and needs no memory
//! beyond the result. Crawls whose gains tie at the last price go to the pages with the smaller
//! indices.

use super::check::check;
use super::cost::gain;
use super::greedy::bound;
use super::level::{CrawlDemand, Same, hand_out, search};
use super::optimal::Optimal;
use super::{Allocation, Objective, Pages, PlanError, PlanHost, PlanPage, Spacing, page_cost};
use crate::math::{Real, Sum};
use crate::model::Change;

/// Divides `budget` whole crawls so that the weighted mean cost is least; `crawls` receives one
/// number a page.
///
/// Work: O(n) a pass, some twenty passes, whatever the budget. Memory: one [`PlanHost`] a host. In
/// `f32` whole crawls are counted exactly up to 16,777,216; a larger budget may be missed by its
/// rounding.
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn select<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: u32,
    objective: Objective,
    crawls: &mut [u32],
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, F::from_u32(budget), crawls.len(), true)?;
    let demand = Whole(Optimal { objective });
    let shared = search(&pages, hosts, &demand, Same::exact(true), &mut []);
    let price = demand.price(shared.low);
    let mut cost = Sum::ZERO;
    let mut dual = Sum::ZERO;
    let total = hand_out(
        &pages,
        hosts,
        &demand,
        |index, page, justified, given, price| {
            let charged = page_cost(page, objective, Spacing::Whole, justified);
            dual.add(page.weight * charged);
            dual.add(price * justified);
            cost.add(page.weight * page_cost(page, objective, Spacing::Whole, given));
            if let Some(place) = crawls.get_mut(index) {
                *place = given.to_u32();
            }
        },
    );
    Ok(bound(&pages, hosts, price, cost, dual, total))
}

/// The number of crawls that save at least the price each.
struct Whole(Optimal);

impl<F: Real> CrawlDemand<F> for Whole {
    fn price(&self, level: F) -> F {
        self.0.price(level)
    }
    fn whole(&self) -> bool {
        true
    }
    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F) {
        let (gain, offset) = self.0.asymptote(page);
        (
            gain,
            if gain > F::ZERO {
                offset + F::from_f64(1.5)
            } else {
                F::ZERO
            },
        )
    }
    fn at(&self, page: &PlanPage<'_, F>, level: F, price: F) -> (F, F) {
        if let Change::Quasi(_) = page.change {
            return self.0.at(page, level, price);
        }
        let (rate, slope) = self.0.at(page, level, price);
        if !(rate < F::from_f64(4e9)) {
            return (F::INFINITY, F::ZERO);
        }
        let most = page.max;
        // The gain of crawl x lies between the prices of the rates x+1 and x+2: only one crawl is
        // in doubt, and a second where the rate is rounded.
        let mut crawls = rate.to_u32().saturating_sub(1).min(most);
        for _ in 0..3 {
            if crawls >= most || !(gain(page, self.0.objective, crawls) >= price) {
                break;
            }
            crawls += 1;
        }
        (F::from_u32(crawls), slope)
    }
}
