//! One turn of a page: what has to be asked for, and the request.

use core::pin::pin;

use super::elsewhere::{Detour, LONGEST_TARGET, What};
use super::line::{NEAR, Peer, Trouble, Wires};
use super::memory::Verdict;
use super::party::Party;
use super::{Board, Event, Failure, Probe};
use crate::catalog::Page;
use crate::fetch::robots::Access;
use crate::fetch::{
    self, Body, Connect, Endpoint, FetchError, Fetched, Head, Hops, Limits, RedirectError, Request,
    Resolve, Scheme, Url, within,
};
use crate::scheduler::Outcome;
use crate::time::{Duration, Instant};

/// How long a slot thinks after it found the gate of a redirect's host closed.
const CLOSED_WAIT: Duration = Duration::from_millis(100);

/// What the answer said, out of the buffers.
pub(super) struct Reply {
    pub outcome: fetch::Outcome,
    pub head: Head,
    pub bytes: u32,
    /// The body is longer than what was read of it.
    pub cut: bool,
    pub wait: Option<Duration>,
    pub lifetime: Option<Duration>,
    pub age: Option<Duration>,
    pub target: Option<heapless::String<LONGEST_TARGET>>,
    reusable: bool,
}

impl Reply {
    fn new(fetched: &Fetched<'_>) -> Self {
        let target = fetched
            .target
            .as_ref()
            .and_then(|target| target.as_ref().ok())
            .and_then(spell);
        Self {
            outcome: fetched.outcome,
            head: fetched.head,
            bytes: fetched.bytes,
            cut: fetched.truncated,
            wait: fetched.wait(None),
            lifetime: fetched.lifetime(None),
            age: fetched.age(None),
            target,
            reusable: fetched.reusable,
        }
    }
}

/// A URL as text of its own; `None` if it is too long.
fn spell(url: &Url<'_>) -> Option<heapless::String<LONGEST_TARGET>> {
    let mut text = heapless::String::new();
    core::fmt::write(&mut text, format_args!("{}", url)).ok()?;
    Some(text)
}

/// What a turn is about.
pub(super) struct Errand<'e, 'a> {
    pub page: usize,
    pub record: &'e Page<'a>,
    /// Where the page is, if not where the list says.
    pub detour: Option<&'e Detour>,
    /// Where that is.
    pub url: Url<'e>,
    /// The host at whose gate the page has waited.
    pub home: u16,
    /// Since when a slot is at it.
    pub start: Instant,
}

/// What is asked for.
pub(super) struct Question<'q> {
    pub request: Request<'q>,
    /// The redirects that have led there; `None` where the list says.
    pub hops: Option<&'q Hops>,
    /// How much of an answer is read.
    pub limits: Limits,
}

/// How a turn ended.
pub(super) enum Ended {
    /// With this.
    Done(Outcome),
    /// Not yet: it takes another line.
    Again,
    /// Nobody was asked: the page has to wait at the gate of this host.
    Elsewhere(u16),
}

/// Where a redirect did not lead.
pub(super) enum Lost {
    /// Anywhere: in a circle, too far, to what is no URL.
    Nowhere,
    /// Where we can go: https, or no room to remember it in.
    OutOfReach,
}

impl<'a, B: Board> Probe<'a, B> {
    /// One request for a page, or for what has to come before it.
    ///
    /// *Cancellation*: the connection is dropped where it is; nothing is recorded.
    pub(super) async fn turn<C: Connect, R: Resolve>(
        &self,
        page: usize,
        home: u16,
        start: Instant,
        wires: &mut Wires<'_, '_, C, R>,
    ) -> Ended {
        let Ok(record) = self.image.page(page) else {
            return Ended::Done(Outcome::Gone);
        };
        let detour = self.state.borrow().elsewhere.get(What::Page(page as u16));
        let text = detour
            .as_ref()
            .map_or(record.url, |detour| detour.url.as_str());
        let Ok(url) = Url::parse(text) else {
            return Ended::Done(self.failed(page, Failure::Url, start));
        };
        let errand = Errand {
            page,
            record: &record,
            detour: detour.as_ref(),
            url,
            home,
            start,
        };
        match self.verdict(&errand) {
            Verdict::Denied => {
                self.state.borrow_mut().totals.denied += 1;
                self.board.log(&Event::Denied { page: page as u16 });
                self.forget_move(page);
                Ended::Done(Outcome::Denied)
            }
            Verdict::Unknown => self.ask_robots(&errand, wires).await,
            Verdict::Allowed => self.ask_page(&errand, wires).await,
        }
    }

