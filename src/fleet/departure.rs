//! A host on its way from one probe to another.

use super::drift::Drift;
use super::ledger::GrantLedger;
use super::message::Report;
use crate::time::{Duration, Instant};

/// A host that was taken off its owner's list, and may not be given to anybody yet.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The owner's first list without it.
    list: u32,
    politeness: Duration,
    /// When it can be given to another probe, by what is known.
    free_at: Instant,
}

impl Departure {
    /// The host is in no list of its owner any more, the ledger's included: its owner's last lease
    /// that was granted before this list runs out in any case. The caller has not granted anything
    /// since it made that list.
    pub fn new(ledger: &GrantLedger, politeness: Duration, drift: Drift) -> Self {
        Self {
            list: ledger.list(),
            politeness,
            free_at: ledger.leased_until(drift) + drift.lengthen(politeness),
        }
    }

    /// The owner reports: if it has a list without the host, it last asked it before it took that
    /// list.
    pub fn reported(&mut self, report: &Report, drift: Drift, now: Instant) {
        if report.list >= self.list {
            let age = Duration::from_millis(report.list_for_ms.into());
            let passed = drift.shorten(drift.shorten(age));
            let wait = drift.lengthen(self.politeness) - passed;
            self.free_at = self.free_at.min(now + wait);
        }
    }

    /// When another probe may have the host on its list.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }
}
