//! When a page is due: the gap that its value and the price make, counted from its last fetch.

use super::page::Place;
use super::read::Read as _;
use super::state::Core;
use super::tick::Tick;
use super::{Engine, PageSettings};
use crate::heap::Id;
use crate::learn::Estimate;
use crate::math::{greater, lesser};
use crate::pace::rhythm::Credit;

/// A page of which something is known is visited at least once in so many mean gaps, whatever it
/// seems to be worth: the belief may be wrong. Costs 3 % of the budget at most.
const PATIENCE: f32 = 32.0;
/// No page that is worth visiting at all is left alone for longer, in days: the clock's memory ends
/// at 203.
const MOST_GAP: f32 = 180.0;
/// A page whose last fetch failed or led nowhere is tried again after so many days at most, even if
/// the price says never: the price may fall.
pub(super) const MOST_RETRY: f32 = 32.0;

impl<I: Id> Core<'_, I> {
    /// Days between fetches of a page at present prices. `guess` is the likely result and saves
    /// steps; 0 for none.
    pub(super) fn gap_of(&self, id: I, guess: f32) -> f32 {
        let Some(page) = self.pages.get(id.index()) else {
            return f32::INFINITY;
        };
        let gate = self.gate_of(page.host).and_then(|gate| self.host(gate));
        let price = greater(
            gate.map_or(0.0, |host| host.price),
            self.state.prices.common,
        );
        let gap = page.belief().gap(page.weight, price, guess);
        let gap = if gap.is_finite() {
            lesser(gap, MOST_GAP)
        } else {
            gap
        };
        match self
            .state
            .prices
            .mean_gap()
            .filter(|_| page.estimate.shape() < PageSettings::CERTAIN)
        {
            Some(mean) => lesser(gap, PATIENCE * mean),
            None => gap,
        }
    }

    /// When a page that is worth a fetch every `gap` days is due; `None` before its first fetch.
    pub(super) fn planned(&self, id: I, gap: f32) -> Option<Tick> {
        let page = self
            .pages
            .get(id.index())
            .filter(|page| page.last != Tick::NEVER)?;
        let provider = self.state.providers.record(page.host, page.signals());
        let signals = provider.map(|provider| provider.signals(page.estimate.rate()));
        let days = signals.map_or(gap, |signals| {
            signals
                .days_until(gap, page.signals())
                .min(MOST_GAP.max(gap))
        });
        let credit = match self.state.settings.engine {
            Engine::Carousel => page.credit(),
            Engine::Index => Credit::NONE,
        };
        Some(page.last.after_days(credit.wait(days)))
    }

    /// Brings a page's due time in line with what is known now.
    pub(super) fn replan(&mut self, id: I) {
        if let Some(due) = self.planned(id, self.gap_of(id, 0.0)) {
            self.reschedule(id, due, Place::Queued);
        }
    }

    /// Believes of a page that has shown nothing yet what its host's pages have shown by now.
    pub(super) fn follow_host(&mut self, id: I) {
        let Some(page) = self.pages.get_mut(id.index()).filter(|page| page.follows()) else {
            return;
        };
        if let Some(host) = self.hosts.get(page.host.index()) {
            page.estimate = Estimate::new(&host.prior.prior());
        }
    }
}
