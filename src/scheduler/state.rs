//! The scheduler over slices: what every call works on, whoever owns the tables.
//!
//! [`Core`] borrows the tables for the length of a call (or, in a
//! [`SchedulerView`](super::SchedulerView), for as long as that lives), so that the code is
//! compiled once for every capacity. Ids are as wide as the tables need: `u16` on a device, `u32`
//! in a simulation of millions of pages.

use super::budget::Budget;
use super::host::HostState;
use super::page::{PageState, Place};
use super::price::Prices;
use super::providers::Providers;
use super::read::Read;
use super::replan::RoundEnd;
use super::tick::{Tick, TickClock};
use super::{Counters, Error, Settings};
use crate::constraints::Constraints;
use crate::heap::{HeapView, Id};
use crate::learn::{HostPrior, Regularity, Trust};
use crate::math::lesser;
use crate::time::{Duration, Instant};

/// What a scheduler knows besides its tables.
#[derive(Debug)]
pub(super) struct State<I> {
    pub(super) clock: TickClock,
    pub(super) budget: Budget,
    pub(super) prices: Prices,
    pub(super) providers: Providers<I>,
    /// What all pages have shown.
    pub(super) all: HostPrior,
    /// How far what single pages have shown is believed.
    pub(super) trust: Trust,
    /// How regularly pages change.
    pub(super) regularity: Regularity,
    /// Fetches a day that all gates together let through.
    pub(super) capacity: f32,
    pub(super) counters: Counters,
    pub(super) settings: Settings,
    /// Fetches a day; `None` for what politeness allows.
    pub(super) per_day: Option<f32>,
    /// Local time of day at a moment.
    pub(super) wall_clock: Option<(Instant, Duration)>,
    pub(super) random: u32,
    /// The first of the places of the page table that were given back.
    pub(super) free: I,
    /// Places of the page table that have ever been taken.
    pub(super) pages_used: usize,
    /// Pages that there are now.
    pub(super) page_count: usize,
    pub(super) hosts_used: usize,
    pub(super) chores: Chores,
    /// A page has constraints.
    pub(super) has_constraints: bool,
}

/// Work that comes up for all hosts at once, and is spread over calls: how far it is.
#[derive(Clone, Debug)]
pub(super) struct Chores {
    /// This call has set the clock back, which is enough for one.
    pub(super) has_set_back: bool,
    /// Hosts from here on have not been asked about their hours since the clock was set.
    pub(super) hours: usize,
    /// The end of the present round.
    pub(super) round: RoundEnd,
}

impl Chores {
    /// Hosts that one call looks after, of each kind of work.
    pub(super) const HOSTS: usize = 64;

    const fn none() -> Self {
        Self {
            has_set_back: false,
            hours: usize::MAX,
            round: RoundEnd::NONE,
        }
    }
}

impl<I: Id> State<I> {
    pub(super) const fn new(settings: Settings) -> Self {
        Self {
            clock: TickClock::new(),
            budget: Budget::new(settings.burst),
            prices: Prices::new(),
            providers: Providers::new(),
            all: HostPrior::new(),
            trust: Trust::NONE,
            regularity: Regularity::NONE,
            capacity: 0.0,
            counters: Counters::new(),
            settings,
            per_day: None,
            wall_clock: None,
            random: settings.seed | 1,
            free: I::NONE,
            pages_used: 0,
            page_count: 0,
            hosts_used: 0,
            chores: Chores::none(),
            has_constraints: false,
        }
    }
}

impl<I> State<I> {
    /// Days between two fetches of a page if all pages had the same share of what budget and gates
    /// allow: what the scheduler measures time by.
    // One copy: 400 bytes of flash for ten instructions.
    #[inline(never)]
    pub(super) fn even_gap(&self) -> f32 {
        let per_day = lesser(self.per_day.unwrap_or(f32::MAX), self.capacity);
        let gap = self.page_count as f32 / per_day;
        // Nothing is faster than a tick; without pages and gates this is no number.
        if gap > 1e-7 { lesser(gap, 1e9) } else { 1e-7 }
    }

    /// Is this fetch one of `n`, a power of two, that are drawn by chance? A count would meet the
    /// same pages again and again, where visits come in the same order.
    pub(super) fn is_one_in(&self, n: u32) -> bool {
        self.random & (n - 1) == 0
    }
}

