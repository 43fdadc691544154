//! The page image: a [`catalog`](crate::catalog) in one piece of flash beside the firmware.
//!
//! It is made on a computer from PAGES.csv, put into flash (or loaded beside the firmware by QEMU)
//! and read in place: hosts, pages and names stay where they are, and nothing but their places is
//! kept in RAM. A list changes without a new build. Only the encoding is decided here; what the
//! facts mean is said in [`catalog`](crate::catalog).
//!
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(not(feature = "std"), doc = "```ignore")]
//! use dunlin::catalog::{Config, Host, Page};
//! use dunlin::image::{Builder, Image};
//!
//! let flash = Builder::new(&Config::new("dunlin/0.1"))
//!     .hosts(&[Host { pages: 1, ..Host::new("example.org", 0) }])
//!     .pages(&[Page { weight: 2.0, ..Page::new(0, "http://example.org/") }])
//!     .build()?;
//!
//! let image = Image::parse(&flash)?;
//! assert_eq!(image.pages(), 1);
//! assert_eq!(image.page(0)?.url, "http://example.org/");
//! # Ok::<(), dunlin::image::ImageError>(())
//! ```
//!
//! # Version 3
//! A header of 20 bytes and then sections, one behind the other until the image ends. Numbers are
//! little-endian.
//!
//! | byte | header |
//! |---|---|
//! | 0 | magic `dnln` |
//! | 4 | version `u16` |
//! | 6 | six bytes of zero |
//! | 12 | length of the whole image `u32` |
//! | 16 | CRC-32 (IEEE 802.3) `u32` of bytes 4 to 11 and of all bytes from 20 on |
//!
//! | byte | each section |
//! |---|---|
//! | 0 | tag: four letters |
//! | 4 | length of the payload `u32` |
//! | 8 | payload |
//!
//! Sections come in any order, each of them once. A reader that does not know a tag refuses the
//! image by the tag's name if its first letter is a capital, and skips the section if it is a small
//! one. So a section is named with a capital when a probe that skips it would do what its owner
//! forbids.
//!
//! | tag | a record of it is | without it |
//! |---|---|---|
//! | `CONF` | [`Config`]: one record | the image is refused |
//! | `NAME` | [`Name`] | no resolve table |
//! | `HOST` | [`Host`] | no hosts |
//! | `PAGE` | [`Page`], sorted by host | no pages |
//! | `IGNR` | [`Ignore`] | nothing is ignored |
//! | `FILT` | index of the page, what alone counts (an `Option` of two markers), how many stretches do not `u8`, and those as [`Ignore`]; sorted by page; for firmware with the feature `filter` | all of a page counts |
//! | `limt` | index of the page, [`CrawlLimits`]; sorted by page | no limits |
//! | `laws` | index of the page, [`ChangeLaw`]; sorted by page | all pages change by Poisson laws |
//! | `goal` | no records: a byte, 0 for freshness and 1 for age | freshness |
//! | `updt` | no records: the URL below which signed updates lie | no updates |
//! | `auth` | no records: DER certificates of the owner's authorities, one behind the other | public ones only |
//! | `coll` | no records: the URL of a collector | nothing is collected |
//! | `lrnt` | no records: [`Learnt`] of some pages, in 14 bytes each | everything is learnt anew |
//! | `seen` | no records: when pages were last visited, see [`Seen`] | all pages are visited at once |
//! | `disc` | no records: whether and where pages beyond the list are looked for, as `discover::DiscoverySettings` reads it | the list alone is visited |
//! | `rank` | no records: how such pages are ranked, as `rank::Ranking` reads it | PageRank |
//! | `tell` | no records: which pages are tellers, see [`Teller`] | no host tells |
//! | `PINS` | no records: for each host a byte with the length of its name, the name, and SHA-256 of its public key | no pins |
//!
//! Of `laws`, probes obey those of pages that change by the clock; pages of other laws are taken
//! for Poisson pages. Sections hold records unless the table says otherwise; sections that are not
//! in it may hold what they want ([`Image::section`], `Builder::section`).
//!
//! | byte | payload that holds records |
//! |---|---|
//! | 0 | how many `u32`, at most 65,535 |
//! | 4 | one `u32` a record: the byte of the payload at which it starts |
//! | … | records |
//!
//! A record is its fields in the order in which the struct has them, as postcard encodes them:
//!
//! | field | bytes |
//! |---|---|
//! | `u16`, `u32` | seven bits a byte, the lowest first; all bytes but the last have their top bit set |
//! | `i16` | the same, folded: 0, −1, 1, −2, … are 0, 1, 2, 3, … |
//! | `u8`, `[u8; N]` | as they are |
//! | `f32` | four, little-endian |
//! | [`Duration`](crate::time::Duration) | milliseconds as `u32` |
//! | text, bytes | their number as `u32`, then they |
//! | `Option` | 0, or 1 and the value |
//! | enum | the number of the variant, from 0 on, then its fields |
//!
//! What comes later gets a section of its own: neither records nor the header change, and no
//! further version is needed.
//!
//! # Versions 1 and 2
//! They have no sections, but one index for all records. A firmware reads images of all versions up
//! to its own [`VERSION`], and refuses newer ones.
//!
//! | byte | versions 1 and 2 |
//! |---|---|
//! | 0 | magic and version, as above |
//! | 6 | how many names, hosts and pages there are, `u16` each |
//! | 12 | length and CRC-32, as above |
//! | 20 | one `u32` a record: the byte of the image at which it starts |
//! | … | records as above: [`Config`], in version 1 without its last field `sntp`; names, hosts, pages; in version 2 also what to ignore |

