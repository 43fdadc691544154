//! The probe on this board: how much memory it has, and how its tasks begin and end.

#[cfg(feature = "update")]
use core::cell::Cell;

use dunlin::image::{Image, ImageError};
use dunlin::probe::{BoardEvent, Event};
use dunlin_board::memory;
use dunlin_board::network::{NetworkSlot, SlotMemory};
use dunlin_board::probe::{self, Capacity, Hardware, PageTable, Tables};
use embassy_net::Stack;
#[cfg(feature = "update")]
use embassy_sync::blocking_mutex::{Mutex, raw::CriticalSectionRawMutex};
use static_cell::{ConstStaticCell, StaticCell};

#[cfg(feature = "fleet")]
use crate::fleet::Membership;
use crate::options::Options;
use crate::{clock, exit, flash, watchdog};
use qemu_mps2_capacity::{HOSTS, PAGES, SLOTS};

/// The machine as the probe needs it.
#[derive(Clone, Copy, Debug)]
pub struct Mps2 {
    /// The date when it was started, if the command line says so.
    epoch: Option<u64>,
    /// There is a state file.
    #[cfg(feature = "discover")]
    kept: bool,
    #[cfg(feature = "collect")]
    token: Option<&'static str>,
    #[cfg(feature = "headers")]
    headers: &'static str,
    #[cfg(feature = "fleet")]
    fleet: Option<Image<'static>>,
}

impl Hardware for Mps2 {
    fn feed_watchdog(&self) {
        watchdog::feed();
    }

    #[cfg(feature = "update")]
    fn key(&self) -> Option<[u8; 16]> {
        KEY.lock(Cell::get)
    }

    #[cfg(all(feature = "fleet", not(feature = "update")))]
    fn key(&self) -> Option<[u8; 16]> {
        Some(self.fleet?.config().ok()?.key)
    }

    #[cfg(feature = "fleet")]
    fn fleet_image(&self) -> Option<Image<'static>> {
        self.fleet
    }

    fn unix_time(&self) -> Option<u64> {
        Some(self.epoch? + clock::micros() / 1_000_000)
    }

    #[cfg(feature = "discover")]
    fn discovery(&self) -> Option<dunlin_board::discovering::Lent> {
        use dunlin_board::discovering::{FoundTables, Lent};
        static TABLES: ConstStaticCell<FoundTables<PAGES, FOUND_HOSTS, CANDIDATES>> =
            ConstStaticCell::new(FoundTables::NEW);
        self.kept.then(|| Lent {
            memory: TABLES.take().lend(),
            source: &flash::TextFile,
        })
    }

    #[cfg(feature = "collect")]
    fn collector_token(&self) -> Option<&'static str> {
        self.token
    }

    #[cfg(feature = "headers")]
    fn headers(&self) -> Option<&'static str> {
        Some(self.headers)
    }
}

/// Hosts beyond those of the list, at most; they need room among [`HOSTS`].
#[cfg(feature = "discover")]
const FOUND_HOSTS: usize = 16;
/// Pages that are known and not kept, at most.
#[cfg(feature = "discover")]
const CANDIDATES: usize = 2_048;

/// The probe, for as many pages as [`qemu_mps2_capacity`] says.
pub type BoardProbe = probe::BoardProbe<PAGES, HOSTS, Mps2>;

// SAFETY: dunlin.x knows the section, and nothing at run time reads it.
#[unsafe(link_section = ".dunlin.capacity")]
#[used]
static CAPACITY: Capacity = Capacity::of::<PAGES, HOSTS>();

unsafe extern "C" {
    static mut _image_start: u8;
    static _image_end: u8;
}

