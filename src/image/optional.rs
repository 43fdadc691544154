//! What an image may say about single pages, in sections that a reader may skip: their limits and
//! the laws by which they change. Nothing of it is checked before it is asked for.

use super::record::{Reader, Record};
use super::section::Table;
use super::{Image, ImageError, SECTIONS, TABLES, Tag};
use crate::catalog::{ChangeLaw, CrawlLimits};
use crate::constraints::{Clockwork, Constraints, PageConstraints, Updates};
use crate::model::Objective;

impl<'a> Image<'a> {
    /// How often a page may and has to be visited. Work: the sections, and a binary search.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or limits that make no sense.
    pub fn limits(&self, page: usize) -> Result<CrawlLimits, ImageError> {
        self.page(page)?;
        let limits = self.about(Tag::LIMITS, page)?;
        sound(limits, Tag::LIMITS, CrawlLimits::is_sound)
    }

    /// By which law a page changes. Work: the sections, a binary search, and the law's updates.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or a law that makes no sense.
    pub fn law(&self, page: usize) -> Result<ChangeLaw<'a>, ImageError> {
        self.page(page)?;
        let law = self.about(Tag::LAWS, page)?;
        sound(law, Tag::LAWS, ChangeLaw::is_sound)
    }

    /// What is to be kept small: staleness unless the image says otherwise.
    pub fn objective(&self) -> Objective {
        match self.section(Tag::OBJECTIVE) {
            Some([1, ..]) => Objective::Age,
            _ => Objective::Freshness,
        }
    }

    /// The URL below which signed updates lie, if the owner says so.
    pub fn update_url(&self) -> Option<&'a str> {
        core::str::from_utf8(self.section(Tag::UPDATES)?).ok()
    }

    /// Where the constraints of its pages are read; [`Constraints::None`] before there were any.
    pub fn constraints(&self) -> Constraints<'a> {
        if self.version < SECTIONS {
            return Constraints::None;
        }
        let bytes = self.bytes;
        Constraints::Encoded {
            bytes,
            read: read_constraints,
        }
    }

    /// What a section says about a page, and the index of the record that says it.
    pub(super) fn about<T: Record<'a>>(
        &self,
        tag: Tag,
        page: usize,
    ) -> Result<Option<(usize, T)>, ImageError> {
        let Some((index, mut reader)) = self.find(tag, page)? else {
            return Ok(None);
        };
        let fact = T::read(&mut reader);
        if reader.has_failed() {
            return Err(unreadable(tag, index));
        }
        Ok(Some((index, fact)))
    }

    /// The record of a section that is about a page, read up to there.
    #[inline(never)] // Once for all kinds of facts.
    fn find(&self, tag: Tag, page: usize) -> Result<Option<(usize, Reader<'a>)>, ImageError> {
        let Some(payload) = self.section(tag) else {
            return Ok(None);
        };
        let table = Table::in_section(tag, payload, 0..payload.len())?;
        // Which half is looked at does not depend on the records but by their order, so a table
        // that is not sorted costs no more than one that is.
        let mut low = 0;
        let mut high = usize::from(table.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = table.record(payload, 4, middle);
            let mut reader = Reader::new(bytes.unwrap_or_default());
            let about = usize::from(reader.short());
            if reader.has_failed() {
                return Err(unreadable(tag, middle));
            }
            if about == page {
                return Ok(Some((middle, reader)));
            }
            if about < page {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(None)
    }
}

#[cold]
fn unreadable(section: Tag, index: usize) -> ImageError {
    ImageError::Record {
        section,
        index: index as u32,
    }
}

/// The constraints of a page in an image of today's version. What cannot be read says nothing.
fn read_constraints(bytes: &[u8], page: usize) -> PageConstraints<'_> {
    let image = Image {
        bytes,
        version: SECTIONS,
        tables: [Table::EMPTY; TABLES.len()],
    };
    let reader = |tag| image.find(tag, page).ok().flatten();
    let mut constraints = PageConstraints::default();
    if let Some((_, mut from)) = reader(Tag::LIMITS) {
        // As `CrawlLimits` is read.
        let min = from.number();
        let max = from.option(Reader::number);
        let interval_ms = from.number();
        if !from.has_failed() {
            constraints = PageConstraints::of_crawls(min, max, interval_ms, Clockwork::default());
        }
    }
    if let Some((_, mut from)) = reader(Tag::LAWS) {
        // As `ChangeLaw::Quasi` is read; other laws have no clock.
        let is_clock = from.byte() == 3;
        let interval_ms = from.number();
        let updates = Updates::from_bytes(from.bytes());
        if is_clock && !from.has_failed() {
            constraints.clock = Clockwork::new(interval_ms, updates);
        }
    }
    constraints
}

/// The fact if it makes sense, what holds without one, or which record is to blame.
fn sound<T: Default>(
    fact: Option<(usize, T)>,
    section: Tag,
    is_sound: impl Fn(&T) -> bool,
) -> Result<T, ImageError> {
    match fact {
        None => Ok(T::default()),
        Some((_, fact)) if is_sound(&fact) => Ok(fact),
        Some((index, _)) => Err(ImageError::Record {
            section,
            index: index as u32,
        }),
    }
}
