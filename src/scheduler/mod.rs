//! What next? One type that owns all state and answers: sans-IO, time in, decision out.
//!
//! ```
//! use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, Settings};
//! use dunlin::time::{Duration, Instant};
//!
//! let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
//! let mut now = Instant::ZERO; // your clock
//! scheduler.set_budget(Some(2_000.0), now)?;
//! let host = scheduler.add_host(Duration::from_secs(15))?;
//! let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
//! for _ in 0..10 {
//!     match scheduler.next(now) {
//!         Decision::Fetch(page) => scheduler.record(page, Outcome::Unchanged, now)?, // your HTTP client
//!         Decision::WaitUntil(then) => now = then,                                   // sleep
//!         Decision::Idle => break, // nothing to wait for but your own `record` or `add_page`
//!     }
//! }
//! # Ok::<(), dunlin::scheduler::Error>(())
//! ```
//!
//! # How it decides
//! Every page has a *due time*: when fetching it is worth the price of a fetch. Every host has a
//! queue of its pages by due time and a gate. [`next`](Core::next) takes the page that is due first
//! among hosts whose gates are open. The price is corrected all the time so that the budget is just
//! spent.
//!
//! [`Engine::Index`] counts a page's gap from its last fetch: value decides, nothing is made up
//! for. [`Engine::Carousel`] counts it from when the last fetch was due, up to one gap either way,
//! so that a page keeps its rhythm and its rate however late or early single fetches are: Azar's
//! carousel in continuous time.
//!
//! The carousel is the default, by measurement: 10,000 pages on 200 hosts, 0.2 visits a page and
//! day, share of the optimum over the second half of the time.
//!
//! | | carousel | index | round robin | Nutch | StormCrawler |
//! |---|---|---|---|---|---|
//! | rates known | 1.003 | 1.004 | 0.983 | 0.970 | 0.965 |
//! | half of the hosts at their cap | 1.004 | 0.998 | 0.976 | 0.963 | 0.958 |
//! | rates unknown, 30 days | 0.981 | 0.981 | 0.982 | 0.981 | 0.956 |
//! | the same, rates that differ by factors of hundreds | 0.954 | 0.952 | 0.940 | 0.945 | 0.926 |
//!
//! They are equals where pages are late by chance. Where a gate makes pages late all the time, the
//! index engine adds the same wait to every page's gap, which distorts short gaps most; the
//! carousel makes it up. Where rates hardly differ and a page is seen six times in all, there is
//! little to be learnt, and no rule beats another by much. (One simulated run, which starts with
//! fresh copies: shares are right to some thousandths and may exceed 1.)
//!
//! # Start, restart, overload
//! New pages are fetched at the pace of the budget, heavy ones first; until a page has shown
//! something itself it is believed to be like its host's others. After a restart
//! ([`restore_page`](Core::restore_page)) or a day without network, what is overdue is fetched at
//! the same pace: no burst beyond [`Settings::burst`]. Where budget or a gate cannot keep up,
//! prices rise until those pages wait that lose least by it, and [`Event::SkippedByGate`],
//! [`Event::SkippedByBudget`], [`Event::Late`] and [`Counters::late_seconds`] say so.
//!
//! # Work
//! | call | bound |
//! |---|---|
//! | `next` | O(log pages + log hosts), and for each gate that opened since the last call O(log hosts) |
//! | `record`, `hint`, `add_page`, `remove_page`, `set_weight` | O(log pages + log hosts) |
//! | re-planning, inside a `next` that has nothing to fetch and every sixteenth `record` | 1 page, 24 while prices are far off; O(hosts) once a round |
//! | `share_gate`, `set_clock` | O(hosts) |
//! | every 101 days, inside the call that is told the time | O(pages + hosts): the clock is set back |
//!
//! At 4,096 pages on 512 hosts the dearest call of all – the clock is set back, a round ends and
//! all gates open at once – takes 579,000 instructions on a Cortex-M4F and 830,000 in code for a
//! Cortex-M0: 33 ms at 25 MHz.
//!
//! # Memory
//! | per page | bytes | per host | bytes |
//! |---|---|---|---|
//! | change-rate belief | 12 | gate | 10 |
//! | weight | 4 | queue | 2 |
//! | last fetch, next due | 8 | price, demand | 8 |
//! | queue links, what a carousel makes up for | 8 | prior of new pages | 12 |
//! | host, place, signals | 4 | two heaps | 16 |
//! | **together** | **36** | | **48** |
//!
//! Some 500 bytes more in all; [`Scheduler::SIZE`] says it exactly. What a probe keeps besides,
//! with feature `probe`:
//!
//! | per page | bytes | per host | bytes |
//! |---|---|---|---|
//! | `ETag`, up to 40 bytes | 41 | address and how long it holds | 26 |
//! | fingerprint | 8 | robots.txt: access and how long it holds | 16 |
//! | `Last-Modified` | 4 | the same, and a back-off, of an earlier run | 13 |
//! | robots verdict | 1 | | |
//! | for the store: identity, place, date of an earlier fetch | 10 | for the store: identity, place | 6 |
//! | **together** | **64** | with padding | **64** |
//!
//! The store itself takes some 100 bytes, its only cache – the position in the current sector –
//! included.
//!
//! Robots rules are not kept: a file is judged as it streams by. URLs and names are in flash, in
//! the page image.

