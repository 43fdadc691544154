//! What to do now: the decision.

use super::page::{BY_CLOCK, Place};
use super::read::Read as _;
use super::state::{Chores, Core, State};
use super::tick::Tick;
use super::{Counter, Error, PageId};
use crate::forest;
use crate::heap::Id;
use crate::pace::rhythm::Credit;
use crate::time::{Duration, Instant};

/// Where there is a budget, a page may be fetched so many mean gaps before it is due.
const LEAD: f32 = 1.0 / 16.0;

/// A visit counts as late beyond this share of its page's gap.
const LATE: f32 = 0.1;

/// While prices are far off, they are corrected so often while there is nothing to fetch, in mean
/// times between two fetches.
const HURRY: f32 = 1.0 / 32.0;

/// Pages that change by the clock may be fetched before the budget allows it, so that all can be
/// that change at the same time: by the budget of the first round's day, and of one more. In days,
/// because the clocks of a list are those of a day as a rule.
const BUDGET_AHEAD: Duration = Duration::from_secs(2 * 86_400);

/// What to do now. There are these three answers and no others: a loop that matches them is
/// complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a page that is to be fetched blocks its host until its outcome is recorded"]
pub enum Decision {
    /// Fetch this page, then `record` what became of it. More may be asked for before that, from
    /// other hosts.
    Fetch(PageId),
    /// Nothing until then: sleep, and ask again.
    WaitUntil(Instant),
    /// Nothing until something is recorded or added.
    Idle,
}

impl<I: Id> Core<'_, I> {
    pub(super) fn set_budget(&mut self, per_day: Option<f32>, now: Instant) -> Result<(), Error> {
        if per_day.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return Err(Error::Budget);
        }
        let (now, _) = self.advance(now);
        self.state.budget.set(per_day, now);
        self.state.per_day = per_day;
        self.state.prices.settled = false;
        Ok(())
    }

    pub(super) fn begin_ahead(&mut self, fetches: u32) {
        self.state.budget.set_ahead(fetches);
    }

    pub(super) fn next(&mut self, now: Instant) -> Decision {
        let (now, tick) = self.advance(now);
        if self.state.chores.has_set_back {
            return self.wait();
        }
        if self.state.chores.hours < self.state.hosts_used {
            self.ask_some_hours_again();
        }
        self.open_gates(tick);
        let reach = tick.after_days(self.state.lead());
        // Each turn of the loop either returns or closes a gate.
        for _ in 0..Chores::HOSTS {
            let near = self.open.peek().copied().filter(|first| first.key <= reach);
            let Some(first) = near.filter(|first| first.key <= tick || !self.is_exact(first.id))
            else {
                // Nothing to fetch: time to think.
                self.sweep(tick);
                return self.wait();
            };
            if self.state.budget.opens() > now && !self.goes_ahead(first.id, now) {
                if first.key <= tick {
                    self.state.counters.count(Counter::SkippedByBudget);
                }
                self.sweep(tick);
                return Decision::WaitUntil(self.state.budget.opens());
            }
            if let Some(begin) = self.outside_hours(first.id, now) {
                self.await_hours(first.id, begin);
                continue;
            }
            return self
                .start(first.id, now, tick)
                .map_or(Decision::Idle, |id| {
                    Decision::Fetch(PageId::new(id.index()))
                });
        }
        self.wait()
    }

    /// May the first page of a gate be fetched before the budget allows it? One of the first round,
    /// or one that changes by the clock, for which later is too late.
    fn goes_ahead(&self, gate: I, now: Instant) -> bool {
        let first = self.host(gate).ok().map(|host| host.queue().index());
        let budget = &self.state.budget;
        first
            .and_then(|index| self.pages.get(index))
            .is_some_and(|page| {
                budget.goes_ahead() && page.last == Tick::NEVER
                    || page.signals & BY_CLOCK != 0 && budget.opens() < now + BUDGET_AHEAD
            })
    }

    /// Starts the fetch of the first page of a gate, the first of the open ones.
    fn start(&mut self, gate: I, now: Instant, tick: Tick) -> Option<I> {
        let id = self.host(gate).ok()?.queue();
        let root = forest::remove(self.pages, id, id);
        let host = self.host_mut(gate).ok()?;
        host.set_queue(root);
        host.gate.begin();
        let earliest = host.gate.earliest_after(now);
        self.open.pop();
        self.state.budget.spend(now);
        self.state.counters.count(Counter::Fetch);
        let earliest = self.state.clock.tick_after(earliest);
        let told = self.is_heard(id);
        let page = self.page_mut(id).ok()?;
        let late = tick.ticks_since(page.due);
        let gap = page.credit().gap(page.due.days_since(page.last));
        let days_late = tick.days_since(page.due) - page.due.days_since(tick);
        // A page that was told of keeps no rhythm: it is late for nothing.
        let due_again = page.last != Tick::NEVER && page.due != Tick::NEVER && !told;
        page.set_credit(if due_again {
            Credit::after(days_late, gap)
        } else {
            Credit::NONE
        });
        page.place = Place::InFlight;
        page.due = earliest;
        self.state.counters.late(if told { 0 } else { late });
        if due_again && days_late > LATE * gap {
            self.state.counters.count(Counter::Late);
        }
        Some(id)
    }

    /// Has anything been said about a page since its last fetch that counts?
    fn is_heard(&self, id: I) -> bool {
        let Some(page) = self.pages.get(id.index()) else {
            return false;
        };
        let signals = page.signals();
        let providers = &self.state.providers;
        cfg!(feature = "hints") && signals > 0 && providers.record(page.host, signals).is_some()
    }

    /// When there will be something to do.
    fn wait(&self) -> Decision {
        let state = &self.state;
        if state.chores.hours < state.hosts_used {
            return Decision::WaitUntil(state.soonest());
        }
        self.wakes().map_or(Decision::Idle, Decision::WaitUntil)
    }
}

