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
//! that was postponed goes on with [`Visit::begin`], whichever slot has its next turn.

mod page;
mod robots;
#[cfg(all(test, feature = "std"))]
mod tests;

pub(super) use page::restored_move;

use super::memory::Knowledge;
use super::origin::{Origin, Refusal};
use super::redirects::{Redirect, Subject, Target, spell};
use super::setup::Setup;
use super::verdicts::{self, Judges, Verdict};
use super::{Event, Failure};
use crate::fetch::robots::{Access, HostRobots, LIMITS, Reader};
use crate::fetch::{
    AnswerKind, Ask, Body, Etag, Fetched, Fingerprinter, Head, Hops, HttpDate, Limits,
    RedirectError, Request, Url,
};
use crate::image::Page;
use crate::scheduler::Outcome;
use crate::time::{Duration, Instant};

/// When something is decided, and whether the network was there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub now: Instant,
    /// Without the network, no host is blamed for a failure.
    pub online: bool,
}

/// What an answer said, out of the buffers.
#[derive(Debug)]
pub(super) struct Answer {
    pub kind: AnswerKind,
    pub head: Head,
    pub bytes: u32,
    /// The body is longer than what was read of it.
    pub cut: bool,
    /// How long the server wants to be left alone.
    pub wait: Option<Duration>,
    /// How long the answer is promised to stay good.
    pub lifetime: Option<Duration>,
    /// How long ago the page last changed, by the server's word.
    pub age: Option<Duration>,
    /// Where a redirect leads; `None` if that is no URL, or too long to be kept.
    pub target: Option<Target>,
}

impl Answer {
    /// Takes over what is in the buffers of a fetch.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn new(fetched: &Fetched<'_>) -> Self {
        let target = fetched.target.as_ref();
        Self {
            kind: fetched.kind,
            head: fetched.head,
            bytes: fetched.bytes,
            cut: fetched.truncated,
            wait: fetched.wait(None),
            lifetime: fetched.lifetime(None),
            age: fetched.age(None),
            target: target
                .and_then(|target| target.as_ref().ok())
                .and_then(spell),
        }
    }
}

/// Reads the body of an answer as it streams by.
pub(super) enum Reading<'r, 'u> {
    Page(Fingerprinter<'r>),
    Robots(Reader<'r, &'r mut Judges<'u>>),
}

impl<'r, 'u> Reading<'r, 'u> {
    /// What was read.
    pub(super) fn finish(self) -> Finding<'r, 'u> {
        match self {
            Self::Page(hasher) => Finding::Page(hasher.finish().short()),
            Self::Robots(reader) => {
                let (judges, crawl_delay) = reader.finish();
                Finding::Robots(judges, crawl_delay)
            }
        }
    }
}

/// What the body of an answer comes to.
pub(super) enum Finding<'r, 'u> {
    /// The fingerprint of a page.
    Page(u64),
    /// Judges that have heard all rules of a robots.txt, and its crawl delay.
    Robots(&'r Judges<'u>, Option<Duration>),
}

impl Body for Reading<'_, '_> {
    fn piece(&mut self, head: &Head, bytes: &[u8]) {
        match self {
            Self::Page(hasher) => hasher.piece(head, bytes),
            Self::Robots(reader) => reader.piece(head, bytes),
        }
    }
}

/// What became of the request that a visit asked for.
pub(super) enum Reply<'r, 'u> {
    /// It was answered.
    Answered(&'r Answer, Finding<'r, 'u>),
    /// It was made, and not answered.
    Failed(Failure),
    /// The connection was of no use for it, and nobody has answered.
    Stale,
    /// It did not pass the gate of whom it goes to.
    Refused(Refusal),
}

/// What comes next for the page.
#[derive(Debug)]
#[must_use]
pub(super) enum Next {
    /// The turn has ended.
    Conclude(Conclusion),
    /// The turn begins once more, on another connection.
    AskAgain,
    /// Nobody was asked: the page has to wait at the gate of this host.
    WaitAt(u16),
}

/// An answer that counts as a fetch of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub bytes: u32,
    pub changed: bool,
    pub not_modified: bool,
    /// What time it was by the server's clock.
    pub date: Option<HttpDate>,
}

/// How a turn ended.
#[derive(Debug)]
#[must_use]
pub(super) struct Conclusion {
    /// What the scheduler has to know.
    pub outcome: Outcome,
    /// Why the page was not answered.
    pub failure: Option<Failure>,
    /// What is counted, if the page was answered.
    pub counted: Option<Counted>,
    /// What a host of the list gets between two requests from now on.
    pub gap: Option<(u16, Duration)>,
    /// What the log says of it.
    pub events: heapless::Vec<Event, 3>,
}

impl Conclusion {
    fn new(outcome: Outcome) -> Self {
        Self {
            outcome,
            failure: None,
            counted: None,
            gap: None,
            events: heapless::Vec::new(),
        }
    }

    // Not to be inlined: an event is long.
    #[inline(never)]
    fn say(&mut self, event: Event) {
        // There is room: no turn says more than three things.
        let _ = self.events.push(event);
    }
}

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
enum Step {
    /// The robots.txt that governs where the page is.
    Robots {
        subject: Subject,
        url: Target,
        /// The redirects that led to it, or to the page it governs.
        hops: Option<Hops>,
    },
    /// The page itself, unless the version we know is still current.
    Page {
        etag: Option<Etag>,
        last_modified: Option<HttpDate>,
    },
    /// Nothing: robots rules forbid the page.
    Denied,
    /// Nothing: its URL cannot be read.
    Unreadable,
    /// Nothing: the image has no such page.
    Missing,
}

/// One turn of the visit of a page.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    page: u16,
    record: Page<'a>,
    /// Since when a slot is at it.
    start: Instant,
    /// Where redirects have led the page.
    redirect: Option<Redirect>,
    step: Step,
}

impl<'a> Visit<'a> {
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
        let record = setup.image.page(page.into());
        let mut visit = Self {
            page,
            start,
            redirect: known.redirects.get(Subject::Page(page)),
            step: Step::Missing,
            record: record.unwrap_or(NO_PAGE),
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
        match verdicts::verdict(known, origin, self.page, self.redirect.as_ref(), now) {
            Verdict::Denied => Step::Denied,
            Verdict::Unknown => self.robots_step(&url, known),
            Verdict::Allowed => match known.page_mut(self.page) {
                Some(memory) => Step::Page {
                    etag: memory.etag,
                    last_modified: memory.last_modified(),
                },
                None => Step::Missing,
            },
        }
    }

