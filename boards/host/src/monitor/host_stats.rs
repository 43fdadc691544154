//! What the log tells about one host, and when it may be asked again.

use super::names::HostName;

/// Whether a host's gate is open, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// The host was not asked yet.
    Unused,
    /// The host may be asked.
    Open,
    /// The host was asked a moment ago, and politeness keeps the gate closed.
    Waiting,
    /// The host failed, or asked for patience.
    BackingOff,
}

impl GateState {
    /// The state in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unused => "not asked yet",
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::BackingOff => "backing off",
        }
    }
}

/// What a host says about its pages, and what that has turned out to be worth.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TellerFigures {
    /// In what form the host tells.
    pub kind: &'static str,
    /// Times that it was listened to.
    pub heard: u64,
    /// Pages that it said to have changed since our last visit.
    pub news: u64,
    /// The share of what it says that is true.
    pub precision: f64,
    /// The share of changes that it tells of.
    pub recall: f64,
    /// Seconds from a change until it was told, on average of the last time.
    pub delay_s: f64,
    /// Visits a day that its signals save.
    pub saves_per_day: f64,
}

/// One host, as far as the log has told.
#[derive(Clone, Debug, Default)]
pub struct HostStats {
    /// Answers of its pages.
    pub fetches: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// The status of its robots.txt.
    pub robots: Option<u16>,
    /// The time between two requests in seconds, as the probe says; else as the page list does.
    pub gap: Option<f64>,
    /// When its gate opens, on the log's timeline in seconds.
    pub opens: Option<f64>,
    /// Whether the gate is closed because of a back-off rather than politeness.
    backing_off: bool,
    /// What it says about its pages, if it says anything.
    pub tells: Option<TellerFigures>,
    /// A count that goes up with whatever happens to the host.
    pub revision: u64,
}

impl HostStats {
    /// Closes the gate after a request that ended at `time`.
    pub fn asked(&mut self, name: Option<&HostName>, time: f64) {
        let gap = self
            .gap
            .or_else(|| name.map(|name| name.gap.as_secs_f64()))
            .unwrap_or(0.0);
        let opens = time + gap;
        // What a host asked for, or brought upon itself, is not shortened by politeness.
        if !(self.backing_off && self.opens.is_some_and(|later| later > opens)) {
            self.opens = Some(opens);
            self.backing_off = false;
        }
    }

    /// Closes the gate for a back-off that begins at `time`.
    pub fn backs_off(&mut self, time: f64, seconds: f64) {
        self.opens = Some(time + seconds);
        self.backing_off = true;
    }

    /// The state of the gate at `time`.
    pub fn state(&self, time: f64) -> GateState {
        match self.opens {
            None => GateState::Unused,
            Some(opens) if opens <= time => GateState::Open,
            Some(_) if self.backing_off => GateState::BackingOff,
            Some(_) => GateState::Waiting,
        }
    }
}
