//! The probe: scheduler and fetcher joined to one loop that runs for months.
//!
//! A board brings a network ([`Connect`](crate::fetch::Connect),
//! [`Resolve`](crate::fetch::Resolve)), a [`Board`] (clock, log, store, watchdog), memory, and a
//! [`Slot`] for each fetch that may run at once. Each slot is a future of its own: a slow host
//! blocks its slot only. Spawn [`Probe::run_slot`] for each, and [`Probe::keep_house`] once;
//! [`Probe::keep_time`] if it may ask a time server.
//!
//! Each turn of a slot is one request, and passes the gate of the page's host: robots.txt first,
//! then the page, then each step of the redirects of either. So whatever a page needs, its host
//! never sees two requests closer than its gap. A redirect to another host passes that host's gate
//! as well; of hosts that are not in the list, eight are remembered at a time, with the gap of the
//! host that led there.
//!
//! A connection is kept for four seconds if the host's next page is due by then and its gap is
//! shorter; a page goes to the slot that has a connection to its host. Each slot has one connection
//! at most.

mod connection;
mod event;
mod log_line;
mod memory;
mod names;
mod origin;
mod persist;
mod redirects;
mod restore;
mod setup;
mod slots;
mod time_server;
mod turn;
mod verdicts;
mod visit;
mod wall_clock;

pub use event::{BoardEvent, Event, Flags, LoggedBoardEvent, LoggedEvent};
pub use memory::{HostMemory, PageMemory};
pub use persist::Persistence;
pub use restore::{Resumed, TimeSource};
pub use time_server::Datagrams;

use core::cell::{RefCell, RefMut};

use crate::image::{Config, Image, ImageError};
use crate::scheduler::{Counter, Outcome, PageId, SchedulerView};
use crate::time::{Duration, Instant};
use memory::Knowledge;
use origin::Origins;
use persist::Persist;
use redirects::Redirects;
use setup::Setup;
use slots::Slots;
use visit::Conclusion;
use wall_clock::WallClock;

/// Slots that one probe can have.
pub const MOST_SLOTS: usize = 8;
/// Between two looks after the house.
const HOUSE_TICK: Duration = Duration::from_secs(1);
/// Between two reports.
const REPORT: Duration = Duration::from_secs(60);

/// What the loop needs besides a network.
#[allow(async_fn_in_trait)] // One executor, no threads.
pub trait Board {
    /// What time is it?
    fn now(&self) -> Instant;
    /// Completes then. *Cancellation*: dropping it forgets the alarm.
    async fn sleep_until(&self, then: Instant);
    /// Do its connections speak https themselves, without a gateway?
    fn speaks_https(&self) -> bool {
        false
    }
    /// Something happened.
    fn log(&self, event: &Event);
    /// Seconds since 1970, by a clock that runs while the device is off; `None` without one.
    fn unix_time(&self) -> Option<u64> {
        None
    }
    /// Every slot makes progress: called once a second, and no longer once one hangs.
    fn feed_watchdog(&self) {}
}

/// The board's memory for a probe.
#[derive(Debug)]
pub struct Memory<'a> {
    /// Without hosts yet.
    pub scheduler: SchedulerView<'a>,
    /// One a page.
    pub pages: &'a mut [PageMemory],
    /// One a host.
    pub hosts: &'a mut [HostMemory],
    /// For where pages and robots.txt files are that redirects have led away: a URL of 60
    /// characters takes about 80 bytes. Those on their way through redirects come first; what is
    /// left remembers the pages that have moved for good, the latest ones. Without any, no redirect
    /// is followed.
    pub redirects: &'a mut [u8],
}

/// Moves that so many bytes for detours can hold: each is a record of the store, see
/// [`Store::places`](crate::store::Store::places). A URL has nine characters at least, and as much
/// again goes into the way there.
pub const fn most_moves(detour_bytes: usize) -> usize {
    detour_bytes / 24
}

