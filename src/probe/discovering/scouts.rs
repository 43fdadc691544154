//! Which candidate is looked at, and who gives way to whom.

use super::links::part_of;
use super::queue::Waiting;
use super::{Discovery, FoundEvent, Kind, ProbeParts, SCOUTS, UrlText};
use crate::discover::{Candidate, UrlRefusal, branch_digest};
use crate::fetch::Url;
use crate::fetch::robots::Verdict;
use crate::probe::setup::Setup;
use crate::probe::{Board, PageMemory};
use crate::scheduler::Outcome;
use crate::time::Instant;

/// Candidates that are tried before nobody is looked at: some parts of hosts are not worth it.
const TRIES: usize = 6;
/// Exploring visits to one part of a host that may be in vain, lately, and so many more for each
/// that was not: traps are parts whose pages never replace another.
const VAIN: u8 = 8;

/// How a page of the list waits that gave way.
const RETIRED: Waiting = Waiting {
    retired: true,
    worth: 0.0,
};

/// What becomes of a scout.
enum Fate {
    /// It is under way still.
    UnderWay,
    /// It takes a place that is free.
    Keep,
    /// It takes the place of this page.
    Replace(u16),
    /// It is a candidate again.
    Return,
    /// It could not be looked at, and is a candidate again.
    PutBack,
    /// It is not asked for again.
    Refuse(UrlRefusal),
}

// What the rest of the probe asks for.
impl Discovery<'_> {
    /// A turn of a page has ended so; true if others may be looked at now.
    #[inline(never)] // Out of a function that is long enough.
    pub(super) fn looked_at(
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
                let _ = self.free(pages, page, Verdict::Allowed);
            }
            Kind::Kept if matches!(outcome, Outcome::Gone | Outcome::Denied) => {
                self.lose(pages, board, page);
            }
            // It was willing when it was found. The list's own pages are the owner's choice.
            Kind::Kept if self.take_unwilling(page) => self.lose(pages, board, page),
            Kind::Kept | Kind::Listed | Kind::Free => {}
        }
        self.launch(pages, board.now());
        true
    }

    /// Looks at a candidate, if it is time to, and reads a sitemap, if one waits. Work: linear in
    /// pages and candidates.
    fn launch(&mut self, pages: &mut ProbeParts<'_, '_>, now: Instant) {
        self.begin_sitemap(pages, now);
        if let Some(candidate) = self.choose(pages) {
            self.begin_scout(pages, &candidate, now);
        }
    }

    /// The same, unless candidates are being looked at; true if others may be looked at now.
    pub(super) fn launch_first(&mut self, pages: &mut ProbeParts<'_, '_>, now: Instant) -> bool {
        let is_idle = self.scouts == 0;
        if is_idle {
            self.launch(pages, now);
        }
        is_idle
    }

    /// Asks for a page whole if it has cash to hand on: its links are not kept.
    pub(super) fn want_links(&self, pages: &mut ProbeParts<'_, '_>, page: u16) {
        let bank = self.frontier.bank();
        let known = bank.len() + self.frontier.candidates().len();
        let mean = bank.total() / known.max(1) as f32;
        let whole = bank.cash_of(page) >= mean;
        if let Some(page) = pages.known.page_mut(page) {
            page.want_whole(whole);
        }
    }
}

/// Is a visit to be gone on with?
fn is_under_way(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Postponed | Outcome::RulesFirst)
}

