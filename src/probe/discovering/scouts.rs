//! Which candidate is looked at, and who gives way to whom.

use super::links::part_of;
use super::queue::Waiting;
use super::{Discovery, FoundEvent, Kind, SCOUTS, UrlText};
use crate::discover::{Candidate, Refusal, Verdict as Candidates, branch_digest, digest};
use crate::fetch::Url;
use crate::probe::setup::Setup;
use crate::probe::verdicts::Verdict;
use crate::probe::{Board, PageMemory, Probe, State};
use crate::scheduler::{Outcome, PageSettings};
use crate::time::{Duration, Instant};

/// Candidates that are tried before nobody is looked at: some parts of hosts are not worth it.
const TRIES: usize = 6;
/// Exploring visits to one part of a host that may be in vain, lately, and so many more for each that
/// was not: traps are parts whose pages never replace another.
const VAIN: u8 = 8;
/// How long a sitemap is not read again.
const SITEMAP_HOLDS: Duration = Duration::DAY;
/// Sitemaps of which is remembered when they were read.
pub(super) const READ_SITEMAPS: usize = 16;

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
    Refuse(Refusal),
}

impl<B: Board> Probe<'_, B> {
    /// A turn of a page has ended so.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn looked_at(&self, page: u16, outcome: Outcome) {
        if self.state().discovery.is_none() || is_under_way(outcome) {
            return;
        }
        match self.setup.found.kind(page.into()) {
            Kind::Scout => self.end_scout(page, outcome),
            Kind::Sitemap => {
                let state = &mut *self.state();
                let _ = state.free(&self.setup, page, Candidates::Allowed);
            }
            Kind::Kept if matches!(outcome, Outcome::Gone | Outcome::Denied) => self.lose(page),
            // It was willing when it was found. The list's own pages are the owner's choice.
            Kind::Kept if self.state().is_unwilling(page) => self.lose(page),
            Kind::Kept | Kind::Listed | Kind::Free => {}
        }
        self.launch();
    }

    /// A scout has been visited, or could not be.
    fn end_scout(&self, place: u16, outcome: Outcome) {
        let Some(url) = self.setup.found_url(place.into()) else {
            let _ = self.state().free(&self.setup, place, Candidates::Denied);
            return;
        };
        let fate = self.state().fate(&self.setup, place, outcome);
        self.state().count_trial(&self.setup, &url, &fate);
        match fate {
            Fate::UnderWay => {}
            Fate::Keep => self.admit(place, &url),
            Fate::Replace(other) => {
                if self.evict(other, Candidates::Allowed) {
                    self.admit(place, &url);
                } else {
                    // That page is being fetched: another time.
                    self.state()
                        .return_scout(&self.setup, place, Candidates::Allowed);
                }
            }
            Fate::Return => self
                .state()
                .return_scout(&self.setup, place, Candidates::Allowed),
            Fate::PutBack => self
                .state()
                .return_scout(&self.setup, place, Candidates::Unknown),
            Fate::Refuse(why) => {
                {
                    let mut state = self.state();
                    state.return_scout(&self.setup, place, Candidates::Denied);
                    if let Some(discovery) = state.discovery.as_mut() {
                        discovery.totals.refused += 1;
                    }
                }
                self.board.found(&FoundEvent::Refused { why, url: &url });
            }
        }
    }

    /// A scout is kept from now on.
    fn admit(&self, place: u16, url: &str) {
        let importance = {
            let state = &mut *self.state();
            let Some(discovery) = state.discovery.as_mut() else {
                return;
            };
            discovery.scouts = discovery.scouts.saturating_sub(1);
            discovery.totals.admitted += 1;
            discovery.totals.pages += 1;
            discovery.importance(place)
        };
        if let Some(page) = self.setup.found.pages.get(usize::from(place)) {
            page.kind.set(Kind::Kept);
            page.unsaved.set(true);
        }
        self.board.found(&FoundEvent::Admitted {
            page: place,
            importance,
            url,
        });
    }

    /// A page gives way; true if it could.
    fn evict(&self, place: u16, verdict: Candidates) -> bool {
        let found = &self.setup.found;
        let is_listed = found.is_listed(place.into());
        let mut url = UrlText::new();
        match is_listed {
            true => {
                let page = self.setup.image.page(place.into());
                if page.is_ok_and(|page| url.push_str(page.url).is_err()) {
                    // It is too long for the log, which could not say that it is gone.
                    return false;
                }
            }
            false => url = found.url(place.into()).unwrap_or_default(),
        }
        let importance = {
            let state = &mut *self.state();
            let Some(importance) = state.discovery.as_ref().map(|it| it.importance(place)) else {
                return false;
            };
            if !state.retire(&self.setup, place, &url, verdict) {
                return false;
            }
            importance
        };
        self.board.found(&FoundEvent::Replaced {
            page: place,
            importance,
            url: &url,
        });
        true
    }

    /// A page that was found is not there any more.
    fn lose(&self, place: u16) {
        // It is asked for no more, as long as it is known.
        if self.evict(place, Candidates::Denied) {
            let state = &mut *self.state();
            if let Some(discovery) = state.discovery.as_mut() {
                discovery.totals.replaced -= 1;
            }
        }
    }

    /// Looks at a candidate, if it is time to, and reads a sitemap, if one waits. Work: linear in
    /// pages and candidates.
    pub(super) fn launch(&self) {
        let now = self.board.now();
        let state = &mut *self.state();
        state.begin_sitemap(&self.setup, now);
        if let Some(candidate) = state.choose(&self.setup) {
            state.begin_scout(&self.setup, &candidate, now);
        }
        state.slots.wake_all();
    }

    /// Asks for a page whole if it has cash to hand on: its links are not kept.
    pub(in crate::probe) fn want_links(&self, page: u16) {
        let state = &mut *self.state();
        let Some(discovery) = state.discovery.as_ref() else {
            return;
        };
        let bank = discovery.frontier.bank();
        let known = bank.len() + discovery.frontier.candidates().len();
        let mean = bank.total() / known.max(1) as f32;
        let whole = bank.cash_of(page) >= mean;
        if let Some(page) = state.known.page_mut(page) {
            page.want_whole(whole);
        }
    }
}

