//! Pages that are not on the list: found by links and sitemaps, ranked, and kept in a collection
//! that never grows (Cho, §7.3). Off unless the page image asks for it.
//!
//! ```text
//!   a body streams by ─► links ─► limits, scope ─► queue ─► log of texts ─► candidates
//!                                                                              │
//!   collection ◄─ better than the least important page, by enough ◄─ visit ◄─ scout
//! ```
//!
//! A candidate that is looked at is a *scout*: a page in a place of its own, visited once by the
//! ordinary rules (robots.txt first, gates, redirects). Then it is kept, or is a candidate again.
//! So exploring does not disturb the collection, and a page has been seen before it replaces
//! another.
//!
//! | file | what is decided there |
//! |---|---|
//! | `links.rs` | what a body leads to |
//! | `meeting.rs` | which URLs may become candidates |
//! | `scouts.rs` | which candidate is looked at, and who gives way to whom |
//! | `judged.rs` | what a robots.txt says of candidates |
//! | `sitemaps.rs` | which sitemap is read next, and which parts of an index |
//! | `pages.rs` | nothing: it fills and frees places of the probe's pages and hosts |
//! | `texts.rs` | what is written to the log, and what a restart makes of it |
//! | `found.rs` | how the rest of the probe sees found pages and hosts |

mod event;
mod found;
mod judged;
mod links;
mod meeting;
mod pages;
mod queue;
mod scouts;
mod sitemaps;
mod texts;

pub use event::{FoundEvent, LoggedFoundEvent};
pub(super) use found::{Found, UrlText};
pub use found::{FoundHost, FoundPage, TextSource};
pub(super) use judged::JudgedTexts;
pub(super) use links::Reading;
use pages::ProbeParts;
pub use texts::TextsKept;

use core::cell::RefCell;

use super::setup::Setup;
use super::{Board, Event, Probe};
use crate::discover::{self, DiscoverySettings, Doorkeeper, Frontier, FrontierSettings, digest};
use crate::fetch::Url;
use crate::image::Tag;
use crate::math::lesser;
use crate::rank::{Measure, Ranking};
use crate::time::{Duration, Instant};
use found::Kind;
use queue::UrlQueue;
use sitemaps::Sitemaps;
use texts::RENEW;

/// Candidates that are looked at at the same time, each in a place beyond those of the collection.
pub const SCOUTS: usize = 8;

/// Memory that is lent for discovery.
#[derive(Debug)]
pub struct DiscoveryMemory<'a> {
    /// Accounts, order, candidates and doorkeepers. Accounts and order: one for each of `pages`.
    pub frontier: discover::FrontierMemory<'a>,
    /// One for each place of the collection, and [`SCOUTS`] more; the scheduler and the probe's
    /// memory need as many.
    pub pages: &'a [FoundPage],
    /// Hosts beyond those of the list, for scopes that let them in; the scheduler and the probe's
    /// memory need room for them, too.
    pub hosts: &'a [FoundHost],
    /// URLs that wait for the log: some kilobytes.
    pub queue: &'a mut [u8],
    /// Counts which parts of hosts are worth looking at: 512 bytes or more.
    pub trials: &'a mut [u8],
}

/// What was found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundTotals {
    /// Pages that are kept, those of the list included.
    pub pages: u16,
    /// How many there may be.
    pub places: u16,
    /// Pages that are known and not kept.
    pub candidates: u16,
    /// URLs that became candidates.
    pub found: u32,
    /// Candidates that were kept after a visit.
    pub admitted: u32,
    /// Pages that gave way to them.
    pub replaced: u32,
    /// Links that were not followed, and candidates that were not kept for good.
    pub refused: u32,
}

/// What changes as pages are found.
#[derive(Debug)]
pub(super) struct Discovery<'a> {
    wanted: DiscoverySettings<'a>,
    frontier: Frontier<'a>,
    queue: UrlQueue<'a>,
    /// Visits to scouts that came to nothing, by parts of hosts …
    vain: Doorkeeper<&'a mut [u8]>,
    /// … and those that replaced another page.
    won: Doorkeeper<&'a mut [u8]>,
    /// How many scouts are under way.
    scouts: usize,
    /// Which of them wait, and which were read.
    sitemaps: Sitemaps,
    /// No page's PageRank is multiplied by less.
    lowest_factor: f32,
    /// Pages that were visited and do not want to be kept.
    unwilling: heapless::Vec<u16, SCOUTS>,
    totals: FoundTotals,
    /// When importances in the log are compared with those of today, and how long after that again.
    renew_at: Instant,
    renew_after: Duration,
}