#[cfg(feature = "std")]
mod build;
mod error;
#[cfg(feature = "filter")]
mod filter;
mod learnt;
mod optional;
mod record;
mod section;
mod seen;
mod tellers;
mod trust;

#[cfg(feature = "std")]
pub use build::{Builder, build};
pub use error::ImageError;
pub use learnt::Learnt;
pub use section::Tag;
pub use seen::Seen;
pub use tellers::{Teller, TellerSource};

use crate::catalog::{Catalog, ChangeLaw, Config, CrawlLimits, Host, Ignore, Ignores, Name, Page};
use crate::math::crc32;
use record::{Reader, Record};
use section::{Sections, Table, word};

/// The format that is written, and the newest that is read.
pub const VERSION: u16 = 3;

const MAGIC: [u8; 4] = *b"dnln";
const HEADER: usize = 20;
/// The first version with sections.
const SECTIONS: u16 = 3;

/// The tables that every reader knows, in the order of versions 1 and 2.
const TABLES: [Tag; 5] = [Tag::CONFIG, Tag::NAMES, Tag::HOSTS, Tag::PAGES, Tag::IGNORE];

/// A place in [`TABLES`].
#[derive(Clone, Copy, Debug)]
enum Kind {
    Config,
    Name,
    Host,
    Page,
    Ignore,
}

/// An image, checked and read in place.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    bytes: &'a [u8],
    version: u16,
    tables: [Table; TABLES.len()],
}

