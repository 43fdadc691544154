//! A probe on a network and a clock of our own: time passes only when every slot waits, so that
//! hours take milliseconds and every run is the same. Judged by what the servers saw.

mod collector;
mod servers;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use dunlin::catalog::{
    ChangeLaw, Config, CrawlLimits, Gateway, Host, LogLevel, Name, Page, TimeServer,
};
use dunlin::collect::Collector;
use dunlin::constraints::{ClockUpdate, Updates};
use dunlin::fetch::Ignore;
use dunlin::fleet::{Drift, Member};
use dunlin::image::{Builder, Image, Tag, Teller};
use dunlin::model::Objective;
use dunlin::probe::{
    AddedPage, Board, BodyPiece, CollectingSlot, Event, FoundEvent, HostMemory, Memory, PageMemory,
    Probe, Slot, Totals,
};
use dunlin::scheduler::{DynTables, Settings};
use dunlin::store::{Partition, Store, TextLog};
use dunlin::time::{Duration, Instant};
use futures_lite::future::block_on;
use host_tests::flash::Flash;

use self::collector::WayToCollector;
pub use self::collector::{Mood, Moods};
use self::servers::{Net, Wire};
use crate::texts::{FoundRoom, TextFlash};

/// One request, as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub at: Duration,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
    /// From the Host header.
    pub host: String,
    /// From the request line: a path, or a whole URL if we are asked as a gateway.
    pub target: String,
    pub keep_alive: bool,
    pub conditional: bool,
    pub https: bool,
    /// Where the connection went.
    pub address: IpAddr,
}

/// What a server does about a request.
#[derive(Clone, Debug)]
pub struct Answer {
    pub text: String,
    pub after: Duration,
    /// Closes the connection so long after the answer.
    pub closes: Option<Duration>,
}

impl Answer {
    pub fn new(status: u16, headers: &str, body: &str) -> Self {
        let text = format!(
            "HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self {
            text,
            after: Duration::from_millis(20),
            closes: None,
        }
    }

    pub fn page(body: &str) -> Self {
        Self::new(200, "", body)
    }

    pub fn moved(status: u16, to: &str) -> Self {
        Self::new(status, &format!("Location: {to}\r\n"), "")
    }

    pub fn none() -> Self {
        Self::new(404, "", "")
    }

    /// Closes without a word.
    pub fn silence() -> Self {
        Self {
            text: String::new(),
            closes: Some(Duration::ZERO),
            ..Self::page("")
        }
    }

    /// The device has no memory left for the rest.
    pub fn too_much() -> Self {
        Self {
            text: TOO_MUCH.into(),
            ..Self::page("")
        }
    }
}

/// An answer that is no more than this is more than the device can read.
const TOO_MUCH: &str = "HTTP/1.1 2";

type Site = dyn Fn(&Hit) -> Answer;

/// Names that are not on the open Internet, and one that is there by IPv6 only.
const ADDRESSES: [(&str, &str); 7] = [
    ("inside.test", "10.0.0.7"),
    ("loopback6.test", "::1"),
    ("mapped.test", "::ffff:127.0.0.1"),
    ("unique.test", "fd12:3456:789a::1"),
    ("unique2.test", "fc00::1"),
    ("link.test", "fe80::1"),
    ("six.test", "2606:2800:21f:cb07::1"),
];

/// Everything around the probe.
#[allow(missing_debug_implementations)] // A site is a closure.
pub struct World {
    now: Cell<Instant>,
    next: Cell<Instant>,
    site: Box<Site>,
    pub hits: RefCell<Vec<Hit>>,
    pub events: RefCell<Vec<(Duration, Event)>>,
    pub watchdog: Cell<u32>,
    connections: Cell<usize>,
    /// Where names are; 192.0.2.0/24 stands for the open Internet's addresses, which [`is_public`]
    /// knows better.
    names: HashMap<&'static str, IpAddr>,
    whereabouts: Whereabouts,
    pub resolved: RefCell<Vec<String>>,
    pub connected: RefCell<Vec<IpAddr>>,
    only_ipv4: bool,
    refused: fn(usize) -> bool,
    pub https: bool,
    unix_time: Option<u64>,
    time_server: TimeService,
    /// Pieces of bodies that the board was shown: page, offset, text.
    pub bodies: RefCell<Vec<(u16, u32, String)>>,
    /// What the collector is like.
    moods: Moods,
    /// What the collector has acknowledged: the bytes that were posted.
    pub collected: RefCell<Vec<Vec<u8>>>,
    /// What the collector has taken to its end, whatever it answered: the bytes that were posted.
    pub posted: RefCell<Vec<Vec<u8>>>,
    /// What was said of pages that were found.
    pub found: RefCell<Vec<(Duration, String)>>,
    /// What the time server was asked.
    pub asked_time: RefCell<Vec<(Duration, Vec<u8>)>>,
}