    fn verdict(&self, errand: &Errand<'_, 'a>) -> Verdict {
        let (party, now) = (self.party(errand.record, &errand.url), self.board.now());
        let mut state = self.state.borrow_mut();
        let access = state
            .host_memory(party)
            .map_or(Access::Unknown, |host| host.robots.access(now));
        match (access, errand.detour) {
            (Access::AllowAll, _) => Verdict::Allowed,
            (_, Some(detour)) => detour.verdict(now),
            (Access::Rules, None) => state
                .memory
                .pages
                .get(errand.page)
                .map_or(Verdict::Unknown, |page| page.verdict),
            (Access::DenyAll | Access::Unknown, None) => Verdict::Unknown,
        }
    }

    /// Remembers where the next turn for `what` goes, or says why it goes nowhere.
    pub(super) fn follow(
        &self,
        errand: &Errand<'_, 'a>,
        what: What,
        mut hops: Hops,
        reply: &Reply,
    ) -> Result<(), Lost> {
        let (page, status) = (errand.page as u16, reply.head.status);
        let target = reply
            .target
            .as_ref()
            .and_then(|text| Some((text, Url::parse(text).ok()?)));
        let speaks_https = self.config.gateway.is_some() || self.board.speaks_https();
        let why =
            match target.map(|(text, target)| (text, hops.follow(status, &target, speaks_https))) {
                Some((url, Ok(()))) => {
                    let (url, verdict, until) = (url.clone(), Verdict::Unknown, 0);
                    let detour = Detour {
                        what,
                        hops,
                        under_way: true,
                        verdict,
                        until,
                        url,
                    };
                    if self.state.borrow_mut().elsewhere.put(&detour) {
                        self.board.log(&Event::Moved { page, status });
                        return Ok(());
                    }
                    Some(RedirectError::NoRoom)
                }
                Some((_, Err(why))) => Some(why),
                // Too long to keep, or no URL.
                None => None,
            };
        self.board.log(&Event::Astray { page, status, why });
        Err(match why {
            Some(RedirectError::NeedsTls | RedirectError::NoRoom) => Lost::OutOfReach,
            _ => Lost::Nowhere,
        })
    }

    /// What trouble with a request means for the page.
    pub(super) fn trouble(&self, errand: &Errand<'_, 'a>, trouble: Trouble) -> Ended {
        match trouble {
            Trouble::Stale => Ended::Again,
            Trouble::Closed => Ended::Done(Outcome::Postponed),
            Trouble::Elsewhere(host) => Ended::Elsewhere(host),
            Trouble::Failed(why) => Ended::Done(self.failed(errand.page, why, errand.start)),
        }
    }

    /// Logs and counts a failure. What fails while the network is away is not the host's fault.
    pub(super) fn failed(&self, page: usize, why: Failure, start: Instant) -> Outcome {
        let online = {
            let mut state = self.state.borrow_mut();
            state.totals.errors += 1;
            state.why = Some(why);
            state.online
        };
        let millis = millis(self.board.now() - start);
        self.board.log(&Event::Failed {
            page: page as u16,
            millis,
            why,
        });
        if why != Failure::Busy {
            self.forget_move(page);
        }
        match why {
            Failure::Url => Outcome::Gone,
            Failure::PrivateAddress | Failure::NoIpv6 => Outcome::Redirected,
            _ if !online => Outcome::Postponed,
            _ => Outcome::Failed,
        }
    }

    pub(super) fn busy(&self, page: usize, wait: Duration, start: Instant) -> Outcome {
        self.failed(page, Failure::Busy, start);
        Outcome::Refused {
            retry_after: Some(wait),
        }
    }

