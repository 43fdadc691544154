//! TIMES.csv: when pages were last crawled, such as the timetable of the interval before.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::lists::pages::PageList;
use crate::lists::table_file::{Column, TableFile, optional, required};

/// `crawler` is there so that what `dunlin schedule` prints can be given as it is.
const COLUMNS: &[Column] = &[required("url"), required("time_s"), optional("crawler")];
/// A century, in seconds.
const LONGEST_S: f64 = 3.1536e9;

/// Reads for each page of the list when it was last crawled, in seconds from the start of the
/// interval before; `None` for a page without a row. Of several rows the latest counts.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read(path: &Path, list: &PageList) -> Result<Vec<Option<f64>>, Error> {
    let places: HashMap<&str, usize> = list
        .pages
        .iter()
        .enumerate()
        .map(|(place, page)| (page.url.as_str(), place))
        .collect();
    let mut table = TableFile::open(path, COLUMNS)?;
    let mut last = vec![None::<f64>; list.pages.len()];
    while let Some(row) = table.next_row()? {
        const EXPECTED_URL: &str = "a URL of the page list";
        const EXPECTED_TIME: &str =
            "seconds from the start of the interval before, at most a century either way";
        let url = row.need("url", EXPECTED_URL)?;
        let place = *places
            .get(url.text)
            .ok_or_else(|| url.error(EXPECTED_URL))?;
        let time = row.need("time_s", EXPECTED_TIME)?;
        let time = time.number(EXPECTED_TIME, |time| time.abs() <= LONGEST_S)?;
        last[place] = Some(last[place].map_or(time, |before| before.max(time)));
    }
    Ok(last)
}
