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
//! | `links.rs`, `page_links.rs`, `robots_lines.rs` | what a body leads to |
//! | `urls.rs`, `queue.rs` | which URLs may become candidates; which wait for the log |
//! | `scouts.rs`, `trials.rs` | which candidate is looked at, and what becomes of it |
//! | `kept.rs` | which pages are kept, and who gives way to whom |
//! | `judged.rs` | what a robots.txt says of candidates |
//! | `sitemaps.rs` | which sitemap is read next, and which parts of an index |
//! | `pages.rs` | nothing: it fills and frees places of the probe's pages and hosts |
//! | `texts.rs`, `earned.rs` | what is written to the log, and what stands beside each URL |
//! | `restored.rs` | what a restart makes of the log |
//! | `found.rs` | how the rest of the probe sees found pages and hosts |
//! | `handle.rs` | nothing: what was found, for who owns the probe |
//!
//! What changes is in parts that own it: [`KnownUrls`], [`Scouts`], [`KeptPages`], [`Sitemaps`] and
//! [`Renewal`]. A function that needs another part than its own has it in its signature.

mod earned;
mod event;
mod found;
mod handle;
mod judged;
mod kept;
mod links;
mod page_links;
mod pages;
mod queue;
mod restored;
mod robots_lines;
mod scouts;
mod sitemaps;
mod texts;
mod trials;
mod urls;

pub use event::{FoundEvent, LoggedFoundEvent};
pub(super) use found::{Found, UrlText};
pub use found::{FoundHost, FoundPage, TextSource};
pub use handle::FoundPages;
pub(super) use judged::JudgedTexts;
pub(super) use links::Reading;
use pages::ProbeParts;
pub use restored::TextsKept;

use core::cell::RefCell;

use super::setup::Setup;
use super::{Board, Probe};
use crate::discover::{self, DiscoverySettings, Frontier, FrontierSettings};
use crate::fetch::robots::Verdict;
use crate::image::Tag;
use crate::math::lesser;
use crate::rank::{Measure, Ranking};
use crate::scheduler::Outcome;
use crate::time::{Duration, Instant};
use found::Kind;
use kept::KeptPages;
use queue::UrlQueue;
use scouts::{Fate, Scouts, is_under_way};
use sitemaps::Sitemaps;
use texts::Renewal;
use urls::KnownUrls;

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
#[non_exhaustive]
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
    /// Which URLs are known.
    urls: KnownUrls<'a>,
    /// Who is being looked at.
    scouts: Scouts<'a>,
    /// Which pages are kept.
    kept: KeptPages<'a>,
    /// Which sitemaps wait, and which were read.
    sitemaps: Sitemaps,
    /// When importances in the log are compared with those of today.
    renewal: Renewal,
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
            page.set_kind(if is_listed { Kind::Listed } else { Kind::Free });
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
        for index in 0..image.pages() {
            let page = image.page(index);
            if let Some(digest) = page.ok().and_then(|page| self.setup.digest_of(page.url)) {
                // Of two that are the same, the first counts.
                frontier.keep(index as u16, digest);
            }
        }
        let discovery = Discovery {
            urls: KnownUrls::new(wanted.scope, frontier, UrlQueue::new(memory.queue)),
            scouts: Scouts::new(memory.trials),
            kept: KeptPages::new(wanted, &self.setup, places as u16),
            sitemaps: Sitemaps::new(wanted.sitemaps),
            renewal: Renewal::new(self.board.now()),
        };
        self.state().discovery = Some(discovery);
        self
    }

    /// What was found, and what is kept of it.
    pub fn found(&self) -> FoundPages<'_, 'a, B> {
        FoundPages { probe: self }
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
    /// A turn of a page has ended so; true if others may be looked at now.
    #[inline(never)] // Out of a function that is long enough.
    fn turn_ended(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        page: u16,
        outcome: Outcome,
    ) -> bool {
        if is_under_way(outcome) {
            return false;
        }
        match pages.setup.found.kind(page.into()) {
            Kind::Scout => self.end_scout(pages, board, page, outcome),
            Kind::Sitemap => {
                let _ = kept::free(&mut self.urls.frontier, pages, page, Verdict::Allowed);
            }
            Kind::Kept if matches!(outcome, Outcome::Gone | Outcome::Denied) => {
                self.kept.lose(&mut self.urls, pages, board, page);
            }
            // It was willing when it was found. The list's own pages are the owner's choice.
            Kind::Kept if self.scouts.unwilling.take(page) => {
                self.kept.lose(&mut self.urls, pages, board, page);
            }
            Kind::Kept | Kind::Listed | Kind::Free => {}
        }
        self.launch(pages, board.now());
        true
    }

    /// Looks at a candidate, if it is time to, and reads a sitemap, if one waits. Work: linear in
    /// pages and candidates.
    fn launch(&mut self, pages: &mut ProbeParts<'_, '_>, now: Instant) {
        self.sitemaps.begin(&mut self.urls, pages, now);
        let frontier = &mut self.urls.frontier;
        if let Some(candidate) = self.scouts.choose(frontier, &self.kept, pages) {
            self.scouts.begin(frontier, pages, &candidate, now);
        }
    }

    /// The same, unless candidates are being looked at; true if others may be looked at now.
    fn launch_first(&mut self, pages: &mut ProbeParts<'_, '_>, now: Instant) -> bool {
        let are_idle = self.scouts.are_idle();
        if are_idle {
            self.launch(pages, now);
        }
        are_idle
    }

    /// A scout has been visited, or could not be.
    fn end_scout(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        place: u16,
        outcome: Outcome,
    ) {
        let Self {
            urls, scouts, kept, ..
        } = self;
        let Some(url) = pages.setup.found_url(place.into()) else {
            return scouts.free(&mut urls.frontier, pages, place, Verdict::Denied);
        };
        let fate = scouts.fate(&urls.frontier, kept, pages, place, outcome);
        if let Some(won) = fate.has_won() {
            scouts.trials.note(&url, &pages.setup.config.key, won);
        }
        let verdict = match fate {
            Fate::UnderWay => return,
            Fate::Keep => {
                scouts.end();
                return kept.admit(&urls.frontier, pages.setup, board, place, &url);
            }
            Fate::Replace(other) => {
                if kept.evict(urls, pages, board, other, Verdict::Allowed) {
                    scouts.end();
                    return kept.admit(&urls.frontier, pages.setup, board, place, &url);
                }
                // That page is being fetched: another time.
                Verdict::Allowed
            }
            Fate::Return => Verdict::Allowed,
            Fate::PutBack => Verdict::Unknown,
            Fate::Refuse(_) => Verdict::Denied,
        };
        scouts.put_back(&mut urls.frontier, pages, place, verdict);
        if let Fate::Refuse(why) = fate {
            urls.refused += 1;
            board.found(&FoundEvent::Refused { why, url: &url });
        }
    }
}
