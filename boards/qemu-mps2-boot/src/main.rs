#![no_std]
#![no_main]
//! The boot loader: the only thing that QEMU loads. Firmware lies in slots of the state file; it is
//! swapped in or back if need be, copied to where it is linked, and started.
//!
//! It has no log and no cryptography: what lies in its slot is started, whoever put it there.

use core::panic::PanicInfo;

use boot_chain::{AlignedBuffer, FlashError, StateWords, start, state_sectors};
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use qemu_mps2_capacity::{
    ACTIVE, ACTIVE_ROOM, BOOT_STATE, BOOT_STATE_ROOM, BOOT_WORD, DFU, DFU_ROOM, LINKED_AT, SECTOR,
    STATE_WITH_SLOTS,
};
use qemu_mps2_flash::nor::{Part, cut_at};
use qemu_mps2_flash::{Path, file, options};

const _: () = assert!(
    state_sectors(ACTIVE_ROOM / SECTOR, BOOT_WORD, SECTOR) * SECTOR <= BOOT_STATE_ROOM,
    "the boot loader's state is too small"
);

/// The exit code where there is nothing to start.
const NOTHING: i32 = 74;
/// CMSDK watchdog: reload value, control, and what starts its count anew.
const WATCHDOG: [(usize, u32); 3] = [
    // Eight seconds from here to the reset: four to an interrupt, and four more.
    (0x4000_8000, 4 * 25_000_000),
    FED,
    (0x4000_8008, 0b11),
];
const FED: (usize, u32) = (0x4000_800c, 1);
/// FPGAIO prescaler and counter: microseconds of 25 MHz from here on, in which the firmware counts
/// on.
const CLOCK: [(usize, u32); 2] = [(0x4002_801c, 24), (0x4002_8018, 0)];
/// Stops the counter, for more than a minute, until the firmware starts its clock: what runs before
/// that is not counted without a boot loader, either.
const STOPPED: (usize, u32) = (0x4002_801c, i32::MAX as u32);

fn put((register, value): (usize, u32)) {
    // SAFETY: aligned registers of the machine's watchdog and of its counter, which touch no
    // memory.
    unsafe { (register as *mut u32).write_volatile(value) };
}

#[cortex_m_rt::entry]
fn main() -> ! {
    // Before anything can hang.
    WATCHDOG.into_iter().chain(CLOCK).for_each(put);
    let mut path = None;
    options(|word| match word.split_once('=') {
        Some(("state", value)) => path = Path::new(value),
        Some(("cut", value)) => cut_at(value.parse().unwrap_or(0)),
        _ => {}
    });
    let opened = path
        .as_ref()
        .and_then(Path::as_c_str)
        .is_some_and(|path| file::open(path, STATE_WITH_SLOTS).is_ok());
    if !opened {
        semihosting::process::exit(NOTHING);
    }
    let mut buffer = AlignedBuffer([0; SECTOR]);
    let prepared = KnownState::read().and_then(|state| {
        start(
            Part::new(ACTIVE, ACTIVE_ROOM),
            Part::new(DFU, DFU_ROOM),
            StateWords::<_, BOOT_WORD>::new(state),
            &mut buffer.0,
        )
    });
    if prepared.is_err() || copy().is_err() {
        // Again, from the beginning.
        cortex_m::peripheral::SCB::sys_reset();
    }
    run()
}

/// The boot loader's state, of which it reads each word again and again: each time, the computer
/// would have to be asked. A word is written for each sector that is swapped, so the watchdog is
/// fed then.
struct KnownState {
    part: Part,
    bytes: [u8; BOOT_STATE_ROOM],
}

impl KnownState {
    fn read() -> Result<Self, FlashError> {
        let mut state = Self {
            part: Part::new(BOOT_STATE, BOOT_STATE_ROOM),
            bytes: [0; BOOT_STATE_ROOM],
        };
        let read = state.part.read(0, &mut state.bytes);
        read.map(|()| state).map_err(|_| FlashError)
    }

    /// What is known of these bytes.
    fn place(&mut self, offset: u32, length: usize) -> Result<&mut [u8], NorFlashErrorKind> {
        let from = offset as usize;
        let place = self.bytes.get_mut(from..from.saturating_add(length));
        place.ok_or(NorFlashErrorKind::OutOfBounds)
    }
}

impl ErrorType for KnownState {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for KnownState {
    const READ_SIZE: usize = Part::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        bytes.copy_from_slice(self.place(offset, bytes.len())?);
        Ok(())
    }

    fn capacity(&self) -> usize {
        BOOT_STATE_ROOM
    }
}

impl NorFlash for KnownState {
    const WRITE_SIZE: usize = Part::WRITE_SIZE;
    const ERASE_SIZE: usize = Part::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.part.erase(from, to)?;
        self.place(from, to.saturating_sub(from) as usize)?
            .fill(0xff);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        put(FED);
        self.part.write(offset, bytes)?;
        self.place(offset, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
}

/// The memory that the firmware is linked for.
fn place() -> &'static mut [u8] {
    // SAFETY: the firmware's memory map sets this apart, nothing runs there yet, and this is the
    // only reference to it: each caller lets go of it before the next one asks.
    unsafe { core::slice::from_raw_parts_mut(LINKED_AT as *mut u8, ACTIVE_ROOM) }
}

fn copy() -> Result<(), file::FileError> {
    file::read(ACTIVE, place())
}

/// Starts what was copied.
fn run() -> ! {
    if place().first_chunk() == Some(&[0xff; 4]) {
        semihosting::process::exit(NOTHING);
    }
    let vectors = LINKED_AT as *const u32;
    // SAFETY: a register of the core's own; the firmware's vectors are where it points to.
    unsafe {
        (*cortex_m::peripheral::SCB::PTR)
            .vtor
            .write(LINKED_AT as u32)
    };
    put(STOPPED);
    // SAFETY: the firmware begins with its vectors: the stack's top, and where it starts.
    unsafe { cortex_m::asm::bootload(vectors) }
}

/// The watchdog ends it.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        cortex_m::asm::nop();
    }
}
