//! A probe of this very process, as `dunlin run` is one: what it logs is what its monitor hears.

use std::sync::{Arc, Mutex};

use dunlin::catalog::LogLevel;
use dunlin::probe::{Event, FoundEvent};
use dunlin::time::Instant;

use super::decode::{Level, Line};
use super::names::Names;
use super::self_report::Identity;
use super::state::MonitoredProbe;
use super::web::Probes;

/// The monitor's side of a probe in this process.
#[derive(Clone, Debug)]
pub struct Watched(Arc<Mutex<MonitoredProbe>>);

impl Watched {
    /// A probe of these pages that has not said anything yet.
    pub fn new(names: Names) -> Self {
        let mut probe = MonitoredProbe::new("run".into(), Arc::new(names));
        probe.identity = Some(Identity {
            name: "dunlin run".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            build: String::new(),
        });
        probe.online = Some(true);
        probe.tells_first = true;
        Self(Arc::new(Mutex::new(probe)))
    }

    /// All there is to show.
    pub fn probes(&self) -> Probes {
        Arc::new(vec![Arc::clone(&self.0)])
    }

    /// Takes in what became of a page beyond the list.
    pub fn hear_found(&self, event: &FoundEvent<'_>, now: Instant) {
        let Ok(mut probe) = self.0.lock() else { return };
        if event.level() <= LogLevel::Info {
            probe.hear(Line {
                micros: Some(now.as_micros()),
                level: Level::Info,
                message: event.to_string(),
                bytes: 0,
            });
        }
    }

    /// Takes in an event, as the lines that a board would log of it.
    pub fn hear(&self, event: &Event, now: Instant) {
        let Ok(mut probe) = self.0.lock() else { return };
        event.each_line(|event| {
            let level = match event.level() {
                LogLevel::Error => Level::Error,
                LogLevel::Warn => Level::Warn,
                LogLevel::Info => Level::Info,
                // A board would not log the start of every fetch, either.
                LogLevel::Debug => return,
            };
            probe.hear(Line {
                micros: Some(now.as_micros()),
                level,
                message: event.to_string(),
                bytes: 0,
            });
        });
    }
}