mod budget;
mod counters;
mod gate;
mod host;
mod index;
mod inner;
mod page;
mod price;
mod providers;
mod restore;
mod storage;
mod tick;
mod types;

pub use counters::{Counters, Event};
pub use host::HostState;
pub use page::PageState;
pub use restore::HostMemo;
#[cfg(feature = "std")]
pub use storage::Large;
pub use storage::{Fixed, Lent, Room, Storage};
pub use types::{Decision, Engine, Error, HostId, Outcome, PageId, PageSettings, Settings};

use budget::Budget;
use page::{FOLLOWS, Place};
use price::Prices;
use providers::Providers;
use tick::{Clock, Tick};

use crate::forest;
use crate::heap::{Heap, Id};
use crate::learn::hints::Hint;
use crate::learn::{Estimate, Prior};
use crate::polite::{Gate, Hours};
use crate::time::{Duration, Instant};

/// Pages looked at in a call that re-plans, while prices are about right.
const CALM_STEPS: u32 = 1;
/// One fetch in so many re-plans, too.
const BUSY: u32 = 16;
/// And while they are far off: at the start, after a new budget.
const HURRIED_STEPS: u32 = 24;
/// A page of which something is known is visited at least once in so many mean gaps, whatever it
/// seems to be worth: the belief may be wrong. Costs 3 % of the budget at most.
const PATIENCE: f32 = 32.0;
/// Where there is a budget, a page may be fetched so many mean gaps before it is due.
const LEAD: f32 = 1.0 / 16.0;
/// Beyond this shape a rate counts as known, and a page may be given up.
const KNOWN: f32 = 500.0;
/// No page that is worth visiting at all is left alone for longer, in days: the clock's memory ends
/// at 203.
const MOST_GAP: f32 = 180.0;
/// Nor is one, in days, whose last fetch failed or led nowhere: whatever the price then, it may
/// fall.
const MOST_RETRY: f32 = 32.0;
/// A page that is gone, or that robots rules forbid, is looked at again after this.
const RECHECK: Duration = Duration::DAY;
/// While hours cannot be checked, the host is asked about again after this.
const CLOCK_RECHECK: Duration = Duration::HOUR;

/// The scheduler for `PAGES` pages on `HOSTS` hosts in static memory; ids are 16 bits, so up to
/// 65,534 of either.
pub type Scheduler<const PAGES: usize, const HOSTS: usize> = Core<Fixed<PAGES, HOSTS>>;

