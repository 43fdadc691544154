//! `dunlin.estimate`: how often does each page change, by what visits found?

use std::collections::HashMap;

use dunlin::time::Duration;
use dunlin_host::estimate::{self as host, Estimated, History};
use numpy::IntoPyArray as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{Column, Whole, WholeColumn, duration};

/// The times between two changes in Cho's classes: a day, a week, a month, four months, a year.
const CLASSES_DAYS: [u64; 5] = [1, 7, 30, 120, 365];

/// Estimate change rates, per day, from what visits found.
///
/// Arrays have one element a visit; visits to a page are in order of time, and the first one's
/// `changed` is not used. The same as `dunlin estimate --format json`, with a column for each name.
///
/// Parameters
/// ----------
/// page : array of int64 or uint32
///     Which page was visited, by any number.
/// time_s : array of float64
///     When, in seconds.
/// changed : array of bool
///     Had it changed since the visit before?
/// last_modified_s : array of float64
///     When it was modified, by its own word; NaN where it did not say.
/// classes_s : array of float64
///     Classes of pages: the time between two changes in each, in seconds. Default: a day, a week,
///     30, 120 and 365 days.
///
/// Returns
/// -------
/// dict
///     A new array for each column, one element a page, pages in the order in which they first
///     appear; NaN where the data cannot tell. `class` is a list of str or None, `law` one of dict
///     or None. `low` and `high` hold the true rate with 95 % confidence.
///
/// Raises
/// ------
/// ValueError
///     What is wrong, by the index of the visit.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> import dunlin
/// >>> days = np.arange(11.0)
/// >>> changed = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0], dtype=bool)
/// >>> rates = dunlin.estimate(np.zeros(11, dtype=int), 86400 * days, changed)
/// >>> rates["naive"].tolist(), rates["visits"].tolist()
/// ([0.5], [11])
/// >>> bool(rates["low"][0] < rates["irregular"][0] < rates["high"][0])
/// True
#[pyfunction]
#[pyo3(signature = (page, time_s, changed, *, last_modified_s=None, classes_s=None))]
pub fn estimate<'py>(
    py: Python<'py>,
    page: &Bound<'py, PyAny>,
    time_s: &Bound<'py, PyAny>,
    changed: &Bound<'py, PyAny>,
    last_modified_s: Option<&Bound<'py, PyAny>>,
    classes_s: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    const EACH: &str = "a visit";
    let times = Column::<f64>::new("time_s", "float64", time_s)?;
    let times = times.slice()?;
    let count = times.len();
    let pages = WholeColumn::new("page", page)?;
    let pages = pages.slice_of(count, EACH)?;
    let changed = Column::<bool>::new("changed", "bool", changed)?;
    let changed = changed.slice_of(count, EACH)?;
    let modified = last_modified_s
        .map(|found| Column::<f64>::new("last_modified_s", "float64", found))
        .transpose()?;
    let modified = (modified.as_ref())
        .map(|column| column.slice_of(count, EACH))
        .transpose()?;
    let classes = classes(classes_s)?;
    let (order, histories) = py
        .detach(|| histories(pages, times, changed, modified))
        .map_err(PyValueError::new_err)?;
    let estimates: Vec<Estimated<'_>> = py.detach(|| {
        (histories.iter())
            .map(|history| host::estimate(history, &classes))
            .collect()
    });

    let result = PyDict::new(py);
    result.set_item("page", order.into_pyarray(py))?;
    let counts = |of: fn(&Estimated<'_>) -> i64| {
        let counts: Vec<i64> = estimates.iter().map(of).collect();
        counts.into_pyarray(py)
    };
    result.set_item("visits", counts(|page| page.visits as i64))?;
    result.set_item("changes", counts(|page| i64::from(page.changes)))?;
    let columns: [(&str, fn(&Estimated<'_>) -> Option<f64>); 8] = [
        ("naive", |page| page.naive),
        ("regular", |page| page.regular),
        ("irregular", |page| page.irregular),
        ("last_modified", |page| page.last_modified),
        ("online", |page| page.online.map(f64::from)),
        ("low", |page| page.low),
        ("high", |page| page.high),
        ("class_probability", |page| page.class_probability),
    ];
    for (name, of) in columns {
        let numbers: Vec<f64> = (estimates.iter())
            .map(|page| of(page).unwrap_or(f64::NAN))
            .collect();
        result.set_item(name, numbers.into_pyarray(py))?;
    }
    let classes = estimates.iter().map(|page| page.class.as_deref());
    result.set_item("class", PyList::new(py, classes)?)?;
    let laws: PyResult<Vec<_>> = (estimates.iter())
        .map(|page| page.law.as_ref().map(|law| fitted(py, law)).transpose())
        .collect();
    result.set_item("law", PyList::new(py, laws?)?)?;
    Ok(result)
}

fn classes(found: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Duration>> {
    let Some(found) = found else {
        return Ok(CLASSES_DAYS.map(|days| Duration::DAY * days).into());
    };
    let column = Column::<f64>::new("classes_s", "float64", found)?;
    (column.slice()?.iter().enumerate())
        .map(|(index, seconds)| {
            let class = duration(&format!("classes_s[{index}]"), *seconds)?;
            if class.is_zero() {
                return Err(PyValueError::new_err(format!(
                    "classes_s[{index}]: found {seconds}, expected a time above 0, such as 604800"
                )));
            }
            Ok(class)
        })
        .collect()
}

/// The visits of each page, pages in the order in which they first appear.
fn histories(
    pages: Whole<'_>,
    times: &[f64],
    changed: &[bool],
    modified: Option<&[f64]>,
) -> Result<(Vec<i64>, Vec<History>), String> {
    let mut order = Vec::new();
    let mut histories: Vec<History> = Vec::new();
    let mut index: HashMap<u32, usize> = HashMap::new();
    for (row, (&time, &changed)) in times.iter().zip(changed).enumerate() {
        if !time.is_finite() {
            return Err(format!(
                "time_s[{row}]: found {time}, expected the time of a visit in seconds"
            ));
        }
        // A date in the future, by a server whose clock is ahead, is none; nor is NaN.
        let modified_ago = (modified.and_then(|modified| modified.get(row)))
            .filter(|modified| **modified <= time && modified.is_finite())
            .map(|modified| Duration::from_secs_f64(time - modified));
        let page = pages.get(row).unwrap_or(0);
        match index.get(&page).and_then(|&place| histories.get_mut(place)) {
            Some(history) if time < history.last_s() => {
                return Err(format!(
                    "time_s[{row}]: found {time}, expected a time not before the page's last visit, at {}",
                    history.last_s()
                ));
            }
            Some(history) => history.visit(time, changed, modified_ago),
            None => {
                index.insert(page, histories.len());
                order.push(i64::from(page));
                let mut history = History::new(String::new(), time);
                history.first_modified_ago = modified_ago;
                histories.push(history);
            }
        }
    }
    Ok((order, histories))
}

fn fitted<'py>(py: Python<'py>, law: &host::Fitted) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("model", law.model)?;
    result.set_item("changes_per_day", law.changes_per_day)?;
    result.set_item("shape", law.shape)?;
    result.set_item("updates", law.updates.as_deref())?;
    result.set_item("gaps", law.gaps)?;
    result.set_item("deviation", law.deviation)?;
    result.set_item("fit", law.fit)?;
    Ok(result)
}
