//! The visit of a page, as a state machine that asks for requests and is told answers. Nothing here
//! waits or touches a socket: time and answers come in as arguments, a [`Conclusion`] goes out.
//!
//! ```text
//!            ┌───────── Postponed: the next turn ─────────┐
//!            ▼                                            │
//!   begin ─► may it be fetched? ─ unknown ─► ask robots.txt ─► redirected, or judged
//!            │            │
//!          denied      allowed ─► ask for the page ─► redirected ──► Postponed
//!            ▼                          │
//!        concluded                      ▼
//!                                   concluded: changed, unchanged, gone, busy, failed
//! ```
//!
//! Each turn is one request, because each has to pass the gate of its host. What a turn leaves to
//! the next one is in [`Knowledge`]: the verdicts on pages, and the table of redirects. So a visit
//! that was postponed goes on with [`PageVisit::begin`], whichever slot has its next turn.

mod messages;
mod page;
mod robots;
#[cfg(all(test, feature = "std"))]
mod tests;

pub(super) use messages::{
    Conclusion, Counted, Finding, Moment, Next, Reading, Reply, VisitAnswer,
};
pub(super) use page::restored_move;

#[cfg(feature = "discover")]
use super::discovering::UrlText;
use super::memory::Knowledge;
use super::origin::{GateRefusal, Origin};
use super::redirects::{Redirect, RedirectTarget, Subject};
use super::setup::Setup;
use super::verdicts::{self, Judges};
use super::{Event, Failure};
use crate::catalog::Page;
use crate::fetch::robots::{LIMITS, RobotsReader, Verdict};
use crate::fetch::{
    Ask, Etag, Fingerprinter, Hops, HttpDate, Limits, RedirectError, Request, TlsError, Url,
    UrlHost,
};
use crate::scheduler::Outcome;
use crate::time::{Duration, Instant};

/// What led to a page on a host that was found.
#[cfg(feature = "discover")]
static LINK: Hops = Hops::LINK;

/// Where a redirect did not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeadEnd {
    /// It goes in a circle, too far, or to what is no URL.
    Nowhere,
    /// It goes to https, which needs a gateway, or there is no room to remember it in.
    OutOfReach,
}

/// What a turn asks for.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One a slot, and there is no allocator.
enum Step {
    /// The robots.txt that governs where the page is.
    Robots {
        subject: Subject,
        url: RedirectTarget,
        /// The redirects that led to it, or to the page it governs.
        hops: Option<Hops>,
    },
    /// The page itself, unless the version we know is still current.
    Page {
        etag: Option<Etag>,
        last_modified: Option<HttpDate>,
    },
    /// It asks for nothing, because robots rules forbid the page.
    Denied,
    /// It asks for nothing, because the page's URL cannot be read.
    Unreadable,
    /// It asks for nothing, because the image has no such page.
    Missing,
}

/// One turn of the visit of a page.
#[derive(Debug)]
pub(super) struct PageVisit<'a> {
    page: u16,
    record: Page<'a>,
    /// When the slot began the turn.
    start: Instant,
    /// Where redirects have led the page.
    redirect: Option<Redirect>,
    /// It has moved for good, and is asked for where the list says all the same.
    checks: bool,
    step: Step,
    /// Of a sitemap of an index: 32 bits of the identity of its URL.
    #[cfg(feature = "hints")]
    part_id: u32,
    /// Its own URL, if it is a page that was found.
    #[cfg(feature = "discover")]
    found: Option<UrlText>,
}

