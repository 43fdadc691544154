//! Tables of pages and moments: what `TIMES.csv` and `TRACE.csv` have in common.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::lists::pages::{PageList, as_browsers_send};
use crate::lists::table_file::{Column, TableFile};

/// A century, in seconds.
pub(super) const LONGEST_S: f64 = 3.1536e9;

/// Hands each row's page, by its place in the list, and its `time_s` to `take`. `expected` says
/// which times are `good`.
pub(super) fn each(
    path: &Path,
    columns: &'static [Column],
    list: &PageList,
    (expected, good): (&str, impl Fn(f64) -> bool),
    mut take: impl FnMut(usize, f64),
) -> Result<(), Error> {
    const EXPECTED_URL: &str = "a URL of the page list";
    let urls = list.pages.iter().map(|page| page.url.as_str());
    let places: HashMap<&str, usize> = urls.zip(0..).collect();
    let mut table = TableFile::open(path, columns)?;
    while let Some(row) = table.next_row()? {
        let url = row.need("url", EXPECTED_URL)?;
        let place = *places
            .get(&*as_browsers_send(url.text))
            .ok_or_else(|| url.error(EXPECTED_URL))?;
        let time = row.need("time_s", expected)?;
        take(place, time.number(expected, &good)?);
    }
    Ok(())
}
