//! The steps behind the scheduler's calls.

use super::page::{FOLLOWS, Place};
use super::tick::Tick;
use super::{
    CALM_STEPS, CLOCK_RECHECK, Core, Decision, Engine, Error, Estimate, Event, HURRIED_STEPS,
    HostState, KNOWN, LEAD, MOST_GAP, MOST_RETRY, Outcome, PATIENCE, PageId, PageState, RECHECK,
    Storage, index, price,
};
use crate::forest;
use crate::heap::Id;
use crate::learn::Visit;
use crate::time::{Duration, Instant};

impl<S: Storage> Core<S> {
    /// Sets the clock, and all stored times back with it where it would run out of range.
    pub(super) fn advance(&mut self, now: Instant) -> (Instant, Tick) {
        let now = self.clock.set(now);
        if let Some(by) = self.clock.rebase() {
            self.move_ticks(by);
        }
        (now, self.clock.tick(now))
    }

    pub(super) fn host(&self, id: S::Id) -> Result<&HostState<S::Id>, Error> {
        self.hosts
            .as_ref()
            .get(id.index())
            .filter(|_| id.index() < self.hosts_used)
            .ok_or(Error::UnknownHost)
    }

    pub(super) fn host_mut(&mut self, id: S::Id) -> Result<&mut HostState<S::Id>, Error> {
        let used = self.hosts_used;
        self.hosts
            .as_mut()
            .get_mut(id.index())
            .filter(|_| id.index() < used)
            .ok_or(Error::UnknownHost)
    }

    /// The host whose gate and queue a host uses: itself, or the one it shares with.
    pub(super) fn gate_of(&self, host: S::Id) -> Result<S::Id, Error> {
        Ok(self.host(host)?.shared().unwrap_or(host))
    }

    pub(super) fn known_mut(&mut self, id: S::Id) -> Result<&mut PageState<S::Id>, Error> {
        let page = self.pages.as_mut().get_mut(id.index());
        page.filter(|page| page.place != Place::Free)
            .ok_or(Error::UnknownPage)
    }

    pub(super) fn queued(&mut self, id: S::Id) -> Result<&mut PageState<S::Id>, Error> {
        self.known_mut(id).and_then(|page| match page.place {
            Place::InFlight => Err(Error::UnknownPage),
            _ => Ok(page),
        })
    }

    /// A free place of the page table.
    pub(super) fn take_place(&mut self) -> Result<S::Id, Error> {
        if let Some(page) = self.pages.as_ref().get(self.free.index()) {
            return Ok(core::mem::replace(&mut self.free, page.links.up));
        }
        let id =
            S::Id::from_index(self.pages_used).filter(|id| id.index() < self.pages.as_ref().len());
        self.pages_used += usize::from(id.is_some());
        id.ok_or(Error::PagesFull)
    }

    /// Puts a page into the queue of a gate.
    pub(super) fn enqueue(&mut self, gate: S::Id, id: S::Id) {
        if let Ok(queue) = self.host(gate).map(|host| host.queue) {
            let root = forest::push(self.pages.as_mut(), queue, id);
            self.set_queue(gate, root);
        }
    }

    /// Takes a page out of its queue and returns the gate.
    pub(super) fn dequeue(&mut self, id: S::Id) -> Result<S::Id, Error> {
        let host = self.queued(id)?.host;
        let gate = self.gate_of(host)?;
        let queue = self.host(gate)?.queue;
        let root = forest::remove(self.pages.as_mut(), queue, id);
        self.set_queue(gate, root);
        Ok(gate)
    }

    fn set_queue(&mut self, gate: S::Id, root: S::Id) {
        if let Ok(host) = self.host_mut(gate) {
            host.queue = root;
            self.settle(gate);
        }
    }

