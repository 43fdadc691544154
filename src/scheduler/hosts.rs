//! Hosts and their gates: adding them, sharing one gate between two, gaps and allowed hours.

use super::host::HostState;
use super::read::Read as _;
use super::state::{Chores, Core};
use super::tick::Tick;
use super::{Counter, Error, HostId};
use crate::forest;
use crate::heap::Id;
use crate::polite::{Gate, Hours};
use crate::time::{Duration, Instant};

/// While hours cannot be checked, the host is asked about again after this.
const CLOCK_RECHECK: Duration = Duration::HOUR;

impl<I: Id> Core<'_, I> {
    pub(super) fn add_host(&mut self, gap: Duration) -> Result<HostId, Error> {
        let index = self.state.hosts_used;
        I::from_index(index).ok_or(Error::HostsFull)?;
        let host = self.hosts.get_mut(index).ok_or(Error::HostsFull)?;
        *host = HostState::new(Gate::new(gap));
        self.state.capacity += host.cap();
        self.state.hosts_used += 1;
        Ok(HostId::new(index))
    }

    pub(super) fn share_gate(&mut self, host: HostId, with: HostId) -> Result<(), Error> {
        let from = self.gate(host)?;
        let to = self.gate(with)?;
        if from == to {
            return Ok(());
        }
        for gate in [from, to] {
            if self.host(gate)?.gate.is_busy() {
                return Err(Error::HostBusy);
            }
        }
        // Neither may open before both would have.
        let opens = [from, to]
            .into_iter()
            .filter_map(|gate| self.closed.key(gate))
            .max();
        for gate in [from, to] {
            self.closed.remove(gate);
            self.open.remove(gate);
            self.host_mut(gate)?.gate.set_waits_for_hours(false);
        }
        let state = *self.host(from)?;
        let queue = self.host(to)?.queue();
        let joined = forest::meld(self.pages, state.queue(), queue);
        let target = self.host_mut(to)?;
        target.set_queue(joined);
        target.gate.set_gap(target.gate.gap().max(state.gate.gap()));
        let reach = self.state.hosts_used;
        for other in self.hosts.iter_mut().take(reach) {
            if other.shared() == Some(from) {
                other.share_gate_of(to);
            }
        }
        self.host_mut(from)?.share_gate_of(to);
        match opens {
            Some(opens) => self.close(to, opens),
            None => _ = self.settle(to),
        }
        Ok(())
    }

    pub(super) fn set_gap(&mut self, host: HostId, gap: Duration) -> Result<(), Error> {
        let gate = self.gate(host)?;
        self.host_mut(gate)?.gate.set_gap(gap);
        self.state.prices.settled = false;
        Ok(())
    }

    pub(super) fn set_hours(&mut self, host: HostId, hours: Hours) -> Result<(), Error> {
        let gate = self.gate(host)?;
        self.host_mut(gate)?.gate.set_hours(hours);
        self.ask_hours_again(gate);
        Ok(())
    }

    pub(super) fn set_clock(&mut self, time_of_day: Duration, now: Instant) {
        let (now, _) = self.advance(now);
        self.state.wall_clock = Some((now, time_of_day));
        self.state.chores.hours = 0;
        self.ask_some_hours_again();
    }

    /// Goes on asking hosts about their hours, after the clock was set.
    pub(super) fn ask_some_hours_again(&mut self) {
        let from = self.state.chores.hours;
        let to = from.saturating_add(Chores::HOSTS);
        for gate in (from..to.min(self.state.hosts_used)).map_while(I::from_index) {
            self.ask_hours_again(gate);
        }
        self.state.chores.hours = to;
    }

    pub(super) fn close_until(&mut self, host: HostId, then: Instant) -> Result<(), Error> {
        let gate = self.gate(host)?;
        let opens = self.state.clock.tick_after(then);
        if self.closed.key(gate).is_some_and(|closed| closed >= opens)
            || self.host(gate)?.gate.is_busy()
        {
            return Ok(());
        }
        self.open.remove(gate);
        self.closed.remove(gate);
        self.host_mut(gate)?.gate.set_waits_for_hours(false);
        self.close(gate, opens);
        Ok(())
    }

    /// When the hours of a host begin, if this is not the time.
    pub(super) fn outside_hours(&mut self, gate: I, now: Instant) -> Option<Tick> {
        let hours = self.host(gate).ok()?.gate.hours();
        if hours.is_always() {
            return None;
        }
        let wait = match self.state.wall_clock {
            Some((then, time_of_day)) => hours.wait(time_of_day + (now - then)),
            None if self.state.settings.fetch_without_clock => Duration::ZERO,
            None => {
                self.state.counters.count(Counter::SkippedByClock);
                CLOCK_RECHECK
            }
        };
        (!wait.is_zero()).then(|| self.state.clock.tick_after(now + wait))
    }

    /// Closes an open gate until its hours begin.
    pub(super) fn await_hours(&mut self, gate: I, begin: Tick) {
        self.open.remove(gate);
        if let Ok(host) = self.host_mut(gate) {
            host.gate.set_waits_for_hours(true);
        }
        self.close(gate, begin);
    }

    /// Opens a gate that waits for nothing but its hours, so that [`Self::outside_hours`] is asked
    /// again.
    fn ask_hours_again(&mut self, gate: I) {
        if self
            .host(gate)
            .is_ok_and(|host| host.gate.waits_for_hours())
        {
            self.closed.remove(gate);
            self.settle(gate);
        }
    }
}
