//! The Python package `dunlin`: the crate's planner, simulator and estimator on numpy arrays.
//!
//! Arrays are read where they lie, through slices: an allocator asks [`columns::Columns`] for a
//! page and gets it out of the caller's own memory. Results are new arrays, handed over without a
//! copy. Python's lock is released while something is computed.
//!
//! | file | what is in it |
//! |---|---|
//! | `columns.rs` | pages as columns, and what can be wrong with them |
//! | `arrays.rs` | Python's arrays as slices, or a sentence that says why not |
//! | `plan.rs`, `simulate.rs`, `estimate.rs` | a function each |

mod arrays;
mod columns;
mod estimate;
mod plan;
mod simulate;

use pyo3::prelude::*;

/// The compiled part of the package `dunlin`.
#[pymodule]
fn _dunlin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(estimate::estimate, module)?)
}
