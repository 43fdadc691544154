//! What an image may say about single pages, in sections that a reader may skip: their limits and
//! the laws by which they change. Nothing of it is checked before it is asked for.

use super::record::{About, Record};
use super::section::Table;
use super::{Image, ImageError, Tag, decode};
use crate::catalog::{ChangeLaw, CrawlLimits};

impl<'a> Image<'a> {
    /// How often a page may and has to be visited. Work: the sections, and a binary search.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or limits that make no sense.
    pub fn limits(&self, page: usize) -> Result<CrawlLimits, ImageError> {
        let limits = self.about(Tag::LIMITS, page)?;
        sound(limits, Tag::LIMITS, CrawlLimits::is_sound)
    }

    /// By which law a page changes. Work: the sections, a binary search, and the law's updates.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or a law that makes no sense.
    pub fn law(&self, page: usize) -> Result<ChangeLaw<'a>, ImageError> {
        let law = self.about(Tag::LAWS, page)?;
        sound(law, Tag::LAWS, ChangeLaw::is_sound)
    }

    /// What a section says about a page, and the index of the record that says it.
    fn about<T: Record<'a>>(
        &self,
        tag: Tag,
        page: usize,
    ) -> Result<Option<(usize, T)>, ImageError> {
        self.page(page)?;
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
            let wrong = ImageError::Record {
                section: tag,
                index: middle as u32,
            };
            let bytes = table.record(payload, 4, middle).ok_or(wrong)?;
            let about: About<T> = decode(bytes).ok_or(wrong)?;
            match usize::from(about.page).cmp(&page) {
                core::cmp::Ordering::Equal => return Ok(Some((middle, about.fact))),
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
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