/// The scheduler, over storage of a kind; see [`Scheduler`].
#[derive(Debug)]
pub struct Core<S: Storage> {
    pages: S::Pages,
    hosts: S::Hosts,
    /// Hosts whose gate is closed, by when it opens.
    closed: Heap<Tick, S::Id, S::Entries, S::Positions>,
    /// Hosts whose gate is open and that have pages, by when the first is due.
    open: Heap<Tick, S::Id, S::Entries, S::Positions>,
    clock: Clock,
    budget: Budget,
    prices: Prices,
    providers: Providers<S::Id>,
    counters: Counters,
    settings: Settings,
    per_day: Option<f32>,
    /// Local time of day at a moment.
    wall: Option<(Instant, Duration)>,
    random: u32,
    free: S::Id,
    pages_used: usize,
    page_count: usize,
    hosts_used: usize,
}

impl<const PAGES: usize, const HOSTS: usize> Scheduler<PAGES, HOSTS> {
    /// Bytes of static memory, all in all.
    pub const SIZE: usize = size_of::<Self>();

    /// A scheduler without pages.
    pub const fn new(settings: Settings) -> Self {
        const {
            assert!(
                PAGES < u16::MAX as usize && HOSTS < u16::MAX as usize,
                "ids are 16 bits"
            );
        }
        Self::over(
            [PageState::FREE; PAGES],
            [HostState::UNUSED; HOSTS],
            Heap::new(),
            Heap::new(),
            settings,
        )
    }
}

impl<'a> Core<Lent<'a>> {
    /// A scheduler without pages, in this room.
    pub fn in_room<const PAGES: usize, const HOSTS: usize>(
        room: &'a mut Room<PAGES, HOSTS>,
        settings: Settings,
    ) -> Self {
        let Room {
            pages,
            hosts,
            entries: [closed, open],
            positions: [places_closed, places_open],
        } = room;
        let closed = Heap::with_storage(&mut closed[..], &mut places_closed[..]);
        let open = Heap::with_storage(&mut open[..], &mut places_open[..]);
        Self::over(pages, hosts, closed, open, settings)
    }
}

#[cfg(feature = "std")]
impl Core<Large> {
    /// A scheduler for as many pages and hosts as a computer holds.
    pub fn large(pages: usize, hosts: usize, settings: Settings) -> Self {
        let heap = || {
            Heap::with_storage(
                std::vec![crate::heap::Entry::UNUSED; hosts],
                std::vec![u32::NONE; hosts],
            )
        };
        let (closed, open) = (heap(), heap());
        Self::over(
            std::vec![PageState::FREE; pages],
            std::vec![HostState::UNUSED; hosts],
            closed,
            open,
            settings,
        )
    }
}

impl<S: Storage> Core<S> {
    const fn over(
        pages: S::Pages,
        hosts: S::Hosts,
        closed: Heap<Tick, S::Id, S::Entries, S::Positions>,
        open: Heap<Tick, S::Id, S::Entries, S::Positions>,
        settings: Settings,
    ) -> Self {
        let random = settings.seed | 1;
        Self {
            pages,
            hosts,
            closed,
            open,
            clock: Clock::new(),
            budget: Budget::new(settings.burst),
            prices: Prices::new(),
            providers: Providers::new(),
            counters: Counters::new(),
            settings,
            per_day: None,
            wall: None,
            random,
            free: S::Id::NONE,
            pages_used: 0,
            page_count: 0,
            hosts_used: 0,
        }
    }