/// Where names are at a time, if not where they always are.
pub type Whereabouts = fn(&str, Duration) -> Option<[u8; 4]>;

/// What a time server answers to what it is asked, and when.
pub type TimeService = fn(Duration, &[u8]) -> Vec<Vec<u8>>;

/// A probe in the world.
pub type WorldProbe<'p, 'w> = Probe<'p, &'w World>;

/// Who stores what is learnt, and how.
pub struct Keeper<'s, F> {
    pub store: &'s mut Store<F>,
    pub how: Keeping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// As the firmware does it.
    AsItShould,
    /// The same, less often.
    Every(Duration),
    /// Without waiting for fetches to end before it erases.
    Carelessly(Duration),
}

impl World {
    fn sleep(&self, then: Instant) -> impl Future<Output = ()> + '_ {
        poll_fn(move |_| {
            if self.now.get() >= then {
                return Poll::Ready(());
            }
            self.next.set(self.next.get().min(then));
            Poll::Pending
        })
    }

    pub fn elapsed(&self) -> Duration {
        self.now.get() - Instant::ZERO
    }

    /// Hits on a path of a host.
    pub fn asked(&self, host: &str, target: &str) -> Vec<Hit> {
        let hits = self.hits.borrow();
        hits.iter()
            .filter(|hit| hit.host == host && hit.target == target)
            .cloned()
            .collect()
    }

    /// The shortest time between two requests to a host.
    pub fn shortest_gap(&self, host: &str) -> Duration {
        let hits = self.hits.borrow();
        let times: Vec<Duration> = hits
            .iter()
            .filter(|hit| hit.host == host)
            .map(|hit| hit.at)
            .collect();
        assert!(times.len() > 1, "{host} was asked {} times", times.len());
        times
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .min()
            .unwrap_or(Duration::ZERO)
    }
}

/// A probe's world and its page list.
pub struct Setting {
    /// The hosts of the list: name, gap and paths.
    pub hosts: Vec<(&'static str, Duration, Vec<&'static str>)>,
    pub hours: Option<(u8, u8)>,
    pub utc_offset_minutes: i16,
    pub gateway: Option<Gateway<'static>>,
    pub https: bool,
    pub slots: usize,
    pub redirect_bytes: usize,
    pub names: Vec<Name<'static>>,
    pub ignore: Vec<Ignore<'static>>,
    /// The network has no IPv6.
    pub only_ipv4: bool,
    pub seconds: u64,
    pub back_off_ms: u32,
    /// The network is away from, and until, so many seconds.
    pub away: Option<(u64, u64)>,
    /// Fetches a day; `None` for what politeness allows.
    pub per_day: Option<f32>,
    /// The board's own clock says so when it starts.
    pub unix_time: Option<u64>,
    pub sntp: Option<TimeServer<'static>>,
    pub time_server: TimeService,
    /// After so many seconds, nobody wakes the slots any more.
    pub stuck_from: Option<u64>,
    pub whereabouts: Whereabouts,
    /// All hosts stand behind the first one's gate.
    pub one_gate: bool,
    /// Changes a day that are believed of every page.
    pub rate: f32,
    /// Of single pages, others.
    pub rates: Vec<(usize, f32)>,
    /// How firmly that rate is believed.
    pub confidence: f32,
    /// What is to be kept small.
    pub objective: Objective,
    /// What the list says about how often single pages are visited.
    pub limits: Vec<(u16, CrawlLimits)>,
    /// Room for so many pages that are added while it runs.
    pub additions: usize,
    /// Places of the scheduler, if not as many as the probe has.
    pub scheduled: Option<usize>,
    /// Which connections, counted from 0, cannot be opened.
    pub refused: fn(usize) -> bool,
    /// Pages with one certain update a day: when that is.
    pub updates: Vec<(u16, Duration)>,
    /// It is a probe of a fleet, without a lease yet.
    pub fleet: bool,
    /// What a fetch is worth to others, and how many seconds ago they have visited each page.
    pub seen: (f32, Vec<Option<u32>>),
    /// Bytes that a slot reads at a time.
    pub window: usize,
    /// What passes while all slots have a turn each: the processor takes its time, too.
    pub round: Duration,
    /// What the collector is like, if there is one.
    pub collector: Option<Moods>,
    /// Where pages are looked for beyond the list: the image's section, and the flash of the log.
    pub discover: Option<(Vec<u8>, TextFlash)>,
    /// How pages are ranked: the image's section; empty for an image without it.
    pub ranking: Vec<u8>,
    /// Pages in which hosts say when others changed.
    pub tellers: Vec<Teller>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            hours: None,
            utc_offset_minutes: 0,
            gateway: None,
            https: false,
            slots: 3,
            redirect_bytes: 4096,
            names: Vec::new(),
            ignore: Vec::new(),
            only_ipv4: false,
            seconds: 600,
            back_off_ms: 60_000,
            away: None,
            per_day: None,
            unix_time: None,
            sntp: None,
            time_server: |_, _| Vec::new(),
            stuck_from: None,
            whereabouts: |_, _| None,
            one_gate: false,
            // Often enough for every page to be due again and again.
            rate: 1_000.0,
            rates: Vec::new(),
            confidence: 10.0,
            objective: Objective::Freshness,
            limits: Vec::new(),
            additions: 0,
            scheduled: None,
            refused: |_| false,
            updates: Vec::new(),
            fleet: false,
            seen: (0.0, Vec::new()),
            window: 700,
            round: Duration::ZERO,
            collector: None,
            discover: None,
            ranking: Vec::new(),
            tellers: Vec::new(),
        }
    }
}