    /// Where the page is.
    fn url(&self) -> &str {
        self.redirect
            .as_ref()
            .map_or(self.record.url, |redirect| redirect.url.as_str())
    }

    /// The page's own host.
    pub(super) fn host(&self) -> u16 {
        self.record.host
    }

    /// Does the page itself follow what is asked for?
    pub(super) fn page_follows(&self) -> bool {
        matches!(self.step, Step::Robots { .. })
    }

    /// What has to be asked for, and whom; `None` if the visit ends without a request, see
    /// [`Self::unasked`].
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn ask<'v>(&'v self, setup: &'v Setup<'a>) -> Option<(Ask<'v>, Origin)> {
        let (text, hops, limits) = match &self.step {
            Step::Robots { url, hops, .. } => (url.as_str(), hops.as_ref(), LIMITS),
            Step::Page { .. } => (
                self.url(),
                self.redirect.as_ref().map(|redirect| &redirect.hops),
                Limits {
                    body_bytes: setup.config.body_bytes,
                    ..Limits::DEFAULT
                },
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
        let ask = Ask {
            request,
            hops,
            listed: matches!(origin, Origin::Listed(_)),
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
                judges.add_pages_of(self.record.host, setup, known, now);
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
            Step::Robots { .. } => Reading::Robots(Reader::new(setup.agent.token(), judges)),
            _ => Reading::Page(Fingerprinter::new(&setup.config.key, &setup.ignores)),
        }
    }

    /// How a visit ends that asks for nothing.
    pub(super) fn unasked(&self, known: &mut Knowledge<'_>, at: Moment) -> Conclusion {
        match self.step {
            Step::Denied => {
                known.redirects.forget(self.page);
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
        // Whatever a robots.txt says, the way to it is looked for from the start next time, but for
        // one more step.
        if let Step::Robots { subject, .. } = &self.step
            && matches!(reply, Reply::Answered(..) | Reply::Failed(_))
        {
            known.redirects.remove(*subject);
        }
        let mut conclusion = Conclusion::new(Outcome::Postponed);
        let said = &mut conclusion;
        match reply {
            Reply::Stale => return Next::AskAgain,
            Reply::Refused(Refusal::WaitAt(host)) => return Next::WaitAt(host),
            Reply::Refused(Refusal::Closed) => {}
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
        if why != Failure::Busy {
            known.redirects.forget(self.page);
        }
        conclusion.outcome = match why {
            Failure::Url => Outcome::Gone,
            Failure::PrivateAddress | Failure::NoIpv6 => Outcome::Redirected,
            _ if !at.online => Outcome::Postponed,
            _ => Outcome::Failed,
        };
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
    fn follow(
        &self,
        subject: Subject,
        mut hops: Hops,
        answer: &Answer,
        setup: &Setup<'_>,
        known: &mut Knowledge<'_>,
        conclusion: &mut Conclusion,
    ) -> Result<(), DeadEnd> {
        let page = self.page;
        let status = answer.head.status;
        let target = answer.target.as_ref();
        let parsed = target.and_then(|text| Some((text, Url::parse(text).ok()?)));
        let followed =
            parsed.map(|(text, url)| (text, hops.follow(status, &url, setup.reaches_https)));
        let why = match followed {
            Some((text, Ok(()))) => {
                let redirect = Redirect::new(subject, hops, true, text.clone());
                if known.redirects.put(&redirect) {
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
