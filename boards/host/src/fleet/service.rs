//! A planner at work: its mind on a broker, until it is told to stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::http::Shared;
use super::link::{Outgoing, Peer};
use super::view::{self, FleetView, PUBLISHED, ProbeView};
use crate::output;

/// A planner that finds another one's name on the broker waits so long: the other comes back
/// sooner, if it is there at all, and ends this connection by that.
const CONTEST: Duration = Duration::from_secs(4);
/// What a broker has kept comes within this.
const KEPT: Duration = Duration::from_millis(700);
/// The planner's mind is asked at most this often: what comes meanwhile is planned, saved and
/// answered together.
const TURN: Duration = Duration::from_millis(50);
/// A line is printed this often if something has changed, …
const LINE: Duration = Duration::from_secs(1);
/// … and this often anyway; JSON more often.
const QUIET_LINE: Duration = Duration::from_secs(60);
const QUIET_JSON: Duration = Duration::from_secs(5);

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// There is no connection to the broker.
    Away,
    /// Is another planner there? Until then nothing is said.
    Asking(Instant),
    /// Another planner was there, under this epoch.
    Contested(Instant, u32),
    /// This planner is at work.
    Leading,
}

/// A planner's end of the connection.
pub struct Service {
    shared: Arc<Shared>,
    presence: String,
    fleet: String,
    stage: Stage,
    /// What the broker has kept of probes, until it is clear who leads.
    early: Vec<(String, Vec<u8>, bool)>,
    /// Why it ends, if it does so by itself.
    pub refused: Option<String>,
    progress: Progress,
    discovered: usize,
    /// When state was last published, and the probes at that time.
    published: (Instant, Vec<ProbeView>),
    ticked: Option<Instant>,
    viewed: Option<Instant>,
    failing: bool,
    away: bool,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// What is told whoever watches.
#[derive(Debug, Default)]
struct Progress {
    json: bool,
    /// When a line was last printed, and JSON.
    at: Option<(Instant, Instant)>,
    last: [usize; 6],
}

impl Progress {
    fn show(&mut self, view: &FleetView) {
        let count = |is_so: fn(&ProbeView) -> bool| {
            let probes = view.probes.iter();
            probes.filter(|probe| is_so(probe)).count()
        };
        // Figures that always move are worth a line now and then.
        let now = [
            view.probes.len(),
            count(|probe| probe.here),
            count(|probe| probe.lease_s > 0.0),
            view.pages,
            view.pages_without_owner,
            view.hosts_moving,
        ];
        let (line, json) = match self.at {
            Some((line, json)) => (
                now != self.last || line.elapsed() >= QUIET_LINE,
                json.elapsed() >= QUIET_JSON,
            ),
            None => (true, true),
        };
        let moment = Instant::now();
        if line {
            output::say(view::line(view));
        }
        if self.json && (line || json) {
            // Nobody reads any more: the line on stderr is still there.
            let _ = output::print(&output::json(view));
        }
        let (last_line, last_json) = self.at.unwrap_or((moment, moment));
        self.at = Some((
            if line { moment } else { last_line },
            if line || json { moment } else { last_json },
        ));
        self.last = now;
    }
}

impl Service {
    /// A planner that lasts until it is refused. With `json`, its state goes to stdout as well, a
    /// line each time.
    pub fn new(shared: Arc<Shared>, json: bool) -> Self {
        let (presence, fleet) = {
            let coordinator = shared.lock();
            (
                coordinator.presence_topic(),
                coordinator.settings.fleet.clone(),
            )
        };
        Self {
            shared,
            presence,
            fleet,
            stage: Stage::Away,
            early: Vec::new(),
            refused: None,
            progress: Progress {
                json,
                ..Progress::default()
            },
            discovered: 0,
            published: (Instant::now(), Vec::new()),
            ticked: None,
            viewed: None,
            failing: false,
            away: false,
        }
    }

