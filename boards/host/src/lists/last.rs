//! TIMES.csv: when pages were last crawled, such as the timetable of the interval before.

use std::path::Path;

use super::times::{self, LONGEST_S};
use crate::error::Error;
use crate::lists::pages::PageList;
use crate::lists::table_file::{Column, optional, required};

/// `crawler` is there so that what `dunlin schedule` prints can be given as it is.
const COLUMNS: &[Column] = &[required("url"), required("time_s"), optional("crawler")];
const EXPECTED: &str =
    "seconds from the start of the interval before, at most a century either way";

/// Reads for each page of the list when it was last crawled, in seconds from the start of the
/// interval before; `None` for a page without a row. Of several rows the latest counts.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read(path: &Path, list: &PageList) -> Result<Vec<Option<f64>>, Error> {
    let mut last = vec![None::<f64>; list.pages.len()];
    let good = |time: f64| time.abs() <= LONGEST_S;
    times::each(path, COLUMNS, list, (EXPECTED, good), |page, time| {
        last[page] = Some(last[page].map_or(time, |before| before.max(time)));
    })?;
    Ok(last)
}
