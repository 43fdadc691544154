//! Crawls divided over pages by a method that has a name, and what that comes to in a user's units:
//! freshness, or seconds of age.

use dunlin::heap::Entry;
use dunlin::plan::azar::azar;
use dunlin::plan::baseline::{Share, baseline};
use dunlin::plan::greedy::greedy;
use dunlin::plan::optimal::optimal;
use dunlin::plan::select::select;
use dunlin::plan::{self, Allocation, Pages, PlanError, PlanHost, Spacing, page_cost};
use dunlin::time::Duration;
use serde::{Deserialize, Serialize};

/// How crawls are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "`dunlin plan --help` has a line for each")]
pub enum Method {
    Greedy,
    Select,
    #[default]
    Optimal,
    Azar,
    Uniform,
    Proportional,
    WeightedUniform,
    WeightedProportional,
}

/// What is to be made best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "`dunlin help terms` explains the words")]
pub enum Objective {
    #[default]
    Freshness,
    Age,
    Harmonic,
}

/// What a plan's figure is a figure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// Any interval far from the start.
    LongRun,
    /// One interval that begins with fresh copies.
    OneInterval,
}

impl Holds {
    /// As it is written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LongRun => "long-run",
            Self::OneInterval => "one-interval",
        }
    }
}

impl Objective {
    /// What figures are told in: the harmonic plan is, too, by freshness.
    pub const fn told_in(self) -> plan::Objective {
        match self {
            Self::Age => plan::Objective::Age,
            Self::Freshness | Self::Harmonic => plan::Objective::Freshness,
        }
    }
}

impl From<Objective> for plan::Objective {
    fn from(objective: Objective) -> Self {
        match objective {
            Objective::Freshness => Self::Freshness,
            Objective::Age => Self::Age,
            Objective::Harmonic => Self::Harmonic,
        }
    }
}

impl Method {
    /// Whole crawls, or rates?
    pub const fn spacing(self) -> Spacing {
        if matches!(self, Self::Greedy | Self::Select) {
            Spacing::Whole
        } else {
            Spacing::Steady
        }
    }

    /// What a host's cap allows under this method.
    pub fn cap(self, host: &PlanHost<f64>) -> f64 {
        match self.spacing() {
            Spacing::Whole => host.cap.floor(),
            Spacing::Steady => host.cap,
        }
    }

