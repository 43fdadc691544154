//! Hints: what hosts say about their pages, and what a scheduler makes of it.

use super::page::{BY_CLOCK, Place};
use super::read::{Read as _, page_key};
use super::state::Core;
use super::tick::Tick;
use super::{Counter, Error, PageId};
use crate::heap::Id;
use crate::learn::hints::Hint;
use crate::time::Instant;

impl<I: Id> Core<'_, I> {
    pub(super) fn pace_teller(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        let host = self.queued_mut(id)?.host;
        // It is there to say what has changed.
        let _ = self.state.providers.meet(host, false);
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
        let Some(host) = self.host_of_news(id, at, tick)? else {
            return Ok(());
        };
        let is_expected = matches!(hint, Hint::Expected(_));
        if !self.state.providers.meet(host, is_expected) {
            return Ok(());
        }
        self.state.counters.count(Counter::Hint);
        self.signal(id, at, tick)
    }

    pub(super) fn hint_sibling(&mut self, page: PageId, now: Instant) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        let known = self.page_mut(id)?;
        // Once is enough: a sibling that changes all the time says no more than that it does. And
        // who changes by the clock follows no sibling.
        if known.signals() > 0 || known.signals & BY_CLOCK != 0 {
            return Ok(());
        }
        let Some(host) = self.host_of_news(id, tick, tick)? else {
            return Ok(());
        };
        if !self.state.providers.meet_siblings(host) {
            return Ok(());
        }
        if self.state.providers.record(host, 1).is_none() {
            // Where it has not helped, the visit stays where it is, and shows whether it would.
            self.page_mut(id)?.add_signal();
            return Ok(());
        }
        self.signal(id, tick, tick)
    }

    /// The host of a page of which a change at that moment would be news.
    fn host_of_news(&mut self, id: I, at: Tick, now: Tick) -> Result<Option<I>, Error> {
        let page = self.page_mut(id)?;
        // What was fetched after the change is no news, and a page being fetched is about to be.
        let is_old = page.last != Tick::NEVER && at < page.last;
        let is_late = at > now && at >= page.due;
        let is_fetched = page.place == Place::InFlight;
        let is_news = !(is_old || is_late || is_fetched || page.must_wait());
        Ok(is_news.then_some(page.host))
    }

    /// Counts a signal of a change at that moment, and plans anew.
    fn signal(&mut self, id: I, at: Tick, now: Tick) -> Result<(), Error> {
        self.page_mut(id)?.add_signal();
        let Some(due) = self.planned(id, self.gap_of(id, 0.0)) else {
            return Ok(());
        };
        // What will change is not fetched before.
        let (due, place) = if at > now {
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
