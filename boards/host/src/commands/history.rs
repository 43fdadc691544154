//! `dunlin history`: the versions of a page in an archive.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::archive::cdxj::Entry;
use crate::archive::reader::Reader;
use crate::date;
use crate::error::Error;
use crate::lists::pages::url_argument;
use crate::output::{self, Format, Table};

/// List the versions of a page in an archive
///
/// A line for each version that `run --archive` or `collect` has kept, oldest first: when it was
/// fetched, with which status, and in which file it is. Redirects are followed as they were when
/// they were archived. Exit code 1 if there is none.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// URL of the page whose versions are listed
    #[arg(value_parser = url_argument)]
    url: String,
    /// Folder of the archive that holds them
    #[arg(long, value_name = "DIR")]
    archive: PathBuf,
}

/// A version, as it is printed.
#[derive(Serialize)]
struct Row<'e> {
    time: String,
    url: &'e str,
    status: Option<u16>,
    media_type: &'e str,
    digest: &'e str,
    file: &'e str,
    offset: u64,
    length: u64,
}

impl<'e> Row<'e> {
    fn of(entry: &'e Entry) -> Self {
        Self {
            time: date::iso(entry.time),
            url: &entry.url,
            status: entry.status,
            media_type: &entry.media_type,
            digest: &entry.digest,
            file: &entry.file,
            offset: entry.offset,
            length: entry.length,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The archive cannot be read.
pub fn run(args: &Args, format: Format) -> Result<ExitCode, Error> {
    let history = Reader::open(&args.archive)?.history(&args.url)?;
    let rows: Vec<Row<'_>> = history.iter().map(Row::of).collect();
    if format == Format::Json {
        output::print(&output::json(&rows))?;
    } else if !rows.is_empty() || format == Format::Csv {
        let mut table = Table::new(&[
            "time",
            "url",
            "status",
            "media_type",
            "digest",
            "file",
            "offset",
            "length",
        ]);
        for row in &rows {
            table.row(vec![
                row.time.clone(),
                row.url.to_owned(),
                row.status
                    .map_or_else(String::new, |status| status.to_string()),
                row.media_type.to_owned(),
                row.digest.to_owned(),
                row.file.to_owned(),
                row.offset.to_string(),
                row.length.to_string(),
            ]);
        }
        output::print(&match format {
            Format::Csv => table.to_csv(),
            _ => table.to_text(),
        })?;
    }
    if rows.is_empty() {
        output::say(format_args!(
            "no version of {} is in {}",
            args.url,
            args.archive.display()
        ));
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
