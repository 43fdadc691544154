//! `dunlin check`: is this page list sound, and what is in it?

use dunlin::time::Duration;
use serde::Serialize;

use crate::board::room::MOST_PLACES;
use crate::error::Error;
use crate::lists::constraints::{self, parse_interval};
use crate::lists::discovery::DiscoverArgs;
use crate::lists::headers::Header;
use crate::lists::listing::ListingArgs;
use crate::lists::pages::{ListedChange, ListedPage};
use crate::lists::table_file::plural;
use crate::lists::trust;
use crate::output::{self, Format, Table};

/// Check a page list and say what is in it
///
/// Reads PAGES.csv (and HOSTS.csv) as every other command would, and stops at the first thing that
/// is wrong, naming file, line and column. PAGES.csv has a header row; only `url` is required:
///
///   url,name,weight,model,changes_per_day,shape,updates,min,max,every,select,ignore
///   http://example.org/,Home,2,poisson,1.5,,,,,,main,seen …times|<!--…-->
///   http://example.org/news,News,1,quasi,,,6h:0.9;18h:1,,,,,
///
/// Columns may be separated by semicolons or tabs, lines that begin with # are comments, and spaces
/// in URLs are encoded as browsers do. A plain list of URLs needs no header row. A sitemap
/// (`<urlset>`) and the OPML of a feed reader are page lists, too.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// What `updates` of the list are counted in
    #[arg(long, value_name = "DURATION", value_parser = parse_interval, default_value = "24h")]
    interval: Duration,
    #[command(flatten)]
    discover: DiscoverArgs,
}

#[derive(Serialize)]
struct Host<'a> {
    host: &'a str,
    pages: usize,
    weight: f64,
    changes_per_day: f64,
    rates_unknown: usize,
    gate: &'a str,
    politeness_s: f64,
}

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let listing = args.listing.read(Duration::ZERO)?;
    let wanted = args.discover.wanted(&listing, MOST_PLACES)?;
    let list = &listing.list;
    for page in &list.pages {
        constraints::clock(page, args.interval)?;
    }
    let mut rows: Vec<Host<'_>> = list
        .hosts
        .iter()
        .zip(&listing.gate_of_host)
        .map(|(host, &gate)| Host {
            host,
            pages: 0,
            weight: 0.0,
            changes_per_day: 0.0,
            rates_unknown: 0,
            gate: &listing.gates[gate].name,
            politeness_s: listing.gates[gate].politeness.as_secs_f64(),
        })
        .collect();
    for page in &list.pages {
        let row = &mut rows[page.host];
        row.pages += 1;
        row.weight += page.weight;
        match &page.change {
            ListedChange::Poisson { rate: Some(rate) }
            | ListedChange::Weibull {
                rate: Some(rate), ..
            }
            | ListedChange::Pareto {
                rate: Some(rate), ..
            } => row.changes_per_day += rate,
            ListedChange::Quasi { updates } => {
                row.changes_per_day += updates.iter().map(|update| update.probability).sum::<f64>();
            }
            _ => row.rates_unknown += 1,
        }
    }
    match format {
        Format::Json => output::print(&output::json(&rows)),
        Format::Csv => output::print(&table(&rows, |rate| rate.to_string()).to_csv()),
        Format::Table => {
            output::print(&table(&rows, |rate| format!("{rate:.4}")).to_text())?;
            let pages = plural(list.pages.len(), "page");
            let hosts = plural(list.hosts.len(), "host");
            let comments = match list.comments {
                0 => String::new(),
                1 => ", 1 comment line".to_owned(),
                lines => format!(", {lines} comment lines"),
            };
            let smooth = |page: &&ListedPage| {
                matches!(
                    page.change,
                    ListedChange::Weibull { .. } | ListedChange::Pareto { .. }
                )
            };
            let other = list.pages.iter().filter(smooth).count();
            if other > 0 {
                output::say(format_args!(
                    "note: {other} pages of model weibull or pareto: a probe takes them for poisson pages of the same rate"
                ));
            }
            if let Some(note) = trust::needs_time_server(&listing) {
                output::say(note);
            }
            if let Some(wanted) = &wanted {
                output::say(format_args!("note: {}", wanted.describe(&listing)));
            }
            let css =
                |page: &&ListedPage| page.filter.as_ref().is_some_and(|one| one.css().is_some());
            let css = list.pages.iter().filter(css).count();
            if css > 0 {
                output::say(format_args!(
                    "note: {css} pages with a CSS selector: `run` and `collect` follow it, a probe cannot and compares all of the page; markers such as <main>…</main> are for both"
                ));
            }
            for (host, headers) in &listing.headers {
                let names: Vec<&str> = headers.iter().map(Header::name).collect();
                output::say(format_args!(
                    "note: {host}: {} for `run`; no image holds headers, a probe takes them from its settings, and `fleet` refuses them",
                    names.join(", ")
                ));
            }
            output::say(format_args!(
                "{}: {pages} on {hosts}{comments}, nothing wrong",
                args.listing.pages.display()
            ));
            Ok(())
        }
    }
}

fn table(rows: &[Host<'_>], show: impl Fn(f64) -> String) -> Table {
    let mut table = Table::new(&[
        "host",
        "pages",
        "weight",
        "changes_per_day",
        "rates_unknown",
        "gate",
        "politeness_s",
    ]);
    for row in rows {
        table.row(vec![
            row.host.to_owned(),
            row.pages.to_string(),
            row.weight.to_string(),
            show(row.changes_per_day),
            row.rates_unknown.to_string(),
            row.gate.to_owned(),
            row.politeness_s.to_string(),
        ]);
    }
    table
}
