//! What a page costs at a given number of crawls.

use super::{Objective, PlanPage};
use crate::math::Real;
use crate::model::{Change, ChangeModel, Poisson};

/// Where crawls stand in the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// `x` whole crawls beside a fresh copy at the start: gaps of `1/(x+1)` (Wolf §2.4).
    Whole,
    /// A steady rate: gaps of `1/f`.
    Steady,
}

/// Mean cost of a page that gets `crawls` crawls an interval: staleness, age in intervals, or
/// harmonic staleness. A page of unknown rate counts as one that never changes; see
/// [`super::assumed_rate`].
///
/// ```
/// use dunlin::model::{Change, Objective};
/// use dunlin::plan::{PlanPage, Spacing, page_cost};
/// let page = PlanPage::new(1.0, Change::Poisson(4.0_f64));
/// let freshness = 1.0 - page_cost(&page, Objective::Freshness, Spacing::Steady, 2.0);
/// assert!((freshness - 0.432_3).abs() < 1e-4);
/// ```
pub fn page_cost<F: Real>(
    page: &PlanPage<'_, F>,
    objective: Objective,
    spacing: Spacing,
    crawls: F,
) -> F {
    let gap = || match spacing {
        Spacing::Whole => F::ONE / (crawls + F::ONE),
        Spacing::Steady if crawls > F::ZERO => F::ONE / crawls,
        Spacing::Steady => F::INFINITY,
    };
    match page.change {
        // Spelt out, because it is what nearly every page is: everything is inlined.
        Change::Poisson(rate) => Poisson::new(rate).cost(objective, gap()),
        Change::Quasi(quasi) => {
            let whole = crawls.floor();
            quasi.cost(whole.to_u32()) - (crawls - whole) * quasi.drop(whole.to_u32())
        }
        _ => page
            .change
            .with(|law| law.cost(objective, gap()))
            .unwrap_or(F::ZERO),
    }
}

/// What one more crawl saves, times the page's weight.
pub(super) fn gain<F: Real>(page: &PlanPage<'_, F>, objective: Objective, crawls: u32) -> F {
    let drop = match page.change {
        Change::Poisson(rate) => Poisson::new(rate).drop(objective, crawls),
        Change::Quasi(quasi) => quasi.drop(crawls),
        _ => page
            .change
            .with(|law| law.drop(objective, crawls))
            .unwrap_or(F::ZERO),
    };
    page.weight * drop
}
