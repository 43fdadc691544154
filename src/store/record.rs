//! What is kept of a device, a host and a page.

use core::fmt;

use crate::fetch::robots::Access;
use crate::fetch::{Etag, Scheme, keyed_hash};
use crate::learn::{Estimate, Trust};

use super::moved::MoveRecord;

/// The newest format that is written and read: 2 since moves are kept, 3 since hosts tell how their
/// robots.txt was read, and the device who gave the time. Pages are still written as version 1, so
/// that a firmware that knows no moves reads them.
pub const VERSION: u8 = 3;
/// Bytes of a record, whatever it holds: room that is promised to one record can be used by any
/// other.
pub const RECORD: usize = 84;

/// What is kept of the device, a host or a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// What is kept of the device.
    Root(Root),
    /// What is kept of a host.
    Host(HostRecord),
    /// What is kept of a page.
    Page(PageRecord),
    /// Where a page has moved to.
    Move(MoveRecord),
}

/// A moment, in seconds: since 1970, or since whatever is known where that is not. Every other one
/// is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stamp(pub(super) u32);

impl Stamp {
    /// The stamp of something that never happened.
    pub const NEVER: Self = Self(0);

    /// A moment; `certain` if it is since 1970, by a clock that was right.
    pub const fn new(seconds: u32, certain: bool) -> Self {
        Self(seconds & !1 | certain as u32)
    }

    /// The moment in seconds.
    pub const fn seconds(self) -> u32 {
        self.0 & !1
    }

    /// Is it since 1970, by a clock that was right?
    pub const fn is_certain(self) -> bool {
        self.0 & 1 != 0
    }
}

/// What is kept of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// The device and its key: state of another one is not trusted.
    pub device: u64,
    /// The page list that the state belongs to, as a hash.
    pub list: u64,
    /// When this was written.
    pub time: Stamp,
    /// A time server or three hosts gave that time: it cannot be earlier now.
    pub firm: bool,
    /// What a fetch costs.
    pub price: f32,
    /// How far what pages have shown is believed; `None` in what earlier firmware wrote.
    pub trust: Option<Trust>,
}

/// What is kept of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRecord {
    /// The host's number: see [`identity`].
    pub host: u64,
    /// How its robots.txt was read; `None` in what earlier firmware wrote, which did not tell.
    pub scheme: Option<Scheme>,
    /// What that came to …
    pub access: Access,
    /// Its name has led to the open Internet.
    pub public: bool,
    /// … and until when that holds.
    pub robots_until: Stamp,
    /// The least time between two fetches, robots Crawl-delay included.
    pub gap_ms: u32,
    /// Failures in a row that are not forgiven yet.
    pub failures: u8,
    /// For how many seconds it was to be left alone …
    pub wait_s: u32,
    /// … and when that was.
    pub time: Stamp,
    /// What a fetch from it costs beyond the common price.
    pub price: f32,
}

/// What is kept of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRecord {
    /// The page's number: see [`identity`].
    pub page: u64,
    /// What is believed about its change rate.
    pub estimate: Estimate,
    /// When it was last fetched.
    pub fetched: Stamp,
    /// The fingerprint of its last version; 0 before the first.
    pub fingerprint: u64,
    /// What its host says, in seconds since 1970; 0 for nothing.
    pub last_modified: u32,
    /// May it be fetched, by its host's robots.txt? `None` if it has not been held against it.
    pub allowed: Option<bool>,
    /// The entity tag of its last version.
    pub etag: Option<Etag>,
}

/// Why a record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RecordError {
    /// Made by a newer firmware.
    Newer {
        /// Its version; expected at most [`VERSION`].
        found: u8,
    },
    /// It is no record, or holds what nobody can have written.
    Nonsense,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { found } => {
                write!(
                    f,
                    "record of version {found}, expected at most {VERSION}: update the firmware"
                )
            }
            Self::Nonsense => f.write_str("a record that makes no sense: its page starts anew"),
        }
    }
}

impl core::error::Error for RecordError {}

/// How a page or a host is known in flash: a hash of its URL or name under the device's key. So a
/// list may change around it, and what another device has learnt means nothing here.
pub fn identity(key: &[u8; 16], name: &str) -> u64 {
    keyed_hash(key, name.as_bytes())
}
