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
/// In the table, `life` is the time that a page was seen, and `life2` twice that for pages that
/// were there at the beginning or at the end; JSON has the curves as well.
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
    if histories.is_empty() {
        return Err(Error::Usage(format!(
            "{}: found no visits, expected one row or more below the header",
            args.history.display()
        )));
    }
    let evolution = Evolution::of(&histories, domain);
    if let Some(path) = &args.svg {
        file::write(path, &plot::svg(&evolution.plots()))?;
    }
    output::print(&match format {
        Format::Json => output::json(&evolution),
        Format::Csv => table(&evolution.groups, |share| share.to_string()).to_csv(),
        Format::Table => {
            table(&evolution.groups, |share| format!("{:.1}%", 100.0 * share)).to_text()
        }
    })
}

fn table(groups: &[Group], show: impl Fn(f64) -> String) -> Table {
    let mut table = Table::new(&[
        "domain",
        "pages",
        "half_changed_days",
        "changes<=1d",
        "<=1w",
        "<=1m",
        "<=4m",
        "longer",
        "life<=1w",
        "life<=1m",
        "life<=4m",
        "life_longer",
        "life2<=1w",
        "life2<=1m",
        "life2<=4m",
        "life2_longer",
    ]);
    for group in groups {
        let half = group.half_changed_days.map(|days| format!("{days:.1}"));
        let shares = group.intervals.iter().chain(&group.lifespans);
        let shares = shares.chain(&group.lifespans_doubled);
        let mut row = vec![
            group.name.clone(),
            group.pages.to_string(),
            half.unwrap_or_default(),
        ];
        row.extend(shares.map(|share| show(*share)));
        table.row(row);
    }
    table
}
