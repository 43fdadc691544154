//! `dunlin monitor`: a probe's log as a live view.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use dunlin::time::Duration;

use super::fleet_watch::watch;
use super::run::POLITENESS;
use super::told_args::ToldArgs;
use super::web_args::WebArgs;
use crate::archive::reader::Reader;
use crate::board::computer::unix_time;
use crate::board::net::{HostConnect, HostResolve};
use crate::board::verify::Trust;
use crate::duration;
use crate::error::Error;
use crate::filter::Filters;
use crate::fleet::broker_url::BrokerUrl;
use crate::lists::listing::ListingArgs;
use crate::monitor::decode;
use crate::monitor::firmware::Firmware;
use crate::monitor::herald::Audience;
use crate::monitor::names::Names;
use crate::monitor::plain::{Printer, print_summary};
use crate::monitor::source::Source;
use crate::monitor::state::{MonitoredProbe, Stream};
use crate::monitor::stream_reader::{ReadSetting, StreamReader};
use crate::monitor::terminal::Screen;
use crate::monitor::view::View;
use crate::monitor::web::{Probes, Site};
use crate::output::file::{Named, keep_apart};
use crate::output::{self, Format};

/// Watch probes at work, by their defmt logs
///
/// The log comes from a record, stdin, a serial line, or a TCP port as QEMU and probe-rs serve it:
///
///   dunlin monitor --elf probe.elf --log /dev/ttyACM0 --pages PAGES.csv
///   dunlin monitor --elf probe.elf --log tcp:127.0.0.1:19021 --web --record today.defmt
///   dunlin monitor --elf probe.elf --log today.defmt --speed 60
///   dunlin monitor --elf probe.elf --log attic=/dev/ttyACM0 --log cellar=tcp:10.0.0.7:19021
///
/// On a terminal it is a live view (q ends it); in a pipe, or with --plain, one line for each line
/// of the log. The page list that the probe's image was made from turns numbers into names, and
/// tells when hosts may be asked again.
///
/// Freshness "now", change rates and due times are the monitor's own estimates from what the log
/// tells; "reported" and "optimum" are the probe's word, given once a minute.
///
/// --exec, --webhook and --feed tell others of changes and bad news, as `dunlin run` does; pages
/// are named by --pages. --web lists them, too, and with --archive DIR shows what changed.
///
/// A fleet is watched from its broker alone, without logs, as `dunlin fleet watch` does:
///
///   dunlin monitor --fleet @roof/monitor.url --web
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The firmware's ELF file, for all probes or one of them (repeatable: a probe that is updated
    /// is decoded with the build that its banner names)
    #[arg(long, value_name = "[NAME=]FILE", required_unless_present = "fleet")]
    elf: Vec<String>,
    /// Where a log comes from: a file, `-`, a serial line, or tcp:HOST:PORT (repeatable)
    #[arg(long, value_name = "[NAME=]SOURCE", required_unless_present = "fleet")]
    log: Vec<String>,
    /// The page list the probe's image was made from
    #[arg(long, value_name = "[NAME=]PAGES.csv")]
    pages: Vec<String>,
    /// What was special about some hosts when the image was made
    #[arg(long, value_name = "[NAME=]HOSTS.csv")]
    hosts: Vec<String>,
    /// The politeness the image was made with. Default: 15s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    politeness: Option<Duration>,
    /// Keep the log, byte for byte, for later: a record is a log
    #[arg(long, value_name = "[NAME=]FILE")]
    record: Vec<String>,
    /// Replay a record so many times as fast as it was; without it, as fast as possible
    #[arg(long, value_name = "X", value_parser = speed)]
    speed: Option<f64>,
    /// Wait at the end of a file for what is still being written to it
    #[arg(long)]
    follow: bool,
    /// Of a serial line
    #[arg(long, value_name = "BAUD", default_value_t = 115_200)]
    baud: u32,
    /// Print the log line by line, instead of the live view
    #[arg(long, conflicts_with = "summary")]
    plain: bool,
    /// Print the figures at the end of the log, instead of the live view
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    told: ToldArgs,
    #[command(flatten)]
    web: WebArgs,
    /// Show histories and differences of what a collector keeps in this folder; it is only read
    #[arg(long, value_name = "DIR", requires = "web")]
    archive: Option<PathBuf>,
    /// Watch a fleet instead: its broker, mqtt://USER:PASSWORD@HOST:PORT/FLEET, or @FILE with that
    /// in it
    #[arg(long, value_name = "URL", value_parser = BrokerUrl::parse, conflicts_with_all = [
        "elf", "log", "pages", "hosts", "politeness", "record", "speed", "follow", "plain", "summary",
        "archive", "exec", "webhook", "feed",
    ])]
    fleet: Option<BrokerUrl>,
    /// Trust this certificate authority for the broker, besides the public ones: a PEM file
    #[arg(long, value_name = "FILE.pem", requires = "fleet")]
    ca: Option<PathBuf>,
}

