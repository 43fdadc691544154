//! `dunlin estimate`: how often does each page change, from what visits to it found?

use std::path::PathBuf;

use dunlin::time::Duration;

use crate::duration;
use crate::error::Error;
use crate::estimate::{Estimated, estimate};
use crate::lists::history;
use crate::output::progress::Progress;
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
/// low, high       the true rate is between them with 95 % confidence; no high if any would do
/// class           the likeliest of --classes, and how likely it is (Cho 6.6)
/// law             poisson, weibull or pareto with its shape, or quasi for a page that keeps to the
///                 clock, with its updates as PAGES.csv takes them; times of day count from time_s 0
/// fit             is the law good: good, poor (one such history in a hundred looks as bad; fewer
///                 for weibull and pareto, whose shape is fitted, too), or few where ten gaps
///                 between changes are not there to judge by. Updates by the clock are good if nine
///                 changes in ten come in their hours
///
/// A cell is empty (null in JSON) where the data cannot tell.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// What visits found: a header row, then one visit a line; `-` for stdin
    #[arg(value_name = "HISTORY.csv")]
    history: PathBuf,
    /// Classes of pages: the time between two changes in each
    #[arg(
        long,
        value_name = "DURATIONS",
        value_delimiter = ',',
        value_parser = class,
        default_value = "1d,7d,30d,120d,365d"
    )]
    classes: Vec<Duration>,
}

fn class(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(duration) if duration.is_zero() => Err("expected a time above 0, such as 7d".into()),
        other => other,
    }
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with the file.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let histories = history::read(&args.history)?;
    let mut progress = Progress::new("estimating", histories.len() as u64);
    let pages: Vec<Estimated<'_>> = (0..)
        .zip(&histories)
        .map(|(done, history)| {
            progress.at(done);
            estimate(history, &args.classes)
        })
        .collect();
    drop(progress);
    match format {
        Format::Json => output::print(&output::json(&pages)),
        Format::Csv => output::print(&table(&pages, |rate| rate.to_string()).to_csv()),
        Format::Table => output::print(&table(&pages, |rate| format!("{rate:.4}")).to_text()),
    }
}

fn table(pages: &[Estimated<'_>], show: impl Fn(f64) -> String) -> Table {
    let mut table = Table::new(&[
        "url",
        "visits",
        "changes",
        "naive",
        "regular",
        "irregular",
        "last_modified",
        "online",
        "low",
        "high",
        "class",
        "class_probability",
        "law",
        "shape",
        "updates",
        "fit",
    ]);
    for page in pages {
        let number = |value: Option<f64>| value.map_or_else(String::new, &show);
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        let law = page.law.as_ref();
        table.row(vec![
            page.url.to_owned(),
            page.visits.to_string(),
            page.changes.to_string(),
            number(page.naive),
            number(page.regular),
            number(page.irregular),
            number(page.last_modified),
            number(page.online.map(f64::from)),
            number(page.low),
            number(page.high),
            text(page.class.as_deref()),
            number(page.class_probability),
            text(law.map(|law| law.model)),
            number(law.and_then(|law| law.shape)),
            text(law.and_then(|law| law.updates.as_deref())),
            text(law.map(|law| law.fit)),
        ]);
    }
    table
}
