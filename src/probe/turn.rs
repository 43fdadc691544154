//! One turn of a page: what has to be asked for, the request, and what the answer means.

use core::net::IpAddr;
use core::pin::pin;

use super::memory::{Detour, LONGEST_TARGET, Verdict};
use super::{Board, Event, Failure, Probe, Slot};
use crate::fetch::robots::{self, Access, Judge, Reader};
use crate::fetch::{
    self, Body, Connect, Connection, Endpoint, FetchError, Fetched, Fingerprinter, Head, Hops, Host, Limits,
    Request, Resolve, Scheme, Url, within,
};
use crate::heap::Id;
use crate::image::Page;
use crate::polite;
use crate::scheduler::{HostId, Outcome, Storage};
use crate::time::{Duration, Instant};

/// Pages held against a robots.txt while it streams by. A host with more of them is asked for it again, so that
/// no rule has to be kept and no file is too large.
const JUDGES: usize = 32;

/// What the answer said, out of the buffers.
struct Reply {
    outcome: fetch::Outcome,
    head: Head,
    bytes: u32,
    wait: Option<Duration>,
    lifetime: Option<Duration>,
    age: Option<Duration>,
    target: Option<heapless::String<LONGEST_TARGET>>,
}

impl Reply {
    fn new(fetched: &Fetched<'_>) -> Self {
        let target = fetched.target.as_ref().and_then(|target| target.as_ref().ok()).and_then(spell);
        Self {
            outcome: fetched.outcome,
            head: fetched.head,
            bytes: fetched.bytes,
            wait: fetched.wait(None),
            lifetime: fetched.lifetime(None),
            age: fetched.age(None),
            target,
        }
    }
}

/// A URL as text of its own; `None` if it is too long.
fn spell(url: &Url<'_>) -> Option<heapless::String<LONGEST_TARGET>> {
    let mut text = heapless::String::new();
    core::fmt::write(&mut text, format_args!("{}", url)).ok()?;
    Some(text)
}

impl<'a, S: Storage, B: Board> Probe<'a, S, B> {
    /// One request for a page, or for what has to come before it.
    ///
    /// *Cancellation*: the connection is dropped where it is; nothing is recorded.
    pub(super) async fn turn<C: Connect, R: Resolve>(
        &self,
        page: usize,
        slot: &mut Slot<'_, C, R>,
    ) -> Outcome {
        let Ok(record) = self.image.page(page) else { return Outcome::Gone };
        self.board.log(&Event::Start { page: page as u16 });
        let detour = self.state.borrow().detours.iter().find(|detour| detour.page == page).cloned();
        let text = detour.as_ref().map_or(record.url, |detour| detour.url.as_str());
        let Ok(url) = Url::parse(text) else { return self.failed(page, Failure::Url, self.board.now()) };
        let start = self.board.now();
        match self.verdict(page, &record, detour.as_ref(), &url) {
            Verdict::Denied => {
                self.state.borrow_mut().totals.denied += 1;
                self.board.log(&Event::Denied { page: page as u16 });
                self.forget_detour(page);
                Outcome::Denied
            }
            Verdict::Unknown => self.ask_robots(page, &record, detour.as_ref(), &url, slot, start).await,
            Verdict::Allowed => self.ask_page(page, &record, detour.as_ref(), &url, slot, start).await,
        }
    }

    fn verdict(&self, page: usize, record: &Page<'a>, detour: Option<&Detour>, url: &Url<'_>) -> Verdict {
        let (state, now) = (self.state.borrow(), self.board.now());
        let Some(host) = state.memory.hosts.get(usize::from(record.host)) else { return Verdict::Unknown };
        let own = state.memory.pages.get(page).map_or(Verdict::Unknown, |page| page.verdict);
        match detour {
            None => host.verdict(own, now),
            Some(detour) if self.is_own(record, url) => host.verdict(detour.verdict, now),
            Some(detour) => detour.verdict,
        }
    }

