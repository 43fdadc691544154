//! `dunlin push`: telling a probe that pages have changed.

use std::path::PathBuf;
use std::process::ExitCode;

use dunlin::fetch::Url;
use dunlin::push::SENDERS;
use serde::Serialize;

use crate::error::{Error, quoted};
use crate::output::{self, Format, Table};
use crate::push::send::{Target, read_key, to_device, to_program};

/// Tell a probe that pages have changed, so that it looks at once
///
/// To a device goes a signed datagram for each page, to a `dunlin run --push` one request in
/// IndexNow's form. Both visit the pages as soon as politeness and budget let them, and soon stop
/// listening to who is wrong too often:
///
///   dunlin push http://example.org/news --to 192.0.2.7 --key sender.key
///   dunlin push http://example.org/news --to http://localhost:8091 --key sender.key
///
/// A device answers nothing: that a datagram was sent does not say that it has come, but the
/// device's log does. Exit code 1 if `dunlin run` does not know the key or the pages, or hears
/// too much.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Pages that have changed, as the probe's list has them
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Who is told: a device as HOST[:PORT], or http://HOST:PORT of a `dunlin run --push`
    #[arg(long, value_name = "WHERE", value_parser = Target::parse)]
    to: Target,
    /// A file with the sender's key on its first line: for a device, 32 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// For a device: which of its push-keys this is, counted from 0
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(..SENDERS as i64)
    )]
    sender: u8,
}

#[derive(Serialize)]
struct Pushed<'a> {
    pages: usize,
    /// The status of the answer, if somebody answers.
    status: Option<u16>,
    heard: Option<bool>,
    why: Option<&'a str>,
}

/// Runs the command.
///
/// # Errors
/// A URL or the key is none, or who is to be told cannot be reached.
pub fn run(args: &Args, format: Format) -> Result<ExitCode, Error> {
    for url in &args.urls {
        Url::parse(url).map_err(|why| Error::Usage(format!("{}: {why}", quoted(url))))?;
    }
    let key = read_key(&args.key)?;
    let status = match &args.to {
        Target::Device(name, port) => {
            to_device((name, *port), &args.urls, (&args.key, &key), args.sender)?;
            None
        }
        Target::Program(url) => Some(to_program(url, &args.urls, &key)?),
    };
    let why = status.and_then(refusal);
    let pushed = Pushed {
        pages: args.urls.len(),
        status,
        heard: status.map(|_| why.is_none()),
        why,
    };
    print(&pushed, format)?;
    Ok(match why {
        Some(_) => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    })
}

/// Why a program does not heed a push, by the status of its answer.
fn refusal(status: u16) -> Option<&'static str> {
    Some(match status {
        200..300 => return None,
        403 => "it knows nobody with this key",
        422 => "none of the pages is in its list",
        429 => "this sender pushes too much",
        _ => "it is no `dunlin run --push`",
    })
}

fn print(pushed: &Pushed<'_>, format: Format) -> Result<(), Error> {
    let status = pushed.status.map(|status| status.to_string());
    let pages = match pushed.pages {
        1 => "1 page".to_owned(),
        pages => format!("{pages} pages"),
    };
    match (format, pushed.why, &status) {
        (Format::Json, ..) => output::print(&output::json(pushed)),
        (Format::Csv, ..) => {
            let mut table = Table::new(&["pages", "status", "heard", "why"]);
            table.row(vec![
                pushed.pages.to_string(),
                status.unwrap_or_default(),
                pushed
                    .heard
                    .map(|heard| heard.to_string())
                    .unwrap_or_default(),
                pushed.why.unwrap_or_default().to_owned(),
            ]);
            output::print(&table.to_csv())
        }
        (Format::Table, Some(why), Some(status)) => {
            output::print(&format!("not heard  ({status}: {why})\n"))
        }
        (Format::Table, _, Some(_)) => output::print(&format!("heard  ({pages})\n")),
        (Format::Table, _, None) => output::print(&format!("sent  ({pages}, unanswered)\n")),
    }
}
