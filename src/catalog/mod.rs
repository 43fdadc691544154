//! catalog: what there is to crawl, and what its owner says about it.
//!
//! A catalog holds facts that are *given*: the URL of a page, its host, its weight, what is
//! believed about its changes beforehand, limits; the gap, the hours and the gate of a host; and
//! the [`Config`] of the probe that crawls them. What a probe *learns* is kept apart from it, see
//! below. Where the facts are kept does not matter to who reads them: [`Catalog`] is implemented by
//! the page image in flash ([`image`](crate::image)), and can be by a table in RAM:
//!
//! ```
//! use dunlin::catalog::{Catalog, Host, Page};
//!
//! struct Table<'a> {
//!     hosts: &'a [Host<'a>],
//!     pages: &'a [Page<'a>],
//! }
//!
//! #[derive(Debug)]
//! struct NoSuchIndex;
//!
//! impl Catalog for Table<'_> {
//!     type Error = NoSuchIndex;
//!     fn pages(&self) -> usize {
//!         self.pages.len()
//!     }
//!     fn hosts(&self) -> usize {
//!         self.hosts.len()
//!     }
//!     fn page(&self, index: usize) -> Result<Page<'_>, NoSuchIndex> {
//!         self.pages.get(index).copied().ok_or(NoSuchIndex)
//!     }
//!     fn host(&self, index: usize) -> Result<Host<'_>, NoSuchIndex> {
//!         self.hosts.get(index).copied().ok_or(NoSuchIndex)
//!     }
//! }
//!
//! let table = Table {
//!     hosts: &[Host { pages: 2, ..Host::new("example.org", 0) }],
//!     pages: &[
//!         Page::new(0, "http://example.org/"),
//!         Page { weight: 3.0, ..Page::new(0, "http://example.org/news") },
//!     ],
//! };
//! let urls = table.pages_of(0).map(|index| Ok(table.page(index)?.url));
//! let urls: Vec<&str> = urls.collect::<Result<_, _>>()?;
//! assert_eq!(urls, ["http://example.org/", "http://example.org/news"]);
//! # Ok::<(), NoSuchIndex>(())
//! ```
//!
//! # Ids
//! A page and a host are known by their index in the catalog, from 0 on and without gaps. It is the
//! same number in the scheduler, in the store's keys and in the log, and it is at most 65,534.
//! Indexes belong to one list: what is stored across lists is found again by the
//! [`identity`](crate::store::identity) of the URL.
//!
//! # Who keeps which facts of a page, and for how long
//!
//! In the crate, on the way from the list to the store:
//!
//! | struct | facts of a page | where | for how long |
//! |---|---|---|---|
//! | [`catalog::Page`](Page) | host, URL, weight, given rate and its confidence | decoded from the image when it is asked for | as long as its reader looks at it; the image itself stays until another list is loaded |
//! | [`catalog::CrawlLimits`](CrawlLimits), [`catalog::ChangeLaw`](ChangeLaw) | crawls an interval; the law of its changes | the same, in sections of their own | the same |
//! | `catalog::PageFilter` | what of it counts as a change (feature `filter`) | the same | the same |
//! | `image::Learnt` | belief, as a list brings it from another probe | the same | until the restart at which it is taken over |
//! | `image::Teller` | that it is no page, but where a host says what has changed (feature `hints`) | the same | the same as the image |
//! | `scheduler::PageSettings` | weight, rate, confidence: the argument of `add_page` | stack | one call |
//! | `scheduler::PageId` | its index | wherever it is asked about | as long as the page is in the scheduler |
//! | `scheduler::PageState` | weight, belief about its rate, last fetch, next due time, place in its host's queue | RAM, 36 bytes | from `add_page` until it is removed or the device resets |
//! | `probe::PageMemory` | validators, fingerprint, robots verdict, where the store keeps it | RAM, 64 bytes | until the device resets |
//! | `probe`'s redirects | where it moved to, and the robots verdict there with its end | RAM, the bytes of the new URL | until the move is over, forgotten for want of room, or the device resets |
//! | `probe::AddedPage` | number, host, URL, weight, given rate of a page that was added (feature `additions`) | RAM, a place of the firmware's | until it is removed or the device resets |
//! | `probe::FoundPage` | host, and where the text of its URL lies, of a page that was found (feature `discover`) | RAM, 8 bytes | until it gives way or the device resets |
//! | `discover::Candidate` | digest of its URL, where the text lies, income, backlinks, robots verdict, of a page that might be kept | RAM, 16 bytes | until it is kept, gives way, or the device resets |
//! | `fleet::VisitReport` | belief after a visit, and whether it had changed: what a planner is told (feature `fleet`) | RAM, then a message | until the planner has it |
//! | `store::PageRecord` | belief, last fetch, fingerprint, validators, robots verdict | flash, 84 bytes | across resets, until the page is no longer on the list |
//! | `store::MoveRecord` | where it moved to for good | flash, 84 bytes | across resets, until it moves again |
//! | texts of the `store` | URL of a page or candidate that was found, and its place (feature `discover`) | flash, 12 bytes and the URL | across resets, until it is neither kept nor a candidate |
//!
//! In the crate, for plans made ahead of time:
//!
//! | struct | facts of a page | where | for how long |
//! |---|---|---|---|
//! | `plan::PlanPage` | weight, law of change with its rate, host, crawl limits | the caller's slice | one plan |
//! | `pace::Seat` | rate, credit and next slot on a carousel | the caller's slice | one timetable |
//!
//! In the program `dunlin`, which has a computer's memory:
//!
//! | struct | facts of a page | for how long |
//! |---|---|---|
//! | `lists::pages::ListedPage` | one row of PAGES.csv, in `f64`; `lists::page_image` makes [`catalog::Page`](Page) of it | one command |
//! | `monitor::names::PageName` | URL, host, weight and given rate, by index | one run of the monitor |
//! | `monitor::page_stats::PageStats` | what the log has told: visits, changes, errors, belief | one run of the monitor |
//! | `monitor::view::PageRow` | both, as a row of the screen or the web page | one screen |
//! | `simulate::world::SimPage` | host, weight, and when it really changes | one simulation |
//! | `simulate::scored::Page` with `learn::hints::scores::Missed` | score, host and pending signal under the policy `hints` | one simulation |
//! | `commands::plan::PageRow`, `estimate::Estimated` | a row of the output | one command |

