//! `dunlin test-filter`: what of a page counts as a change, before it is watched.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use dunlin::fetch::Agent;
use serde::Serialize;

use super::diff::harmless;
use super::filter_args::FilterArgs;
use crate::archive::reader::{Reader, is_redirect};
use crate::archive::{LONGEST_BODY, text};
use crate::board::net::{HostConnect, HostResolve};
use crate::board::own::OwnFields;
use crate::board::proxy::Proxy;
use crate::board::verify::Trust;
use crate::error::Error;
use crate::get::get;
use crate::lists::listing::ListingArgs;
use crate::lists::pages::url_argument;
use crate::lists::table_file::plural;
use crate::output::{self, Format, Table};

/// Show what of a page counts as a change, by `select` and `ignore`
///
/// Prints what is left of the page: its text, or with --raw its markup. The page comes from the
/// network, by one request, from an archive (its last version), or from a file. Exit code 1 if
/// nothing is selected.
///
///   dunlin test-filter http://example.org/news --select '#news li' --ignore 'seen ' ' times'
///   dunlin test-filter http://example.org/news --pages PAGES.csv --archive kept
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// URL of the page that is filtered
    #[arg(value_parser = url_argument)]
    url: String,
    #[command(flatten)]
    filter: FilterArgs,
    /// Take its last version in this archive
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    archive: Option<PathBuf>,
    /// Take this file for the page; `-` for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print markup and all
    #[arg(long)]
    raw: bool,
    /// What is special about its host: a header
    #[arg(long, value_name = "HOSTS.csv", requires = "pages")]
    hosts: Option<PathBuf>,
    /// Where its host is, instead of asking for its name; `*` for all hosts
    #[arg(long, value_name = "HOST=IP")]
    resolve: Vec<String>,
    /// Ask this proxy: http://[USER:PASSWORD@]HOST:PORT, with environment variables as $NAME
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
}

#[derive(Serialize)]
struct Shown<'s> {
    url: &'s str,
    select: Option<&'s str>,
    selected: Option<usize>,
    ignored: usize,
    bytes: usize,
    counted_bytes: usize,
    on_a_probe: bool,
    text: &'s str,
}

impl Shown<'_> {
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "url",
            "select",
            "selected",
            "ignored",
            "bytes",
            "counted_bytes",
            "on_a_probe",
            "text",
        ]);
        let selected = self.selected.map(|count| count.to_string());
        table.row(vec![
            self.url.to_owned(),
            self.select.unwrap_or_default().to_owned(),
            selected.unwrap_or_default(),
            self.ignored.to_string(),
            self.bytes.to_string(),
            self.counted_bytes.to_string(),
            self.on_a_probe.to_string(),
            harmless(self.text),
        ]);
        table
    }
}

/// A page's body, and what it is.
struct Page {
    body: Vec<u8>,
    media_type: String,
}

