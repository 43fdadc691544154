//! What is known about a host's robots.txt, and for how long (RFC 9309 §2.3 and §2.4).

use crate::time::{Duration, Instant};

/// What fetching a robots.txt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Access {
    /// It was not fetched yet, or too long ago: ask for it before anything else.
    Unknown,
    /// It was read: its rules decide.
    Rules,
    /// There is none (4xx, or lost in redirects): everything is allowed.
    AllowAll,
    /// The server failed, or did not answer: everything is disallowed until it does.
    DenyAll,
}

impl Access {
    /// By the final status, after redirects; `None` if there was no answer.
    ///
    /// 4xx means that there is no file – except 429, which says "not now". A redirect that leads
    /// nowhere within five hops counts as no file (§2.3.1.2).
    pub const fn from_status(status: Option<u16>) -> Self {
        match status {
            Some(200..300) => Self::Rules,
            Some(429) => Self::DenyAll,
            Some(300..500) => Self::AllowAll,
            _ => Self::DenyAll,
        }
    }
}

/// A host's robots.txt: what it said and when to ask again. 16 bytes, without its rules.
///
/// ```
/// use dunlin::fetch::robots::{Access, HostRobots};
/// use dunlin::time::{Duration, Instant};
///
/// let mut robots = HostRobots::UNKNOWN;
/// assert_eq!(robots.access(Instant::ZERO), Access::Unknown);
/// robots.record(Access::AllowAll, None, Instant::ZERO);
/// assert_eq!(robots.access(Instant::ZERO + Duration::HOUR), Access::AllowAll);
/// assert_eq!(robots.access(Instant::ZERO + Duration::DAY), Access::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostRobots {
    access: Access,
    until: Instant,
}

impl HostRobots {
    /// A host whose robots.txt is not known.
    pub const UNKNOWN: Self = Self {
        access: Access::Unknown,
        until: Instant::ZERO,
    };
    /// Longest time an answer is used (§2.4).
    pub const LONGEST: Duration = Duration::DAY;
    /// Shortest time an answer is used, whatever its cache headers say: a file asked for before
    /// every page would double the load.
    pub const SHORTEST: Duration = Duration::HOUR;
    /// How long a failed server is left alone before the file is asked for again.
    pub const RETRY: Duration = Duration::from_secs(600);

    /// What the file allows now: nothing is known once its answer is too old.
    pub fn access(&self, now: Instant) -> Access {
        if now < self.until {
            self.access
        } else {
            Access::Unknown
        }
    }

    /// What an earlier run was told, until then.
    pub fn restore(&mut self, access: Access, until: Instant) {
        *self = Self { access, until };
    }

    /// When to ask again.
    pub const fn ask_at(&self) -> Instant {
        self.until
    }

    /// Books an answer. `lifetime` is what its cache headers promise, see
    /// [`Fetched::lifetime`](crate::fetch::Fetched::lifetime).
    pub fn record(&mut self, access: Access, lifetime: Option<Duration>, now: Instant) {
        let good_for = match access {
            Access::Unknown => Duration::ZERO,
            Access::DenyAll => Self::RETRY,
            Access::Rules | Access::AllowAll => lifetime
                .unwrap_or(Self::LONGEST)
                .clamp(Self::SHORTEST, Self::LONGEST),
        };
        *self = Self {
            access,
            until: now + good_for,
        };
    }
}