impl<I> State<I> {
    /// How long before it is due a page may be fetched, in days: what the budget offers and nobody
    /// takes is lost.
    pub(super) fn lead(&self) -> f32 {
        match (self.per_day, self.prices.mean_gap()) {
            (Some(_), Some(mean)) => LEAD * mean,
            _ => 0.0,
        }
    }

    /// When there will be something to do: `first` is when the first page of an open gate is due,
    /// and how long before it may be fetched; `opens` is when the first closed gate opens.
    pub(super) fn wakes(&self, first: Option<(Tick, f32)>, opens: Option<Tick>) -> Option<Instant> {
        let due = first.map(|(due, _)| due);
        // Only calls correct prices and due times. While prices are far off, that goes faster than
        // the budget; and when all pages have been given up, at its pace: prices may have fallen
        // since.
        let given_up = due == Some(Tick::NEVER);
        let correction = due
            .filter(|_| given_up || !self.prices.settled)
            .map(|_| self.clock.tick_after(self.clock.latest() + self.pace()));
        let due = first.map(|(due, lead)| due.before_days(lead));
        let first = [due, opens, correction]
            .into_iter()
            .flatten()
            .min()
            .filter(|tick| *tick != Tick::NEVER);
        first.map(|tick| self.clock.instant(tick).max(self.soonest()))
    }

    /// The least that a caller is told to wait: with less it would spin.
    fn soonest(&self) -> Instant {
        self.clock.latest() + Duration::from_millis(1)
    }

    /// The time between two corrections of prices while there is nothing to fetch: the mean time
    /// between two fetches, and a part of that while prices are far off.
    fn pace(&self) -> Duration {
        let fetches = if self.prices.settled { 1.0 } else { HURRY };
        Duration::from_days(fetches * self.even_gap() / self.page_count as f32)
    }
}
