//! What the log tells about one host, and when it may be asked again.

use super::names::HostName;

/// Is a host's gate open?
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// It was not asked yet.
    Unused,
    /// It may be asked.
    Open,
    /// It was asked a moment ago: politeness.
    Waiting,
    /// It failed, or asked for patience.
    BackingOff,
}

impl GateState {
    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unused => "not asked yet",
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::BackingOff => "backing off",
        }
    }
}

/// One host, as far as the log has told.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Answers of its pages.
    pub fetches: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// The status of its robots.txt.
    pub robots: Option<u16>,
    /// Between two requests, in seconds, as the probe says; else as the page list does.
    pub gap: Option<f64>,
    /// When its gate opens, on the log's timeline in seconds.
    pub opens: Option<f64>,
    /// Until then it backs off, rather than being polite.
    backing_off: bool,
    /// Goes up with whatever happens to it.
    pub revision: u64,
}

impl Host {
    /// A request ended at `time`.
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

    /// It is left alone from `time` on.
    pub fn backs_off(&mut self, time: f64, seconds: f64) {
        self.opens = Some(time + seconds);
        self.backing_off = true;
    }

    /// Its gate at `time`.
    pub fn state(&self, time: f64) -> GateState {
        match self.opens {
            None => GateState::Unused,
            Some(opens) if opens <= time => GateState::Open,
            Some(_) if self.backing_off => GateState::BackingOff,
            Some(_) => GateState::Waiting,
        }
    }
}
