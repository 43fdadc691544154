//! HISTORY.csv: what visits to pages found.

use std::collections::HashMap;
use std::path::Path;

use dunlin::learn::Visit;
use dunlin::time::Duration;

use crate::error::{Error, InputError};
use crate::lists::table_file::{Column, Row, TableFile, optional, required};

const COLUMNS: &[Column] = &[
    required("url"),
    required("time_s"),
    required("changed"),
    optional("last_modified_s"),
];

/// The visits to one page.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The URL as it stands in the file.
    pub url: String,
    /// The age that the page gave itself at the first visit, which has none before it to compare
    /// with.
    pub first_modified_ago: Option<Duration>,
    /// The visits after the first.
    pub visits: Vec<Visit>,
    last_s: f64,
}

impl History {
    /// A page that was first visited at this time, in seconds.
    pub fn new(url: impl Into<String>, first_s: f64) -> Self {
        Self {
            url: url.into(),
            first_modified_ago: None,
            visits: Vec::new(),
            last_s: first_s,
        }
    }

    /// Adds a visit, not before the last.
    pub fn visit(&mut self, time_s: f64, changed: bool, modified_ago: Option<Duration>) {
        let interval = Duration::from_secs_f64((time_s - self.last_s).max(0.0));
        self.visits.push(Visit {
            interval,
            changed,
            modified_ago,
        });
        self.last_s = self.last_s.max(time_s);
    }

    /// The time of the first visit, in seconds.
    pub fn first_s(&self) -> f64 {
        let watched: f64 = (self.visits.iter())
            .map(|visit| visit.interval.as_secs_f64())
            .sum();
        self.last_s - watched
    }

    /// The time of the last visit, in seconds.
    pub fn last_s(&self) -> f64 {
        self.last_s
    }

    /// The time of each visit after the first, in seconds, with what it found.
    pub fn timed(&self) -> impl Iterator<Item = (f64, &Visit)> {
        self.visits.iter().scan(self.first_s(), |at, visit| {
            *at += visit.interval.as_secs_f64();
            Some((*at, visit))
        })
    }
}

/// Reads a history file, pages in the order in which they first appear.
///
/// # Errors
/// The first thing wrong with it, with its place.
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
                histories.push(History {
                    first_modified_ago,
                    ..History::new(url, last_s)
                });
            }
        }
    }
    Ok(histories)
}

fn read_visit(row: &Row<'_>, history: &mut History) -> Result<(), InputError> {
    let time_s = read_time(row)?;
    if time_s < history.last_s {
        let expected = format!(
            "a time not before the page's last visit, at {}",
            history.last_s
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
