//! The probe's side: may it visit now, and how much in a day?

use super::drift::Drift;
use super::message::{Grant, Outlook, Report};
use crate::time::{Duration, Instant};

/// Reports whose time is remembered: a grant that answers an older one is ignored.
const REMEMBERED: usize = 4;

/// A grant in force.
#[derive(Clone, Copy, Debug)]
struct Lease {
    until: Instant,
    list: u32,
    number: u32,
    budget: f32,
}

/// A probe of a fleet, without its network. All calls take constant time.
#[derive(Debug)]
pub struct Member {
    boot: u32,
    started: Instant,
    drift: Drift,
    seq: u32,
    /// When the last reports were sent, each at its number modulo [`REMEMBERED`].
    sent: [(u32, Instant); REMEMBERED],
    list: u32,
    list_since: Instant,
    /// The highest planner epoch heard of.
    epoch: u32,
    lease: Option<Lease>,
}

impl Member {
    /// A probe that has just started, with a number drawn at random, and a list of this version
    /// from an earlier run; 0 for none.
    pub fn new(boot: u32, list: u32, now: Instant, drift: Drift) -> Self {
        Self {
            boot,
            started: now,
            drift,
            seq: 0,
            sent: [(0, Instant::ZERO); REMEMBERED],
            list,
            list_since: now,
            epoch: 0,
            lease: None,
        }
    }

    /// What tells this run from others.
    pub fn boot(&self) -> u32 {
        self.boot
    }

    /// The report to be sent now: the moment counts for the lease that answers it.
    pub fn report(&mut self, outlook: &Outlook, now: Instant) -> Report {
        self.seq = self.seq.wrapping_add(1);
        if let Some(place) = self.sent.get_mut(self.seq as usize % REMEMBERED) {
            *place = (self.seq, now);
        }
        let list_for = (now - self.list_since).as_millis();
        Report {
            boot: self.boot,
            seq: self.seq,
            list: self.list,
            list_for_ms: list_for.min(u32::MAX.into()) as u32,
            epoch: self.epoch,
            grant: self.lease.map_or(0, |lease| lease.number),
            budget: self.budget(),
            outlook: *outlook,
        }
    }

    /// Takes a grant, if it answers a report of this boot whose time is remembered, is no older
    /// than the one in force, and makes sense; says so.
    pub fn granted(&mut self, grant: &Grant) -> bool {
        let sent = self.sent.get(grant.seq as usize % REMEMBERED);
        let sent = sent.filter(|(seq, _)| *seq == grant.seq && grant.seq != 0);
        let Some((_, sent)) = sent.filter(|_| grant.boot == self.boot) else {
            return false;
        };
        let current = self.lease.map_or(0, |lease| lease.number);
        let newer = grant.epoch > self.epoch || grant.number > current;
        if grant.epoch < self.epoch || !newer || !(grant.budget >= 0.0) {
            return false;
        }
        let lease = Duration::from_millis(grant.lease_ms.into());
        let until = *sent + self.drift.shorten(lease);
        // An answer to an earlier report does not take back what a later one gave, but for the
        // list.
        let earlier = self.lease.map_or(Instant::ZERO, |lease| lease.until);
        self.epoch = grant.epoch;
        self.lease = Some(Lease {
            until: until.max(earlier),
            list: grant.list,
            number: grant.number,
            budget: grant.budget,
        });
        true
    }

    /// Does a grant answer the last report? One that is given beyond answers names an earlier report
    /// if the last was lost, and its lease counts from that one.
    pub fn is_answered_by(&self, grant: &Grant) -> bool {
        grant.boot == self.boot && grant.seq == self.seq
    }

    /// Should a list of this version be fetched?
    pub fn wants(&self, version: u32) -> bool {
        version > self.list
    }

    /// A list is in force from now on: nothing is asked any more that is not in it, and no such
    /// request is under way. A lower version than the present one is refused.
    pub fn take_list(&mut self, version: u32, now: Instant) -> bool {
        let taken = self.wants(version);
        if taken {
            self.list = version;
            self.list_since = now;
        }
        taken
    }

    /// The version of the list in force; 0 for none.
    pub fn list(&self) -> u32 {
        self.list
    }

    /// Until when hosts of the list may be asked: requests must have ended by then. `None` if not
    /// at all.
    pub fn leased_until(&self) -> Option<Instant> {
        let lease = self.lease.filter(|lease| self.list >= lease.list);
        lease.map(|lease| lease.until)
    }

    /// A host with this politeness is not asked before.
    pub fn rests_until(&self, politeness: Duration) -> Instant {
        self.started + self.drift.lengthen(politeness)
    }

    /// Fetches a day that the last grant allows.
    pub fn budget(&self) -> f32 {
        self.lease.map_or(0.0, |lease| lease.budget)
    }
}
