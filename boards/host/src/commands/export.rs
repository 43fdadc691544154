//! `dunlin export`: what a run has learnt, as a list for the next.

use std::collections::HashMap;
use std::path::PathBuf;

use dunlin::store::{PageRecord, Record, Store, identity};

use crate::board::state_file::StateFile;
use crate::error::Error;
use crate::filter::Filter;
use crate::filter::markers::Markers;
use crate::lists::page_image::key_of_seed;
use crate::lists::pages::{ListedChange, ListedPage, PageList};
use crate::output::{self, Format, Table};

/// Print what a run has learnt as a page list: PAGES.csv with the rates that were found
///
/// STATE is the file of `run --state`, PAGES.csv the list that it ran on: the state holds no URLs.
/// Rates are changes a day; a page that was never visited, and one that keeps to the clock, stay as
/// the list has them. The state is only read, and must not be in use. With --format csv, which is
/// what a list is, columns are those of PAGES.csv:
///
///   dunlin export STATE PAGES.csv --format csv > LEARNT.csv
///
/// Visits themselves are not in a state: `run --visits HISTORY.csv` writes them as they are made.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The state file of `dunlin run`
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The list that it ran on
    #[arg(value_name = "PAGES.csv")]
    pages: PathBuf,
    /// The seed that the run was given, if it was given one
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
}

/// Runs the command.
///
/// # Errors
/// Something wrong with a file, or a state of another list.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let PageList { pages, pinned, .. } = PageList::read(&args.pages)?;
    if !args.state.exists() {
        let file = args.state.display();
        return Err(Error::Usage(format!(
            "found no file {file}, expected a state file of `dunlin run`"
        )));
    }
    let state = StateFile::open(&args.state, None)?;
    let key = match args.seed {
        Some(seed) => key_of_seed(seed),
        None => state.key.unwrap_or_else(|| key_of_seed(1)),
    };
    let mut records: HashMap<u64, PageRecord> = HashMap::new();
    let mut store = Store::new(state.flash);
    let opened = store.open(|record, _| {
        if let Record::Page(page) = record {
            records.insert(page.page, *page);
        }
    });
    async_io::block_on(opened).map_err(|why| {
        let file = args.state.display();
        Error::Usage(format!("{file}: the state cannot be read: {why:?}"))
    })?;
    let learnt = |page: &ListedPage| records.get(&identity(&key, &page.url)).copied();
    if !pages.iter().any(|page| learnt(page).is_some()) {
        let file = args.state.display();
        return Err(Error::Usage(format!(
            "{file}: found no page of the list in it, expected the list and the seed of its run"
        )));
    }
    let table = table(&pages, &pinned, learnt);
    match format {
        Format::Csv => output::print(&table.to_csv()),
        Format::Table => output::print(&table.to_text()),
        Format::Json => {
            let row = |page: &ListedPage| {
                let record = learnt(page);
                serde_json::json!({
                    "url": page.url,
                    "changes_per_day": rate(page, record.as_ref()),
                    "visited": record.is_some_and(|record| record.fingerprint != 0),
                })
            };
            output::print(&output::json(&pages.iter().map(row).collect::<Vec<_>>()))
        }
    }
}

/// Changes a day: what was learnt, or what the list says of a page that was never visited.
fn rate(page: &ListedPage, record: Option<&PageRecord>) -> Option<f64> {
    let listed = match page.change {
        ListedChange::Poisson { rate }
        | ListedChange::Weibull { rate, .. }
        | ListedChange::Pareto { rate, .. } => rate,
        ListedChange::Quasi { .. } => None,
    };
    match record {
        Some(record) if record.fingerprint != 0 => Some(f64::from(record.estimate.rate())),
        _ => listed,
    }
}

/// All columns of a list, with rates that were learnt; `pinned` are places of pages.
fn table(
    pages: &[ListedPage],
    pinned: &[usize],
    learnt: impl Fn(&ListedPage) -> Option<PageRecord>,
) -> Table {
    let mut table = Table::new(&[
        "url",
        "weight",
        "model",
        "changes_per_day",
        "shape",
        "updates",
        "min",
        "max",
        "every",
        "name",
        "ignore",
        "select",
        "pinned",
    ]);
    for (place, page) in pages.iter().enumerate() {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let (model, shape, updates) = match &page.change {
            ListedChange::Poisson { .. } => ("poisson", None, String::new()),
            ListedChange::Weibull { shape, .. } => ("weibull", Some(*shape), String::new()),
            ListedChange::Pareto { shape, .. } => ("pareto", Some(*shape), String::new()),
            ListedChange::Quasi { updates } => {
                let update = updates.iter().map(|update| {
                    format!("{}ms:{}", update.offset.as_millis(), update.probability)
                });
                ("quasi", None, update.collect::<Vec<_>>().join(";"))
            }
        };
        let rate = match &page.change {
            ListedChange::Quasi { .. } => None,
            _ => rate(page, learnt(page).as_ref()),
        };
        let filter = page.filter.as_ref();
        let selected = filter.and_then(Filter::selected);
        table.row(vec![
            page.url.clone(),
            page.weight.to_string(),
            model.to_owned(),
            number(rate),
            number(shape),
            updates,
            if page.min > 0 {
                page.min.to_string()
            } else {
                String::new()
            },
            page.max.map_or_else(String::new, |max| max.to_string()),
            page.every
                .map_or_else(String::new, |every| format!("{}ms", every.as_millis())),
            page.name.clone().unwrap_or_default(),
            Markers::write_several(filter.map_or(&[], |filter| filter.ignore.as_slice())),
            selected.unwrap_or_default().into_owned(),
            if pinned.binary_search(&place).is_ok() {
                "yes"
            } else {
                ""
            }
            .to_owned(),
        ]);
    }
    table
}
