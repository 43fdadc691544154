//! Pages: adding and removing them, and their weights.

use super::page::{OWN, PageState, Place};
use super::read::{Read as _, host_key, page_key};
use super::state::Core;
use super::{Error, HostId, PageId, PageSettings};
use crate::heap::Id;
use crate::learn::{Estimate, Prior};
use crate::time::{Duration, Instant};

impl<I: Id> Core<'_, I> {
    pub(super) fn add_page(
        &mut self,
        host: HostId,
        page: &PageSettings,
        now: Instant,
    ) -> Result<PageId, Error> {
        let (_, tick) = self.advance(now);
        let host = host_key(host)?;
        let gate = self.gate_of(host)?;
        let weight = checked_weight(page.weight)?;
        let estimate = match page.rate {
            None => Estimate::ZERO,
            Some(rate) if rate >= 0.0 && rate.is_finite() => {
                Estimate::new(&Prior::new(rate, page.confidence))
            }
            Some(_) => return Err(Error::Rate),
        };
        let id = self.take_place()?;
        let constraints = if page.has_constraints {
            self.flags_of(id)
        } else {
            0
        };
        // A little into the past, by weight: first come the heavy ones.
        let due = tick.before_days(0.01 * weight / (weight + self.state.prices.mean_weight()));
        if let Some(state) = self.pages.get_mut(id.index()) {
            let own = if page.rate.is_none() { 0 } else { OWN };
            let signals = own | constraints;
            self.state.has_constraints |= constraints != 0;
            *state = PageState {
                estimate,
                weight,
                host,
                due,
                place: Place::Queued,
                signals,
                ..PageState::FREE
            };
        }
        self.state.page_count += 1;
        self.state.all.add_page();
        self.host_mut(host)?.kin.add_page();
        self.follow_all(host);
        self.enqueue(gate, id);
        Ok(PageId::new(id.index()))
    }

    /// A free place of the page table.
    fn take_place(&mut self) -> Result<I, Error> {
        if let Some(page) = self.pages.get(self.state.free.index()) {
            return Ok(core::mem::replace(&mut self.state.free, page.links.up));
        }
        let id = I::from_index(self.state.pages_used).filter(|id| id.index() < self.pages.len());
        self.state.pages_used += usize::from(id.is_some());
        id.ok_or(Error::PagesFull)
    }

    pub(super) fn remove_page(&mut self, page: PageId) -> Result<(), Error> {
        let id = page_key(page)?;
        self.dequeue(id)?;
        let host = self.page_mut(id)?.host;
        self.host_mut(host)?.kin.remove_page();
        self.state.all.remove_page();
        let free = self.state.free;
        if let Some(state) = self.pages.get_mut(page.index()) {
            *state = PageState::FREE;
            state.links.up = free;
        }
        self.state.free = id;
        self.state.page_count -= 1;
        Ok(())
    }

    pub(super) fn set_weight(&mut self, page: PageId, weight: f32) -> Result<(), Error> {
        let weight = checked_weight(weight)?;
        let id = page_key(page)?;
        self.page_mut(id)?.weight = weight;
        if self.queued_mut(id).is_ok_and(|page| !page.must_wait()) {
            self.replan(id);
        }
        Ok(())
    }

    pub(super) fn fetch_after(&mut self, page: PageId, gap: Duration) -> Result<(), Error> {
        let id = page_key(page)?;
        self.queued_mut(id)?;
        if let Some(due) = self.planned(id, gap.as_days()) {
            self.reschedule(id, due, Place::Timed);
        }
        Ok(())
    }
}

/// A weight, brought to where f32 can compute with it.
fn checked_weight(weight: f32) -> Result<f32, Error> {
    let is_weight = weight > 0.0 && weight.is_finite();
    is_weight
        .then_some(weight.clamp(1e-9, 1e9))
        .ok_or(Error::Weight)
}
