//! How records are written down: every version that was ever in a device can be read.

use serde::{Deserialize, Serialize};

use super::moved::MoveRecord;
use super::record::{HostRecord, PageRecord, RECORD, Record, RecordError, Root, Stamp};
use crate::fetch::robots::Access;
use crate::fetch::{Etag, Scheme};
use crate::learn::{Estimate, Trust};

/// Bytes of the version and the number, before a record.
const HEADER: usize = 5;

/// Version 1 as it is written. Numbers that use most of their bits are arrays: as varints they
/// would be longer.
#[derive(Serialize, Deserialize)]
enum Version1<'a> {
    Root {
        device: [u8; 8],
        list: [u8; 8],
        time: [u8; 4],
        price: f32,
        // Earlier firmware, which reads no further than the price, left zeros here.
        trust: [f32; 2],
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
                trust,
            } => Self::Root(Root {
                device: u64::from_le_bytes(device),
                list: u64::from_le_bytes(list),
                time: Stamp(u32::from_le_bytes(time)),
                firm,
                price: sound_price(price)?,
                trust: Trust::from_parts(trust),
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

    /// The record as it is written in version 1; `None` for what that has not.
    fn as_version1(&self) -> Option<Version1<'_>> {
        Some(match self {
            Self::Move(_) => return None,
            Self::Root(Root {
                device,
                list,
                time,
                price,
                trust,
                ..
            }) => Version1::Root {
                device: device.to_le_bytes(),
                list: list.to_le_bytes(),
                time: time.0.to_le_bytes(),
                price: *price,
                trust: trust.map_or([0.0; 2], |trust| trust.parts()),
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
            trust: Trust::from_parts([0.75, 64.0]),
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
}
