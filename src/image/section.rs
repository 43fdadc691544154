//! Sections and the tables of records in them, read in place.

use core::fmt;
use core::ops::Range;

use super::ImageError;

/// Bytes before the payload of a section: tag and length.
pub(super) const SECTION_HEADER: usize = 8;

/// The name of a section: four letters.
///
/// ```
/// use dunlin::image::Tag;
///
/// assert!(Tag::PAGES.is_required());
/// assert!(!Tag::new(*b"note").is_required());
/// assert_eq!(Tag::PAGES.to_string(), "PAGE");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag([u8; 4]);

impl Tag {
    /// How the probe is to behave: one record.
    pub const CONFIG: Self = Self(*b"CONF");
    /// The table of names and their addresses.
    pub const NAMES: Self = Self(*b"NAME");
    /// The hosts of the list.
    pub const HOSTS: Self = Self(*b"HOST");
    /// The pages of the list.
    pub const PAGES: Self = Self(*b"PAGE");
    /// What is to be ignored of pages.
    pub const IGNORE: Self = Self(*b"IGNR");
    /// How often pages may and have to be visited.
    pub const LIMITS: Self = Self(*b"limt");
    /// By which laws pages change.
    pub const LAWS: Self = Self(*b"laws");
    /// What is to be kept small: staleness or age.
    pub const OBJECTIVE: Self = Self(*b"goal");
    /// Where signed updates are looked for. Who skips it is not updated.
    pub const UPDATES: Self = Self(*b"updt");
    /// Certificates of the owner's own certificate authorities. Who skips them refuses more hosts.
    pub const AUTHORITIES: Self = Self(*b"auth");
    /// Where copies of pages go. Who skips it keeps none.
    pub const COLLECTOR: Self = Self(*b"coll");
    /// What others have learnt about pages. Who skips it learns that anew.
    pub const LEARNT: Self = Self(*b"lrnt");
    /// When pages were last visited by whoever had them. Who skips it begins with all at once.
    pub const SEEN: Self = Self(*b"seen");
    /// Whether and where pages are looked for that are not on the list. Who skips it visits the
    /// list alone.
    pub const DISCOVERY: Self = Self(*b"disc");
    /// How pages are ranked that are not on the list. Who skips it ranks by PageRank.
    pub const RANKING: Self = Self(*b"rank");
    /// Which pages are tellers. Who skips it visits them like other pages.
    pub const TELLERS: Self = Self(*b"tell");
    /// Keys that hosts must have. Who skipped them would accept what the owner refuses.
    pub const PINS: Self = Self(*b"PINS");
    /// What of single pages counts as a change. Who skipped it would report what the owner does not
    /// want to hear of.
    pub const FILTERS: Self = Self(*b"FILT");

    /// A tag of these letters.
    pub const fn new(letters: [u8; 4]) -> Self {
        Self(letters)
    }

    /// Must an image be refused by who does not know this section? Yes, unless its first letter is
    /// a small one.
    pub const fn is_required(self) -> bool {
        let [first, ..] = self.0;
        !first.is_ascii_lowercase()
    }

    /// The tag as an image has it.
    #[cfg(feature = "std")]
    pub(super) const fn bytes(self) -> [u8; 4] {
        self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Tag {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=[u8; 4]:a}", self.0);
    }
}

/// The sections of an image, one after the other. Ends with the image, or with the first section
/// that is longer than what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Sections<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Sections<'a> {
    /// The sections of an image, from this byte on.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }
}

impl Iterator for Sections<'_> {
    /// The tag, and where in the image the payload is.
    type Item = Result<(Tag, Range<usize>), ImageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let here = self.bytes.get(self.at..)?;
        if here.is_empty() {
            return None;
        }
        let header: Option<&[u8; SECTION_HEADER]> = here.first_chunk();
        let &[t0, t1, t2, t3, l0, l1, l2, l3] = header.unwrap_or(&[u8::MAX; SECTION_HEADER]);
        let start = self.at + SECTION_HEADER;
        let found = u32::from_le_bytes([l0, l1, l2, l3]);
        let room = here.len().saturating_sub(SECTION_HEADER);
        if found as usize > room || header.is_none() {
            self.at = self.bytes.len();
            let room = room as u32;
            return Some(Err(ImageError::Section { found, room }));
        }
        self.at = start + found as usize;
        Some(Ok((Tag([t0, t1, t2, t3]), start..self.at)))
    }
}

/// Where the records of one kind are: their index is a row of words, one a record, that say where
/// it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// The byte of the image at which the index begins; 0 as long as there is none.
    pub(super) index: u32,
    /// How many records there are.
    pub(super) count: u16,
}

impl Table {
    /// A table without records.
    pub(super) const EMPTY: Self = Self { index: 0, count: 0 };

    /// The table in a section: a word that says how many records there are, then the index.
    pub(super) fn in_section(
        tag: Tag,
        bytes: &[u8],
        payload: Range<usize>,
    ) -> Result<Self, ImageError> {
        let count = bytes
            .get(payload.clone())
            .map_or(0, |payload| word(payload, 0).unwrap_or(0));
        let index = payload.start as u32 + 4;
        match u16::try_from(count) {
            Ok(count) => Ok(Self { index, count }),
            // Indexes of hosts and pages have 16 bits.
            Err(_) => Err(ImageError::Record {
                section: tag,
                index: count,
            }),
        }
    }

    /// A record and whatever follows it, if there is one. In these bytes the index begins at byte
    /// `index_at`, and in them it says where records start.
    pub(super) fn record<'a>(
        &self,
        bytes: &'a [u8],
        index_at: usize,
        index: usize,
    ) -> Option<&'a [u8]> {
        if index >= usize::from(self.count) {
            return None;
        }
        let start = word(bytes, index_at + 4 * index)?;
        bytes.get(start as usize..)
    }
}

/// The little-endian word at this byte.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}
