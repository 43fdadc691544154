//! `dunlin simulate`: what would each policy achieve on this page list?

mod report;
mod setting;

use std::path::PathBuf;
use std::sync::Mutex;

use clap::ValueEnum;
use dunlin::time::Duration;

use super::schedule::Crawlers;
use crate::duration;
use crate::error::Error;
use crate::lists::constraints::{Goal, parse_interval};
use crate::lists::listing::ListingArgs;
use crate::output::progress::Progress;
use crate::output::{self, Format, Table, file};
use crate::planning::{Assumption, significant};
use crate::simulate::PolicyName;
use crate::simulate::trial::{SEEDS, Summary};
use setting::SimulationSetting;

/// Simulate what a policy achieves on a page list
///
/// Pages change by their models (or as a trace says), hosts are fetched from politely, and every
/// policy has the same number of fetches a day and meets the same changes:
///
///   dunlin simulate PAGES.csv --days 30 --crawls-per-day 5000 --politeness 15s --compare
///
/// Figures are averages over the days asked for, after a time of warming up in which each page is
/// fetched four times on average, so that they do not depend on how a crawl begins. They are exact
/// for the changes simulated; five simulations with different changes say how much chance is in
/// them (±, 95 % confidence).
///
/// bound     the best freshness any schedule could reach on average over all that pages of these
///           rates could do; what was drawn may be kinder. With a trace, the best even for one that
///           knows the future; 1 where hosts tell of changes. Where pages change by Weibull's or
///           Pareto's law it is that of fixed rhythms: who learns from a silence can do better
/// optimum   the best freshness in the long run for pages of these rates
///
/// With --objective age both are the least mean age instead, in seconds.
///
/// `dunlin help terms` explains the words.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// How many days to measure
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    days: f64,
    /// The budget: fetches a day, over all hosts
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    crawls_per_day: f64,
    /// How many crawlers, or a list of how many crawls a day each can do: 40,30 (taken at their
    /// mean speed). Default: as many as the budget takes
    #[arg(long, value_name = "C", value_parser = Crawlers::parse)]
    crawlers: Option<Crawlers>,
    /// How long a fetch takes
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "100ms")]
    fetch_time: Duration,
    /// Share of fetches that get no answer, such as 0.01
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    failures: f64,
    /// Pages change when this file says, instead of by their models: url,time_s, in seconds from
    /// the start of the trace, rows in any order. Pages of the list that it does not name never
    /// change; a URL that is not on the list, or a time that is not a number from 0, is refused
    #[arg(long, value_name = "TRACE.csv")]
    trace: Option<PathBuf>,
    /// For --policy hints: when pages are asked for by those whom the collection is for, as
    /// url,time_s in seconds from the start, rows in any order, several at a time if there were so
    /// many. Default: as often as pages weigh
    #[arg(long, value_name = "ACCESSES.csv")]
    accesses: Option<PathBuf>,
    /// Start without the rates: policies have to learn them
    #[arg(long)]
    learn: bool,
    /// The policy that decides what is fetched next
    #[arg(long, value_enum, default_value_t, conflicts_with = "compare")]
    policy: PolicyName,
    /// Run all policies on the same changes
    #[arg(long)]
    compare: bool,
    /// Of the changes: the same seed, the same result
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How many simulations, with this seed and those after it. Default: 5, or 1 with a trace,
    /// whose changes are always the same
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: Option<u16>,
    /// What `min`, `max` and `updates` of the list are counted in
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, default_value = "24h")]
    interval: Duration,
    /// What is to be kept small: the time that copies are stale, or how long they have been so
    #[arg(long, value_enum, default_value_t)]
    objective: Goal,
    #[command(flatten)]
    assumption: Assumption,
    /// Time before the days that are measured. Default: enough to fetch every page four times; none
    /// when policies learn from a trace
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    warm_up: Option<Duration>,
    /// Write the plots to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a report with tables and plots to this file, readable without a network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    fn seeds(&self) -> u16 {
        let default = if self.trace.is_some() { 1 } else { SEEDS };
        self.seeds.unwrap_or(default)
    }

    fn policies(&self) -> &[PolicyName] {
        match self.compare {
            true => PolicyName::value_variants(),
            false => std::slice::from_ref(&self.policy),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file or an option; a report that cannot be written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let svg = args.svg.iter().map(|path| ("--svg", path.as_path()));
    let html = args.html.iter().map(|path| ("--html", path.as_path()));
    let trace = args.trace.iter().map(|path| ("--trace", path.as_path()));
    let accesses = (args.accesses.iter()).map(|path| ("--accesses", path.as_path()));
    let mut inputs = args.listing.files();
    inputs.extend(trace.chain(accesses));
    file::keep_apart(&svg.chain(html).collect::<Vec<_>>(), &inputs)?;
    let setting = SimulationSetting::new(args)?;
    let rows = simulate(args, &setting);
    if let Some(path) = &args.svg {
        file::write(path, &report::svg(args, &setting, &rows))?;
    }
    if let Some(path) = &args.html {
        file::write(path, &report::html(args, &setting, &rows))?;
    }
    if let Some(note) = &setting.note {
        output::say(note);
    }
    output::print(&match (format, rows.as_slice()) {
        (Format::Json, [row]) if !args.compare => output::json(row),
        (Format::Json, rows) => output::json(&rows),
        (Format::Csv, rows) => full_table(rows).to_csv(),
        (Format::Table, rows) => {
            explain_figures(args, &setting, rows);
            table(rows, |number| format!("{number:.4}")).to_text()
        }
    })
}

/// What the figures are figures of, and why one of them may be above the bound.
fn explain_figures(args: &Args, setting: &SimulationSetting, rows: &[Summary]) {
    let chance = match args.seeds() {
        1 => "one simulation: --seeds 5 says how much chance is in it".to_owned(),
        seeds => format!("means of {seeds} simulations, ± 95 % confidence"),
    };
    output::say(format_args!(
        "measured over {} days, after {} of warming up; {chance}",
        significant(args.days),
        significant(setting.trial.options.measured_from)
    ));
    let lucky = |row: &&Summary| row.freshness > row.bound;
    if let Some(row) = rows.iter().find(lucky) {
        let why = if setting.has_memory() {
            "it is that of fixed rhythms, and where pages change by Weibull's or Pareto's law who learns from a silence can do better"
        } else {
            "no schedule is so on average, these changes were kinder than most"
        };
        output::say(format_args!(
            "{} is above the bound: {why}",
            row.policy.name()
        ));
    }
}

/// All policies asked for, with all seeds, on all cores.
fn simulate(args: &Args, setting: &SimulationSetting) -> Vec<Summary> {
    let policies = args.policies();
    // In thousandths of a run.
    let runs = policies.len() as u64 * u64::from(args.seeds());
    let progress = Mutex::new(Progress::new("simulating", 1_000 * runs));
    setting.trial.run(policies, |done| {
        if let Ok(mut progress) = progress.lock() {
            progress.at(done);
        }
    })
}

/// Everything, under the names that JSON has.
fn full_table(rows: &[Summary]) -> Table {
    let mut table = Table::new(&[
        "policy",
        "freshness",
        "staleness",
        "age_s",
        "fetches",
        "changes",
        "changes_seen",
        "politeness_violations",
        "limit_violations",
        "objective",
        "bound",
        "optimum",
        "freshness_plus_minus",
        "age_s_plus_minus",
        "harmonic_staleness",
        "late_s",
        "errors",
        "seed",
        "seeds",
    ]);
    let known = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
    for row in rows {
        table.row(vec![
            row.policy.name(),
            row.freshness.to_string(),
            row.staleness.to_string(),
            row.age_s.to_string(),
            row.fetches.to_string(),
            row.changes.to_string(),
            row.changes_seen.to_string(),
            row.politeness_violations.to_string(),
            row.limit_violations.to_string(),
            row.objective.to_owned(),
            row.bound.to_string(),
            row.optimum.to_string(),
            known(row.freshness_plus_minus),
            known(row.age_s_plus_minus),
            row.harmonic_staleness.to_string(),
            row.late_s.to_string(),
            row.errors.to_string(),
            row.seed.to_string(),
            row.seeds.to_string(),
        ]);
    }
    table
}

/// What people look at first.
fn table(rows: &[Summary], show: impl Fn(f64) -> String) -> Table {
    let mut table = Table::new(&[
        "policy",
        "freshness",
        "±",
        "bound",
        "optimum",
        "age_s",
        "harmonic",
        "fetches",
        "changes",
        "changes_seen",
        "errors",
        "late_s",
        "politeness_violations",
    ]);
    for row in rows {
        table.row(vec![
            row.policy.name(),
            show(row.freshness),
            row.freshness_plus_minus.map_or_else(String::new, &show),
            show(row.bound),
            show(row.optimum),
            format!("{:.0}", row.age_s),
            show(row.harmonic_staleness),
            row.fetches.to_string(),
            row.changes.to_string(),
            row.changes_seen.to_string(),
            row.errors.to_string(),
            format!("{:.1}", row.late_s),
            row.politeness_violations.to_string(),
        ]);
    }
    table
}