    pub(super) fn reschedule(&mut self, id: S::Id, due: Tick, place: Place) {
        let Ok(gate) = self.dequeue(id) else { return };
        if let Ok(page) = self.known_mut(id) {
            (page.due, page.place) = (due, place);
        }
        self.enqueue(gate, id);
    }

    /// Brings a page's due time in line with what is known now.
    pub(super) fn replan(&mut self, id: S::Id) {
        if let Some(due) = self.planned(id, self.gap_of(id, 0.0)) {
            self.reschedule(id, due, Place::Queued);
        }
    }

    /// Brings the heap of open hosts in line with a gate's queue, unless the gate is closed.
    pub(super) fn settle(&mut self, gate: S::Id) {
        let Ok(host) = self.host(gate) else { return };
        if host.gate.is_busy() || self.closed.contains(gate) {
            return;
        }
        match self
            .pages
            .as_ref()
            .get(host.queue.index())
            .map(|page| page.due)
        {
            None => _ = self.open.remove(gate),
            Some(due) => {
                if self.open.update(gate, due).is_none() {
                    // There is a place for every host, and this one is in neither heap.
                    let _ = self.open.push(gate, due);
                }
            }
        }
    }

    /// Closes a gate until then. It is in no heap.
    pub(super) fn close(&mut self, gate: S::Id, opens: Tick) {
        let _ = self.closed.push(gate, opens);
    }

    /// Closes an open gate until its hours begin.
    pub(super) fn await_hours(&mut self, gate: S::Id, begin: Tick) {
        self.open.remove(gate);
        if let Ok(host) = self.host_mut(gate) {
            host.gate.set_waits_for_hours(true);
        }
        self.close(gate, begin);
    }

    /// Opens a gate that waits for nothing but its hours, so that [`Self::outside_hours`] is asked
    /// again.
    pub(super) fn ask_hours_again(&mut self, gate: S::Id) {
        if self
            .host(gate)
            .is_ok_and(|host| host.gate.waits_for_hours())
        {
            self.closed.remove(gate);
            self.settle(gate);
        }
    }

    /// Opens the gates whose time has come.
    pub(super) fn open_gates(&mut self, tick: Tick) {
        while let Some(entry) = self
            .closed
            .peek()
            .copied()
            .filter(|entry| entry.key <= tick)
        {
            self.closed.pop();
            self.settle(entry.id);
            if self.open.key(entry.id).is_some_and(|due| due < entry.key) {
                self.counters.count(Event::SkippedByGate);
            }
        }
    }

    /// How long before it is due a page may be fetched, in days: what the budget offers and nobody
    /// takes is lost.
    pub(super) fn lead(&self) -> f32 {
        match (self.per_day, self.prices.mean_gap()) {
            (Some(_), Some(mean)) => LEAD * mean,
            _ => 0.0,
        }
    }

    /// When there will be something to do.
    pub(super) fn wait(&self) -> Decision<S::Id> {
        let due = self
            .open
            .peek()
            .map(|entry| entry.key.before_days(self.lead()));
        let opens = self.closed.peek().map(|entry| entry.key);
        // Only calls correct prices and due times. While prices are far off, that goes at the pace
        // of the budget; and when all pages have been given up, every hour: prices may have fallen
        // since.
        let given_up = self
            .open
            .peek()
            .is_some_and(|entry| entry.key == Tick::NEVER);
        let correction = due.filter(|_| given_up || !self.prices.settled).map(|_| {
            let pace = match self.per_day {
                _ if self.prices.settled => Duration::HOUR,
                Some(rate) => Duration::from_days(1.0 / rate)
                    .max(Duration::from_secs(1))
                    .min(Duration::HOUR),
                None => Duration::from_secs(1),
            };
            self.clock.tick_after(self.clock.latest() + pace)
        });
        let first = [due, opens, correction]
            .into_iter()
            .flatten()
            .min()
            .filter(|tick| *tick != Tick::NEVER);
        // What re-planning has just found due can wait for a moment, and a wait must be one.
        let soonest = self.clock.latest() + Duration::from_millis(1);
        first.map_or(Decision::Idle, |tick| {
            Decision::WaitUntil(self.clock.instant(tick).max(soonest))
        })
    }

