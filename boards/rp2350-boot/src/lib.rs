#![no_std]
//! The boot loader of boards with an RP2350, after the chip's boot ROM: firmware is swapped in or
//! back if need be, and started from where it lies. The boot ROM's own slots are not used: under
//! its address translation, what lies outside of the running slot could not be read.
//!
//! It has no log and no cryptography: what lies in its slot is started, whoever put it there.

use core::panic::PanicInfo;

use boot_chain::{AlignedBuffer, Part, StateWords, start};
use embassy_rp::flash::{Blocking, Flash};
use embassy_rp::pac;
use embassy_rp::peripherals::{FLASH, WATCHDOG};
use embassy_rp::watchdog::Watchdog;
use embassy_time::Duration;

/// Bytes of one word of the boot loader's state: see `boards/common/src/rp2350.rs`.
const WORD: usize = 8;
/// Bytes that are copied at once: a sector.
const PIECE: usize = 4096;
/// The watchdog bites after so long without an operation on flash: 400 ms at most each.
const PATIENCE: Duration = Duration::from_secs(8);
/// Where the processor sees the flash.
const BASE: u32 = 0x1000_0000;

unsafe extern "C" {
    static _boot_state_start: u8;
    static _boot_state_end: u8;
    static _active_start: u8;
    static _active_end: u8;
    static _dfu_start: u8;
    static _dfu_end: u8;
}

/// Starts what lies in the slot, for ever. `BYTES` are those of the flash.
pub fn run<const BYTES: usize>() -> ! {
    // Before anything can hang: by the ring oscillator, which runs at 12 MHz or less.
    pac::TICKS.watchdog_cycles().write(|cycles| cycles.0 = 12);
    pac::TICKS
        .watchdog_ctrl()
        .write(|control| control.set_enable(true));
    let mut watchdog = watchdog();
    watchdog.pause_on_debug(true);
    watchdog.start(PATIENCE);
    // Clocks: from the ring oscillator, a swap would take minutes.
    let _peripherals = embassy_rp::init(Default::default());
    feed();
    let part = |from: *const u8, to: *const u8| {
        Part::new(
            flash::<BYTES>(),
            from.addr() as u32 - BASE,
            to.addr() as u32 - BASE,
            feed,
        )
    };
    let active = &raw const _active_start;
    let mut buffer = AlignedBuffer([0; PIECE]);
    let prepared = start(
        part(active, &raw const _active_end),
        part(&raw const _dfu_start, &raw const _dfu_end),
        StateWords::<_, WORD>::new(part(
            &raw const _boot_state_start,
            &raw const _boot_state_end,
        )),
        &mut buffer.0,
    );
    if prepared.is_err() {
        // Again, from the beginning.
        watchdog.trigger_reset();
        wait()
    }
    feed();
    // SAFETY: a register of the core's own; the firmware's vectors are where it points to.
    unsafe {
        (*cortex_m::peripheral::SCB::PTR)
            .vtor
            .write(active.addr() as u32)
    };
    // SAFETY: the firmware begins with its vectors: the stack's top, and where it starts. A slot
    // without one makes the core fault, and the watchdog starts it again.
    unsafe { cortex_m::asm::bootload(active.cast()) }
}

fn watchdog() -> Watchdog {
    // SAFETY: one core, no interrupts: nobody else holds it while this one is used.
    Watchdog::new(unsafe { WATCHDOG::steal() })
}

fn feed() {
    watchdog().feed(PATIENCE);
}

fn flash<const BYTES: usize>() -> Flash<'static, FLASH, Blocking, BYTES> {
    // SAFETY: the driver has no state, and each of its operations ends before the next one begins.
    Flash::new_blocking(unsafe { FLASH::steal() })
}

/// The watchdog ends it.
fn wait() -> ! {
    loop {
        cortex_m::asm::nop();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    wait()
}
