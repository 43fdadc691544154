//! Re-planning: the walk over all pages that finds the prices and keeps due times in line with
//! them.

use super::Counter;
use super::due::UNCHECKED_GAPS;
use super::host::HostState;
use super::page::{BY_CLOCK, PageState, Place};
use super::price;
use super::providers::{self, Providers};
use super::read::Read as _;
use super::state::{Chores, Core};
use super::tick::Tick;
use crate::heap::Id;
use crate::learn::Regularity;
use crate::math::{greater, lesser};

/// Pages looked at in a call that re-plans, while prices are about right.
const CALM_STEPS: u32 = 1;
/// Pages looked at while prices are far off: at the start, after a new budget.
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
        if self.state.prices.common <= 0.0 {
            // A guess: what it is worth to fetch this page after the even gap.
            let even = self.state.even_gap();
            self.state.prices.common = self.believed(&page).value(page.weight, even);
        }
        let waits = page.due.days_since(page.last);
        let gap = match page.place {
            Place::Timed if waits > 0.0 => waits,
            _ => self.gap_of(id, waits),
        };
        let demand = if self.state.providers.tells(page.host) {
            self.told_demand(id, &page, gap)
        } else if page.signals & BY_CLOCK == 0 {
            1.0 / gap.max(1e-9)
        } else {
            self.per_day_by_clock(id, &page, gap)
        };
        self.state.prices.add(demand);
        // Freshness is for people to read: where there are many pages, every fourth will do.
        let is_teller = cfg!(feature = "hints")
            && page.place == Place::Timed
            && self.state.providers.tells(page.host);
        if (self.state.pages_used <= 64 || self.state.prices.cursor.is_multiple_of(4)) && !is_teller
        {
            let seen = page.last != Tick::NEVER;
            let days = tick.days_since(page.last);
            let (fresh, achievable) = match self.clock_of(id, &page) {
                Some((clock, phase)) => {
                    // On average from one visit to the next, which is as good as now: it is visited
                    // just after it has changed.
                    let fresh = clock.fresh(phase, gap) / gap;
                    (fresh, fresh)
                }
                None => {
                    let believed = self.believed(&page);
                    let law = self.law_within(gap);
                    let (by_chance, unchanged) = believed.freshness_over(gap);
                    let mean = law.mean(unchanged, by_chance);
                    // Until it is due, a copy is as fresh as it is on average until then: looks come
                    // with visits, and the copy that has just been fetched is fresher than usual.
                    // When it is due, all laws agree, and hardly anything is late for long.
                    let is_late = days > gap;
                    (if is_late { believed.fresh(days) } else { mean }, mean)
                }
            };
            // Who has asked for a page in vain has no copy, nor will have one before it asks again.
            let comes = seen || page.due <= tick;
            let fresh = if seen { fresh } else { 0.0 };
            let achievable = if comes { achievable } else { 0.0 };
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
            let enough = if page.has_constraints() {
                0.0
            } else {
                0.03 * gap
            };
            if off > enough {
                self.reschedule(id, due, Place::Queued);
            }
        }
    }

    /// How regularly pages change that are visited after such a gap. Where it is longer than gaps
    /// are by which that was learnt, nobody knows: by chance.
    fn law_within(&self, gap: f32) -> &Regularity {
        if gap < UNCHECKED_GAPS * self.state.even_gap() {
            &self.state.regularity
        } else {
            &Regularity::NONE
        }
    }

    /// Fetches a day that a page asks for whose host tells, and would be worth one every `gap` days
    /// if it did not; books for the host what it would ask for then.
    #[cold]
    #[inline(never)]
    fn told_demand(&mut self, id: I, page: &PageState<I>, gap: f32) -> f32 {
        if page.place == Place::Timed {
            // A teller as a rule: the host pays for it out of what it saves.
            let demand = 1.0 / gap.max(1e-9);
            self.state.providers.ask(page.host, demand, 0.0);
            return demand;
        }
        let common = self.state.prices.common;
        let silent = if self.price_of(page) > common {
            self.gap_at(id, page, common, gap)
        } else {
            gap
        };
        let (silent, demand) = if page.signals & BY_CLOCK == 0 {
            let rate = self.believed(page).rate();
            let provider = self.state.providers.record(page.host, 0);
            let told = provider.map(|provider| providers::signals(&provider, rate));
            let demand = match told {
                Some(told) => {
                    let foreseen = told.visits_per_day(gap.max(1e-9));
                    self.state.providers.asked(foreseen)
                }
                None => 1.0 / gap.max(1e-9),
            };
            (1.0 / silent.max(1e-9), demand)
        } else {
            let demand = self.per_day_by_clock(id, page, gap);
            (demand, demand)
        };
        self.state.providers.ask(page.host, demand, silent);
        demand
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
        let hosts = self.hosts.get_mut(from..end.hosts).unwrap_or_default();
        for (index, host) in (from..).zip(hosts) {
            match (host.shared(), I::from_index(index)) {
                (None, Some(id)) => end.settle(host, id, &mut self.state.providers, common),
                // What its pages ask for is asked for at another gate.
                (_, Some(id)) => _ = self.state.providers.settle(id, 0.0),
                _ => {}
            }
        }
        if end.hosts < used {
            self.state.chores.round = end;
            return;
        }
        self.state.chores.round = RoundEnd::NONE;
        self.state.capacity = end.capacity;
        let fetches = self.state.counters.get(Counter::Fetch);
        let now = self.state.clock.tick(self.state.clock.latest());
        let per_day = self.state.per_day;
        let providers = &mut self.state.providers;
        providers.end_round(end.demand, end.supply, fetches, now, per_day);
        self.state.prices.end_round(
            end.demand,
            end.supply,
            end.cheapest,
            self.state.has_constraints,
        );
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
    fn settle<I: Id>(
        &mut self,
        host: &mut HostState<I>,
        id: I,
        providers: &mut Providers<I>,
        common: f32,
    ) {
        let asked = providers.settle(id, host.take_demand());
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