    /// Other settings than those it was made with: before the first host is added, for a scheduler
    /// that has to be in static memory before its settings are known.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
        self.budget = Budget::new(settings.burst);
        self.random = settings.seed | 1;
    }

    /// Adds a host with the least time between two fetches from it.
    ///
    /// # Errors
    /// [`Error::HostsFull`]
    pub fn add_host(&mut self, gap: Duration) -> Result<HostId<S::Id>, Error> {
        let id = S::Id::from_index(self.hosts_used).ok_or(Error::HostsFull)?;
        let host = self
            .hosts
            .as_mut()
            .get_mut(id.index())
            .ok_or(Error::HostsFull)?;
        *host = HostState::new(Gate::new(gap));
        self.hosts_used += 1;
        Ok(HostId(id))
    }

    /// Makes `host` wait at the gate of `with`: both are one server. Its pages move over, its own
    /// gap is forgotten unless it is the longer one; allowed hours are those of `with`.
    ///
    /// # Errors
    /// Unknown hosts, and [`Error::HostBusy`] while a page of either is being fetched.
    pub fn share_gate(&mut self, host: HostId<S::Id>, with: HostId<S::Id>) -> Result<(), Error> {
        let (from, to) = (self.gate_of(host.0)?, self.gate_of(with.0)?);
        if from == to {
            return Ok(());
        }
        for gate in [from, to] {
            if self.host(gate)?.gate.is_busy() {
                return Err(Error::HostBusy);
            }
        }
        // Neither may open before both would have.
        let opens = [from, to]
            .into_iter()
            .filter_map(|gate| self.closed.key(gate))
            .max();
        for gate in [from, to] {
            self.closed.remove(gate);
            self.open.remove(gate);
            self.host_mut(gate)?.gate.set_waits_for_hours(false);
        }
        let (state, queue) = (*self.host(from)?, self.host(to)?.queue);
        let joined = forest::meld(self.pages.as_mut(), state.queue, queue);
        let target = self.host_mut(to)?;
        target.queue = joined;
        target.gate.set_gap(target.gate.gap().max(state.gate.gap()));
        let reach = self.hosts_used;
        for other in self.hosts.as_mut().iter_mut().take(reach) {
            if other.shared() == Some(from) {
                other.share(to);
            }
        }
        self.host_mut(from)?.share(to);
        match opens {
            Some(opens) => self.close(to, opens),
            None => self.settle(to),
        }
        Ok(())
    }

    /// Another least gap, as when robots rules with a Crawl-delay were read; see
    /// [`crate::polite::gap`]. Counts from the next fetch.
    ///
    /// # Errors
    /// [`Error::UnknownHost`]
    pub fn set_gap(&mut self, host: HostId<S::Id>, gap: Duration) -> Result<(), Error> {
        let gate = self.gate_of(host.0)?;
        self.host_mut(gate)?.gate.set_gap(gap);
        self.prices.settled = false;
        Ok(())
    }

    /// Restricts a host to local hours. While the time of day is not known (see
    /// [`Self::set_clock`]) it is not fetched from at all, unless [`Settings::fetch_without_clock`]
    /// says otherwise; [`Event::SkippedByClock`] counts how often that held a page back, once an
    /// hour at most.
    ///
    /// # Errors
    /// [`Error::UnknownHost`]
    pub fn set_hours(&mut self, host: HostId<S::Id>, hours: Hours) -> Result<(), Error> {
        let gate = self.gate_of(host.0)?;
        self.host_mut(gate)?.gate.set_hours(hours);
        self.ask_hours_again(gate);
        Ok(())
    }

    /// Tells the local time of day, once it is known and whenever it is known better.
    pub fn set_clock(&mut self, time_of_day: Duration, now: Instant) {
        let (now, _) = self.advance(now);
        self.wall = Some((now, time_of_day));
        for gate in (0..self.hosts_used).map_while(S::Id::from_index) {
            self.ask_hours_again(gate);
        }
    }

    /// Fetches a day, over all hosts; `None` for what politeness allows. May change at any time;
    /// what was saved up under the old budget does not become a burst. Less than one in two years
    /// counts as that.
    ///
    /// # Errors
    /// [`Error::Budget`] unless it is a number above 0.
    pub fn set_budget(&mut self, per_day: Option<f32>, now: Instant) -> Result<(), Error> {
        if per_day.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return Err(Error::Budget);
        }
        let (now, _) = self.advance(now);
        self.budget.set(per_day, now);
        self.per_day = per_day;
        self.prices.settled = false;
        Ok(())
    }

    /// Adds a page that has not been fetched yet. It is fetched as soon as budget and politeness
    /// allow, heavier pages first.
    ///
    /// # Errors
    /// [`Error::PagesFull`], [`Error::UnknownHost`], or a weight or rate that is none.
    pub fn add_page(
        &mut self,
        host: HostId<S::Id>,
        page: &PageSettings,
        now: Instant,
    ) -> Result<PageId<S::Id>, Error> {
        let (_, tick) = self.advance(now);
        let gate = self.gate_of(host.0)?;
        let weight = checked_weight(page.weight)?;
        let estimate = match page.rate {
            None => Estimate::new(&self.host(host.0)?.prior.prior()),
            Some(rate) if rate >= 0.0 && rate.is_finite() => {
                Estimate::new(&Prior::new(rate, page.confidence))
            }
            Some(_) => return Err(Error::Rate),
        };
        let id = self.take_place()?;
        // A little into the past, by weight: first come the heavy ones.
        let due = tick.before_days(0.01 * weight / (weight + self.prices.mean_weight()));
        if let Some(state) = self.pages.as_mut().get_mut(id.index()) {
            let signals = if page.rate.is_none() { FOLLOWS } else { 0 };
            let place = Place::Queued;
            *state = PageState {
                estimate,
                weight,
                host: host.0,
                due,
                place,
                signals,
                ..PageState::FREE
            };
        }
        self.page_count += 1;
        self.enqueue(gate, id);
        Ok(PageId(id))
    }

    /// Removes a page and forgets it. Its id may soon be another page's.
    ///
    /// # Errors
    /// [`Error::UnknownPage`], also while it is being fetched: record its outcome first.
    pub fn remove_page(&mut self, page: PageId<S::Id>) -> Result<(), Error> {
        self.queued(page.0)?;
        self.dequeue(page.0)?;
        let free = self.free;
        if let Some(state) = self.pages.as_mut().get_mut(page.0.index()) {
            *state = PageState::FREE;
            state.links.up = free;
        }
        self.free = page.0;
        self.page_count -= 1;
        Ok(())
    }

    /// Changes a page's importance.
    ///
    /// # Errors
    /// [`Error::UnknownPage`], [`Error::Weight`]
    pub fn set_weight(&mut self, page: PageId<S::Id>, weight: f32) -> Result<(), Error> {
        let weight = checked_weight(weight)?;
        self.known_mut(page.0)?.weight = weight;
        if self.queued(page.0).is_ok() {
            self.replan(page.0);
        }
        Ok(())
    }

    /// What a source says about a page: it has changed, or it is expected to. How much that counts
    /// is learnt for each of the first eight hosts that send hints, and for the others together:
    /// one that cries wolf is soon ignored. What is expected later than the page's next fetch
    /// counts for nothing: that fetch will bring a newer hint.
    ///
    /// # Errors
    /// [`Error::UnknownPage`]
    pub fn hint(&mut self, page: PageId<S::Id>, hint: Hint, now: Instant) -> Result<(), Error> {
        let (_, tick) = self.advance(now);
        let at = self.clock.tick(hint.at());
        let state = self.known_mut(page.0)?;
        // What was fetched after the change is no news, and a page being fetched is about to be.
        let is_old = state.last != Tick::NEVER && at < state.last;
        let is_late = at > tick && at >= state.due;
        if is_old || is_late || state.place == Place::InFlight {
            return Ok(());
        }
        state.add_signal();
        let host = state.host;
        self.providers.meet(host);
        self.counters.count(Event::Hint);
        let Some(due) = self.planned(page.0, self.gap_of(page.0, 0.0)) else {
            return Ok(());
        };
        let due = due.max(at);
        if due < self.known_mut(page.0)?.due {
            let place = if at > tick {
                Place::Pinned
            } else {
                Place::Queued
            };
            self.reschedule(page.0, due, place);
        }
        Ok(())
    }

    /// What to do now.
    pub fn next(&mut self, now: Instant) -> Decision<S::Id> {
        let (now, tick) = self.advance(now);
        self.open_gates(tick);
        let reach = tick.after_days(self.lead());
        loop {
            let Some(first) = self.open.peek().copied().filter(|entry| entry.key <= reach) else {
                // Nothing to fetch: time to think.
                self.sweep(tick);
                return self.wait();
            };
            if self.budget.opens() > now {
                if first.key <= tick {
                    self.counters.count(Event::SkippedByBudget);
                }
                self.sweep(tick);
                return Decision::WaitUntil(self.budget.opens());
            }
            // Each turn of the loop either returns or closes a gate: at most one a host.
            if let Some(begin) = self.outside_hours(first.id, now) {
                self.await_hours(first.id, begin);
                continue;
            }
            return self
                .start(first.id, now)
                .map_or(Decision::Idle, Decision::Fetch);
        }
    }

    /// Tells what became of a fetch.
    ///
    /// # Errors
    /// [`Error::NotInFlight`]: [`Self::next`] did not ask for this page, or its outcome has been recorded already.
    pub fn record(
        &mut self,
        page: PageId<S::Id>,
        outcome: Outcome,
        now: Instant,
    ) -> Result<(), Error> {
        let (now, tick) = self.advance(now);
        let state = *self.known_mut(page.0)?;
        if state.place != Place::InFlight {
            return Err(Error::NotInFlight);
        }
        self.counters.count(outcome.event());
        let gate = self.gate_of(state.host)?;
        let opens = self.after_fetch(gate, state.due, outcome, now)?;
        self.learn(page.0, outcome, tick);
        if outcome == Outcome::Denied {
            self.budget.refund();
        }
        let (due, place) =
            self.after_outcome(page.0, outcome, tick.days_since(state.last), tick, opens);
        let state = self.known_mut(page.0)?;
        (state.due, state.place) = (due, place);
        self.close(gate, opens);
        self.enqueue(gate, page.0);
        // As a rule `next` re-plans when there is nothing to fetch; there may always be something.
        if !self.prices.settled || self.counters.get(Event::Fetch).is_multiple_of(BUSY) {
            self.sweep(tick);
        }
        Ok(())
    }
}