    /// When the hours of a host begin, if this is not the time.
    pub(super) fn outside_hours(&mut self, gate: S::Id, now: Instant) -> Option<Tick> {
        let hours = self.host(gate).ok()?.gate.hours();
        if hours.is_always() {
            return None;
        }
        let wait = match self.wall {
            Some((then, time_of_day)) => hours.wait(time_of_day + (now - then)),
            None if self.settings.fetch_without_clock => Duration::ZERO,
            None => {
                self.counters.count(Event::SkippedByClock);
                CLOCK_RECHECK
            }
        };
        (!wait.is_zero()).then(|| self.clock.tick_after(now + wait))
    }

    /// Starts the fetch of the first page of a gate.
    pub(super) fn start(&mut self, gate: S::Id, now: Instant) -> Option<PageId<S::Id>> {
        let tick = self.clock.tick(now);
        let id = self.host(gate).ok()?.queue;
        let root = forest::remove(self.pages.as_mut(), id, id);
        let host = self.host_mut(gate).ok()?;
        host.queue = root;
        host.gate.begin();
        let earliest = host.gate.earliest_after(now);
        self.open.remove(gate);
        self.budget.spend(now);
        self.counters.count(Event::Fetch);
        let earliest = self.clock.tick_after(earliest);
        let page = self.known_mut(id).ok()?;
        let late = tick.ticks_since(page.due);
        let gap = page.due.days_since(page.last) / (1.0 - page.credit()).max(0.01);
        let share = (tick.days_since(page.due) - page.due.days_since(tick)) / gap;
        let due_again = page.last != Tick::NEVER && page.due != Tick::NEVER;
        page.set_credit(if due_again { share } else { 0.0 });
        page.place = Place::InFlight;
        page.due = earliest;
        self.counters.late(late);
        if due_again && share > 0.1 {
            self.counters.count(Event::Late);
        }
        Some(PageId(id))
    }

