//! What a restart makes of the log of URL texts: of each place and of each URL the last text counts.

use super::earned::income;
use super::kept::KeptPages;
use super::urls::KnownUrls;
use super::{FoundPage, Kind, ProbeParts};
use crate::discover::{Frontier, digest};
use crate::fetch::Url;
use crate::fetch::robots::Verdict;
use crate::probe::setup::Setup;
use crate::store::{Text, TextKind};
use crate::time::Instant;

/// What a page of the list has earned after a restart, compared with the pages that are kept.
const MEAN: f32 = 1.0;

/// What a restart has found in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextsKept {
    /// Pages of the collection that are not on the list.
    pub pages: u16,
    /// Candidates, which were not visited or are not kept.
    pub candidates: u16,
}

/// Takes over a text of an earlier run: a later one overrules it.
pub(super) fn take_text(
    urls: &mut KnownUrls<'_>,
    pages: &mut ProbeParts<'_, '_>,
    text: &Text<'_>,
    at: u32,
) {
    let setup = pages.setup;
    let places = setup.found.pages;
    match text.kind {
        TextKind::Candidate => {
            urls.offer(pages, text.url, at, Some(income(text.value)));
        }
        TextKind::Retired => {
            let Some(digest) = setup.digest_of(text.url) else {
                return;
            };
            if let Some(place) = urls.frontier.bank().find(digest)
                && setup.found.is_listed(place.into())
                && let Some(page) = places.get(usize::from(place))
            {
                page.set_kind(Kind::Free);
                let _ = urls.frontier.retire(place, None, Verdict::Unknown);
            }
            urls.offer(pages, text.url, at, Some(income(text.value)));
        }
        TextKind::Free(place) => demote(&mut urls.frontier, setup, place),
        TextKind::Page(place) => {
            let same = text.value as u16 == setup.list_identity() as u16;
            let listed = usize::from(place) < setup.image.pages();
            // Of another list, a place among the list's own means nothing.
            let place = if listed && !same {
                let free = |page: &FoundPage| page.kind() == Kind::Free;
                let above = places.iter().skip(setup.image.pages());
                let at = above.into_iter().position(free);
                at.map(|at| (setup.image.pages() + at) as u16)
            } else {
                Some(place)
            };
            match place.filter(|place| usize::from(*place) < places.len()) {
                Some(place) => take_page_text(urls, pages, place, text, at),
                None => {
                    urls.offer(pages, text.url, at, Some(income(text.value)));
                }
            }
        }
    }
}

/// Takes over the text of a page that was kept at this place.
fn take_page_text(
    urls: &mut KnownUrls<'_>,
    pages: &mut ProbeParts<'_, '_>,
    place: u16,
    text: &Text<'_>,
    at: u32,
) {
    let setup = pages.setup;
    let Ok(url) = Url::parse(text.url) else {
        return;
    };
    let key = &setup.config.key;
    let digest = digest(&url, key);
    // An earlier text of the same page, wherever it was then.
    match urls.frontier.bank().find(digest) {
        Some(before) if setup.found.is_listed(before.into()) => return,
        Some(before) => demote(&mut urls.frontier, setup, before),
        None => {}
    }
    demote(&mut urls.frontier, setup, place);
    let host = setup.host_of(&url).or_else(|| {
        // It was seen before.
        let _ = urls.host_for(pages, &url);
        urls.host_for(pages, &url).ok()
    });
    let Some((host, page)) = host.zip(setup.found.pages.get(usize::from(place))) else {
        return;
    };
    if page.kind() == Kind::Listed {
        // The page of the list had given way to it.
        let _ = urls.frontier.retire(place, None, Verdict::Unknown);
        page.set_kind(Kind::Free);
    }
    if urls.frontier.restore(place, digest, income(text.value)) {
        page.set_kind(Kind::Kept);
        page.set_worth(setup.found.worth_of(&url, setup.found.words_of(&url)));
        page.set_text(at);
        page.set_host(host);
    }
}

/// A page that was found loses its place, and is a candidate again.
fn demote(frontier: &mut Frontier<'_>, setup: &Setup<'_>, place: u16) {
    if let Some(page) = setup.found.pages.get(usize::from(place))
        && page.kind() == Kind::Kept
    {
        let text = setup.text_at(place.into());
        let _ = frontier.retire(place, text, Verdict::Unknown);
        page.set_kind(Kind::Free);
    }
}

/// All texts were read: the scheduler gets the pages, each at its place.
pub(super) fn settle_texts(
    urls: &mut KnownUrls<'_>,
    collection: &mut KeptPages<'_>,
    pages: &mut ProbeParts<'_, '_>,
    now: Instant,
) -> TextsKept {
    let frontier = &mut urls.frontier;
    let setup = pages.setup;
    let mut kept = TextsKept::default();
    let places = setup.found.len();
    let listed = setup.image.pages();
    let is_kept = |place: &usize| setup.found.kind(*place) == Kind::Kept;
    let count = |kind| (0..places).filter(move |place| setup.found.kind(*place) == kind);
    // A power cut may have left one too many.
    loop {
        let all = count(Kind::Kept).count() + count(Kind::Listed).filter(|at| *at < listed).count();
        collection.count = all as u16;
        if all <= usize::from(collection.places) {
            break;
        }
        let bank = frontier.bank();
        let worth = |place: &usize| bank.importance(*place as u16);
        let least = (0..places)
            .filter(is_kept)
            .min_by(|one, other| worth(one).total_cmp(&worth(other)));
        match least {
            Some(least) => {
                demote(frontier, setup, least as u16);
                if let Some(page) = setup.found.pages.get(least) {
                    page.set_unsaved(true);
                }
            }
            None => break,
        }
    }
    pages.restore(now);
    let all = if count(Kind::Kept).count() > 0 {
        listed
    } else {
        0
    };
    (0..all).for_each(|place| frontier.earned(place as u16, MEAN));
    let candidates = frontier.candidates().len();
    kept.candidates = candidates.min(u16::MAX.into()) as u16;
    kept.pages = count(Kind::Kept).count() as u16;
    urls.found = 0;
    kept
}
