//! What became of pages so far: why they were not answered, and how many were.

use super::visit::Conclusion;
use crate::fetch::TlsError;
use crate::scheduler::Outcome;

/// Why a page was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Failure {
    /// Its URL cannot be read, or needs a gateway that there is not.
    Url,
    /// Its host's name has no address: no IPv4 address, on a board whose network has no IPv6.
    Name,
    /// No connection could be opened.
    Connection,
    /// The connection broke, or the answer made no sense.
    Response,
    /// The server answered with 5xx.
    Server,
    /// The server answered with 429 or 503: it wants to be left alone.
    Busy,
    /// It was not done in time.
    Deadline,
    /// A redirect led to an address that is not public.
    PrivateAddress,
    /// It is at an IPv6 address, and this board's network has none.
    NoIpv6,
    /// TLS refused its server, and why.
    Tls(TlsError),
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Requests for pages that were answered.
    pub fetches: u32,
    /// How many of these were answered with 304.
    pub not_modified: u32,
    /// How many of these brought a new version.
    pub changed: u32,
    /// Requests that were not answered, or answered with 429 or 5xx.
    pub errors: u32,
    /// Turns that robots rules forbade.
    pub denied: u32,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Seconds that fetches started late, all together.
    pub late_seconds: u64,
}

impl Totals {
    /// Nothing has happened yet.
    pub const ZERO: Self = Self {
        fetches: 0,
        not_modified: 0,
        changed: 0,
        errors: 0,
        denied: 0,
        bytes: 0,
        late_seconds: 0,
    };
}

impl Totals {
    /// Counts how a turn ended.
    pub(super) fn count(&mut self, conclusion: &Conclusion) {
        self.errors += u32::from(conclusion.failure.is_some());
        self.denied += u32::from(conclusion.outcome == Outcome::Denied);
        if let Some(counted) = conclusion.counted {
            self.fetches += 1;
            self.bytes += u64::from(counted.bytes);
            self.changed += u32::from(counted.changed);
            self.not_modified += u32::from(counted.not_modified);
        }
    }
}
