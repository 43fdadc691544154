//! What became of a fetch.

use super::Counter;
use crate::polite::Answer;
use crate::time::Duration;

/// What became of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Outcome {
    /// Another version than at the fetch before, or the first one.
    Changed {
        /// How long ago the page says it was modified, if it says so.
        modified_ago: Option<Duration>,
    },
    /// The same version: 304, or 200 with the same fingerprint.
    Unchanged,
    /// Not given to us: 404, 410, any other 4xx, or a URL that cannot be read.
    Gone,
    /// Moved, and the redirect could not be followed.
    Redirected,
    /// The host asked for patience: 429 or any 5xx with `Retry-After`.
    Refused {
        /// How long, if it said so; without that, it is left alone as after
        /// [`Failed`](Self::Failed).
        retry_after: Option<Duration>,
    },
    /// The host could not be asked, or failed as a whole: its name, its robots.txt, or a 429 or 503
    /// that does not say for how long. All of its pages wait.
    Failed,
    /// This page brought no usable answer (any other 5xx, time-out, nonsense, no connection). It is
    /// left alone for a while; its host is, too, once [`polite::SEVERAL`](crate::polite::SEVERAL)
    /// of its pages do that.
    Broken {
        /// How many times in a row by now, 1 for the first.
        times: u8,
    },
    /// Robots rules forbid it; no request was made.
    Denied,
    /// Something else had to be fetched first, such as a redirect's next step: the page is still
    /// due, as soon as the gate lets it.
    Postponed,
    /// The same, for its host's robots.txt, which does not count against the budget: that is one of
    /// visits, and a host with one page would need twice as much.
    RulesFirst,
}

impl Outcome {
    /// Did it bring a version of the page, old or new?
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Changed { .. } | Self::Unchanged)
    }

    /// The counter that such an outcome adds to.
    pub(super) fn counter(self) -> Counter {
        match self {
            Self::Changed { .. } => Counter::Changed,
            Self::Unchanged => Counter::Unchanged,
            Self::Gone => Counter::Gone,
            Self::Redirected => Counter::Redirected,
            Self::Refused { .. } => Counter::Refused,
            Self::Failed | Self::Broken { .. } => Counter::Failed,
            Self::Denied => Counter::Denied,
            Self::Postponed | Self::RulesFirst => Counter::Postponed,
        }
    }

    /// What the host's gate is told.
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Refused { retry_after } => Answer::Refused { retry_after },
            Self::Failed => Answer::Failed,
            Self::Broken { times } => Answer::Broken { again: times > 1 },
            Self::Denied => Answer::NotAsked,
            Self::Changed { .. }
            | Self::Unchanged
            | Self::Gone
            | Self::Redirected
            | Self::Postponed
            | Self::RulesFirst => Answer::Served,
        }
    }
}
