//! What a robots.txt says of pages whose URLs are not in the image: they are held against it while
//! it streams by, some at a time.

use super::{Kind, ProbeParts, UrlText};
use crate::discover::{Candidate, Frontier};
use crate::fetch::robots::{Access, Judge, Verdict};
use crate::fetch::{Head, Url};
use crate::probe::verdicts::{FOUND_JUDGES, Judges};
use crate::probe::visit::PageVisit;
use crate::probe::{Board, Probe};
use crate::time::Instant;

/// URLs that are judged, and what they are known by.
#[derive(Debug, Default)]
pub(in crate::probe) struct JudgedTexts {
    texts: heapless::Vec<(u32, UrlText), FOUND_JUDGES>,
    /// The host whose rules are not known any more: older verdicts do not hold.
    expired: Option<u16>,
    /// It is a robots.txt that is asked for.
    is_robots: bool,
}

impl JudgedTexts {
    /// Those that should be held against the robots.txt that a visit asks for: pages that are kept
    /// first, then candidates. None if it asks for something else. Work: linear in both, and a read
    /// of flash for each of them.
    pub(in crate::probe) fn of<B: Board>(
        probe: &Probe<'_, B>,
        visit: &PageVisit<'_>,
        page: u16,
    ) -> Self {
        if !visit.page_follows() || visit.is_redirected() {
            return Self::default();
        }
        let now = probe.board.now();
        let judged = probe.discover(|discovery, pages| {
            let frontier = &discovery.urls.frontier;
            unjudged(frontier, pages, visit, page, now)
        });
        judged.unwrap_or_default()
    }

    fn add(&mut self, digest: u32, url: Option<UrlText>) -> bool {
        match url {
            Some(url) => self.texts.push((digest, url)).is_ok(),
            None => true,
        }
    }

    /// Lets them be judged.
    pub(in crate::probe) fn add_to<'u>(&'u self, judges: &mut Judges<'u>) {
        for (digest, text) in &self.texts {
            if let Ok(url) = Url::parse(text) {
                judges.add_found(*digest, Judge::new(url));
            }
        }
    }

    /// A robots.txt was read to its end: what it says of those that were found is remembered.
    pub(in crate::probe) fn judge<B: Board>(
        &self,
        probe: &Probe<'_, B>,
        judges: &Judges<'_>,
        head: &Head,
    ) {
        if self.is_robots {
            probe.discover(|discovery, pages| {
                let frontier = &mut discovery.urls.frontier;
                judge(frontier, pages, judges, self, head);
            });
        }
    }
}

/// What the robots.txt that a visit asks for should judge.
#[inline(never)] // Out of the futures' code, which would be larger.
fn unjudged(
    frontier: &Frontier<'_>,
    pages: &ProbeParts<'_, '_>,
    visit: &PageVisit<'_>,
    page: u16,
    now: Instant,
) -> JudgedTexts {
    let mut judged = JudgedTexts {
        is_robots: true,
        ..JudgedTexts::default()
    };
    let host = visit.host();
    let found = &pages.setup.found;
    // A robots.txt says nothing of the other scheme's pages.
    let scheme = |url: &str| Url::parse(url).ok().map(|url| url.scheme());
    let governs = |url: &UrlText| scheme(url) == scheme(visit.url());
    if let Ok(url) = Url::parse(visit.url()) {
        let memory = pages.known.origins.hosts.get(usize::from(host));
        let known = memory.map(|host| host.robots(url.scheme()).access(now));
        judged.expired = (known == Some(Access::Unknown)).then_some(host);
    }
    for place in found.maybe_on_host(host) {
        let memory = pages.known.pages.get(place);
        let unknown =
            judged.expired.is_some() || memory.is_some_and(|page| page.verdict == Verdict::Unknown);
        let digest = frontier.bank().digest(place);
        let is_other = place != usize::from(page) && found.kind(place) == Kind::Kept;
        let url = || found.url(place).filter(governs);
        let is_wanted = unknown && is_other && pages.setup.is_found_on(place, host);
        if is_wanted && !judged.add(digest, url()) {
            return judged;
        }
    }
    // The most important ones of those that nobody has judged.
    while judged.texts.len() < FOUND_JUDGES {
        let is_judged = |digest: u32| judged.texts.iter().any(|(other, _)| *other == digest);
        let wanted = |one: &Candidate| {
            let unjudged = judged.expired.is_some() || one.verdict() == Verdict::Unknown;
            let unknown = unjudged && one.host() == host;
            (unknown && !is_judged(one.digest())).then_some(one.income())
        };
        let best = frontier.candidates().best(&wanted);
        let Some((digest, text)) = best.map(|best| (best.digest(), best.text())) else {
            return judged;
        };
        // What cannot be judged takes a place, too: it would be the best again.
        let url = found.text(text).filter(governs).unwrap_or_default();
        if !judged.add(digest, Some(url)) {
            return judged;
        }
    }
    judged
}

/// Takes over what a robots.txt says of URLs.
#[inline(never)] // Out of the futures' code, which would be larger.
fn judge(
    frontier: &mut Frontier<'_>,
    pages: &mut ProbeParts<'_, '_>,
    judges: &Judges<'_>,
    judged: &JudgedTexts,
    head: &Head,
) {
    if (300..400).contains(&head.status) {
        return;
    }
    let access = match Access::from_status(Some(head.status)) {
        Access::Rules if head.encoded => return,
        access @ (Access::Rules | Access::AllowAll) => access,
        Access::DenyAll | Access::Unknown => return,
    };
    if let Some(host) = judged.expired {
        let all = frontier.candidates_mut().iter_mut();
        all.filter(|one| one.host() == host)
            .for_each(|one| one.set_verdict(Verdict::Unknown));
    }
    for (digest, verdict) in judges.found(access) {
        if let Some(place) = frontier.bank().find(digest) {
            if let Some(page) = pages.known.pages.get_mut(usize::from(place)) {
                page.save_if(page.verdict != verdict);
                page.verdict = verdict;
            }
            continue;
        }
        let candidates = frontier.candidates_mut();
        if let Some(candidate) = candidates.find_mut(digest) {
            candidate.set_verdict(verdict);
        }
    }
}