fn speed(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|speed: &f64| (1e-3..=1e9).contains(speed));
    number.ok_or_else(|| "expected a number from 0.001 to 1e9".into())
}

/// Runs the command.
///
/// # Errors
/// Something wrong with a file or an option; a log that cannot be decoded with this ELF file.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    if let Some(broker) = &args.fleet {
        return watch(broker, args.ca.as_deref(), None, &args.web, format);
    }
    args.web.check()?;
    let (streams, filters) = streams(args)?;
    if let Some(archive) = &args.archive {
        // Says it if there is none.
        Reader::open(archive)?;
    }
    let connect = HostConnect::new(Trust::default());
    let resolve = HostResolve::default();
    let told = args.told.start(&connect, &resolve, unix_time())?;
    // Without a list, pages have numbers only.
    let is_named = streams.iter().any(|(_, names, _)| !names.pages.is_empty());
    let recent = (is_named || args.archive.is_some()).then(|| told.recent());
    let audience = Audience::new(told);
    let stop = Arc::new(AtomicBool::new(false));
    let show_terminal = !args.plain && !args.summary && std::io::stdout().is_terminal();
    let lines = args.plain || !(args.summary || show_terminal || args.web.is_asked());
    let several = streams.len() > 1;
    let printer = Printer::new(format, several, Arc::clone(&stop));
    let mut readers = Vec::new();
    let mut probes = Vec::new();
    for (name, names, setting) in streams {
        let probe = Arc::new(Mutex::new(MonitoredProbe::new(name, names)));
        let listener = lines.then(|| printer.listener());
        let herald = audience.herald(setting.source.is_record());
        let reader = StreamReader::open(setting, Arc::clone(&probe), listener, Arc::clone(&stop))?;
        readers.push(reader.with_herald(herald));
        probes.push(probe);
    }
    let probes: Probes = Arc::new(probes);
    args.web.start(Site {
        probes: Arc::clone(&probes),
        recent,
        archive: args.archive.clone(),
        filters: Arc::new(filters),
    })?;
    if lines {
        printer.header();
    }
    let told = Arc::clone(&stop);
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))
        .map_err(|why| Error::Usage(format!("cannot listen for Ctrl-C: {why}")))?;
    // Before the first frame is decoded: a damaged one must not be complained about.
    let screen = if show_terminal {
        Some(Screen::prepare(&stop).map_err(undrawable)?)
    } else {
        decode::hush_panics();
        None
    };
    let threads: Vec<_> = readers.into_iter().map(StreamReader::spawn).collect();
    if let Some(screen) = screen {
        screen.run(&probes, &stop).map_err(undrawable)?;
        unharmed(threads)?;
        return recorded(&probes).and(audience.finish());
    }
    let mut said = vec![None; probes.len()];
    while !stop.load(Ordering::Relaxed) {
        let ended = threads.iter().all(|thread| thread.is_finished());
        complain(&probes, &mut said);
        printer.flush();
        if ended && !args.web.is_asked() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(if ended {
            200
        } else {
            20
        }));
    }
    unharmed(threads)?;
    let told = audience.finish();
    printer.finish()?;
    finish(args, format, &probes, &said).and(told)
}

