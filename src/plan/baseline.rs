//! What people do without a planner, to be measured against.

use super::azar::allot;
use super::check::check;
use super::level::CrawlDemand;
use super::{Allocation, Objective, Pages, PlanError, PlanHost, PlanPage, optimal};
use crate::math::Real;

/// What a page's share is in proportion to. A page of unknown rate has the assumed one; a
/// quasi-deterministic page changes once for each crawl that would save something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Share {
    /// The same for all (Cho §5.5.1). Never worse than proportional, for equal weights.
    Uniform,
    /// In proportion to the change rate.
    Proportional,
    /// In proportion to the weight.
    WeightedUniform,
    /// In proportion to weight times change rate.
    WeightedProportional,
}

/// Divides `budget` crawls an interval in proportion to `share`, as far as limits and caps allow;
/// what they withhold goes to the others in the same proportion. `rates` receives crawls an
/// interval, one number a page.
///
/// Work: O(n) a pass, about ten passes, and half as many for the bound. Memory: one [`PlanHost`] a
/// host.
///
/// ```
/// use dunlin::model::Change;
/// use dunlin::plan::{PlanHost, Objective, PlanPage, baseline::{Share, baseline}};
/// let pages = [1.0, 2.0, 3.0, 4.0, 5.0].map(|rate| PlanPage::new(1.0, Change::Poisson(rate)));
/// let (mut hosts, mut rates) = ([PlanHost::unlimited()], [0.0_f64; 5]);
/// let (share, goal) = (Share::Uniform, Objective::Freshness);
/// let allocation = baseline(&pages[..], &mut hosts, 5.0, share, goal, &mut rates)?;
/// assert!((1.0 - allocation.cost - 0.365_05).abs() < 1e-5); // the optimum is 0.37389
/// # Ok::<(), dunlin::plan::PlanError>(())
/// ```
///
/// # Errors
/// What is wrong with the demand; nothing is written then.
pub fn baseline<F: Real, P: Pages<F> + ?Sized>(
    pages: &P,
    hosts: &mut [PlanHost<F>],
    budget: F,
    share: Share,
    objective: Objective,
    rates: &mut [F],
) -> Result<Allocation<F>, PlanError> {
    let pages = check(pages, hosts, budget, rates.len(), false)?;
    let bound = optimal::rough_bound(&pages, hosts, objective, rates);
    hosts.iter_mut().for_each(PlanHost::reset);
    let allocation = allot(&pages, hosts, &share, objective, bound, rates);
    // A share has no price.
    hosts.iter_mut().for_each(|host| host.price = F::ZERO);
    Ok(Allocation {
        price: F::ZERO,
        ..allocation
    })
}

impl<F: Real> CrawlDemand<F> for Share {
    fn price(&self, level: F) -> F {
        F::ONE / level
    }
    fn whole(&self) -> bool {
        false
    }
    fn asymptote(&self, page: &PlanPage<'_, F>) -> (F, F) {
        let rate = || match page.change {
            crate::model::Change::Quasi(quasi) => F::from_u32(quasi.crawls(F::ZERO)),
            change => change.rate().unwrap_or(F::ZERO),
        };
        let share = match self {
            Self::Uniform => F::ONE,
            Self::Proportional => rate(),
            Self::WeightedUniform => page.weight,
            Self::WeightedProportional => page.weight * rate(),
        };
        (share, F::ZERO)
    }
    fn at(&self, page: &PlanPage<'_, F>, level: F, _price: F) -> (F, F) {
        let (share, _) = CrawlDemand::<F>::asymptote(self, page);
        if share > F::ZERO {
            (share * level, share)
        } else {
            (F::ZERO, F::ZERO)
        }
    }
}
