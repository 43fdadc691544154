//! `dunlin diff`: what has changed between two versions of a page.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use super::filter_args::FilterArgs;
use crate::archive::compare;
use crate::archive::reader::Reader;
use crate::date;
use crate::error::Error;
use crate::lists::pages::url_argument;
use crate::output::{self, Format, Table};

/// Show what has changed between two versions of a page in an archive
///
/// Without dates, between the last two versions. A date means the version that was current then:
/// `2026-11-17`, `2026-11-17T04:50:08Z` or `20261117045008`, in UTC. Of HTML the text is
/// compared, without markup; with --raw the bytes as they came, line by line. --pages, --select and
/// --ignore say what of the page counts. Exit code 1 if there is nothing to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URL of the page whose versions are compared
    #[arg(value_parser = url_argument)]
    url: String,
    /// Folder of the archive that holds them
    #[arg(long, value_name = "DIR")]
    archive: PathBuf,
    /// Compare with the version of this moment [default: the last but one]
    #[arg(long, value_name = "DATE", value_parser = moment)]
    from: Option<u64>,
    /// Compare the version of this moment [default: the last one]
    #[arg(long, value_name = "DATE", value_parser = moment)]
    to: Option<u64>,
    /// Compare what was sent, markup and all
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

fn moment(text: &str) -> Result<u64, String> {
    date::parse(text).ok_or_else(|| "expected a date such as 2026-11-17 or 20261117045008".into())
}

#[derive(Serialize)]
struct Difference<'d> {
    url: &'d str,
    from: &'d str,
    to: &'d str,
    added: usize,
    removed: usize,
    diff: &'d str,
}

/// Runs the command.
///
/// # Errors
/// The archive cannot be read.
pub fn run(args: &Args, format: Format) -> Result<ExitCode, Error> {
    let filters = args.filter.read(&args.url)?;
    let reader = Reader::open(&args.archive)?;
    let versions = compare::versions(&reader, &args.url)?;
    let Some((old, new)) = compare::pair(&versions, args.from, args.to) else {
        let found = versions.len();
        output::say(format_args!(
            "found {found} versions of {} in the archive, expected two at these times to compare",
            args.url
        ));
        return Ok(ExitCode::from(1));
    };
    let found = compare::compare(&reader, old, new, args.raw, filters.get(&args.url))?;
    let from = date::iso(old.time);
    let to = date::iso(new.time);
    output::print(&match format {
        Format::Json => output::json(&Difference {
            url: &args.url,
            from: &from,
            to: &to,
            added: found.added,
            removed: found.removed,
            diff: &found.unified,
        }),
        Format::Csv => {
            let mut table = Table::new(&["url", "from", "to", "added", "removed", "diff"]);
            table.row(vec![
                args.url.clone(),
                from.clone(),
                to.clone(),
                found.added.to_string(),
                found.removed.to_string(),
                harmless(&found.unified),
            ]);
            table.to_csv()
        }
        // What strangers wrote gives no orders to a terminal.
        Format::Table => harmless(&found.unified),
    })?;
    if found.hunks.is_empty() {
        let what = if args.raw { "bytes" } else { "text" };
        output::say(format_args!("the {what} of {from} and {to} are the same"));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}

/// The text without control characters, but for the ends of lines and tabs.
pub fn harmless(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_page_orders_a_terminal() {
        assert_eq!(harmless("a\u{1b}[2J\tb\r\n"), "a\u{fffd}[2J\tb\u{fffd}\n");
    }
}
