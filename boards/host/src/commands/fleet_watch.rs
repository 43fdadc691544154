//! `dunlin fleet watch`: a fleet as its broker tells it.

use std::path::PathBuf;
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
    args.web.check()?;
    let fleet = &args.broker.fleet;
    let view = FleetView {
        fleet: fleet.clone(),
        ..FleetView::default()
    };
    let view = Arc::new(Mutex::new(view));
    let looked = Arc::clone(&view);
    let look = move || {
        looked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    };
    show(&args.web, Arc::new(look))?;
    let settings = link::Settings {
        url: args.broker.clone(),
        client: format!("dunlin-watch-{}", std::process::id()),
        filters: vec![(format!("dunlin/1/{fleet}/planner/#"), false)],
        will: None,
    };
    let mut watcher = Watcher {
        probes: probe_topic(fleet, ""),
        whole: fleet_topic(fleet),
        view,
        format,
        names_said: false,
        said: None,
        away: false,
    };
    let authorities = args.ca.as_deref().map(trust::authorities).transpose()?;
    let connect = HostConnect::to_broker(&args.broker.host, authorities.unwrap_or_default());
    let resolve = HostResolve::default();
    let stop = until_told(args.seconds)?;
    async_io::block_on(stop.or(link::serve(&settings, &connect, &resolve, &mut watcher)));
    Ok(())
}

/// Listens to a fleet, and prints what it hears.
struct Watcher {
    /// What the topics of probes begin with.
    probes: String,
    whole: String,
    view: Arc<Mutex<FleetView>>,
    format: Format,
    /// Whether the names of columns were printed.
    names_said: bool,
    said: Option<(Instant, String)>,
    away: bool,
}

impl Watcher {
    fn take(&self, topic: &str, payload: &[u8]) -> Option<()> {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        if topic == self.whole {
            let whole: FleetView = serde_json::from_slice(payload).ok()?;
            let probes = std::mem::take(&mut view.probes);
            *view = FleetView { probes, ..whole };
            return Some(());
        }
        let id = topic.strip_prefix(&self.probes)?;
        let probe: ProbeView = serde_json::from_slice(payload).ok()?;
        match view.probes.iter_mut().find(|known| known.id == id) {
            Some(known) => *known = probe,
            None => view.probes.push(probe),
        }
        Some(())
    }
}

impl Peer for Watcher {
    fn connected(&mut self) {
        if std::mem::take(&mut self.away) {
            output::say("the broker is there again");
        }
    }

    fn heard(&mut self, topic: &str, payload: &[u8], _kept: bool) {
        // What is no state of a fleet is somebody else's.
        let _ = self.take(topic, payload);
    }

    fn outbox(&mut self) -> Vec<Outgoing> {
        let is_due = self
            .said
            .as_ref()
            .is_none_or(|(at, _)| at.elapsed() >= LINE);
        if is_due {
            let view = self
                .view
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let text = line(&view);
            let is_new = self.said.as_ref().is_none_or(|(_, last)| *last != text);
            if is_new && view.epoch > 0 {
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
