//! `dunlin.simulate`: what would a policy achieve on these pages?

use dunlin::model;
use dunlin::plan::{Objective, Pages as _, PlanError, optimal};
use dunlin::time::Duration;
use dunlin_host::simulate::trial::{self, SEEDS, Summary, Trial};
use dunlin_host::simulate::{Change, Options, PolicyName, SimHost, SimPage, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{duration, named};
use crate::columns::{Arrays, Columns, Given, plan_hosts};

// A default that is a constant would be shown as `...`.
const _: () = assert!(SEEDS == 5, "the default of `seeds`");

/// Simulate what a policy achieves on these pages.
///
/// Pages change by their laws, hosts are fetched from politely, and figures are averages over the
/// days asked for, after a time of warming up. The same as `dunlin simulate --format json`. The
/// simulator keeps a record of its own for each page; Python's lock is released while it runs, on
/// all cores.
///
/// Parameters
/// ----------
/// changes_per_day, weight, host, politeness_s, model, shape, assume
///     As for `plan`.
/// days : float
///     How many days to measure.
/// crawls_per_day : float
///     The budget: fetches a day, over all hosts.
/// crawlers : int
///     How many crawlers. Default: as many as the budget takes.
/// fetch_time_s : float
///     How long a fetch takes.
/// failures : float
///     Share of fetches that get no answer.
/// learn : bool
///     Start without the rates: the policy has to learn them.
/// policy : str
///     "carousel", "index", "psp", "mp2", "m-wolf", "random", "uniform", "proportional", "nutch",
///     "stormcrawler", "hints" or "siblings". Default: the engine the firmware uses.
/// seed, seeds : int
///     The first seed of the changes, and how many simulations there are.
/// warm_up_s : float
///     Time before the days that are measured. Default: enough to fetch every page four times.
///
/// Returns
/// -------
/// dict
///     `freshness` with `freshness_plus_minus` (95 % confidence, None for a single seed), `bound`,
///     `optimum` and what else the program prints.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, by its name or index.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import dunlin
/// >>> rates = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
/// >>> result = dunlin.simulate(rates, days=200, crawls_per_day=5)
/// >>> 0.35 < result["freshness"] < result["bound"] + 0.01
/// True
/// >>> result["politeness_violations"]
/// 0
#[pyfunction]
#[pyo3(signature = (
    changes_per_day, *, days, crawls_per_day, weight=None, host=None, politeness_s=None, model=None,
    shape=None, assume=None, crawlers=None, fetch_time_s=0.1, failures=0.0, learn=false,
    policy=None, seed=1, seeds=5, warm_up_s=None
))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn simulate<'py>(
    py: Python<'py>,
    changes_per_day: &Bound<'py, PyAny>,
    days: f64,
    crawls_per_day: f64,
    weight: Option<&Bound<'py, PyAny>>,
    host: Option<&Bound<'py, PyAny>>,
    politeness_s: Option<&Bound<'py, PyAny>>,
    model: Option<&Bound<'py, PyAny>>,
    shape: Option<&Bound<'py, PyAny>>,
    assume: Option<f64>,
    crawlers: Option<u32>,
    fetch_time_s: f64,
    failures: f64,
    learn: bool,
    policy: Option<&str>,
    seed: u64,
    seeds: u16,
    warm_up_s: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    trial::check(days, crawls_per_day, failures)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    if !(1..=1_000).contains(&seeds) {
        return Err(PyValueError::new_err(format!(
            "seeds: found {seeds}, expected a number from 1 to 1000"
        )));
    }
    if crawlers.is_some_and(|crawlers| !(1..=1_000_000).contains(&crawlers)) {
        return Err(PyValueError::new_err(format!(
            "crawlers: found {}, expected a number from 1 to 1000000",
            crawlers.unwrap_or(0)
        )));
    }
    let fetch_time = duration("fetch_time_s", fetch_time_s)?;
    let policy = policy.map_or_else(
        || Ok(PolicyName::default()),
        |policy| named("policy", policy),
    )?;
    let arrays = Arrays::new(&Given {
        changes_per_day,
        weight,
        host,
        politeness_s,
        model,
        shape,
        min: None,
        max: None,
    })?;
    let pages = arrays.columns(1.0, assume)?;
    let gaps = arrays.gaps(&pages)?;
    let reached = optimal::bound(
        &pages,
        &mut plan_hosts(&gaps, Duration::DAY),
        crawls_per_day,
        Objective::Freshness,
    )
    .map_err(|error: PlanError| PyValueError::new_err(error.to_string()))?;
    let warm_up = match warm_up_s {
        Some(seconds) => duration("warm_up_s", seconds)?.as_days(),
        None => trial::warm_up(pages.len(), crawls_per_day),
    };
    let trial = Trial {
        objective: dunlin::model::Objective::Freshness,
        world: world(&pages, &gaps, failures),
        options: Options {
            days: warm_up + days,
            measured_from: warm_up,
            crawlers: crawlers.map_or_else(
                || trial::crawlers(crawls_per_day, fetch_time),
                |crawlers| crawlers as usize,
            ),
            fetch_time,
            seed,
            pieces: 0,
        },
        crawls_per_day,
        learn,
        seeds,
        bound: 1.0 - reached.bound,
        optimum: 1.0 - reached.cost,
    };
    trial.check_changes(1).map_err(PyValueError::new_err)?;
    let summaries = py.detach(|| trial.run(&[policy], |_| ()));
    let result = PyDict::new(py);
    for summary in summaries {
        fill(&result, &summary, policy)?;
    }
    Ok(result)
}

