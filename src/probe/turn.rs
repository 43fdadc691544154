//! One turn of a page: the shell around a [`Visit`]. It takes the visit's request through the gate
//! and to the network, under a deadline, and tells the visit what became of it.

use core::pin::pin;

use super::connection::{NEAR, SlotConnection, Unanswered};
use super::names::Names;
use super::origin::{Passage, Refusal};
use super::visit::{Conclusion, Moment, Next, Reply, Visit};
use super::{Board, Event, Failure, Probe, State};
use crate::fetch::{Connect, Resolve, within};
use crate::heap::Id;
use crate::scheduler::{HostId, Outcome, PageId, Storage};
use crate::time::{Duration, Instant};

/// How long a slot rests after it found the gate of an unlisted origin closed.
const CLOSED_WAIT: Duration = Duration::from_millis(100);

/// A page whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn<I> {
    pub page: PageId<I>,
    /// The host at whose gate it has waited: its own, as a rule.
    pub host: u16,
    /// Since when a slot is at it.
    pub start: Instant,
}

impl<S: Storage, B: Board> Probe<'_, S, B> {
    /// One request for a page, or for what has to come before it.
    ///
    /// *Cancellation*: the connection is dropped where it is; nothing is recorded.
    pub(super) async fn turn<C: Connect, R: Resolve>(
        &self,
        turn: Turn<S::Id>,
        connection: &mut SlotConnection<'_, C>,
        resolve: &mut R,
        buffer: &mut [u8],
    ) -> Next {
        let page = turn.page.0.index() as u16;
        let deadline = turn.start + self.setup.deadline();
        let now = self.board.now();
        let visit = Visit::begin(&self.setup, &mut self.state().known, page, turn.start, now);
        let Some((mut ask, origin)) = visit.ask(&self.setup) else {
            let state = &mut *self.state();
            let at = state.moment(now);
            return Next::Conclude(visit.unasked(&mut state.known, at));
        };
        let passage = Passage {
            page,
            host: visit.host(),
            waited_at: turn.host,
            now,
            deadline,
        };
        let passed = self
            .state()
            .known
            .origins
            .pass(origin, &passage, &self.setup);
        if passed == Err(Refusal::Closed) {
            self.board.sleep_until(now + CLOSED_WAIT).await;
        }
        let mut answer = None;
        let reply = match passed {
            Err(refusal) => Reply::Refused(refusal),
            Ok(()) => {
                ask.request.keep_alive = self.state().is_next_near(&turn, &visit, now);
                let mut reading = visit.reading(&self.setup, &self.state().known, now);
                let answered = {
                    let mut names = Names {
                        probe: self,
                        origin,
                        resolve,
                    };
                    let request = pin!(connection.request(
                        &mut ask,
                        turn.host,
                        now,
                        &mut names,
                        buffer,
                        &mut reading
                    ));
                    let deadline = pin!(self.board.sleep_until(deadline));
                    within(deadline, request).await
                };
                let answered = answered.unwrap_or(Err(Unanswered::Failed(Failure::Deadline)));
                let now = self.board.now();
                let wait = answered.as_ref().ok().and_then(|answer| answer.wait);
                self.state().known.origins.leave(origin, wait, now);
                match answered {
                    Ok(answered) => {
                        connection.keep(now);
                        Reply::Answered(answer.insert(answered), reading)
                    }
                    Err(Unanswered::Stale) => Reply::Stale,
                    Err(Unanswered::Failed(why)) => Reply::Failed(why),
                }
            }
        };
        let state = &mut *self.state();
        let at = state.moment(self.board.now());
        visit.told(reply, &self.setup, &mut state.known, at)
    }

    /// Logs, counts and records how a turn ended.
    pub(super) fn conclude(&self, turn: &Turn<S::Id>, conclusion: &Conclusion) {
        conclusion
            .events
            .iter()
            .for_each(|event| self.board.log(event));
        let now = self.board.now();
        let back_off = {
            let state = &mut *self.state();
            if let Some(counted) = conclusion.counted {
                if let Some(date) = counted.date {
                    state.clock.hear(turn.host, date.as_unix(), now);
                }
                state.tell_time_of_day(&self.setup, now);
            }
            state.record(turn, conclusion, now)
        };
        if let (Some(wait), Some(why)) = (back_off, conclusion.failure) {
            self.board.log(&Event::BackOff {
                host: turn.host,
                seconds: wait.as_secs().min(u32::MAX.into()) as u32,
                why,
            });
        }
    }
}

impl<S: Storage> State<'_, S> {
    fn moment(&self, now: Instant) -> Moment {
        Moment {
            now,
            online: self.online,
        }
    }

    /// Will the same host be asked again soon? What is asked for before a page is followed by the
    /// page.
    fn is_next_near(&self, turn: &Turn<S::Id>, visit: &Visit<'_>, now: Instant) -> bool {
        let Some(host) = S::Id::from_index(turn.host.into()).map(HostId) else {
            return false;
        };
        let due = || self.scheduler.first_due(host);
        self.scheduler.gap(host).is_some_and(|gap| gap < NEAR)
            && (visit.page_follows() || due().is_some_and(|due| due < now + NEAR))
    }

    /// Counts a conclusion, tells the scheduler of it, and marks what has to be stored. How long
    /// the host is left alone if it failed.
    fn record(
        &mut self,
        turn: &Turn<S::Id>,
        conclusion: &Conclusion,
        now: Instant,
    ) -> Option<Duration> {
        let outcome = conclusion.outcome;
        self.totals.count(conclusion);
        if let Some((host, gap)) = conclusion.gap
            && let Some(host) = S::Id::from_index(host.into())
        {
            // The host is there: the image has it.
            let _ = self.scheduler.set_gap(HostId(host), gap);
        }
        let before = self.failures(turn.host);
        // It was in flight: nobody else records it.
        let _ = self.scheduler.record(turn.page, outcome, now);
        self.slots.wake_all();
        if let Some(page) = self.known.pages.get_mut(turn.page.0.index()) {
            page.unsaved |= outcome.is_answer();
        }
        let failed = matches!(outcome, Outcome::Refused { .. } | Outcome::Failed);
        let changed = failed || self.failures(turn.host) != before;
        if let Some(host) = self.known.origins.hosts.get_mut(usize::from(turn.host)) {
            host.unsaved |= changed;
        }
        let host = S::Id::from_index(turn.host.into()).filter(|_| failed)?;
        Some(self.scheduler.opens(HostId(host))? - now)
    }

    /// Failures in a row of a host.
    fn failures(&self, host: u16) -> u8 {
        let host = S::Id::from_index(host.into()).map(HostId);
        host.and_then(|host| self.scheduler.host_memo(host).ok())
            .map_or(0, |memo| memo.failures)
    }
}
