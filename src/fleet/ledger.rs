//! What the planner knows of one probe: the lease it may hold, and the budget it may spend.

use super::drift::Drift;
use super::message::{Grant, Report};
use crate::time::{Duration, Instant};

/// One probe, as far as the planner knows. All calls take constant time.
#[derive(Clone, Copy, Debug)]
pub struct GrantLedger {
    /// The version of the list that was made for it.
    list: u32,
    /// When the last to end of all grants was sent, and how long the longest holds.
    granted: Option<(Instant, Duration)>,
    number: u32,
    /// The last grant's budget.
    last: f32,
    /// The most that any grant allows which may still be in force.
    most: f32,
}

impl GrantLedger {
    /// A probe that was never granted anything, for which a list of this version was made.
    pub fn new(list: u32) -> Self {
        Self {
            list,
            granted: None,
            number: 0,
            last: 0.0,
            most: 0.0,
        }
    }

    /// What a planner that has started takes for true: it may have granted this budget a moment
    /// ago.
    pub fn restarted(list: u32, budget: f32, lease: Duration, now: Instant) -> Self {
        Self {
            granted: Some((now, lease)),
            last: budget,
            most: budget,
            ..Self::new(list)
        }
    }

    /// Hears a report in the planner's epoch: if it says that the last grant is in force, earlier
    /// ones no longer count.
    pub fn reported(&mut self, report: &Report, epoch: u32) {
        if (report.epoch, report.grant) == (epoch, self.number) && self.number > 0 {
            self.most = self.last;
        }
    }

    /// Forgets what was granted if its lease is over everywhere.
    pub fn lapse(&mut self, drift: Drift, now: Instant) {
        if now > self.leased_until(drift) {
            self.last = 0.0;
            self.most = 0.0;
        }
    }

    /// Answers a report, in the planner's epoch: so many fetches a day for the lease's time.
    pub fn grant(
        &mut self,
        report: &Report,
        epoch: u32,
        budget: f32,
        lease: Duration,
        now: Instant,
    ) -> Grant {
        self.number += 1;
        self.last = budget;
        self.most = self.most.max(budget);
        // A planner that starts again with a shorter lease has not taken back the longer one, and
        // clocks differ by more in that.
        self.granted = match self.granted {
            Some((then, longer)) if longer > lease => {
                let later = (now + lease).since(then + longer);
                Some((then + later, longer))
            }
            _ => Some((now, lease)),
        };
        Grant {
            boot: report.boot,
            seq: report.seq,
            epoch,
            number: self.number,
            list: self.list,
            lease_ms: lease.as_millis().min(u32::MAX.into()) as u32,
            budget,
        }
    }

    /// The probe gets another list; its version, which is above all before and at least this.
    pub fn next_list(&mut self, at_least: u32) -> u32 {
        self.list = self.list.saturating_add(1).max(at_least);
        self.list
    }

    /// The version of its list.
    pub fn list(&self) -> u32 {
        self.list
    }

    /// When the last lease is over everywhere, whatever became of its grant.
    pub fn leased_until(&self, drift: Drift) -> Instant {
        self.granted
            .map_or(Instant::ZERO, |(then, lease)| then + drift.lengthen(lease))
    }

    /// Fetches a day that the probe may believe to have.
    pub fn committed(&self, drift: Drift, now: Instant) -> f32 {
        if now > self.leased_until(drift) {
            0.0
        } else {
            self.most
        }
    }

    /// Fetches a day of the last grant.
    pub fn budget(&self) -> f32 {
        self.last
    }
}
