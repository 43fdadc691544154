//! The page image: what to crawl and how, in one piece of flash beside the firmware.
//!
//! Made on a computer from PAGES.csv, put into flash (or loaded beside the firmware by QEMU), read
//! in place: hosts, pages and names stay where they are, and nothing but an offset is kept of them.
//! A list changes without a new build.
//!
//! ```text
//! 0   magic  "dnln"
//! 4   version u16 · resolve entries u16 · hosts u16 · pages u16
//! 12  length of all u32 · CRC-32 of everything behind it u32
//! 20  one u32 a record: where it starts
//! …   records, postcard: Config, names, hosts, pages (sorted by host), what to ignore
//! ```
//!
//! Numbers are little-endian. A firmware reads images of its own [`VERSION`] and of all earlier
//! ones, and refuses newer ones. What a version adds to a record stands at its end:
//!
//! | version | what is new |
//! |---|---|
//! | 1 | |
//! | 2 | [`Config::sntp`]; behind the last record, what to ignore |

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::fetch::Ignore;

/// The format that is written, and the newest that is read.
pub const VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"dnln";
const HEADER: usize = 20;
/// Where what the checksum covers begins.
const CHECKED: usize = 20;

/// How the probe is to behave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config<'a> {
    /// The product of the User-Agent, such as `dunlin/0.1`.
    pub agent: &'a str,
    /// Where its owner can be reached.
    pub contact: Option<&'a str>,
    /// Fetches a day over all hosts; `None` for what politeness allows.
    pub per_day: Option<f32>,
    /// How long a host is left alone after a first failure, in milliseconds.
    pub back_off_ms: u32,
    /// For one fetch, from the name to the last byte, in milliseconds.
    pub deadline_ms: u32,
    /// Bytes of a page that are read.
    pub body_bytes: u32,
    /// For what is random.
    pub seed: u32,
    /// The key of fingerprints.
    pub key: [u8; 16],
    /// Who fetches https pages for us.
    pub gateway: Option<Gateway<'a>>,
    /// How the device gets its own address.
    pub address: Address,
    /// Local time is universal time and so many minutes: for allowed hours.
    pub utc_offset_minutes: i16,
    /// What is worth a line of the log.
    pub log: LogLevel,
    /// Who knows what time it is, from version 2 on. Without one, the hosts that are fetched from.
    // Behind the rest of the record, which is the same in all versions: read and written by itself.
    #[serde(skip)]
    pub sntp: Option<TimeServer<'a>>,
}

/// A time server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeServer<'a> {
    /// Its name or address.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
}

/// A forward gateway: it takes whole URLs in plain requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway<'a> {
    /// Its name or address.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
}

/// How the device gets its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// From the network.
    Dhcp,
    /// From its owner.
    Static {
        /// Its own.
        address: [u8; 4],
        /// Bits of the network's part.
        prefix: u8,
        /// The way out.
        router: Option<[u8; 4]>,
        /// Who knows names.
        names: Option<[u8; 4]>,
    },
}

/// What is worth a line of the log: a level holds all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LogLevel {
    /// What needs somebody to act.
    Error,
    /// What went wrong on the way.
    Warn,
    /// Enough to monitor a probe.
    Info,
    /// Every start of a fetch.
    Debug,
}

/// An entry of the resolve table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name<'a> {
    /// The host; `*` for all that have no entry of their own.
    pub host: &'a str,
    /// Where it is.
    pub address: [u8; 4],
}

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host<'a> {
    /// `name` or `name:port`, as in its pages' URLs.
    pub name: &'a str,
    /// Least time between two fetches, in milliseconds.
    pub gap_ms: u32,
    /// Local hours in which fetching is allowed, from and to.
    pub hours: Option<(u8, u8)>,
    /// The host whose gate it shares: itself, as a rule.
    pub gate: u16,
    /// Its pages follow each other from here.
    pub first_page: u16,
    /// So many of them.
    pub pages: u16,
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<'a> {
    /// Its place in the host table.
    pub host: u16,
    /// Where it is.
    pub url: &'a str,
    /// Importance.
    pub weight: f32,
    /// Changes a day, if anything is known about them.
    pub rate: Option<f32>,
    /// How firmly the rate is believed: as if so many changes had been seen.
    pub confidence: f32,
}

/// Why an image is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// There is none: the place does not begin with the magic bytes.
    Missing,
    /// Made for a newer firmware.
    Newer {
        /// Its version; expected at most [`VERSION`].
        found: u16,
    },
    /// It is said to be longer than the place it is in.
    Length {
        /// Its length.
        found: u32,
        /// The room there is.
        room: u32,
    },
    /// It was damaged on the way.
    Checksum {
        /// What its bytes come to.
        found: u32,
        /// What they came to when it was made.
        expected: u32,
    },
    /// A record cannot be read.
    Record {
        /// Which: the configuration is 0, then come names, hosts and pages.
        index: u32,
    },
    /// More pages or hosts than the firmware has room for.
    TooLarge {
        /// Pages in the image.
        pages: u16,
        /// Hosts in the image.
        hosts: u16,
    },
}

