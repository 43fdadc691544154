//! defmt over UART 0. QEMU hands its bytes to a file, a pipe or a TCP port, from which a monitor
//! decodes them.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::RestoreState;

use crate::register::Register;

// SAFETY: CMSDK UART 0 of mps2-an386, data; touches no memory.
const DATA: Register = unsafe { Register::at(0x4000_4000) };
// SAFETY: CMSDK UART 0, state.
const STATE: Register = unsafe { Register::at(0x4000_4004) };
// SAFETY: CMSDK UART 0, control.
const CONTROL: Register = unsafe { Register::at(0x4000_4008) };
// SAFETY: CMSDK UART 0, baud rate divider.
const DIVIDER: Register = unsafe { Register::at(0x4000_4010) };

const TRANSMIT_FULL: u32 = 1;
const RECEIVE_FULL: u32 = 1 << 1;
const TRANSMIT_ENABLE: u32 = 1;
const RECEIVE_ENABLE: u32 = 1 << 1;
/// The smallest divider the UART accepts; QEMU transmits at once, whatever the rate.
const FASTEST: u32 = 16;

#[defmt::global_logger]
struct Logger;

struct Line {
    taken: AtomicBool,
    encoder: UnsafeCell<defmt::Encoder>,
    restore: UnsafeCell<RestoreState>,
}

// SAFETY: the cells are touched only between `acquire` and `release`, inside one critical section.
unsafe impl Sync for Line {}

static LINE: Line = Line {
    taken: AtomicBool::new(false),
    encoder: UnsafeCell::new(defmt::Encoder::new()),
    restore: UnsafeCell::new(RestoreState::invalid()),
};

/// Switches the UART on. Call before the first log statement.
pub fn start() {
    DIVIDER.write(FASTEST);
    CONTROL.write(TRANSMIT_ENABLE | RECEIVE_ENABLE);
}

/// What somebody typed, a byte at a time.
pub fn typed() -> Option<u8> {
    (STATE.read() & RECEIVE_FULL != 0).then(|| DATA.read() as u8)
}

/// Waits until the last byte has left. Call before QEMU ends.
pub fn flush() {
    while STATE.read() & TRANSMIT_FULL != 0 {}
}

/// Frees the logger if the panic or fault came in the middle of a frame; the cut frame is ended, so
/// that the decoder finds the start of the next one. Only for handlers that do not return.
pub(crate) fn release_after_panic() {
    if LINE.taken.load(Ordering::Relaxed) {
        send(&[0]);
        LINE.taken.store(false, Ordering::Relaxed);
    }
}

fn send(bytes: &[u8]) {
    #[cfg(feature = "tcp-log")]
    dunlin_board::log_sinks::push(bytes);
    for &byte in bytes {
        flush();
        DATA.write(u32::from(byte));
    }
}

// SAFETY: `acquire` takes a critical section that `release` gives back, so frames never interleave.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        // SAFETY: paired with the one in `release`; defmt never nests them.
        let restore = unsafe { critical_section::acquire() };
        if LINE.taken.load(Ordering::Relaxed) {
            // A `Format` implementation logged while it was being logged.
            panic!("log statement inside a log statement");
        }
        LINE.taken.store(true, Ordering::Relaxed);
        // SAFETY: inside the critical section, and `taken` keeps others out.
        unsafe {
            LINE.restore.get().write(restore);
            (*LINE.encoder.get()).start_frame(send);
        }
    }

    unsafe fn flush() {
        flush();
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: defmt calls this only between `acquire` and `release`.
        unsafe { (*LINE.encoder.get()).write(bytes, send) }
    }

    unsafe fn release() {
        // SAFETY: defmt calls this once for each `acquire`, whose critical section ends here.
        unsafe {
            (*LINE.encoder.get()).end_frame(send);
            #[cfg(feature = "tcp-log")]
            dunlin_board::log_sinks::wake();
            LINE.taken.store(false, Ordering::Relaxed);
            critical_section::release(LINE.restore.get().read());
        }
    }
}
