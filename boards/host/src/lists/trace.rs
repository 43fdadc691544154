//! TRACE.csv: when pages changed. ACCESSES.csv: when they were asked for.

use std::path::Path;

use super::times::{self, LONGEST_S};
use crate::error::Error;
use crate::lists::pages::PageList;
use crate::lists::table_file::{Column, required};

const COLUMNS: &[Column] = &[required("url"), required("time_s")];
const EXPECTED: &str = "seconds from the start of the trace, a number from 0, at most a century";

/// Reads a trace: for each page of the list, when it changed, in seconds and in order. Rows may
/// come in any order.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read(path: &Path, list: &PageList) -> Result<Vec<Vec<f64>>, Error> {
    let mut trace = read_accesses(path, list)?;
    trace.iter_mut().for_each(Vec::dedup);
    Ok(trace)
}

/// The same for accesses, of which there may be several at a time.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read_accesses(path: &Path, list: &PageList) -> Result<Vec<Vec<f64>>, Error> {
    let mut trace = vec![Vec::new(); list.pages.len()];
    let good = |time: f64| (0.0..=LONGEST_S).contains(&time);
    times::each(path, COLUMNS, list, (EXPECTED, good), |page, time| {
        trace[page].push(time);
    })?;
    for times in &mut trace {
        times.sort_unstable_by(f64::total_cmp);
    }
    Ok(trace)
}
