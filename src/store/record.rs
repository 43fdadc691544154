//! What is kept of a device, a host and a page, and how it is written down.

use core::fmt;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::fetch::robots::Access;
use crate::fetch::{Etag, Scheme};
use crate::learn::Estimate;

/// The newest format that is written and read: 2 since moves are kept, 3 since hosts tell how their
/// robots.txt was read, and the device who gave the time. Pages are still written as version 1, so that a firmware that
/// knows no moves reads them.
pub const VERSION: u8 = 3;
/// Bytes of a record, whatever it holds: room that is promised to one record can be used by any
/// other.
pub const RECORD: usize = 84;
/// Version and number.
const HEADER: usize = 5;

/// Something worth keeping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// Of the device.
    Root(Root),
    /// Of a host.
    Host(HostRecord),
    /// Of a page.
    Page(PageRecord),
    /// Of where a page has moved to.
    Move(MoveRecord),
}

/// A moment, in seconds: since 1970, or since whatever is known where that is not. Every other one
/// is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stamp(u32);

impl Stamp {
    /// It never happened.
    pub const NEVER: Self = Self(0);

    /// A moment; `certain` if it is since 1970, by a clock that was right.
    pub const fn new(seconds: u32, certain: bool) -> Self {
        Self(seconds & !1 | certain as u32)
    }

    /// Its seconds.
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
    /// The page list.
    pub list: u64,
    /// When this was written.
    pub time: Stamp,
    /// A time server or three hosts gave that time: it cannot be earlier now.
    pub firm: bool,
    /// What a fetch costs.
    pub price: f32,
}

/// What is kept of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRecord {
    /// See [`identity`].
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
    /// See [`identity`].
    pub page: u64,
    /// What is believed about its change rate.
    pub estimate: Estimate,
    /// When it was last fetched.
    pub fetched: Stamp,
    /// Of its last version; 0 before the first.
    pub fingerprint: u64,
    /// What its host says, in seconds since 1970; 0 for nothing.
    pub last_modified: u32,
    /// May it be fetched, by its host's robots.txt? `None` if it has not been held against it.
    pub allowed: Option<bool>,
    /// Of its last version.
    pub etag: Option<Etag>,
}

/// Where a page has moved to for good, or that it has not: its new URL as far as it differs from
/// the one in the list.
///
/// Most moves change the scheme, add `www.` or a slash: a few bytes. A target that differs by more
/// than [`MoveRecord::LONGEST`] bytes is not kept: after a restart, one more request finds it
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveRecord {
    /// See [`identity`].
    pub page: u64,
    /// So many bytes of the list's URL begin the new one …
    start: u16,
    /// … then come these …
    between: [u8; Self::LONGEST],
    length: u8,
    /// … and so many bytes of the list's URL end it.
    end: u16,
}

impl MoveRecord {
    /// Bytes that a new URL may have of its own.
    pub const LONGEST: usize = 64;

    /// The page is where the list says, as far as is known.
    pub const fn home(page: u64) -> Self {
        Self {
            page,
            start: 0,
            between: [0; Self::LONGEST],
            length: 0,
            end: 0,
        }
    }

    /// The page, `own` in the list, is at `to` now. If that cannot be kept, it is where the list
    /// says.
    pub fn new(page: u64, own: &str, to: &str) -> Self {
        let own = own.as_bytes();
        let to = to.as_bytes();
        let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
        let start = own.iter().zip(to).take_while(same).count();
        let own = own.get(start..).unwrap_or_default();
        let to = to.get(start..).unwrap_or_default();
        let end = own
            .iter()
            .rev()
            .zip(to.iter().rev())
            .take_while(same)
            .count();
        let between = to.get(..to.len() - end).unwrap_or_default();
        let mut record = Self::home(page);
        if let (Some(room), Ok(start), Ok(end)) = (
            record.between.get_mut(..between.len()),
            start.try_into(),
            end.try_into(),
        ) {
            room.copy_from_slice(between);
            record.start = start;
            record.length = between.len() as u8;
            record.end = end;
        }
        record
    }

