//! Records of the few hosts that send signals, kept apart: most hosts never say anything.

use crate::heap::Id;
use crate::learn::hints::{Provider, Signals};
use crate::learn::{Estimate, Visit};

/// Hosts with a record of their own. Further ones share the last.
const RECORDS: usize = 8;

/// What is known of signals, by host.
#[derive(Clone, Debug)]
pub(super) struct Providers<I> {
    records: [(I, Provider); RECORDS],
}

impl<I: Id> Providers<I> {
    pub(super) const fn new() -> Self {
        Self { records: [(I::NONE, Provider::new()); RECORDS] }
    }

    /// A signal came from this host: from now on it has a record.
    pub(super) fn meet(&mut self, host: I) {
        let free = self.records.iter_mut().find(|(known, _)| *known == host || *known == I::NONE);
        if let Some((known, _)) = free {
            *known = host;
        }
    }

    /// What the signals of a page mean; `None` if its host has never sent any.
    pub(super) fn signals(&self, host: I, estimate: &Estimate) -> Option<Signals<f32>> {
        self.record(host).map(|(_, provider)| provider.signals(estimate.rate()))
    }

    /// Learns from a visit to a page that had sent so many signals.
    pub(super) fn learn(&mut self, host: I, visit: &Visit, signals: u32, rate: f32) {
        if let Some(place) = self.place(host)
            && let Some((_, provider)) = self.records.get_mut(place)
        {
            provider.update(visit, signals, rate);
        }
    }

    fn record(&self, host: I) -> Option<&(I, Provider)> {
        self.place(host).and_then(|place| self.records.get(place))
    }

    /// The host's own record; the last one, once it is taken, for hosts that came too late.
    fn place(&self, host: I) -> Option<usize> {
        let known = self.records.iter().position(|(known, _)| *known == host);
        let shared = || Some(RECORDS - 1).filter(|_| self.records.iter().all(|(known, _)| *known != I::NONE));
        known.or_else(shared)
    }
}
