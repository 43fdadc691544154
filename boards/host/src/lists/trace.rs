//! TRACE.csv: when pages changed.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::lists::pages::{PageList, encode_spaces};
use crate::lists::table_file::{Column, TableFile, required};

const COLUMNS: &[Column] = &[required("url"), required("time_s")];
/// A century, in seconds.
const LONGEST_S: f64 = 3.1536e9;

/// Reads a trace: for each page of the list, when it changed, in seconds and in order. Rows may
/// come in any order.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read(path: &Path, list: &PageList) -> Result<Vec<Vec<f64>>, Error> {
    let places: HashMap<&str, usize> = list
        .pages
        .iter()
        .enumerate()
        .map(|(place, page)| (page.url.as_str(), place))
        .collect();
    let mut table = TableFile::open(path, COLUMNS)?;
    let mut trace = vec![Vec::new(); list.pages.len()];
    while let Some(row) = table.next_row()? {
        const EXPECTED_URL: &str = "a URL of the page list";
        const EXPECTED_TIME: &str =
            "seconds from the start of the trace, a number from 0, at most a century";
        let url = row.need("url", EXPECTED_URL)?;
        let place = *places
            .get(&*encode_spaces(url.text))
            .ok_or_else(|| url.error(EXPECTED_URL))?;
        let time = row.need("time_s", EXPECTED_TIME)?;
        trace[place].push(time.number(EXPECTED_TIME, |time| (0.0..=LONGEST_S).contains(&time))?);
    }
    for times in &mut trace {
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
    }
    Ok(trace)
}
