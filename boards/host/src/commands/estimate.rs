//! `dunlin estimate`: how often does each page change, from what visits to it found?

use std::path::PathBuf;

use dunlin::learn::{Estimate, LastModified, Prior, Settings, irregular, naive, regular};
use dunlin::time::Duration;
use serde::Serialize;

use crate::error::Error;
use crate::lists::history::{self, History};
use crate::output::{self, Format, Table};

/// Estimate change rates, per day, from visit histories
///
/// HISTORY.csv has one row a visit; the first row of a page is its first visit, and its `changed`
/// is not used:
///
///   url,time_s,changed,last_modified_s
///   http://example.org/,0,0,
///   http://example.org/,86400,1,80000
///
/// naive           changes over time; misses all but the last change between two visits
/// regular         corrected for those, for visits at one interval (Cho 6.4.2)
/// irregular       most likely rate, for visits at any intervals (Cho 6.4.3)
/// last_modified   from the dates of the changes (Cho 6.5); needs one for every change
/// online          what the probe itself uses, in twelve bytes a page; forgets, and follows jumps
///
/// A cell is empty (null in JSON) where the data cannot tell.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// What visits found: a header row, then one visit a line; `-` for stdin
    #[arg(value_name = "HISTORY.csv")]
    history: PathBuf,
}

#[derive(Serialize)]
struct Page<'a> {
    url: &'a str,
    visits: usize,
    changes: u32,
    naive: Option<f64>,
    regular: Option<f64>,
    irregular: Option<f64>,
    last_modified: Option<f64>,
    online: Option<f32>,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with the file.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let histories = history::read(&args.history)?;
    let pages: Vec<Page<'_>> = histories.iter().map(estimate).collect();
    match format {
        Format::Json => output::print(&output::json(&pages)),
        Format::Csv => output::print(&table(&pages, |rate| rate.to_string()).to_csv()),
        Format::Table => output::print(&table(&pages, |rate| format!("{rate:.4}")).to_text()),
    }
}

fn estimate(history: &History) -> Page<'_> {
    let visits = &history.visits;
    let count = u32::try_from(visits.len()).unwrap_or(u32::MAX);
    let changes = visits.iter().filter(|visit| visit.changed).count() as u32;
    let watched = visits
        .iter()
        .fold(Duration::ZERO, |sum, visit| sum + visit.interval);
    let days: f64 = watched.as_days();
    Page {
        url: &history.url,
        visits: visits.len() + 1,
        changes,
        naive: naive(changes, days),
        regular: regular(count, changes, days / f64::from(count)),
        irregular: irregular(visits.iter().copied()),
        last_modified: last_modified(history),
        online: online(history, watched / u64::from(count)),
    }
}

/// From dates, if there are any and no change lacks one.
fn last_modified(history: &History) -> Option<f64> {
    let mut dates = LastModified::new();
    let complete = history.visits.iter().all(|visit| dates.update(visit));
    let any = history
        .visits
        .iter()
        .any(|visit| visit.modified_ago.is_some());
    (complete && any).then(|| dates.rate()).flatten()
}

/// As the probe would have it, started from the usual interval between the visits. Says nothing if
/// no time passed.
fn online(history: &History, usual: Duration) -> Option<f32> {
    if history.first_modified_ago.is_none()
        && history.visits.iter().all(|visit| visit.interval.is_zero())
    {
        return None;
    }
    let mut page = Estimate::new(&if history.visits.is_empty() {
        Prior::DEFAULT
    } else {
        Prior::from_interval(usual)
    });
    if let Some(ago) = history.first_modified_ago {
        page.first_visit(ago);
    }
    history
        .visits
        .iter()
        .for_each(|visit| page.update(visit, &Settings::DEFAULT));
    Some(page.rate())
}

fn table(pages: &[Page<'_>], show: impl Fn(f64) -> String) -> Table {
    let mut table = Table::new(&[
        "url",
        "visits",
        "changes",
        "naive",
        "regular",
        "irregular",
        "last_modified",
        "online",
    ]);
    for page in pages {
        let online = page.online.map(f64::from);
        let rates = [
            page.naive,
            page.regular,
            page.irregular,
            page.last_modified,
            online,
        ];
        let mut row = vec![
            page.url.to_owned(),
            page.visits.to_string(),
            page.changes.to_string(),
        ];
        row.extend(rates.map(|rate| rate.map_or_else(String::new, &show)));
        table.row(row);
    }
    table
}
