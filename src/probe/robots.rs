//! robots.txt: asked for before a host's pages, judged as it streams by, followed where redirects
//! lead.

use super::elsewhere::{LONGEST_TARGET, What, verdict_until};
use super::line::{Trouble, Wires};
use super::memory::{PageMemory, Verdict};
use super::party::Party;
use super::turn::{Ended, Errand, Lost, Question, Reply, millis};
use super::{Board, Event, Failure, Probe};
use crate::catalog::Page;
use crate::fetch::robots::{self, Access, Judge, Reader};
use crate::fetch::{self, Connect, Hops, Request, Resolve, Url};
use crate::polite;
use crate::scheduler::Outcome;
use crate::time::Duration;

/// Pages held against a robots.txt while it streams by. A host with more of them is asked for it
/// again, so that no rule has to be kept and no file is too large.
const JUDGES: usize = 32;

type Judges<'u> = heapless::Vec<(usize, Judge<'u>), JUDGES>;

impl<'a, B: Board> Probe<'a, B> {
    /// Fetches the robots.txt that governs where the page is, or the next step of its redirects,
    /// and judges the host's pages by it. The page's own turn comes next.
    ///
    /// *Cancellation*: the connection is dropped where it is.
    pub(super) async fn ask_robots<C: Connect, R: Resolve>(
        &self,
        errand: &Errand<'_, 'a>,
        wires: &mut Wires<'_, '_, C, R>,
    ) -> Ended {
        let what = match errand.detour {
            None => What::Robots(errand.record.host),
            Some(_) => What::RobotsOf(errand.page as u16),
        };
        let moved = self.state.borrow().elsewhere.get(what);
        let mut text = [0; LONGEST_TARGET];
        let url = match &moved {
            Some(moved) => Url::parse(&moved.url),
            None => errand.url.join(b"/robots.txt", &mut text),
        };
        let Ok(url) = url else {
            return Ended::Done(self.failed(errand.page, Failure::Url, errand.start));
        };
        let hops = moved.as_ref().or(errand.detour).map(|detour| &detour.hops);
        let mut judges = self.judges(errand);
        let mut reader = Reader::new(self.agent.token(), Panel(&mut judges));
        let question = Question {
            request: Request::get(url, self.agent),
            hops,
            limits: robots::LIMITS,
        };
        let reply = self.request(errand, question, wires, &mut reader).await;
        let (_, crawl_delay) = reader.finish();
        // Whatever it says, the way there is looked for from the start next time, but for one more
        // step.
        if matches!(reply, Ok(_) | Err(Trouble::Failed(_))) {
            self.state.borrow_mut().elsewhere.remove(what);
        }
        let reply = match reply {
            Ok(reply) => reply,
            Err(trouble) => return self.trouble(errand, trouble),
        };
        if reply.outcome == fetch::Outcome::Redirect {
            let hops = hops.cloned().unwrap_or_else(|| Hops::from(&url));
            match self.follow(errand, what, hops, &reply) {
                Ok(()) => return Ended::Done(Outcome::Postponed),
                // The rules exist, and cannot be read: the page is out of reach.
                Err(Lost::OutOfReach) => return Ended::Done(Outcome::Redirected),
                // No file (RFC 9309 §2.3.1.2).
                Err(Lost::Nowhere) => {}
            }
        }
        Ended::Done(self.judged(errand, &reply, &judges, crawl_delay))
    }

    /// Judges for this page, and for others of its host that have not been judged.
    fn judges<'e>(&self, errand: &Errand<'e, 'a>) -> Judges<'e>
    where
        'a: 'e,
    {
        let mut judges = Judges::new();
        // There is room for the first.
        let _ = judges.push((errand.page, Judge::new(errand.url)));
        if errand.detour.is_some() {
            return judges;
        }
        let (state, now) = (self.state.borrow(), self.board.now());
        let known = state.memory.hosts.get(usize::from(errand.record.host));
        let all = known.is_none_or(|host| host.robots.access(now) == Access::Unknown);
        for index in self
            .pages_of(errand.record)
            .filter(|index| *index != errand.page)
        {
            let page = state.memory.pages.get(index);
            if !all && page.is_none_or(|page| page.verdict != Verdict::Unknown) {
                continue;
            }
            let parsed = self
                .image
                .page(index)
                .ok()
                .and_then(|page| Url::parse(page.url).ok());
            if parsed.is_some_and(|url| judges.push((index, Judge::new(url))).is_err()) {
                break;
            }
        }
        judges
    }

