//! The probe on a microcontroller: embassy's clock, a defmt log, and memory that the board sets
//! apart.

use core::mem::size_of;

use dunlin::catalog::LogLevel;
use dunlin::image::{Image, ImageError};
use dunlin::probe::{Board, BoardEvent, Event, HostMemory, Memory, PageMemory, Probe, most_moves};
use dunlin::scheduler::{Settings, Tables as SchedulerTables};
#[cfg(any(feature = "collect", feature = "headers"))]
use dunlin::settings::SettingKey;
use dunlin::time::Instant;
use embassy_executor::{SpawnError, SpawnToken, Spawner};
use embassy_time::Timer;
use static_cell::StaticCell;

use crate::{black_box, executor};

/// What a board's hardware does for the probe besides clock, log and network.
pub trait Hardware {
    /// Every slot makes progress: called once a second, and no longer once one hangs.
    fn feed_watchdog(&self) {}
    /// Seconds since 1970, by a clock that runs while the device is off; `None` without one.
    fn unix_time(&self) -> Option<u64> {
        None
    }
    /// What the collector knows this device by; `None` if it has not been told. As a rule it is
    /// told by a cable.
    #[cfg(feature = "collect")]
    fn collector_token(&self) -> Option<&'static str> {
        crate::settings::read().get(SettingKey::CollectorToken)
    }
    /// Headers for single hosts, in lines of an origin, a space and headers with `|` between them;
    /// `None` if it has not been told any. As a rule it is told by a cable.
    #[cfg(feature = "headers")]
    fn headers(&self) -> Option<&'static str> {
        crate::settings::read().get(SettingKey::Headers)
    }
    /// The image that the device was loaded with, if it is a probe of a fleet: its list comes from
    /// the planner.
    #[cfg(feature = "fleet")]
    fn fleet_image(&self) -> Option<Image<'static>> {
        None
    }
    /// Memory for pages beyond the list, and who reads the flash of their URLs; `None` if it has
    /// none. Called once.
    #[cfg(feature = "discover")]
    fn discovery(&self) -> Option<crate::discovering::Lent> {
        None
    }
    /// A key that only this device has, random and the same at every start; `None` to use the page
    /// image's.
    fn key(&self) -> Option<[u8; 16]> {
        None
    }
}

/// A microcontroller as the probe sees it.
#[derive(Clone, Copy, Debug)]
pub struct Device<H> {
    log: LogLevel,
    hardware: H,
}

impl<H: Hardware> Board for Device<H> {
    fn now(&self) -> Instant {
        Instant::from_micros(embassy_time::Instant::now().as_micros())
    }

    async fn sleep_until(&self, then: Instant) {
        Timer::at(embassy_time::Instant::from_micros(then.as_micros())).await;
    }

    fn log(&self, event: &Event) {
        if event.level() <= self.log {
            event.emit();
        }
        #[cfg(feature = "push")]
        if let Event::End { page, changed, .. } = event {
            crate::push::visited(*page, *changed);
        }
        if let Event::Totals(_) = event {
            let awake_millis = executor::awake().as_millis();
            BoardEvent::Power { awake_millis }.emit();
            crate::here();
            #[cfg(feature = "update")]
            crate::update::report();
            #[cfg(feature = "tls")]
            crate::tls::report();
        }
    }

    #[cfg(feature = "discover")]
    fn found(&self, event: &dunlin::probe::FoundEvent<'_>) {
        if event.level() <= self.log {
            event.emit();
        }
    }

    fn speaks_https(&self) -> bool {
        cfg!(feature = "tls")
    }

    fn unix_time(&self) -> Option<u64> {
        self.hardware.unix_time()
    }

    fn feed_watchdog(&self) {
        black_box::alive(self.now() - Instant::ZERO);
        self.hardware.feed_watchdog();
    }
}

/// The probe of a board: alias it with the board's own numbers.
pub type BoardProbe<const PAGES: usize, const HOSTS: usize, H> = Probe<'static, Device<H>>;

/// The probe's memory but for [`PageTable`]: put it in a `ConstStaticCell`. It begins as zeros,
/// which cost no flash.
#[derive(Debug)]
pub struct Tables<const PAGES: usize, const HOSTS: usize> {
    scheduler: SchedulerTables<PAGES, HOSTS>,
    hosts: [HostMemory; HOSTS],
}

impl<const PAGES: usize, const HOSTS: usize> Tables<PAGES, HOSTS> {
    /// Tables without pages and hosts.
    pub const NEW: Self = Self {
        scheduler: SchedulerTables::NEW,
        hosts: [HostMemory::NEW; HOSTS],
    };
}

/// What is remembered of each page: put it in a `ConstStaticCell` of its own. It begins as zeros,
/// too.
#[derive(Debug)]
pub struct PageTable<const PAGES: usize> {
    pages: [PageMemory; PAGES],
    redirects: [u8; REDIRECT_BYTES],
}

/// Bytes for redirects: some fifty pages that have moved for good.
const REDIRECT_BYTES: usize = 4096;

/// Records that the store must have room for: of the device, its pages, its hosts, and pages that
/// have moved.
pub const fn records(pages: usize, hosts: usize) -> usize {
    1 + pages + hosts + most_moves(REDIRECT_BYTES)
}