/// The same words for a program and for the log, which keeps them out of flash.
macro_rules! say {
    ($by:ident, $error:expr, $f:expr) => {
        match *$error {
            ImageError::Missing => {
                $by::write!($f, "no page image: load one made by `cargo xtask qemu`")
            }
            ImageError::Newer { found } => $by::write!(
                $f,
                "page image of version {}, expected at most {}: update the firmware",
                found,
                VERSION
            ),
            ImageError::Length { found, room } => $by::write!(
                $f,
                "page image of {} bytes where there is room for {}: load it again",
                found,
                room
            ),
            ImageError::Checksum { found, expected } => $by::write!(
                $f,
                "damaged page image: checksum {:08x}, expected {:08x}: load it again",
                found,
                expected
            ),
            ImageError::Record { index } => {
                $by::write!(
                    $f,
                    "page image with an unreadable record {}: make it again",
                    index
                )
            }
            ImageError::TooLarge { pages, hosts } => $by::write!(
                $f,
                "page image of {} pages on {} hosts: more than this firmware has room for",
                pages,
                hosts
            ),
        }
    };
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        say!(core, self, f)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for ImageError {
    fn format(&self, f: defmt::Formatter<'_>) {
        say!(defmt, self, f);
    }
}

impl core::error::Error for ImageError {}

/// An image, checked and read in place.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    bytes: &'a [u8],
    version: u16,
    names: u16,
    hosts: u16,
    pages: u16,
}

impl<'a> Image<'a> {
    /// Checks the image at the beginning of `flash`, which may be longer. Work: two passes over the
    /// image.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn parse(flash: &'a [u8]) -> Result<Self, ImageError> {
        let header: &[u8; HEADER] = flash.first_chunk().ok_or(ImageError::Missing)?;
        let [
            m0,
            m1,
            m2,
            m3,
            v0,
            v1,
            n0,
            n1,
            h0,
            h1,
            p0,
            p1,
            l0,
            l1,
            l2,
            l3,
            c0,
            c1,
            c2,
            c3,
        ] = *header;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(ImageError::Missing);
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version > VERSION {
            return Err(ImageError::Newer { found: version });
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let too_long = ImageError::Length {
            found: length,
            room: flash.len() as u32,
        };
        let bytes = flash.get(..length as usize).ok_or(too_long)?;
        let checked = bytes.get(CHECKED..).ok_or(too_long)?;
        // The counts are covered, too: they stand before the checksum, so they are added to it.
        let found = checksum(&[&[v0, v1, n0, n1, h0, h1, p0, p1], checked]);
        let expected = u32::from_le_bytes([c0, c1, c2, c3]);
        if found != expected {
            return Err(ImageError::Checksum { found, expected });
        }
        let [names, hosts, pages] = [[n0, n1], [h0, h1], [p0, p1]].map(u16::from_le_bytes);
        let image = Self {
            bytes,
            version,
            names,
            hosts,
            pages,
        };
        image.check()?;
        Ok(image)
    }

    /// Every record can be read, and refers to what is there.
    fn check(&self) -> Result<(), ImageError> {
        self.config()?;
        let all = |count: u16| (0..count).map(usize::from);
        let wrong = |index: usize| ImageError::Record {
            index: index as u32,
        };
        all(self.names).try_for_each(|index| self.name(index).map(drop))?;
        for index in all(self.hosts) {
            let host = self.host(index)?;
            let end = u32::from(host.first_page) + u32::from(host.pages);
            if host.gate >= self.hosts || end > u32::from(self.pages) {
                return Err(wrong(self.host_record(index)));
            }
        }
        for index in all(self.pages) {
            let page = self.page(index)?;
            let sound = page.weight > 0.0 && page.rate.is_none_or(|rate| rate >= 0.0);
            if page.host >= self.hosts || !sound {
                return Err(wrong(self.page_record(index)));
            }
        }
        Ok(())
    }

