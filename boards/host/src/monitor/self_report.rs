//! What a probe says of itself: its firmware, its own counts, its handshakes.

use dunlin::probe::{LoggedBoardEvent, Totals};

/// The firmware that speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name, as in the banner.
    pub name: String,
    /// The version of the firmware.
    pub version: String,
    /// Its build identity, in sixteen hexadecimal digits.
    pub build: String,
}

impl Identity {
    /// Reads the banner of firmware of ours, and whether it has just booted.
    pub(super) fn read(line: &str) -> Option<(Self, bool)> {
        let (name, version, build, boots) = match LoggedBoardEvent::read(line)? {
            LoggedBoardEvent::Banner {
                name,
                version,
                build,
            } => (name, version, build, true),
            LoggedBoardEvent::Here {
                name,
                version,
                build,
            } => (name, version, build, false),
            _ => return None,
        };
        let identity = Self {
            name: name.to_owned(),
            version: version.to_owned(),
            build: build.to_owned(),
        };
        (name.split(' ').next() == Some("dunlin")).then_some((identity, boots))
    }
}

/// The probe's own count since its boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[allow(missing_docs)] // As in `dunlin::probe::Totals`.
pub struct ReportedTotals {
    pub fetches: u32,
    pub not_modified: u32,
    pub changed: u32,
    pub errors: u32,
    pub robots_denied: u32,
    pub bytes: u64,
    pub late_seconds: u64,
}

impl From<Totals> for ReportedTotals {
    fn from(totals: Totals) -> Self {
        Self {
            fetches: totals.fetches,
            not_modified: totals.not_modified,
            changed: totals.changed,
            errors: totals.errors,
            robots_denied: totals.denied,
            bytes: totals.bytes,
            late_seconds: totals.late_seconds,
        }
    }
}

/// What a probe that speaks https has said of its handshakes since its boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshakes {
    /// How many were made with certificates.
    pub full: u32,
    /// How many resumed a session.
    pub resumed: u32,
    /// Sessions that are kept.
    pub sessions: u32,
    /// The most bytes of the pool that were ever in use.
    pub pool: u32,
}

impl Handshakes {
    pub(super) fn read(line: &str) -> Option<Self> {
        match LoggedBoardEvent::read(line)? {
            LoggedBoardEvent::Tls {
                full,
                resumed,
                sessions,
                pool,
                ..
            } => Some(Self {
                full,
                resumed,
                sessions,
                pool,
            }),
            _ => None,
        }
    }
}