impl<'a, B: Board> Probe<'a, B> {
    /// Lets the probe find pages beyond its list, if the image asks for that: see
    /// [`discover::DiscoverySettings`]. `source` reads the partition of the log of texts. Call it
    /// after [`Self::with_key`] and before anything is restored.
    #[must_use]
    pub fn with_discovery(
        mut self,
        memory: DiscoveryMemory<'a>,
        source: &'a dyn TextSource,
    ) -> Self {
        let image = self.setup.image;
        let Some(wanted) = image
            .section(Tag::DISCOVERY)
            .and_then(DiscoverySettings::read)
        else {
            return self;
        };
        let room = memory.pages.len().min(memory.frontier.accounts.len());
        // Tellers have places of their own.
        let places = usize::from(wanted.places) + self.setup.tellers();
        let places = places.min(room.saturating_sub(SCOUTS));
        let pages = memory.pages.get(..places + SCOUTS).unwrap_or_default();
        for (place, page) in pages.iter().enumerate() {
            let is_listed = place < image.pages();
            page.kind
                .set(if is_listed { Kind::Listed } else { Kind::Free });
        }
        self.setup.found = Found {
            pages,
            hosts: memory.hosts,
            source: Some(source),
            sitemap: RefCell::new(UrlText::new()),
            gap: Duration::from_millis(wanted.gap_ms.into()),
            listed_hosts: image.hosts() as u16,
            ranking: image
                .section(Tag::RANKING)
                .and_then(Ranking::read)
                .unwrap_or(Ranking::DEFAULT),
        };
        let candidates = memory.frontier.candidates.len();
        let several = image.hosts() + memory.hosts.len() > 1;
        let settings = FrontierSettings {
            measure: self.setup.found.ranking.measure,
            exploring: f32::from(wanted.exploring) / 256.0,
            // One host leaves room for the others.
            host: wanted.per_host.or_else(|| {
                let half = (candidates / 2).min(u16::MAX.into()) as u16;
                several.then_some(half)
            }),
            ..FrontierSettings::DEFAULT
        };
        let seed = u64::from(self.setup.config.seed);
        let mut frontier = Frontier::new(memory.frontier, settings, seed);
        let key = &self.setup.config.key;
        for index in 0..image.pages() {
            let page = image.page(index);
            if let Some(url) = page.ok().and_then(|page| Url::parse(page.url).ok()) {
                // Of two that are the same, the first counts.
                frontier.keep(index as u16, digest(&url, key));
            }
        }
        let half = memory.trials.len() / 2;
        let (vain, won) = memory.trials.split_at_mut(half);
        let discovery = Discovery {
            frontier,
            queue: UrlQueue::new(memory.queue),
            vain: Doorkeeper::new(vain),
            won: Doorkeeper::new(won),
            scouts: 0,
            sitemaps: Sitemaps::NONE,
            lowest_factor: self.setup.lowest_factor(),
            unwilling: heapless::Vec::new(),
            totals: FoundTotals {
                pages: image.pages() as u16,
                places: places as u16,
                ..FoundTotals::default()
            },
            renew_at: self.board.now() + RENEW,
            renew_after: RENEW,
            wanted,
        };
        self.state().discovery = Some(discovery);
        self
    }

    /// What was found so far; `None` if nothing is looked for.
    pub fn found_totals(&self) -> Option<FoundTotals> {
        let tellers = self.setup.tellers() as u16;
        self.discover(|discovery, _| FoundTotals {
            pages: discovery.totals.pages.saturating_sub(tellers),
            places: discovery.totals.places.saturating_sub(tellers),
            candidates: discovery.frontier.candidates().len().min(u16::MAX.into()) as u16,
            ..discovery.totals
        })
    }

    /// Logs what was found so far.
    pub(super) fn report_found(&self) {
        if let Some(totals) = self.found_totals() {
            self.board.log(&Event::Collection {
                pages: totals.pages,
                places: totals.places,
                candidates: totals.candidates,
                found: totals.found,
                admitted: totals.admitted,
                replaced: totals.replaced,
                refused: totals.refused,
            });
        }
    }

    /// Hands every page of the collection to `each`: its number, its URL and its importance, 1 on
    /// average. Tellers are none. Work: the places, each a read of flash.
    pub fn each_kept(&self, mut each: impl FnMut(u16, &str, f32)) {
        for place in 0..self.setup.page_places() {
            let importance = self.discover(|discovery, _| discovery.importance(place as u16));
            let Some(importance) = importance else {
                return;
            };
            match self.setup.found.kind(place) {
                Kind::Listed if self.setup.is_teller(place as u16) => {}
                Kind::Listed => {
                    if let Ok(page) = self.setup.image.page(place) {
                        each(place as u16, page.url, importance);
                    }
                }
                Kind::Kept => {
                    if let Some(url) = self.setup.found_url(place) {
                        each(place as u16, &url, importance);
                    }
                }
                Kind::Free | Kind::Scout | Kind::Sitemap => {}
            }
        }
    }
}

impl<B: Board> Probe<'_, B> {
    /// The weight of a page, and the changes a day that were learnt of it; `None` before the first
    /// version.
    pub fn belief(&self, page: u16) -> (f32, Option<f32>) {
        let weight = self.setup.page(page.into()).map_or(1.0, |page| page.weight);
        let state = self.state();
        let memory = state.known.pages.get(usize::from(page));
        let is_known = memory.is_some_and(|page| !page.is_new());
        let id = state.scheduler.page_id(page.into());
        let estimate = id.and_then(|id| state.scheduler.estimate(id).ok());
        let rate = estimate.map(|estimate| estimate.rate());
        (weight, rate.filter(|_| is_known))
    }
}

impl Setup<'_> {
    /// What the PageRank of a page is multiplied by at the least. Work: the list.
    fn lowest_factor(&self) -> f32 {
        let Measure {
            location, topic, ..
        } = self.found.ranking.measure;
        if location || topic {
            return 0.0;
        }
        let listed = (0..self.image.pages()).filter_map(|index| self.image.page(index).ok());
        listed.fold(1.0, |lowest, page| lesser(lowest, page.weight))
    }
}

impl Discovery<'_> {
    /// How important the page at a place is, where 1 is what one of the pages that are kept has on
    /// average. Work: linear in the pages.
    fn importance(&self, place: u16) -> f32 {
        let bank = self.frontier.bank();
        bank.importance(place) / self.mean_importance()
    }

    /// What the pages that are kept have earned on average. Work: linear in the pages.
    fn mean_importance(&self) -> f32 {
        let bank = self.frontier.bank();
        let all: f32 = bank.places().map(|place| bank.importance(place)).sum();
        if all > 0.0 {
            all / bank.len() as f32
        } else {
            1.0
        }
    }

    fn has_room(&self) -> bool {
        self.totals.pages < self.totals.places
    }
}