impl Setting {
    /// One gap for all hosts.
    pub fn of(gap: Duration, hosts: &[(&'static str, &[&'static str])]) -> Self {
        let hosts = hosts
            .iter()
            .map(|(host, paths)| (*host, gap, paths.to_vec()))
            .collect();
        Self {
            hosts,
            ..Self::default()
        }
    }

    fn image(&self) -> Vec<u8> {
        let mut config = Config::new("dunlin/0.1");
        config.per_day = self.per_day;
        config.back_off_ms = self.back_off_ms;
        config.key = [3; 16];
        config.gateway = self.gateway;
        config.utc_offset_minutes = self.utc_offset_minutes;
        config.log = LogLevel::Debug;
        config.sntp = self.sntp;
        let mut hosts = Vec::new();
        let mut urls = Vec::new();
        for (index, (name, gap, paths)) in self.hosts.iter().enumerate() {
            let name = name.split_once("://").map_or(*name, |(_, name)| name);
            hosts.push(Host {
                name,
                gap_ms: gap.as_millis() as u32,
                hours: self.hours.filter(|_| index == 0),
                gate: if self.one_gate { 0 } else { index as u16 },
                first_page: urls.len() as u16,
                pages: paths.len() as u16,
            });
            let scheme = if self.hosts[index].0.contains("://") {
                ""
            } else {
                "http://"
            };
            urls.extend(paths.iter().map(|path| {
                // A path, or a whole URL.
                let url = match path.starts_with("http") {
                    true => (*path).to_owned(),
                    false => format!("{scheme}{}{path}", self.hosts[index].0),
                };
                (index as u16, url)
            }));
        }
        let page = |(host, url): &'_ (u16, String)| (*host, url.clone());
        let urls: Vec<(u16, String)> = urls.iter().map(page).collect();
        let rate_of = |page: usize| {
            let own = self.rates.iter().find(|(known, _)| *known == page);
            own.map_or(self.rate, |(_, rate)| *rate)
        };
        let pages: Vec<Page<'_>> = urls
            .iter()
            .enumerate()
            .map(|(index, (host, url))| Page {
                host: *host,
                url,
                weight: 1.0,
                rate: Some(rate_of(index)),
                confidence: self.confidence,
            })
            .collect();
        let bytes: Vec<[u8; 8]> = (self.updates.iter())
            .map(|&(_, offset)| {
                ClockUpdate {
                    offset,
                    probability: 1.0,
                }
                .to_bytes()
            })
            .collect();
        let law = |bytes| ChangeLaw::Quasi {
            interval: Duration::DAY,
            updates: Updates::from_bytes(bytes),
        };
        let pages_by_clock = self.updates.iter().map(|(page, _)| *page);
        let laws: Vec<(u16, ChangeLaw<'_>)> = pages_by_clock
            .zip(bytes.iter().map(|bytes| law(bytes)))
            .collect();
        let builder = Builder::new(&config);
        let builder = match &self.discover {
            Some((section, _)) => builder.section(Tag::DISCOVERY, section),
            None => builder,
        };
        let builder = match self.ranking.is_empty() {
            true => builder,
            false => builder.section(Tag::RANKING, &self.ranking),
        };
        builder
            .names(&self.names)
            .hosts(&hosts)
            .pages(&pages)
            .ignore(&self.ignore)
            .limits(&self.limits)
            .laws(&laws)
            .objective(self.objective)
            .tellers(&self.tellers)
            .seen(self.seen.0, &self.seen.1)
            .build_unchecked()
    }

    /// Runs the probe's own loop against `site`.
    pub fn run(&self, site: impl Fn(&Hit) -> Answer + 'static) -> (World, Totals) {
        self.run_keeping(None::<Keeper<'_, Flash<3, 1024, 4>>>, site, |_, _| ())
    }

    /// The same with a store, and somebody who looks at it whenever nothing moves any more.
    pub fn run_keeping<F: Partition>(
        &self,
        mut keeper: Option<Keeper<'_, F>>,
        site: impl Fn(&Hit) -> Answer + 'static,
        mut look: impl FnMut(&World, &WorldProbe<'_, '_>),
    ) -> (World, Totals) {
        let bytes = self.image();
        let image = Image::parse(&bytes).expect("an image of our own");
        let world = World {
            now: Cell::new(Instant::ZERO),
            next: Cell::new(Instant::MAX),
            site: Box::new(site),
            hits: RefCell::default(),
            events: RefCell::default(),
            watchdog: Cell::new(0),
            connections: Cell::new(0),
            names: ADDRESSES
                .iter()
                .map(|(name, address)| (*name, address.parse().expect("an address")))
                .collect(),
            whereabouts: self.whereabouts,
            resolved: RefCell::default(),
            connected: RefCell::default(),
            only_ipv4: self.only_ipv4,
            refused: self.refused,
            https: self.https,
            unix_time: self.unix_time,
            time_server: self.time_server,
            bodies: RefCell::default(),
            moods: self.collector.unwrap_or(|_| Mood::Gone),
            collected: RefCell::default(),
            posted: RefCell::default(),
            found: RefCell::default(),
            asked_time: RefCell::default(),
        };
        let mut found = self
            .discover
            .as_ref()
            .map(|(section, _)| FoundRoom::new(section, self.tellers.len()));
        let places = found.as_ref().map_or(0, |found| found.places);
        let host_room = image.hosts() + found.as_ref().map_or(0, |found| found.hosts);
        let room = (image.pages() + self.additions).max(places);
        let additions: Vec<_> = (0..self.additions).map(|_| AddedPage::NEW).collect();
        let mut tables = DynTables::new(self.scheduled.unwrap_or(room), host_room);
        let mut pages = vec![PageMemory::NEW; room];
        let mut hosts = vec![HostMemory::NEW; host_room];
        let mut redirects = vec![0; self.redirect_bytes];
        let memory = Memory {
            scheduler: tables.scheduler(Settings::DEFAULT),
            pages: &mut pages,
            hosts: &mut hosts,
            redirects: &mut redirects,
        };
        let totals = {
            let probe = Probe::new(image, memory, self.slots, &world).expect("a probe");
            let mut probe = probe.with_additions(&additions);
            let mut log = None;
            if let (Some((_, texts)), Some(room)) = (&self.discover, found.as_mut()) {
                probe = probe.with_discovery(room.lend(), texts);
                log = Some(TextLog::new(texts.clone()));
            }
            if let Some(log) = &mut log {
                block_on(probe.persistence().restore_found(log, true));
            }
            if self.collector.is_some() {
                let token = Some("0123456789abcdef");
                let collector = Collector::new("http://keeper.test:8090/", token);
                probe = probe.with_collector(collector.expect("a collector"));
            }
            if let Some(Keeper { store, .. }) = &mut keeper {
                block_on(probe.persistence().restore(store, true));
            } else if self.fleet {
                probe.membership().seed();
            }
            if self.fleet {
                probe = probe.in_fleet(None);
                let member = Member::new(7, 1, Instant::ZERO, Drift::DEFAULT);
                probe.membership().rest(&member);
                probe.membership().obey(&member);
            }
            probe.set_online(true);
            let mut buffers = vec![vec![0; self.window]; self.slots];
            let mut slots: Vec<_> = buffers
                .iter_mut()
                .map(|buffer| CollectingSlot {
                    slot: Slot {
                        connect: Net(&world),
                        resolve: Net(&world),
                        buffer,
                    },
                    connect: WayToCollector(&world),
                    resolve: Net(&world),
                })
                .collect();
            let mut names = Net(&world);
            let mut wire = Wire {
                world: &world,
                inbox: Vec::new(),
            };
            let mut work: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
            for (number, slot) in slots.iter_mut().enumerate() {
                let probe = &probe;
                let world = &world;
                let stuck_from = self.stuck_from.unwrap_or(u64::MAX);
                let collects = self.collector.is_some();
                let mut slot = Box::pin(async move {
                    match collects {
                        true => probe.run_collecting_slot(number, slot).await,
                        false => probe.run_slot(number, &mut slot.slot).await,
                    }
                });
                work.push(Box::pin(poll_fn(move |context| {
                    match world.elapsed().as_secs() < stuck_from {
                        true => slot.as_mut().poll(context).map(|_| ()),
                        false => Poll::Pending,
                    }
                })));
            }
            work.push(Box::pin(async { probe.keep_house().await }));
            work.push(Box::pin(async {
                probe.time().keep(7, &mut names, &mut wire).await
            }));
            if let Some(log) = &mut log {
                let probe = &probe;
                work.push(Box::pin(
                    async move { probe.persistence().run_found(log).await },
                ));
            }
            if let Some(Keeper { store, how }) = &mut keeper {
                let probe = &probe;
                let world = &world;
                work.push(Box::pin(async move {
                    match *how {
                        Keeping::AsItShould => probe.persistence().run(store).await,
                        Keeping::Every(period) => loop {
                            world.sleep(world.now.get() + period).await;
                            probe.persistence().flush(store).await;
                        },
                        Keeping::Carelessly(period) => loop {
                            world.sleep(world.now.get() + period).await;
                            probe.persistence().save(store).await;
                        },
                    }
                }));
            }
            if let Some((from, until)) = self.away {
                let probe = &probe;
                let world = &world;
                work.push(Box::pin(async move {
                    world.sleep(Instant::ZERO + Duration::from_secs(from)).await;
                    probe.set_online(false);
                    world
                        .sleep(Instant::ZERO + Duration::from_secs(until))
                        .await;
                    probe.set_online(true);
                    std::future::pending().await
                }));
            }
            let end = Instant::ZERO + Duration::from_secs(self.seconds);
            drive(&world, &mut work, self.round, end, || look(&world, &probe));
            drop(work);
            probe.totals()
        };
        (world, totals)
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls everything until nothing moves, in rounds of this length, then lets time pass to the next
/// alarm.
fn drive(
    world: &World,
    work: &mut [Pin<Box<dyn Future<Output = ()> + '_>>],
    round: Duration,
    end: Instant,
    mut look: impl FnMut(),
) {
    let woken = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    while world.now.get() < end {
        // A loop that never waits would never let time pass.
        let mut polls = 0;
        while woken.0.swap(false, Ordering::Relaxed) {
            polls += 1;
            assert!(
                polls < 100_000,
                "the slots wake each other for ever at {:?}",
                world.elapsed()
            );
            world.next.set(Instant::MAX);
            for future in work.iter_mut() {
                let _: Poll<()> = future.as_mut().poll(&mut Context::from_waker(&waker));
            }
            world.now.set(world.now.get() + round);
        }
        look();
        let next = world.next.get().max(world.now.get());
        world.now.set(next.min(end));
        woken.0.store(true, Ordering::Relaxed);
    }
}

impl Board for &World {
    fn now(&self) -> Instant {
        self.now.get()
    }

    async fn sleep_until(&self, then: Instant) {
        self.sleep(then).await;
    }

    fn speaks_https(&self) -> bool {
        self.https
    }

    fn log(&self, event: &Event) {
        self.events.borrow_mut().push((self.elapsed(), *event));
    }

    fn body(&self, piece: BodyPiece<'_>) {
        let text = String::from_utf8_lossy(piece.bytes).into_owned();
        let mut bodies = self.bodies.borrow_mut();
        bodies.push((piece.page, piece.offset, text));
    }

    fn found(&self, event: &FoundEvent<'_>) {
        let mut found = self.found.borrow_mut();
        found.push((self.elapsed(), event.to_string()));
    }

    fn unix_time(&self) -> Option<u64> {
        self.unix_time.map(|start| start + self.elapsed().as_secs())
    }

    fn feed_watchdog(&self) {
        self.watchdog.set(self.watchdog.get() + 1);
    }
}