impl<const PAGES: usize> PageTable<PAGES> {
    /// A table in which nothing is known of any page.
    pub const NEW: Self = Self {
        pages: [PageMemory::NEW; PAGES],
        redirects: [0; REDIRECT_BYTES],
    };
}

/// What a firmware holds, for programs that read its ELF: put it in a `static` in section
/// `.dunlin.capacity`, which dunlin.x keeps out of flash.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Capacity {
    pages: u32,
    hosts: u32,
    bytes_a_page: u32,
    bytes_a_host: u32,
}

impl Capacity {
    /// The sizes that the compiler gave the tables.
    pub const fn of<const PAGES: usize, const HOSTS: usize>() -> Self {
        const fn bytes<const PAGES: usize, const HOSTS: usize>() -> u32 {
            (size_of::<Tables<PAGES, HOSTS>>() + size_of::<PageTable<PAGES>>()) as u32
        }
        Self {
            pages: PAGES as u32,
            hosts: HOSTS as u32,
            bytes_a_page: (bytes::<64, 0>() - bytes::<0, 0>()) / 64,
            bytes_a_host: (bytes::<0, 64>() - bytes::<0, 0>()) / 64,
        }
    }
}

unsafe extern "C" {
    static _image_start: u8;
    static _image_end: u8;
}

/// The place of the page image, whatever is in it.
pub fn image_flash() -> &'static [u8] {
    let start = &raw const _image_start;
    let length = (&raw const _image_end).addr().saturating_sub(start.addr());
    // SAFETY: memory.x sets this region apart, it is written before the firmware starts, and nobody
    // writes it then.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// Makes the probe of the image that is in flash. Call once.
///
/// # Errors
/// Why the image cannot be used; it has been logged.
pub fn load<const PAGES: usize, const HOSTS: usize, H: Hardware>(
    tables: &'static mut Tables<PAGES, HOSTS>,
    pages: &'static mut PageTable<PAGES>,
    place: &'static StaticCell<BoardProbe<PAGES, HOSTS, H>>,
    slots: usize,
    hardware: H,
) -> Result<&'static BoardProbe<PAGES, HOSTS, H>, ImageError> {
    load_from(image_flash(), tables, pages, place, slots, hardware)
}

/// Makes the probe of this image. Call once.
///
/// # Errors
/// As above.
pub fn load_from<const PAGES: usize, const HOSTS: usize, H: Hardware>(
    image: &'static [u8],
    tables: &'static mut Tables<PAGES, HOSTS>,
    pages: &'static mut PageTable<PAGES>,
    place: &'static StaticCell<BoardProbe<PAGES, HOSTS, H>>,
    slots: usize,
    hardware: H,
) -> Result<&'static BoardProbe<PAGES, HOSTS, H>, ImageError> {
    let made = Image::parse(image).and_then(|image| {
        let log = image.config()?.log;
        let Tables { scheduler, hosts } = tables;
        let PageTable { pages, redirects } = pages;
        let memory = Memory {
            scheduler: scheduler.scheduler(Settings::DEFAULT),
            pages,
            hosts,
            redirects,
        };
        let key = hardware.key();
        #[cfg(feature = "discover")]
        let discovery = hardware.discovery();
        #[cfg(feature = "collect")]
        let token = hardware.collector_token();
        #[cfg(feature = "headers")]
        crate::headers::set(hardware.headers().unwrap_or_default());
        #[cfg(feature = "fleet")]
        let device = hardware.fleet_image();
        let probe = Probe::new(image, memory, slots, Device { log, hardware })?;
        #[cfg(feature = "collect")]
        let probe = collecting(probe, image.collector(), token);
        #[cfg(feature = "fleet")]
        let probe = match device {
            Some(device) => {
                let probe = probe.in_fleet(Some(device));
                // Whoever had the hosts before: their politeness is kept.
                probe.membership().rest_since(probe.board().now());
                probe
            }
            None => probe,
        };
        let probe = match key {
            Some(key) => probe.with_key(key),
            None => probe,
        };
        #[cfg(feature = "discover")]
        let probe = match discovery {
            Some(lent) => probe.with_discovery(lent.memory, lent.source),
            None => probe,
        };
        Ok(probe)
    });
    made.map(|probe| &*place.init(probe))
        .inspect_err(|why| Event::Refused { why: *why }.emit())
}

/// Has copies handed to the collector that the page image names, if it names one.
#[cfg(feature = "collect")]
fn collecting<B: Board>(
    probe: Probe<'static, B>,
    url: Option<&'static str>,
    token: Option<&'static str>,
) -> Probe<'static, B> {
    use dunlin::collect::Collector;
    match url.map(|url| Collector::new(url, token)) {
        Some(Ok(collector)) => probe.with_collector(collector),
        Some(Err(why)) => {
            BoardEvent::NoCollector { why }.emit();
            probe
        }
        None => probe,
    }
}

/// There is room for every task: each is spawned as often as its pool says.
pub fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, SpawnError>) {
    match task {
        Ok(task) => spawner.spawn(task),
        Err(_) => BoardEvent::NoTask.emit(),
    }
}
