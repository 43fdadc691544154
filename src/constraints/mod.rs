//! What does the list say of single pages beside their weight? How often a page may and has to be
//! visited ([`CrawlLimits`]), and by which law it changes ([`ChangeLaw`]).
//!
//! Most pages have none, so nobody keeps constraints in RAM: [`Constraints`] says where they are
//! read when a page that has some is looked at.

mod clockwork;
mod law;
mod limits;

pub use clockwork::{Clockwork, NextVisit};
pub use law::{ChangeLaw, ClockUpdate, Updates};
pub use limits::CrawlLimits;

/// The constraints of one page, as whoever decides about visits needs them. In milliseconds, which
/// a small processor computes with at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageConstraints<'a> {
    /// The least time between the starts of two requests; 0 for any.
    pub least_ms: u32,
    /// The most time between two visits; 0 for any.
    pub most_ms: u32,
    /// The clock that its changes keep to; one without updates for none.
    pub clock: Clockwork<'a>,
}

impl<'a> PageConstraints<'a> {
    /// The longest time that can be told: 49 days.
    pub const LONGEST_MS: u32 = u32::MAX;

    /// The constraints that limits and a clock make.
    pub fn new(limits: &CrawlLimits, clock: Clockwork<'a>) -> Self {
        let interval_ms = u32::try_from(limits.interval.as_millis()).unwrap_or(Self::LONGEST_MS);
        Self::of_crawls(limits.min, limits.max, interval_ms, clock)
    }

    /// The same for so many crawls in an interval. A limit that makes no sense is none.
    pub fn of_crawls(min: u32, max: Option<u32>, interval_ms: u32, clock: Clockwork<'a>) -> Self {
        Self {
            least_ms: match max {
                None => 0,
                // Not at all, or a millisecond more rather than less.
                Some(max) => {
                    let rounded_up = interval_ms.checked_add(max.saturating_sub(1));
                    let gap = rounded_up.and_then(|interval| interval.checked_div(max));
                    gap.unwrap_or(Self::LONGEST_MS)
                }
            },
            most_ms: interval_ms.checked_div(min).unwrap_or(0),
            clock,
        }
    }

    /// Whether the page has crawl limits.
    pub fn is_limited(&self) -> bool {
        self.least_ms != 0 || self.most_ms != 0
    }
}

/// The constraints of one page in memory of their own, for computers.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct ListedConstraints {
    /// How often it may and has to be visited.
    pub limits: CrawlLimits,
    /// The interval in which it keeps to the clock, and the bytes of its updates; see
    /// [`ClockUpdate::to_bytes`].
    pub clock: Option<(crate::time::Duration, std::vec::Vec<u8>)>,
}

#[cfg(feature = "std")]
impl ListedConstraints {
    fn constraints(&self) -> PageConstraints<'_> {
        let clock = self.clock.as_ref();
        let clock = clock.map(|(interval, updates)| {
            let interval_ms = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
            Clockwork::new(interval_ms, Updates::from_bytes(updates))
        });
        PageConstraints::new(&self.limits, clock.unwrap_or_default())
    }
}

/// Where constraints are read, by the index of the page. What cannot be read says nothing.
///
/// ```
/// use dunlin::constraints::{Constraints, CrawlLimits, PageConstraints};
///
/// // One byte a page: its most visits a day.
/// fn read(bytes: &[u8], page: usize) -> PageConstraints<'_> {
///     let max = bytes.get(page).map(|max| u32::from(*max));
///     PageConstraints::new(&CrawlLimits { max, ..CrawlLimits::NONE }, Default::default())
/// }
/// let constraints = Constraints::Encoded { bytes: &[24, 1], read };
/// assert_eq!(constraints.of(0).least_ms, 3_600_000);
/// assert!(!Constraints::None.of(1).is_limited());
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Constraints<'a> {
    /// No page has any.
    #[default]
    None,
    /// They are in bytes, such as those of a page image in flash.
    Encoded {
        /// All that `read` needs.
        bytes: &'a [u8],
        /// Finds the constraints of a page.
        read: fn(&[u8], usize) -> PageConstraints<'_>,
    },
    /// They are in a table in memory, one entry a page.
    #[cfg(feature = "std")]
    Listed(&'a [ListedConstraints]),
}

impl<'a> Constraints<'a> {
    /// The constraints of a page.
    #[inline(never)] // Once for all callers.
    pub fn of(&self, page: usize) -> PageConstraints<'a> {
        match *self {
            Self::None => PageConstraints::default(),
            Self::Encoded { bytes, read } => read(bytes, page),
            #[cfg(feature = "std")]
            Self::Listed(pages) => {
                let listed = pages.get(page);
                listed.map_or_else(PageConstraints::default, ListedConstraints::constraints)
            }
        }
    }
}
