//! What a planner makes of the messages of probes. Any of them may be late, doubled or a lie.

use dunlin::fleet::{
    Done, GrantLedger, Outlook, Presence, ProbeTopic, Report, Verb, Visits, decode, read_topic,
};
use dunlin::image::Learnt;
use dunlin::learn::Estimate;
use dunlin::time::{Duration, Instant};

use super::collection::Holder;
use super::coordinator::Coordinator;

/// A list is announced again to a probe that has not taken it, but not sooner than this.
const AGAIN: Duration = Duration::from_secs(2);

impl Coordinator {
    /// Hears a message; `kept` says that the broker had it from earlier.
    pub fn heard(&mut self, name: &str, payload: &[u8], kept: bool, now: Instant) {
        let Some((probe, which)) = read_topic(&self.settings.fleet, name) else {
            self.ignored.foreign += 1;
            return;
        };
        let known = match which {
            ProbeTopic::State => decode(payload).map(|presence: Presence| {
                if let Some(number) = self.number_of(probe)
                    && let Some(probe) = self.roster.get_mut(number)
                {
                    probe.online = presence.online;
                }
            }),
            // Reports are never kept: this one is from another time.
            ProbeTopic::Report | ProbeTopic::Visits | ProbeTopic::Done if kept => {
                self.ignored.stale += 1;
                Ok(())
            }
            ProbeTopic::Report => decode(payload).map(|report| self.reported(probe, report, now)),
            ProbeTopic::Visits => decode(payload).map(|visits| self.visited(probe, &visits, now)),
            ProbeTopic::Done => decode(payload).map(|done: Done| self.done(probe, done)),
            // What the planner itself says.
            ProbeTopic::Grant | ProbeTopic::List | ProbeTopic::Command => Ok(()),
        };
        if known.is_err() {
            self.ignored.nonsense += 1;
        }
    }

    /// The number of a probe, which is new if nobody has heard of it.
    fn number_of(&mut self, name: &str) -> Option<usize> {
        if let Some(number) = self.roster.find(name) {
            return Some(number);
        }
        let number = self.roster.add(name)?;
        // Not saved yet: it has nothing before it has a list, and that is. A planner that starts
        // again hears of it again; a lease with nothing in it may still be longer than those of now.
        let (lease, _) = self.earlier_lease;
        self.planner.add(match lease > self.settings.lease {
            true => GrantLedger::restarted(0, 0.0, lease, self.started),
            false => GrantLedger::new(0),
        });
        Some(number)
    }

    fn reported(&mut self, name: &str, report: Report, now: Instant) {
        if self.is_absurd(report.epoch) {
            self.ignored.nonsense += 1;
            return;
        }
        let Some(number) = self.number_of(name) else {
            return;
        };
        let was_here = self.is_here(number, now);
        let Some(probe) = self.roster.get_mut(number) else {
            return;
        };
        if probe.boot == report.boot && report.seq <= probe.seq {
            self.ignored.stale += 1;
            return;
        }
        let has_booted = probe.boot != report.boot;
        (probe.boot, probe.seq) = (report.boot, report.seq);
        probe.pending = true;
        probe.online = true;
        let is_paused = probe.paused;
        if has_booted {
            probe.next_visit = 0;
        }
        self.doubt(number, &report);
        let room = |outlook: &Outlook| (outlook.pages, outlook.hosts);
        let before = self.planner.entries().get(number);
        let before = before.and_then(|entry| entry.report);
        // A device may come back with another firmware: what it has no room for has to go to others.
        self.unplaced |=
            before.is_some_and(|before| room(&before.outlook) != room(&report.outlook));
        self.planner.reported(number, report, now);
        self.release(number, &report, now);
        if !was_here {
            self.joined = true;
            self.unplaced = true;
            self.last_join = now;
        }
        if has_booted && is_paused {
            self.send(number, Verb::Pause(true));
        }
        self.announce_again(number, &report, now);
    }

