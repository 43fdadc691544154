//! Which candidate is looked at, and what becomes of it.

use super::kept::{self, KeptPages};
use super::trials::{Trials, Unwilling};
use super::{Kind, ProbeParts, SCOUTS};
use crate::discover::{Candidate, Frontier, UrlRefusal};
use crate::fetch::robots::Verdict;
use crate::scheduler::Outcome;
use crate::time::Instant;

/// Candidates that are tried before nobody is looked at: some parts of hosts are not worth it.
const TRIES: usize = 6;

/// What becomes of a scout.
pub(super) enum Fate {
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

impl Fate {
    /// Has the visit replaced a page, or was it in vain? While there is room, everything is worth
    /// looking at.
    pub(super) fn has_won(&self) -> Option<bool> {
        match self {
            Self::Replace(_) => Some(true),
            Self::Return | Self::PutBack | Self::Refuse(_) => Some(false),
            Self::Keep | Self::UnderWay => None,
        }
    }
}

/// Is a visit to be gone on with?
pub(super) fn is_under_way(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Postponed | Outcome::RulesFirst)
}

/// Candidates that are being looked at, and what those before them have shown.
#[derive(Debug)]
pub(super) struct Scouts<'a> {
    /// How many are under way.
    under_way: usize,
    /// Which parts of hosts are worth it.
    pub trials: Trials<'a>,
    /// Pages that were visited and do not want to be kept.
    pub unwilling: Unwilling,
    /// What the least important page is worth, as seen by who has just asked.
    least: Option<f32>,
}

impl<'a> Scouts<'a> {
    /// Nobody is looked at yet.
    pub(super) fn new(trials: &'a mut [u8]) -> Self {
        Self {
            under_way: 0,
            trials: Trials::new(trials),
            unwilling: Unwilling::default(),
            least: None,
        }
    }

    /// Is nobody looked at?
    pub(super) fn are_idle(&self) -> bool {
        self.under_way == 0
    }

    /// The candidate that should be looked at now, if any.
    pub(super) fn choose(
        &mut self,
        frontier: &mut Frontier<'_>,
        kept: &KeptPages<'_>,
        pages: &ProbeParts<'_, '_>,
    ) -> Option<Candidate> {
        let known = self.least.take();
        // One place is for sitemaps.
        if self.under_way + 1 >= SCOUTS {
            return None;
        }
        let worth = match kept.has_room() {
            true => Some(0.0),
            // If a page of that worth has just given way, the next one is worth a bit more: who
            // is looked at for nothing is compared again before it is kept.
            false => known.or_else(|| kept.least(frontier, pages).map(|(_, worth)| worth)),
        };
        let (mut next, explores) = frontier.scout(worth)?;
        for _ in 0..TRIES {
            let candidate = *frontier.candidates().find(next)?;
            let Some(text) = pages.setup.found.text(candidate.text()) else {
                // Its text is lost: so is it.
                frontier.candidates_mut().remove(next);
                return None;
            };
            let key = &pages.setup.config.key;
            if !explores || self.trials.is_worth_a_visit(&text, key) {
                return Some(candidate);
            }
            next = frontier.any()?;
        }
        None
    }

    /// Lets a candidate be visited.
    pub(super) fn begin(
        &mut self,
        frontier: &mut Frontier<'_>,
        pages: &mut ProbeParts<'_, '_>,
        candidate: &Candidate,
        now: Instant,
    ) {
        let Some(place) = pages.add(candidate.host(), now) else {
            return;
        };
        let admitted = frontier.admit(candidate.digest(), place, None);
        let admitted = admitted.is_some();
        self.under_way += 1;
        if let Some(page) = pages.setup.found.pages.get(usize::from(place)) {
            page.set_text(candidate.text());
            page.set_worth(candidate.worth());
            page.set_host(candidate.host());
            page.set_kind(Kind::Scout);
        }
        if let Some(memory) = pages.known.page_mut(place) {
            memory.verdict = match candidate.verdict() {
                Verdict::Allowed => Verdict::Allowed,
                Verdict::Unknown | Verdict::Denied => Verdict::Unknown,
            };
        }
        if !admitted {
            self.free(frontier, pages, place, Verdict::Allowed);
        }
    }

    /// What becomes of a scout whose turn has ended so.
    pub(super) fn fate(
        &mut self,
        frontier: &Frontier<'_>,
        kept: &KeptPages<'_>,
        pages: &ProbeParts<'_, '_>,
        place: u16,
        outcome: Outcome,
    ) -> Fate {
        match outcome {
            outcome if is_under_way(outcome) => return Fate::UnderWay,
            outcome if outcome.is_answer() => {}
            Outcome::Denied => return Fate::Refuse(UrlRefusal::Robots),
            Outcome::Gone | Outcome::Redirected => return Fate::Refuse(UrlRefusal::Gone),
            _ => return Fate::PutBack,
        }
        if self.unwilling.take(place) {
            return Fate::Refuse(UrlRefusal::Unwilling);
        }
        if pages.has_copy_of(place) {
            return Fate::Refuse(UrlRefusal::Duplicate);
        }
        if kept.has_room() {
            return Fate::Keep;
        }
        let found = &pages.setup.found;
        let worth = frontier.bank().importance(place) * found.factor(place.into());
        let least = kept.least(frontier, pages);
        self.least = least.map(|(_, worth)| worth);
        match least {
            Some((other, least)) if frontier.is_better(worth, least) => Fate::Replace(other),
            _ => Fate::Return,
        }
    }

    /// A scout is kept.
    pub(super) fn end(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// A scout is a candidate again.
    pub(super) fn put_back(
        &mut self,
        frontier: &mut Frontier<'_>,
        pages: &mut ProbeParts<'_, '_>,
        place: u16,
        verdict: Verdict,
    ) {
        let text = pages.setup.text_at(place.into());
        // Whoever had to go for it is known by links again some day.
        let _ = frontier.retire(place, text, verdict);
        self.free(frontier, pages, place, verdict);
    }

    /// Frees the place of a scout.
    pub(super) fn free(
        &mut self,
        frontier: &mut Frontier<'_>,
        pages: &mut ProbeParts<'_, '_>,
        place: u16,
        verdict: Verdict,
    ) {
        if kept::free(frontier, pages, place, verdict) == Some(Kind::Scout) {
            self.end();
        }
    }
}
