//! Pages as columns of Python's arrays: what an allocator reads, without a copy.

use dunlin::model::Change;
use dunlin::plan::{Pages, PlanHost, PlanPage, assumed_rate};
use dunlin::time::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Column, Numbers, Whole, WholeColumn, duration};

/// What there is one of.
const EACH: &str = "a page";

/// The arrays that describe pages, borrowed for as long as they are read.
pub struct Arrays<'py> {
    changes_per_day: Column<'py, f64>,
    weight: Option<Column<'py, f64>>,
    host: Option<WholeColumn<'py>>,
    politeness_s: Numbers<'py>,
    model: Model<'py>,
    shape: Option<Numbers<'py>>,
    min: Option<WholeColumn<'py>>,
    max: Option<WholeColumn<'py>>,
}

/// One law for all pages, or a number a page.
enum Model<'py> {
    Same(Law),
    Each(Column<'py, u8>),
}

/// By which law a page changes; the numbers of `dunlin.POISSON` and its sisters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Poisson,
    Weibull,
    Pareto,
}

impl Law {
    fn of(number: u8) -> Option<Self> {
        [Self::Poisson, Self::Weibull, Self::Pareto]
            .get(usize::from(number))
            .copied()
    }
}

#[derive(Clone, Copy, Debug)]
enum Laws<'a> {
    Same(Law),
    Each(&'a [u8]),
}

#[derive(Clone, Copy, Debug)]
enum Shapes<'a> {
    Same(f64),
    Each(&'a [f64]),
}

/// What the caller gave, by the names of the arguments.
pub struct Given<'a, 'py> {
    pub changes_per_day: &'a Bound<'py, PyAny>,
    pub weight: Option<&'a Bound<'py, PyAny>>,
    pub host: Option<&'a Bound<'py, PyAny>>,
    pub politeness_s: Option<&'a Bound<'py, PyAny>>,
    pub model: Option<&'a Bound<'py, PyAny>>,
    pub shape: Option<&'a Bound<'py, PyAny>>,
    pub min: Option<&'a Bound<'py, PyAny>>,
    pub max: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Arrays<'py> {
    pub fn new(given: &Given<'_, 'py>) -> PyResult<Self> {
        Ok(Self {
            changes_per_day: Column::new("changes_per_day", "float64", given.changes_per_day)?,
            weight: (given.weight)
                .map(|found| Column::new("weight", "float64", found))
                .transpose()?,
            host: (given.host)
                .map(|found| WholeColumn::new("host", found))
                .transpose()?,
            politeness_s: match given.politeness_s {
                Some(found) => Numbers::new("politeness_s", found)?,
                None => Numbers::Same(0.0),
            },
            model: match given.model {
                Some(found) => Model::new(found)?,
                None => Model::Same(Law::Poisson),
            },
            shape: (given.shape)
                .map(|found| Numbers::new("shape", found))
                .transpose()?,
            min: (given.min)
                .map(|found| WholeColumn::new("min", found))
                .transpose()?,
            max: (given.max)
                .map(|found| WholeColumn::new("max", found))
                .transpose()?,
        })
    }

    /// The pages, in crawls and changes an interval of so many days.
    pub fn columns(&self, days: f64, assume: Option<f64>) -> PyResult<Columns<'_>> {
        let rates = self.changes_per_day.slice()?;
        let count = rates.len();
        let weights = (self.weight.as_ref())
            .map(|column| column.slice_of(count, EACH))
            .transpose()?;
        let hosts = whole(self.host.as_ref(), count)?;
        let min = whole(self.min.as_ref(), count)?;
        let max = whole(self.max.as_ref(), count)?;
        let laws = match &self.model {
            Model::Same(law) => Laws::Same(*law),
            Model::Each(column) => Laws::Each(checked_laws(column.slice_of(count, EACH)?)?),
        };
        let shapes = match &self.shape {
            Some(Numbers::Same(shape)) => Shapes::Same(*shape),
            Some(Numbers::Each(column)) => Shapes::Each(column.slice_of(count, EACH)?),
            None if matches!(laws, Laws::Same(Law::Poisson)) => Shapes::Same(1.0),
            None => {
                return Err(PyValueError::new_err(
                    "shape: found none, expected a number, or one a page, for weibull and pareto",
                ));
            }
        };
        let mut columns = Columns {
            rates,
            weights,
            hosts,
            min,
            max,
            laws,
            shapes,
            days,
            unknown: None,
        };
        columns.unknown = Some(match assume {
            Some(rate) if rate >= 0.0 && rate <= 1e9 => rate * days,
            Some(rate) => {
                return Err(PyValueError::new_err(format!(
                    "assume: found {rate}, expected changes a day, a number from 0, at most 1e9"
                )));
            }
            None => assumed_rate(&columns),
        });
        Ok(columns)
    }

    /// Least time between two requests, one a host.
    pub fn gaps(&self, columns: &Columns<'_>) -> PyResult<Vec<Duration>> {
        let named = match &columns.hosts {
            Some(hosts) => hosts.named("host", columns.len())?,
            None => 1,
        };
        match &self.politeness_s {
            Numbers::Same(gap) => Ok(vec![duration("politeness_s", *gap)?; named]),
            Numbers::Each(column) => {
                let gaps = column.slice()?;
                if gaps.len() < named {
                    return Err(PyValueError::new_err(format!(
                        "politeness_s: found {} elements, expected {named} or more, one a host",
                        gaps.len()
                    )));
                }
                (gaps.iter().enumerate())
                    .map(|(host, gap)| duration(&format!("politeness_s[{host}]"), *gap))
                    .collect()
            }
        }
    }
}

