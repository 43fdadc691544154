//! What happened, in numbers.

use std::collections::BTreeMap;

use crate::news::Kind;

/// Kinds of error that are told apart; the vocabulary has nine.
const KINDS: usize = 32;
/// Upper ends of the histogram of fetch durations, in seconds.
pub const DURATIONS: [f64; 8] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// What happened, counted from the lines of the log over all boots.
#[derive(Clone, Debug, Default)]
pub struct EventCounts {
    /// Pages that were answered, redirects included.
    pub fetches: u64,
    /// Answers with status 304.
    pub not_modified: u64,
    /// Answers with another version than before.
    pub changed: u64,
    /// Answers with the first version of a page.
    pub first: u64,
    /// News by its kind, in the order of [`Kind::ALL`].
    pub news: [u64; Kind::ALL.len()],
    /// Requests that were not answered, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Turns that robots rules forbade.
    pub denied: u64,
    /// Redirects that were not followed, by reason.
    pub astray: BTreeMap<String, u64>,
    /// Versions that are with a collector.
    pub collected: u64,
    /// Versions that are not, by reason.
    pub uncollected: BTreeMap<String, u64>,
    /// Answers that were compressed unasked.
    pub encoded: u64,
    /// Answers that were longer than what is read of them.
    pub cut: u64,
    /// How many bytes all bodies had.
    pub bytes: u64,
    /// Answers that took no longer than each of [`DURATIONS`], and all others.
    pub durations: [u64; DURATIONS.len() + 1],
    /// Seconds all answers took.
    pub seconds: f64,
}

/// One more of a kind. A log that makes kinds up does not fill the memory.
pub(super) fn count(kinds: &mut BTreeMap<String, u64>, kind: &str) {
    let known = kinds.contains_key(kind) || kinds.len() < KINDS;
    *kinds
        .entry(if known { kind } else { "other" }.to_owned())
        .or_default() += 1;
}

impl EventCounts {
    /// Counts errors of all kinds.
    pub fn all_errors(&self) -> u64 {
        self.errors.values().sum()
    }

    /// An answer took so many seconds.
    pub(super) fn took(&mut self, seconds: f64) {
        self.seconds += seconds;
        let place = DURATIONS
            .iter()
            .position(|end| seconds <= *end)
            .unwrap_or(DURATIONS.len());
        self.durations[place] += 1;
    }
}
