//! The probe: scheduler and fetcher joined to one loop that runs for months.
//!
//! A board brings a network ([`Connect`](crate::fetch::Connect),
//! [`Resolve`](crate::fetch::Resolve)), a [`Board`] (clock, log, watchdog), memory, and a [`Slot`]
//! for each fetch that may run at once. Each slot is a future of its own: a slow host blocks its
//! slot only. Spawn [`Probe::run_slot`] for each, and [`Probe::keep_house`] once;
//! [`Persistence::run`] if there is a store, [`Timekeeping::keep`] if it may ask a time server.
//!
//! Each turn of a slot is one request, and passes the gate of the page's host: robots.txt first,
//! then the page, then each step of the redirects of either. So whatever a page needs, its host
//! never sees two requests closer than its gap. A redirect to another host passes that host's gate
//! as well.
//!
//! # What is decided where
//! The parts below are values without IO, each with an interface of its own. A `PageVisit` is the
//! state machine of one page's turn: it asks for a request, is told what became of it, and
//! concludes. The shell around the parts (`turn.rs`, `slots.rs`) waits and connects, and decides
//! nothing about a page, but for whom to blame.
//!
//! | file | what is decided there |
//! |---|---|
//! | `visit/mod.rs` | what a page's turn asks for; why a page was not fetched today |
//! | `visit/page.rs` | what an answer means for a page; what happens to a page that moved |
//! | `visit/robots.rs` | which robots.txt governs a page, and what its answer means |
//! | `verdicts.rs` | which pages of a host may be fetched, and what is remembered of that |
//! | `redirects/mod.rs` | where a page is if not where the list says; which moves are forgotten |
//! | `redirects/record.rs` | when a page that has moved is looked for where the list says again |
//! | `origin.rs` | when a host that is not in the list may be asked |
//! | `names.rs`, `memory.rs` | how long the address of a host is remembered |
//! | `owner_names.rs` | where a collector or a broker is, by the owner's table (features `collect`, `fleet`) |
//! | `connection.rs` | how long a connection is kept; what a failure on it is called |
//! | `slots.rs` | which slot fetches which page |
//! | `turn.rs` | what a host is blamed for where redirects lead other hosts' pages; else it takes a visit's request through the gate and to the network, under a deadline |
//! | `beside.rs` | nothing: requests that belong to no page go out by it |
//! | `wall_clock.rs`, `time_server.rs` | what time it is, and whom to believe |
//! | `persist.rs` | what is written to flash when |
//! | `restore.rs` | what a restart believes of it |
//! | `setup.rs` | what the page image says |
//! | `totals.rs` | what counts as a fetch, an error, a change |
//! | `event.rs`, `log_line.rs` | what the log says, and how a line of it is written and read back |
//! | `board.rs`, `body.rs` | what a board has to bring; what it is shown of bodies |
//! | `without.rs` | nothing: it stands in for the parts whose features are off |
//! | `fleet.rs` | what a lease allows, and what more budget would be worth (feature `fleet`) |
//! | `fleet_event.rs` | what is logged of the link to a planner (feature `fleet`) |
//! | `visited.rs` | which visits a planner is told of (feature `fleet`) |
//! | `copying.rs`, `collecting.rs` | how long a fetch waits for a collector (feature `collect`) |
//! | `discovering/` | which pages are found, ranked and kept beyond the list (feature `discover`) |
//! | `tellers/` | what hosts say about their pages, and how far that is heeded (feature `hints`) |
//! | `additions.rs` | which pages came after the list was made (feature `additions`) |
//! | [`polite`](crate::polite) | how long to wait after a 503, and between two requests |
//! | [`fetch::Client`](crate::fetch::Client) | which addresses may be connected to |
//! | [`fetch::robots`](crate::fetch::robots) | what the rules of a robots.txt mean |
//!
//! # Parts with interfaces of their own
//! | part | what it can be asked and told |
//! |---|---|
//! | [`Probe::persistence`] | what is kept over a power cut |
//! | [`Probe::time`] | what time it is; to ask a time server |
//! | `Probe::additions` | pages that come and go while it runs (feature `additions`) |
//! | `Probe::found` | what was found beyond the list (feature `discover`) |
//! | `Probe::membership` | what the planner of a fleet may know and decide (feature `fleet`) |
//!
//! # What a firmware of one's own can do besides
//! | call | what for |
//! |---|---|
//! | `Probe::hint` | somebody has said that a page changed: a push, a button (feature `hints`) |
//! | [`Board::body`] | to look at the bodies of pages as they stream by |
//! | `Probe::with_copies_by_board`, `Probe::collected` | to hand over what has changed oneself, and have what was not taken asked for again (feature `collect`) |
//! | `Probe::with_collector`, `Probe::run_collecting_slot` | to hand what has changed to a collector as it comes (feature `collect`) |
//! | `Probe::with_additions`, `Probe::additions` | pages that are not in the image, while the probe runs (feature `additions`) |
//! | [`Board::log`] | everything that happens: [`Event`] has a table of it, with the line of each in the log |
//!
//! # Example
//! A probe with one page and one slot, on a network and a clock that live in memory:
//!
//! ```
//! use dunlin::image::{Image, build};
//! use dunlin::probe::{Board, Event, OwnedMemory, Probe, Slot};
//! use dunlin::scheduler::Settings;
//! use dunlin::time::{Duration, Instant};
//! # use core::cell::Cell;
//! # use core::convert::Infallible;
//! # use core::future::Future;
//! # use core::task::{Context, Waker};
//! # use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
//! # use dunlin::catalog::{Config, Host, Page};
//! # struct Server(&'static [u8]);
//! # impl embedded_io_async::ErrorType for Server { type Error = Infallible; }
//! # impl embedded_io_async::Read for Server {
//! #     async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
//! #         let count = self.0.len().min(buffer.len());
//! #         buffer[..count].copy_from_slice(&self.0[..count]);
//! #         self.0 = &self.0[count..];
//! #         Ok(count)
//! #     }
//! # }
//! # impl embedded_io_async::Write for Server {
//! #     async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> { Ok(bytes.len()) }
//! #     async fn flush(&mut self) -> Result<(), Infallible> { Ok(()) }
//! # }
//! # impl Connection for Server {}
//! # struct Network;
//! # impl Connect for Network {
//! #     type Error = Infallible;
//! #     type Connection<'c> = Server;
//! #     async fn connect(&mut self, _: Endpoint<'_>) -> Result<Server, Infallible> {
//! #         Ok(Server(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"))
//! #     }
//! # }
//! # impl Resolve for Network {
//! #     type Error = Infallible;
//! #     async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
//! #         Ok(Addresses::from_iter([[192, 0, 2, 1].into()]))
//! #     }
//! # }
//! # fn page_list() -> Vec<u8> {
//! #     let config = Config::new("dunlin/0.1");
//! #     let host = Host {
//! #         name: "example.org", gap_ms: 15_000, hours: None, gate: 0, first_page: 0, pages: 1,
//! #     };
//! #     let page = Page {
//! #         host: 0, url: "http://example.org/", weight: 1.0, rate: None, confidence: 0.0,
//! #     };
//! #     build(&config, &[], &[host], &[page], &[])
//! # }
//!
//! /// A computer on which time flies, up to the tenth minute.
//! struct Flying(Cell<Instant>);
//!
//! impl Board for Flying {
//!     fn now(&self) -> Instant {
//!         self.0.get()
//!     }
//!     async fn sleep_until(&self, then: Instant) {
//!         if then > Instant::ZERO + Duration::from_secs(600) {
//!             core::future::pending().await
//!         }
//!         self.0.set(then.max(self.now()));
//!     }
//!     fn log(&self, event: &Event) {
//!         println!("{event:?}");
//!     }
//! }
//!
//! let list = page_list();
//! let image = Image::parse(&list)?;
//! let mut memory = OwnedMemory::<16, 4, 1024>::NEW;
//! let memory = memory.view(Settings::DEFAULT);
//! let probe = Probe::new(image, memory, 1, Flying(Cell::new(Instant::ZERO)))?;
//! probe.set_online(true);
//! let mut slot = Slot {
//!     connect: Network,
//!     resolve: Network,
//!     buffer: &mut [0; 512],
//! };
//! let mut work = core::pin::pin!(probe.run_slot(0, &mut slot));
//! // An executor would poll it whenever something happens; here, nothing makes it wait.
//! let _ = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
//! assert!(probe.totals().fetches > 0 && probe.totals().errors == 0);
//! # Ok::<(), dunlin::image::ImageError>(())
//! ```

