//! One turn of a page: the shell around a [`PageVisit`]. It takes the visit's request through the
//! gate and to the network, under a deadline, and tells the visit what became of it.

use core::pin::pin;

use super::body::{Criteria, ShownBody};
use super::connection::{NEAR, SlotConnection, Unanswered};
use super::copying::Copying;
use super::names::Names;
use super::origin::{GateRefusal, Origin, Passage};
use super::redirects::Subject;
use super::slots::{REST, Runner, SLOW_FOR};
use super::verdicts::Judges;
use super::visit::{Conclusion, Moment, Next, PageVisit, Reply};
use super::{Board, Event, Failure, PageMemory, State, tellers};
use crate::fetch::{Connect, Resolve, within};
use crate::scheduler::{Outcome, PageId};
use crate::time::{Duration, Instant};

/// A page that found a gate closed beside its own is not looked at again before this, even where
/// there is no gap.
const CLOSED_WAIT: Duration = Duration::from_millis(100);

/// A page whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub page: PageId,
    /// The host at whose gate it has waited: its own, as a rule.
    pub host: u16,
    /// When the slot began it.
    pub start: Instant,
}

impl<B: Board> Runner<'_, '_, B> {
    /// One request for a page, or for what has to come before it; true if it has to be made again
    /// on another connection. With it, the fingerprint of the version that it brought, if any.
    ///
    /// *Cancellation*: the connection is dropped where it is; nothing is recorded.
    pub(super) async fn turn<C: Connect, R: Resolve>(
        &self,
        turn: &Turn,
        connection: &mut SlotConnection<'_, C>,
        resolve: &mut R,
        buffer: &mut [u8],
        copy: &mut impl Copying,
    ) -> (bool, Option<u64>) {
        let probe = self.probe;
        let visit = self.begin(turn);
        let Some((mut ask, origin)) = visit.ask(&probe.setup) else {
            self.end_unasked(turn, &visit);
            return (false, None);
        };
        if self.is_outside_fleet(turn, &origin) {
            return (false, None);
        }
        // Before it passes: a gate that nobody leaves stays closed.
        let ear = match self.is_leased() {
            true => self.listen(turn, &visit),
            false => None,
        };
        let Some(ear) = ear else {
            self.put_back(turn, turn.host, true);
            return (false, None);
        };
        if let Err(refusal) = self.pass(turn, &visit, &origin) {
            return (self.end(turn, &visit, Reply::Refused(refusal)), None);
        }
        if self.needs_new_connection(turn) {
            connection.expire();
        }
        let page = turn.page.index() as u16;
        let criteria = Criteria::new(probe, &visit, page);
        let mut judges = criteria.judges();
        if visit.asks_for_page() && !probe.setup.is_teller(page) {
            copy.watch(page);
        }
        ask.request.keep_alive = self.prepare(turn, &visit, &mut judges);
        let mut body = ShownBody::new(probe, &visit, page, ear, &mut judges, &criteria);
        let answered = {
            let mut names = Names {
                probe,
                origin,
                resolve,
                kept_until: connection.kept().map(|(_, until)| until),
            };
            let request = pin!(connection.request(
                &mut ask,
                probe.board.now(),
                &mut names,
                buffer,
                &mut body,
                &mut *copy,
            ));
            let deadline = pin!(probe.board.sleep_until(self.deadline(turn)));
            let exchange = pin!(within(deadline, request));
            self.while_leased(exchange).await
        };
        let now = probe.board.now();
        let wait = match &answered {
            Some(Ok(answer)) => answer.wait,
            _ => None,
        };
        probe.state().known.origins.leave(&origin, wait, now);
        if answered.is_none() && !self.is_leased() {
            // Nobody failed: the lease has ended.
            self.put_back(turn, turn.host, true);
            return (false, None);
        }
        let (reply, version) = match &answered {
            Some(Ok(answer)) => {
                connection.keep(turn.host, now);
                let (finding, version) = body.finish(answer);
                (Reply::Answered(answer, finding), version)
            }
            Some(Err(Unanswered::Stale)) => (Reply::Stale, None),
            Some(Err(Unanswered::Lost)) => (Reply::Lost, None),
            Some(Err(Unanswered::Failed(why))) => (Reply::Failed(*why), None),
            None => (Reply::Failed(Failure::Deadline), None),
        };
        let again = self.end(turn, &visit, reply);
        if let Some(Ok(answer)) = &answered {
            criteria.judge(probe, &judges, &answer.head);
        }
        (again, version)
    }
}