/// A scheduler whose tables may be changed.
#[derive(Debug)]
pub(super) struct Core<'a, I> {
    pub(super) pages: &'a mut [PageState<I>],
    pub(super) hosts: &'a mut [HostState<I>],
    /// Hosts whose gate is closed, by when it opens.
    pub(super) closed: HeapView<'a, Tick, I>,
    /// Hosts whose gate is open and that have pages, by when the first is due.
    pub(super) open: HeapView<'a, Tick, I>,
    pub(super) state: &'a mut State<I>,
    /// What the list says of single pages; asked for pages that have constraints only.
    pub(super) constraints: Constraints<'a>,
}

impl<I: Id> Core<'_, I> {
    /// Other settings than those it was made with; see [`super::Scheduler::set_settings`].
    pub(super) fn set_settings(&mut self, settings: Settings) {
        self.state.settings = settings;
        self.state.budget = Budget::new(settings.burst);
        self.state.random = settings.seed | 1;
    }

    /// Forgets what its tables held; its state is new. Hosts are not looked at before they are
    /// added.
    pub(super) fn forget(&mut self) {
        for page in self.pages.iter_mut() {
            page.place = Place::Free;
        }
        self.closed.clear();
        self.open.clear();
    }

    /// Sets the clock, and all stored times back with it where it would run out of range.
    pub(super) fn advance(&mut self, now: Instant) -> (Instant, Tick) {
        let now = self.state.clock.set(now);
        let tick = self.state.clock.tick(now);
        self.state.chores.has_set_back = tick.is_near_the_end();
        if self.state.chores.has_set_back {
            return (now, self.set_back());
        }
        (now, tick)
    }

    /// Sets the clock back, and all times with it; returns the present.
    #[cold]
    fn set_back(&mut self) -> Tick {
        if let Some(by) = self.state.clock.rebase() {
            self.move_ticks(by);
        }
        self.state.clock.tick(self.state.clock.latest())
    }

    fn move_ticks(&mut self, by: u32) {
        let used = self.state.pages_used;
        for page in self.pages.iter_mut().take(used) {
            page.last = page.last.moved(by);
            page.due = page.due.moved(by);
        }
        self.state.providers.move_ticks(by);
        self.closed.map_keys(|key| key.moved(by));
        self.open.map_keys(|key| key.moved(by));
    }

    pub(super) fn host_mut(&mut self, id: I) -> Result<&mut HostState<I>, Error> {
        let used = self.state.hosts_used;
        self.hosts
            .get_mut(id.index())
            .filter(|_| id.index() < used)
            .ok_or(Error::UnknownHost)
    }

    pub(super) fn page_mut(&mut self, id: I) -> Result<&mut PageState<I>, Error> {
        self.pages
            .get_mut(id.index())
            .filter(|page| page.place != Place::Free)
            .ok_or(Error::UnknownPage)
    }

    /// A page that is not being fetched.
    pub(super) fn queued_mut(&mut self, id: I) -> Result<&mut PageState<I>, Error> {
        self.page_mut(id).and_then(|page| match page.place {
            Place::InFlight => Err(Error::UnknownPage),
            _ => Ok(page),
        })
    }
}

