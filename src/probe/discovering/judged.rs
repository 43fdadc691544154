//! What a robots.txt says of pages whose URLs are not in the image: they are held against it while
//! it streams by, some at a time.

use super::{Kind, UrlText};
use crate::discover::{Candidate, Verdict as Candidates};
use crate::fetch::Url;
use crate::fetch::robots::{Access, Judge};
use crate::probe::verdicts::{FOUND_JUDGES, Judges, Verdict};
use crate::probe::visit::Visit;
use crate::probe::{Board, Probe};

/// URLs that are judged, and what they are known by.
#[derive(Debug, Default)]
pub(in crate::probe) struct JudgedTexts {
    texts: heapless::Vec<(u32, UrlText), FOUND_JUDGES>,
    /// Of whom the rules are not known any more: older verdicts do not hold.
    expired: Option<u16>,
    /// It is a robots.txt that is asked for.
    is_robots: bool,
}

impl JudgedTexts {
    /// Those that should be held against the robots.txt that a visit asks for: pages that are kept
    /// first, then candidates. None if it asks for something else. Work: linear in both, and a read
    /// of flash for each of them.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn of<B: Board>(
        probe: &Probe<'_, B>,
        visit: &Visit<'_>,
        page: u16,
    ) -> Self {
        let mut judged = Self::default();
        if !visit.page_follows() || visit.is_redirected() {
            return judged;
        }
        judged.is_robots = true;
        let host = visit.host();
        let found = &probe.setup.found;
        let now = probe.board.now();
        if let Ok(url) = Url::parse(visit.url()) {
            let state = probe.state();
            let memory = state.known.origins.hosts.get(usize::from(host));
            let known = memory.map(|host| host.robots(url.scheme()).access(now));
            judged.expired = (known == Some(Access::Unknown)).then_some(host);
        }
        for place in found.on_host(host) {
            let state = probe.state();
            let unknown = judged.expired.is_some()
                || (state.known.pages.get(place))
                    .is_some_and(|page| page.verdict == Verdict::Unknown);
            let Some(discovery) = state.discovery.as_ref() else {
                return judged;
            };
            let digest = discovery.frontier.bank().digest(place);
            drop(state);
            let is_other = place != usize::from(page) && found.kind(place) == Kind::Kept;
            if unknown && is_other && !judged.add(digest, found.url(place)) {
                return judged;
            }
        }
        // The most important ones of those that nobody has judged.
        while judged.texts.len() < FOUND_JUDGES {
            let state = probe.state();
            let Some(discovery) = state.discovery.as_ref() else {
                return judged;
            };
            let is_judged = |digest: u32| judged.texts.iter().any(|(other, _)| *other == digest);
            let wanted = |one: &Candidate| {
                let unjudged = judged.expired.is_some() || one.verdict() == Candidates::Unknown;
                let unknown = unjudged && one.host() == host;
                match unknown && !is_judged(one.digest()) {
                    true => one.income(),
                    false => -1.0,
                }
            };
            let best = discovery.frontier.candidates().best(&wanted);
            let Some((digest, text)) = best.map(|best| (best.digest(), best.text())) else {
                return judged;
            };
            drop(state);
            if !judged.add(digest, found.text(text).or(Some(UrlText::new()))) {
                return judged;
            }
        }
        judged
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
}

impl<B: Board> Probe<'_, B> {
    /// A robots.txt was read to its end: what it says of those that were found is remembered.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn judge_found(
        &self,
        judges: &Judges<'_>,
        judged: &JudgedTexts,
        status: u16,
        encoded: bool,
    ) {
        if !judged.is_robots || (300..400).contains(&status) {
            return;
        }
        let access = match Access::from_status(Some(status)) {
            Access::Rules if encoded => return,
            access @ (Access::Rules | Access::AllowAll) => access,
            Access::DenyAll | Access::Unknown => return,
        };
        let state = &mut *self.state();
        let Some(discovery) = state.discovery.as_mut() else {
            return;
        };
        if let Some(host) = judged.expired {
            let all = discovery.frontier.candidates_mut().iter_mut();
            all.filter(|one| one.host() == host)
                .for_each(|one| one.set_verdict(Candidates::Unknown));
        }
        for (digest, verdict) in judges.found(access) {
            if let Some(place) = discovery.frontier.bank().find(digest) {
                if let Some(page) = state.known.pages.get_mut(usize::from(place)) {
                    page.save_if(page.verdict != verdict);
                    page.verdict = verdict;
                }
                continue;
            }
            let candidates = discovery.frontier.candidates_mut();
            if let Some(candidate) = candidates.find_mut(digest) {
                candidate.set_verdict(match verdict {
                    Verdict::Denied => Candidates::Denied,
                    _ => Candidates::Allowed,
                });
            }
        }
    }
}
