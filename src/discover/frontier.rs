//! The border of the collection: which pages are kept, which are known, and who changes places.
//!
//! Cho's RankingModule (§7.3) in fixed memory. It hears of links as pages are visited, and says
//! which candidate should take whose place. It does not know URLs, only their digests: texts lie in
//! a log, and the scheduler has the pages.

use super::candidates::{Candidate, Candidates, Placement};
use super::doorkeeper::Doorkeeper;
use super::limits::UrlRefusal;
use crate::fetch::robots::Verdict;
use crate::math::split_mix;
use crate::rank::{Account, Bank, Evidence, Measure, Replacement};

/// Places that are looked at for any candidate, before all are counted.
const TRIES: usize = 8;

/// Memory that is lent to a [`Frontier`].
#[derive(Debug)]
pub struct FrontierMemory<'m> {
    /// One for each place of the collection.
    pub accounts: &'m mut [Account],
    /// A number for each place, too: accounts in the order of their digests.
    pub order: &'m mut [u16],
    /// One for each page that is known and not kept; a multiple of eight.
    pub candidates: &'m mut [Candidate],
    /// Counts how often URLs are seen: four rows.
    pub doorkeeper: &'m mut [u8],
    /// Counts URLs of directories: four rows.
    pub directories: &'m mut [u8],
}

/// How a frontier decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontierSettings {
    /// What importance is made of.
    pub measure: Measure,
    /// How many times as important as a page a candidate has to be to take its place.
    pub margin: f32,
    /// The share of visits that goes to candidates, so that they hand on their cash.
    pub exploring: f32,
    /// How often a URL has to be seen before it may displace another candidate.
    pub sightings: u8,
    /// URLs of one directory that may become candidates, lately; `None` for any number.
    pub directory: Option<u8>,
    /// The most candidates of one host; `None` for any number.
    pub host: Option<u16>,
}

impl FrontierSettings {
    /// URLs of one directory, unless somebody says otherwise.
    pub const DIRECTORY: u8 = 200;

    /// Importance is PageRank, and a quarter of the visits explores.
    pub const DEFAULT: Self = Self {
        measure: Measure::DEFAULT,
        margin: Replacement::MARGIN,
        exploring: Replacement::SHARE,
        sightings: 2,
        directory: Some(Self::DIRECTORY),
        host: None,
    };
}

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Target {
    /// It leads to a page that is kept.
    Page(u16),
    /// It leads to a candidate.
    Candidate,
    /// It leads to something new that should be offered: see [`Frontier::offer`].
    New,
    /// It leads to something new that is not worth a place, or not yet.
    Unwanted,
    /// It leads to something that is refused.
    Refused(UrlRefusal),
}

/// What the next visit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a candidate that is to be admitted waits until somebody does it"]
pub enum VisitPurpose {
    /// Pages that are kept are visited as planned.
    Refresh,
    /// This candidate should take the place of that page, and be visited.
    Admit {
        /// The digest of the candidate's URL.
        digest: u32,
        /// The number of the page that gives way.
        place: u16,
        /// It may not be better, but what it links to is to be known.
        explores: bool,
    },
}

/// Pages that are kept and pages that are known.
#[derive(Debug)]
pub struct Frontier<'m> {
    bank: Bank<&'m mut [Account], &'m mut [u16]>,
    candidates: Candidates<&'m mut [Candidate]>,
    doorkeeper: Doorkeeper<&'m mut [u8]>,
    directories: Doorkeeper<&'m mut [u8]>,
    replacement: Replacement,
    settings: FrontierSettings,
    random: u64,
}

impl<'m> Frontier<'m> {
    /// A frontier without pages. `seed` decides which candidates are looked at when any will do.
    pub fn new(memory: FrontierMemory<'m>, settings: FrontierSettings, seed: u64) -> Self {
        Self {
            bank: Bank::new(memory.accounts, memory.order),
            candidates: Candidates::new(memory.candidates),
            doorkeeper: Doorkeeper::new(memory.doorkeeper),
            directories: Doorkeeper::new(memory.directories),
            replacement: Replacement::new(settings.margin, settings.exploring),
            settings,
            random: seed,
        }
    }

