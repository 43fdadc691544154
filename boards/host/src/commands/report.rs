//! `dunlin report`: a finished run as a page that needs no network.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use dunlin::time::Duration;

use super::run::POLITENESS;
use crate::duration;
use crate::error::Error;
use crate::lists::listing::ListingArgs;
use crate::monitor::decode;
use crate::monitor::firmware::Firmware;
use crate::monitor::names::Names;
use crate::monitor::plain::print_summary;
use crate::monitor::readable;
use crate::monitor::source::Source;
use crate::monitor::state::{MonitoredProbe, Stream};
use crate::monitor::stream_reader::{Listener, ReadSetting, StreamReader};
use crate::monitor::view::View;
use crate::output::plot::{self, Bar, Line, Plot, escape};
use crate::output::progress::Progress;
use crate::output::{self, Format, Table, file};

/// A report shows so many hosts.
const HOSTS: usize = 20;
/// Pages shown in the table; beyond, those with the most changes.
const PAGES: usize = 200;

/// Make a report of a finished run
///
/// Reads a record of a probe's log (see `dunlin monitor --record`) and writes a page with its
/// figures and plots:
///
///   dunlin report today.defmt --elf probe.elf --pages PAGES.csv --html today.html
///
/// The figures go to stdout, too.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The record; `-` for stdin
    #[arg(value_name = "LOG")]
    log: String,
    /// The firmware's ELF file (repeatable: a probe that was updated is decoded with the build that
    /// its banner names)
    #[arg(long, value_name = "FILE", required = true)]
    elf: Vec<PathBuf>,
    /// The page list the probe's image was made from
    #[arg(long, value_name = "PAGES.csv")]
    pages: Option<PathBuf>,
    /// What was special about some hosts when the image was made
    #[arg(long, value_name = "HOSTS.csv", requires = "pages")]
    hosts: Option<PathBuf>,
    /// The politeness the image was made with. Default: 15s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    politeness: Option<Duration>,
    /// Where the page goes. Default: LOG.html
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Something wrong with a file; a log that cannot be decoded with this ELF file.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let source = Source::parse(&args.log);
    if !source.is_record() {
        return Err(Error::Usage(format!(
            "found {source}, expected the record of a run that has ended"
        )));
    }
    let path = args
        .html
        .clone()
        .unwrap_or_else(|| match args.log.as_str() {
            "-" => "report.html".into(),
            log => format!("{log}.html").into(),
        });
    let mut inputs = vec![("the record", Path::new(&args.log))];
    inputs.extend(args.elf.iter().map(|path| ("--elf", path.as_path())));
    inputs.extend(args.pages.iter().map(|path| ("--pages", path.as_path())));
    inputs.extend(args.hosts.iter().map(|path| ("--hosts", path.as_path())));
    file::keep_apart(&[("--html", &path)], &inputs)?;
    let names = match &args.pages {
        Some(pages) => {
            let files = ListingArgs {
                pages: pages.clone(),
                hosts: args.hosts.clone(),
                politeness: args.politeness,
            };
            Names::from_listing(&files.read(POLITENESS)?)?
        }
        None => Names::default(),
    };
    let mut builds = Vec::new();
    for file in &args.elf {
        builds.push(Arc::new(Firmware::read(file)?));
    }
    let mut builds = builds.into_iter();
    let Some(firmware) = builds.next() else {
        return Err(Error::Usage("found no --elf, expected --elf FILE".into()));
    };
    let setting = ReadSetting {
        source,
        firmware,
        other_builds: builds.collect(),
        record: None,
        baud: 0,
        speed: None,
        follow: false,
    };
    let probe = Arc::new(Mutex::new(MonitoredProbe::new(
        "probe".into(),
        Arc::new(names),
    )));
    // A frame that cannot be decoded is counted, not complained about.
    decode::hush_panics();
    StreamReader::open(
        setting,
        Arc::clone(&probe),
        shown_progress(&args.log),
        Arc::new(AtomicBool::new(false)),
    )?
    .run();
    let probe = probe
        .lock()
        .map_err(|_| Error::Usage("reading the log failed".into()))?;
    if let Stream::Broken(why) = &probe.stream {
        return Err(Error::Usage(why.clone()));
    }
    if let Some(complaint) = &probe.complaint {
        return Err(Error::Usage(complaint.clone()));
    }
    if probe.frames == 0 {
        return Err(Error::Usage(format!(
            "found no line in {}, expected the log of a probe",
            args.log
        )));
    }
    let view = View::new(&probe, 0);
    file::write(&path, &html(&args.log, &view))?;
    output::say(format_args!("report: {}", path.display()));
    print_summary(&[view], format)
}

/// Shows how much of a record has been read, where it is a file.
fn shown_progress(log: &str) -> Option<Listener> {
    let total = std::fs::metadata(log).ok()?.len();
    let mut progress = Progress::new("reading", total);
    let mut done = 0;
    Some(Box::new(move |_: &MonitoredProbe, line: &decode::Line| {
        done += line.bytes as u64;
        progress.at(done);
    }))
}

