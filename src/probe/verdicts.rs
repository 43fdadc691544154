//! Verdicts: what a probe remembers of robots rules.
//!
//! [`fetch::robots`](crate::fetch::robots) reads a robots.txt and says what its rules mean; here is
//! what becomes of that: whether a host's file was read and until when that holds, and a
//! [`Verdict`] for each page. Rules themselves are not kept. A host's pages are held against its
//! file while it streams by, so no file is too large.

use super::memory::{Knowledge, PageMemory};
use super::origin::Origin;
use super::redirects::Redirect;
use super::setup::Setup;
use crate::fetch::robots::{Access, HostRobots, Judge, Reason, Rule, RuleSink, Verdict};
use crate::fetch::{Scheme, Url};
use crate::time::{Duration, Instant};

/// Pages held against a robots.txt while it streams by. A host with more of them is asked for it
/// again.
const JUDGES: usize = 32;
/// Besides, so many whose URLs are not in the image.
#[cfg(feature = "discover")]
pub(super) const FOUND_JUDGES: usize = 12;

/// May a page be fetched from this origin, where the list or a redirect says that it is?
pub(super) fn verdict(
    known: &mut Knowledge<'_>,
    origin: &Origin<'_>,
    page: u16,
    redirect: Option<&Redirect>,
    now: Instant,
) -> Verdict {
    match (known.origins.access(origin, now), redirect) {
        (Access::AllowAll, _) => Verdict::Allowed,
        (_, Some(redirect)) => redirect.verdict(now),
        (Access::Rules, None) => known
            .page_mut(page)
            .map_or(Verdict::Unknown, |page| page.verdict),
        (Access::DenyAll | Access::Unknown, None) => Verdict::Unknown,
    }
}

/// Judges of a host's pages, as one sink of rules.
#[derive(Debug)]
pub(super) struct Judges<'u>(
    heapless::Vec<(u16, Judge<'u>), JUDGES>,
    #[cfg(feature = "discover")] heapless::Vec<(u32, Judge<'u>), FOUND_JUDGES>,
);

impl<'u> Judges<'u> {
    /// A list without judges.
    pub(super) const fn new() -> Self {
        Self(
            heapless::Vec::new(),
            #[cfg(feature = "discover")]
            heapless::Vec::new(),
        )
    }

    /// Adds a judge for a URL that is not in the image.
    #[cfg(feature = "discover")]
    pub(super) fn add_found(&mut self, digest: u32, judge: Judge<'u>) {
        // As many as there may be URLs.
        let _ = self.1.push((digest, judge));
    }

    /// The verdicts on those.
    #[cfg(feature = "discover")]
    pub(super) fn found(&self, access: Access) -> impl Iterator<Item = (u32, Verdict)> {
        let found = self.1.iter();
        found.map(move |(digest, judge)| (*digest, of(judge, access)))
    }

    /// Adds a judge for a page, which is at this URL; false if there is no room.
    pub(super) fn add(&mut self, page: u16, url: Url<'u>) -> bool {
        self.0.push((page, Judge::new(url))).is_ok()
    }

    /// Adds judges for the other pages of a host of the list that its robots.txt for this scheme
    /// governs: those that have not been judged, or all if nothing is known of it any more.
    pub(super) fn add_pages_of<'a: 'u>(
        &mut self,
        host: u16,
        scheme: Scheme,
        setup: &Setup<'a>,
        known: &Knowledge<'_>,
        now: Instant,
    ) {
        let first = self.0.first().map(|(page, _)| usize::from(*page));
        let memory = known.origins.hosts.get(usize::from(host));
        let all = memory.is_none_or(|host| host.robots(scheme).access(now) == Access::Unknown);
        let others = setup
            .named_pages_of(host)
            .filter(|index| Some(*index) != first);
        for index in others {
            let page = known.pages.get(index);
            if !all && page.is_none_or(|page| page.verdict != Verdict::Unknown) {
                continue;
            }
            let page = setup.page(index).ok();
            let url = page.and_then(|page| Url::parse(page.url).ok());
            let url = url.filter(|url| url.scheme() == scheme);
            if url.is_some_and(|url| !self.add(index as u16, url)) {
                break;
            }
        }
    }

    /// How many pages were judged.
    pub(super) fn count(&self) -> u16 {
        self.0.len() as u16
    }

    /// How many of them may not be fetched.
    pub(super) fn count_denied(&self, access: Access) -> u16 {
        let denied = |(_, judge): &&(u16, Judge<'_>)| of(judge, access) == Verdict::Denied;
        self.0.iter().filter(denied).count() as u16
    }

    /// Is a page forbidden because its rules take too much work to be held against it?
    pub(super) fn gave_up(&self) -> bool {
        let over = |(_, judge): &(u16, Judge<'_>)| judge.ruling().reason == Reason::Overflow;
        self.0.iter().any(over)
    }

    /// The verdict on the first page.
    pub(super) fn first(&self, access: Access) -> Verdict {
        let first = self.0.first();
        first.map_or(Verdict::Unknown, |(_, judge)| of(judge, access))
    }

    /// Remembers the verdicts on all of them.
    pub(super) fn remember(&self, access: Access, pages: &mut [PageMemory]) {
        for (index, judge) in &self.0 {
            if let Some(page) = pages.get_mut(usize::from(*index)) {
                let verdict = of(judge, access);
                page.save_if(page.verdict != verdict);
                page.verdict = verdict;
            }
        }
    }
}

fn of(judge: &Judge<'_>, access: Access) -> Verdict {
    match access == Access::AllowAll || judge.ruling().allowed {
        true => Verdict::Allowed,
        false => Verdict::Denied,
    }
}

impl RuleSink for &mut Judges<'_> {
    fn restart(&mut self) {
        self.0.iter_mut().for_each(|(_, judge)| judge.restart());
        #[cfg(feature = "discover")]
        self.1.iter_mut().for_each(|(_, judge)| judge.restart());
    }

    fn rule(&mut self, rule: &Rule<'_>, steps: &mut u32) -> bool {
        let mut judges = self.0.iter_mut();
        let all = judges.all(|(_, judge)| judge.rule(rule, steps));
        #[cfg(feature = "discover")]
        let all = all && (self.1.iter_mut()).all(|(_, judge)| judge.rule(rule, steps));
        all
    }

    fn give_up(&mut self) {
        self.0.iter_mut().for_each(|(_, judge)| judge.give_up());
        #[cfg(feature = "discover")]
        self.1.iter_mut().for_each(|(_, judge)| judge.give_up());
    }
}

/// Remembers what holds for all pages of an origin; true if nothing was known of it any more.
pub(super) fn remember_access(
    known: &mut Knowledge<'_>,
    origin: &Origin<'_>,
    access: Access,
    lifetime: Option<Duration>,
    now: Instant,
) -> bool {
    let scheme = origin.scheme();
    known.origins.get_mut(origin).is_some_and(|host| {
        let robots = host.robots_mut(scheme);
        let was_unknown = robots.access(now) == Access::Unknown;
        robots.record(access, lifetime, now);
        if host.earlier_scheme() == scheme {
            host.earlier = Access::Unknown;
        }
        host.unsaved = true;
        was_unknown
    })
}

/// How long a verdict on a redirected page holds.
pub(super) fn verdict_until(access: Access, lifetime: Option<Duration>, now: Instant) -> Instant {
    let mut robots = HostRobots::UNKNOWN;
    robots.record(access, lifetime, now);
    robots.ask_at()
}
