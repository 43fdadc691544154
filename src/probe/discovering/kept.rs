//! Which pages are kept, and who gives way to whom.

use super::queue::Waiting;
use super::urls::KnownUrls;
use super::{FoundEvent, Kind, ProbeParts, UrlText};
use crate::discover::{DiscoverySettings, Frontier};
use crate::fetch::robots::Verdict;
use crate::probe::setup::Setup;
use crate::probe::{Board, PageMemory};

/// How a page of the list waits that gave way.
const RETIRED: Waiting = Waiting {
    retired: true,
    worth: 0.0,
};

/// The pages that are kept: how many, and how they changed.
#[derive(Debug)]
pub(super) struct KeptPages<'a> {
    /// Which pages of the list are pinned.
    settings: DiscoverySettings<'a>,
    /// No page's PageRank is multiplied by less.
    lowest_factor: f32,
    /// Pages that are kept, those of the list included.
    pub count: u16,
    /// How many there may be.
    pub places: u16,
    /// Candidates that were kept after a visit.
    pub admitted: u32,
    /// Pages that gave way to them.
    pub replaced: u32,
}

impl<'a> KeptPages<'a> {
    /// The pages of the list, with room for so many.
    pub(super) fn new(settings: DiscoverySettings<'a>, setup: &Setup<'_>, places: u16) -> Self {
        Self {
            settings,
            lowest_factor: setup.lowest_factor(),
            count: setup.image.pages() as u16,
            places,
            admitted: 0,
            replaced: 0,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.count < self.places
    }

    /// The least important page that may go, and its importance. Pinned pages, tellers and those
    /// without a version yet may not.
    pub(super) fn least(
        &self,
        frontier: &Frontier<'_>,
        pages: &ProbeParts<'_, '_>,
    ) -> Option<(u16, f32)> {
        let setup = pages.setup;
        frontier.least_from(self.lowest_factor, |place| {
            let index = usize::from(place);
            let memory = pages.known.pages.get(index);
            if memory.is_none_or(PageMemory::is_new) {
                return None;
            }
            match setup.found.kind(index) {
                Kind::Kept => Some(setup.found.factor(index)),
                Kind::Listed if self.settings.is_pinned(place) || setup.is_teller(place) => None,
                Kind::Listed => {
                    let page = setup.image.page(index).ok()?;
                    Some(page.weight * setup.found.factor(index))
                }
                Kind::Free | Kind::Scout | Kind::Sitemap => None,
            }
        })
    }

    /// A scout is kept from now on.
    pub(super) fn admit(
        &mut self,
        frontier: &Frontier<'_>,
        setup: &Setup<'_>,
        board: &impl Board,
        place: u16,
        url: &str,
    ) {
        self.admitted += 1;
        self.count += 1;
        if let Some(page) = setup.found.pages.get(usize::from(place)) {
            page.set_kind(Kind::Kept);
            page.set_unsaved(true);
        }
        board.found(&FoundEvent::Admitted {
            page: place,
            importance: importance(frontier, place),
            url,
        });
    }

    /// A page gives way; true if it could.
    pub(super) fn evict(
        &mut self,
        urls: &mut KnownUrls<'_>,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        place: u16,
        verdict: Verdict,
    ) -> bool {
        let found = &pages.setup.found;
        let is_listed = found.is_listed(place.into());
        let mut url = UrlText::new();
        match is_listed {
            true => {
                let page = pages.setup.image.page(place.into());
                if page.is_ok_and(|page| url.push_str(page.url).is_err()) {
                    // It is too long for the log, which could not say that it is gone.
                    return false;
                }
            }
            false => url = found.url(place.into()).unwrap_or_default(),
        }
        let importance = importance(&urls.frontier, place);
        if !self.retire(urls, pages, place, &url, verdict) {
            return false;
        }
        board.found(&FoundEvent::Replaced {
            page: place,
            importance,
            url: &url,
        });
        true
    }

    /// A page that was found is not there any more.
    pub(super) fn lose(
        &mut self,
        urls: &mut KnownUrls<'_>,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        place: u16,
    ) {
        // It is asked for no more, as long as it is known.
        if self.evict(urls, pages, board, place, Verdict::Denied) {
            self.replaced -= 1;
        }
    }

    /// A page of the collection becomes a candidate; true if it could.
    fn retire(
        &mut self,
        urls: &mut KnownUrls<'_>,
        pages: &mut ProbeParts<'_, '_>,
        place: u16,
        url: &str,
        verdict: Verdict,
    ) -> bool {
        let is_listed = pages.setup.found.is_listed(place.into());
        // The log has to know that a page of the list is gone: it is there after a restart.
        if is_listed && !urls.queue.push(RETIRED, url) {
            return false;
        }
        if free(&mut urls.frontier, pages, place, verdict).is_none() {
            if is_listed {
                urls.queue.take_back(url);
            }
            return false;
        }
        self.replaced += 1;
        self.count -= 1;
        true
    }
}

/// Frees a place, and forgets what was learnt of the page there; what the place held, `None` if it
/// is being fetched. A page that was kept becomes a candidate.
#[inline(never)] // Once for all callers.
pub(super) fn free(
    frontier: &mut Frontier<'_>,
    pages: &mut ProbeParts<'_, '_>,
    place: u16,
    verdict: Verdict,
) -> Option<Kind> {
    let page = pages.setup.found.pages.get(usize::from(place))?;
    let kind = page.kind();
    let text = match kind {
        Kind::Kept => pages.setup.text_at(place.into()),
        _ => None,
    };
    if !pages.remove(place) {
        return None;
    }
    page.set_kind(Kind::Free);
    let _ = frontier.retire(place, text, verdict);
    // What the log has not been told yet of the page before stays to be told.
    page.set_unsaved(kind == Kind::Kept || page.is_unsaved());
    Some(kind)
}

/// How important the page at a place is, where 1 is what one of the pages that are kept has on
/// average.
pub(super) fn importance(frontier: &Frontier<'_>, place: u16) -> f32 {
    frontier.bank().importance(place) / mean_importance(frontier)
}

/// What the pages that are kept have earned on average.
pub(super) fn mean_importance(frontier: &Frontier<'_>) -> f32 {
    let bank = frontier.bank();
    if bank.earnings() > 0.0 {
        bank.earnings() / bank.len() as f32
    } else {
        1.0
    }
}