fn html(log: &str, view: &View) -> String {
    let who = view
        .firmware
        .as_deref()
        .unwrap_or("a probe without a boot banner");
    let build = view
        .build
        .as_deref()
        .map_or_else(String::new, |build| format!(", build {build}"));
    let facts = format!(
        "{log}: {who}{build}; {} over {} boots; {} lines decoded, {} frames lost ({} bytes).",
        readable::span(view.now_s),
        view.boots,
        view.frames,
        view.lost_frames,
        view.lost_bytes
    );
    let facts = escape(&facts);
    let figures = escape(&figures(view).to_text());
    let pages = escape(&pages(view).to_text());
    let plots = plot::svg(&plots(view));
    plot::document(
        "dunlin report",
        "What the probe did",
        &format!(
            "<p>{facts}</p>\n<pre>{figures}</pre>\n{plots}\n<h2>Pages</h2>\n<pre>{pages}</pre>\n\
            <p><b>freshness</b> and <b>changes a day</b> are estimated from the log; <b>reported</b> and <b>optimum</b> are \
            the probe's own word.</p>"
        ),
    )
}

fn figures(view: &View) -> Table {
    let mut table = Table::new(&["figure", "value"]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    let estimate = |figure| readable::estimate(figure, view.visits_a_page);
    row("freshness at the end", estimate(view.freshness));
    row("… reported by the probe", estimate(view.freshness_reported));
    row("optimum for its budget", estimate(view.optimum));
    row("fetches", view.fetches.to_string());
    row(
        "of these 304",
        format!(
            "{} ({})",
            view.not_modified,
            readable::percent(view.not_modified_share)
        ),
    );
    row("new versions", view.changed.to_string());
    row("errors", view.errors.to_string());
    row("denied by robots.txt", view.robots_denied.to_string());
    row("bytes of bodies", view.bytes.to_string());
    row(
        "mean time of a fetch",
        view.mean_fetch_s
            .map_or_else(|| "–".into(), |s| format!("{:.0} ms", 1e3 * s)),
    );
    table
}

fn pages(view: &View) -> Table {
    let mut table = Table::new(&[
        "page",
        "status",
        "changes_a_day",
        "last_change",
        "visits",
        "changes",
        "errors",
    ]);
    let mut rows: Vec<_> = view.pages.iter().collect();
    if rows.len() > PAGES {
        rows.sort_by_key(|page| std::cmp::Reverse(page.changes));
        rows.truncate(PAGES);
    }
    for page in rows {
        let mut row = vec![
            page.url.clone(),
            page.status.clone().unwrap_or_else(|| "–".into()),
            readable::rate(page.rate),
        ];
        row.push(readable::ago(view.now_s, page.last_change_s));
        row.extend([page.visits, page.changes, page.errors].map(|count| count.to_string()));
        table.row(row);
    }
    table
}

fn plots(view: &View) -> Vec<Plot> {
    let hour = |seconds: f64| seconds / 3_600.0;
    let course =
        |name: &str, of: fn(&crate::monitor::time_series::SeriesPoint) -> Option<f64>| Line {
            name: name.into(),
            points: view
                .series
                .iter()
                .filter_map(|point| Some((hour(point.time_s), of(point)?)))
                .collect(),
        };
    let freshness = [
        course("from the log", |point| point.freshness),
        course("reported", |point| point.reported),
        course("optimum", |point| point.optimum),
    ];
    let fetches = [course("fetches", |point| Some(point.fetches_per_minute))];
    let bar = |name: &str, value: u64| Bar {
        name: name.to_owned(),
        value: value as f64,
        plus_minus: None,
    };
    let mut hosts: Vec<_> = view.hosts.iter().filter(|host| host.fetches > 0).collect();
    hosts.sort_by_key(|host| std::cmp::Reverse(host.fetches));
    let title = if hosts.len() > HOSTS {
        format!("Fetches by host (the {HOSTS} busiest of {})", hosts.len())
    } else {
        "Fetches by host".into()
    };
    let hosts: Vec<Bar> = hosts
        .iter()
        .take(HOSTS)
        .map(|host| bar(&plot::shortened(&host.name), host.fetches))
        .collect();
    let errors: Vec<Bar> = view
        .errors_by_kind
        .iter()
        .map(|(kind, count)| bar(kind, *count))
        .collect();
    let mut plots = vec![
        plot::lines(
            "Freshness over time",
            "hour",
            "share of pages fresh, by weight",
            &freshness,
        ),
        plot::lines("Fetches over time", "hour", "a minute", &fetches),
        plot::bars("Pages by changes a day", &rates(view), None),
    ];
    if !hosts.is_empty() {
        plots.push(plot::bars(&title, &hosts, None));
    }
    if !errors.is_empty() {
        plots.push(plot::bars("Errors by kind", &errors, None));
    }
    plots
}

/// How many pages change how often, by powers of ten.
fn rates(view: &View) -> Vec<Bar> {
    let names = [
        "below 0.01",
        "0.01 to 0.1",
        "0.1 to 1",
        "1 to 10",
        "10 to 100",
        "100 to 1,000",
        "above 1,000",
    ];
    let mut counts = [0_u32; 7];
    let rates = view
        .pages
        .iter()
        .filter_map(|page| page.rate)
        .filter(|rate| *rate >= 0.0);
    for rate in rates {
        let place = [0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0]
            .iter()
            .filter(|end| rate >= **end)
            .count();
        counts[place] += 1;
    }
    let bar = |(name, count): (&str, u32)| Bar {
        name: name.into(),
        value: count.into(),
        plus_minus: None,
    };
    names.into_iter().zip(counts).map(bar).collect()
}