impl<'a> PageVisit<'a> {
    /// Decides what a page's turn asks for: its robots.txt, if nothing is known of that; else the
    /// page, where the list or redirects say that it is.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn begin(
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        page: u16,
        start: Instant,
        now: Instant,
    ) -> Self {
        const NO_PAGE: Page<'static> = Page {
            host: 0,
            url: "",
            weight: 0.0,
            rate: None,
            confidence: 0.0,
        };
        let record = setup.page(page.into());
        #[cfg(feature = "discover")]
        let found = setup.found_url(page.into());
        #[cfg(feature = "discover")]
        let record = record.map(|record| match &found {
            Some(url) => setup.with_host_of(record, url),
            None => record,
        });
        #[cfg(feature = "hints")]
        let part = known.redirects.next_part(page);
        #[cfg(feature = "hints")]
        let part_id = part.as_ref().map_or(0, |part| part.id(&setup.config.key));
        #[cfg(not(feature = "hints"))]
        let part: Option<Redirect> = None;
        let redirect = part.or_else(|| known.redirects.get(Subject::Page(page)));
        let checks = redirect.as_ref().is_some_and(|to| to.is_to_be_checked(now));
        let mut visit = Self {
            page,
            start,
            redirect: redirect.filter(|_| !checks),
            checks,
            step: Step::Missing,
            #[cfg(feature = "hints")]
            part_id,
            record: record.unwrap_or(NO_PAGE),
            #[cfg(feature = "discover")]
            found,
        };
        if record.is_ok() {
            visit.step = visit.first_step(setup, known, now);
        }
        visit
    }

    fn first_step(&self, setup: &Setup<'a>, known: &mut Knowledge<'_>, now: Instant) -> Step {
        let Ok(url) = Url::parse(self.url()) else {
            return Step::Unreadable;
        };
        let origin = setup.origin_of(&url, &self.record);
        match verdicts::verdict(known, &origin, self.page, self.redirect.as_ref(), now) {
            Verdict::Denied => Step::Denied,
            Verdict::Unknown => self.robots_step(&url, known),
            Verdict::Allowed => match known.page_mut(self.page) {
                // What the collector has not got is asked for whole.
                #[cfg(feature = "collect")]
                Some(memory) if setup.is_collected() && memory.is_owed() => Step::Page {
                    etag: None,
                    last_modified: None,
                },
                #[cfg(feature = "discover")]
                Some(memory) if memory.is_wanted_whole() => Step::Page {
                    etag: None,
                    last_modified: None,
                },
                // What is known is the index.
                #[cfg(feature = "hints")]
                Some(_) if self.is_part() => Step::Page {
                    etag: None,
                    last_modified: None,
                },
                Some(memory) => Step::Page {
                    etag: memory.etag,
                    last_modified: memory.last_modified(),
                },
                None => Step::Missing,
            },
        }
    }

    /// Where the page is.
    pub(super) fn url(&self) -> &str {
        self.redirect
            .as_ref()
            .map_or(self.own_url(), |redirect| redirect.url.as_str())
    }

    /// Where the list has it, or a link.
    #[inline(always)] // As a rule, a field.
    fn own_url(&self) -> &str {
        #[cfg(feature = "discover")]
        if let Some(url) = &self.found {
            return url;
        }
        self.record.url
    }

    /// The page's own host.
    pub(super) fn host(&self) -> u16 {
        self.record.host
    }

    /// What has to pass between two requests where redirects have led the page, as far as that was
    /// told.
    pub(super) fn gap(&self) -> Duration {
        self.redirect.as_ref().map_or(Duration::ZERO, Redirect::gap)
    }

    /// Does the page itself follow what is asked for?
    pub(super) fn page_follows(&self) -> bool {
        matches!(self.step, Step::Robots { .. })
    }

    /// Is it a sitemap of the index that the page is?
    #[cfg(feature = "hints")]
    pub(super) fn is_part(&self) -> bool {
        let redirect = self.redirect.as_ref();
        redirect.is_some_and(|redirect| matches!(redirect.subject, Subject::Part(_)))
    }

    /// The page is not looked for there any more, but where the list says.
    fn turn_back(&self, known: &mut Knowledge<'_>) {
        #[cfg(feature = "hints")]
        if self.is_part() {
            return known.redirects.leave_part(self.page, self.part_id);
        }
        known.redirects.forget(self.page);
    }

    /// Is the page somewhere else than its own URL says?
    #[cfg(feature = "discover")]
    pub(super) fn is_redirected(&self) -> bool {
        self.redirect.is_some()
    }

    /// Is it the page that is asked for? What goes wrong then may be the page's own fault; without
    /// its robots.txt, none of a host's pages can be fetched.
    pub(super) fn asks_for_page(&self) -> bool {
        matches!(self.step, Step::Page { .. })
    }

    /// What has to be asked for, and whom; `None` if the visit ends without a request, see
    /// [`Self::unasked`].
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn ask<'v>(&'v self, setup: &'v Setup<'a>) -> Option<(Ask<'v>, Origin<'v>)> {
        let (text, hops, limits) = match &self.step {
            Step::Robots { url, hops, .. } => (url.as_str(), hops.as_ref(), LIMITS),
            Step::Page { .. } => (
                self.url(),
                self.redirect.as_ref().map(|redirect| &redirect.hops),
                Limits::DEFAULT.with_body_bytes(setup.config.body_bytes),
            ),
            Step::Denied | Step::Unreadable | Step::Missing => return None,
        };
        let url = Url::parse(text).ok()?;
        let mut request = Request::get(url, setup.agent);
        if let Step::Page {
            etag,
            last_modified,
        } = &self.step
        {
            request.etag = etag.as_ref();
            request.last_modified = *last_modified;
        }
        let origin = setup.origin_of(&url, &self.record);
        let gateway = setup.config.gateway;
        // A name of the list may lead anywhere, an address of the list to itself.
        let listed = matches!(
            (&origin, url.host()),
            (Origin::Listed(..), UrlHost::Address(_))
        );
        // A host that links led to is nobody's word, neither its name nor its address. Nor is what
        // a link has a gateway asked for: that host's address was never seen.
        #[cfg(feature = "discover")]
        let (hops, listed) = match setup.is_found(&origin) {
            true => (hops.or(Some(&LINK)), false),
            false if self.found.is_some() && setup.goes_by_gateway(url.scheme()) => {
                (hops.or(Some(&LINK)), listed)
            }
            false => (hops, listed),
        };
        let ask = Ask {
            request,
            hops,
            listed,
            gateway: gateway.map(|gateway| (gateway.host, gateway.port)),
            limits,
        };
        Some((ask, origin))
    }

    /// Chooses judges for a robots.txt: none if something else is asked for.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn choose_judges<'v>(
        &'v self,
        judges: &mut Judges<'v>,
        setup: &Setup<'a>,
        known: &Knowledge<'_>,
        now: Instant,
    ) {
        if let (Step::Robots { .. }, Ok(url)) = (&self.step, Url::parse(self.url())) {
            judges.add(self.page, url);
            // Of the host that a redirect leads to, this page alone is judged.
            if self.redirect.is_none() {
                judges.add_pages_of(self.record.host, url.scheme(), setup, known, now);
            }
        }
    }

    /// Who reads the answer.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn reading<'r, 'u>(
        &self,
        judges: &'r mut Judges<'u>,
        setup: &'r Setup<'a>,
    ) -> Reading<'r, 'u> {
        match self.step {
            Step::Robots { .. } => Reading::Robots(RobotsReader::new(setup.agent.token(), judges)),
            _ => Reading::Page(Fingerprinter::new(&setup.config.key, &setup.ignores)),
        }
    }

    /// Who reads the answer, where `filter` says what of this page counts.
    #[cfg(feature = "filter")]
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn reading_filtered<'r, 'u>(
        &self,
        judges: &'r mut Judges<'u>,
        setup: &'r Setup<'a>,
        filter: &'r crate::catalog::PageFilter<'a>,
    ) -> Reading<'r, 'u> {
        match self.reading(judges, setup) {
            Reading::Page(_) => Reading::Page(
                Fingerprinter::new(&setup.config.key, &filter.ignore).selecting(filter.select),
            ),
            robots => robots,
        }
    }

    /// How a visit ends that asks for nothing.
    pub(super) fn unasked(&self, known: &mut Knowledge<'_>, at: Moment) -> Conclusion {
        match self.step {
            Step::Denied => {
                self.turn_back(known);
                let mut conclusion = Conclusion::new(Outcome::Denied);
                conclusion.say(Event::Denied { page: self.page });
                conclusion
            }
            Step::Missing => Conclusion::new(Outcome::Gone),
            _ => {
                let mut conclusion = Conclusion::new(Outcome::Gone);
                self.failed(Failure::Url, known, at, &mut conclusion);
                conclusion
            }
        }
    }

    /// What comes next, by what became of the request.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn told(
        &self,
        reply: Reply<'_, '_>,
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        at: Moment,
    ) -> Next {
        // The redirects that led to this robots.txt are forgotten: the next request for it starts
        // at the host's own URL. If this answer redirects once more, `follow` stores that step
        // again.
        if let Step::Robots { subject, .. } = &self.step
            && matches!(reply, Reply::Answered(..) | Reply::Failed(_))
        {
            known.redirects.remove(*subject);
        }
        let mut conclusion = Conclusion::new(Outcome::Postponed);
        let said = &mut conclusion;
        match reply {
            Reply::Stale => return Next::AskAgain,
            Reply::Refused(GateRefusal::WaitAt(host)) => return Next::WaitAt(host),
            Reply::Refused(GateRefusal::Closed) => {
                let lost = self.redirect.as_ref().is_some_and(|to| to.is_lost(at.now));
                if !lost {
                    return Next::NotNow;
                }
                // It stands in the way of others. The list's own URL is asked another day.
                self.failed(Failure::Busy, known, at, said);
                self.turn_back(known);
                said.outcome = Outcome::Redirected;
            }
            // Once more, at the next turn, on a connection that nobody has used: the gate counts
            // this one as a request.
            Reply::Lost => {
                if let Some(page) = known.page_mut(self.page) {
                    page.lose();
                }
            }
            Reply::Failed(why) => self.failed(why, known, at, said),
            Reply::Answered(answer, Finding::Robots(judges, crawl_delay)) => {
                self.robots_answered(answer, judges, crawl_delay, setup, known, at, said);
            }
            Reply::Answered(answer, Finding::Page(fingerprint)) => {
                self.page_answered(answer, fingerprint, setup, known, at, said);
            }
        }
        Next::Conclude(conclusion)
    }

    /// The request was not answered, or by a failure. What fails while the network is away is not
    /// the host's fault.
    fn failed(
        &self,
        why: Failure,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) {
        conclusion.outcome = match why {
            Failure::Url => Outcome::Gone,
            Failure::PrivateAddress | Failure::NoIpv6 => Outcome::Redirected,
            // Not the host's fault either.
            Failure::Tls(TlsError::Time | TlsError::Memory | TlsError::Random) => {
                Outcome::Postponed
            }
            _ if !at.online => Outcome::Postponed,
            // One failed connection is not a host that is down: several in a row are.
            Failure::Connection | Failure::Server | Failure::Response | Failure::Deadline
                if self.asks_for_page() =>
            {
                let before = known.page_mut(self.page).map_or(0, |page| page.failures());
                Outcome::Broken { times: before + 1 }
            }
            _ => Outcome::Failed,
        };
        if self.checks {
            // Where it has moved to is not to blame.
            known.redirects.checked(self.page, at.now);
        } else if why != Failure::Busy && conclusion.outcome != Outcome::Postponed {
            // Whoever is not to blame is asked there again at the next turn.
            self.turn_back(known);
        }
        conclusion.failure = Some(why);
        conclusion.say(Event::Failed {
            page: self.page,
            millis: millis(at.now - self.start),
            why,
        });
    }

    /// The server wants to be left alone for so long.
    fn busy(
        &self,
        wait: Duration,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) {
        self.failed(Failure::Busy, known, at, conclusion);
        conclusion.outcome = Outcome::Refused {
            retry_after: Some(wait),
        };
    }

    /// Remembers where the next turn for `subject` goes, or says why it goes nowhere.
    #[allow(clippy::too_many_arguments)] // What it may read and change is all there.
    fn follow(
        &self,
        subject: Subject,
        mut hops: Hops,
        answer: &VisitAnswer,
        setup: &Setup<'a>,
        known: &mut Knowledge<'_>,
        at: Moment,
        conclusion: &mut Conclusion,
    ) -> Result<(), DeadEnd> {
        let page = self.page;
        let status = answer.head.status;
        let target = answer.target.as_ref();
        let parsed = target.and_then(|text| Some((text, Url::parse(text).ok()?)));
        let followed =
            parsed.map(|(text, url)| (text, hops.follow(status, &url, setup.reaches_https)));
        #[cfg(feature = "fleet")]
        let followed = match parsed {
            Some((text, url)) if setup.leads_outside_fleet(&url, &self.record) => {
                Some((text, Err(RedirectError::Unlisted)))
            }
            _ => followed,
        };
        let why = match followed {
            Some((text, Ok(()))) => {
                let redirect = Redirect::new(subject, hops, true, text.clone(), at.now);
                let share = setup.share_of(self.record.host);
                let shares = |host: u16| setup.share_of(host) == share;
                let is_theirs = |page: u16| setup.host_of_page(page.into()).is_some_and(shares);
                known.redirects.forget_lost(at.now);
                let all = &mut known.redirects;
                if all.has_room_for(page, is_theirs, shares, text.len()) && all.put(&redirect) {
                    conclusion.say(Event::Moved { page, status });
                    return Ok(());
                }
                Some(RedirectError::NoRoom)
            }
            Some((_, Err(why))) => Some(why),
            // It is too long to keep, or no URL.
            None => None,
        };
        conclusion.say(Event::Astray { page, status, why });
        Err(match why {
            Some(RedirectError::NeedsTls | RedirectError::NoRoom) => DeadEnd::OutOfReach,
            _ => DeadEnd::Nowhere,
        })
    }
}

/// Whole milliseconds, for the log.
fn millis(duration: Duration) -> u32 {
    duration.as_millis().min(u32::MAX.into()) as u32
}
