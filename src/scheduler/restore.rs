//! What a scheduler that starts again is told of its earlier life.

use super::page::Place;
use super::tick::Tick;
use super::{Core, Error, HostId, MOST_RETRY, PageId, Storage};
use crate::heap::Id;
use crate::learn::Estimate;
use crate::time::{Duration, Instant};

/// What is worth keeping of a host. (What its pages have taught about new ones is learnt again from
/// the pages.)
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostMemo {
    /// The least time between two fetches.
    pub gap: Duration,
    /// Failures in a row that are not forgiven yet.
    pub failures: u8,
    /// What a fetch from it costs beyond the common price.
    pub price: f32,
}

impl<S: Storage> Core<S> {
    /// Tells what had been learnt of a page before a restart, and how long ago it was last fetched.
    /// It is then due when it would have been; nothing is made up for.
    ///
    /// Where nobody knows how long the device was off, `fetched_ago` is what is known, `certain` is
    /// false, and the page's next fetch teaches nothing: an interval that nobody knows is not
    /// guessed.
    ///
    /// # Errors
    /// [`Error::UnknownPage`], also while it is being fetched.
    pub fn restore_page(
        &mut self,
        page: PageId<S::Id>,
        estimate: Estimate,
        fetched_ago: Duration,
        certain: bool,
        now: Instant,
    ) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let state = self.queued(page.0)?;
        (state.estimate, state.signals) = (estimate, 0);
        state.last = Tick::NEVER;
        let host = state.host;
        self.host_mut(host)?.prior.restore(&estimate);
        if certain {
            return self.date_page(page, fetched_ago, now);
        }
        let gap = self.gap_of(page.0, 0.0).min(MOST_RETRY);
        let due = tick.before_days(fetched_ago.as_days()).after_days(gap);
        self.reschedule(page.0, due, Place::Pinned);
        Ok(())
    }

    /// Believes something else of a page, and changes nothing besides: for reading several versions
    /// of a belief, of which only the last counts. [`Self::restore_page`] comes next.
    ///
    /// # Errors
    /// [`Error::UnknownPage`]
    pub fn believe(&mut self, page: PageId<S::Id>, estimate: Estimate) -> Result<(), Error> {
        let state = self.known_mut(page.0)?;
        (state.estimate, state.signals) = (estimate, 0);
        Ok(())
    }

    /// Tells when a page was last fetched, once that is known: [`Self::restore_page`] could not be
    /// told. A page that has been fetched since stays as it is.
    ///
    /// # Errors
    /// [`Error::UnknownPage`], also while it is being fetched.
    pub fn date_page(
        &mut self,
        page: PageId<S::Id>,
        fetched_ago: Duration,
        now: Instant,
    ) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let state = self.queued(page.0)?;
        if state.last == Tick::NEVER {
            state.last = tick.before_days(fetched_ago.as_days());
            self.replan(page.0);
        }
        Ok(())
    }

    /// When a page was last fetched with an answer, as far as this run knows.
    pub fn last_fetch(&self, page: PageId<S::Id>) -> Option<Instant> {
        let state = self
            .pages
            .as_ref()
            .get(page.0.index())
            .filter(|state| state.place != Place::Free)?;
        (state.last != Tick::NEVER).then(|| self.clock.instant(state.last))
    }

    /// What is worth keeping of a host.
    ///
    /// # Errors
    /// [`Error::UnknownHost`]
    pub fn host_memo(&self, host: HostId<S::Id>) -> Result<HostMemo, Error> {
        let host = self.host(self.gate_of(host.0)?)?;
        Ok(HostMemo {
            gap: host.gate.gap(),
            failures: host.gate.failures(),
            price: host.price,
        })
    }

    /// Tells what was kept of a host. Its gate stays as open as it is; see [`Self::close_until`].
    ///
    /// # Errors
    /// [`Error::UnknownHost`]
    pub fn restore_host(
        &mut self,
        host: HostId<S::Id>,
        memo: &HostMemo,
        now: Instant,
    ) -> Result<(), Error> {
        self.advance(now);
        let host = self.host_mut(self.gate_of(host.0)?)?;
        host.gate.set_gap(memo.gap);
        host.gate.restore_failures(memo.failures, now);
        host.price = memo.price.max(0.0);
        Ok(())
    }

    /// Leaves a host alone until then, at least: after a restart, for nobody knows when it was last
    /// asked.
    ///
    /// # Errors
    /// [`Error::UnknownHost`]
    pub fn close_until(&mut self, host: HostId<S::Id>, then: Instant) -> Result<(), Error> {
        let gate = self.gate_of(host.0)?;
        let opens = self.clock.tick_after(then);
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

    /// Tells what a fetch cost before a restart, so that prices need not be found again.
    pub fn restore_price(&mut self, price: f32) {
        if price > 0.0 && price.is_finite() {
            self.prices.common = price;
        }
    }
}
