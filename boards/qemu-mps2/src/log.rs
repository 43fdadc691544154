//! defmt over UART 0. QEMU hands its bytes to a file, a pipe or a TCP port, from which a monitor
//! decodes them.

use dunlin_board::log_frame::LogFrame;

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

static FRAME: LogFrame = LogFrame::new();

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

/// Frees the logger if the panic or fault came in the middle of a frame. Only for handlers that do
/// not return.
pub(crate) fn release_after_panic() {
    FRAME.end_after_panic(send);
}

fn send(bytes: &[u8]) {
    #[cfg(feature = "tcp-log")]
    dunlin_board::log_sinks::push(bytes);
    for &byte in bytes {
        flush();
        DATA.write(u32::from(byte));
    }
}

/// The last byte of a frame was sent.
fn sent() {
    #[cfg(feature = "tcp-log")]
    dunlin_board::log_sinks::wake();
}

// SAFETY: a [`LogFrame`] is inside a critical section from `acquire` to `release`, so that frames
// never interleave.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        FRAME.begin(send);
    }

    unsafe fn flush() {
        flush();
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: defmt calls this only between `acquire` and `release`.
        unsafe { FRAME.write(bytes, send) }
    }

    unsafe fn release() {
        // SAFETY: defmt calls this once for each `acquire`.
        unsafe { FRAME.end(send, sent) }
    }
}