    /// Where the page is that is `own` in the list; `None` if it is there, or if that is longer
    /// than `N` bytes.
    pub fn target<const N: usize>(&self, own: &str) -> Option<heapless::String<N>> {
        let own = own.as_bytes();
        let mut target = heapless::Vec::new();
        target
            .extend_from_slice(own.get(..self.start.into())?)
            .ok()?;
        target.extend_from_slice(self.between()).ok()?;
        target
            .extend_from_slice(own.get(own.len().checked_sub(self.end.into())?..)?)
            .ok()?;
        heapless::String::from_utf8(target)
            .ok()
            .filter(|target| !target.is_empty())
    }

    /// Version 2 as it is written: identity, both lengths, length and bytes of what is between.
    fn write(&self, body: &mut [u8]) {
        let (page, [a, b], [c, d]) = (
            self.page.to_le_bytes(),
            self.start.to_le_bytes(),
            self.end.to_le_bytes(),
        );
        let bytes = page
            .into_iter()
            .chain([a, b, c, d, self.length])
            .chain(self.between);
        body.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    }

    fn from_bytes(body: &[u8]) -> Option<Self> {
        let (page, body) = body.split_first_chunk()?;
        let ([a, b, c, d, length], body) = body.split_first_chunk()?;
        let start = u16::from_le_bytes([*a, *b]);
        let end = u16::from_le_bytes([*c, *d]);
        let record = Self {
            start,
            end,
            length: *length,
            ..Self::home(u64::from_le_bytes(*page))
        };
        let between = *body.first_chunk()?;
        (usize::from(*length) <= Self::LONGEST).then_some(Self { between, ..record })
    }

    fn between(&self) -> &[u8] {
        self.between.get(..self.length.into()).unwrap_or_default()
    }
}

/// Why a record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
    hash(key, name.as_bytes())
}

/// What nobody without the key can tell. Not once for every caller: it takes 900 bytes.
#[inline(never)]
pub(crate) fn hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    SipHasher13::new_with_key(key).hash(bytes)
}

/// Version 1 as it is written. Numbers that use most of their bits are arrays: as varints they
/// would be longer.
#[derive(Serialize, Deserialize)]
enum Version1<'a> {
    Root {
        device: [u8; 8],
        list: [u8; 8],
        time: [u8; 4],
        price: f32,
    },
    Host {
        host: [u8; 8],
        access: u8,
        robots_until: [u8; 4],
        gap_ms: u32,
        failures: u8,
        wait_s: u32,
        time: [u8; 4],
        price: f32,
    },
    Page {
        page: [u8; 8],
        shape: f32,
        time: f32,
        evidence: [u8; 4],
        fetched: [u8; 4],
        fingerprint: [u8; 8],
        last_modified: [u8; 4],
        allowed: u8,
        etag: &'a [u8],
    },
}

const ACCESS: [Access; 4] = [
    Access::Unknown,
    Access::Rules,
    Access::AllowAll,
    Access::DenyAll,
];
/// Schemes in the order of their numbers: each adds four to the access.
const SCHEMES: [Option<Scheme>; 3] = [None, Some(Scheme::Http), Some(Scheme::Https)];
/// Added to both for a name that has led to the open Internet.
const PUBLIC: u8 = 16;
const ALLOWED: [Option<bool>; 3] = [None, Some(true), Some(false)];

fn place<T: PartialEq>(list: &[T], wanted: T) -> u8 {
    list.iter().position(|known| *known == wanted).unwrap_or(0) as u8
}

impl Record {
    /// Reads what [`encode`] wrote, or an earlier firmware.
    pub(super) fn decode(item: &[u8]) -> Result<Self, RecordError> {
        let (version, record) = item.split_first().ok_or(RecordError::Nonsense)?;
        let record = record.get(HEADER - 1..).ok_or(RecordError::Nonsense)?;
        match version {
            1 | 3 => postcard::from_bytes::<Version1<'_>>(record)
                .ok()
                .and_then(|record| Self::from_version1(record, *version >= 3))
                .ok_or(RecordError::Nonsense),
            2 => MoveRecord::from_bytes(record)
                .map(Self::Move)
                .ok_or(RecordError::Nonsense),
            0 => Err(RecordError::Nonsense),
            newer => Err(RecordError::Newer { found: *newer }),
        }
    }