impl<'a> Image<'a> {
    /// Checks the image at the beginning of `flash`, which may be longer. Work: two passes over the
    /// image.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn parse(flash: &'a [u8]) -> Result<Self, ImageError> {
        let mut header = Reader::new(flash);
        let magic: [u8; 4] = header.array();
        let version = u16::from_le_bytes(header.array());
        let counts: [[u8; 2]; 3] = [header.array(), header.array(), header.array()];
        let length = u32::from_le_bytes(header.array());
        let expected = u32::from_le_bytes(header.array());
        if header.has_failed() || magic != MAGIC {
            return Err(ImageError::Missing);
        }
        if version > VERSION {
            return Err(ImageError::Newer { found: version });
        }
        let too_long = ImageError::Length {
            found: length,
            room: flash.len() as u32,
        };
        let bytes = flash.get(..length as usize).ok_or(too_long)?;
        let rest = bytes.get(HEADER..).ok_or(too_long)?;
        // What stands between the magic bytes and the length is covered, too.
        let fields = bytes.get(4..12).ok_or(too_long)?;
        let found = crc32(&[fields, rest]);
        if found != expected {
            return Err(ImageError::Checksum { found, expected });
        }
        Self::read(bytes, version, counts)
    }

    /// The same of bytes that are whole; versions without sections have `counts` of records.
    fn read(bytes: &'a [u8], version: u16, counts: [[u8; 2]; 3]) -> Result<Self, ImageError> {
        let mut image = Self {
            bytes,
            version,
            tables: [Table::EMPTY; TABLES.len()],
        };
        if version < SECTIONS {
            image.find_tables(counts.map(u16::from_le_bytes));
        } else {
            image.find_sections()?;
        }
        image.check()?;
        Ok(image)
    }

    /// Finds the tables of versions 1 and 2, which follow each other in one index.
    fn find_tables(&mut self, [names, hosts, pages]: [u16; 3]) {
        // The first record begins where the index ends. What is left of the index behind the pages
        // is to be ignored.
        let end = word(self.bytes, HEADER).unwrap_or(0);
        let mut index = HEADER as u32;
        for (table, count) in self.tables.iter_mut().zip([1, names, hosts, pages]) {
            *table = Table { index, count };
            index += 4 * u32::from(count);
        }
        let count = (end.saturating_sub(index) / 4) as u16;
        self.tables[Kind::Ignore as usize] = Table { index, count };
    }

    /// Finds the tables in their sections.
    fn find_sections(&mut self) -> Result<(), ImageError> {
        for section in Sections::new(self.bytes, HEADER) {
            let (tag, payload) = section?;
            let mut known = TABLES.iter().zip(&mut self.tables);
            match known.find(|(known, _)| **known == tag) {
                Some((_, table)) if table.index == 0 => {
                    *table = Table::in_section(tag, self.bytes, payload)?;
                }
                Some(_) => return Err(ImageError::Repeated { section: tag }),
                None if tag == Tag::PINS => {}
                #[cfg(feature = "filter")]
                None if tag == Tag::FILTERS => {}
                None if tag.is_required() => return Err(ImageError::Unknown { section: tag }),
                None => {}
            }
        }
        Ok(())
    }

    /// Every record can be read, and refers to what is there.
    fn check(&self) -> Result<(), ImageError> {
        self.config()?;
        let hosts = self.table(Kind::Host).count;
        let pages = self.table(Kind::Page).count;
        for index in 0..usize::from(self.table(Kind::Name).count) {
            self.name(index)?;
        }
        for index in 0..usize::from(self.table(Kind::Ignore).count) {
            self.record::<Ignore<'a>>(Kind::Ignore, index)?;
        }
        for index in 0..self.hosts() {
            let host = self.host(index)?;
            let end = u32::from(host.first_page) + u32::from(host.pages);
            if host.gate >= hosts || end > u32::from(pages) {
                return Err(wrong(Kind::Host, index));
            }
        }
        for index in 0..self.pages() {
            let page = self.page(index)?;
            let sound = page.weight > 0.0 && page.rate.is_none_or(|rate| rate >= 0.0);
            if page.host >= hosts || !sound {
                return Err(wrong(Kind::Page, index));
            }
        }
        Ok(())
    }

    fn table(&self, kind: Kind) -> Table {
        self.tables[kind as usize]
    }

    fn record<T: Record<'a>>(&self, kind: Kind, index: usize) -> Result<T, ImageError> {
        let bytes = self.record_bytes(kind, index)?;
        decode(bytes).ok_or_else(|| wrong(kind, index))
    }

    /// The bytes of a record, and whatever follows it.
    fn record_bytes(&self, kind: Kind, index: usize) -> Result<&'a [u8], ImageError> {
        let table = self.table(kind);
        let index_at = table.index as usize;
        // Before there were sections, the index and the places in it were counted from the start of
        // the image. Now they are counted from the start of the payload: its length stands before
        // it, and the number of records between it and the index.
        let record = if self.version < SECTIONS {
            table.record(self.bytes, index_at, index)
        } else {
            let payload = index_at.saturating_sub(4);
            word(self.bytes, payload.saturating_sub(4))
                .and_then(|length| self.bytes.get(payload..)?.get(..length as usize))
                .and_then(|payload| table.record(payload, 4, index))
        };
        record.ok_or_else(|| wrong(kind, index))
    }

    /// How the probe is to behave.
    ///
    /// # Errors
    /// None, once the image has been parsed; nor have the others below, for indexes that exist.
    pub fn config(&self) -> Result<Config<'a>, ImageError> {
        let mut reader = Reader::new(self.record_bytes(Kind::Config, 0)?);
        let mut config = Config::read(&mut reader);
        if self.version >= 2 {
            config.sntp = Record::read(&mut reader);
        }
        if reader.has_failed() {
            return Err(ImageError::CONFIG);
        }
        Ok(config)
    }

    /// All bytes of it, to be kept or sent.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The version of its format.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.table(Kind::Host).count.into()
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.table(Kind::Page).count.into()
    }

    /// A host.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn host(&self, index: usize) -> Result<Host<'a>, ImageError> {
        self.record(Kind::Host, index)
    }

    /// A page.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn page(&self, index: usize) -> Result<Page<'a>, ImageError> {
        self.record(Kind::Page, index)
    }

    /// An entry of the resolve table.
    ///
    /// # Errors
    /// [`ImageError::Record`]
    pub fn name(&self, index: usize) -> Result<Name<'a>, ImageError> {
        self.record(Kind::Name, index)
    }

    /// Where the owner says a host is. Work: the resolve table.
    pub fn named(&self, host: &str) -> Option<[u8; 4]> {
        let all = 0..usize::from(self.table(Kind::Name).count);
        let entries = || all.clone().filter_map(|index| self.name(index).ok());
        let own = entries().find(|name| name.host.eq_ignore_ascii_case(host));
        own.or_else(|| entries().find(|name| name.host == "*"))
            .map(|name| name.address)
    }

    /// Stretches of pages that do not count as changes: the first [`Ignore::MOST`].
    pub fn ignores(&self) -> Ignores<'a> {
        (0..usize::from(self.table(Kind::Ignore).count))
            .filter_map(|index| self.record::<Ignore<'a>>(Kind::Ignore, index).ok())
            .take(Ignore::MOST)
            .collect()
    }

    /// The URL of the collector that copies of pages go to.
    pub fn collector(&self) -> Option<&'a str> {
        core::str::from_utf8(self.section(Tag::COLLECTOR)?).ok()
    }

    /// The payload of a section, the first if there are two; `None` if there is no such section.
    /// Work: the headers of the sections.
    pub fn section(&self, tag: Tag) -> Option<&'a [u8]> {
        if self.version < SECTIONS {
            return None;
        }
        let (_, payload) = Sections::new(self.bytes, HEADER)
            .flatten()
            .find(|(found, _)| *found == tag)?;
        self.bytes.get(payload)
    }
}

/// The record that these bytes begin with.
fn decode<'a, T: Record<'a>>(bytes: &'a [u8]) -> Option<T> {
    let mut reader = Reader::new(bytes);
    let record = T::read(&mut reader);
    (!reader.has_failed()).then_some(record)
}

/// What is to be said of a record that cannot be used.
#[cold]
#[inline(never)]
fn wrong(kind: Kind, index: usize) -> ImageError {
    ImageError::Record {
        section: TABLES[kind as usize],
        index: index as u32,
    }
}

impl Catalog for Image<'_> {
    type Error = ImageError;

    fn pages(&self) -> usize {
        self.pages()
    }

    fn hosts(&self) -> usize {
        self.hosts()
    }

    fn page(&self, index: usize) -> Result<Page<'_>, ImageError> {
        self.page(index)
    }

    fn host(&self, index: usize) -> Result<Host<'_>, ImageError> {
        self.host(index)
    }

    fn limits(&self, page: usize) -> Result<CrawlLimits, ImageError> {
        self.limits(page)
    }

    fn law(&self, page: usize) -> Result<ChangeLaw<'_>, ImageError> {
        self.law(page)
    }
}