    /// How the probe is to behave.
    ///
    /// # Errors
    /// None, once the image has been parsed; nor have the others below, for indexes that exist.
    pub fn config(&self) -> Result<Config<'a>, ImageError> {
        let wrong = |_| ImageError::Record { index: 0 };
        let (mut config, more) =
            postcard::take_from_bytes::<Config<'a>>(self.record_bytes(0)?).map_err(wrong)?;
        if self.version >= 2 {
            config.sntp = postcard::from_bytes(more).map_err(wrong)?;
        }
        Ok(config)
    }

    /// All of it, to be kept elsewhere.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.hosts.into()
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages.into()
    }

    /// A host.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn host(&self, index: usize) -> Result<Host<'a>, ImageError> {
        self.record(self.host_record(index))
    }

    /// A page.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn page(&self, index: usize) -> Result<Page<'a>, ImageError> {
        // Behind the last page are other records.
        if index >= self.pages() {
            return Err(ImageError::Record {
                index: index as u32,
            });
        }
        self.record(self.page_record(index))
    }

    /// An entry of the resolve table.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn name(&self, index: usize) -> Result<Name<'a>, ImageError> {
        self.record(1 + index)
    }

    /// Where the owner says a host is. Work: the resolve table.
    pub fn named(&self, host: &str) -> Option<[u8; 4]> {
        let entries = || (0..usize::from(self.names)).filter_map(|index| self.name(index).ok());
        let own = entries().find(|name| name.host.eq_ignore_ascii_case(host));
        own.or_else(|| entries().find(|name| name.host == "*"))
            .map(|name| name.address)
    }

    /// Stretches of pages that do not count as changes: the first [`Ignore::MOST`].
    pub fn ignores(&self) -> Ignores<'a> {
        let first = self.page_record(self.pages.into());
        // The first record begins where the table of records ends.
        let all = self
            .place(0)
            .map_or(0, |start| start.saturating_sub(HEADER) / 4);
        (first..all)
            .filter_map(|index| self.record(index).ok())
            .take(Ignore::MOST)
            .collect()
    }

    fn host_record(&self, index: usize) -> usize {
        1 + usize::from(self.names) + index
    }

    fn page_record(&self, index: usize) -> usize {
        1 + usize::from(self.names) + usize::from(self.hosts) + index
    }

    fn record<T: Deserialize<'a>>(&self, index: usize) -> Result<T, ImageError> {
        postcard::from_bytes(self.record_bytes(index)?).map_err(|_| ImageError::Record {
            index: index as u32,
        })
    }

    /// The record, and whatever follows it.
    fn record_bytes(&self, index: usize) -> Result<&'a [u8], ImageError> {
        let wrong = ImageError::Record {
            index: index as u32,
        };
        self.place(index)
            .and_then(|start| self.bytes.get(start..))
            .ok_or(wrong)
    }

    /// Where a record starts.
    fn place(&self, index: usize) -> Option<usize> {
        let place = self.bytes.get(HEADER + 4 * index..)?.first_chunk()?;
        Some(u32::from_le_bytes(*place) as usize)
    }
}

/// Stretches of pages that do not count as changes.
pub type Ignores<'a> = heapless::Vec<Ignore<'a>, { Ignore::MOST }>;

/// CRC-32 (IEEE 802.3), a bit at a time: it is computed once a boot, and a table would take 1 kB of
/// flash.
#[inline(never)]
pub(crate) fn checksum(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 0 {
            crc >> 1
        } else {
            crc >> 1 ^ 0xedb8_8320
        }
    };
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}

/// Makes an image. Pages must be sorted by host; names, hosts and pages number at most 65,535 each.
#[cfg(feature = "std")]
pub fn build(
    config: &Config<'_>,
    names: &[Name<'_>],
    hosts: &[Host<'_>],
    pages: &[Page<'_>],
    ignore: &[Ignore<'_>],
) -> std::vec::Vec<u8> {
    use std::vec::Vec;
    fn encode(record: &impl Serialize) -> Vec<u8> {
        // Our own types, into a buffer that holds the longest URL many times over.
        let mut buffer = std::vec![0; 16_384];
        postcard::to_slice(record, &mut buffer)
            .map(|used| used.to_vec())
            .unwrap_or_default()
    }
    let mut records: Vec<Vec<u8>> = std::vec![[encode(config), encode(&config.sntp)].concat()];
    records.extend(names.iter().map(encode));
    records.extend(hosts.iter().map(encode));
    records.extend(pages.iter().map(encode));
    records.extend(ignore.iter().map(encode));
    let mut start = HEADER + 4 * records.len();
    let mut body = Vec::new();
    for record in &records {
        body.extend((start as u32).to_le_bytes());
        start += record.len();
    }
    body.extend(records.concat());
    let mut counts = VERSION.to_le_bytes().to_vec();
    for count in [names.len(), hosts.len(), pages.len()] {
        counts.extend((count as u16).to_le_bytes());
    }
    let checksum = checksum(&[&counts, &body]);
    let length = (HEADER + body.len()) as u32;
    [
        &MAGIC[..],
        &counts,
        &length.to_le_bytes(),
        &checksum.to_le_bytes(),
        &body,
    ]
    .concat()
}