/// What one fetch at a time needs.
#[derive(Debug)]
pub struct Slot<'b, C, R> {
    /// Opens connections, with buffers of its own.
    pub connect: C,
    /// Knows names.
    pub resolve: R,
    /// The window requests and responses pass through: 512 bytes or more.
    pub buffer: &'b mut [u8],
}

/// Why a page was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Failure {
    /// Its URL cannot be read, or needs a gateway that there is not.
    Url,
    /// Its host's name has no address: no IPv4 address, on a board whose network has no IPv6.
    Name,
    /// No connection.
    Connection,
    /// The connection broke, or the answer made no sense.
    Response,
    /// 5xx.
    Server,
    /// 429 or 503.
    Busy,
    /// Not done in time.
    Deadline,
    /// A redirect led to an address that is not public.
    PrivateAddress,
    /// It is at an IPv6 address, and this board's network has none.
    NoIpv6,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests for pages that were answered.
    pub fetches: u32,
    /// Of these, 304.
    pub not_modified: u32,
    /// Of these, with a new version.
    pub changed: u32,
    /// Requests that were not answered, or by 5xx.
    pub errors: u32,
    /// Turns that robots rules forbade.
    pub denied: u32,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Seconds that fetches started late, all together.
    pub late_seconds: u64,
}

impl Totals {
    fn count(&mut self, conclusion: &Conclusion) {
        self.errors += u32::from(conclusion.failure.is_some());
        self.denied += u32::from(conclusion.outcome == Outcome::Denied);
        if let Some(counted) = conclusion.counted {
            self.fetches += 1;
            self.bytes += u64::from(counted.bytes);
            self.changed += u32::from(counted.changed);
            self.not_modified += u32::from(counted.not_modified);
        }
    }
}

/// The parts of a probe that change, each with an interface of its own.
struct State<'a> {
    scheduler: SchedulerView<'a>,
    known: Knowledge<'a>,
    clock: WallClock,
    persist: Persist,
    slots: Slots,
    totals: Totals,
    online: bool,
    /// What the scheduler last said to wait for.
    due: Option<Instant>,
}

impl State<'_> {
    /// The host at whose gate a page waits: its own, as a rule.
    fn waits_at(&self, page: PageId) -> u16 {
        let host = self.scheduler.host_of(page);
        host.map_or(0, |host| host.index() as u16)
    }
}

/// The loop's state: one a device, shared by all slots.
pub struct Probe<'a, B> {
    setup: Setup<'a>,
    board: B,
    state: RefCell<State<'a>>,
}

impl<B> core::fmt::Debug for Probe<'_, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Probe")
            .field("config", &self.setup.config)
            .finish_non_exhaustive()
    }
}

impl<'a, B> Probe<'a, B> {
    /// The parts that change. Nobody holds them across an `await`, so no two slots meet here.
    // Once for all callers: each copy would be a panic site.
    #[inline(never)]
    fn state(&self) -> RefMut<'_, State<'a>> {
        self.state.borrow_mut()
    }
}

impl<'a, B: Board> Probe<'a, B> {
    /// Fills an empty scheduler with the image's hosts and pages, to be fetched by so many slots.
    ///
    /// # Errors
    /// [`ImageError::TooLarge`] when the memory does not hold them, [`ImageError::Record`] when the
    /// scheduler or the agent's rules refuse a record.
    pub fn new(
        image: Image<'a>,
        memory: Memory<'a>,
        slots: usize,
        board: B,
    ) -> Result<Self, ImageError> {
        let pages = image.pages() as u16;
        let hosts = image.hosts() as u16;
        if image.pages() > memory.pages.len() || image.hosts() > memory.hosts.len() {
            return Err(ImageError::TooLarge { pages, hosts });
        }
        let now = board.now();
        let mut setup = Setup::new(image, board.speaks_https())?;
        let mut scheduler = memory.scheduler;
        setup.fill(&mut scheduler, slots, now)?;
        board.log(&Event::Loaded { pages, hosts });
        let mut state = State {
            scheduler,
            known: Knowledge {
                pages: memory.pages,
                origins: Origins::new(memory.hosts),
                redirects: Redirects::new(memory.redirects),
            },
            clock: WallClock::new(),
            persist: Persist::NEW,
            slots: Slots::new(),
            totals: Totals::default(),
            online: false,
            due: None,
        };
        if let Some(unix) = board.unix_time() {
            state.clock.set(unix, now);
            state.tell_time_of_day(&setup, now);
        }
        Ok(Self {
            setup,
            board,
            state: RefCell::new(state),
        })
    }

