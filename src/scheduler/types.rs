//! What goes into the scheduler and what comes out.

use core::fmt;

use super::Event;
use crate::learn;
use crate::polite::{Answer, Rules};
use crate::time::{Duration, Instant};

/// A page of a scheduler: its place in the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageId<I = u16>(pub I);

/// A host of a scheduler: its place in the host table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostId<I = u16>(pub I);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Decision<I = u16> {
    /// Fetch this page, then `record` what became of it. More may be asked for before that, from
    /// other hosts.
    Fetch(PageId<I>),
    /// Nothing until then: sleep, and ask again.
    WaitUntil(Instant),
    /// Nothing until something is recorded or added.
    Idle,
}

/// What became of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// Another version than at the fetch before, or the first one.
    Changed {
        /// How long ago the page says it was modified, if it says so.
        modified_ago: Option<Duration>,
    },
    /// The same version: 304, or 200 with the same fingerprint.
    Unchanged,
    /// No longer there: 404, 410.
    Gone,
    /// Moved. If for good, the caller follows by changing its own address of the page.
    Redirected,
    /// The host asked for patience: 429, 503.
    Refused {
        /// How long, if it said so.
        retry_after: Option<Duration>,
    },
    /// No answer: connection, name or time-out.
    Failed,
    /// Robots rules forbid it; no request was made.
    Denied,
    /// Something else had to be fetched from its host first (robots.txt, a redirect's next step):
    /// the page is still due, as soon as the gate lets it.
    Postponed,
}

impl Outcome {
    /// Did it bring a version of the page, old or new?
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Changed { .. } | Self::Unchanged)
    }

    pub(super) fn event(self) -> Event {
        match self {
            Self::Changed { .. } => Event::Changed,
            Self::Unchanged => Event::Unchanged,
            Self::Gone => Event::Gone,
            Self::Redirected => Event::Redirected,
            Self::Refused { .. } => Event::Refused,
            Self::Failed => Event::Failed,
            Self::Denied => Event::Denied,
            Self::Postponed => Event::Postponed,
        }
    }

    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Refused { retry_after } => Answer::Refused { retry_after },
            Self::Failed => Answer::Failed,
            Self::Denied => Answer::NotAsked,
            Self::Changed { .. }
            | Self::Unchanged
            | Self::Gone
            | Self::Redirected
            | Self::Postponed => Answer::Served,
        }
    }
}

/// How due times follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Engine {
    /// A gap after the last fetch.
    Index,
    /// A gap after the last fetch was due.
    #[default]
    Carousel,
}

/// What a scheduler is told once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Settings {
    /// How due times follow each other.
    pub engine: Engine,
    /// Fetches that may start at once when the budget has not been used up: in any window of length
    /// W at most `W × budget + burst` requests are made, and one more for each page that was
    /// [`Outcome::Denied`] in it. At least 1; as many as there are sockets is a good number.
    pub burst: u16,
    /// What holds for every gate.
    pub rules: Rules,
    /// How evidence about change rates is weighed.
    pub learn: learn::Settings,
    /// Fetch from hosts with allowed hours while the time of day is not known.
    pub fetch_without_clock: bool,
    /// For the little that is random: the spread of back-offs.
    pub seed: u32,
}

impl Settings {
    /// The carousel, four fetches at once.
    pub const DEFAULT: Self = Self {
        engine: Engine::Carousel,
        burst: 4,
        rules: Rules::DEFAULT,
        learn: learn::Settings::DEFAULT,
        fetch_without_clock: false,
        seed: 1,
    };
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is known of a page when it is added.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageSettings {
    /// Importance, above 0. What is beyond 10⁻⁹ to 10⁹ is brought there.
    pub weight: f32,
    /// Changes a day; `None` to start from what its host's pages have shown.
    pub rate: Option<f32>,
    /// How firmly the rate is believed: as if so many changes had been seen. From 500 on it counts
    /// as known, and a page that changes too fast to be kept fresh may be given up.
    pub confidence: f32,
}

impl PageSettings {
    /// Weight 1, nothing known.
    pub const DEFAULT: Self = Self {
        weight: 1.0,
        rate: None,
        confidence: 4.0,
    };
}

impl Default for PageSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a call was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Error {
    /// The page table is full.
    PagesFull,
    /// The host table is full.
    HostsFull,
    /// There is no such page, or it is being fetched.
    UnknownPage,
    /// There is no such host.
    UnknownHost,
    /// A page of the host is being fetched.
    HostBusy,
    /// The page is not being fetched.
    NotInFlight,
    /// A weight that is not a number above 0.
    Weight,
    /// A rate that is not a number from 0.
    Rate,
    /// A budget that is not a number above 0.
    Budget,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PagesFull => "the page table is full: remove a page or build with more PAGES",
            Self::HostsFull => "the host table is full: build with more HOSTS",
            Self::UnknownPage => "no such page, or it is being fetched: record its outcome first",
            Self::UnknownHost => "no such host: add it first",
            Self::HostBusy => "a page of this host is being fetched: record its outcome first",
            Self::NotInFlight => {
                "the page is not being fetched: record what `next` asked for, once"
            }
            Self::Weight => "expected a weight above 0",
            Self::Rate => "expected a rate from 0 changes a day",
            Self::Budget => "expected a budget above 0 fetches a day, or none",
        })
    }
}

impl core::error::Error for Error {}