mod config;
#[cfg(feature = "filter")]
mod filter;

pub use crate::constraints::{ChangeLaw, ClockUpdate, CrawlLimits, Updates};
pub use crate::fetch::Ignore;
#[cfg(feature = "filter")]
pub use crate::fetch::Select;
pub use config::{Address, Config, Gateway, Ignores, LogLevel, Name, TimeServer};
#[cfg(feature = "filter")]
pub use filter::PageFilter;

use core::ops::Range;

/// Pages and hosts with what is given about them, wherever that is kept.
pub trait Catalog {
    /// Why a page or a host cannot be told.
    type Error;

    /// How many pages there are.
    fn pages(&self) -> usize;

    /// How many hosts there are.
    fn hosts(&self) -> usize;

    /// A page.
    ///
    /// # Errors
    /// There is none at this index, or it cannot be read.
    fn page(&self, index: usize) -> Result<Page<'_>, Self::Error>;

    /// A host.
    ///
    /// # Errors
    /// There is none at this index, or it cannot be read.
    fn host(&self, index: usize) -> Result<Host<'_>, Self::Error>;

    /// The indexes of a host's pages, which follow each other; none for a host that is not there.
    fn pages_of(&self, host: usize) -> Range<usize> {
        self.host(host).map_or(0..0, |host| host.page_indexes())
    }

    /// How often a page may and has to be visited; [`CrawlLimits::NONE`] if nothing is said.
    ///
    /// # Errors
    /// There is no such page, or its limits cannot be read.
    fn limits(&self, page: usize) -> Result<CrawlLimits, Self::Error> {
        self.page(page).map(|_| CrawlLimits::NONE)
    }

    /// By which law a page changes; [`ChangeLaw::Poisson`] if nothing is said.
    ///
    /// # Errors
    /// There is no such page, or its law cannot be read.
    fn law(&self, page: usize) -> Result<ChangeLaw<'_>, Self::Error> {
        self.page(page).map(|_| ChangeLaw::Poisson)
    }
}

/// A host, as the page list describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host<'a> {
    /// `name` or `name:port`, as in its pages' URLs.
    pub name: &'a str,
    /// The least time between two fetches, in milliseconds.
    pub gap_ms: u32,
    /// Local hours in which fetching is allowed, from and to.
    pub hours: Option<(u8, u8)>,
    /// The host whose gate it shares: itself, as a rule.
    pub gate: u16,
    /// Its pages follow each other from here.
    pub first_page: u16,
    /// The number of its pages.
    pub pages: u16,
}

impl<'a> Host<'a> {
    /// The host at this index, with a gate of its own and no pages yet, fetched from at any hour
    /// with a gap of 15 seconds.
    pub const fn new(name: &'a str, index: u16) -> Self {
        Self {
            name,
            gap_ms: 15_000,
            hours: None,
            gate: index,
            first_page: 0,
            pages: 0,
        }
    }

    /// The indexes of its pages.
    pub fn page_indexes(&self) -> Range<usize> {
        let first = usize::from(self.first_page);
        first..first + usize::from(self.pages)
    }
}

/// A page, as the page list describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page<'a> {
    /// The index of its host.
    pub host: u16,
    /// The URL that it is fetched from.
    pub url: &'a str,
    /// Its importance, above 0.
    pub weight: f32,
    /// Changes a day, if anything is known about them.
    pub rate: Option<f32>,
    /// How firmly the rate is believed: as if so many changes had been seen.
    pub confidence: f32,
}

impl<'a> Page<'a> {
    /// A page of weight 1 of whose changes nothing is known.
    pub const fn new(host: u16, url: &'a str) -> Self {
        Self {
            host,
            url,
            weight: 1.0,
            rate: None,
            confidence: 0.0,
        }
    }
}