fn undrawable(why: std::io::Error) -> Error {
    Error::Usage(format!("cannot draw on this terminal: {why}"))
}

/// A stream that nobody reads any more must not look like one that has ended.
fn unharmed(threads: Vec<JoinHandle<()>>) -> Result<(), Error> {
    let mut ended = threads.into_iter().filter(|thread| thread.is_finished());
    ended.try_for_each(JoinHandle::join).map_err(|_| {
        Error::Usage(
            "reading a log failed in a way it must not: please report what was printed above"
                .into(),
        )
    })
}

/// What is left to say at the end.
fn finish(
    args: &Args,
    format: Format,
    probes: &Probes,
    said: &[Option<String>],
) -> Result<(), Error> {
    let mut views = Vec::new();
    for (probe, said) in probes.iter().zip(said) {
        let Ok(probe) = probe.lock() else { continue };
        if let Stream::Broken(why) = &probe.stream {
            return Err(Error::Usage(why.clone()));
        }
        if let Some(complaint) = &probe.complaint {
            // Whether the end of a pipe was seen before its complaint is chance.
            let wrong = if said.as_ref() == Some(complaint) {
                Error::Said
            } else {
                Error::Usage
            };
            return Err(wrong(complaint.clone()));
        }
        views.push(View::new(&probe, 0));
    }
    if args.summary {
        print_summary(&views, format)?;
    }
    recorded(probes)
}

/// A record that is not complete is no success, whatever was shown.
fn recorded(probes: &Probes) -> Result<(), Error> {
    let probes = probes.iter().filter_map(|probe| probe.lock().ok());
    let why = probes.filter_map(|probe| probe.unrecorded.clone()).next();
    why.map_or(Ok(()), |why| Err(Error::Usage(why)))
}

/// Says on stderr what is wrong with a live stream, once.
fn complain(probes: &Probes, said: &mut [Option<String>]) {
    for (probe, said) in probes.iter().zip(said) {
        let Ok(probe) = probe.lock() else { continue };
        let wrong = match (&probe.complaint, &probe.stream) {
            (Some(complaint), Stream::Open) => Some(complaint.clone()),
            (_, Stream::Broken(why)) if why.ends_with("trying again") => Some(why.clone()),
            _ => None,
        };
        if let Some(wrong) = wrong.as_ref().filter(|wrong| said.as_ref() != Some(wrong)) {
            output::say(format_args!("{}: {wrong}", probe.name));
        }
        // What was said of a stream that has ended stays said.
        if probe.stream != Stream::Ended {
            *said = wrong;
        }
    }
}

/// One stream: its name, what its numbers stand for, and how it is read.
type StreamSetting = (String, Arc<Names>, ReadSetting);

