//! The slots: which of them fetches which page, and what they do until there is one.

use core::future::poll_fn;
use core::pin::pin;
use core::task::{Poll, Waker};

use super::connection::SlotConnection;
#[cfg(feature = "collect")]
use super::copying::Copying as _;
use super::copying::Copyist;
use super::turn::Turn;
use super::{Board, Event, MOST_SLOTS, Probe, Slot};
use crate::fetch::{Connect, Resolve};
use crate::scheduler::{Decision, PageId};
use crate::time::{Duration, Instant};

/// A fetch that takes longer is slow, and so is its host …
const SLOW: Duration = Duration::from_secs(5);
/// … until so many in a row have taken less: one that is slow at every other fetch takes nearly as
/// much time.
pub(super) const SLOW_FOR: u8 = 8;
/// An only slot is not for slow hosts for so many times as long as it was, nor the gate of a host
/// for pages that they lead there: the others keep five of six visits.
pub(super) const REST: u64 = 5;
/// How long a slow host waits before it is looked at again whether there is a slot for it.
const SLOW_WAIT: Duration = Duration::from_secs(1);
/// A `WaitUntil` that is now would spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It does nothing, or has not begun.
    Away,
    /// It waits, without a connection.
    Free,
    /// It waits, with a connection to this host.
    Keeps(u16),
    /// It has been given this page, and will wake up to it.
    Given {
        page: PageId,
        since: Instant,
        slow: bool,
    },
    /// It is at a page, of a slow host or not.
    Busy { since: Instant, slow: bool },
}

/// What each slot is doing, and who waits to be woken.
#[derive(Debug)]
pub(super) struct Slots {
    doing: [Doing; MOST_SLOTS],
    /// How many there are.
    count: usize,
    /// Until then the only slot is not for slow hosts.
    rests_until: Instant,
    /// Goes up when slots that wait should look again.
    generation: u32,
    waiting: heapless::Vec<Waker, MOST_SLOTS>,
}

impl Slots {
    /// Slots that have not begun.
    pub(super) fn new(count: usize) -> Self {
        Self {
            doing: [Doing::Away; MOST_SLOTS],
            count,
            rests_until: Instant::ZERO,
            generation: 0,
            waiting: heapless::Vec::new(),
        }
    }

    /// Lets all slots that wait look again.
    #[inline(never)] // Once for all callers.
    pub(super) fn wake_all(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        while let Some(waker) = self.waiting.pop() {
            waker.wake();
        }
    }