impl<S: Storage> Core<S> {
    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// When the next fetch is due, for whoever wants to switch the radio off until then; `None` for
    /// never.
    pub fn next_due(&self) -> Option<Instant> {
        match self.wait() {
            Decision::WaitUntil(then) => Some(then.max(self.budget.opens())),
            _ => None,
        }
    }

    /// What a fetch costs now, in weight × days of freshness.
    pub fn price(&self) -> f32 {
        self.prices.common
    }

    /// Weighted mean freshness of all pages, as the last round of re-planning found it; `None`
    /// before that.
    pub fn freshness(&self) -> Option<f32> {
        self.prices.freshness()
    }

    /// The freshness that present prices are heading for: the best there is, as far as rates are
    /// known.
    pub fn optimum(&self) -> Option<f32> {
        self.prices.achievable()
    }

    /// Where re-planning is in the page table: what it has not come to yet follows old prices.
    pub fn next_page_to_review(&self) -> usize {
        self.prices.cursor
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.page_count
    }

    /// What is believed about a page's change rate.
    ///
    /// # Errors
    /// [`Error::UnknownPage`]
    pub fn estimate(&self, page: PageId<S::Id>) -> Result<Estimate, Error> {
        let state = self
            .pages
            .as_ref()
            .get(page.0.index())
            .filter(|state| state.place != Place::Free);
        state.map(|state| state.estimate).ok_or(Error::UnknownPage)
    }
}

/// A weight, brought to where f32 can compute with it.
fn checked_weight(weight: f32) -> Result<f32, Error> {
    let is_weight = weight > 0.0 && weight.is_finite();
    is_weight
        .then_some(weight.clamp(1e-9, 1e9))
        .ok_or(Error::Weight)
}
