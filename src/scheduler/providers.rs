//! Records of the few hosts that send signals, kept apart: most hosts never say anything.

use crate::heap::Id;
use crate::learn::hints::Provider;

/// Hosts with a record of their own. Further ones that send signals share one.
const RECORDS: usize = 8;

/// What is known of signals, by host.
#[derive(Clone, Debug)]
pub(super) struct Providers<I> {
    own: [(I, Provider); RECORDS],
    others: Provider,
}

impl<I: Id> Providers<I> {
    pub(super) const fn new() -> Self {
        Self {
            own: [(I::NONE, Provider::new()); RECORDS],
            others: Provider::new(),
        }
    }

    /// A signal came from this host: from now on it has a record, if there is one left.
    pub(super) fn meet(&mut self, host: I) {
        let free = self
            .own
            .iter_mut()
            .find(|(known, _)| *known == host || *known == I::NONE);
        if let Some((known, _)) = free {
            *known = host;
        }
    }

    /// The record of a page's host; `None` where silence says nothing because the host never
    /// speaks, or cannot be told from one that never does.
    pub(super) fn record(&self, host: I, signals: u32) -> Option<&Provider> {
        let own = self
            .own
            .iter()
            .take_while(|(known, _)| *known != I::NONE)
            .find(|(known, _)| *known == host)
            .map(|(_, provider)| provider);
        own.or_else(|| (signals > 0).then_some(&self.others))
    }

    pub(super) fn record_mut(&mut self, host: I, signals: u32) -> Option<&mut Provider> {
        let own = self
            .own
            .iter_mut()
            .take_while(|(known, _)| *known != I::NONE)
            .find(|(known, _)| *known == host)
            .map(|(_, provider)| provider);
        own.or_else(|| (signals > 0).then_some(&mut self.others))
    }
}
