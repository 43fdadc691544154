//! What is kept of a device, a host and a page, and how it is written down.

use core::fmt;
use core::hash::Hasher as _;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::fetch::Etag;
use crate::fetch::robots::Access;
use crate::learn::Estimate;

/// The format that is written, and the newest that is read.
pub const VERSION: u8 = 1;
/// Bytes of a record, whatever it holds: room that is promised to one record can be used by any other.
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
}

/// A moment, in seconds: since 1970, or since whatever is known where that is not. Every other one is enough.
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
    /// When this was written: it cannot be earlier now.
    pub time: Stamp,
    /// What a fetch costs.
    pub price: f32,
}

/// What is kept of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRecord {
    /// See [`identity`].
    pub host: u64,
    /// What its robots.txt came to …
    pub access: Access,
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
                write!(f, "record of version {found}, expected at most {VERSION}: update the firmware")
            }
            Self::Nonsense => f.write_str("a record that makes no sense: its page starts anew"),
        }
    }
}

impl core::error::Error for RecordError {}

/// How a page or a host is known in flash: a hash of its URL or name under the device's key. So a list may change
/// around it, and what another device has learnt means nothing here.
pub fn identity(key: &[u8; 16], name: &str) -> u64 {
    hash(key, name.as_bytes())
}

/// What nobody without the key can tell. Not once for every caller: it takes 900 bytes.
#[inline(never)]
pub(crate) fn hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_key(key);
    hasher.write(bytes);
    hasher.finish()
}

/// Version 1 as it is written. Numbers that use most of their bits are arrays: as varints they would be longer.
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

const ACCESS: [Access; 4] = [Access::Unknown, Access::Rules, Access::AllowAll, Access::DenyAll];
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
            1 => postcard::from_bytes::<Version1<'_>>(record)
                .ok()
                .and_then(Self::from_version1)
                .ok_or(RecordError::Nonsense),
            0 => Err(RecordError::Nonsense),
            newer => Err(RecordError::Newer { found: *newer }),
        }
    }

    fn from_version1(record: Version1<'_>) -> Option<Self> {
        Some(match record {
            Version1::Root { device, list, time, price } => Self::Root(Root {
                device: u64::from_le_bytes(device),
                list: u64::from_le_bytes(list),
                time: Stamp(u32::from_le_bytes(time)),
                price: sound_price(price)?,
            }),
            Version1::Host { host, access, robots_until, gap_ms, failures, wait_s, time, price } => {
                Self::Host(HostRecord {
                    host: u64::from_le_bytes(host),
                    access: *ACCESS.get(usize::from(access))?,
                    robots_until: Stamp(u32::from_le_bytes(robots_until)),
                    gap_ms,
                    failures,
                    wait_s,
                    time: Stamp(u32::from_le_bytes(time)),
                    price: sound_price(price)?,
                })
            }
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
                etag: if etag.is_empty() { None } else { Some(Etag::new(etag)?) },
            }),
        })
    }

    fn as_version1(&self) -> Version1<'_> {
        match self {
            Self::Root(Root { device, list, time, price }) => Version1::Root {
                device: device.to_le_bytes(),
                list: list.to_le_bytes(),
                time: time.0.to_le_bytes(),
                price: *price,
            },
            Self::Host(host) => Version1::Host {
                host: host.host.to_le_bytes(),
                access: place(&ACCESS, host.access),
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
        }
    }
}

fn sound_price(price: f32) -> Option<f32> {
    (price >= 0.0 && price.is_finite()).then_some(price)
}

/// Writes a record as an item of the log: always [`RECORD`] bytes.
pub(super) fn encode<'b>(record: &Record, number: u32, buffer: &'b mut [u8]) -> &'b [u8] {
    let Some((header, body)) = buffer.split_at_mut_checked(HEADER) else { return &[] };
    let [a, b, c, d] = number.to_le_bytes();
    header.copy_from_slice(&[VERSION, a, b, c, d]);
    // The longest record fits: a test tries it.
    let _ = postcard::to_slice(&record.as_version1(), body);
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
            access: Access::DenyAll,
            robots_until: Stamp(u32::MAX),
            gap_ms: u32::MAX,
            failures: u8::MAX,
            wait_s: u32::MAX,
            time: Stamp(u32::MAX),
            price: f32::MAX,
        };
        let root = Root { device: u64::MAX, list: u64::MAX, time: Stamp(u32::MAX), price: 1e20 };
        for record in [Record::Page(page), Record::Host(host), Record::Root(root)] {
            let mut buffer = [0xee; 96];
            let mut body = [0; RECORD];
            let used = postcard::to_slice(&record.as_version1(), &mut body).expect("it fits").len();
            assert!(used <= RECORD - HEADER, "{used}");
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
        assert_eq!(Record::decode(&[2; RECORD]), Err(RecordError::Newer { found: 2 }));
        let kind = [VERSION, 0, 0, 0, 0, 3];
        assert_eq!(Record::decode(&kind), Err(RecordError::Nonsense), "there are three kinds");
        let mut page = [0; RECORD];
        page[..6].copy_from_slice(&[VERSION, 0, 0, 0, 0, 2]);
        assert_eq!(Record::decode(&page), Err(RecordError::Nonsense), "no belief has no shape");
    }
}
