//! What came of a run.

use std::io::Write as _;

use dunlin::probe::{FoundTotals, Probe, Totals};
use serde::Serialize;

use crate::board::computer::Computer;
use crate::error::Error;
use crate::monitor::readable;
use crate::output::{self, Format, Table};

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    fetches: u32,
    not_modified: u32,
    /// Versions that differ from the one before.
    changed: u32,
    /// First versions of pages: there is no earlier one to differ from.
    first_versions: u32,
    errors: u32,
    robots_denied: u32,
    bytes: u64,
    freshness_estimate: Option<f32>,
    optimum_estimate: Option<f32>,
    resumed_pages: u16,
    #[serde(flatten)]
    found: Option<Found>,
    /// Answers that a page has given on average.
    #[serde(skip)]
    visits_a_page: Option<f64>,
}

/// What was found beyond the list.
#[derive(Debug, Serialize)]
struct Found {
    collection: u16,
    candidates: u16,
    found: u32,
    admitted: u32,
    replaced: u32,
}

impl From<FoundTotals> for Found {
    fn from(totals: FoundTotals) -> Self {
        Self {
            collection: totals.pages,
            candidates: totals.candidates,
            found: totals.found,
            admitted: totals.admitted,
            replaced: totals.replaced,
        }
    }
}

impl Summary {
    /// With what came of the next list.
    pub fn add(&mut self, next: &Self) {
        self.fetches += next.fetches;
        self.not_modified += next.not_modified;
        self.changed += next.changed;
        self.first_versions += next.first_versions;
        self.errors += next.errors;
        self.robots_denied += next.robots_denied;
        self.bytes += next.bytes;
        self.freshness_estimate = next.freshness_estimate;
        self.optimum_estimate = next.optimum_estimate;
        self.resumed_pages = next.resumed_pages;
        self.visits_a_page = next.visits_a_page;
    }

    /// Of a run of so many pages that began with what was known of some.
    pub fn new(probe: &Probe<'_, Computer<'_>>, pages: usize, resumed_pages: u16) -> Self {
        let Totals {
            fetches,
            not_modified,
            changed,
            errors,
            denied,
            bytes,
            ..
        } = probe.totals();
        let (freshness_estimate, optimum_estimate) = probe.freshness();
        let first_versions = probe.board().first_versions();
        let found = probe.found_totals();
        let pages = found.map_or(pages, |found| found.pages.into());
        Self {
            fetches,
            not_modified,
            changed: changed.saturating_sub(first_versions),
            first_versions,
            errors,
            robots_denied: denied,
            bytes,
            freshness_estimate,
            optimum_estimate,
            resumed_pages,
            found: found.map(Found::from),
            visits_a_page: (pages > 0).then(|| f64::from(fetches) / pages as f64),
        }
    }
}

/// Prints it.
pub(super) fn report(summary: &Summary, format: Format) -> Result<(), Error> {
    if format == Format::Json {
        return output::print(&output::json(summary));
    }
    let mut table = Table::new(&[
        "fetches",
        "304",
        "changed",
        "first_versions",
        "errors",
        "robots_denied",
        "bytes",
        "freshness",
        "optimum",
    ]);
    // A person is not shown an estimate of freshness before it is one.
    let learning = readable::learning(summary.visits_a_page);
    let share = |share: Option<f32>| match &learning {
        Some(learning) if format == Format::Table => learning.clone(),
        _ => share.map_or_else(String::new, |share| format!("{share:.4}")),
    };
    table.row(vec![
        summary.fetches.to_string(),
        summary.not_modified.to_string(),
        summary.changed.to_string(),
        summary.first_versions.to_string(),
        summary.errors.to_string(),
        summary.robots_denied.to_string(),
        summary.bytes.to_string(),
        share(summary.freshness_estimate),
        share(summary.optimum_estimate),
    ]);
    let text = if format == Format::Csv {
        table.to_csv()
    } else {
        table.to_text()
    };
    // Stdout holds the news.
    let _ = write!(std::io::stderr(), "\n{text}");
    Ok(())
}
