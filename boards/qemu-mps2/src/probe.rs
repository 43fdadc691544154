//! The probe on this board: how much memory it has, and how its tasks begin and end.

use dunlin::image::{Image, ImageError};
use dunlin::probe::{BoardEvent, Event};
use dunlin_board::memory;
use dunlin_board::network::{NetworkSlot, SlotMemory};
use dunlin_board::probe::{self, Capacity, Hardware, PageTable, Tables};
use embassy_net::Stack;
use static_cell::{ConstStaticCell, StaticCell};

use crate::{clock, exit, flash, watchdog};
use qemu_mps2_capacity::{HOSTS, PAGES, SLOTS};

/// The machine as the probe needs it.
#[derive(Clone, Copy, Debug)]
pub struct Mps2 {
    /// The date when it was started, if the command line says so.
    epoch: Option<u64>,
}

impl Hardware for Mps2 {
    fn feed_watchdog(&self) {
        watchdog::feed();
    }

    fn unix_time(&self) -> Option<u64> {
        Some(self.epoch? + clock::micros() / 1_000_000)
    }
}

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
            Ok(image.as_bytes())
        } else {
            Err(ImageError::TooLarge { pages, hosts })
        }
    });
    match found {
        Ok(image) => {
            if flash::keep_image(image).is_err() {
                defmt::warn!("the page image could not be kept");
            }
        }
        Err(why) => {
            if flash::recall_image(place).is_some() {
                Event::Refused { why }.emit();
                defmt::warn!("running on the last good page image");
            }
        }
    }
}

/// Makes the probe of the image that is loaded. Call once.
///
/// # Errors
/// Why the image cannot be used; it has been logged.
// A frame of its own, which ends with it: in that of `main`, the probe's memory would stay on the
// stack for ever.
#[inline(never)]
pub fn load(epoch: Option<u64>) -> Result<&'static BoardProbe, ImageError> {
    static TABLES: ConstStaticCell<Tables<PAGES, HOSTS>> = ConstStaticCell::new(Tables::NEW);
    static PAGE_TABLE: ConstStaticCell<PageTable<PAGES>> = ConstStaticCell::new(PageTable::NEW);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    let hardware = Mps2 { epoch };
    probe::load(TABLES.take(), PAGE_TABLE.take(), &PROBE, SLOTS, hardware)
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
