//! What goes over the wire: a version byte, then the message in postcard. The topic says which one
//! it is.

use serde::{Deserialize, Serialize};

use crate::math::crc32;

/// The format that is written; another one is not read.
pub const VERSION: u8 = 1;
/// Visits of one batch.
pub const MOST_VISITS: usize = 16;
/// Bytes of the longest message, a full batch of visits.
pub const LONGEST: usize = 512;

/// `up/state`, kept by the broker; as the probe's will it says that the probe is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The number of this start: see [`Report::boot`].
    pub boot: u32,
    /// It is there. A hint only: a lease is the truth.
    pub online: bool,
}

/// `up/report`: how a probe is doing, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Drawn at random at each start, so that what was meant for an earlier run is known.
    pub boot: u32,
    /// Counts this boot's reports.
    pub seq: u32,
    /// The version of the list that it crawls; 0 for none.
    pub list: u32,
    /// For how long it has done that, in milliseconds: so long ago, at least, it last asked a host
    /// that is not in it.
    pub list_for_ms: u32,
    /// The planner's epoch of the grant that is in force …
    pub epoch: u32,
    /// … its number, 0 for none …
    pub grant: u32,
    /// … and the fetches a day that it allows.
    pub budget: f32,
    /// What it says of itself.
    pub outlook: Outlook,
}

/// What a probe says of itself in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// What a fetch is worth to it at its budget.
    pub price: f32,
    /// How much its demand falls when the price rises; see [`Demand`](super::Demand).
    pub elasticity: f32,
    /// Weighted mean freshness, as it believes.
    pub freshness: f32,
    /// Pages that it has room for.
    pub pages: u16,
    /// Hosts that it has room for.
    pub hosts: u16,
    /// Fetches a day that its link and slots can make.
    pub link: f32,
    /// Fetches since it started.
    pub fetches: u32,
    /// Fetches since it started that failed.
    pub errors: u32,
}

/// `down/grant`, never kept by the broker: what a probe may do until its lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The start of the probe that sent the report which it answers.
    pub boot: u32,
    /// The number of the report which it answers.
    pub seq: u32,
    /// Counts the planner's starts.
    pub epoch: u32,
    /// Counts the grants to this probe.
    pub number: u32,
    /// Holds for a list of this version or a later one.
    pub list: u32,
    /// How long it holds, in milliseconds.
    pub lease_ms: u32,
    /// How many fetches a day the probe may make.
    pub budget: f32,
}

/// `down/list`, kept by the broker: there is a list for this probe, to be had by HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListNotice<'a> {
    /// Goes up with each list of this probe.
    pub version: u32,
    /// The digest of the list's bytes: see [`list_digest`].
    pub digest: u32,
    /// How many bytes it has.
    pub length: u32,
    /// The URL that the list is fetched from.
    pub url: &'a str,
}

/// One visit, and what is believed of the page after it: whoever has the last one knows all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VisitReport {
    /// The page's place in the list.
    pub page: u16,
    /// How long before the batch was sent, in seconds.
    pub ago_s: u32,
    /// Whether the visit found a change.
    pub changed: bool,
    /// The belief's parts: see [`Estimate::parts`](crate::learn::Estimate::parts).
    pub shape: f32,
    /// A part of the belief: see `shape`.
    pub time: f32,
    /// A part of the belief: see `shape`.
    pub watch: [u16; 2],
}

/// `up/visits`: what a probe has found, visit by visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visits {
    /// The number of this start: see [`Report::boot`].
    pub boot: u32,
    /// The version of the list that pages are numbered by.
    pub list: u32,
    /// Counts this boot's visits: the number of the first one here.
    pub first: u32,
    /// The visits in their order.
    pub visits: heapless::Vec<VisitReport, MOST_VISITS>,
}

/// What a probe can be told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// Visit this page as soon as budget and politeness allow: place, and version of the list.
    Pull {
        /// The page's place …
        page: u16,
        /// … in the list of this version.
        list: u32,
    },
    /// Fetch nothing until told otherwise, or go on.
    Pause(bool),
}

/// `down/cmd`: doing it twice is doing it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What the answer is known by.
    pub id: u32,
    /// What is to be done.
    pub verb: Verb,
}

/// `up/done`: a probe says what became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The number of this start: see [`Report::boot`].
    pub boot: u32,
    /// The number of the command.
    pub id: u32,
    /// It was done; otherwise it makes no sense here, such as a page of another list.
    pub done: bool,
}

/// Why a message is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MessageError {
    /// It was written by another version of the software.
    Version {
        /// Its version; expected [`VERSION`].
        found: u8,
    },
    /// It is no message of this kind.
    Nonsense,
}

impl core::fmt::Display for MessageError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Version { found } => write!(
                f,
                "found a message of version {found}, expected {VERSION}: update the older side"
            ),
            Self::Nonsense => f.write_str("found bytes that are no message of this topic"),
        }
    }
}

impl core::error::Error for MessageError {}

/// What a [`ListNotice`] says of a list's bytes: their CRC-32 (IEEE 802.3). It tells damage and a
/// list of another version; whoever can write the planner's topics needs no forgery.
///
/// ```
/// assert_eq!(dunlin::fleet::list_digest(b"123456789"), 0xcbf4_3926);
/// ```
pub fn list_digest(list: &[u8]) -> u32 {
    crc32(&[list])
}

/// Writes a message; `None` if the buffer is too short.
///
/// ```
/// use dunlin::fleet::{LONGEST, Presence, decode, encode};
/// let here = Presence { boot: 7, online: true };
/// let mut buffer = [0; LONGEST];
/// let bytes = encode(&here, &mut buffer).expect("a short message");
/// assert_eq!(decode(bytes), Ok(here));
/// ```
pub fn encode<'b, T: Serialize>(message: &T, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let (version, body) = buffer.split_first_mut()?;
    *version = VERSION;
    let length = postcard::to_slice(message, body).ok()?.len();
    buffer.get(..=length)
}

/// Reads a message.
///
/// # Errors
/// See [`MessageError`].
pub fn decode<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, MessageError> {
    let (version, body) = bytes.split_first().ok_or(MessageError::Nonsense)?;
    if *version != VERSION {
        return Err(MessageError::Version { found: *version });
    }
    let (message, rest) = postcard::take_from_bytes(body).map_err(|_| MessageError::Nonsense)?;
    rest.is_empty()
        .then_some(message)
        .ok_or(MessageError::Nonsense)
}
