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
    /// Adds what came of the next list.
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
        let found = probe.found().totals();
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

/// Prints the summary of a run.
pub(super) fn report(summary: &Summary, format: Format) -> Result<(), Error> {
    let text = match format {
        Format::Json => return output::print(&output::json(summary)),
        Format::Csv => {
            let exact = |share: Option<f32>| share.map_or_else(String::new, |it| it.to_string());
            table(summary, exact).to_csv()
        }
        Format::Table => for_people(summary),
    };
    // Stdout holds the news.
    let _ = write!(std::io::stderr(), "\n{text}");
    Ok(())
}

/// A person is not shown an estimate of freshness before it is one.
fn for_people(summary: &Summary) -> String {
    let estimate = |share: Option<f32>| {
        let share = share.map(f64::from);
        readable::estimate(share, summary.visits_a_page)
    };
    table(summary, estimate).to_text()
}

/// Under the names that JSON has.
fn table(summary: &Summary, show: impl Fn(Option<f32>) -> String) -> Table {
    let mut cells = vec![
        ("fetches", summary.fetches.to_string()),
        ("not_modified", summary.not_modified.to_string()),
        ("changed", summary.changed.to_string()),
        ("first_versions", summary.first_versions.to_string()),
        ("errors", summary.errors.to_string()),
        ("robots_denied", summary.robots_denied.to_string()),
        ("bytes", summary.bytes.to_string()),
        ("freshness_estimate", show(summary.freshness_estimate)),
        ("optimum_estimate", show(summary.optimum_estimate)),
        ("resumed_pages", summary.resumed_pages.to_string()),
    ];
    if let Some(found) = &summary.found {
        cells.extend([
            ("collection", found.collection.to_string()),
            ("candidates", found.candidates.to_string()),
            ("found", found.found.to_string()),
            ("admitted", found.admitted.to_string()),
            ("replaced", found.replaced.to_string()),
        ]);
    }
    let (names, row): (Vec<&str>, Vec<String>) = cells.into_iter().unzip();
    let mut table = Table::new(&names);
    table.row(row);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_names_of_json() {
        let summary = Summary {
            found: Some(FoundTotals::default().into()),
            freshness_estimate: Some(0.123_456_79),
            ..Summary::default()
        };
        let csv = table(&summary, |share| share.unwrap_or_default().to_string()).to_csv();
        let json = output::json(&summary);
        let names = csv.lines().next().unwrap_or_default().split(',');
        let mut place = 0;
        for name in names {
            let found = json[place..].find(&format!("\"{name}\":"));
            place += found.unwrap_or_else(|| panic!("{name} is not next in {json}"));
        }
        assert_eq!(
            json.matches("\":").count(),
            csv.matches(',').count() / 2 + 1
        );
        assert!(csv.contains(",0.12345679,"), "{csv}");
    }

    #[test]
    fn an_estimate_of_freshness_is_words_before_ten_visits_a_page() {
        let mut summary = Summary {
            freshness_estimate: Some(0.75),
            visits_a_page: Some(2.0),
            ..Summary::default()
        };
        let text = for_people(&summary);
        assert!(
            text.contains("still learning (2.0 visits a page)"),
            "{text}"
        );
        assert!(!text.contains("0.750"), "{text}");
        summary.visits_a_page = Some(10.0);
        let text = for_people(&summary);
        assert!(text.contains("0.750"), "{text}");
    }
}
