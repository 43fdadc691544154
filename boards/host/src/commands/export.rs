//! `dunlin export`: what a run has learnt, as a list for the next.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dunlin::store::{PageRecord, Partition, Record, Store, identity};
use serde::Serialize;

use crate::board::emulated::EmulatedFlash;
use crate::board::state_file::{StateFile, beside};
use crate::board::visit_log::{self, VISITS};
use crate::error::Error;
use crate::filter::Filter;
use crate::lists::page_image::key_of_seed;
use crate::lists::pages::{ListedChange, ListedPage, ListedUpdate, PageList};
use crate::output::{self, Format, Table, file};

/// Print what a run has learnt as a page list: PAGES.csv with the rates that were found
///
/// STATE is the file of `run --state` or of `cargo xtask qemu --state`, PAGES.csv the list that it
/// ran on: of URLs, the state holds hashes.
/// Rates are changes a day; a page that was never visited, and one that keeps to the clock, stay as
/// the list has them. The state is only read, and must not be in use. With --format csv, which is
/// what a list is, columns are those of PAGES.csv; JSON has `visited` besides:
///
///   dunlin export STATE PAGES.csv --format csv > LEARNT.csv
///
/// With --visits, what each visit found is written, too, for `dunlin estimate` and `evolution`: a run
/// keeps it beside its state, in STATE.visits, the last 64 MiB of it and up to as much before. (Not
/// where the list comes from a planner or as an update to the emulated device.)
///
/// What a device that one can hold has learnt is in its own flash, which is not read here. What its
/// log tells of rates, `dunlin monitor` shows.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The state file of `dunlin run`, or of the emulated device
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The list that it ran on
    #[arg(value_name = "PAGES.csv")]
    pages: PathBuf,
    /// Write the visits that the state's runs have made to this file
    #[arg(long, value_name = "HISTORY.csv")]
    visits: Option<PathBuf>,
    /// The seed that the run was given, if it was given one
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
}

/// Runs the command.
///
/// # Errors
/// Something wrong with a file, or a state of another list.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let kept = beside(&args.state, VISITS);
    let written = args.visits.iter();
    let written: Vec<_> = written.map(|path| ("--visits", path.as_path())).collect();
    let read = [
        ("STATE", args.state.as_path()),
        ("PAGES.csv", args.pages.as_path()),
        ("STATE with .visits", kept.as_path()),
    ];
    file::keep_apart(&written, &read)?;
    let list = PageList::read(&args.pages)?;
    let pages = &list.pages;
    if !args.state.exists() {
        let file = args.state.display();
        return Err(Error::Usage(format!(
            "found no file {file}, expected a state file of `dunlin run` or `cargo xtask qemu`"
        )));
    }
    let (records, key) = match EmulatedFlash::read(&args.state)? {
        Some((flash, key)) => (records(flash, &args.state)?, Some(key)),
        None => {
            let state = StateFile::open(&args.state, None)?;
            (records(state.flash, &args.state)?, state.key)
        }
    };
    let key = match args.seed {
        Some(seed) => key_of_seed(seed),
        None => key.unwrap_or_else(|| key_of_seed(1)),
    };
    let learnt = |page: &ListedPage| records.get(&identity(&key, &page.url)).copied();
    if !pages.iter().any(|page| learnt(page).is_some()) {
        let file = args.state.display();
        return Err(Error::Usage(format!(
            "{file}: found no page of the list in it, expected the list and the seed of its run"
        )));
    }
    if let Some(history) = &args.visits {
        visit_log::export(&args.state, history)?;
    }
    let is_pinned = |index: usize| list.pinned.binary_search(&index).is_ok();
    let rows: Vec<Row> = pages
        .iter()
        .enumerate()
        .map(|(index, page)| Row::of(page, is_pinned(index), learnt(page).as_ref()))
        .collect();
    output::print(&match format {
        Format::Csv => table(&rows).to_csv(),
        Format::Table => table(&rows).to_text(),
        Format::Json => output::json(&rows),
    })
}

/// What a flash knows of pages, by their numbers.
fn records<F: Partition>(flash: F, state: &Path) -> Result<HashMap<u64, PageRecord>, Error> {
    let mut records = HashMap::new();
    let mut store = Store::new(flash);
    let opened = store.open(|record, _| {
        if let Record::Page(page) = record {
            records.insert(page.page, *page);
        }
    });
    async_io::block_on(opened).map_err(|why| {
        let file = state.display();
        Error::Usage(format!("{file}: the state cannot be read: {why:?}"))
    })?;
    Ok(records)
}

/// A page as a list has it, with what was learnt. The names are the columns of PAGES.csv.
#[derive(Debug, Serialize)]
struct Row {
    url: String,
    weight: f64,
    model: &'static str,
    changes_per_day: Option<f64>,
    shape: Option<f64>,
    updates: Option<String>,
    min: Option<u32>,
    max: Option<u32>,
    every: Option<String>,
    name: Option<String>,
    pinned: Option<&'static str>,
    select: Option<String>,
    ignore: Option<String>,
    /// Is the rate learnt? A list has no such column.
    visited: bool,
}

impl Row {
    fn of(page: &ListedPage, is_pinned: bool, record: Option<&PageRecord>) -> Self {
        let (model, listed, shape, updates) = match &page.change {
            ListedChange::Poisson { rate } => ("poisson", *rate, None, None),
            ListedChange::Weibull { rate, shape } => ("weibull", *rate, Some(*shape), None),
            ListedChange::Pareto { rate, shape } => ("pareto", *rate, Some(*shape), None),
            ListedChange::Quasi { updates } => ("quasi", None, None, Some(written(updates))),
        };
        let visited = record.filter(|record| record.fingerprint != 0);
        let learnt = visited.map(|record| f64::from(record.estimate.rate()));
        let filter = page.filter.as_ref();
        Self {
            url: page.url.clone(),
            weight: page.weight,
            model,
            // A page that keeps to the clock stays as the list has it.
            changes_per_day: learnt.filter(|_| updates.is_none()).or(listed),
            shape,
            updates,
            min: Some(page.min).filter(|min| *min > 0),
            max: page.max,
            every: page.every.map(|every| format!("{}ms", every.as_millis())),
            name: page.name.clone(),
            pinned: is_pinned.then_some("yes"),
            select: filter.and_then(|filter| filter.selected().map(Cow::into_owned)),
            ignore: filter.and_then(Filter::ignored),
            visited: visited.is_some(),
        }
    }
}

/// Updates as PAGES.csv has them.
fn written(updates: &[ListedUpdate]) -> String {
    let update = |update: &ListedUpdate| {
        let at = update.offset.as_millis();
        format!("{at}ms:{}", update.probability)
    };
    updates.iter().map(update).collect::<Vec<_>>().join(";")
}

fn table(rows: &[Row]) -> Table {
    fn cell(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
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
        "pinned",
        "select",
        "ignore",
    ]);
    for row in rows {
        table.row(vec![
            row.url.clone(),
            row.weight.to_string(),
            row.model.to_owned(),
            cell(row.changes_per_day),
            cell(row.shape),
            cell(row.updates.as_ref()),
            cell(row.min),
            cell(row.max),
            cell(row.every.as_ref()),
            cell(row.name.as_ref()),
            cell(row.pinned),
            cell(row.select.as_ref()),
            cell(row.ignore.as_ref()),
        ]);
    }
    table
}