// What surrounds the request: all that does not wait, so that it is no part of any future.
impl<'a, B: Board> Runner<'_, 'a, B> {
    /// When a request has to be over: at its deadline, or when the lease ends.
    fn deadline(&self, turn: &Turn) -> Instant {
        let deadline = turn.start + self.probe.setup.deadline();
        deadline.min(self.probe.state().lease.until())
    }

    /// May anybody be asked now?
    pub(super) fn is_leased(&self) -> bool {
        let now = self.probe.board.now();
        self.probe.state().lease.holds(now)
    }

    /// Must a request not be made on a connection that was kept? It may have to be made twice
    /// there, which a page with a limit may not be.
    fn needs_new_connection(&self, turn: &Turn) -> bool {
        self.probe.state().was_lost(turn) || self.probe.setup.is_limited(turn.page.index())
    }

    fn begin(&self, turn: &Turn) -> PageVisit<'a> {
        let page = turn.page.index() as u16;
        let now = self.probe.board.now();
        self.want_links(page);
        PageVisit::begin(
            &self.probe.setup,
            &mut self.probe.state().known,
            page,
            turn.start,
            now,
        )
    }

    /// May the request of a visit go to this origin now?
    fn pass(
        &self,
        turn: &Turn,
        visit: &PageVisit<'a>,
        origin: &Origin<'_>,
    ) -> Result<(), GateRefusal> {
        let passage = Passage {
            page: turn.page.index() as u16,
            host: visit.host(),
            waited_at: turn.host,
            gap: visit.gap(),
            now: self.probe.board.now(),
            deadline: turn.start + self.probe.setup.deadline(),
        };
        let origins = &mut self.probe.state().known.origins;
        origins.pass(origin, &passage, &self.probe.setup)
    }

    /// Chooses judges for a robots.txt, and says whether the connection should be kept.
    fn prepare<'v>(&self, turn: &Turn, visit: &'v PageVisit<'a>, judges: &mut Judges<'v>) -> bool {
        let now = self.probe.board.now();
        let state = self.probe.state();
        visit.choose_judges(judges, &self.probe.setup, &state.known, now);
        state.is_next_near(turn, visit, now)
    }

    fn end_unasked(&self, turn: &Turn, visit: &PageVisit<'a>) {
        let conclusion = {
            let state = &mut *self.probe.state();
            let at = state.moment(self.probe.board.now());
            visit.unasked(&mut state.known, at)
        };
        self.conclude(turn, visit.host(), &conclusion);
    }

    /// Tells the visit what became of its request; true if it has to be made again.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn end(&self, turn: &Turn, visit: &PageVisit<'a>, reply: Reply<'_, '_>) -> bool {
        let asks_for_patience = match &reply {
            Reply::Answered(answer, _) => answer.wait.is_some_and(|wait| !wait.is_zero()),
            _ => false,
        };
        let next = {
            let state = &mut *self.probe.state();
            let at = state.moment(self.probe.board.now());
            let mut next = visit.told(reply, &self.probe.setup, &mut state.known, at);
            if let Next::Conclude(conclusion) = &mut next
                && turn.host != visit.host()
            {
                state.spare_host(turn, conclusion, asks_for_patience);
            }
            next
        };
        match next {
            Next::AskAgain => return true,
            Next::Conclude(conclusion) => self.conclude(turn, visit.host(), &conclusion),
            Next::WaitAt(host) => self.put_back(turn, host, false),
            Next::NotNow => self.put_back(turn, visit.host(), true),
        }
        false
    }

    /// Lets a page wait at the gate of a host: nobody was asked, and no budget is spent. If it
    /// `waits` for somebody else, the gate stays closed for as long as after a request, and for
    /// [`CLOSED_WAIT`] at least.
    pub(super) fn put_back(&self, turn: &Turn, host: u16, waits: bool) {
        let now = self.probe.board.now();
        let state = &mut *self.probe.state();
        state.slots.leave(self.number, now);
        let gate = state.scheduler.host_id(host.into());
        let gap = gate.and_then(|host| state.scheduler.gap(host));
        let wait = gap.map(|gap| gap.max(CLOSED_WAIT));
        state.put_back(turn.page, host, wait.filter(|_| waits), now);
        state.slots.wake_all();
    }

    /// Logs, counts and records how a turn of a page of this host ended.
    #[inline(never)] // Once for both callers.
    fn conclude(&self, turn: &Turn, host: u16, conclusion: &Conclusion) {
        conclusion
            .events
            .iter()
            .for_each(|event| self.probe.board.log(event));
        let now = self.probe.board.now();
        let page = turn.page.index();
        let recovered = self.probe.state().note(page, conclusion.outcome);
        if recovered {
            self.probe
                .board
                .log(&Event::Recovered { page: page as u16 });
        }
        let back_off = {
            let state = &mut *self.probe.state();
            if let Some(counted) = conclusion.counted {
                if let Some((host, date)) = counted.date {
                    let setup = &self.probe.setup;
                    let is_it = |voice: &u16| setup.share_a_name(*voice, host);
                    let voice = state.clock.voices().find(is_it);
                    let voice = voice.unwrap_or(host);
                    state.clock.hear(voice, date.as_unix(), now);
                }
                state.tell_time_of_day(&self.probe.setup, now);
            }
            let slow = state.slots.leave(self.number, now);
            // Whose page it is, not whom it was led to: others lead pages where it takes long.
            if let Some(host) = state.known.origins.hosts.get_mut(usize::from(host)) {
                host.slow = if slow {
                    SLOW_FOR
                } else {
                    host.slow.saturating_sub(1)
                };
            }
            if slow
                && turn.host != host
                && let Some(led_to) = state.known.origins.hosts.get_mut(usize::from(turn.host))
            {
                led_to.rest(now, (now - turn.start) * REST);
            }
            let outcome = tellers::recorded(&self.probe.setup, page as u16, conclusion.outcome);
            let back_off = state.record(turn, conclusion, outcome, now);
            if turn.host != host {
                state.send_home(turn.page, host, now);
            }
            if let Some(counted) = conclusion.counted {
                let visited = &mut state.visited;
                visited.note(&state.scheduler, turn.page, counted.changed, now);
            }
            tellers::heed(
                &mut state.scheduler,
                &mut state.known,
                &self.probe.setup,
                turn,
                conclusion,
                now,
            );
            back_off
        };
        if let (Some(wait), Some(why)) = (back_off, conclusion.failure) {
            self.probe.board.log(&Event::BackOff {
                host: turn.host,
                seconds: wait.as_secs().min(u32::MAX.into()) as u32,
                why,
            });
        }
        self.look_further(page as u16, conclusion.outcome);
    }
}