    /// Version 3 has the same layout; it tells of the device that its time is `firm`.
    fn from_version1(record: Version1<'_>, firm: bool) -> Option<Self> {
        Some(match record {
            Version1::Root {
                device,
                list,
                time,
                price,
            } => Self::Root(Root {
                device: u64::from_le_bytes(device),
                list: u64::from_le_bytes(list),
                time: Stamp(u32::from_le_bytes(time)),
                firm,
                price: sound_price(price)?,
            }),
            Version1::Host {
                host,
                access,
                robots_until,
                gap_ms,
                failures,
                wait_s,
                time,
                price,
            } => Self::Host(HostRecord {
                host: u64::from_le_bytes(host),
                scheme: *SCHEMES.get(usize::from(access & !PUBLIC) / ACCESS.len())?,
                access: *ACCESS.get(usize::from(access) % ACCESS.len())?,
                public: access & PUBLIC != 0,
                robots_until: Stamp(u32::from_le_bytes(robots_until)),
                gap_ms,
                failures,
                wait_s,
                time: Stamp(u32::from_le_bytes(time)),
                price: sound_price(price)?,
            }),
            Version1::Page {
                page,
                shape,
                time,
                evidence: [a, b, c, d],
                fetched,
                fingerprint,
                last_modified,
                allowed,
                etag,
            } => Self::Page(PageRecord {
                page: u64::from_le_bytes(page),
                estimate: Estimate::from_parts(
                    shape,
                    time,
                    [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])],
                )?,
                fetched: Stamp(u32::from_le_bytes(fetched)),
                fingerprint: u64::from_le_bytes(fingerprint),
                last_modified: u32::from_le_bytes(last_modified),
                allowed: *ALLOWED.get(usize::from(allowed))?,
                etag: if etag.is_empty() {
                    None
                } else {
                    Some(Etag::new(etag)?)
                },
            }),
        })
    }

    /// As it is written in version 1; `None` for what that has not.
    fn as_version1(&self) -> Option<Version1<'_>> {
        Some(match self {
            Self::Move(_) => return None,
            Self::Root(Root {
                device,
                list,
                time,
                price,
                ..
            }) => Version1::Root {
                device: device.to_le_bytes(),
                list: list.to_le_bytes(),
                time: time.0.to_le_bytes(),
                price: *price,
            },
            Self::Host(host) => Version1::Host {
                host: host.host.to_le_bytes(),
                access: place(&SCHEMES, host.scheme) * ACCESS.len() as u8
                    + place(&ACCESS, host.access)
                    + PUBLIC * u8::from(host.public),
                robots_until: host.robots_until.0.to_le_bytes(),
                gap_ms: host.gap_ms,
                failures: host.failures,
                wait_s: host.wait_s,
                time: host.time.0.to_le_bytes(),
                price: host.price,
            },
            Self::Page(page) => {
                let (shape, time, evidence) = page.estimate.parts();
                let [[a, b], [c, d]] = evidence.map(u16::to_le_bytes);
                Version1::Page {
                    page: page.page.to_le_bytes(),
                    shape,
                    time,
                    evidence: [a, b, c, d],
                    fetched: page.fetched.0.to_le_bytes(),
                    fingerprint: page.fingerprint.to_le_bytes(),
                    last_modified: page.last_modified.to_le_bytes(),
                    allowed: place(&ALLOWED, page.allowed),
                    etag: page.etag.as_ref().map_or(&[], Etag::as_bytes),
                }
            }
        })
    }
}

fn sound_price(price: f32) -> Option<f32> {
    (price >= 0.0 && price.is_finite()).then_some(price)
}

/// Writes a record as an item of the log: always [`RECORD`] bytes.
pub(super) fn encode<'b>(record: &Record, number: u32, buffer: &'b mut [u8]) -> &'b [u8] {
    let Some((header, body)) = buffer.split_at_mut_checked(HEADER) else {
        return &[];
    };
    let [a, b, c, d] = number.to_le_bytes();
    let version = match record {
        Record::Move(record) => {
            record.write(body);
            2
        }
        other => {
            // The longest record fits: a test tries it.
            let _ = other
                .as_version1()
                .map(|record| postcard::to_slice(&record, body));
            match other {
                Record::Host(_) | Record::Root(Root { firm: true, .. }) => 3,
                _ => 1,
            }
        }
    };
    header.copy_from_slice(&[version, a, b, c, d]);
    buffer.get(..RECORD).unwrap_or_default()
}