/// The simulator's own records, made once the columns have been found sound.
fn world(pages: &Columns<'_>, gaps: &[Duration], failures: f64) -> World {
    let hosts = (gaps.iter())
        .map(|gap| SimHost {
            fails: failures,
            ..SimHost::new(*gap)
        })
        .collect();
    let pages = (0..pages.len())
        .map(|index| {
            let page = pages.page(index);
            let mean_rate = page.change.rate().unwrap_or(0.0);
            let change = match page.change {
                _ if mean_rate == 0.0 => Change::Poisson(0.0),
                model::Change::Weibull { rate, shape } => Change::weibull(rate, shape),
                model::Change::Pareto { rate, shape } => Change::pareto(rate, shape),
                _ => Change::Poisson(mean_rate),
            };
            SimPage {
                host: (page.host as usize).min(gaps.len().saturating_sub(1)),
                weight: page.weight,
                mean_rate,
                change,
            }
        })
        .collect();
    World {
        pages,
        hosts,
        ..World::default()
    }
}

fn fill(result: &Bound<'_, PyDict>, summary: &Summary, policy: PolicyName) -> PyResult<()> {
    result.set_item("policy", policy.name())?;
    result.set_item("freshness", summary.freshness)?;
    result.set_item("staleness", summary.staleness)?;
    result.set_item("age_s", summary.age_s)?;
    result.set_item("fetches", summary.fetches)?;
    result.set_item("changes", summary.changes)?;
    result.set_item("changes_seen", summary.changes_seen)?;
    result.set_item("politeness_violations", summary.politeness_violations)?;
    result.set_item("limit_violations", summary.limit_violations)?;
    result.set_item("objective", summary.objective)?;
    result.set_item("bound", summary.bound)?;
    result.set_item("optimum", summary.optimum)?;
    result.set_item("freshness_plus_minus", summary.freshness_plus_minus)?;
    result.set_item("age_s_plus_minus", summary.age_s_plus_minus)?;
    result.set_item("harmonic_staleness", summary.harmonic_staleness)?;
    result.set_item("late_s", summary.late_s)?;
    result.set_item("errors", summary.errors)?;
    result.set_item("seed", summary.seed)?;
    result.set_item("seeds", summary.seeds)
}