/// Keeps the page image in the state file if it is good, and puts the last good one in its place if
/// it is not.
pub fn keep_last_good_image() {
    let start = &raw mut _image_start;
    let length = (&raw const _image_end).addr().saturating_sub(start.addr());
    // SAFETY: memory.x sets this region apart. It is RAM in QEMU, and until `load` is called nobody
    // else looks at it.
    let place = unsafe { core::slice::from_raw_parts_mut(start, length) };
    let found = Image::parse(place).and_then(|image| {
        let pages = image.pages() as u16;
        let hosts = image.hosts() as u16;
        let fits = image.pages() <= PAGES && image.hosts() <= HOSTS;
        if fits {
            Ok(image)
        } else {
            Err(ImageError::TooLarge { pages, hosts })
        }
    });
    match found {
        Ok(image) => {
            #[cfg(feature = "update")]
            remember(&image);
            let kept = flash::keep_image(image.as_bytes());
            if kept.is_err() {
                defmt::warn!("the page image could not be kept");
            }
            #[cfg(feature = "update")]
            if kept == Ok(true) {
                crate::update::forget_lists();
            }
        }
        Err(why) => {
            if flash::recall_image(place).is_some() {
                Event::Refused { why }.emit();
                defmt::warn!("running on the last good page image");
                #[cfg(feature = "update")]
                if let Ok(image) = Image::parse(place) {
                    remember(&image);
                }
            }
        }
    }
    #[cfg(feature = "update")]
    crate::update::newest_list(place);
}

/// Keeps what counts of a list that was loaded, whichever list came as an update. Call once.
#[cfg(feature = "update")]
#[inline(never)] // Once for both callers.
fn remember(image: &Image<'_>) {
    KEY.lock(|kept| kept.set(image.config().ok().map(|config| config.key)));
    crate::update::keep_url(image.update_url());
}

/// The device's key: that of the list which was loaded, whichever list came as an update.
#[cfg(feature = "update")]
static KEY: Mutex<CriticalSectionRawMutex, Cell<Option<[u8; 16]>>> = Mutex::new(Cell::new(None));

/// Makes the probe of the image that is loaded. Call once.
///
/// # Errors
/// Why the image cannot be used; it has been logged.
// A frame of its own, which ends with it: in that of `main`, the probe's memory would stay on the
// stack for ever.
#[inline(never)]
pub fn load(options: &Options) -> Result<&'static BoardProbe, ImageError> {
    static TABLES: ConstStaticCell<Tables<PAGES, HOSTS>> = ConstStaticCell::new(Tables::NEW);
    static PAGE_TABLE: ConstStaticCell<PageTable<PAGES>> = ConstStaticCell::new(PageTable::NEW);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    #[cfg(feature = "fleet")]
    let membership = Membership::find();
    let hardware = Mps2 {
        epoch: options.epoch,
        #[cfg(feature = "discover")]
        kept: options.state().is_some(),
        #[cfg(feature = "collect")]
        token: {
            static TOKEN: StaticCell<heapless::String<64>> = StaticCell::new();
            let token = TOKEN.init(options.token.clone()).as_str();
            Some(token).filter(|token| !token.is_empty())
        },
        #[cfg(feature = "headers")]
        headers: {
            use crate::options::HEADERS;
            static LINES: StaticCell<heapless::String<HEADERS>> = StaticCell::new();
            LINES.init(options.headers.clone()).as_str()
        },
        #[cfg(feature = "fleet")]
        fleet: membership.map(|membership| membership.home.image),
    };
    let tables = TABLES.take();
    let pages = PAGE_TABLE.take();
    #[cfg(feature = "fleet")]
    if let Some(membership) = membership {
        let list = membership.list();
        return probe::load_from(list, tables, pages, &PROBE, SLOTS, hardware);
    }
    probe::load(tables, pages, &PROBE, SLOTS, hardware)
}

/// The board's slots, each to be run by a task of its own. Call once.
pub fn slots(stack: Stack<'static>) -> impl Iterator<Item = NetworkSlot> {
    static SLOT_MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> =
        ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    SLOT_MEMORY
        .take()
        .iter_mut()
        .map(move |memory| memory.on(stack))
}

/// Sums up and ends QEMU.
pub fn end(probe: Option<&BoardProbe>) -> ! {
    if let Some(probe) = probe {
        probe.report();
    }
    let done = BoardEvent::Done {
        millis: clock::micros() / 1_000,
        stack: memory::stack_high_water(),
    };
    done.emit();
    exit::success()
}