    /// About how many times pages are read, for a progress bar.
    pub fn reads(self, pages: usize, crawls: f64) -> u64 {
        let pages = pages as u64;
        match self {
            Self::Optimal => 20 * pages,
            Self::Greedy => 4 * pages + crawls.max(0.0) as u64,
            Self::Select => 25 * pages,
            _ => 40 * pages,
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// How to divide …
    pub method: Method,
    /// … for what aim …
    pub objective: Objective,
    /// … in this time, which is not 0, …
    pub interval: Duration,
    /// … so many crawls.
    pub crawls: f64,
}

/// What came of it, one number a page first.
#[derive(Clone, Debug)]
pub struct Planned {
    /// How often each page is crawled in an interval.
    pub crawls: Vec<f64>,
    /// Share of time fresh.
    pub freshness: Vec<f64>,
    /// Mean age in seconds.
    pub age_s: Vec<f64>,
    /// Weighted mean freshness, or age in seconds.
    pub value: f64,
    /// The best any schedule could reach.
    pub bound: f64,
    /// For what time `value` and `bound` hold.
    pub holds: Holds,
    /// What the same crawls come to when every interval has them; `value` for rates.
    pub long_run_value: f64,
    /// `value` and `bound` in the harmonic objective's own unit, for that.
    pub harmonic: Option<f64>,
    /// The bound that belongs to `harmonic`, in the same unit.
    pub harmonic_bound: Option<f64>,
    /// What one more crawl an interval would save.
    pub price: f64,
}

/// Divides the crawls. Pages are given twice, as a quasi-deterministic page has a table of costs
/// for freshness and one for age; without such pages both are the same.
///
/// # Errors
/// What is wrong with the demand, by the index of the page or host.
pub fn divide(
    demand: &Demand,
    by_freshness: &impl Pages<f64>,
    by_age: &impl Pages<f64>,
    hosts: &mut [PlanHost<f64>],
) -> Result<Planned, PlanError> {
    let method = demand.method;
    let spacing = method.spacing();
    let interval = demand.interval.as_secs_f64();
    let mut allotted = |objective| match demand.objective {
        Objective::Age => allot(method, demand.crawls, objective, by_age, hosts),
        _ => allot(method, demand.crawls, objective, by_freshness, hosts),
    };
    // The harmonic plan is told in freshness, so its bound is the best freshness.
    let fresh = match demand.objective {
        Objective::Harmonic => Some(allotted(plan::Objective::Freshness)?.1),
        _ => None,
    };
    let (crawls, allocation) = allotted(demand.objective.into())?;
    let count = crawls.len();
    let mut freshness = Vec::with_capacity(count);
    let mut age_s = Vec::with_capacity(count);
    let mut weight = 0.0;
    let mut fresh_weight = 0.0;
    for (index, &crawls) in crawls.iter().enumerate() {
        let fresh = by_freshness.page(index);
        let aged = by_age.page(index);
        let stale = page_cost(&fresh, plan::Objective::Freshness, spacing, crawls);
        freshness.push(1.0 - stale);
        age_s.push(interval * page_cost(&aged, plan::Objective::Age, spacing, crawls));
        weight += fresh.weight;
        fresh_weight += fresh.weight * (1.0 - stale);
    }
    let (value, bound) = match (demand.objective, fresh) {
        (Objective::Age, _) => (interval * allocation.cost, interval * allocation.bound),
        (Objective::Harmonic, Some(fresh)) => (fresh_weight / weight, 1.0 - fresh.bound),
        _ => (1.0 - allocation.cost, 1.0 - allocation.bound),
    };
    let (holds, long_run_value) = match (spacing, demand.objective) {
        (Spacing::Steady, _) => (Holds::LongRun, value),
        (Spacing::Whole, Objective::Age) => (Holds::OneInterval, long_run(demand, by_age, &crawls)),
        (Spacing::Whole, _) => (Holds::OneInterval, long_run(demand, by_freshness, &crawls)),
    };
    Ok(Planned {
        crawls,
        freshness,
        age_s,
        value,
        bound,
        holds,
        long_run_value,
        harmonic: fresh.map(|_| allocation.cost),
        harmonic_bound: fresh.map(|_| allocation.bound),
        price: allocation.price,
    })
}

/// What so many crawls of each page come to when every interval has them: freshness, or seconds of
/// age. A quasi-deterministic page is judged by the costs that it was given.
pub fn long_run(demand: &Demand, pages: &(impl Pages<f64> + ?Sized), crawls: &[f64]) -> f64 {
    let objective = demand.objective.told_in();
    let mut weight = 0.0;
    let mut cost = 0.0;
    for (index, &crawls) in crawls.iter().enumerate() {
        let page = pages.page(index);
        weight += page.weight;
        cost += page.weight * page_cost(&page, objective, Spacing::Steady, crawls);
    }
    let cost = cost / weight;
    match demand.objective {
        Objective::Age => demand.interval.as_secs_f64() * cost,
        Objective::Freshness | Objective::Harmonic => 1.0 - cost,
    }
}

/// Crawls of each page, and what that costs.
fn allot(
    method: Method,
    crawls: f64,
    objective: plan::Objective,
    pages: &impl Pages<f64>,
    hosts: &mut [PlanHost<f64>],
) -> Result<(Vec<f64>, Allocation<f64>), PlanError> {
    let mut rates = vec![0.0; pages.len()];
    let share = match method {
        Method::Optimal | Method::Azar => None,
        Method::Uniform => Some(Share::Uniform),
        Method::Proportional => Some(Share::Proportional),
        Method::WeightedUniform => Some(Share::WeightedUniform),
        Method::WeightedProportional => Some(Share::WeightedProportional),
        Method::Greedy | Method::Select => {
            return allot_whole(method, crawls, objective, pages, hosts);
        }
    };
    let allocation = match share {
        Some(share) => baseline(pages, hosts, crawls, share, objective, &mut rates),
        None if method == Method::Azar => azar(pages, hosts, crawls, objective, &mut rates),
        None => optimal(pages, hosts, crawls, objective, &mut rates),
    }?;
    Ok((rates, allocation))
}

fn allot_whole(
    method: Method,
    crawls: f64,
    objective: plan::Objective,
    pages: &impl Pages<f64>,
    hosts: &mut [PlanHost<f64>],
) -> Result<(Vec<f64>, Allocation<f64>), PlanError> {
    if crawls != crawls.trunc() || crawls > f64::from(u32::MAX) || crawls < 0.0 {
        return Err(PlanError::Whole { found: crawls });
    }
    let budget = crawls as u32;
    let count = pages.len();
    let mut whole = vec![0; count];
    let allocation = if method == Method::Greedy {
        let mut entries = vec![Entry::<_, u32>::UNUSED; count];
        greedy(pages, hosts, budget, objective, &mut entries, &mut whole)
    } else {
        select(pages, hosts, budget, objective, &mut whole)
    }?;
    Ok((whole.into_iter().map(f64::from).collect(), allocation))
}