/// The streams, and what of their pages counts as a change.
fn streams(args: &Args) -> Result<(Vec<StreamSetting>, Filters), Error> {
    let logs: Vec<(Option<&str>, &str)> = args.log.iter().map(|text| named(text)).collect();
    let count = logs.len();
    let names: Vec<String> = logs
        .iter()
        .enumerate()
        .map(|(index, (name, _))| match name {
            Some(name) => (*name).to_owned(),
            None if count == 1 => "probe".into(),
            None => format!("probe{}", index + 1),
        })
        .collect();
    if let Some(twice) = names
        .iter()
        .enumerate()
        .find(|(index, name)| names[..*index].contains(name))
    {
        return Err(Error::Usage(format!(
            "found two probes called {}, expected --log NAME=SOURCE for each",
            twice.1
        )));
    }
    let elf = Choice::several("--elf", &args.elf, &names)?;
    let pages = Choice::new("--pages", &args.pages, &names)?;
    let hosts = Choice::new("--hosts", &args.hosts, &names)?;
    let record = Choice::new("--record", &args.record, &names)?;
    if count > 1 && !record.for_all.is_empty() {
        return Err(Error::Usage(
            "found one --record for several probes, expected --record NAME=FILE for each".into(),
        ));
    }
    let mut streams = Vec::new();
    let mut filters = Filters::default();
    for (name, (_, source)) in names.into_iter().zip(logs) {
        let mut builds = Vec::new();
        for file in elf.all_of(&name) {
            builds.push(Arc::new(Firmware::read(file.as_ref())?));
        }
        let Some(firmware) = builds.first().cloned() else {
            return Err(Error::Usage(format!(
                "found no --elf for {name}, expected --elf FILE or --elf {name}=FILE"
            )));
        };
        let listing = pages.of(&name).map(|pages| ListingArgs {
            pages: PathBuf::from(pages),
            hosts: hosts.of(&name).map(PathBuf::from),
            politeness: args.politeness,
        });
        let names = match listing {
            Some(listing) => {
                let listing = listing.read(POLITENESS)?;
                filters.add(&listing.list, &[]);
                Names::from_listing(&listing)?
            }
            None if args.told.is_asked() => {
                return Err(Error::Usage(format!(
                    "found nothing that names the pages of {name}, expected --pages PAGES.csv or --pages {name}=PAGES.csv: whoever is told knows no numbers"
                )));
            }
            None => Names::default(),
        };
        let setting = ReadSetting {
            source: Source::parse(source),
            firmware,
            other_builds: builds.split_off(1),
            record: record.of(&name).map(PathBuf::from),
            baud: args.baud,
            speed: args.speed,
            follow: args.follow,
        };
        streams.push((name, Arc::new(names), setting));
    }
    let records: Vec<Named<'_>> = streams
        .iter()
        .filter_map(|(_, _, setting)| Some(("--record", setting.record.as_deref()?)))
        .chain(args.told.files())
        .collect();
    let read = [&args.log, &args.elf, &args.pages, &args.hosts].into_iter();
    let read: Vec<Named<'_>> = read
        .flatten()
        .map(|text| ("a file to read", Path::new(named(text).1)))
        .collect();
    keep_apart(&records, &read)?;
    Ok((streams, filters))
}

/// Splits `NAME=VALUE`. A name is a word, so that paths with a `=` in them need no more than a `./`
/// in front.
fn named(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => (Some(name), value),
        _ => (None, text),
    }
}

/// An option given for all probes, for some by name, or both.
struct Choice<'a> {
    for_all: Vec<&'a str>,
    by_name: Vec<(&'a str, &'a str)>,
}

impl<'a> Choice<'a> {
    /// Reads an option of which each probe has one value at most.
    fn new(option: &str, values: &'a [String], probes: &[String]) -> Result<Self, Error> {
        let choice = Self::several(option, values, probes)?;
        if choice.for_all.len() > 1 {
            return Err(Error::Usage(format!(
                "found {option} twice, expected {option} NAME=… for each probe"
            )));
        }
        Ok(choice)
    }

    /// Reads an option of which a probe may have several values.
    fn several(option: &str, values: &'a [String], probes: &[String]) -> Result<Self, Error> {
        let mut choice = Self {
            for_all: Vec::new(),
            by_name: Vec::new(),
        };
        for (name, value) in values.iter().map(|text| named(text)) {
            match name {
                None => choice.for_all.push(value),
                Some(name) if !probes.iter().any(|probe| probe == name) => {
                    let known = probes.join(", ");
                    return Err(Error::Usage(format!(
                        "found {option} for {name:?}, expected one of the probes: {known}"
                    )));
                }
                Some(name) => choice.by_name.push((name, value)),
            }
        }
        Ok(choice)
    }

    /// The value for this probe.
    fn of(&self, probe: &str) -> Option<&'a str> {
        self.all_of(probe).next()
    }

    /// All values for this probe, its own first.
    fn all_of(&self, probe: &str) -> impl Iterator<Item = &'a str> {
        let own = self.by_name.iter().filter(move |(name, _)| *name == probe);
        own.map(|(_, value)| *value)
            .chain(self.for_all.iter().copied())
    }
}