impl State<'_> {
    /// A page that redirects have led to this host of the list says nothing of it by failing there:
    /// who leads pages astray could have it left alone for hours. The page is left alone instead,
    /// unless the host has asked for patience itself; and it has no gap shortened.
    fn spare_host(&self, turn: &Turn, conclusion: &mut Conclusion, asks_for_patience: bool) {
        if let Some((host, gap)) = &mut conclusion.gap
            && let Some(host) = self.scheduler.host_id((*host).into())
        {
            *gap = self
                .scheduler
                .gap(host)
                .map_or(*gap, |known| known.max(*gap));
        }
        let failed = matches!(
            conclusion.outcome,
            Outcome::Failed | Outcome::Refused { .. } | Outcome::Broken { .. }
        );
        if failed && !asks_for_patience {
            let page = self.known.pages.get(turn.page.index());
            // A page's first failure counts against the host that it met, later ones do not.
            let times = page.map_or(0, PageMemory::failures) + 2;
            conclusion.outcome = Outcome::Broken { times };
        }
    }

    fn moment(&self, now: Instant) -> Moment {
        Moment {
            now,
            online: self.online,
        }
    }

    /// Was a kept connection lost over this page?
    fn was_lost(&self, turn: &Turn) -> bool {
        let page = self.known.pages.get(turn.page.index());
        page.is_some_and(PageMemory::was_lost)
    }

    /// Did one of the last fetches at this host's gate take long?
    pub(super) fn is_slow(&self, host: u16) -> bool {
        let host = self.known.origins.hosts.get(usize::from(host));
        host.is_some_and(|host| host.slow > 0)
    }

    /// Lets a page that is in flight wait at the gate of a host, which stays closed for so long:
    /// nobody was asked, and no budget is spent.
    pub(super) fn put_back(
        &mut self,
        page: PageId,
        host: u16,
        wait: Option<Duration>,
        now: Instant,
    ) {
        if let Some(host) = self.scheduler.host_id(host.into()) {
            // It is in flight, and the image has only hosts that the scheduler has.
            let _ = self.scheduler.hand_over(page, host, now);
            if let Some(wait) = wait {
                let _ = self.scheduler.close_until(host, now + wait);
            }
        }
    }

    /// Will the same host be asked again soon? What is asked for before a page is followed by the
    /// page.
    fn is_next_near(&self, turn: &Turn, visit: &PageVisit<'_>, now: Instant) -> bool {
        let Some(host) = self.scheduler.host_id(turn.host.into()) else {
            return false;
        };
        let due = || self.scheduler.first_due(host);
        self.scheduler.gap(host).is_some_and(|gap| gap < NEAR)
            && (visit.page_follows() || due().is_some_and(|due| due < now + NEAR))
    }

    /// Counts a conclusion, tells the scheduler of it as of this outcome, and marks what has to be
    /// stored. How long the host is left alone if it failed.
    fn record(
        &mut self,
        turn: &Turn,
        conclusion: &Conclusion,
        recorded: Outcome,
        now: Instant,
    ) -> Option<Duration> {
        let outcome = conclusion.outcome;
        self.totals.count(conclusion);
        if let Some((host, gap)) = conclusion.gap
            && let Some(host) = self.scheduler.host_id(host.into())
        {
            // The host is there: the image has it.
            let _ = self.scheduler.set_gap(host, gap);
        }
        let before = self.failures(turn.host);
        // It was in flight: nobody else records it.
        let _ = self.scheduler.record(turn.page, recorded, now);
        self.slots.wake_all();
        let failed = matches!(outcome, Outcome::Refused { .. } | Outcome::Failed);
        let changed = failed || self.failures(turn.host) != before;
        if let Some(host) = self.known.origins.hosts.get_mut(usize::from(turn.host)) {
            host.unsaved |= changed;
        }
        let host = self.scheduler.host_id(turn.host.into())?;
        let wait = self.scheduler.opens(host)? - now;
        // A broken page closes its host's gate for no longer than any other (moments are rounded up
        // by milliseconds), unless there are several.
        let several = || {
            let gap = self.scheduler.gap(host);
            gap.is_some_and(|gap| wait > gap + Duration::from_millis(100))
        };
        let closed = failed || matches!(outcome, Outcome::Broken { .. }) && several();
        closed.then_some(wait)
    }

    /// A page of this host has been led to another one of the list. If it begins at its own host
    /// again, it waits there from now on, and has no part in the time of the other's gate meanwhile.
    fn send_home(&mut self, page: PageId, host: u16, now: Instant) {
        let subject = Subject::Page(page.index() as u16);
        if self.known.redirects.get(subject).is_none()
            && let Some(host) = self.scheduler.host_id(host.into())
        {
            // It has just been recorded, and the image has only hosts that the scheduler has.
            let _ = self.scheduler.hand_over(page, host, now);
        }
    }

    /// Remembers whether a turn brought a version of its page; true if it did and those before did
    /// not.
    fn note(&mut self, page: usize, outcome: Outcome) -> bool {
        let Some(page) = self.known.pages.get_mut(page) else {
            return false;
        };
        match outcome {
            Outcome::Postponed | Outcome::RulesFirst => false,
            outcome if outcome.is_answer() => {
                page.save_if(true);
                page.recover()
            }
            _ => {
                page.fail();
                false
            }
        }
    }

    /// Failures in a row of a host.
    fn failures(&self, host: u16) -> u8 {
        let host = self.scheduler.host_id(host.into());
        host.and_then(|host| self.scheduler.host_memo(host).ok())
            .map_or(0, |memo| memo.failures)
    }
}