impl<I: Id> Read<I> for Core<'_, I> {
    fn page_table(&self) -> &[PageState<I>] {
        self.pages
    }

    fn host_table(&self) -> &[HostState<I>] {
        self.hosts
    }

    fn state(&self) -> &State<I> {
        self.state
    }

    fn opening_of(&self, gate: I) -> Option<Tick> {
        self.closed.key(gate)
    }

    fn first_opening(&self) -> Option<Tick> {
        self.closed.peek().map(|entry| entry.key)
    }

    fn first_open_gate(&self) -> Option<I> {
        self.open.peek().map(|entry| entry.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polite::Hours;
    use crate::scheduler::{Decision, Outcome, PageSettings, Scheduler};

    const HOSTS: usize = 300;

    /// A page on each of 300 hosts, fetched at hour 1, so that all gates open together a day later.
    fn fetched() -> (Scheduler<HOSTS, HOSTS>, Instant) {
        let mut scheduler = Scheduler::new(Settings::DEFAULT);
        for _ in 0..HOSTS {
            let host = scheduler.add_host(Duration::DAY).expect("room");
            let added = scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO);
            assert!(added.is_ok());
        }
        let now = Instant::ZERO + Duration::HOUR;
        while let Decision::Fetch(page) = scheduler.next(now) {
            let recorded = scheduler.record(page, Outcome::Unchanged, now);
            assert_eq!(recorded, Ok(()));
        }
        assert_eq!(scheduler.core().closed.len(), HOSTS);
        (scheduler, now)
    }

    #[test]
    fn a_call_opens_64_gates_and_the_next_goes_on() {
        let (mut scheduler, now) = fetched();
        let later = now + Duration::DAY * 2;
        let mut closed = HOSTS;
        while closed > 0 {
            // Without a budget nothing is due yet; with gates left, the wait is short.
            let decision = scheduler.next(later);
            let left = scheduler.core().closed.len();
            assert!(closed - left <= Chores::HOSTS + 1, "{closed} to {left}");
            assert!(left < closed || matches!(decision, Decision::Fetch(_)));
            if let Decision::WaitUntil(then) = decision {
                assert!(left == 0 || then <= later + Duration::from_millis(1));
            }
            closed = left;
        }
    }

    #[test]
    fn a_call_that_sets_the_clock_back_does_nothing_else() {
        let (mut scheduler, now) = fetched();
        let reviewed = scheduler.next_page_to_review();
        let later = now + Duration::DAY * 102;
        let decision = scheduler.next(later);
        assert_eq!(scheduler.core().closed.len(), HOSTS, "no gate has opened");
        assert_eq!(scheduler.next_page_to_review(), reviewed);
        assert_eq!(
            decision,
            Decision::WaitUntil(later + Duration::from_millis(1))
        );
        assert!(matches!(scheduler.next(later), Decision::Fetch(_)));
    }

    #[test]
    fn a_round_ends_64_hosts_at_a_time() {
        let (mut scheduler, now) = fetched();
        assert_eq!(scheduler.set_budget(Some(1_000.0), now), Ok(()));
        let mut calls_at_end = 0;
        let mut rounds = 0;
        let mut before = scheduler.next_page_to_review();
        for _ in 0..2_000 {
            let _ = scheduler.next(now);
            let at = scheduler.next_page_to_review();
            calls_at_end += u32::from(at == HOSTS);
            rounds += u32::from(at < before);
            before = at;
        }
        assert!(rounds > 2, "{rounds}");
        // The call that comes to the last page has not looked at hosts; five more do.
        assert!(calls_at_end >= 4 * rounds, "{calls_at_end} in {rounds}");
    }

    #[test]
    fn hours_are_asked_again_64_hosts_at_a_time() {
        let mut scheduler: Scheduler<HOSTS, HOSTS> = Scheduler::new(Settings::DEFAULT);
        let hours = Hours::new(8, 18).expect("hours");
        for _ in 0..HOSTS {
            let host = scheduler.add_host(Duration::ZERO).expect("room");
            assert_eq!(scheduler.set_hours(host, hours), Ok(()));
            let added = scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO);
            assert!(added.is_ok());
        }
        // It is midnight: hosts are closed until eight, 64 a call.
        scheduler.set_clock(Duration::ZERO, Instant::ZERO);
        let mut calls = 0;
        while scheduler.core().closed.len() < HOSTS {
            let before = scheduler.core().closed.len();
            let decision = scheduler.next(Instant::ZERO);
            assert!(matches!(decision, Decision::WaitUntil(_)), "{decision:?}");
            assert!(scheduler.core().closed.len() - before <= Chores::HOSTS);
            calls += 1;
        }
        assert!(calls >= HOSTS / Chores::HOSTS, "{calls}");
        // No, it is noon: all may be asked, and no host is forgotten.
        scheduler.set_clock(Duration::HOUR * 12, Instant::ZERO);
        assert_eq!(scheduler.core().closed.len(), HOSTS - Chores::HOSTS);
        let mut fetched = 0;
        while let Decision::Fetch(_) = scheduler.next(Instant::ZERO) {
            fetched += 1;
        }
        assert_eq!(fetched, HOSTS);
    }
}
