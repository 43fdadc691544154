//! What can be asked of a scheduler without changing it.

use super::host::HostState;
use super::page::{PageState, Place, belief};
use super::state::State;
use super::tick::Tick;
use super::{Counters, Error, HostId, HostMemo, PageId};
use crate::heap::Id;
use crate::learn::{Estimate, Trust};
use crate::plan::worth::Belief;
use crate::time::{Duration, Instant};

/// Tables that can be read, whoever owns them. The required methods say where they are; the others
/// are what [`calls`](super::calls) documents, and what they have in common.
pub(super) trait Read<I: Id> {
    fn page_table(&self) -> &[PageState<I>];
    fn host_table(&self) -> &[HostState<I>];
    fn state(&self) -> &State<I>;
    /// When a gate opens; `None` if it is not closed.
    fn opening_of(&self, gate: I) -> Option<Tick>;
    /// When the first closed gate opens.
    fn first_opening(&self) -> Option<Tick>;
    /// The open gate whose first page is due first.
    fn first_open_gate(&self) -> Option<I>;

    fn host(&self, id: I) -> Result<&HostState<I>, Error> {
        self.host_table()
            .get(id.index())
            .filter(|_| id.index() < self.state().hosts_used)
            .ok_or(Error::UnknownHost)
    }

    /// The host whose gate and queue a host uses: itself, or the one it shares with.
    #[inline(never)] // Once for all callers.
    fn gate_of(&self, host: I) -> Result<I, Error> {
        Ok(self.host(host)?.shared().unwrap_or(host))
    }

    /// The same for a host as callers know it.
    fn gate(&self, host: HostId) -> Result<I, Error> {
        self.gate_of(host_key(host)?)
    }

    /// What is known of that gate.
    fn gate_state(&self, host: HostId) -> Result<&HostState<I>, Error> {
        self.host(self.gate(host)?)
    }

    fn page(&self, page: PageId) -> Option<&PageState<I>> {
        self.page_table()
            .get(page.index())
            .filter(|state| state.place != Place::Free)
    }

    fn page_id(&self, index: usize) -> Option<PageId> {
        // Before the index becomes a number of 32 bits, it has to be one of the table.
        self.page_table()
            .get(index)
            .filter(|state| state.place != Place::Free)
            .map(|_| PageId::new(index))
    }

    fn host_id(&self, index: usize) -> Option<HostId> {
        (index < self.state().hosts_used).then(|| HostId::new(index))
    }

    fn host_of(&self, page: PageId) -> Result<HostId, Error> {
        self.page(page)
            .map(|state| HostId::new(state.host.index()))
            .ok_or(Error::UnknownPage)
    }

    fn opens(&self, host: HostId) -> Option<Instant> {
        let opens = self.opening_of(self.gate(host).ok()?)?;
        Some(self.state().clock.instant(opens))
    }

    fn gap(&self, host: HostId) -> Option<Duration> {
        self.gate_state(host).ok().map(|host| host.gate.gap())
    }

    fn first_due(&self, host: HostId) -> Option<Instant> {
        let first = self.first_of(self.gate(host).ok()?)?;
        let due = first.due.before_days(self.lead_of(first));
        Some(self.state().clock.instant(due))
    }

    /// The first page that waits at a gate.
    fn first_of(&self, gate: I) -> Option<&PageState<I>> {
        let queue = self.host(gate).ok()?.queue();
        self.page_table().get(queue.index())
    }

    /// Has the first page of a gate constraints, so that it is not fetched before it is due?
    fn is_exact(&self, gate: I) -> bool {
        self.state().has_constraints && self.first_of(gate).is_some_and(PageState::has_constraints)
    }

    /// How long before it is due a page may be fetched, in days.
    fn lead_of(&self, page: &PageState<I>) -> f32 {
        if page.has_constraints() {
            0.0
        } else {
            self.state().lead()
        }
    }

    /// When there will be something to do.
    fn wakes(&self) -> Option<Instant> {
        let first = self.first_open_gate().and_then(|gate| self.first_of(gate));
        let due = first.map(|page| (page.due, self.lead_of(page)));
        self.state().wakes(due, self.first_opening())
    }

    fn estimate(&self, page: PageId) -> Result<Estimate, Error> {
        self.page(page)
            .map(|state| {
                let Belief { shape, time } = self.believed(state);
                state.estimate.with_belief(shape, time)
            })
            .ok_or(Error::UnknownPage)
    }

    fn page_memo(&self, page: PageId) -> Result<Estimate, Error> {
        self.page(page)
            .map(|state| self.counting(state, 1.0))
            .ok_or(Error::UnknownPage)
    }

    fn trust(&self) -> Trust {
        self.state().trust
    }

    /// What is believed of a page: what it has shown itself, as far as that is trusted, on top of
    /// what its host's pages have.
    #[inline(never)] // Once for all callers.
    fn believed(&self, page: &PageState<I>) -> Belief {
        belief(&self.counting(page, self.state().trust.share()))
    }

    /// The same if this part of what it has shown is trusted.
    fn counting(&self, page: &PageState<I>, share: f32) -> Estimate {
        if page.has_own_belief() {
            return page.estimate;
        }
        let host = self.host_table().get(page.host.index());
        host.map_or(Estimate::UNKNOWN, |host| {
            page.estimate.counted(share).on(&host.prior)
        })
    }

    fn last_fetch(&self, page: PageId) -> Option<Instant> {
        let state = self.page(page)?;
        (state.last != Tick::NEVER).then(|| self.state().clock.instant(state.last))
    }

    #[cfg(feature = "hints")]
    fn is_told(&self, page: PageId) -> bool {
        self.page(page).is_some_and(|page| page.signals() > 0)
    }

    #[cfg(feature = "hints")]
    fn provider_of(&self, page: PageId) -> Option<crate::learn::hints::Provider> {
        let host = self.page(page)?.host;
        self.state().providers.believed(host)
    }

    #[cfg(feature = "hints")]
    fn saved_by_hints(&self, page: PageId) -> f32 {
        let host = self.page(page).map(|page| page.host);
        host.map_or(0.0, |host| self.state().providers.saved(host))
    }

    fn host_memo(&self, host: HostId) -> Result<HostMemo, Error> {
        let host = self.gate_state(host)?;
        Ok(HostMemo {
            gap: host.gate.gap(),
            failures: host.gate.failures(),
            price: host.price,
        })
    }

    fn counters<'a>(&'a self) -> &'a Counters
    where
        I: 'a,
    {
        &self.state().counters
    }

    fn next_due(&self) -> Option<Instant> {
        let state = self.state();
        self.wakes().map(|then| match state.budget.goes_ahead() {
            true => then,
            false => then.max(state.budget.opens()),
        })
    }

    fn price(&self) -> f32 {
        self.state().prices.common
    }

    fn freshness(&self) -> Option<f32> {
        self.state().prices.freshness()
    }

    fn optimum(&self) -> Option<f32> {
        self.state().prices.achievable()
    }

    fn next_page_to_review(&self) -> usize {
        self.state().prices.cursor
    }

    fn pages(&self) -> usize {
        self.state().page_count
    }
}

/// A page as the tables know it.
pub(super) fn page_key<I: Id>(page: PageId) -> Result<I, Error> {
    I::from_index(page.index()).ok_or(Error::UnknownPage)
}

/// A host as the tables know it.
pub(super) fn host_key<I: Id>(host: HostId) -> Result<I, Error> {
    I::from_index(host.index()).ok_or(Error::UnknownHost)
}
