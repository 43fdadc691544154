//! Makes images, on a computer.

use std::vec::Vec;

use super::record::{About, Record, Writer};
use super::{HEADER, Image, ImageError, MAGIC, Tag, VERSION};
use crate::catalog::{ChangeLaw, Config, CrawlLimits, Host, Ignore, Name, Page};
use crate::math::crc32;
use crate::model::Objective;

/// Makes an image, section by section. What is empty is not written.
///
/// ```
/// use dunlin::catalog::{Config, CrawlLimits, Host, Page};
/// use dunlin::image::{Builder, Image, Tag};
///
/// let hourly = CrawlLimits { min: 24, ..CrawlLimits::NONE };
/// let bytes = Builder::new(&Config::new("dunlin/0.1"))
///     .hosts(&[Host { pages: 1, ..Host::new("example.org", 0) }])
///     .pages(&[Page::new(0, "http://example.org/")])
///     .limits(&[(0, hourly)])
///     .section(Tag::new(*b"note"), b"made by hand")
///     .build()?;
///
/// let image = Image::parse(&bytes)?;
/// assert_eq!(image.limits(0)?, hourly);
/// assert_eq!(image.section(Tag::new(*b"note")), Some(&b"made by hand"[..]));
/// # Ok::<(), dunlin::image::ImageError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    sections: Vec<u8>,
}

impl Builder {
    /// Begins an image for a probe that behaves like this.
    pub fn new(config: &Config<'_>) -> Self {
        let sections = Vec::new();
        let record = |to: &mut Writer| {
            config.write(to);
            config.sntp.write(to);
        };
        Self { sections }.table(Tag::CONFIG, core::iter::once(record))
    }