/// Runs the command.
///
/// # Errors
/// The page cannot be had, or the filter is none.
pub fn run(args: &Args, format: Format) -> Result<ExitCode, Error> {
    let filters = args.filter.read(&args.url)?;
    let filter = filters.get(&args.url).cloned().unwrap_or_default();
    if filter.is_empty() {
        output::say(format_args!(
            "nothing is said of {}: all of it counts; expected --select, --ignore, or --pages with such a page",
            args.url
        ));
    }
    let page = args.page()?;
    let filtered = filter
        .apply(&page.body)
        .map_err(|why| Error::Usage(format!("{}: all of it counts, for {why}", args.url)))?;
    let plain = match args.raw {
        true => None,
        false => text::of(&filtered.bytes, &page.media_type),
    };
    let left = plain.unwrap_or_else(|| String::from_utf8_lossy(&filtered.bytes).into_owned());
    let on_a_probe = filter.css().is_none();
    let select = filter.selected();
    let shown = Shown {
        url: &args.url,
        select: select.as_deref(),
        selected: filtered.selected,
        ignored: filtered.ignored,
        bytes: page.body.len(),
        counted_bytes: filtered.bytes.len(),
        on_a_probe,
        text: &left,
    };
    output::print(&match format {
        Format::Json => output::json(&shown),
        Format::Csv => shown.table().to_csv(),
        Format::Table => harmless(&left),
    })?;
    if format == Format::Table {
        let selected = filtered.selected.map_or_else(String::new, |count| {
            format!("{} selected, ", plural(count, "part"))
        });
        let ignored = match filtered.ignored {
            1 => "1 stretch".to_owned(),
            count => format!("{count} stretches"),
        };
        output::say(format_args!(
            "{selected}{ignored} ignored: {} of {} bytes count",
            filtered.bytes.len(),
            page.body.len()
        ));
    }
    if !on_a_probe {
        output::say(
            "note: a CSS selector is for `run` and `collect`; a probe compares all of the page, or what stands between markers",
        );
    }
    Ok(match filtered.selected {
        Some(0) => {
            output::say("nothing is selected: all versions of this page would be the same");
            ExitCode::from(1)
        }
        _ => ExitCode::SUCCESS,
    })
}

impl Args {
    fn page(&self) -> Result<Page, Error> {
        match (&self.file, &self.archive) {
            (Some(file), _) => {
                let most = u64::from(LONGEST_BODY);
                let mut body = Vec::new();
                let read = match file.as_os_str() == "-" {
                    true => std::io::stdin().take(most).read_to_end(&mut body),
                    false => std::fs::File::open(file)
                        .and_then(|file| file.take(most).read_to_end(&mut body)),
                };
                read.map_err(|why| Error::reading(file, why))?;
                Ok(Page {
                    body,
                    media_type: "unk".into(),
                })
            }
            (None, Some(folder)) => {
                let reader = Reader::open(folder)?;
                let versions = reader.history(&self.url)?;
                let last = versions.iter().rfind(|entry| !is_redirect(entry));
                let last = last.ok_or_else(|| {
                    Error::Usage(format!("found no version of {} in the archive", self.url))
                })?;
                Ok(Page {
                    body: reader.version(last)?.body,
                    media_type: last.media_type.clone(),
                })
            }
            (None, None) => self.fetched(),
        }
    }

    /// By one request, as a browser would make it, with the headers of its host.
    fn fetched(&self) -> Result<Page, Error> {
        let variable = |name: &str| std::env::var(name).ok();
        let fields = match (self.filter.list(), &self.hosts) {
            (Some(pages), Some(hosts)) => {
                let listing = ListingArgs {
                    pages: pages.clone(),
                    hosts: Some(hosts.clone()),
                    politeness: None,
                };
                OwnFields::of_list(&listing.read(dunlin::time::Duration::ZERO)?, variable)?
            }
            _ => OwnFields::default(),
        };
        let proxy = self.proxy.as_deref();
        let proxy = proxy.map(|text| Proxy::find(text, variable)).transpose()?;
        let resolve = HostResolve::new(self.resolve.iter().map(String::as_str));
        let resolve = resolve.map_err(Error::Usage)?.through(proxy.as_ref());
        let connect = HostConnect::new(Trust::default())
            .through(proxy.map(Into::into))
            .with_fields(fields);
        let product = concat!("dunlin/", env!("CARGO_PKG_VERSION"));
        let agent = Agent::new(product, None).map_err(|why| Error::Usage(why.to_string()))?;
        let (at, answer) = get(&self.url, agent, connect, resolve)
            .map_err(|why| Error::Usage(format!("{}: {why}", self.url)))?;
        if answer.status != 200 {
            let status = answer.status;
            let found = format!("{at}: found status {status}, expected a page");
            return Err(Error::Usage(found));
        }
        Ok(Page {
            body: answer.body,
            media_type: answer.media_type,
        })
    }
}