    /// Has a slot been at the same page for longer than this?
    pub(super) fn hangs(&self, now: Instant, patience: Duration) -> bool {
        self.doing.iter().any(|doing| match doing {
            Doing::Given { since, .. } | Doing::Busy { since, .. } => now - *since > patience,
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

    /// Registers the waker. False if [`Self::wake_all`] was called since `generation`: look again
    /// at once.
    fn waits(&mut self, generation: u32, waker: &Waker) -> bool {
        if self.generation != generation {
            return false;
        }
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            // No room: more slots than there may be. This one waits for its alarm only.
            let _ = self.waiting.push(waker.clone());
        }
        true
    }

    /// A slot is no longer at its page; says whether that was slow.
    pub(super) fn leave(&mut self, number: usize, now: Instant) -> bool {
        let since = match self.doing.get(number) {
            Some(Doing::Busy { since, .. }) => *since,
            _ => now,
        };
        self.set(number, Doing::Away);
        let slow = now - since >= SLOW;
        if slow {
            self.rests_until = now + (now - since) * REST;
        }
        slow
    }

    /// A slot has waited for so long for somebody else than the host it is at, which is not to
    /// blame for that.
    #[cfg(feature = "collect")]
    pub(super) fn excuse(&mut self, number: usize, waited: Duration) {
        if let Some(Doing::Busy { since, .. }) = self.doing.get_mut(number) {
            *since += waited;
        }
    }

    /// Is there a slot for a slow host? They have half of them together, and a sixth of the time of
    /// an only one; a fetch that has become slow under way counts, too.
    fn has_room_for_slow(&self, now: Instant) -> bool {
        let is_slow = |doing: &&Doing| match doing {
            Doing::Given { slow, .. } => *slow,
            Doing::Busy { since, slow } => *slow || now - *since >= SLOW,
            _ => false,
        };
        match self.count {
            ..2 => now >= self.rests_until,
            count => self.doing.iter().filter(is_slow).count() < count / 2,
        }
    }

    fn set(&mut self, number: usize, doing: Doing) {
        if let Some(place) = self.doing.get_mut(number) {
            *place = doing;
        }
    }

    /// What was given to this slot.
    fn given(&mut self, number: usize) -> Option<(PageId, bool)> {
        match self.doing.get(number)? {
            Doing::Given { page, slow, .. } => Some((*page, *slow)),
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

/// Says that a slot waits, as long as it lives: a page must not be given to one that is no longer
/// there.
struct Waiting<'p, 'a, B> {
    probe: &'p Probe<'a, B>,
    number: usize,
}

impl<'p, 'a, B> Waiting<'p, 'a, B> {
    fn new(probe: &'p Probe<'a, B>, number: usize, kept: Option<u16>) -> Self {
        let doing = kept.map_or(Doing::Free, Doing::Keeps);
        probe.state().slots.set(number, doing);
        Self { probe, number }
    }
}

impl<B> Drop for Waiting<'_, '_, B> {
    fn drop(&mut self) {
        let slots = &mut self.probe.state().slots;
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
        let runner = Runner {
            probe: self,
            number,
        };
        runner.run(slot, &mut ()).await
    }
}

/// The loop of one slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runner<'p, 'a, B> {
    pub probe: &'p Probe<'a, B>,
    /// Which slot it is.
    pub number: usize,
}

impl<B: Board> Runner<'_, '_, B> {
    /// Fetches whatever is due, for ever. *Cancellation*: as for [`Probe::run_slot`].
    pub(super) async fn run<C: Connect, R: Resolve, K: Copyist>(
        &self,
        slot: &mut Slot<'_, C, R>,
        copyist: &mut K,
    ) -> ! {
        let Slot {
            connect,
            resolve,
            buffer,
        } = slot;
        // A turn whose request has to be made on another connection.
        let mut again = None;
        loop {
            let mut connection = SlotConnection::new(&mut *connect);
            while !connection.is_over() {
                let turn = match again.take() {
                    Some(turn) => Some(turn),
                    None => self.next_turn(&mut connection).await,
                };
                let Some(turn) = turn else {
                    break;
                };
                let mut copy = copyist.begin();
                let (unanswered, version) = self
                    .turn(&turn, &mut connection, resolve, buffer, &mut copy)
                    .await;
                // Without the feature, nothing is waited for.
                #[cfg(feature = "collect")]
                copy.finish(version).await;
                #[cfg(not(feature = "collect"))]
                let _ = version;
                if unanswered {
                    again = Some(turn);
                }
                connection.end(false, self.probe.board.now()).await;
            }
        }
    }

    /// Waits until there is a page for this slot; `None` if its connection ends before that.
    ///
    /// *Cancellation*: safe.
    async fn next_turn<C: Connect>(&self, connection: &mut SlotConnection<'_, C>) -> Option<Turn> {
        while !connection.is_over() {
            let kept = connection.kept().map(|(host, _)| host);
            match self.next(kept) {
                Decision::Fetch(page) => {
                    self.probe.board.log(&Event::Start {
                        page: page.index() as u16,
                    });
                    let host = self.probe.state().waits_at(page);
                    let start = self.probe.board.now();
                    return Some(Turn { page, host, start });
                }
                Decision::WaitUntil(then) => self.wait(then, connection).await,
                Decision::Idle => self.wait(Instant::MAX, connection).await,
            }
        }
        None
    }

    /// What a slot that keeps a connection to `kept` should do now. What another slot should rather
    /// do is given to that one: at most once a slot.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn next(&self, kept: Option<u16>) -> Decision {
        let now = self.probe.board.now();
        let mut state = self.probe.state();
        if let Some((page, slow)) = state.slots.given(self.number) {
            state
                .slots
                .set(self.number, Doing::Busy { since: now, slow });
            return Decision::Fetch(page);
        }
        loop {
            if !state.online || state.persist.is_holding() || !state.lease.holds(now) {
                return Decision::Idle;
            }
            let decision = state.scheduler.next(now);
            state.due = match decision {
                Decision::WaitUntil(then) => Some(then),
                Decision::Fetch(_) | Decision::Idle => None,
            };
            let Decision::Fetch(page) = decision else {
                return decision;
            };
            let host = state.waits_at(page);
            let slow = state.is_slow(host);
            if slow && !state.slots.has_room_for_slow(now) {
                // Its gate stays closed for a while: at most once a host.
                state.put_back(page, host, Some(SLOW_WAIT), now);
                continue;
            }
            let best = state.slots.best(self.number, kept, host);
            // One slot more is busy from now on: another one has to look after what comes next.
            state.slots.wake_all();
            if best == self.number {
                state
                    .slots
                    .set(self.number, Doing::Busy { since: now, slow });
                return decision;
            }
            let since = now;
            state.slots.set(best, Doing::Given { page, since, slow });
        }
    }

    /// Waits until then, or until something has changed. A connection that is kept meanwhile is
    /// ended when its time is over or the server has closed it.
    ///
    /// *Cancellation*: safe.
    async fn wait<C: Connect>(&self, then: Instant, connection: &mut SlotConnection<'_, C>) {
        let kept = connection.kept();
        let then = kept.map_or(then, |(_, until)| until.min(then));
        let broken = {
            let generation = self.probe.state().slots.generation;
            let _waiting = Waiting::new(self.probe, self.number, kept.map(|(host, _)| host));
            let mut alarm = pin!(
                self.probe
                    .board
                    .sleep_until(then.max(self.probe.board.now() + SHORTEST_WAIT))
            );
            let mut broken = pin!(connection.broken());
            poll_fn(|context| {
                if !self.probe.state().slots.waits(generation, context.waker()) {
                    return Poll::Ready(false);
                }
                if broken.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                alarm.as_mut().poll(context).map(|()| false)
            })
            .await
        };
        connection.end(broken, self.probe.board.now()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn slow_hosts_have_half_of_the_slots() {
        let mut slots = Slots::new(4);
        let busy = |since, slow| Doing::Busy {
            since: at(since),
            slow,
        };
        slots.set(0, busy(0, false));
        slots.set(1, busy(0, true));
        assert!(slots.has_room_for_slow(at(1)));
        assert!(!slots.has_room_for_slow(at(5)), "slot 0 is slow by now");
        slots.set(0, Doing::Free);
        slots.set(2, Doing::Keeps(3));
        assert!(slots.has_room_for_slow(at(60)));
    }

    #[test]
    fn an_only_slot_rests_from_slow_hosts() {
        let mut slots = Slots::new(1);
        slots.set(
            0,
            Doing::Busy {
                since: at(10),
                slow: false,
            },
        );
        assert!(slots.hangs(at(16), Duration::from_secs(5)) && !slots.are_idle());
        assert!(slots.leave(0, at(16)), "six seconds are slow");
        assert!(slots.are_idle());
        assert!(!slots.has_room_for_slow(at(45)));
        assert!(slots.has_room_for_slow(at(46)));
        assert!(!slots.leave(0, at(60)), "it was not there");
    }
}