#[cfg(feature = "additions")]
mod additions;
#[cfg(feature = "update")]
mod beside;
mod board;
mod body;
#[cfg(feature = "collect")]
mod collecting;
mod connection;
mod copying;
#[cfg(feature = "discover")]
mod discovering;
mod event;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_event;
mod log_line;
mod memory;
mod names;
mod origin;
#[cfg(any(feature = "collect", feature = "fleet"))]
mod owner_names;
mod persist;
mod redirects;
mod restore;
mod setup;
mod slots;
#[cfg(feature = "hints")]
mod tellers;
mod time_server;
mod totals;
mod turn;
mod verdicts;
mod visit;
#[cfg(feature = "fleet")]
mod visited;
mod wall_clock;
mod without;

#[cfg(feature = "additions")]
pub use additions::{AddError, AddedPage, AddedPages};
pub use board::{Board, MOST_SLOTS, Memory, OwnedMemory, Slot, most_moves};
pub use body::BodyPiece;
#[cfg(feature = "collect")]
pub use collecting::CollectingSlot;
#[cfg(feature = "discover")]
pub use discovering::{
    DiscoveryMemory, FoundEvent, FoundHost, FoundPage, FoundPages, FoundTotals, LoggedFoundEvent,
    SCOUTS, TextSource, TextsKept,
};
pub use event::{BoardEvent, Event, Flags, LoggedBoardEvent, LoggedEvent};
#[cfg(feature = "fleet")]
pub use fleet::Membership;
#[cfg(feature = "fleet")]
pub use fleet_event::{FleetEvent, LoggedFleetEvent};
pub use memory::{HostMemory, PageMemory};
#[cfg(any(feature = "collect", feature = "fleet"))]
pub use owner_names::OwnerNames;
pub use persist::Persistence;
pub use restore::{Resumed, TimeSource};
pub use time_server::{Datagrams, Timekeeping};
pub use totals::{Failure, Totals};

