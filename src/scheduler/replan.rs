//! Re-planning: the walk over all pages that finds the prices and keeps due times in line with
//! them.

use super::host::HostState;
use super::page::{Place, belief};
use super::price;
use super::read::Read as _;
use super::state::{Chores, Core};
use super::tick::Tick;
use crate::heap::Id;
use crate::math::{greater, lesser};

/// Pages looked at in a call that re-plans, while prices are about right.
const CALM_STEPS: u32 = 1;
/// And while they are far off: at the start, after a new budget.
const HURRIED_STEPS: u32 = 24;

impl<I: Id> Core<'_, I> {
    /// Looks at a few pages: what they ask for, whether their due times still fit.
    pub(super) fn sweep(&mut self, tick: Tick) {
        if self.state.chores.has_set_back {
            return;
        }
        let steps = if self.state.prices.settled {
            CALM_STEPS
        } else {
            HURRIED_STEPS
        };
        for _ in 0..steps {
            let has_seen_all = self.state.prices.cursor >= self.state.pages_used;
            if has_seen_all || self.state.chores.round.has_begun() {
                self.end_round();
                return;
            }
            let id = I::from_index(self.state.prices.cursor);
            self.state.prices.cursor += 1;
            if let Some(id) = id {
                self.look_at(id, tick);
            }
        }
    }

    fn look_at(&mut self, id: I, tick: Tick) {
        let Some(page) = self
            .pages
            .get(id.index())
            .filter(|page| page.place != Place::Free)
            .copied()
        else {
            return;
        };
        let believed = self.believed(&page);
        if self.state.prices.common <= 0.0 {
            // A guess: what it is worth to fetch this page after the even gap.
            let even = self.state.even_gap();
            self.state.prices.common = belief(&believed).value(page.weight, even);
        }
        let waits = page.due.days_since(page.last);
        let gap = match page.place {
            Place::Timed if waits > 0.0 => waits,
            _ => self.gap_of(id, waits),
        };
        let provider = self.state.providers.record(page.host, 0);
        let speed = provider.map_or(1.0, |provider| provider.signals(believed.rate()).speed());
        let demand = speed / gap.max(1e-9);
        self.state.prices.add(demand);
        // Freshness is for people to read: where there are many pages, every fourth will do.
        if self.state.pages_used <= 64 || self.state.prices.cursor.is_multiple_of(4) {
            let seen = page.last != Tick::NEVER;
            let days = tick.days_since(page.last);
            let (fresh, achievable) = match self.clock_of(id, &page) {
                Some((clock, phase)) => {
                    // On average from one visit to the next, which is as good as now: it is visited
                    // just after it has changed.
                    let fresh = clock.fresh(phase, gap) / gap;
                    (fresh, fresh)
                }
                None => (
                    belief(&believed).fresh(days),
                    belief(&believed).mean_freshness(gap),
                ),
            };
            let fresh = if seen { fresh } else { 0.0 };
            self.state.prices.sample(page.weight, fresh, achievable);
        }
        if let Ok(host) = self.gate_of(page.host).and_then(|gate| self.host_mut(gate)) {
            host.ask(demand);
        }
        if page.place == Place::Queued
            && let Some(due) = self.planned(id, gap)
        {
            // A queue is not touched for a few hundredths of a gap: value is flat around its best.
            let off = due.days_since(page.due).max(page.due.days_since(due));
            let enough = if page.has_terms() { 0.0 } else { 0.03 * gap };
            if off > enough {
                self.reschedule(id, due, Place::Queued);
            }
        }
    }

    /// Corrects the prices by what a round has found: host by host, some in each call, and with
    /// the last of them the common one.
    fn end_round(&mut self) {
        let common = self.state.prices.common;
        let used = self.state.hosts_used;
        let mut end = self.state.chores.round;
        if !end.has_begun() {
            end.supply = self.state.per_day.unwrap_or(f32::INFINITY);
            let share = self.state.settings.host_share;
            if share < 1.0 {
                end.share = greater(share, 0.0) * end.supply;
            }
        }
        let from = end.hosts;
        end.hosts = (from + Chores::HOSTS).min(used);
        for host in self.hosts.get_mut(from..end.hosts).unwrap_or_default() {
            if host.shared().is_none() {
                end.settle(host, common);
            }
        }
        if end.hosts < used {
            self.state.chores.round = end;
            return;
        }
        self.state.chores.round = RoundEnd::NONE;
        self.state.capacity = end.capacity;
        self.state
            .prices
            .end_round(end.demand, end.supply, end.cheapest);
        self.state.prices.settled &= !end.idle;
    }
}

/// What the end of a round has found so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundEnd {
    /// Hosts that have been looked at.
    hosts: usize,
    /// What pages ask for at the common price.
    demand: f32,
    /// What hosts with a price of their own leave of the budget.
    supply: f32,
    /// The least of those prices.
    cheapest: f32,
    /// The most that one host may have of the budget.
    share: f32,
    /// What the gates of all hosts let through.
    capacity: f32,
    /// A host could serve twice as much: its price has to come down, and soon.
    idle: bool,
}

impl RoundEnd {
    pub(super) const NONE: Self = Self {
        hosts: 0,
        demand: 0.0,
        supply: 0.0,
        cheapest: f32::INFINITY,
        share: f32::INFINITY,
        capacity: 0.0,
        idle: false,
    };

    fn has_begun(&self) -> bool {
        self.hosts > 0
    }

    /// Corrects the price of a host, and books what it leaves for the others.
    fn settle<I: Id>(&mut self, host: &mut HostState<I>, common: f32) {
        let asked = host.take_demand();
        self.capacity += host.cap();
        let cap = lesser(host.cap(), self.share);
        host.price = if host.price > 0.0 || asked > cap {
            price::host_price(asked, cap, greater(host.price, common), common)
        } else {
            0.0
        };
        if host.price > 0.0 {
            self.idle |= 2.0 * asked < cap;
            self.supply -= lesser(asked, cap);
            self.cheapest = lesser(self.cheapest, host.price);
        } else {
            self.demand += asked;
        }
    }
}