// What becomes of those that were looked at.
impl Discovery<'_> {
    /// A scout has been visited, or could not be.
    fn end_scout(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        place: u16,
        outcome: Outcome,
    ) {
        let Some(url) = pages.setup.found_url(place.into()) else {
            let _ = self.free(pages, place, Verdict::Denied);
            return;
        };
        let fate = self.fate(pages, place, outcome);
        self.count_trial(pages.setup, &url, &fate);
        match fate {
            Fate::UnderWay => {}
            Fate::Keep => self.admit(pages.setup, board, place, &url),
            Fate::Replace(other) => {
                if self.evict(pages, board, other, Verdict::Allowed) {
                    self.admit(pages.setup, board, place, &url);
                } else {
                    // That page is being fetched: another time.
                    self.return_scout(pages, place, Verdict::Allowed);
                }
            }
            Fate::Return => self.return_scout(pages, place, Verdict::Allowed),
            Fate::PutBack => self.return_scout(pages, place, Verdict::Unknown),
            Fate::Refuse(why) => {
                self.return_scout(pages, place, Verdict::Denied);
                self.totals.refused += 1;
                board.found(&FoundEvent::Refused { why, url: &url });
            }
        }
    }

    fn fate(&mut self, pages: &ProbeParts<'_, '_>, place: u16, outcome: Outcome) -> Fate {
        match outcome {
            outcome if is_under_way(outcome) => return Fate::UnderWay,
            outcome if outcome.is_answer() => {}
            Outcome::Denied => return Fate::Refuse(UrlRefusal::Robots),
            Outcome::Gone | Outcome::Redirected => return Fate::Refuse(UrlRefusal::Gone),
            _ => return Fate::PutBack,
        }
        if self.take_unwilling(place) {
            return Fate::Refuse(UrlRefusal::Unwilling);
        }
        if pages.has_copy_of(place) {
            return Fate::Refuse(UrlRefusal::Duplicate);
        }
        if self.has_room() {
            return Fate::Keep;
        }
        let found = &pages.setup.found;
        let worth = self.frontier.bank().importance(place) * found.factor(place.into());
        match self.least(pages) {
            Some((other, least)) if self.frontier.is_better(worth, least) => Fate::Replace(other),
            _ => Fate::Return,
        }
    }

    /// Learns which parts of hosts are worth looking at. While there is room, everything is.
    fn count_trial(&mut self, setup: &Setup<'_>, url: &str, fate: &Fate) {
        let Ok(url) = Url::parse(url) else {
            return;
        };
        let branch = branch_digest(&url, &setup.config.key);
        let _ = match fate {
            Fate::Replace(_) => self.won.see(branch),
            Fate::Return | Fate::PutBack | Fate::Refuse(_) => self.vain.see(branch),
            Fate::Keep | Fate::UnderWay => 0,
        };
    }

    /// A scout is kept from now on.
    fn admit(&mut self, setup: &Setup<'_>, board: &impl Board, place: u16, url: &str) {
        self.scouts = self.scouts.saturating_sub(1);
        self.totals.admitted += 1;
        self.totals.pages += 1;
        if let Some(page) = setup.found.pages.get(usize::from(place)) {
            page.kind.set(Kind::Kept);
            page.unsaved.set(true);
        }
        board.found(&FoundEvent::Admitted {
            page: place,
            importance: self.importance(place),
            url,
        });
    }

    /// A page gives way; true if it could.
    fn evict(
        &mut self,
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
        let importance = self.importance(place);
        if !self.retire(pages, place, &url, verdict) {
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
    fn lose(&mut self, pages: &mut ProbeParts<'_, '_>, board: &impl Board, place: u16) {
        // It is asked for no more, as long as it is known.
        if self.evict(pages, board, place, Verdict::Denied) {
            self.totals.replaced -= 1;
        }
    }

    /// A page of the collection becomes a candidate; true if it could.
    fn retire(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        place: u16,
        url: &str,
        verdict: Verdict,
    ) -> bool {
        let is_listed = pages.setup.found.is_listed(place.into());
        // The log has to know that a page of the list is gone: it is there after a restart.
        if is_listed && !self.queue.push(RETIRED, url) {
            return false;
        }
        if !self.free(pages, place, verdict) {
            if is_listed {
                self.queue.take_back(url);
            }
            return false;
        }
        self.totals.replaced += 1;
        self.totals.pages -= 1;
        true
    }

    /// A scout is a candidate again.
    fn return_scout(&mut self, pages: &mut ProbeParts<'_, '_>, place: u16, verdict: Verdict) {
        let page = pages.setup.found.pages.get(usize::from(place));
        let text = page.map(|page| (page.host.get(), page.text()));
        // Whoever had to go for it is known by links again some day.
        let _ = self.frontier.retire(place, text, verdict);
        let _ = self.free(pages, place, verdict);
    }

    /// Frees a place, and forgets what was learnt of the page there; false if it is being fetched.
    /// A page that was kept becomes a candidate.
    fn free(&mut self, pages: &mut ProbeParts<'_, '_>, place: u16, verdict: Verdict) -> bool {
        let Some(page) = pages.setup.found.pages.get(usize::from(place)) else {
            return false;
        };
        if !pages.remove(place) {
            return false;
        }
        let kind = page.kind.replace(Kind::Free);
        let text = (kind == Kind::Kept).then_some((page.host.get(), page.text()));
        let _ = self.frontier.retire(place, text, verdict);
        if kind == Kind::Scout {
            self.scouts = self.scouts.saturating_sub(1);
        }
        page.unsaved.set(kind == Kind::Kept);
        true
    }
}

// Who is looked at next.
impl Discovery<'_> {
    /// The candidate that should be looked at now, if any.
    fn choose(&mut self, pages: &ProbeParts<'_, '_>) -> Option<Candidate> {
        // One place is for sitemaps.
        if self.scouts + 1 >= SCOUTS {
            return None;
        }
        let worth = match self.has_room() {
            true => Some(0.0),
            false => self.least(pages).map(|(_, worth)| worth),
        };
        let (mut next, explores) = self.frontier.scout(worth)?;
        for _ in 0..TRIES {
            let candidate = *self.frontier.candidates().find(next)?;
            let Some(text) = pages.setup.found.text(candidate.text()) else {
                // Its text is lost: so is it.
                self.frontier.candidates_mut().remove(next);
                return None;
            };
            if !explores || self.is_worth_a_visit(&text, &pages.setup.config.key) {
                return Some(candidate);
            }
            next = self.frontier.any()?;
        }
        None
    }

    /// Lets a candidate be visited.
    fn begin_scout(&mut self, pages: &mut ProbeParts<'_, '_>, candidate: &Candidate, now: Instant) {
        let Some(place) = pages.add(candidate.host(), now) else {
            return;
        };
        let admitted = self.frontier.admit(candidate.digest(), place, None);
        let admitted = admitted.is_some();
        self.scouts += 1;
        if let Some(page) = pages.setup.found.pages.get(usize::from(place)) {
            page.set_text(candidate.text());
            page.set_worth(candidate.worth());
            page.host.set(candidate.host());
            page.kind.set(Kind::Scout);
        }
        if let Some(memory) = pages.known.page_mut(place) {
            memory.verdict = match candidate.verdict() {
                Verdict::Allowed => Verdict::Allowed,
                Verdict::Unknown | Verdict::Denied => Verdict::Unknown,
            };
        }
        if !admitted {
            let _ = self.free(pages, place, Verdict::Allowed);
        }
    }

    /// The least important page that may go, and its importance. Pinned pages, tellers and those
    /// without a version yet may not.
    fn least(&self, pages: &ProbeParts<'_, '_>) -> Option<(u16, f32)> {
        let setup = pages.setup;
        self.frontier.least_from(self.lowest_factor, |place| {
            let index = usize::from(place);
            let memory = pages.known.pages.get(index);
            if memory.is_none_or(PageMemory::is_new) {
                return None;
            }
            match setup.found.kind(index) {
                Kind::Kept => Some(setup.found.factor(index)),
                Kind::Listed if self.wanted.is_pinned(place) || setup.is_teller(place) => None,
                Kind::Listed => {
                    let page = setup.image.page(index).ok()?;
                    Some(page.weight * setup.found.factor(index))
                }
                Kind::Free | Kind::Scout | Kind::Sitemap => None,
            }
        })
    }

    /// Is an exploring visit there likely to be worth it? At the top of a host it always is.
    fn is_worth_a_visit(&self, url: &str, key: &[u8; 16]) -> bool {
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        if part_of(&url).is_none() {
            return true;
        }
        let branch = branch_digest(&url, key);
        let won = self.won.count(branch).saturating_add(1);
        self.vain.count(branch) < won.saturating_mul(VAIN)
    }

    /// Notes that a page does not want to be kept.
    pub(super) fn set_unwilling(&mut self, place: u16, unwilling: bool) {
        let _ = self.take_unwilling(place);
        if unwilling {
            if self.unwilling.is_full() {
                self.unwilling.remove(0);
            }
            let _ = self.unwilling.push(place);
        }
    }

    fn take_unwilling(&mut self, place: u16) -> bool {
        let at = self.unwilling.iter().position(|other| *other == place);
        at.map(|at| self.unwilling.swap_remove(at)).is_some()
    }
}
