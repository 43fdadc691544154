//! What the scheduler knows of a host: 32 bytes with 16-bit ids, and 16 in the two heaps.

use crate::heap::Id;
use crate::learn::HostPrior;
use crate::polite::Gate;
use crate::time::Duration;

/// One place of the host table.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostState<I> {
    /// When may we? 10 bytes
    pub(super) gate: Gate,
    /// The root of its queue of pages – or, for a host that shares another one's gate, that host.
    pub(super) queue: I,
    /// What a fetch from here costs where the host cannot keep up with the common price; 0 where it
    /// can.
    pub(super) price: f32,
    /// Fetches a day that its pages ask for, summed up by the present sweep. Negative marks a
    /// shared gate.
    pub(super) demand: f32,
    /// What its pages have taught about new ones. 12 bytes
    pub(super) prior: HostPrior,
}

impl HostState<u16> {
    /// Nobody looks at it before it is filled.
    pub(super) const ZERO: Self = Self {
        gate: Gate::new(Duration::ZERO),
        queue: 0,
        price: 0.0,
        demand: 0.0,
        prior: HostPrior::ZERO,
    };
}

/// Marks a host whose `queue` names the host whose gate it shares.
const SHARED: f32 = -1.0;

impl<I: Id> HostState<I> {
    /// What a host table is filled with.
    pub(super) const UNUSED: Self = Self::new(Gate::new(Duration::ZERO));

    pub(super) const fn new(gate: Gate) -> Self {
        Self {
            gate,
            queue: I::NONE,
            price: 0.0,
            demand: 0.0,
            prior: HostPrior::new(),
        }
    }

    /// The host whose gate this one shares.
    pub(super) fn shared(&self) -> Option<I> {
        (self.demand == SHARED).then_some(self.queue)
    }

    pub(super) fn share(&mut self, with: I) {
        self.queue = with;
        self.demand = SHARED;
    }

    /// Fetches a day that its gate lets through.
    pub(super) fn cap(&self) -> f32 {
        // An f32 division by zero is infinity: no gap, no cap.
        1.0 / self.gate.gap().as_days::<f32>()
    }
}