    /// Hosts that were taken off the probe's list are free sooner if it has taken the next one.
    fn release(&mut self, number: usize, report: &Report, now: Instant) {
        let drift = self.settings.drift;
        let Some(leaving) = self.leaving.get_mut(&(number as u32)) else {
            return;
        };
        for group in &leaving.groups {
            let group = self.collection.groups_mut().get_mut(*group as usize);
            if let Some(Holder::Leaving { departure, .. }) = group.map(|group| &mut group.holder) {
                departure.reported(report, drift, now);
                leaving.free_at = leaving.free_at.min(departure.free_at());
            }
        }
    }

    /// A probe may hold what a planner granted whose state is lost.
    fn doubt(&mut self, number: usize, report: &Report) {
        let rules = *self.planner.rules();
        let Some(ledger) = self.planner.ledger_mut(number) else {
            return;
        };
        let is_foreign = report.list > ledger.list();
        if is_foreign {
            ledger.next_list(report.list.saturating_add(1));
            if let Some(probe) = self.roster.get_mut(number) {
                probe.stale = true;
            }
            self.unsaved = true;
        }
        let is_later = report.epoch > rules.epoch;
        if self.fresh && (is_foreign || is_later) {
            // Whoever granted that has ended before this planner started.
            self.follow(report.epoch, self.started);
        }
    }

    fn announce_again(&mut self, number: usize, report: &Report, now: Instant) {
        let probe = self.roster.get(number);
        let waits = probe.is_some_and(|probe| {
            let last = probe.announced.unwrap_or(Instant::ZERO);
            report.list < probe.list.version && now >= last + AGAIN
        });
        if waits {
            self.announce(number, now);
        }
    }

    fn visited(&mut self, name: &str, visits: &Visits, now: Instant) {
        let Some(number) = self.roster.find(name) else {
            return;
        };
        let Some(probe) = self.roster.get_mut(number) else {
            return;
        };
        if probe.boot != visits.boot {
            self.ignored.stale += 1;
            return;
        }
        let pages = match visits.list {
            list if list == probe.list.version => probe.list.pages.clone(),
            list if list == probe.earlier.0 => probe.earlier.1.clone(),
            _ => {
                self.ignored.stale += 1;
                return;
            }
        };
        let first = visits.first;
        // A batch that comes twice teaches nothing, and must not undo what came after it.
        let known = probe.next_visit.saturating_sub(first) as usize;
        if known > 0 {
            self.ignored.stale += 1;
        }
        let new: Vec<_> = visits.visits.iter().skip(known).collect();
        probe.next_visit = probe
            .next_visit
            .max(first.saturating_add(visits.visits.len() as u32));
        probe.visits += new.len() as u64;
        probe.changes += new.iter().filter(|visit| visit.changed).count() as u64;
        for visit in new {
            let learnt = Learnt {
                shape: visit.shape,
                time: visit.time,
                watch: visit.watch,
            };
            // A probe may say anything, but about its own pages only.
            let is_sound = Estimate::from_parts(visit.shape, visit.time, visit.watch).is_some();
            let page = pages.get(usize::from(visit.page)).copied();
            if let Some(page) = page.filter(|page| is_sound && self.is_of(*page, number)) {
                self.collection.learn(page, learnt);
                let ago = Duration::from_secs(visit.ago_s.into());
                self.collection.visit(page, now - ago);
                self.learnt_unsaved = true;
            }
        }
    }

    /// Has the probe this page, or had it last?
    fn is_of(&self, page: u32, number: usize) -> bool {
        let group = self.collection.groups().get(self.collection.group_of(page));
        match group.map(|group| group.holder) {
            Some(Holder::Probe(owner)) => owner as usize == number,
            Some(Holder::Leaving { from, .. }) => from as usize == number,
            _ => false,
        }
    }

    fn done(&mut self, name: &str, done: Done) {
        let number = self.roster.find(name);
        let mut sent = self.commands.iter_mut();
        let sent = sent.find(|sent| sent.id == done.id && Some(sent.probe) == number);
        match sent {
            Some(sent) => sent.done = Some(done.done),
            None => self.ignored.stale += 1,
        }
    }
}