    /// Somebody's word about who plans this fleet.
    fn hear_of_planner(&mut self, payload: &[u8]) {
        #[derive(serde::Deserialize)]
        struct Presence {
            planner: String,
            epoch: u32,
        }
        let Ok(found) = serde_json::from_slice::<Presence>(payload) else {
            return;
        };
        let own = format!("{:016x}", self.shared.lock().planner_id);
        if found.planner == own {
            return;
        }
        match self.stage {
            Stage::Asking(since) => self.stage = Stage::Contested(since, found.epoch),
            Stage::Leading => {
                self.refused = Some(format!(
                    "found another planner on the broker (epoch {}), expected to be the only one: this one stops",
                    found.epoch
                ));
            }
            Stage::Away | Stage::Contested(..) => {}
        }
    }

    /// Begins to work, once nobody else does.
    fn lead(&mut self, epoch: Option<u32>) {
        let now = self.shared.now();
        let mut coordinator = self.shared.lock();
        if let Some(epoch) = epoch {
            coordinator.follow(epoch, now);
        }
        coordinator.connected(now);
        for (topic, payload, kept) in self.early.drain(..) {
            coordinator.heard(&topic, &payload, kept, now);
        }
        drop(coordinator);
        self.stage = Stage::Leading;
        self.discovered = 0;
        self.published.1.clear();
        if std::mem::take(&mut self.away) {
            output::say("the broker is there again");
        }
    }

    /// What is published for everybody, now and then.
    fn publish(&mut self, view: &FleetView, outbox: &mut Vec<Outgoing>) {
        for probe in view.probes.iter().skip(self.discovered) {
            outbox.extend(view::discovery(&self.fleet, &probe.id));
        }
        self.discovered = view.probes.len();
        if self.published.0.elapsed() < PUBLISHED {
            return;
        }
        outbox.extend(view::republished(view, &self.published.1));
        self.published = (Instant::now(), view.probes.clone());
    }
}

impl Peer for Service {
    fn connected(&mut self) {
        self.stage = Stage::Asking(Instant::now());
        self.early.clear();
    }

    fn heard(&mut self, topic: &str, payload: &[u8], kept: bool) {
        if topic == self.presence {
            return self.hear_of_planner(payload);
        }
        match self.stage {
            Stage::Leading => {
                let now = self.shared.now();
                self.shared.lock().heard(topic, payload, kept, now);
            }
            _ => self.early.push((topic.to_owned(), payload.to_vec(), kept)),
        }
    }

    fn outbox(&mut self) -> Vec<Outgoing> {
        match self.stage {
            Stage::Asking(since) if since.elapsed() >= KEPT => self.lead(None),
            Stage::Contested(since, epoch) if since.elapsed() >= CONTEST => self.lead(Some(epoch)),
            _ => {}
        }
        let is_due = self.ticked.is_none_or(|at| at.elapsed() >= TURN);
        if self.stage != Stage::Leading || !is_due {
            return Vec::new();
        }
        self.ticked = Some(Instant::now());
        let now = self.shared.now();
        let mut coordinator = self.shared.lock();
        let ticked = coordinator.tick(now);
        let is_due = self.viewed.is_none_or(|at| at.elapsed() >= LINE);
        let view = is_due.then(|| coordinator.view(now));
        drop(coordinator);
        let mut outbox = match ticked {
            Ok(outbox) => {
                self.failing = false;
                outbox
            }
            Err(why) => {
                if !std::mem::replace(&mut self.failing, true) {
                    output::say(format_args!(
                        "cannot save the planner's state: {why}; nothing is granted until that works again"
                    ));
                }
                Vec::new()
            }
        };
        if let Some(view) = view {
            self.viewed = Some(Instant::now());
            self.progress.show(&view);
            self.publish(&view, &mut outbox);
        }
        outbox
    }

    fn lost(&mut self, why: &str) {
        if let Stage::Contested(..) = self.stage {
            self.refused = Some(
                "found another planner at work on this broker, expected none: stop it first, or give this fleet another name".into(),
            );
        }
        self.stage = Stage::Away;
        if !std::mem::replace(&mut self.away, true) {
            output::say(format_args!(
                "the broker is away: {why}; probes go on within their leases"
            ));
        }
    }

    fn is_over(&mut self) -> bool {
        self.refused.is_some()
    }
}
