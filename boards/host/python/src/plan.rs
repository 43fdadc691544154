//! `dunlin.plan`: how often to visit each page?

use dunlin::model::Change;
use dunlin::plan::Pages as _;
use dunlin_host::allotment::{Demand, Method, Objective, divide};
use numpy::IntoPyArray as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{duration, named};
use crate::columns::{Arrays, Given, plan_hosts};

/// Plan how often to visit each page.
///
/// Divides the crawls of an interval over the pages so that they are as fresh as can be, within
/// each host's politeness. The same as `dunlin plan --format json`, with a column for each row
/// there.
///
/// Arrays are read where they lie and have one element a page; they must be contiguous and of the
/// type that is named here. Python's lock is released meanwhile: let nobody write to them.
///
/// Parameters
/// ----------
/// changes_per_day : array of float64
///     Mean change rates. NaN is not known: `assume` says what it is taken for.
/// crawls : float
///     How many crawls there are in an interval.
/// weight : array of float64, default 1
///     Importance; only ratios matter.
/// host : array of int64 or uint32, default 0
///     Index of the page's host. Hosts are numbered from 0 on, without gaps.
/// politeness_s : float or array of float64 with one element a host, default 0
///     Least time between two requests to a host.
/// interval_s : float, default a day
///     The time to plan for.
/// model : "poisson", "weibull" or "pareto", or array of uint8
///     By which law pages change: for all, or `dunlin.POISSON`, `WEIBULL`, `PARETO` for each.
/// shape : float or array of float64
///     The law's shape, for Weibull and Pareto.
/// min, max : array of int64 or uint32
///     Fewest and most crawls an interval.
/// method : str
///     "optimal" and "azar" give rates, "greedy" and "select" whole crawls; "uniform",
///     "proportional", "weighted-uniform" and "weighted-proportional" are rules of thumb.
/// objective : "freshness", "age" or "harmonic"
///     What is to be made best.
/// assume : float
///     Changes a day of pages whose rate is not known. Default: the geometric mean of the others';
///     if there are none, one change an interval.
///
/// Returns
/// -------
/// dict
///     `value` is the weighted mean freshness (or age in seconds), `bound` the best any schedule
///     could reach, `pages` and `hosts` have a new array for each column, and `given_up` has the
///     indices of pages that change and are not crawled. `pandas.DataFrame(result["pages"])` is a
///     table.
///
/// Raises
/// ------
/// ValueError
///     What is wrong with the demand, by the index of the page or host.
/// TypeError
///     An array of another type, or what is none.
///
/// Examples
/// --------
/// Cho's Example 5.4: five pages that change 1 to 5 times a day, five visits a day.
///
/// >>> import numpy as np
/// >>> import dunlin
/// >>> plan = dunlin.plan(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), crawls=5)
/// >>> plan["pages"]["crawls"].round(2).tolist()
/// [1.15, 1.36, 1.35, 1.14, 0.0]
/// >>> round(plan["value"], 5), plan["given_up"].tolist()
/// (0.37389, [4])
/// >>> dunlin.plan(np.array([1.0, -2.0]), crawls=5)
/// Traceback (most recent call last):
///     ...
/// ValueError: page 1: found change rate -2, expected a number from 0
#[pyfunction]
#[pyo3(signature = (
    changes_per_day, crawls, *, weight=None, host=None, politeness_s=None, interval_s=86_400.0,
    model=None, shape=None, min=None, max=None, method="optimal", objective="freshness", assume=None
))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn plan<'py>(
    py: Python<'py>,
    changes_per_day: &Bound<'py, PyAny>,
    crawls: f64,
    weight: Option<&Bound<'py, PyAny>>,
    host: Option<&Bound<'py, PyAny>>,
    politeness_s: Option<&Bound<'py, PyAny>>,
    interval_s: f64,
    model: Option<&Bound<'py, PyAny>>,
    shape: Option<&Bound<'py, PyAny>>,
    min: Option<&Bound<'py, PyAny>>,
    max: Option<&Bound<'py, PyAny>>,
    method: &str,
    objective: &str,
    assume: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = Arrays::new(&Given {
        changes_per_day,
        weight,
        host,
        politeness_s,
        model,
        shape,
        min,
        max,
    })?;
    let interval = duration("interval_s", interval_s)?;
    if interval.is_zero() {
        return Err(PyValueError::new_err(
            "interval_s: found 0, expected a time above 0, such as 86400",
        ));
    }
    let demand = Demand {
        method: named::<Method>("method", method)?,
        objective: named::<Objective>("objective", objective)?,
        interval,
        crawls,
    };
    let pages = arrays.columns(interval.as_days(), assume)?;
    let mut hosts = plan_hosts(&arrays.gaps(&pages)?, interval);
    let (planned, given_up) = py
        .detach(|| {
            let planned = divide(&demand, &pages, &pages, &mut hosts)?;
            let idle = (planned.crawls.iter().enumerate()).filter(|(_, crawls)| !(**crawls > 0.0));
            let changes = |page: &usize| !matches!(pages.page(*page).change, Change::Poisson(0.0));
            let given_up: Vec<i64> = (idle.map(|(page, _)| page).filter(changes))
                .map(|page| page as i64)
                .collect();
            Ok((planned, given_up))
        })
        .map_err(|error: dunlin::plan::PlanError| PyValueError::new_err(error.to_string()))?;

    let result = PyDict::new(py);
    result.set_item("method", method)?;
    result.set_item("objective", objective)?;
    result.set_item("interval_s", interval.as_secs_f64())?;
    result.set_item("crawls", crawls)?;
    result.set_item("value", planned.value)?;
    result.set_item("bound", planned.bound)?;
    result.set_item("holds", planned.holds.name())?;
    result.set_item("long_run_value", planned.long_run_value)?;
    if let Some((pages, changes_per_day)) = pages.assumed() {
        let assumed = PyDict::new(py);
        assumed.set_item("pages", pages)?;
        assumed.set_item("changes_per_day", changes_per_day)?;
        result.set_item("assumed", assumed)?;
    }
    if let (Some(harmonic), Some(bound)) = (planned.harmonic, planned.harmonic_bound) {
        result.set_item("harmonic", harmonic)?;
        result.set_item("harmonic_bound", bound)?;
    }
    result.set_item("price", planned.price)?;
    let rows = PyDict::new(py);
    rows.set_item("crawls", planned.crawls.into_pyarray(py))?;
    rows.set_item("freshness", planned.freshness.into_pyarray(py))?;
    rows.set_item("age_s", planned.age_s.into_pyarray(py))?;
    result.set_item("pages", rows)?;
    let rows = PyDict::new(py);
    let caps: Vec<f64> = hosts.iter().map(|host| demand.method.cap(host)).collect();
    let crawls: Vec<f64> = hosts.iter().map(|host| host.crawls).collect();
    rows.set_item("cap", caps.into_pyarray(py))?;
    rows.set_item("crawls", crawls.into_pyarray(py))?;
    result.set_item("hosts", rows)?;
    result.set_item("given_up", given_up.into_pyarray(py))?;
    Ok(result)
}
