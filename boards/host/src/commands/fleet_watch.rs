//! `dunlin fleet watch`: a fleet as its broker tells it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_lite::FutureExt as _;

use super::planner::show;
use super::run::{A_CENTURY_S, until_told};
use super::web_args::WebArgs;
use crate::board::net::{HostConnect, HostResolve};
use crate::error::Error;
use crate::fleet::broker_url::BrokerUrl;
use crate::fleet::link::{self, Outgoing, Peer};
use crate::fleet::roster::MOST_PROBES;
use crate::fleet::view::{FleetView, ProbeView, csv, fleet_topic, line, probe_topic};
use crate::lists::trust;
use crate::output::{self, Format};

/// At most one line in this time.
const LINE: Duration = Duration::from_secs(1);

/// What `fleet watch` takes.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// The broker: mqtt://USER:PASSWORD@HOST:PORT/FLEET, or @FILE with that in it
    #[arg(value_name = "URL", value_parser = BrokerUrl::parse)]
    broker: BrokerUrl,
    /// Trust this certificate authority for the broker, besides the public ones: a PEM file
    #[arg(long, value_name = "FILE.pem")]
    ca: Option<PathBuf>,
    /// Stop after this long, at most a century
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=A_CENTURY_S))]
    seconds: Option<u64>,
    #[command(flatten)]
    web: WebArgs,
}

/// Runs the command.
///
/// # Errors
/// An address cannot be listened on.
pub fn run(args: &WatchArgs, format: Format) -> Result<(), Error> {
    watch(
        &args.broker,
        args.ca.as_deref(),
        args.seconds,
        &args.web,
        format,
    )
}

/// Watches a fleet until it is told to stop, or for so many seconds.
///
/// # Errors
/// An address cannot be listened on.
pub(super) fn watch(
    broker: &BrokerUrl,
    ca: Option<&Path>,
    seconds: Option<u64>,
    web: &WebArgs,
    format: Format,
) -> Result<(), Error> {
    web.check()?;
    let fleet = &broker.fleet;
    let heard = Arc::new(Mutex::new(Heard::new(fleet)));
    let looked = Arc::clone(&heard);
    let look = move || {
        let heard = looked.lock().unwrap_or_else(PoisonError::into_inner);
        heard.view()
    };
    show(web, Arc::new(look))?;
    let settings = link::Settings {
        url: broker.clone(),
        client: format!("dunlin-watch-{}", std::process::id()),
        filters: vec![(format!("dunlin/1/{fleet}/planner/#"), false)],
        will: None,
    };
    let mut watcher = Watcher {
        probes: probe_topic(fleet, ""),
        whole: fleet_topic(fleet),
        heard,
        format,
        names_said: false,
        said: None,
        away: false,
    };
    let authorities = ca.map(trust::authorities).transpose()?;
    let connect = HostConnect::to_broker(&broker.host, authorities.unwrap_or_default());
    let resolve = HostResolve::default();
    let stop = until_told(seconds)?;
    async_io::block_on(stop.or(link::serve(&settings, &connect, &resolve, &mut watcher)));
    Ok(())
}

/// What was heard of a fleet, and when: time passes for leases when nobody says so any more.
struct Heard {
    view: FleetView,
    /// When the planner was last heard of, …
    whole: Instant,
    /// … and each of the probes.
    probes: Vec<Instant>,
}

impl Heard {
    fn new(fleet: &str) -> Self {
        Self {
            view: FleetView {
                fleet: fleet.to_owned(),
                ..FleetView::default()
            },
            whole: Instant::now(),
            probes: Vec::new(),
        }
    }

    /// The fleet as it is now, by what was heard.
    fn view(&self) -> FleetView {
        let mut view = self.view.clone();
        view.planner_silent_s = self.whole.elapsed().as_secs_f64();
        for (probe, heard) in view.probes.iter_mut().zip(&self.probes) {
            probe.lease_s = (probe.lease_s - heard.elapsed().as_secs_f64()).max(0.0);
        }
        view
    }

    fn take_whole(&mut self, whole: FleetView, kept: bool) {
        let probes = std::mem::take(&mut self.view.probes);
        self.view = FleetView { probes, ..whole };
        if !kept {
            self.whole = Instant::now();
        }
    }

    /// Of a message that the broker has kept nobody knows how old it is: its lease holds no longer
    /// than it says.
    fn take_probe(&mut self, id: &str, probe: ProbeView) {
        let mut known = self.view.probes.iter_mut().zip(&mut self.probes);
        if let Some((known, heard)) = known.find(|(known, _)| known.id == id) {
            (*known, *heard) = (probe, Instant::now());
        } else if self.probes.len() < MOST_PROBES {
            self.view.probes.push(probe);
            self.probes.push(Instant::now());
        }
    }
}

/// Listens to a fleet, and prints what it hears.
struct Watcher {
    /// What the topics of probes begin with.
    probes: String,
    whole: String,
    heard: Arc<Mutex<Heard>>,
    format: Format,
    /// Whether the names of columns were printed.
    names_said: bool,
    said: Option<(Instant, String)>,
    away: bool,
}

impl Watcher {
    fn take(&self, topic: &str, payload: &[u8], kept: bool) -> Option<()> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if topic == self.whole {
            heard.take_whole(serde_json::from_slice(payload).ok()?, kept);
            return Some(());
        }
        let id = topic.strip_prefix(&self.probes)?;
        heard.take_probe(id, serde_json::from_slice(payload).ok()?);
        Some(())
    }
}

impl Peer for Watcher {
    fn connected(&mut self) {
        if std::mem::take(&mut self.away) {
            output::say("the broker is there again");
        }
    }

    fn heard(&mut self, topic: &str, payload: &[u8], kept: bool) {
        // What is no state of a fleet is somebody else's.
        let _ = self.take(topic, payload, kept);
    }

    fn outbox(&mut self) -> Vec<Outgoing> {
        let is_due = self
            .said
            .as_ref()
            .is_none_or(|(at, _)| at.elapsed() >= LINE);
        if is_due {
            let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            let view = heard.view();
            drop(heard);
            let text = line(&view);
            let is_new = self.said.as_ref().is_none_or(|(_, last)| *last != text);
            if is_new && (view.epoch > 0 || view.is_silent()) {
                output::say(&text);
                let names = !std::mem::replace(&mut self.names_said, true);
                let text = match self.format {
                    Format::Json => output::json(&view),
                    Format::Csv => csv(&view, names),
                    Format::Table => String::new(),
                };
                // Nobody reads any more: the line on stderr is still there.
                let _ = output::print(&text);
            }
            self.said = Some((Instant::now(), text));
        }
        Vec::new()
    }

    fn lost(&mut self, why: &str) {
        if !std::mem::replace(&mut self.away, true) {
            output::say(format_args!("the broker is away: {why}"));
        }
    }

    fn is_over(&mut self) -> bool {
        false
    }
}