    fn pages_of(&self, record: &Page<'a>) -> core::ops::Range<usize> {
        let host = self.image.host(record.host.into());
        host.map_or(0..0, |host| {
            let first = usize::from(host.first_page);
            first..first + usize::from(host.pages)
        })
    }

    /// Remembers what the answer means for the host and its pages.
    fn judged(
        &self,
        errand: &Errand<'_, 'a>,
        reply: &Reply,
        judges: &Judges<'_>,
        crawl_delay: Option<Duration>,
    ) -> Outcome {
        let access = Access::from_status(Some(reply.head.status));
        if access == Access::DenyAll {
            return self.busy(
                errand.page,
                reply.wait.unwrap_or(robots::HostRobots::RETRY),
                errand.start,
            );
        }
        let verdict =
            |judge: &Judge<'_>| match access == Access::AllowAll || judge.decision().allowed {
                true => Verdict::Allowed,
                false => Verdict::Denied,
            };
        let denied = judges
            .iter()
            .filter(|(_, judge)| verdict(judge) == Verdict::Denied)
            .count();
        self.board.log(&Event::Robots {
            host: errand.record.host,
            status: reply.head.status,
            judged: judges.len() as u16,
            denied: denied as u16,
        });
        let party = self.party(errand.record, &errand.url);
        self.remember_access(errand, party, access, reply.lifetime, crawl_delay);
        let (mut state, now) = (self.state.borrow_mut(), self.board.now());
        if let Some(detour) = errand.detour {
            let mut detour = detour.clone();
            let own = judges
                .first()
                .map_or(Verdict::Unknown, |(_, judge)| verdict(judge));
            detour.judge(own, verdict_until(access, reply.lifetime, now));
            // What replaces its own record fits where that was.
            state.elsewhere.put(&detour);
            return Outcome::Postponed;
        }
        for (index, judge) in judges {
            if let Some(page) = state.memory.pages.get_mut(*index) {
                page.unsaved |= page.verdict != verdict(judge);
                page.verdict = verdict(judge);
            }
        }
        Outcome::Postponed
    }

    /// Remembers what holds for the whole host.
    fn remember_access(
        &self,
        errand: &Errand<'_, 'a>,
        party: Party,
        access: Access,
        lifetime: Option<Duration>,
        crawl_delay: Option<Duration>,
    ) {
        let (mut state, now) = (self.state.borrow_mut(), self.board.now());
        let politeness = |host: u16| {
            let gap = self.image.host(host.into()).map_or(0, |host| host.gap_ms);
            polite::gap(Duration::from_millis(gap.into()), crawl_delay)
        };
        // Rules are judged page by page; of a host of which only one page was judged, they say
        // nothing of the others.
        let whole = errand.detour.is_none() || access == Access::AllowAll;
        let fresh = state
            .host_memory(party)
            .filter(|_| whole)
            .is_some_and(|host| {
                let fresh = host.robots.access(now) == Access::Unknown;
                host.robots.record(access, lifetime, now);
                (host.earlier, host.unsaved) = (Access::Unknown, true);
                fresh
            });
        if fresh && errand.detour.is_none() {
            let pages = state
                .memory
                .pages
                .get_mut(self.pages_of(errand.record))
                .unwrap_or_default();
            pages
                .iter_mut()
                .for_each(|page: &mut PageMemory| page.verdict = Verdict::Unknown);
        }
        match party {
            Party::Listed(host) => {
                if let Some(id) = state.memory.scheduler.host_id(host.into()) {
                    let gap = politeness(host);
                    let _ = state.memory.scheduler.set_gap(id, gap);
                    self.board.log(&Event::Gap {
                        host,
                        millis: millis(gap),
                    });
                }
            }
            Party::Stranger(origin) => {
                if let Some(stranger) = state.stranger(origin) {
                    stranger.gap = politeness(errand.record.host);
                }
            }
        }
    }
}

/// Judges of a host's pages, as one.
struct Panel<'v, 'u>(&'v mut Judges<'u>);

impl robots::RuleSink for Panel<'_, '_> {
    fn restart(&mut self) {
        self.0.iter_mut().for_each(|(_, judge)| judge.restart());
    }

    fn rule(&mut self, rule: &robots::Rule<'_>) {
        self.0.iter_mut().for_each(|(_, judge)| judge.rule(rule));
    }
}
