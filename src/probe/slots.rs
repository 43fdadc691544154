//! The slots: which of them fetches which page, and what they do until there is one.

use core::cell::RefCell;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Poll, Waker};

use super::line::{Line, Wires};
use super::turn::Ended;
use super::{Board, Event, MOST_SLOTS, Probe, Slot, State};
use crate::fetch::{Connect, Resolve};
use crate::scheduler::{Decision, Outcome, PageId};
use crate::time::{Duration, Instant};

/// A `WaitUntil` that is now would spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Nothing, or not yet.
    Away,
    /// Waits, without a connection.
    Free,
    /// Waits, with a connection to this host.
    Keeps(u16),
    /// Has been given this page, and will wake up to it.
    Given { page: PageId, since: Instant },
    /// Is at a page.
    Busy { since: Instant },
}

/// All slots.
#[derive(Debug)]
pub(super) struct Slots {
    doing: [Doing; MOST_SLOTS],
    /// Goes up when slots that wait should look again.
    generation: u32,
    waiting: heapless::Vec<Waker, MOST_SLOTS>,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self {
            doing: [Doing::Away; MOST_SLOTS],
            generation: 0,
            waiting: heapless::Vec::new(),
        }
    }

    pub(super) fn wake_all(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        while let Some(waker) = self.waiting.pop() {
            waker.wake();
        }
    }

    /// Has a slot been at the same page for longer than this?
    pub(super) fn hangs(&self, now: Instant, patience: Duration) -> bool {
        self.doing.iter().any(|doing| match doing {
            Doing::Given { since, .. } | Doing::Busy { since } => now - *since > patience,
            _ => false,
        })
    }

    /// Is none of them at a page?
    pub(super) fn are_idle(&self) -> bool {
        !self
            .doing
            .iter()
            .any(|doing| matches!(doing, Doing::Given { .. } | Doing::Busy { .. }))
    }

    fn set(&mut self, number: usize, doing: Doing) {
        if let Some(place) = self.doing.get_mut(number) {
            *place = doing;
        }
    }

    /// What was given to this slot.
    fn given(&mut self, number: usize) -> Option<PageId> {
        match self.doing.get(number)? {
            Doing::Given { page, .. } => Some(*page),
            _ => None,
        }
    }

    /// Which slot should fetch from this host, if `asking` asks for something to do and keeps a
    /// connection to `kept`: the one with a connection there, else one without any, else the one
    /// that asks.
    fn best(&self, asking: usize, kept: Option<u16>, host: u16) -> usize {
        if kept == Some(host) {
            return asking;
        }
        let keeps = self
            .doing
            .iter()
            .position(|doing| *doing == Doing::Keeps(host));
        let free = || {
            self.doing
                .iter()
                .position(|doing| *doing == Doing::Free)
                .filter(|_| kept.is_some())
        };
        keeps.or_else(free).unwrap_or(asking)
    }
}

impl State<'_> {
    fn home(&self, page: PageId) -> u16 {
        self.memory
            .scheduler
            .host_of(page)
            .map_or(0, |host| host.index() as u16)
    }

    /// Failures in a row of a host.
    fn failures(&self, host: u16) -> u8 {
        let host = self.memory.scheduler.host_id(host.into());
        host.and_then(|host| self.memory.scheduler.host_memo(host).ok())
            .map_or(0, |memo| memo.failures)
    }
}

/// Says that a slot waits, as long as it lives: a page must not be given to one that is no longer
/// there.
struct Waiting<'s, 'a> {
    state: &'s RefCell<State<'a>>,
    number: usize,
}

impl<'s, 'a> Waiting<'s, 'a> {
    fn new(state: &'s RefCell<State<'a>>, number: usize, kept: Option<u16>) -> Self {
        state
            .borrow_mut()
            .slots
            .set(number, kept.map_or(Doing::Free, Doing::Keeps));
        Self { state, number }
    }
}

impl Drop for Waiting<'_, '_> {
    fn drop(&mut self) {
        let slots = &mut self.state.borrow_mut().slots;
        if slots.given(self.number).is_none() {
            slots.set(self.number, Doing::Away);
        }
    }
}