    /// When a gate opens after a fetch.
    pub(super) fn after_fetch(
        &mut self,
        gate: S::Id,
        earliest: Tick,
        outcome: Outcome,
        now: Instant,
    ) -> Result<Tick, Error> {
        // xorshift: the spread of back-offs need not be any better.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let (random, rules, earliest) = (
            self.random,
            self.settings.rules,
            self.clock.instant(earliest),
        );
        let opens =
            self.host_mut(gate)?
                .gate
                .opens(earliest, now, outcome.answer(), &rules, random);
        Ok(self.clock.tick_after(opens))
    }

    /// Learns from an outcome.
    pub(super) fn learn(&mut self, id: S::Id, outcome: Outcome, tick: Tick) {
        let settings = self.settings.learn;
        let (changed, modified_ago) = match outcome {
            Outcome::Changed { modified_ago } => (true, modified_ago),
            Outcome::Unchanged => (false, None),
            _ => return,
        };
        self.follow_host(id);
        let Ok(page) = self.known_mut(id) else { return };
        let (host, before) = (page.host, page.last);
        page.last = tick;
        if before == Tick::NEVER {
            // Nothing to compare with yet.
            page.signals &= FOLLOWS;
            if let Some(ago) = modified_ago {
                page.estimate.first_visit(ago);
                page.signals = 0;
            }
            return;
        }
        let signals = page.signals();
        page.signals = 0;
        let interval = tick.since(before);
        let visit = Visit {
            interval,
            changed,
            modified_ago,
        };
        let mut estimate = page.estimate;
        match self.providers.record_mut(host, signals) {
            // Visits that signals have prompted find changes more often than chance.
            Some(provider) => {
                estimate.update_signalled(&visit, signals, provider, &settings);
                provider.update(&visit, signals, estimate.rate());
            }
            None => estimate.update(&visit, &settings),
        }
        if let Ok(page) = self.known_mut(id) {
            page.estimate = estimate;
        }
        if let Ok(host) = self.host_mut(host) {
            host.prior.update(&estimate, interval);
        }
    }

    /// When a page is due after a fetch, and in what place it waits. Its gate opens at `opens`; the
    /// answer before came `since_last` days ago.
    pub(super) fn after_outcome(
        &self,
        id: S::Id,
        outcome: Outcome,
        since_last: f32,
        tick: Tick,
        opens: Tick,
    ) -> (Tick, Place) {
        let gap = self.gap_of(id, since_last);
        let retry = gap.min(MOST_RETRY);
        match outcome {
            Outcome::Changed { .. } | Outcome::Unchanged => {
                (self.planned(id, gap).unwrap_or(Tick::NEVER), Place::Queued)
            }
            Outcome::Redirected => (tick.after_days(retry), Place::Pinned),
            Outcome::Gone | Outcome::Denied => (
                tick.after(RECHECK).max(tick.after_days(retry)),
                Place::Pinned,
            ),
            Outcome::Postponed => (tick, Place::Pinned),
            // A page that was never seen has no copy that could do for the time being, and nothing
            // is known of its gap.
            Outcome::Refused { .. } | Outcome::Failed if since_last <= 0.0 => {
                (opens.after_days(opens.days_since(tick)), Place::Pinned)
            }
            // Soon again, but behind the pages that wait.
            Outcome::Refused { .. } | Outcome::Failed => {
                (opens.max(tick.after_days(0.25 * retry)), Place::Pinned)
            }
        }
    }

    /// Believes of a page that has shown nothing yet what its host's pages have shown by now.
    fn follow_host(&mut self, id: S::Id) {
        let Some(page) = self
            .pages
            .as_mut()
            .get_mut(id.index())
            .filter(|page| page.follows())
        else {
            return;
        };
        if let Some(host) = self.hosts.as_ref().get(page.host.index()) {
            page.estimate = Estimate::new(&host.prior.prior());
        }
    }

    /// Days between fetches of a page at present prices; with a guess, or 0.
    pub(super) fn gap_of(&self, id: S::Id, guess: f32) -> f32 {
        let Some(page) = self.pages.as_ref().get(id.index()) else {
            return f32::INFINITY;
        };
        let gate = self.gate_of(page.host).and_then(|gate| self.host(gate));
        let price = gate.map_or(0.0, |host| host.price).max(self.prices.common);
        let gap = index::gap(&page.estimate, page.weight, price, guess);
        let gap = if gap.is_finite() {
            gap.min(MOST_GAP)
        } else {
            gap
        };
        match self
            .prices
            .mean_gap()
            .filter(|_| page.estimate.shape() < KNOWN)
        {
            Some(mean) => gap.min(PATIENCE * mean),
            None => gap,
        }
    }

    /// When a page that is worth a fetch every `gap` days is due; `None` before its first fetch.
    pub(super) fn planned(&self, id: S::Id, gap: f32) -> Option<Tick> {
        let page = self
            .pages
            .as_ref()
            .get(id.index())
            .filter(|page| page.last != Tick::NEVER)?;
        let provider = self.providers.record(page.host, page.signals());
        let signals = provider.map(|provider| provider.signals(page.estimate.rate()));
        let days = signals.map_or(gap, |signals| {
            signals
                .days_until(gap, page.signals())
                .min(MOST_GAP.max(gap))
        });
        let credit = if self.settings.engine == Engine::Carousel {
            page.credit()
        } else {
            0.0
        };
        Some(page.last.after_days(days * (1.0 - credit)))
    }

    /// Looks at a few pages: what they ask for, whether their due times still fit.
    pub(super) fn sweep(&mut self, tick: Tick) {
        let steps = if self.prices.settled {
            CALM_STEPS
        } else {
            HURRIED_STEPS
        };
        for _ in 0..steps {
            if self.prices.cursor >= self.pages_used {
                self.end_round();
                return;
            }
            let id = S::Id::from_index(self.prices.cursor);
            self.prices.cursor += 1;
            if let Some(id) = id {
                self.look_at(id, tick);
            }
        }
    }

    fn look_at(&mut self, id: S::Id, tick: Tick) {
        self.follow_host(id);
        let Some(page) = self
            .pages
            .as_ref()
            .get(id.index())
            .filter(|page| page.place != Place::Free)
            .copied()
        else {
            return;
        };
        if self.prices.common <= 0.0 {
            self.prices.common = self.first_price(&page);
        }
        let gap = self.gap_of(id, page.due.days_since(page.last));
        let provider = self.providers.record(page.host, 0);
        let speed = provider.map_or(1.0, |provider| {
            provider.signals(page.estimate.rate()).speed()
        });
        let demand = speed / gap.max(1e-9);
        self.prices.add(demand);
        // Freshness is for people to read: where there are many pages, every fourth will do.
        if self.pages_used <= 64 || self.prices.cursor.is_multiple_of(4) {
            let seen = page.last != Tick::NEVER;
            let fresh = if seen {
                index::fresh(&page.estimate, tick.days_since(page.last))
            } else {
                0.0
            };
            self.prices.sample(
                page.weight,
                fresh,
                index::mean_freshness(&page.estimate, gap),
            );
        }
        if let Ok(host) = self.gate_of(page.host).and_then(|gate| self.host_mut(gate)) {
            host.demand += demand;
        }
        if page.place == Place::Queued
            && let Some(due) = self.planned(id, gap)
        {
            // A queue is not touched for a few hundredths of a gap: value is flat around its best.
            let off = due.days_since(page.due).max(page.due.days_since(due));
            if off > 0.03 * gap {
                self.reschedule(id, due, Place::Queued);
            }
        }
    }

    /// A guess at the price: what it is worth to fetch this page after the mean gap.
    fn first_price(&self, page: &PageState<S::Id>) -> f32 {
        let per_day = self.per_day.unwrap_or(self.page_count as f32);
        index::value(
            &page.estimate,
            page.weight,
            self.page_count as f32 / per_day,
        )
    }

    /// Corrects the prices by what a round has found.
    fn end_round(&mut self) {
        let common = self.prices.common;
        let (mut demand, mut supply, mut cheapest) =
            (0.0, self.per_day.unwrap_or(f32::INFINITY), f32::INFINITY);
        let mut idle = false;
        let reach = self.hosts_used;
        for host in self
            .hosts
            .as_mut()
            .iter_mut()
            .take(reach)
            .filter(|host| host.shared().is_none())
        {
            let (asked, cap, price) = (host.demand, host.cap(), host.price.max(common));
            host.demand = 0.0;
            host.price = if host.price > 0.0 || asked > cap {
                price::host_price(asked, cap, price, common)
            } else {
                0.0
            };
            // A host that could serve twice as much: its price has to come down, and soon.
            idle |= host.price > 0.0 && 2.0 * asked < cap;
            if host.price > 0.0 {
                supply -= asked.min(cap);
                cheapest = cheapest.min(host.price);
            } else {
                demand += asked;
            }
        }
        self.prices.end_round(demand, supply, cheapest);
        self.prices.settled &= !idle;
    }

    /// Sets all times back with the clock.
    pub(super) fn move_ticks(&mut self, by: u32) {
        let used = self.pages_used;
        for page in self.pages.as_mut().iter_mut().take(used) {
            (page.last, page.due) = (page.last.moved(by), page.due.moved(by));
        }
        self.closed.map_keys(|key| key.moved(by));
        self.open.map_keys(|key| key.moved(by));
    }
}