/// One whole number a page, if there are any.
fn whole<'a>(column: Option<&'a WholeColumn<'_>>, pages: usize) -> PyResult<Option<Whole<'a>>> {
    column
        .map(|column| column.slice_of(pages, EACH))
        .transpose()
}

/// Hosts as an allocator sees them: what their gaps allow in an interval.
pub fn plan_hosts(gaps: &[Duration], interval: Duration) -> Vec<PlanHost<f64>> {
    gaps.iter()
        .map(|gap| match gap.as_secs_f64() {
            gap if gap > 0.0 => PlanHost::new(interval.as_secs_f64() / gap),
            _ => PlanHost::unlimited(),
        })
        .collect()
}

impl<'py> Model<'py> {
    fn new(found: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(name) = found.extract::<String>() else {
            return Column::new("model", "uint8", found).map(Self::Each);
        };
        Ok(Self::Same(match name.as_str() {
            "poisson" => Law::Poisson,
            "weibull" => Law::Weibull,
            "pareto" => Law::Pareto,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "model: found {name:?}, expected \"poisson\", \"weibull\" or \"pareto\""
                )));
            }
        }))
    }
}

fn checked_laws(laws: &[u8]) -> PyResult<&[u8]> {
    let wrong = (laws.iter().enumerate()).find(|(_, law)| Law::of(**law).is_none());
    match wrong {
        Some((page, law)) => Err(PyValueError::new_err(format!(
            "model[{page}]: found {law}, expected dunlin.POISSON (0), WEIBULL (1) or PARETO (2)"
        ))),
        None => Ok(laws),
    }
}

/// Pages out of the caller's own arrays, in crawls and changes an interval.
#[derive(Debug)]
pub struct Columns<'a> {
    /// Changes a day; NaN is not known.
    rates: &'a [f64],
    weights: Option<&'a [f64]>,
    hosts: Option<Whole<'a>>,
    min: Option<Whole<'a>>,
    max: Option<Whole<'a>>,
    laws: Laws<'a>,
    shapes: Shapes<'a>,
    /// Length of an interval.
    days: f64,
    /// Changes an interval that an unknown rate is taken for.
    unknown: Option<f64>,
}

impl Columns<'_> {
    /// How many pages have a rate that is not known, and what it is taken for, a day.
    pub fn assumed(&self) -> Option<(usize, f64)> {
        let unknown = self.rates.iter().filter(|rate| rate.is_nan()).count();
        let rate = self.unknown.filter(|_| unknown > 0)?;
        Some((unknown, rate / self.days))
    }
}

impl Pages<f64> for Columns<'_> {
    fn len(&self) -> usize {
        self.rates.len()
    }

    #[inline]
    fn page(&self, index: usize) -> PlanPage<'_, f64> {
        let rate = self.rates.get(index).map_or(0.0, |rate| rate * self.days);
        let law = match self.laws {
            Laws::Same(law) => law,
            Laws::Each(laws) => (laws.get(index).copied())
                .and_then(Law::of)
                .unwrap_or(Law::Poisson),
        };
        let shape = match self.shapes {
            Shapes::Same(shape) => shape,
            Shapes::Each(shapes) => shapes.get(index).copied().unwrap_or(1.0),
        };
        let change = match law {
            _ if rate.is_nan() => self.unknown.map_or(Change::Unknown, Change::Poisson),
            Law::Poisson => Change::Poisson(rate),
            Law::Weibull => Change::Weibull { rate, shape },
            Law::Pareto => Change::Pareto { rate, shape },
        };
        let number = |column: Option<Whole<'_>>, default| {
            column
                .and_then(|column| column.get(index))
                .unwrap_or(default)
        };
        let weight = self
            .weights
            .map_or(1.0, |weights| weights.get(index).copied().unwrap_or(0.0));
        PlanPage::new(weight, change)
            .on_host(number(self.hosts, 0))
            .between(number(self.min, 0), number(self.max, u32::MAX))
    }
}
