//! Python's arrays as slices, where they lie.

use numpy::{Element, PyArrayMethods as _, PyReadonlyArray1};
use numpy::{PyUntypedArray, PyUntypedArrayMethods as _};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as NameError, StrDeserializer};

use dunlin::time::Duration;

/// A century, as on the command line: longer is a slip of the pen.
const MOST_SECONDS: f64 = 36_500.0 * 86_400.0;

/// An array that stays borrowed, under the name of its argument.
pub struct Column<'py, T: Element> {
    name: &'static str,
    array: PyReadonlyArray1<'py, T>,
}

impl<'py, T: Element> Column<'py, T> {
    /// Borrows an array of exactly this type.
    pub fn new(name: &'static str, kind: &str, found: &Bound<'py, PyAny>) -> PyResult<Self> {
        match Self::try_new(name, found)? {
            Some(column) => Ok(column),
            None => Err(wrong_type(name, kind, found)),
        }
    }

    /// `None` if it is of another type.
    fn try_new(name: &'static str, found: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let Ok(array) = found.cast::<numpy::PyArray1<T>>() else {
            return Ok(None);
        };
        let array = array.try_readonly().map_err(|error| {
            PyValueError::new_err(format!("{name}: {error}, expected an array to read"))
        })?;
        Ok(Some(Self { name, array }))
    }

    /// Its numbers, where they lie.
    pub fn slice(&self) -> PyResult<&[T]> {
        let name = self.name;
        self.array.as_slice().map_err(|_| {
            PyValueError::new_err(format!(
                "{name}: found an array with gaps between its elements, expected a contiguous one: \
                numpy.ascontiguousarray({name}) makes it"
            ))
        })
    }

    /// The same, if there is one for each of `count` things.
    pub fn slice_of(&self, count: usize, each: &str) -> PyResult<&[T]> {
        let slice = self.slice()?;
        if slice.len() == count {
            return Ok(slice);
        }
        Err(PyValueError::new_err(format!(
            "{}: found {} elements, expected {count}, one {each}",
            self.name,
            slice.len()
        )))
    }
}

fn wrong_type(name: &str, kind: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let what = match found.cast::<PyUntypedArray>() {
        Ok(array) => {
            let kind = array.dtype().str();
            let kind = kind.map_or_else(|_| "unknown".into(), |kind| kind.to_string());
            format!("an array of {kind} with {} dimensions", array.ndim())
        }
        Err(_) => {
            let kind = found.get_type().name();
            kind.map_or_else(|_| "something else".into(), |kind| format!("a {kind}"))
        }
    };
    PyTypeError::new_err(format!(
        "{name}: found {what}, expected a numpy array of {kind} with 1 dimension"
    ))
}

/// Whole numbers, as numpy makes them by default, or half as long.
pub enum WholeColumn<'py> {
    Long(Column<'py, i64>),
    Short(Column<'py, u32>),
}

/// Whole numbers from 0 on.
#[derive(Clone, Copy, Debug)]
pub enum Whole<'a> {
    Long(&'a [i64]),
    Short(&'a [u32]),
}

impl<'py> WholeColumn<'py> {
    pub fn new(name: &'static str, found: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(column) = Column::try_new(name, found)? {
            return Ok(Self::Long(column));
        }
        match Column::try_new(name, found)? {
            Some(column) => Ok(Self::Short(column)),
            None => Err(wrong_type(name, "int64 or uint32", found)),
        }
    }

    /// One number for each of `count` things, none below 0 or above 2³² − 1.
    pub fn slice_of(&self, count: usize, each: &str) -> PyResult<Whole<'_>> {
        let (name, whole) = match self {
            Self::Long(column) => (column.name, Whole::Long(column.slice_of(count, each)?)),
            Self::Short(column) => (column.name, Whole::Short(column.slice_of(count, each)?)),
        };
        if let Whole::Long(slice) = whole
            && let Some((index, found)) =
                (slice.iter().enumerate()).find(|(_, number)| u32::try_from(**number).is_err())
        {
            return Err(PyValueError::new_err(format!(
                "{name}[{index}]: found {found}, expected a whole number from 0 to 4294967295"
            )));
        }
        Ok(whole)
    }
}

impl Whole<'_> {
    /// The number at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        match self {
            // Checked before; but nobody stops another thread of Python's from writing meanwhile.
            Self::Long(slice) => slice
                .get(index)
                .map(|number| u32::try_from(*number).unwrap_or(u32::MAX)),
            Self::Short(slice) => slice.get(index).copied(),
        }
    }

    /// How many different things these indices may name: one more than the largest. Each has a row
    /// at least, so that there are no more of them than rows.
    pub fn named(&self, name: &str, rows: usize) -> PyResult<usize> {
        let largest = (0..rows)
            .filter_map(|row| Some((self.get(row)?, row)))
            .max();
        match largest {
            Some((index, row)) if index as usize >= rows => Err(PyValueError::new_err(format!(
                "{name}[{row}]: found {index}, expected an index below {rows}: number them from 0 on, \
                without gaps"
            ))),
            Some((index, _)) => Ok(index as usize + 1),
            None => Ok(0),
        }
    }
}

/// One number for all, or an array of them.
pub enum Numbers<'py> {
    Same(f64),
    Each(Column<'py, f64>),
}

impl<'py> Numbers<'py> {
    pub fn new(name: &'static str, found: &Bound<'py, PyAny>) -> PyResult<Self> {
        match found.extract::<f64>() {
            Ok(number) if found.cast::<PyUntypedArray>().is_err() => Ok(Self::Same(number)),
            _ => Column::new(name, "float64", found).map(Self::Each),
        }
    }
}

/// A length of time.
pub fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    if (0.0..=MOST_SECONDS).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!(
        "{name}: found {seconds}, expected seconds from 0 to {MOST_SECONDS}"
    )))
}

/// The method, objective or policy of that name, as the program spells it.
pub fn named<'a, T: serde::Deserialize<'a>>(argument: &str, name: &'a str) -> PyResult<T> {
    let name: StrDeserializer<'a, NameError> = name.into_deserializer();
    T::deserialize(name).map_err(|error| PyValueError::new_err(format!("{argument}: {error}")))
}