    /// A request under the deadline, from the name to the last byte, once the gate of who is asked
    /// lets it pass.
    ///
    /// *Cancellation*: the connection is dropped where it is.
    pub(super) async fn request<C: Connect, R: Resolve>(
        &self,
        errand: &Errand<'_, 'a>,
        mut question: Question<'_>,
        wires: &mut Wires<'_, '_, C, R>,
        body: &mut dyn Body,
    ) -> Result<Reply, Trouble> {
        let request = &mut question.request;
        let party = self.party(errand.record, &request.url);
        let end = errand.start + Duration::from_millis(self.config.deadline_ms.into());
        if let Err(why) = self.pass(errand, party, end) {
            if matches!(why, Trouble::Closed) {
                self.board.sleep_until(self.board.now() + CLOSED_WAIT).await;
            }
            return Err(why);
        }
        request.keep_alive = self.is_next_near(errand, &request.url);
        request.via_gateway = request.url.scheme() == Scheme::Https && !self.board.speaks_https();
        let reply = {
            let deadline = pin!(self.board.sleep_until(end));
            let work = pin!(self.exchange(errand, party, &question, wires, body));
            within(deadline, work)
                .await
                .unwrap_or(Err(Trouble::Failed(Failure::Deadline)))
        };
        self.leave(party, reply.as_ref().ok().and_then(|reply| reply.wait));
        if reply.as_ref().is_ok_and(|reply| reply.reusable) {
            wires.line.keep(self.board.now() + NEAR);
        }
        reply
    }

    /// Will the same host be asked again soon? What is asked for before a page is followed by the
    /// page.
    fn is_next_near(&self, errand: &Errand<'_, 'a>, url: &Url<'_>) -> bool {
        let state = self.state.borrow();
        let scheduler = &state.memory.scheduler;
        let Some(host) = scheduler.host_id(errand.home.into()) else {
            return false;
        };
        let soon = self.board.now() + NEAR;
        let page_follows = *url != errand.url;
        let due = || scheduler.first_due(host).is_some_and(|due| due < soon);
        scheduler.gap(host).is_some_and(|gap| gap < NEAR) && (page_follows || due())
    }

    /// The same without a deadline. *Cancellation*: as above.
    async fn exchange<C: Connect, R: Resolve>(
        &self,
        errand: &Errand<'_, 'a>,
        party: Party,
        Question {
            request,
            hops,
            limits,
        }: &Question<'_>,
        wires: &mut Wires<'_, '_, C, R>,
        body: &mut dyn Body,
    ) -> Result<Reply, Trouble> {
        let url = request.url;
        let (host, port) = match self.config.gateway.filter(|_| request.via_gateway) {
            Some(gateway) => (gateway.host, gateway.port),
            None if request.via_gateway => return Err(Trouble::Failed(Failure::Url)),
            None => (url.host_text(), url.port()),
        };
        let scheme = if request.via_gateway {
            Scheme::Http
        } else {
            url.scheme()
        };
        let found = self.address(host, party, wires.resolve).await;
        let address = found.map_err(Trouble::Failed)?;
        let named = request.via_gateway || self.is_named(party, &url, wires.resolve);
        if hops.is_some_and(|hops| hops.may_connect(address, named).is_err()) {
            return Err(Trouble::Failed(Failure::PrivateAddress));
        }
        let to = Endpoint {
            scheme,
            host,
            address,
            port,
        };
        // All that a gateway fetches goes through one connection.
        let origin = if request.via_gateway { 0 } else { url.origin() };
        let peer = Peer {
            origin,
            scheme,
            address,
            port,
        };
        let reused = wires
            .line
            .open(to, peer, errand.home, self.board.now())
            .await?;
        let Some(connection) = wires.line.connection() else {
            return Err(Trouble::Stale);
        };
        match fetch::exchange(connection, request, *limits, wires.buffer, body).await {
            Ok(fetched) => Ok(Reply::new(&fetched)),
            Err(error) if reused && error.is_unanswered() => {
                wires.line.end().await;
                Err(Trouble::Stale)
            }
            Err(FetchError::Deadline) => Err(Trouble::Failed(Failure::Deadline)),
            Err(_) => Err(Trouble::Failed(Failure::Response)),
        }
    }
}

pub(super) fn millis(duration: Duration) -> u32 {
    duration.as_millis().min(u32::MAX.into()) as u32
}