    /// Is this URL on the page's own host?
    fn is_own(&self, record: &Page<'a>, url: &Url<'_>) -> bool {
        Url::parse(record.url).is_ok_and(|own| own.same_origin(url))
    }

    /// Fetches the robots.txt that governs `url` and judges the host's pages by it. The page's own turn comes next.
    async fn ask_robots<C: Connect, R: Resolve>(
        &self,
        page: usize,
        record: &Page<'a>,
        detour: Option<&Detour>,
        url: &Url<'_>,
        slot: &mut Slot<'_, C, R>,
        start: Instant,
    ) -> Outcome {
        let mut text = [0; LONGEST_TARGET];
        let Ok(robots) = url.join(b"/robots.txt", &mut text) else {
            return self.failed(page, Failure::Url, start);
        };
        let own_pages = self.to_judge(page, record, detour.is_none());
        let mut judges: heapless::Vec<(usize, Judge<'_>), JUDGES> = heapless::Vec::new();
        if detour.is_some() {
            let _ = judges.push((page, Judge::new(*url)));
        }
        for &index in &own_pages {
            let parsed = self.image.page(index).ok().and_then(|page| Url::parse(page.url).ok());
            if let Some(url) = parsed {
                let _ = judges.push((index, Judge::new(url)));
            }
        }
        let mut reader = Reader::new(self.agent.token(), Judges(&mut judges));
        let request = Request::get(robots, self.agent);
        let hops = detour.map(|detour| &detour.hops);
        let reply = self.request(record, request, hops, robots::LIMITS, slot, &mut reader, start).await;
        let (_, crawl_delay) = reader.finish();
        let now = self.board.now();
        let reply = match reply {
            Ok(reply) => reply,
            Err(why) => return self.failed(page, why, start),
        };
        let access = Access::from_status(Some(reply.head.status));
        let allowed = |judge: &Judge<'_>| access == Access::AllowAll || judge.decision().allowed;
        let denied = judges.iter().filter(|(_, judge)| !allowed(judge)).count();
        if access == Access::DenyAll {
            return self.busy(page, reply.wait.unwrap_or(robots::HostRobots::RETRY), start);
        }
        self.board.log(&Event::Robots {
            host: record.host,
            status: reply.head.status,
            judged: judges.len() as u16,
            denied: denied as u16,
        });
        let mut state = self.state.borrow_mut();
        if detour.is_some() && !own_pages.is_empty() || detour.is_none() {
            let known = state.memory.hosts.get(usize::from(record.host));
            let fresh = known.is_some_and(|host| host.robots.access(now) == Access::Unknown);
            if let Some(host) = state.memory.hosts.get_mut(usize::from(record.host)) {
                host.robots.record(access, reply.lifetime, now);
            }
            if fresh {
                self.forget_verdicts(state.memory.pages, record);
            }
            if let (Some(id), Ok(host)) =
                (S::Id::from_index(record.host.into()), self.image.host(record.host.into()))
            {
                let politeness = Duration::from_millis(host.gap_ms.into());
                let gap = polite::gap(politeness, crawl_delay);
                let _ = state.memory.scheduler.set_gap(HostId(id), gap);
                self.board.log(&Event::Gap { host: record.host, millis: millis(gap) });
            }
        }
        for (index, judge) in &judges {
            let verdict = if allowed(judge) { Verdict::Allowed } else { Verdict::Denied };
            if detour.is_some() {
                if let Some(detour) = state.detours.iter_mut().find(|detour| detour.page == *index) {
                    detour.verdict = verdict;
                }
            } else if let Some(page) = state.memory.pages.get_mut(*index) {
                page.verdict = verdict;
            }
        }
        Outcome::Postponed
    }

    /// This page, and others of its host that have not been judged.
    fn to_judge(&self, page: usize, record: &Page<'a>, own: bool) -> heapless::Vec<usize, JUDGES> {
        let mut pages = heapless::Vec::new();
        let Some(host) = self.image.host(record.host.into()).ok().filter(|_| own) else { return pages };
        let state = self.state.borrow();
        let now = self.board.now();
        let known = state.memory.hosts.get(usize::from(record.host));
        let all = known.is_none_or(|host| host.robots.access(now) == Access::Unknown);
        let first = usize::from(host.first_page);
        let unjudged = |index: &usize| {
            let page = state.memory.pages.get(*index);
            all || page.is_some_and(|page| page.verdict == Verdict::Unknown)
        };
        let others = (first..first + usize::from(host.pages)).filter(|index| *index != page);
        for index in [page].into_iter().chain(others.filter(unjudged)) {
            if pages.push(index).is_err() {
                break;
            }
        }
        pages
    }

    fn forget_verdicts(&self, pages: &mut [super::PageMemory], record: &Page<'a>) {
        let Ok(host) = self.image.host(record.host.into()) else { return };
        let first = usize::from(host.first_page);
        let pages = pages.get_mut(first..first + usize::from(host.pages)).unwrap_or_default();
        pages.iter_mut().for_each(|page| page.verdict = Verdict::Unknown);
    }

    /// Fetches the page itself, or the next step of its redirects.
    async fn ask_page<C: Connect, R: Resolve>(
        &self,
        page: usize,
        record: &Page<'a>,
        detour: Option<&Detour>,
        url: &Url<'_>,
        slot: &mut Slot<'_, C, R>,
        start: Instant,
    ) -> Outcome {
        let Some(memory) = self.state.borrow().memory.pages.get(page).copied() else { return Outcome::Gone };
        let request = Request {
            etag: memory.etag.as_ref(),
            last_modified: memory.last_modified(),
            ..Request::get(*url, self.agent)
        };
        let mut hasher = Fingerprinter::new(&self.config.key, &[]);
        let hops = detour.map(|detour| &detour.hops);
        let limits = Limits { body_bytes: self.config.body_bytes, ..Limits::DEFAULT };
        let reply = self.request(record, request, hops, limits, slot, &mut hasher, start).await;
        match reply {
            Ok(reply) => self.conclude(page, detour, url, &reply, hasher.finish().short(), start),
            Err(why) => self.failed(page, why, start),
        }
    }

    /// What an answer means for the page.
    fn conclude(
        &self,
        page: usize,
        detour: Option<&Detour>,
        url: &Url<'_>,
        reply: &Reply,
        fingerprint: u64,
        start: Instant,
    ) -> Outcome {
        let now = self.board.now();
        let status = reply.head.status;
        let mut changed = false;
        let outcome = match reply.outcome {
            fetch::Outcome::Page => {
                let mut state = self.state.borrow_mut();
                if let Some(memory) = state.memory.pages.get_mut(page) {
                    // A page without a fingerprint counts as changed at its first fetch.
                    changed = memory.update(fingerprint | 1, reply.head.etag, reply.head.last_modified);
                    self.board.keep(page, memory);
                }
                if changed { Outcome::Changed { modified_ago: reply.age } } else { Outcome::Unchanged }
            }
            fetch::Outcome::NotModified => Outcome::Unchanged,
            fetch::Outcome::Redirect => {
                self.count(reply, false, now);
                return self.redirected(page, detour, url, reply);
            }
            fetch::Outcome::Gone | fetch::Outcome::Refused => Outcome::Gone,
            fetch::Outcome::Busy => {
                let wait = reply.wait.unwrap_or(Duration::ZERO);
                return if wait.is_zero() {
                    self.failed(page, Failure::Busy, start)
                } else {
                    self.busy(page, wait, start)
                };
            }
            fetch::Outcome::Broken => return self.failed(page, Failure::Server, start),
            fetch::Outcome::Nonsense => return self.failed(page, Failure::Response, start),
        };
        self.count(reply, changed, now);
        self.board.log(&Event::End {
            page: page as u16,
            status,
            bytes: reply.bytes,
            millis: millis(now - start),
            changed,
        });
        // A page that has moved for good is asked for at its new place from now on.
        if detour.is_some_and(|detour| !detour.hops.is_permanent()) {
            self.forget_detour(page);
        }
        outcome
    }

    fn count(&self, reply: &Reply, changed: bool, now: Instant) {
        let mut state = self.state.borrow_mut();
        let totals = &mut state.totals;
        totals.fetches += 1;
        totals.bytes += u64::from(reply.bytes);
        totals.changed += u32::from(changed);
        totals.not_modified += u32::from(reply.outcome == fetch::Outcome::NotModified);
        if let Some(date) = reply.head.date.filter(|_| self.has_hours) {
            let offset = Duration::from_secs(60 * u64::from(self.config.utc_offset_minutes.unsigned_abs()));
            let universal = Duration::from_secs(date.as_unix()) + Duration::DAY;
            let local =
                if self.config.utc_offset_minutes < 0 { universal - offset } else { universal + offset };
            state
                .memory
                .scheduler
                .set_clock(Duration::from_secs(local.as_secs() % Duration::DAY.as_secs()), now);
        }
    }

    /// Remembers where the page's next turn goes, or why it goes nowhere.
    fn redirected(&self, page: usize, detour: Option<&Detour>, url: &Url<'_>, reply: &Reply) -> Outcome {
        let status = reply.head.status;
        let mut hops = detour.map_or_else(|| Hops::from(url), |detour| detour.hops.clone());
        let target = reply.target.as_ref().and_then(|text| Some((text, Url::parse(text).ok()?)));
        let speaks_https = self.config.gateway.is_some() || self.board.speaks_https();
        let followed = target.map(|(text, target)| (text, hops.follow(status, &target, speaks_https)));
        let event = match followed {
            Some((_, Ok(()))) => Event::Moved { page: page as u16, status },
            Some((_, Err(why))) => Event::Astray { page: page as u16, status, why: Some(why) },
            // Too long to keep, or no URL.
            None => Event::Astray { page: page as u16, status, why: None },
        };
        self.board.log(&event);
        self.forget_detour(page);
        let Some((text, Ok(()))) = followed else { return Outcome::Redirected };
        let mut state = self.state.borrow_mut();
        if state.detours.is_full() {
            state.detours.remove(0);
        }
        let detour = Detour { page, url: text.clone(), hops, verdict: Verdict::Unknown };
        // There is room now.
        let _ = state.detours.push(detour);
        Outcome::Postponed
    }

    fn forget_detour(&self, page: usize) {
        self.state.borrow_mut().detours.retain(|detour| detour.page != page);
    }

    /// Logs and counts a failure. What fails while the network is away is not the host's fault.
    fn failed(&self, page: usize, why: Failure, start: Instant) -> Outcome {
        let online = self.state.borrow().online;
        self.state.borrow_mut().totals.errors += 1;
        let millis = millis(self.board.now() - start);
        self.board.log(&Event::Failed { page: page as u16, millis, why });
        self.forget_detour(page);
        match why {
            Failure::Url => Outcome::Gone,
            Failure::PrivateAddress => Outcome::Redirected,
            _ if !online => Outcome::Postponed,
            _ => Outcome::Failed,
        }
    }

    fn busy(&self, page: usize, wait: Duration, start: Instant) -> Outcome {
        self.failed(page, Failure::Busy, start);
        Outcome::Refused { retry_after: Some(wait) }
    }

    /// A request under the deadline, from the name to the last byte.
    ///
    /// *Cancellation*: the connection is dropped where it is.
    #[allow(clippy::too_many_arguments)] // Each is another thing, and there is no other caller.
    async fn request<C: Connect, R: Resolve>(
        &self,
        record: &Page<'a>,
        request: Request<'_>,
        hops: Option<&Hops>,
        limits: Limits,
        slot: &mut Slot<'_, C, R>,
        body: &mut dyn Body,
        start: Instant,
    ) -> Result<Reply, Failure> {
        let deadline =
            pin!(self.board.sleep_until(start + Duration::from_millis(self.config.deadline_ms.into())));
        let work = pin!(self.exchange(record, request, hops, limits, slot, body));
        within(deadline, work).await.unwrap_or(Err(Failure::Deadline))
    }

    /// The same without a deadline. *Cancellation*: as above.
    async fn exchange<C: Connect, R: Resolve>(
        &self,
        record: &Page<'a>,
        mut request: Request<'_>,
        hops: Option<&Hops>,
        limits: Limits,
        slot: &mut Slot<'_, C, R>,
        body: &mut dyn Body,
    ) -> Result<Reply, Failure> {
        let url = request.url;
        request.via_gateway = url.scheme() == Scheme::Https && !slot.connect.speaks_https();
        let (host, port) = match self.config.gateway.filter(|_| request.via_gateway) {
            Some(gateway) => (gateway.host, gateway.port),
            None if request.via_gateway => return Err(Failure::Url),
            None => (url.host_text(), url.port()),
        };
        let scheme = if request.via_gateway { Scheme::Http } else { url.scheme() };
        let address = self.address(record, host, &url, request.via_gateway, &mut slot.resolve).await?;
        let named = request.via_gateway || self.is_named(&url);
        if hops.is_some_and(|hops| hops.may_connect(address, named).is_err()) {
            return Err(Failure::PrivateAddress);
        }
        let endpoint = Endpoint { scheme, host, address, port };
        let mut connection = slot.connect.connect(endpoint).await.map_err(|_| Failure::Connection)?;
        let fetched = fetch::exchange(&mut connection, &request, limits, slot.buffer, body).await;
        let reply = match fetched {
            Ok(fetched) => Ok(Reply::new(&fetched)),
            Err(FetchError::Connection(_) | FetchError::Response(_) | FetchError::NoBuffer) => {
                Err(Failure::Response)
            }
            Err(FetchError::Deadline) => Err(Failure::Deadline),
        };
        connection.finish().await;
        reply
    }

    /// Where to connect to: the owner's word, the cache, the network's word.
    async fn address<R: Resolve>(
        &self,
        record: &Page<'a>,
        host: &str,
        url: &Url<'_>,
        gateway: bool,
        resolve: &mut R,
    ) -> Result<IpAddr, Failure> {
        if let Some(address) = self.image.named(host) {
            return Ok(address.into());
        }
        if let Ok(address) = host.parse() {
            return Ok(address);
        }
        if let (Host::Address(address), false) = (url.host(), gateway) {
            return Ok(address);
        }
        // Only the hosts of the list have a place in the cache.
        let place = Some(usize::from(record.host)).filter(|_| gateway || self.is_own(record, url));
        let known = |now| place.and_then(|place| self.state.borrow().memory.hosts.get(place)?.address(now));
        if let Some(known) = known(self.board.now()) {
            return known.ok_or(Failure::Name);
        }
        let found = resolve.resolve(host).await.ok().and_then(|found| found.first().copied());
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        // While the network is away, no name is to blame.
        if let Some(host) = place.and_then(|place| state.memory.hosts.get_mut(place)) {
            host.set_address(found, now);
        }
        found.ok_or(Failure::Name)
    }

    /// Has the owner named this host, as a page's or in the resolve table?
    fn is_named(&self, url: &Url<'_>) -> bool {
        let listed = |index| {
            let first = self.image.host(index).and_then(|host| self.image.page(host.first_page.into()));
            first.is_ok_and(|page| Url::parse(page.url).is_ok_and(|page| page.same_origin(url)))
        };
        let in_table = matches!(url.host(), Host::Name(name) if self.image.named(name).is_some());
        in_table || (0..self.image.hosts()).any(listed)
    }
}

/// Judges of a host's pages, as one.
struct Judges<'v, 'u>(&'v mut heapless::Vec<(usize, Judge<'u>), JUDGES>);

impl robots::RuleSink for Judges<'_, '_> {
    fn restart(&mut self) {
        self.0.iter_mut().for_each(|(_, judge)| judge.restart());
    }

    fn rule(&mut self, rule: &robots::Rule<'_>) {
        self.0.iter_mut().for_each(|(_, judge)| judge.rule(rule));
    }
}

fn millis(duration: Duration) -> u32 {
    duration.as_millis().min(u32::MAX.into()) as u32
}
