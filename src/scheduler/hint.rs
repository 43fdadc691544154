//! Hints: what hosts say about their pages, and what a scheduler makes of it.

#[cfg(feature = "std")]
use super::LargeScheduler;
use super::page::Place;
use super::read::{Read as _, page_key};
use super::state::Core;
use super::tick::Tick;
use super::{Counter, Error, PageId, Scheduler, SchedulerView};
use crate::heap::Id;
use crate::learn::hints::{Hint, Provider};
use crate::time::Instant;

impl<const PAGES: usize, const HOSTS: usize> Scheduler<PAGES, HOSTS> {
    /// What a source says about a page: it has changed, or it is expected to. How much that counts
    /// is learnt for each of the first eight hosts that send hints (on a computer, 256), and for the
    /// others together: one that cries wolf is soon ignored. A host that tells has no more visits
    /// than it would have if it did not, so that what it says costs other hosts nothing. What is
    /// expected later than the page's next fetch counts for nothing: that fetch will bring a newer
    /// hint.
    ///
    /// # Errors
    /// [`Error::UnknownPage`]
    ///
    /// ```
    /// # use dunlin::scheduler::*;
    /// # use dunlin::time::{Duration, Instant};
    /// # let now = Instant::ZERO;
    /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
    /// # let host = scheduler.add_host(Duration::from_secs(15))?;
    /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
    /// use dunlin::learn::hints::Hint;
    ///
    /// scheduler.hint(page, Hint::Changed(now), now)?;
    /// assert_eq!(scheduler.counters().get(Counter::Hint), 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn hint(&mut self, page: PageId, hint: Hint, now: Instant) -> Result<(), Error> {
        self.core().hint(page, hint, now)
    }

    /// Has something been said about a page since its last fetch?
    pub fn is_told(&self, page: PageId) -> bool {
        self.read().is_told(page)
    }

    /// What the signals of a page's host have turned out to be worth; `None` if it has sent none, or
    /// has no record of its own.
    pub fn provider_of(&self, page: PageId) -> Option<Provider> {
        self.read().provider_of(page)
    }

    /// Plans when a page is fetched again that says when others of its host changed, and has just been
    /// fetched: the more there is to be told, and the truer that turns out to be, the sooner; but at
    /// most a quarter of the visits that its host has goes to it. What a fetch of it found has to be
    /// recorded as [`Outcome::Redirected`](super::Outcome::Redirected), which says nothing of its rate.
    ///
    /// # Errors
    /// [`Error::UnknownPage`], also while it is being fetched.
    pub fn pace_teller(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        self.core().pace_teller(page, now)
    }

    /// Visits a day that the signals of a page's host save: what its pages would ask for without
    /// them, less what they do ask for, tellers included. Below 0, it cannot have what it asks for.
    pub fn saved_by_hints(&self, page: PageId) -> f32 {
        self.read().saved_by_hints(page)
    }
}

impl SchedulerView<'_> {
    /// See [`Scheduler::hint`].
    pub fn hint(&mut self, page: PageId, hint: Hint, now: Instant) -> Result<(), Error> {
        self.core().hint(page, hint, now)
    }

    /// See [`Scheduler::is_told`].
    pub fn is_told(&self, page: PageId) -> bool {
        self.read().is_told(page)
    }

    /// See [`Scheduler::provider_of`].
    pub fn provider_of(&self, page: PageId) -> Option<Provider> {
        self.read().provider_of(page)
    }

    /// See [`Scheduler::pace_teller`].
    pub fn pace_teller(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        self.core().pace_teller(page, now)
    }

    /// See [`Scheduler::saved_by_hints`].
    pub fn saved_by_hints(&self, page: PageId) -> f32 {
        self.read().saved_by_hints(page)
    }
}

#[cfg(feature = "std")]
impl LargeScheduler {
    /// See [`Scheduler::hint`].
    pub fn hint(&mut self, page: PageId, hint: Hint, now: Instant) -> Result<(), Error> {
        self.core().hint(page, hint, now)
    }

    /// See [`Scheduler::is_told`].
    pub fn is_told(&self, page: PageId) -> bool {
        self.read().is_told(page)
    }

    /// See [`Scheduler::provider_of`].
    pub fn provider_of(&self, page: PageId) -> Option<Provider> {
        self.read().provider_of(page)
    }

    /// See [`Scheduler::pace_teller`].
    pub fn pace_teller(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        self.core().pace_teller(page, now)
    }

    /// See [`Scheduler::saved_by_hints`].
    pub fn saved_by_hints(&self, page: PageId) -> f32 {
        self.read().saved_by_hints(page)
    }
}

impl<I: Id> Core<'_, I> {
    pub(super) fn pace_teller(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        let host = self.queued_mut(id)?.host;
        self.state.providers.meet(host, false);
        let pages = f32::from(self.host(host)?.kin.pages().saturating_sub(1));
        let mean_gap = self.mean_gap();
        let gap = self.state.providers.teller_gap(host, pages, mean_gap);
        self.queued_mut(id)?.last = tick;
        self.reschedule(id, tick.after_days(gap), Place::Timed);
        Ok(())
    }

    pub(super) fn hint(&mut self, page: PageId, hint: Hint, now: Instant) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        let at = self.state.clock.tick(hint.at());
        let state = self.page_mut(id)?;
        // What was fetched after the change is no news, and a page being fetched is about to be.
        let is_old = state.last != Tick::NEVER && at < state.last;
        let is_late = at > tick && at >= state.due;
        if is_old || is_late || state.place == Place::InFlight || state.must_wait() {
            return Ok(());
        }
        state.add_signal();
        let host = state.host;
        self.state
            .providers
            .meet(host, matches!(hint, Hint::Expected(_)));
        self.state.counters.count(Counter::Hint);
        let Some(due) = self.planned(id, self.gap_of(id, 0.0)) else {
            return Ok(());
        };
        // What has changed already comes before all that is merely late; what will is not fetched
        // before.
        let (due, place) = if at > tick {
            (due.max(at), Place::Pinned)
        } else {
            (due, Place::Queued)
        };
        if due < self.page_mut(id)?.due {
            self.reschedule(id, due, place);
        }
        Ok(())
    }
}
