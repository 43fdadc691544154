//! `dunlin evolution`: how does a collection of pages change and vanish over time?

use std::path::PathBuf;

use crate::error::Error;
use crate::evolution::{Evolution, Group, domain};
use crate::lists::history;
use crate::output::{self, Format, Table, file, plot};

/// Show how pages change and vanish, by domain
///
/// From a visit history (see `dunlin estimate --help`): shares of pages by their mean interval
/// between two changes and by how long they were seen, and the day by which half of them had
/// changed or vanished (Cho, chapter 4). A page has vanished if its visits end before those of the
/// others. Domains are com, netorg, edu, gov (with mil), and other top-level domains as they are.
///
///   dunlin evolution HISTORY.csv --svg evolution.svg
///
/// The picture also has the gaps between changes of the pages that changed most (Wolf, Figure 6).
/// `lifespans` are the times that pages were seen, by classes (up to a week, a month, four months,
/// longer), and `lifespans_doubled` twice that for pages that were there at the beginning or at the
/// end; JSON has the curves as well.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// What visits found: a header row, then one visit a line; `-` for stdin
    #[arg(value_name = "HISTORY.csv")]
    history: PathBuf,
    /// Also draw histograms and curves as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with the file, or a picture that cannot be written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let outputs = args.svg.iter().map(|path| ("--svg", path.as_path()));
    let input = ("HISTORY.csv", args.history.as_path());
    file::keep_apart(&outputs.collect::<Vec<_>>(), &[input])?;
    let histories = history::read(&args.history)?;
    let evolution = Evolution::of(&histories, domain);
    if let Some(path) = &args.svg {
        file::write(path, &plot::svg(&evolution.plots()))?;
    }
    output::print(&match format {
        Format::Json => output::json(&evolution),
        Format::Csv => table(&evolution.groups, f64::to_string, f64::to_string).to_csv(),
        Format::Table => {
            let days = |days: &f64| format!("{days:.1}");
            let share = |share: &f64| format!("{:.1}%", 100.0 * share);
            table(&evolution.groups, days, share).to_text()
        }
    })
}

/// Columns are named as in JSON; a list there has a column for each of its classes.
fn table(groups: &[Group], days: impl Fn(&f64) -> String, share: impl Fn(&f64) -> String) -> Table {
    let mut table = Table::new(&[
        "name",
        "pages",
        "half_changed_days",
        "intervals_1d",
        "intervals_1w",
        "intervals_1m",
        "intervals_4m",
        "intervals_longer",
        "lifespans_1w",
        "lifespans_1m",
        "lifespans_4m",
        "lifespans_longer",
        "lifespans_doubled_1w",
        "lifespans_doubled_1m",
        "lifespans_doubled_4m",
        "lifespans_doubled_longer",
    ]);
    for group in groups {
        let half = group.half_changed_days.as_ref().map(&days);
        let shares = group.intervals.iter().chain(&group.lifespans);
        let shares = shares.chain(&group.lifespans_doubled);
        let mut row = vec![
            group.name.clone(),
            group.pages.to_string(),
            half.unwrap_or_default(),
        ];
        row.extend(shares.map(&share));
        table.row(row);
    }
    table
}