use core::cell::{RefCell, RefMut};

use crate::catalog::Config;
use crate::fetch::Agent;
use crate::image::{Image, ImageError};
#[cfg(feature = "hints")]
use crate::learn::hints::Hint;
#[cfg(feature = "hints")]
use crate::scheduler;
use crate::scheduler::{Counter, PageId, SchedulerView};
use crate::time::{Duration, Instant};
use memory::Knowledge;
use origin::Origins;
use persist::Persist;
use redirects::Redirects;
use setup::Setup;
use slots::Slots;
use wall_clock::WallClock;
#[cfg(not(feature = "discover"))]
use without::discovering;
#[cfg(not(feature = "fleet"))]
use without::fleet;
#[cfg(not(feature = "hints"))]
use without::tellers;

/// The time between two looks whether every slot makes progress.
const HOUSE_TICK: Duration = Duration::from_secs(1);
/// The time between two reports.
const REPORT: Duration = Duration::from_secs(60);

/// The parts of a probe that change, each with an interface of its own.
struct State<'a> {
    scheduler: SchedulerView<'a>,
    known: Knowledge<'a>,
    clock: WallClock,
    persist: Persist,
    slots: Slots,
    totals: Totals,
    online: bool,
    /// The tellers whose word is listened to.
    #[cfg(feature = "hints")]
    tellers: tellers::Tellers,
    /// How long the collector is left alone.
    #[cfg(feature = "collect")]
    rest: crate::collect::Rest,
    /// Pages that are found, if any are looked for.
    #[cfg(feature = "discover")]
    discovery: Option<discovering::Discovery<'a>>,
    /// What the scheduler last said to wait for.
    due: Option<Instant>,
    /// The lease that says until when anybody may be asked.
    lease: fleet::Lease,
    /// What the planner has not been told yet.
    visited: fleet::Visited,
}

