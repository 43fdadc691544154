//! The gates from outside: for pages that redirects lead from one host to another, and for whoever
//! wants to know whether a host will be asked again soon.

use super::page::Place;
use super::{Core, Error, HostId, Outcome, PageId, Storage};
use crate::heap::Id;
use crate::time::{Duration, Instant};

impl<S: Storage> Core<S> {
    /// When the gate of a host opens; `None` if it is open, or if a fetch is under way.
    pub fn opens(&self, host: HostId<S::Id>) -> Option<Instant> {
        let gate = self.gate_of(host.0).ok()?;
        self.closed.key(gate).map(|opens| self.clock.instant(opens))
    }

    /// The least time between two fetches from a host; `None` if there is no such host.
    pub fn gap(&self, host: HostId<S::Id>) -> Option<Duration> {
        self.gate_of(host.0)
            .and_then(|gate| self.host(gate))
            .ok()
            .map(|host| host.gate.gap())
    }

    /// When the first of the pages is due that wait at the gate of a host; `None` if none does.
    /// Those that are being fetched do not wait.
    pub fn first_due(&self, host: HostId<S::Id>) -> Option<Instant> {
        let gate = self.gate_of(host.0).and_then(|gate| self.host(gate)).ok()?;
        let due = self
            .pages
            .as_ref()
            .get(gate.queue.index())?
            .due
            .before_days(self.lead());
        Some(self.clock.instant(due))
    }

    /// The host whose gate a page waits at.
    ///
    /// # Errors
    /// [`Error::UnknownPage`]
    pub fn host_of(&self, page: PageId<S::Id>) -> Result<HostId<S::Id>, Error> {
        let state = self
            .pages
            .as_ref()
            .get(page.0.index())
            .filter(|state| state.place != Place::Free);
        state
            .map(|state| HostId(state.host))
            .ok_or(Error::UnknownPage)
    }

    /// Instead of [`record`](Self::record): the page has to be asked for at another host, and was
    /// not asked for at this one. It is still due, and waits at the gate of that host from now on.
    ///
    /// # Errors
    /// [`Error::NotInFlight`], [`Error::UnknownHost`]
    pub fn hand_over(
        &mut self,
        page: PageId<S::Id>,
        to: HostId<S::Id>,
        now: Instant,
    ) -> Result<(), Error> {
        let (now, tick) = self.advance(now);
        let state = *self.known_mut(page.0)?;
        if state.place != Place::InFlight {
            return Err(Error::NotInFlight);
        }
        let (from, to_gate) = (self.gate_of(state.host)?, self.gate_of(to.0)?);
        // Nobody was asked, as when robots rules forbid it.
        let opens = self.after_fetch(from, state.due, Outcome::Denied, now)?;
        self.budget.refund();
        let state = self.known_mut(page.0)?;
        (state.host, state.due, state.place) = (to.0, tick, Place::Pinned);
        self.close(from, opens);
        self.enqueue(to_gate, page.0);
        Ok(())
    }
}
