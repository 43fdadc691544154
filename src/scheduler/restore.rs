//! What a scheduler that starts again is told of its earlier life.

use super::page::{FLAGS, OWN, Place};
use super::read::{Read as _, page_key};
use super::state::Core;
use super::tick::Tick;
use super::{Error, HostId, PageId};
use crate::heap::Id;
use crate::learn::{Estimate, Prior, Trust};
use crate::time::{Duration, Instant};

/// A page whose belief cannot be had to within this factor from its host's, with what it has shown
/// on top, keeps it for itself.
const UNLIKE: f32 = 2.0;

/// What is worth keeping of a host. (What its pages have taught about new ones is learnt again from
/// the pages.)
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostMemo {
    /// The least time between two fetches.
    pub gap: Duration,
    /// Failures in a row that are not forgiven yet.
    pub failures: u8,
    /// Its own price of a fetch, used where it is above the common one; 0 for none.
    pub price: f32,
}

impl<I: Id> Core<'_, I> {
    pub(super) fn restore_page(
        &mut self,
        page: PageId,
        estimate: Estimate,
        fetched_ago: Duration,
        certain: bool,
        now: Instant,
    ) -> Result<(), Error> {
        self.advance(now);
        let id = page_key(page)?;
        let host = self.queued_mut(id)?.host;
        self.state.trust.grant();
        self.teach_kin(host, &estimate, self.state.even_gap(), 1.0);
        let prior = self.host(host).map_or(Prior::DEFAULT, |host| host.prior);
        // What it has shown beyond its host's pages counts as far as such records are trusted. A
        // page whose habits had changed is not like them, and cannot be told from them that way.
        let shown = estimate.beyond(&prior);
        let off = shown.on(&prior).rate() / estimate.rate();
        let is_kin = (1.0 / UNLIKE..=UNLIKE).contains(&off);
        let state = self.queued_mut(id)?;
        state.last = Tick::NEVER;
        state.signals &= FLAGS & !OWN;
        if is_kin {
            state.estimate = shown;
        } else {
            state.estimate = estimate;
            state.signals |= OWN;
        }
        if certain {
            return self.date_page(page, fetched_ago, now);
        }
        self.expect_page(page, fetched_ago, now)
    }

    pub(super) fn expect_page(
        &mut self,
        page: PageId,
        fetched_ago: Duration,
        now: Instant,
    ) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        self.queued_mut(id)?;
        let gap = self.retry_after(self.gap_of(id, 0.0));
        let due = tick.before_days(fetched_ago.as_days()).after_days(gap);
        self.reschedule(id, due, Place::Pinned);
        Ok(())
    }

    pub(super) fn believe(&mut self, page: PageId, estimate: Estimate) -> Result<(), Error> {
        let state = self.page_mut(page_key(page)?)?;
        state.estimate = estimate;
        state.signals = state.signals & FLAGS | OWN;
        Ok(())
    }

    pub(super) fn date_page(
        &mut self,
        page: PageId,
        fetched_ago: Duration,
        now: Instant,
    ) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let id = page_key(page)?;
        let state = self.queued_mut(id)?;
        if state.last == Tick::NEVER {
            state.last = tick.before_days(fetched_ago.as_days());
            self.replan(id);
        }
        Ok(())
    }

    pub(super) fn restore_host(
        &mut self,
        host: HostId,
        memo: &HostMemo,
        now: Instant,
    ) -> Result<(), Error> {
        self.advance(now);
        let host = self.host_mut(self.gate(host)?)?;
        host.gate.set_gap(memo.gap);
        host.gate.restore_failures(memo.failures, now);
        host.price = memo.price.max(0.0);
        Ok(())
    }

    pub(super) fn restore_trust(&mut self, trust: Trust) {
        self.state.trust = trust;
    }

    pub(super) fn restore_price(&mut self, price: f32) {
        if price > 0.0 && price.is_finite() {
            self.state.prices.common = price;
        }
    }
}
