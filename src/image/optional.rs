//! What an image may say about single pages, in sections that a reader may skip: their limits and
//! the laws by which they change. Nothing of it is checked before it is asked for.

use serde::{Deserialize, Serialize};

use super::section::Table;
use super::{Image, ImageError, Tag};
use crate::catalog::{ChangeLaw, CrawlLimits, Updates};
use crate::time::Duration;

/// A record about one page. Records are sorted by page, and most pages have none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About<T> {
    pub(super) page: u16,
    pub(super) fact: T,
}

/// [`CrawlLimits`] as they are kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredLimits {
    min: u32,
    max: Option<u32>,
    interval_us: u64,
}

impl From<CrawlLimits> for StoredLimits {
    fn from(limits: CrawlLimits) -> Self {
        Self {
            min: limits.min,
            max: limits.max,
            interval_us: limits.interval.as_micros(),
        }
    }
}

impl From<StoredLimits> for CrawlLimits {
    fn from(stored: StoredLimits) -> Self {
        Self {
            min: stored.min,
            max: stored.max,
            interval: Duration::from_micros(stored.interval_us),
        }
    }
}

/// A [`ChangeLaw`] as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredLaw<'a> {
    Poisson,
    Weibull { shape: f32 },
    Pareto { shape: f32 },
    Quasi { interval_us: u64, updates: &'a [u8] },
}

impl<'a> From<ChangeLaw<'a>> for StoredLaw<'a> {
    fn from(law: ChangeLaw<'a>) -> Self {
        match law {
            ChangeLaw::Poisson => Self::Poisson,
            ChangeLaw::Weibull { shape } => Self::Weibull { shape },
            ChangeLaw::Pareto { shape } => Self::Pareto { shape },
            ChangeLaw::Quasi { interval, updates } => Self::Quasi {
                interval_us: interval.as_micros(),
                updates: updates.as_bytes(),
            },
        }
    }
}

impl<'a> From<StoredLaw<'a>> for ChangeLaw<'a> {
    fn from(stored: StoredLaw<'a>) -> Self {
        match stored {
            StoredLaw::Poisson => Self::Poisson,
            StoredLaw::Weibull { shape } => Self::Weibull { shape },
            StoredLaw::Pareto { shape } => Self::Pareto { shape },
            StoredLaw::Quasi {
                interval_us,
                updates,
            } => Self::Quasi {
                interval: Duration::from_micros(interval_us),
                updates: Updates::from_bytes(updates),
            },
        }
    }
}

impl<'a> Image<'a> {
    /// How often a page may and has to be visited. Work: the sections, and a binary search.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or limits that make no sense.
    pub fn limits(&self, page: usize) -> Result<CrawlLimits, ImageError> {
        let fact = self.about::<StoredLimits>(Tag::LIMITS, page)?;
        let limits = fact.map(|(index, stored)| (index, CrawlLimits::from(stored)));
        sound(limits, Tag::LIMITS, CrawlLimits::is_sound)
    }

    /// By which law a page changes. Work: the sections, a binary search, and the law's updates.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a page that is not there, or a law that makes no sense.
    pub fn law(&self, page: usize) -> Result<ChangeLaw<'a>, ImageError> {
        let fact = self.about::<StoredLaw<'a>>(Tag::LAWS, page)?;
        let law = fact.map(|(index, stored)| (index, ChangeLaw::from(stored)));
        sound(law, Tag::LAWS, ChangeLaw::is_sound)
    }

    /// What a section says about a page, and the index of the record that says it.
    fn about<T: Deserialize<'a>>(
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
            let bytes = table.record(payload, 0, middle).ok_or(wrong)?;
            let about: About<T> = postcard::from_bytes(bytes).map_err(|_| wrong)?;
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