impl<B: Board> Probe<'_, B> {
    /// Fetches whatever is due, one page at a time, for ever. `number` is the slot's own, below
    /// [`MOST_SLOTS`].
    ///
    /// *Cancellation*: dropping it leaves the page it is fetching in flight: its host is not asked
    /// again.
    pub async fn run_slot<C: Connect, R: Resolve>(
        &self,
        number: usize,
        slot: &mut Slot<'_, C, R>,
    ) -> ! {
        let Slot {
            connect,
            resolve,
            buffer,
        } = slot;
        // A page whose request has to be made on another line, and when its turn began.
        let mut again = None;
        loop {
            let mut line = Line::Free(&mut *connect);
            while !line.is_spent() {
                let taken = match again.take() {
                    Some(taken) => Some(taken),
                    None => self.next_turn(number, &mut line).await,
                };
                let Some((page, home, start)) = taken else {
                    break;
                };
                let wires = &mut Wires {
                    line: &mut line,
                    resolve: &mut *resolve,
                    buffer,
                };
                match self.turn(page.index(), home, start, wires).await {
                    Ended::Done(outcome) => self.record(number, page, home, outcome),
                    Ended::Again => again = Some((page, home, start)),
                    Ended::Elsewhere(host) => self.hand_over(number, page, host),
                }
                if line
                    .kept()
                    .is_some_and(|(_, until)| until <= self.board.now())
                {
                    line.end().await;
                }
            }
        }
    }

    /// Waits until there is a page for this slot; `None` if its connection ends before that.
    ///
    /// *Cancellation*: safe.
    async fn next_turn<C: Connect>(
        &self,
        number: usize,
        line: &mut Line<'_, C>,
    ) -> Option<(PageId, u16, Instant)> {
        while !line.is_spent() {
            match self.next(number, line.kept().map(|(host, _)| host)) {
                Decision::Fetch(page) => {
                    self.board.log(&Event::Start {
                        page: page.index() as u16,
                    });
                    return Some((page, self.home(page), self.board.now()));
                }
                Decision::WaitUntil(then) => self.wait(number, then, line).await,
                Decision::Idle => self.wait(number, Instant::MAX, line).await,
            }
        }
        None
    }

    /// What a slot that keeps a connection to `kept` should do now. What another slot should rather
    /// do is given to that one: at most once a slot.
    fn next(&self, number: usize, kept: Option<u16>) -> Decision {
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        if let Some(page) = state.slots.given(number) {
            state.slots.set(number, Doing::Busy { since: now });
            return Decision::Fetch(page);
        }
        loop {
            if !state.online || state.root.hold {
                return Decision::Idle;
            }
            let decision = state.memory.scheduler.next(now);
            state.due = match decision {
                Decision::WaitUntil(then) => Some(then),
                Decision::Fetch(_) | Decision::Idle => None,
            };
            let Decision::Fetch(page) = decision else {
                return decision;
            };
            let best = state.slots.best(number, kept, state.home(page));
            // One slot more is busy from now on: another one has to look after what comes next.
            state.slots.wake_all();
            if best == number {
                state.slots.set(number, Doing::Busy { since: now });
                return decision;
            }
            state.slots.set(best, Doing::Given { page, since: now });
        }
    }

    /// The host at whose gate a page waits: its own, as a rule.
    fn home(&self, page: PageId) -> u16 {
        self.state.borrow().home(page)
    }

    fn hand_over(&self, number: usize, page: PageId, to: u16) {
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        state.slots.set(number, Doing::Away);
        if let Some(host) = state.memory.scheduler.host_id(to.into()) {
            // It is in flight, and the image has only hosts that the scheduler has.
            let _ = state.memory.scheduler.hand_over(page, host, now);
        }
        state.slots.wake_all();
    }

    fn record(&self, number: usize, page: PageId, home: u16, outcome: Outcome) {
        let now = self.board.now();
        let mut state = self.state.borrow_mut();
        state.slots.set(number, Doing::Away);
        let before = state.failures(home);
        // It was in flight: nobody else records it.
        let _ = state.memory.scheduler.record(page, outcome, now);
        let failed = matches!(outcome, Outcome::Refused { .. } | Outcome::Failed);
        let moved = failed || state.failures(home) != before;
        if let Some(page) = state
            .memory
            .pages
            .get_mut(page.index())
            .filter(|_| outcome.is_answer())
        {
            page.unsaved = true;
        }
        if let Some(host) = state
            .memory
            .hosts
            .get_mut(usize::from(home))
            .filter(|_| moved)
        {
            host.unsaved = true;
        }
        let scheduler = &state.memory.scheduler;
        let opens = scheduler
            .host_id(home.into())
            .filter(|_| failed)
            .and_then(|host| scheduler.opens(host));
        let why = state.why.take();
        state.slots.wake_all();
        drop(state);
        if let (Some(opens), Some(why)) = (opens, why) {
            let seconds = (opens - now).as_secs().min(u32::MAX.into()) as u32;
            self.board.log(&Event::BackOff {
                host: home,
                seconds,
                why,
            });
        }
    }

    /// Waits until then, or until something has changed. A connection that is kept meanwhile is
    /// ended when its time is over or the server has closed it.
    ///
    /// *Cancellation*: safe.
    async fn wait<C: Connect>(&self, number: usize, then: Instant, line: &mut Line<'_, C>) {
        let kept = line.kept();
        let then = kept.map_or(then, |(_, until)| until.min(then));
        let broken = {
            let generation = self.state.borrow().slots.generation;
            let _waiting = Waiting::new(&self.state, number, kept.map(|(host, _)| host));
            let mut alarm = pin!(
                self.board
                    .sleep_until(then.max(self.board.now() + SHORTEST_WAIT))
            );
            let mut breaks = pin!(line.breaks());
            poll_fn(|context| {
                let mut state = self.state.borrow_mut();
                if state.slots.generation != generation {
                    return Poll::Ready(false);
                }
                let waiting = &mut state.slots.waiting;
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    // No room: more slots than there may be. This one waits for its alarm only.
                    let _ = waiting.push(context.waker().clone());
                }
                drop(state);
                if breaks.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                alarm.as_mut().poll(context).map(|()| false)
            })
            .await
        };
        if broken || kept.is_some_and(|(_, until)| until <= self.board.now()) {
            line.end().await;
        }
    }
}
