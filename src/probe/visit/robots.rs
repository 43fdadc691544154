//! What a robots.txt means for a visit: it is asked for before the page, followed where redirects
//! lead, and the host's pages are judged by it.

use super::{Conclusion, DeadEnd, Moment, PageVisit, Step, VisitAnswer};
use crate::fetch::robots::{Access, HostRobots, Verdict};
use crate::fetch::{AnswerKind, Hops, Scheme, Url};
use crate::polite;
use crate::probe::Event;
use crate::probe::memory::Knowledge;
use crate::probe::origin::Origin;
use crate::probe::redirects::{LONGEST_TARGET, Subject, spell};
use crate::probe::setup::Setup;
use crate::probe::verdicts::{Judges, remember_access, verdict_until};
use crate::scheduler::Outcome;
use crate::time::Duration;

impl<'a> PageVisit<'a> {
    /// The robots.txt that governs where the page is, or the next step of its redirects.
    pub(super) fn robots_step(&self, page: &Url<'_>, known: &Knowledge<'_>) -> Step {
        let subject = match (&self.redirect, page.scheme()) {
            (None, Scheme::Http) => Subject::RobotsOfHost(self.record.host),
            (None, Scheme::Https) => Subject::HttpsRobotsOfHost(self.record.host),
            (Some(_), _) => Subject::RobotsOfPage(self.page),
        };
        if let Some(moved) = known.redirects.get(subject) {
            return Step::Robots {
                subject,
                url: moved.url,
                hops: Some(moved.hops),
            };
        }
        let mut text = [0; LONGEST_TARGET];
        let joined = page.join(b"/robots.txt", &mut text);
        match joined.ok().as_ref().and_then(spell) {
            Some(url) => Step::Robots {
                subject,
                url,
                hops: self.redirect.as_ref().map(|redirect| redirect.hops.clone()),
            },
            None => Step::Unreadable,
        }
    }

    /// A robots.txt was answered. The page's own turn comes next.
    #[allow(clippy::too_many_arguments)] // What it may read and change is all there.
    pub(super) fn robots_answered(
        &self,
        answer: &VisitAnswer,
        judges: &Judges<'_>,
        crawl_delay: Option<Duration>,
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) {
        if answer.kind == AnswerKind::Redirect
            && let Step::Robots { subject, url, hops } = &self.step
            && let Ok(url) = Url::parse(url)
        {
            let hops = hops.clone().unwrap_or_else(|| Hops::from(&url));
            match self.follow(*subject, hops, answer, setup, known, at, conclusion) {
                Ok(()) => return,
                // The rules exist, and cannot be read: the page is out of reach.
                Err(DeadEnd::OutOfReach) => {
                    conclusion.outcome = Outcome::Redirected;
                    return;
                }
                // There is no file (RFC 9309 §2.3.1.2).
                Err(DeadEnd::Nowhere) => {}
            }
        }
        let access = match Access::from_status(Some(answer.head.status)) {
            // It was compressed unasked: the rules exist, and cannot be read.
            Access::Rules if answer.head.encoded => Access::DenyAll,
            access => access,
        };
        if access == Access::DenyAll {
            // No time at all is none that was asked for.
            let wait = answer.wait.filter(|wait| !wait.is_zero());
            return self.busy(wait.unwrap_or(HostRobots::RETRY), known, at, conclusion);
        }
        conclusion.say(Event::Robots {
            host: self.record.host,
            status: answer.head.status,
            judged: judges.count(),
            denied: judges.count_denied(access),
        });
        if judges.gave_up() {
            conclusion.say(Event::Costly {
                host: self.record.host,
            });
        }
        let Ok(url) = Url::parse(self.url()) else {
            return;
        };
        let origin = setup.origin_of(&url, &self.record);
        // Rules are judged page by page; of a host of which only one page was judged, they say
        // nothing of the others.
        let whole = self.redirect.is_none() || access == Access::AllowAll;
        let fresh = whole && remember_access(known, &origin, access, answer.lifetime, at.now);
        if fresh && self.redirect.is_none() {
            let governed = |index: &usize| {
                let page = setup.page(*index);
                #[cfg(feature = "discover")]
                if page.is_ok_and(|page| page.url.is_empty()) {
                    return true;
                }
                let page = page.ok().and_then(|page| Url::parse(page.url).ok());
                page.is_some_and(|page| page.scheme() == url.scheme())
            };
            for index in setup.every_page_of(self.record.host).filter(governed) {
                if let Some(page) = known.pages.get_mut(index) {
                    page.verdict = Verdict::Unknown;
                }
            }
        }
        let listed = match origin {
            Origin::Listed(host, _) => host,
            Origin::Unlisted(_) => self.record.host,
        };
        let gap = polite::gap(setup.gap_of(listed), crawl_delay);
        match origin {
            Origin::Listed(host, _) => {
                conclusion.gap = Some((host, gap));
                conclusion.say(Event::Gap {
                    host,
                    millis: super::millis(gap),
                });
            }
            Origin::Unlisted(origin) => known.origins.set_gap(&origin, gap),
        }
        match &self.redirect {
            Some(redirect) => {
                let mut redirect = redirect.clone();
                let until = verdict_until(access, answer.lifetime, at.now);
                redirect.judge(judges.first(access), gap, until);
                // What replaces its own record fits where that was.
                known.redirects.put(&redirect);
            }
            None => judges.remember(access, known.pages),
        }
        conclusion.outcome = Outcome::RulesFirst;
    }
}