    /// Adds the resolve table.
    pub fn names(self, names: &[Name<'_>]) -> Self {
        self.records(Tag::NAMES, names)
    }

    /// Adds the hosts. Each says where its pages begin and how many they are.
    pub fn hosts(self, hosts: &[Host<'_>]) -> Self {
        self.records(Tag::HOSTS, hosts)
    }

    /// Adds the pages, sorted by host.
    pub fn pages(self, pages: &[Page<'_>]) -> Self {
        self.records(Tag::PAGES, pages)
    }

    /// Adds stretches of pages that do not count as changes.
    pub fn ignore(self, ignore: &[Ignore<'_>]) -> Self {
        self.records(Tag::IGNORE, ignore)
    }

    /// Adds the limits of some pages. A firmware that does not know limits skips them.
    pub fn limits(self, limits: &[(u16, CrawlLimits)]) -> Self {
        self.about_pages(Tag::LIMITS, limits)
    }

    /// Adds the laws by which some pages change. A firmware that does not know laws skips them.
    pub fn laws(self, laws: &[(u16, ChangeLaw<'_>)]) -> Self {
        self.about_pages(Tag::LAWS, laws)
    }

    /// Adds what is to be kept small: staleness, which is not written, or age. A firmware that does
    /// not know it keeps staleness small.
    pub fn objective(self, objective: Objective) -> Self {
        match objective {
            Objective::Age => self.section(Tag::OBJECTIVE, &[1]),
            _ => self,
        }
    }

    /// Adds the URL below which signed updates lie. A firmware that does not know updates skips it.
    pub fn update_url(self, url: Option<&str>) -> Self {
        match url {
            Some(url) => self.section(Tag::UPDATES, url.as_bytes()),
            None => self,
        }
    }

    /// Adds certificates of the owner's own certificate authorities, in DER.
    pub fn authorities(self, certificates: &[Vec<u8>]) -> Self {
        match certificates.is_empty() {
            true => self,
            false => self.section(Tag::AUTHORITIES, &certificates.concat()),
        }
    }

    /// Adds the URL of a collector that copies of pages go to.
    pub fn collector(self, url: Option<&str>) -> Self {
        match url {
            Some(url) => self.section(Tag::COLLECTOR, url.as_bytes()),
            None => self,
        }
    }

    /// Adds keys that hosts must have: names of 255 bytes at most, and SHA-256 of their public
    /// keys.
    pub fn pins(self, pins: &[(&str, [u8; 32])]) -> Self {
        let mut payload = Vec::new();
        for (host, pin) in pins {
            payload.push(u8::try_from(host.len()).unwrap_or(u8::MAX));
            payload.extend(host.bytes().take(u8::MAX.into()));
            payload.extend(pin);
        }
        match payload.is_empty() {
            true => self,
            false => self.section(Tag::PINS, &payload),
        }
    }

    /// Adds what of some pages counts as a change. A firmware without the feature `filter` refuses
    /// the image.
    #[cfg(feature = "filter")]
    pub fn filters(self, filters: &[(u16, crate::catalog::PageFilter<'_>)]) -> Self {
        let about = |(page, filter): &(u16, _)| About {
            page: *page,
            fact: Clone::clone(filter),
        };
        let mut records: Vec<About<crate::catalog::PageFilter<'_>>> =
            filters.iter().map(about).collect();
        records.sort_by_key(|record| record.page);
        self.records(Tag::FILTERS, &records)
    }

    /// Adds a section of any kind.
    pub fn section(mut self, tag: Tag, payload: &[u8]) -> Self {
        self.sections.extend(tag.bytes());
        self.sections.extend((payload.len() as u32).to_le_bytes());
        self.sections.extend(payload);
        self
    }

    /// Makes the image, and reads it as a probe would.
    ///
    /// # Errors
    /// What a probe would refuse it for.
    pub fn build(self) -> Result<Vec<u8>, ImageError> {
        let bytes = self.build_unchecked();
        // Its checksum has just been made.
        let image = Image::read(&bytes, VERSION, [[0; 2]; 3])?;
        let says = |tag: &Tag| image.section(*tag).is_some();
        let tags = [Tag::LIMITS, Tag::LAWS, Tag::FILTERS];
        let pages = match tags.iter().any(says) {
            true => image.pages(),
            false => 0,
        };
        for page in 0..pages {
            image.limits(page)?;
            image.law(page)?;
            #[cfg(feature = "filter")]
            image.filter(page)?;
        }
        Ok(bytes)
    }

    /// Makes the image, whether a probe would take it or not: for tests of who reads it.
    pub fn build_unchecked(self) -> Vec<u8> {
        let mut counted = VERSION.to_le_bytes().to_vec();
        counted.extend([0; 6]);
        let length = (HEADER + self.sections.len()) as u32;
        let checksum = crc32(&[&counted, &self.sections]);
        [
            &MAGIC[..],
            &counted,
            &length.to_le_bytes(),
            &checksum.to_le_bytes(),
            &self.sections,
        ]
        .concat()
    }

    /// Adds facts about some pages, sorted by page so that one can be found.
    fn about_pages<'a, T: Record<'a> + Copy>(self, tag: Tag, facts: &[(u16, T)]) -> Self {
        let about = |&(page, fact): &(u16, T)| About { page, fact };
        let mut records: Vec<About<T>> = facts.iter().map(about).collect();
        records.sort_by_key(|record| record.page);
        self.records(tag, &records)
    }

    fn records<'a, T: Record<'a>>(self, tag: Tag, records: &[T]) -> Self {
        let records = records.iter();
        self.table(
            tag,
            records.map(|record| |to: &mut Writer| record.write(to)),
        )
    }

    /// Adds records, each of which is written by its function, behind their number and the index of
    /// where each starts.
    fn table(self, tag: Tag, records: impl ExactSizeIterator<Item: FnOnce(&mut Writer)>) -> Self {
        let count = records.len();
        if count == 0 {
            return self;
        }
        let mut to = Writer(self.sections);
        to.0.extend(tag.bytes());
        let payload = to.0.len() + 4;
        let index = payload + 4;
        to.0.resize(index + 4 * count, 0);
        for (number, write) in records.enumerate() {
            let start = to.0.len() - payload;
            put(&mut to.0, index + 4 * number, start);
            write(&mut to);
        }
        let length = to.0.len() - payload;
        put(&mut to.0, payload - 4, length);
        put(&mut to.0, payload, count);
        Self { sections: to.0 }
    }
}

/// Writes a number as the word at this byte.
fn put(bytes: &mut [u8], at: usize, number: usize) {
    let word = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    if let Some(word) = word {
        *word = (number as u32).to_le_bytes();
    }
}

/// Makes an image of these sections and no others, whether a probe would take it or not. Pages must
/// be sorted by host. See [`Builder`].
pub fn build(
    config: &Config<'_>,
    names: &[Name<'_>],
    hosts: &[Host<'_>],
    pages: &[Page<'_>],
    ignore: &[Ignore<'_>],
) -> Vec<u8> {
    Builder::new(config)
        .names(names)
        .hosts(hosts)
        .pages(pages)
        .ignore(ignore)
        .build_unchecked()
}
