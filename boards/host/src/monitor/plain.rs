//! The log as plain text: one line of output for each line of the log, and the figures at the end.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dunlin::probe::LoggedEvent;
use serde::Serialize;

use super::decode::Line;
use super::readable;
use super::state::MonitoredProbe;
use super::stream_reader::Listener;
use super::view::View;
use crate::error::Error;
use crate::output::{self, Format, Table};

/// Prints lines of several streams to standard output.
#[derive(Clone, Debug)]
pub struct Printer {
    format: Format,
    /// Whether lines say which probe they are of.
    several: bool,
    out: Arc<Mutex<Out>>,
    stop: Arc<AtomicBool>,
}

/// Standard output, and what went wrong with it first.
#[derive(Debug)]
struct Out {
    stdout: BufWriter<Stdout>,
    failed: Option<io::Error>,
}

/// One line of the log as `--format json` prints it.
#[derive(Serialize)]
struct JsonLine<'a> {
    probe: &'a str,
    time_s: Option<f64>,
    level: &'a str,
    message: &'a str,
    url: Option<&'a str>,
}

impl Printer {
    /// Prints in this format, for one probe or several; sets `stop` when nobody reads the output
    /// any more.
    pub fn new(format: Format, several: bool, stop: Arc<AtomicBool>) -> Self {
        Self {
            format,
            several,
            out: Arc::new(Mutex::new(Out {
                stdout: BufWriter::new(std::io::stdout()),
                failed: None,
            })),
            stop,
        }
    }

    /// Prints what stands above the lines.
    pub fn header(&self) {
        if self.format == Format::Csv {
            self.write("probe,time_s,level,message,url\n");
        }
    }

    /// Prints every line of a stream as it comes.
    pub fn listener(&self) -> Listener {
        let printer = self.clone();
        Box::new(move |probe, line| {
            // The reason is given once, instead of thousands of lines that could not be decoded.
            if probe.complaint.is_none() {
                printer.write(&printer.text(probe, line));
            }
        })
    }

    /// Hands on what was printed so far.
    pub fn flush(&self) {
        self.attempt(|out| out.flush());
    }

    /// Hands on the rest, and says whether all of it could be written.
    ///
    /// # Errors
    /// Standard output failed, as on a full disk; a reader that went away is not an error.
    pub fn finish(&self) -> Result<(), Error> {
        self.flush();
        let failed = self.out.lock().ok().and_then(|mut out| out.failed.take());
        output::to_stdout(failed.map_or(Ok(()), Err))
    }

    fn text(&self, probe: &MonitoredProbe, line: &Line) -> String {
        let event = LoggedEvent::read(&line.message);
        let page = event.as_ref().and_then(LoggedEvent::page);
        let url = page
            .and_then(|page| probe.page_name(page.into()))
            .map(|page| page.url.as_str());
        match self.format {
            Format::Json => output::json(&JsonLine {
                probe: &probe.name,
                time_s: line.micros.map(|micros| micros as f64 * 1e-6),
                level: line.level.name(),
                message: &line.message,
                url,
            }),
            Format::Csv => {
                let cells = [
                    &probe.name,
                    &line.time(),
                    line.level.name(),
                    &line.message,
                    url.unwrap_or_default(),
                ];
                output::csv_line(&cells)
            }
            Format::Table => {
                let name = if self.several {
                    format!("{:<10} ", probe.name)
                } else {
                    String::new()
                };
                let host = event.as_ref().and_then(host);
                let host = host.and_then(|host| probe.host_name(host.into()));
                let about = url.or(host.map(|host| host.name.as_str()));
                let about = about.map_or_else(String::new, |about| format!("  {about}"));
                format!("{name}{line}{about}\n")
            }
        }
    }

    fn write(&self, text: &str) {
        self.attempt(|out| out.write_all(text.as_bytes()));
    }

    /// Once a write has failed, the streams are stopped: nobody would see them.
    fn attempt(&self, write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>) {
        let Ok(mut out) = self.out.lock() else {
            return;
        };
        if let Err(error) = write(&mut out.stdout) {
            out.failed.get_or_insert(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The host that an event is about, if it is about one.
fn host(event: &LoggedEvent<'_>) -> Option<u16> {
    match *event {
        LoggedEvent::Robots { host, .. }
        | LoggedEvent::Costly { host }
        | LoggedEvent::Gap { host, .. }
        | LoggedEvent::BackOff { host, .. } => Some(host),
        _ => None,
    }
}

/// Prints the figures of all probes.
///
/// # Errors
/// They could not be written.
pub fn print_summary(views: &[View], format: Format) -> Result<(), Error> {
    output::print(&match (format, views) {
        (Format::Json, [view]) => output::json(view),
        (Format::Json, views) => output::json(&views),
        (Format::Csv, views) => {
            let exact = |_: &View, share: Option<f64>| {
                share.map_or_else(String::new, |share| share.to_string())
            };
            summary(views, exact).to_csv()
        }
        (Format::Table, views) => {
            let shown = |view: &View, share| match readable::learning(view.visits_a_page) {
                Some(_) => "learning".to_owned(),
                None => readable::share(share),
            };
            summary(views, shown).to_text()
        }
    })
}

/// Under the names that JSON has.
fn summary(views: &[View], show: impl Fn(&View, Option<f64>) -> String) -> Table {
    let mut table = Table::new(&[
        "probe",
        "fetches",
        "not_modified",
        "changed",
        "errors",
        "robots_denied",
        "bytes",
        "freshness",
        "freshness_reported",
        "optimum",
        "frames",
        "lost_frames",
        "lost_bytes",
    ]);
    for view in views {
        let mut row = vec![view.probe.clone()];
        let counts = [
            view.fetches,
            view.not_modified,
            view.changed,
            view.errors,
            view.robots_denied,
            view.bytes,
        ];
        row.extend(counts.map(|count| count.to_string()));
        let figures = [view.freshness, view.freshness_reported, view.optimum];
        row.extend(figures.map(|figure| show(view, figure)));
        row.extend([view.frames, view.lost_frames, view.lost_bytes].map(|count| count.to_string()));
        table.row(row);
    }
    table
}