    /// Accounts of the pages that are kept.
    pub fn bank(&self) -> &Bank<&'m mut [Account], &'m mut [u16]> {
        &self.bank
    }

    /// Pages that are known and not kept.
    pub fn candidates(&self) -> &Candidates<&'m mut [Candidate]> {
        &self.candidates
    }

    /// The candidates, to be told what robots.txt says, or that their texts have moved.
    pub fn candidates_mut(&mut self) -> &mut Candidates<&'m mut [Candidate]> {
        &mut self.candidates
    }

    /// A page takes a place that is free, with what it has earned as a candidate if it was one;
    /// true if it did.
    pub fn keep(&mut self, place: u16, digest: u32) -> bool {
        let known = self.candidates.remove(digest);
        let (income, cash) = known.map_or((self.bank.rain(), 0.0), |candidate| {
            (candidate.income(), candidate.cash())
        });
        let opened = self.bank.open(place, digest, income, cash + 1.0);
        self.bank.found(if opened { 1.0 } else { 0.0 });
        opened
    }

    /// A link was found in a page: where does it lead? `directory` is the digest of the directory
    /// that its URL is in. Work: as for [`Self::met`].
    pub fn seen(&mut self, digest: u32, directory: u32, host: u16) -> Target {
        if let Some(place) = self.bank.find(digest) {
            return Target::Page(place);
        }
        if let Some(candidate) = self.candidates.find_mut(digest) {
            candidate.linked();
            return Target::Candidate;
        }
        self.met(digest, directory, host)
    }

    /// A link to something that is neither a page nor a candidate was found. Work: a look at a
    /// bucket and two at the doorkeepers; if hosts are limited, a pass over all candidates for
    /// another host than the one before.
    pub fn met(&mut self, digest: u32, directory: u32, host: u16) -> Target {
        let sightings = self.doorkeeper.see(digest);
        if let Some(most) = self.settings.directory
            && self.directories.count(directory) >= most
        {
            return Target::Refused(UrlRefusal::Directory);
        }
        if let Some(most) = self.settings.host
            && self.candidates.count_on(host) >= most.into()
        {
            return Target::Refused(UrlRefusal::Host);
        }
        if self.candidates.is_full_for(digest) && sightings < self.settings.sightings {
            return Target::Unwanted;
        }
        Target::New
    }

    /// Was something seen before? It has been now. Work: constant.
    pub fn is_seen_again(&mut self, digest: u32) -> bool {
        self.doorkeeper.see(digest) > 1
    }

    /// A newcomer, whose text is stored, asks for a place among the candidates.
    pub fn offer(&mut self, newcomer: Candidate, directory: u32) -> Placement {
        let settings = self.settings;
        let mut newcomer = newcomer;
        // It was seen by as many pages as the doorkeeper has counted. Each link brings about as
        // much as rain does, on average: without that, newcomers could never displace another
        // candidate. They begin with rain alone: pages that are kept have that, too.
        let sightings = self.doorkeeper.count(newcomer.digest());
        (1..sightings).for_each(|_| newcomer.linked());
        newcomer.set_income(self.bank.rain(), 0.0);
        let likely = f32::from(sightings).max(1.0);
        let own = newcomer.digest();
        let worth = |candidate: &Candidate| {
            let worth = worth_keeping(candidate, settings.measure);
            match candidate.digest() == own {
                true => worth * likely,
                false => worth,
            }
        };
        let offer = self.candidates.offer(newcomer, true, &worth);
        if let Placement::Taken { evicted } = &offer {
            let _ = self.directories.see(directory);
            // With each page that is known more comes as much cash as the others have on average,
            // so that earnings of today weigh as much as those of when few were known.
            let new = match evicted {
                Some(evicted) => evicted.cash(),
                None => {
                    self.bank.found(1.0);
                    1.0
                }
            };
            self.bank.give_back(new);
        }
        offer
    }

    /// A page was visited, and links to these, each once: its cash goes to them. Work: linear in
    /// the links, and in all pages and candidates once a round.
    pub fn visited(&mut self, place: u16, links: &[u32]) {
        self.visited_at(place, links, 0);
    }

    /// The same, where some links lead to the page's own neighbourhood: see [`Bank::spend_at`].
    pub fn visited_at(&mut self, place: u16, links: &[u32], near: u128) {
        let candidates = &mut self.candidates;
        let mut lost = 0.0;
        let mut found = |digest: u32, share: f32| {
            let candidate = candidates.find_mut(digest);
            candidate
                .map(|candidate| lost += candidate.earn(share))
                .is_some()
        };
        self.bank.spend_at(place, links, near, &mut found);
        self.bank.give_back(lost);
        let settled = self.bank.settle(self.candidates.len());
        let lost = self.candidates.settle(settled);
        self.bank.give_back(lost);
    }

    /// What should the next visit be for? `factor` says what the PageRank of the page at a place is
    /// multiplied by – its weight, what its URL is worth – or that it must not be replaced: it is
    /// pinned, or was not visited yet. Candidates are compared with pages by PageRank and what
    /// their URLs are worth, for nobody counts links to pages. Work: linear in pages and
    /// candidates, one pass over each.
    pub fn next(&mut self, factor: impl Fn(u16) -> Option<f32>) -> VisitPurpose {
        let (least, worth) = self.least(factor).unzip();
        match (self.scout(worth), least) {
            (Some((digest, explores)), Some(place)) => VisitPurpose::Admit {
                digest,
                place,
                explores,
            },
            _ => VisitPurpose::Refresh,
        }
    }

    /// Which candidate should be looked at next, if the least important page that may go is worth
    /// so much, and whether that only explores. Work: linear in the candidates.
    pub fn scout(&mut self, worth: Option<f32>) -> Option<(u32, bool)> {
        // Where it is time to explore, nobody asks who is the best.
        if self.replacement.is_time_to_explore() && worth.is_some() {
            let digest = match self.replacement.explores_at_random() {
                true => self.any(),
                false => self.richest(),
            };
            if let Some(digest) = digest {
                self.replacement.explored();
                return Some((digest, true));
            }
        }
        let measure = Measure {
            page_rank: true,
            backlinks: false,
            ..self.settings.measure
        };
        let best = self.best()?;
        let rank = importance(best, measure);
        let digest = best.digest();
        let is_better = worth.is_some_and(|worth| self.replacement.is_better(rank, worth));
        is_better.then_some((digest, false))
    }

    /// Is a page of this importance better than one of that, by enough?
    pub fn is_better(&self, one: f32, other: f32) -> bool {
        self.replacement.is_better(one, other)
    }

    /// A page that an earlier run has kept takes a place that is free; true if it did.
    pub fn restore(&mut self, place: u16, digest: u32, income: f32) -> bool {
        self.candidates.remove(digest);
        let opened = self.bank.open(place, digest, income, 1.0);
        self.bank.found(if opened { 1.0 } else { 0.0 });
        opened
    }

    /// A page is known to have earned this in an earlier run.
    pub fn earned(&mut self, place: u16, income: f32) {
        self.bank.earned(place, income);
    }

    /// A page leaves its place, and becomes a candidate if its host and the place of its text are
    /// given and it is worth one: `Denied`, it is not asked for again as long as it is one. The
    /// candidate that had to go for it is handed back.
    pub fn retire(
        &mut self,
        place: u16,
        text: Option<(u16, u32)>,
        verdict: Verdict,
    ) -> Option<Candidate> {
        let closed = self.bank.close(place)?;
        let Some((host, text)) = text else {
            self.bank.give_back(closed.cash);
            return None;
        };
        let mut old = Candidate::new(closed.digest, host, text);
        old.set_income(closed.income, closed.cash);
        old.set_visited();
        old.set_verdict(verdict);
        let worth = |candidate: &Candidate| worth_keeping(candidate, self.settings.measure);
        match self.candidates.offer(old, true, &worth) {
            Placement::Taken { evicted } => {
                let gone = evicted.as_ref().map_or(0.0, Candidate::cash);
                self.bank.give_back(closed.cash - old.cash() + gone);
                evicted
            }
            Placement::Refused => {
                self.bank.give_back(closed.cash);
                None
            }
        }
    }

    /// A candidate takes a place. The page that had it becomes a candidate, with this text, if it
    /// is worth a place there; what had to go for that is handed back. `None` if there is no such
    /// candidate or it could not take the place.
    pub fn admit(&mut self, digest: u32, place: u16, old: Option<(u16, u32)>) -> Option<Placement> {
        let candidate = self.candidates.remove(digest)?;
        let closed = self.bank.close(place);
        if !self
            .bank
            .open(place, digest, candidate.income(), candidate.cash())
        {
            return None;
        }
        let mut cash = closed.map_or(0.0, |closed| closed.cash);
        let offer = match (closed, old) {
            (Some(closed), Some((host, text))) => {
                let mut old = Candidate::new(closed.digest, host, text);
                old.set_income(closed.income, closed.cash);
                old.set_visited();
                old.set_verdict(Verdict::Allowed);
                cash -= old.cash();
                let measure = self.settings.measure;
                let worth = |candidate: &Candidate| importance(candidate, measure);
                self.candidates.offer(old, true, &worth)
            }
            _ => Placement::Refused,
        };
        match (&offer, closed) {
            (Placement::Taken { evicted }, _) => {
                cash += evicted.as_ref().map_or(0.0, Candidate::cash);
            }
            (Placement::Refused, Some(closed)) => cash = closed.cash,
            _ => {}
        }
        self.bank.give_back(cash);
        Some(offer)
    }

    /// The least important page that may go, and its importance. Work: linear.
    pub fn least(&self, factor: impl Fn(u16) -> Option<f32>) -> Option<(u16, f32)> {
        self.least_from(0.0, factor)
    }

    /// The same where no factor is below `lowest`: it is not asked for of pages that have earned so
    /// much that they cannot be the least.
    pub fn least_from(
        &self,
        lowest: f32,
        factor: impl Fn(u16) -> Option<f32>,
    ) -> Option<(u16, f32)> {
        self.bank.least(lowest, &factor)
    }

    /// The best candidate that may be asked for.
    fn best(&self) -> Option<&Candidate> {
        let measure = self.settings.measure;
        // By PageRank alone as a rule, and there are many of them.
        if measure == Measure::DEFAULT {
            return self.candidates.best_allowed(Candidate::income, |most| most);
        }
        self.candidates
            .best(&|one| (!one.is_denied()).then(|| importance(one, measure)))
    }

    /// The candidate with the most cash to hand on: what it links to is known least.
    fn richest(&self) -> Option<u32> {
        // A little less, for it is rounded.
        let needed = |most: f32| most * (0.999 / Candidate::MOST_UNTOLD);
        let richest = self.candidates.best_allowed(Candidate::untold, needed);
        richest.map(Candidate::digest)
    }

    /// Any candidate that may be asked for. Work: constant, unless there are few of them.
    pub fn any(&mut self) -> Option<u32> {
        let is_allowed = |one: &&Candidate| !one.is_denied();
        for _ in 0..TRIES {
            let random = (split_mix(&mut self.random) >> 32) as u32;
            if let Some(one) = self.candidates.at(random).filter(is_allowed) {
                return Some(one.digest());
            }
        }
        let count = self.candidates.iter().filter(is_allowed).count();
        let random = split_mix(&mut self.random) >> 32;
        let at = (random * count as u64) >> 32;
        let mut any = self.candidates.iter().filter(is_allowed);
        any.nth(at as usize).map(Candidate::digest)
    }
}

/// Those that must not be asked for give way to any other.
fn worth_keeping(candidate: &Candidate, measure: Measure) -> f32 {
    match candidate.verdict() {
        Verdict::Denied => 0.0,
        _ => importance(candidate, measure),
    }
}

fn importance(candidate: &Candidate, measure: Measure) -> f32 {
    let evidence = Evidence {
        backlinks: candidate.backlinks().into(),
        page_rank: candidate.income(),
        location: candidate.worth(),
        topic: 1.0,
        weight: 1.0,
    };
    // What URL and anchors are worth is one figure, of all parts of these that count.
    evidence.importance(Measure {
        location: measure.location || measure.topic,
        ..measure
    })
}
