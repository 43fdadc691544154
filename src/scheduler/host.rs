//! What the scheduler knows of a host: 40 bytes with 16-bit ids, and 16 in the two heaps.

use crate::heap::Id;
use crate::learn::{HostPrior, Prior};
use crate::polite::Gate;
use crate::time::Duration;

/// One place of the host table.
///
/// Most hosts have a gate of their own, with a queue of pages and the fetches a day that these ask
/// for; some share the gate of another host and have neither. As an enum of the two this would take
/// four bytes more a host, so it is packed by hand, here and nowhere else: `link` and `demand` are
/// private, [`Self::waits_at`] says which of the two it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostState<I> {
    /// When a fetch may start, in 10 bytes.
    pub(super) gate: Gate,
    /// The root of its queue of pages; for a host that shares a gate, the host whose gate that is.
    link: I,
    /// What a fetch from here costs where the host cannot keep up with the common price; 0 where it
    /// can.
    pub(super) price: f32,
    /// What its pages ask for, or that they wait at another host's gate.
    demand: Demand,
    /// What its pages have taught about each other. 12 bytes
    pub(super) kin: HostPrior,
    /// Where its pages start, from that: kept because every page is valued with it. 8 bytes
    pub(super) prior: Prior,
}

/// Where the pages of a host wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsAt<I> {
    /// They wait at its own gate, in the queue with this root.
    OwnGate(I),
    /// They wait at the gate of this host.
    GateOf(I),
}

/// Fetches a day that the pages of a gate ask for, summed up by the present sweep – or the mark of
/// a host that has no gate of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Demand(f32);

impl Demand {
    const NOTHING: Self = Self(0.0);
    /// No sum of demands is below 0.
    const NO_GATE: Self = Self(-1.0);
}

impl HostState<u16> {
    /// Nobody looks at it before it is filled.
    pub(super) const ZERO: Self = Self {
        gate: Gate::new(Duration::ZERO),
        link: 0,
        price: 0.0,
        demand: Demand::NOTHING,
        kin: HostPrior::ZERO,
        prior: Prior::ZERO,
    };
}

impl<I: Id> HostState<I> {
    /// What a host table is filled with.
    pub(super) const UNUSED: Self = Self::new(Gate::new(Duration::ZERO));

    pub(super) const fn new(gate: Gate) -> Self {
        Self {
            gate,
            link: I::NONE,
            price: 0.0,
            demand: Demand::NOTHING,
            kin: HostPrior::new(),
            prior: Prior::DEFAULT,
        }
    }

    /// Where its pages wait.
    pub(super) fn waits_at(&self) -> WaitsAt<I> {
        if self.demand == Demand::NO_GATE {
            WaitsAt::GateOf(self.link)
        } else {
            WaitsAt::OwnGate(self.link)
        }
    }

    /// The host whose gate this one shares, if it has none of its own.
    pub(super) fn shared(&self) -> Option<I> {
        match self.waits_at() {
            WaitsAt::GateOf(host) => Some(host),
            WaitsAt::OwnGate(_) => None,
        }
    }

    /// Gives up its own gate for that of another host; its queue has been moved there.
    pub(super) fn share_gate_of(&mut self, host: I) {
        self.link = host;
        self.demand = Demand::NO_GATE;
    }

    /// The root of its queue. Of a host with a gate of its own only.
    pub(super) fn queue(&self) -> I {
        debug_assert!(self.shared().is_none(), "a shared gate has no queue");
        self.link
    }

    /// Another root of its queue. Of a host with a gate of its own only.
    pub(super) fn set_queue(&mut self, root: I) {
        debug_assert!(self.shared().is_none(), "a shared gate has no queue");
        self.link = root;
    }

    /// Books fetches a day that a page asks for. Of a host with a gate of its own only.
    pub(super) fn ask(&mut self, per_day: f32) {
        debug_assert!(self.shared().is_none(), "a shared gate asks for nothing");
        self.demand.0 += per_day;
    }

    /// What its pages ask for, to be summed up anew. Of a host with a gate of its own only.
    pub(super) fn take_demand(&mut self) -> f32 {
        core::mem::replace(&mut self.demand, Demand::NOTHING).0
    }

    /// Fetches a day that its gate lets through.
    pub(super) fn cap(&self) -> f32 {
        // An f32 division by zero is infinity: no gap, no cap.
        1.0 / self.gate.gap().as_days::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::page::PageState;

    #[test]
    fn tables_take_the_bytes_that_are_documented() {
        assert_eq!(size_of::<PageState<u16>>(), 36);
        assert_eq!(size_of::<HostState<u16>>(), 40);
    }

    #[test]
    fn a_shared_gate_is_no_queue() {
        let mut host: HostState<u16> = HostState::UNUSED;
        host.set_queue(7);
        host.ask(2.5);
        assert_eq!(host.waits_at(), WaitsAt::OwnGate(7));
        assert_eq!(host.take_demand(), 2.5);
        host.share_gate_of(3);
        assert_eq!(host.waits_at(), WaitsAt::GateOf(3));
        assert_eq!(host.shared(), Some(3));
    }
}