/// An item's number. It has the same place in all versions.
pub(super) fn number(item: &[u8]) -> Option<u32> {
    let [_, a, b, c, d] = *item.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::Prior;

    #[test]
    fn the_longest_records_fit_and_come_back() {
        let page = PageRecord {
            page: u64::MAX,
            estimate: Estimate::new(&Prior::new(3.0, 7.0)),
            fetched: Stamp(u32::MAX),
            fingerprint: u64::MAX,
            last_modified: u32::MAX,
            allowed: Some(false),
            etag: Etag::new(&[b'x'; Etag::LONGEST]),
        };
        let host = HostRecord {
            host: u64::MAX,
            scheme: Some(Scheme::Https),
            access: Access::DenyAll,
            public: true,
            robots_until: Stamp(u32::MAX),
            gap_ms: u32::MAX,
            failures: u8::MAX,
            wait_s: u32::MAX,
            time: Stamp(u32::MAX),
            price: f32::MAX,
        };
        let root = Root {
            device: u64::MAX,
            list: u64::MAX,
            time: Stamp(u32::MAX),
            firm: true,
            price: 1e20,
        };
        let moved = MoveRecord {
            start: u16::MAX,
            end: u16::MAX,
            length: 64,
            ..MoveRecord::home(u64::MAX)
        };
        for record in [
            Record::Page(page),
            Record::Host(host),
            Record::Root(root),
            Record::Move(moved),
        ] {
            let mut buffer = [0xee; 96];
            if let Some(record) = record.as_version1() {
                let mut body = [0; RECORD];
                let used = postcard::to_slice(&record, &mut body)
                    .expect("it fits")
                    .len();
                assert!(used <= RECORD - HEADER, "{used}");
            }
            let item = encode(&record, 77, &mut buffer);
            assert_eq!(item.len(), RECORD);
            assert_eq!(number(item), Some(77));
            assert_eq!(Record::decode(item), Ok(record));
        }
    }

    #[test]
    fn what_nobody_wrote_is_refused() {
        assert_eq!(Record::decode(&[]), Err(RecordError::Nonsense));
        assert_eq!(Record::decode(&[0; RECORD]), Err(RecordError::Nonsense));
        assert_eq!(
            Record::decode(&[4; RECORD]),
            Err(RecordError::Newer { found: 4 })
        );
        let kind = [1, 0, 0, 0, 0, 3];
        assert_eq!(
            Record::decode(&kind),
            Err(RecordError::Nonsense),
            "version 1 has three kinds"
        );
        let mut page = [0; RECORD];
        page[..6].copy_from_slice(&[1, 0, 0, 0, 0, 2]);
        assert_eq!(
            Record::decode(&page),
            Err(RecordError::Nonsense),
            "no belief has no shape"
        );
        let mut moved = [0; RECORD];
        moved[0] = 2;
        assert_eq!(
            Record::decode(&moved),
            Ok(Record::Move(MoveRecord::home(0)))
        );
        assert_eq!(
            Record::decode(&moved[..60]),
            Err(RecordError::Nonsense),
            "cut off"
        );
        moved[17] = 65;
        assert_eq!(
            Record::decode(&moved),
            Err(RecordError::Nonsense),
            "longer than a target can be"
        );
    }

    #[test]
    fn moves_are_kept_by_what_is_new() {
        let own = "http://example.org/a/long/path/that/both/share?and=a&query=too";
        let long = "http://xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.example/";
        for (to, bytes) in [
            (
                "https://example.org/a/long/path/that/both/share?and=a&query=too",
                1,
            ),
            (
                "https://www.example.org/a/long/path/that/both/share?and=a&query=too",
                8,
            ),
            (
                "http://example.org/a/long/path/that/both/share?and=a&query=too/",
                1,
            ),
            ("http://example.org/", 0),
            (
                "http://example.org/a/long/path/that/both/share?and=a&query=tootoo",
                3,
            ),
            (long, 64),
        ] {
            let record = MoveRecord::new(7, own, to);
            assert_eq!(usize::from(record.length), bytes, "{to}");
            assert_eq!(record.target::<256>(own).as_deref(), Some(to));
            assert_eq!(record.target::<10>(own), None, "there is no room for it");
        }
        let longer = "http://yxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.example/";
        assert_eq!(MoveRecord::new(7, own, longer), MoveRecord::home(7));
        assert_eq!(MoveRecord::home(7).target::<256>(own), None);
        let other = MoveRecord::new(7, own, "http://example.org/a").target::<256>("http://b/");
        assert_eq!(other, None, "more than there is of a shorter URL");
    }
}