/// Is a visit to be gone on with?
fn is_under_way(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Postponed | Outcome::RulesFirst)
}

impl State<'_> {
    fn fate(&mut self, setup: &Setup<'_>, place: u16, outcome: Outcome) -> Fate {
        let Some(discovery) = self.discovery.as_mut() else {
            return Fate::Return;
        };
        match outcome {
            outcome if is_under_way(outcome) => return Fate::UnderWay,
            outcome if outcome.is_answer() => {}
            Outcome::Denied => return Fate::Refuse(Refusal::Robots),
            Outcome::Gone | Outcome::Redirected => return Fate::Refuse(Refusal::Gone),
            _ => return Fate::PutBack,
        }
        if discovery.take_unwilling(place) {
            return Fate::Refuse(Refusal::Unwilling);
        }
        let pages = &*self.known.pages;
        let own = pages.get(usize::from(place));
        let is_kept = |other: usize| matches!(setup.found.kind(other), Kind::Listed | Kind::Kept);
        let copies = pages.iter().enumerate().take(setup.page_places());
        let mut copies = copies.filter(|(other, _)| is_kept(*other));
        if own.is_some_and(|own| copies.any(|(_, other)| own.is_copy_of(other))) {
            return Fate::Refuse(Refusal::Duplicate);
        }
        if discovery.has_room() {
            return Fate::Keep;
        }
        let worth = discovery.frontier.bank().importance(place) * setup.found.factor(place.into());
        let least = discovery.least(setup, pages);
        match least {
            Some((other, least)) if discovery.frontier.is_better(worth, least) => {
                Fate::Replace(other)
            }
            _ => Fate::Return,
        }
    }

    /// Was a page read that does not want to be kept?
    fn is_unwilling(&mut self, place: u16) -> bool {
        let discovery = self.discovery.as_mut();
        discovery.is_some_and(|discovery| discovery.take_unwilling(place))
    }

    /// Learns which parts of hosts are worth looking at. While there is room, everything is.
    fn count_trial(&mut self, setup: &Setup<'_>, url: &str, fate: &Fate) {
        let (Some(discovery), Ok(url)) = (self.discovery.as_mut(), Url::parse(url)) else {
            return;
        };
        let branch = branch_digest(&url, &setup.config.key);
        let _ = match fate {
            Fate::Replace(_) => discovery.won.see(branch),
            Fate::Return | Fate::PutBack | Fate::Refuse(_) => discovery.vain.see(branch),
            Fate::Keep | Fate::UnderWay => 0,
        };
    }

    /// A page of the collection becomes a candidate; true if it could.
    fn retire(&mut self, setup: &Setup<'_>, place: u16, url: &str, verdict: Candidates) -> bool {
        let is_listed = setup.found.is_listed(place.into());
        let Some(discovery) = self.discovery.as_mut() else {
            return false;
        };
        // The log has to know that a page of the list is gone: it is there after a restart.
        if is_listed && !discovery.queue.push(RETIRED, url) {
            return false;
        }
        if !self.free(setup, place, verdict) {
            if let Some(discovery) = self.discovery.as_mut().filter(|_| is_listed) {
                discovery.queue.take_back(url);
            }
            return false;
        }
        if let Some(discovery) = self.discovery.as_mut() {
            discovery.totals.replaced += 1;
            discovery.totals.pages -= 1;
        }
        true
    }

    /// A scout is a candidate again.
    fn return_scout(&mut self, setup: &Setup<'_>, place: u16, verdict: Candidates) {
        let page = setup.found.pages.get(usize::from(place));
        let text = page.map(|page| (page.host.get(), page.text()));
        if let Some(discovery) = self.discovery.as_mut() {
            // Whoever had to go for it is known by links again some day.
            let _ = discovery.frontier.retire(place, text, verdict);
        }
        let _ = self.free(setup, place, verdict);
    }

    /// Frees a place, and forgets what was learnt of the page there; false if it is being fetched.
    /// A page that was kept becomes a candidate.
    fn free(&mut self, setup: &Setup<'_>, place: u16, verdict: Candidates) -> bool {
        let (Some(id), Some(page)) = (
            self.scheduler.page_id(place.into()),
            setup.found.pages.get(usize::from(place)),
        ) else {
            return false;
        };
        if self.scheduler.remove_page(id).is_err() {
            return false;
        }
        let kind = page.kind.replace(Kind::Free);
        if let Some(discovery) = self.discovery.as_mut() {
            let text = (kind == Kind::Kept).then_some((page.host.get(), page.text()));
            let _ = discovery.frontier.retire(place, text, verdict);
            if kind == Kind::Scout {
                discovery.scouts = discovery.scouts.saturating_sub(1);
            }
        }
        page.unsaved.set(kind == Kind::Kept);
        self.known.redirects.forget(place);
        if let Some(memory) = self.known.page_mut(place) {
            *memory = PageMemory::NEW;
        }
        true
    }

    /// The candidate that should be looked at now, if any.
    fn choose(&mut self, setup: &Setup<'_>) -> Option<Candidate> {
        let discovery = self.discovery.as_mut()?;
        // One place is for sitemaps.
        if discovery.scouts + 1 >= SCOUTS {
            return None;
        }
        let worth = match discovery.has_room() {
            true => Some(0.0),
            false => discovery
                .least(setup, self.known.pages)
                .map(|(_, worth)| worth),
        };
        let (mut next, explores) = discovery.frontier.scout(worth)?;
        for _ in 0..TRIES {
            let candidate = *discovery.frontier.candidates().find(next)?;
            let Some(text) = setup.found.text(candidate.text()) else {
                // Its text is lost: so is it.
                discovery.frontier.candidates_mut().remove(next);
                return None;
            };
            if !explores || discovery.is_worth_a_visit(&text, &setup.config.key) {
                return Some(candidate);
            }
            next = discovery.frontier.any()?;
        }
        None
    }

    /// Lets a candidate be visited.
    fn begin_scout(&mut self, setup: &Setup<'_>, candidate: &Candidate, now: Instant) {
        let Some(place) = self.add_place(setup, candidate.host(), now) else {
            return;
        };
        let Some(discovery) = self.discovery.as_mut() else {
            return;
        };
        let admitted = discovery
            .frontier
            .admit(candidate.digest(), place, None)
            .is_some();
        discovery.scouts += 1;
        if let Some(page) = setup.found.pages.get(usize::from(place)) {
            page.set_text(candidate.text());
            page.set_worth(candidate.worth());
            page.host.set(candidate.host());
            page.kind.set(Kind::Scout);
        }
        if let Some(memory) = self.known.page_mut(place) {
            memory.verdict = match candidate.verdict() {
                Candidates::Allowed => Verdict::Allowed,
                Candidates::Unknown | Candidates::Denied => Verdict::Unknown,
            };
        }
        if !admitted {
            let _ = self.free(setup, place, Candidates::Allowed);
        }
    }

    /// Lets the next sitemap be read, if none is.
    fn begin_sitemap(&mut self, setup: &Setup<'_>, now: Instant) {
        let mut kinds = setup.found.pages.iter().map(|page| page.kind.get());
        if kinds.any(|kind| kind == Kind::Sitemap) {
            return;
        }
        let Some(discovery) = self.discovery.as_mut() else {
            return;
        };
        let Some(text) = discovery.sitemaps.pop() else {
            return;
        };
        let Ok(url) = Url::parse(&text) else {
            return;
        };
        if !discovery.is_time_for(digest(&url, &setup.config.key), now) {
            return;
        }
        let Ok(host) = self.host_for(setup, &url) else {
            return;
        };
        let Some(place) = self.add_place(setup, host, now) else {
            return;
        };
        if let Some(page) = setup.found.pages.get(usize::from(place)) {
            setup.found.sitemap.replace(text.clone());
            page.host.set(host);
            page.kind.set(Kind::Sitemap);
        }
    }

    /// A free place, with a page in the scheduler that is due at once.
    fn add_place(&mut self, setup: &Setup<'_>, host: u16, now: Instant) -> Option<u16> {
        let host = self.scheduler.host_id(host.into())?;
        let added = self.scheduler.add_page(host, &PageSettings::DEFAULT, now);
        let id = added.ok()?;
        let place = id.index();
        let fits = place < setup.found.len() && place < self.known.pages.len();
        if !fits || setup.found.kind(place) != Kind::Free {
            // The scheduler has more room than the others.
            let _ = self.scheduler.remove_page(id);
            return None;
        }
        *self.known.pages.get_mut(place)? = PageMemory::NEW;
        Some(place as u16)
    }
}

impl Discovery<'_> {
    /// The least important page that may go, and its importance. Pinned pages and those without a
    /// version yet may not.
    fn least(&self, setup: &Setup<'_>, pages: &[PageMemory]) -> Option<(u16, f32)> {
        self.frontier.least(&|place| {
            let index = usize::from(place);
            if pages.get(index).is_none_or(PageMemory::is_new) {
                return None;
            }
            match setup.found.kind(index) {
                Kind::Kept => Some(setup.found.factor(index)),
                Kind::Listed if self.wanted.is_pinned(place) => None,
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

    /// Was a sitemap not read lately? It is read now.
    fn is_time_for(&mut self, sitemap: u32, now: Instant) -> bool {
        let known = self.read_sitemaps.iter_mut();
        if let Some((_, until)) = known.into_iter().find(|(other, _)| *other == sitemap) {
            let is_time = *until <= now;
            if is_time {
                *until = now + SITEMAP_HOLDS;
            }
            return is_time;
        }
        if self.read_sitemaps.is_full() {
            self.read_sitemaps.remove(0);
        }
        self.read_sitemaps
            .push((sitemap, now + SITEMAP_HOLDS))
            .is_ok()
    }
}
