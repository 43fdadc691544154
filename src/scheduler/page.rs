//! What the scheduler knows of a page: 36 bytes with 16-bit ids.

use super::tick::Tick;
use crate::forest::{Links, Node};
use crate::heap::{Id, Key as _};
use crate::learn::Estimate;
use crate::pace::rhythm::Credit;
use crate::plan::worth::Belief;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// This place of the table is free; `links.up` is the next free one.
    Free,
    /// It is in its host's queue, due at `due`.
    Queued,
    /// The same, with a due time set from outside (an announced update, a retry): re-planning
    /// leaves it alone.
    Pinned,
    /// The same, at the time that its owner wants it: it asks for just that.
    Timed,
    /// Being fetched; `due` is when politeness lets the next fetch from its host start.
    InFlight,
}

/// One place of the page table.
///
/// | bytes | field | why it is there, and what less would cost |
/// |---|---|---|
/// | 8 | belief: shape and time, `f32` each | Every visit adds a little to sums that forget slowly: with 16 bits small additions would be lost in rounding, unless rounded at random. |
/// | 4 | belief: evidence that the rate rose or fell | Two running tests in 16 bits each. One signed number would follow either, not both. |
/// | 4 | weight | 12 decades. A 16-bit logarithm would do, for an exponential (60 instructions, 2,000 without a floating-point unit) whenever a page is valued. |
/// | 4 | last fetch | The age of a copy, which every decision is about. 8 ms steps over 406 days. |
/// | 4 | due | The key of its host's queue. From belief, weight and price it could be computed, but a heap compares keys at every level. |
/// | 6 | three links | Children, and the page above: without it a page could not leave its queue in O(log n) when its weight, its rate or a hint moves it. |
/// | 1 | rank | Makes the queue's work O(log n) in the worst case; a skew heap has none, and is only so on average. |
/// | 1 | what it is owed: a carousel's [`Credit`] | Two decimals of a gap. |
/// | 2 | host | Its gate and its queue. |
/// | 1 + 1 | place, signals | One byte each, because bits would have to be cut out at each use. |
///
/// For 32 bytes the weight would have to take 16 bits (2) and rank and place share a byte with the
/// signals (2). As a float of 6 bits of exponent and 10 of fraction, right to a two-thousandth, the
/// weight would cost one shift; the two bytes are better spent on limits of a page's gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageState<I> {
    /// What it has shown about its change rate, beyond what its host's pages have; of a page with a
    /// belief of its own ([`OWN`]), all that is believed. 12 bytes
    pub(super) estimate: Estimate,
    pub(super) weight: f32,
    /// When it was last fetched with an answer; [`Tick::NEVER`] before that.
    pub(super) last: Tick,
    /// When it is to be fetched next: the key of its host's queue.
    pub(super) due: Tick,
    /// Its place in its host's queue, and beside it what it is owed.
    pub(super) links: Links<I, Credit>,
    pub(super) host: I,
    pub(super) place: Place,
    /// Signals of a change since the last fetch, and [`FLAGS`].
    pub(super) signals: u8,
}

/// Its list says how often it may or has to be visited: [`Core::constraints`](super::state::Core).
pub(super) const LIMITED: u8 = 0x20;

/// It changes by the clock.
pub(super) const BY_CLOCK: u8 = 0x10;

/// The belief about this page is its own and no longer its host's: its owner named a rate, others
/// have learnt it, or its habits changed.
pub(super) const OWN: u8 = 0x80;

/// There is evidence that it changes faster than it is usually visited: it was found changed after
/// a short gap, or its changes are dated. Visits at one and the same gap that all find a change
/// cannot tell a page that changes once in that gap from one that changes all the time.
pub(super) const TOO_FAST: u8 = 0x40;

/// What of [`PageState::signals`] is no number of signals, and outlives a visit.
pub(super) const FLAGS: u8 = OWN | TOO_FAST | LIMITED | BY_CLOCK;

impl<I: Id> PageState<I> {
    /// What a page table is filled with.
    pub(super) const FREE: Self = Self {
        estimate: Estimate::ZERO,
        weight: 0.0,
        last: Tick::NEVER,
        due: Tick::NEVER,
        links: Links::alone(Credit::NONE),
        host: I::NONE,
        place: Place::Free,
        signals: 0,
    };
}

impl PageState<u16> {
    /// All zeros, so that it costs no flash. Its `place` is free, so nothing else of it is read.
    pub(super) const ZERO: Self = Self {
        estimate: Estimate::ZERO,
        weight: 0.0,
        last: Tick::FILLER,
        due: Tick::FILLER,
        links: Links::zero(Credit::NONE),
        host: 0,
        place: Place::Free,
        signals: 0,
    };
}

impl<I> PageState<I> {
    pub(super) fn has_own_belief(&self) -> bool {
        self.signals & OWN != 0
    }

    /// Is there evidence that it changes faster than visits can follow? Without, it is not given
    /// up.
    pub(super) fn may_be_given_up(&self) -> bool {
        self.signals & TOO_FAST != 0
    }

    /// What it is owed since its last fetch: what a carousel makes up for.
    pub(super) fn credit(&self) -> Credit {
        self.links.beside
    }

    pub(super) fn set_credit(&mut self, credit: Credit) {
        self.links.beside = credit;
    }

    /// Signals of a change since the last fetch.
    pub(super) fn signals(&self) -> u32 {
        u32::from(self.signals & !FLAGS)
    }

    #[cfg(feature = "hints")]
    pub(super) fn add_signal(&mut self) {
        if self.signals() < u32::from(!FLAGS) {
            self.signals += 1;
        }
    }

    /// Does it wait after a request that its limits are counted from, and that brought no answer?
    pub(super) fn must_wait(&self) -> bool {
        self.place == Place::Pinned && self.signals & LIMITED != 0
    }

    /// Has it constraints? Then it is never fetched before it is due.
    pub(super) fn has_constraints(&self) -> bool {
        self.signals & (LIMITED | BY_CLOCK) != 0
    }
}

/// What is believed about a change rate, as far as it makes a visit worth something.
pub(super) fn belief(estimate: &Estimate) -> Belief {
    Belief {
        shape: estimate.shape(),
        time: estimate.time(),
    }
}

impl<I: Id> Node<I> for PageState<I> {
    type Beside = Credit;
    fn is_before(&self, other: &Self) -> bool {
        self.due < other.due
    }
    fn ties_with(&self, other: &Self) -> bool {
        self.due == other.due
    }
    fn links(&self) -> &Links<I, Credit> {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links<I, Credit> {
        &mut self.links
    }
}