impl State<'_> {
    /// The host at whose gate a page waits: its own, as a rule.
    fn waits_at(&self, page: PageId) -> u16 {
        let host = self.scheduler.host_of(page);
        host.map_or(0, |host| host.index() as u16)
    }
}

/// The loop: one for a device, shared by all slots.
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
            clock: WallClock::new(image.hosts()),
            persist: Persist::NEW,
            slots: Slots::new(slots),
            totals: Totals::default(),
            online: false,
            #[cfg(feature = "hints")]
            tellers: tellers::Tellers::new(),
            #[cfg(feature = "collect")]
            rest: crate::collect::Rest::NONE,
            #[cfg(feature = "discover")]
            discovery: None,
            due: None,
            lease: fleet::Lease::UNNEEDED,
            visited: fleet::Visited::NEW,
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
    #[must_use]
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
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let state = self.state();
        state.due.filter(|_| state.online && state.slots.are_idle())
    }

    /// Somebody says that a page has changed, or will: it is due as soon as that is worth a visit,
    /// and who says so is believed as far as earlier hints proved true. `page` is its number, as in
    /// the log.
    ///
    /// # Errors
    /// There is no such page.
    #[cfg(feature = "hints")]
    pub fn hint(&self, page: u16, hint: Hint) -> Result<(), scheduler::Error> {
        let now = self.board.now();
        let mut state = self.state();
        let id = state.scheduler.page_id(page.into());
        let id = id.ok_or(scheduler::Error::UnknownPage)?;
        state.scheduler.hint(id, hint, now)?;
        state.slots.wake_all();
        Ok(())
    }

    /// The page of this URL, as the list has it; `None` if there is none. Work: a comparison of
    /// four bytes with each page, and of those without a store, of the URL.
    #[cfg(feature = "push")]
    pub fn page_at(&self, url: &str) -> Option<u16> {
        let id = crate::store::identity(&self.setup.config.key, url) as u32;
        let state = self.state();
        let is_it = |page: &usize| {
            let known = state.known.pages.get(*page);
            known.is_some_and(|known| known.id == id || known.id == 0)
                && self.setup.is_url_of(*page, url)
        };
        let page = (0..self.setup.page_places()).find(is_it)?;
        Some(page as u16)
    }

    /// What keeps that which was learnt over a power cut, in a store.
    pub fn persistence(&self) -> Persistence<'_, 'a, B> {
        Persistence { probe: self }
    }

    /// What the planner of a fleet may know of the probe, and let it do.
    #[cfg(feature = "fleet")]
    pub fn membership(&self) -> Membership<'_, 'a, B> {
        Membership { probe: self }
    }

    /// What time it is, and who says so.
    pub fn time(&self) -> Timekeeping<'_, 'a, B> {
        Timekeeping { probe: self }
    }

    /// The board it runs on.
    pub fn board(&self) -> &B {
        &self.board
    }

    /// How the image wants it to behave.
    pub fn config(&self) -> &Config<'a> {
        &self.setup.config
    }

    /// Who it says it is, to sites and to its owner's servers.
    pub fn agent(&self) -> Agent<'a> {
        self.setup.agent
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
        #[cfg(feature = "discover")]
        self.found().report();
    }

    /// How often something happened, by the scheduler's own count.
    pub fn counted(&self, counter: Counter) -> u32 {
        self.state().scheduler.counters().get(counter)
    }

    /// Is a slot at the same page for longer than this, or has nobody woken up to a page for so
    /// long?
    fn hangs(&self, now: Instant, patience: Duration) -> bool {
        let state = self.state();
        let waits = state.online && !state.persist.is_holding() && state.lease.holds(now);
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
                // Hosts that few have told the time of day are believed after a minute.
                self.state().tell_time_of_day(&self.setup, now);
                self.report();
            }
            self.board.sleep_until(now + HOUSE_TICK).await;
        }
    }
}
