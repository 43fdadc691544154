//! The probe on this board: how much memory it has, and how its tasks begin and end.

use dunlin::image::ImageError;
use dunlin_board::memory;
use dunlin_board::network::{NetworkSlot, SlotMemory};
use dunlin_board::probe::{self, Capacity, Hardware, PageTable, Tables};
use embassy_net::Stack;
use static_cell::{ConstStaticCell, StaticCell};

use crate::capacity::{HOSTS, PAGES, SLOTS};
use crate::{clock, exit};

/// QEMU has no watchdog that is worth feeding: whoever started it gives it a deadline.
#[derive(Clone, Copy, Debug)]
pub struct Mps2;

impl Hardware for Mps2 {}

/// The probe, for as many pages as [`crate::capacity`] says.
pub type BoardProbe = probe::BoardProbe<PAGES, HOSTS, Mps2>;

// SAFETY: dunlin.x knows the section, and nothing at run time reads it.
#[unsafe(link_section = ".dunlin.capacity")]
#[used]
static CAPACITY: Capacity = Capacity::of::<PAGES, HOSTS>();

/// Makes the probe of the image that is loaded. Call once.
///
/// # Errors
/// Why the image cannot be used; it has been logged.
pub fn load() -> Result<&'static BoardProbe, ImageError> {
    static TABLES: ConstStaticCell<Tables<PAGES, HOSTS>> = ConstStaticCell::new(Tables::NEW);
    static PAGE_TABLE: ConstStaticCell<PageTable<PAGES>> = ConstStaticCell::new(PageTable::NEW);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    probe::load(TABLES.take(), PAGE_TABLE.take(), &PROBE, SLOTS, Mps2)
}

/// The board's slots, each to be run by a task of its own. Call once.
pub fn slots(stack: Stack<'static>) -> impl Iterator<Item = NetworkSlot> {
    static SLOT_MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> = ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    SLOT_MEMORY.take().iter_mut().map(move |memory| memory.on(stack))
}

/// Sums up and ends QEMU.
pub fn end(probe: Option<&BoardProbe>) -> ! {
    if let Some(probe) = probe {
        probe.report();
    }
    defmt::info!(
        "done after {=u64} ms, stack high-water mark {=u32} B",
        clock::micros() / 1_000,
        memory::stack_high_water()
    );
    exit::success()
}
