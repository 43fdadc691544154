//! HISTORY.csv: what visits to pages found.

use std::collections::HashMap;
use std::path::Path;

use dunlin::time::Duration;

use crate::error::{Error, InputError};
pub use crate::estimate::History;
use crate::lists::table_file::{Column, Row, TableFile, optional, required};

const COLUMNS: &[Column] = &[
    required("url"),
    required("time_s"),
    required("changed"),
    optional("last_modified_s"),
];

/// Reads a history file, pages in the order in which they first appear.
///
/// # Errors
/// The first thing wrong with it, with its place; there is no visit in it.
pub fn read(path: &Path) -> Result<Vec<History>, Error> {
    let mut table = TableFile::open(path, COLUMNS)?;
    let mut histories: Vec<History> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    while let Some(row) = table.next_row()? {
        let url = row.need("url", "the URL of a page")?.text;
        match index.get(url).and_then(|&place| histories.get_mut(place)) {
            Some(history) => read_visit(&row, history)?,
            None => {
                index.insert(url.to_owned(), histories.len());
                let last_s = read_time(&row)?;
                read_changed(&row)?;
                let first_modified_ago = read_modified(&row, last_s)?;
                let mut history = History::new(url, last_s);
                history.first_modified_ago = first_modified_ago;
                histories.push(history);
            }
        }
    }
    if histories.is_empty() {
        return Err(Error::Usage(format!(
            "{}: found no visits, expected one row or more below the header",
            path.display()
        )));
    }
    Ok(histories)
}

fn read_visit(row: &Row<'_>, history: &mut History) -> Result<(), InputError> {
    let time_s = read_time(row)?;
    if time_s < history.last_s() {
        let expected = format!(
            "a time not before the page's last visit, at {}",
            history.last_s()
        );
        return Err(row.need("time_s", "")?.error(expected));
    }
    let modified_ago = read_modified(row, time_s)?;
    history.visit(time_s, read_changed(row)?, modified_ago);
    Ok(())
}

fn read_time(row: &Row<'_>) -> Result<f64, InputError> {
    const EXPECTED: &str = "the time of a visit in seconds";
    row.need("time_s", EXPECTED)?.number(EXPECTED, |_| true)
}

fn read_changed(row: &Row<'_>) -> Result<bool, InputError> {
    const EXPECTED: &str = "1 if the page had changed since the visit before, else 0";
    let field = row.need("changed", EXPECTED)?;
    match field.text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(field.error(EXPECTED)),
    }
}

/// How long before the visit the page was modified. A date in the future, by a server whose clock
/// is ahead, is none.
fn read_modified(row: &Row<'_>, time_s: f64) -> Result<Option<Duration>, InputError> {
    let Some(field) = row.get("last_modified_s") else {
        return Ok(None);
    };
    let modified_s = field.number("a time in seconds, or nothing", |_| true)?;
    Ok((modified_s <= time_s).then(|| Duration::from_secs_f64(time_s - modified_s)))
}