    /// Replaces the image's key by the device's own: one image may be on many devices, and a key
    /// that only one of them has keeps what servers send from being made to look unchanged. Before
    /// anything is fetched or restored.
    pub fn with_key(mut self, key: [u8; 16]) -> Self {
        self.setup.config.key = key;
        self
    }

    /// The network is there, or not: without it, nothing is fetched and no host is blamed.
    pub fn set_online(&self, online: bool) {
        let mut state = self.state();
        state.online = online;
        state.slots.wake_all();
    }

    /// When the next fetch is due, if nothing is before that: until then a radio can be off. `None`
    /// while slots are busy or without a network.
    pub fn next_due(&self) -> Option<Instant> {
        let state = self.state();
        state.due.filter(|_| state.online && state.slots.are_idle())
    }

    /// What keeps that which was learnt over a power cut, in a store.
    pub fn persistence(&self) -> Persistence<'_, 'a, B> {
        Persistence { probe: self }
    }

    /// The board it runs on.
    pub fn board(&self) -> &B {
        &self.board
    }

    /// How the image wants it to behave.
    pub fn config(&self) -> &Config<'a> {
        &self.setup.config
    }

    /// The image it runs on.
    pub fn image(&self) -> &Image<'a> {
        &self.setup.image
    }

    /// What happened so far.
    pub fn totals(&self) -> Totals {
        let state = self.state();
        Totals {
            late_seconds: state.scheduler.counters().late_seconds(),
            ..state.totals
        }
    }

    /// Weighted mean freshness as the scheduler believes it to be, and the best it is heading for.
    pub fn freshness(&self) -> (Option<f32>, Option<f32>) {
        let scheduler = &self.state().scheduler;
        (scheduler.freshness(), scheduler.optimum())
    }

    /// Logs what happened so far and what the scheduler is heading for.
    pub fn report(&self) {
        self.board.log(&Event::Totals(self.totals()));
        let plan = {
            let scheduler = &self.state().scheduler;
            Event::Plan {
                price: scheduler.price(),
                freshness: scheduler.freshness(),
                optimum: scheduler.optimum(),
            }
        };
        self.board.log(&plan);
    }

    /// How often something happened, by the scheduler's own count.
    pub fn counted(&self, counter: Counter) -> u32 {
        self.state().scheduler.counters().get(counter)
    }

    /// Is a slot at the same page for longer than this, or has nobody woken up to a page for so
    /// long?
    fn hangs(&self, now: Instant, patience: Duration) -> bool {
        let state = self.state();
        let waits = state.online && !state.persist.is_holding();
        state.slots.hangs(now, patience)
            || waits && state.due.is_some_and(|due| now - due > patience)
    }

    /// Feeds the watchdog and reports each minute, for ever.
    ///
    /// *Cancellation*: safe at any time; without it the watchdog starves.
    pub async fn keep_house(&self) -> ! {
        let mut next_report = self.board.now() + REPORT;
        loop {
            let now = self.board.now();
            // A fetch ends by its deadline. One that has not, twice that long after, never will.
            let patience = self.setup.deadline() * 2;
            if !self.hangs(now, patience) {
                self.board.feed_watchdog();
            }
            if now >= next_report {
                next_report += REPORT;
                self.report();
            }
            self.board.sleep_until(now + HOUSE_TICK).await;
        }
    }
}
