//! The log over RTT and to every [sink](crate::log_sinks): what `defmt-rtt` does alone where there
//! is no other sink.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::log_frame::LogFrame;
use crate::log_sinks;

/// Bytes that wait for a debug probe.
const BYTES: usize = 1024;

/// What debug probes look for, in the layout that SEGGER gave it: one channel, upwards.
#[repr(C)]
struct Header {
    id: [u8; 16],
    up_channels: u32,
    down_channels: u32,
    name: *const u8,
    buffer: *const AtomicU8,
    size: u32,
    write: AtomicU32,
    read: AtomicU32,
    flags: AtomicU32,
}

// SAFETY: what it points to is static and atomic, or never written.
unsafe impl Sync for Header {}

static BUFFER: [AtomicU8; BYTES] = [const { AtomicU8::new(0) }; BYTES];
static NAME: [u8; 6] = *b"defmt\0";

// SAFETY: `cargo xtask flash` finds the block by this name, and nothing else here has it.
#[unsafe(no_mangle)]
static _SEGGER_RTT: Header = Header {
    id: *b"SEGGER RTT\0\0\0\0\0\0",
    up_channels: 1,
    down_channels: 0,
    name: NAME.as_ptr(),
    buffer: BUFFER.as_ptr(),
    size: BYTES as u32,
    write: AtomicU32::new(0),
    read: AtomicU32::new(0),
    // Never waits: what does not fit is left out.
    flags: AtomicU32::new(0),
};

impl Header {
    fn push(&self, bytes: &[u8]) {
        let mut write = self.write.load(Ordering::Relaxed) as usize;
        let read = self.read.load(Ordering::Relaxed) as usize;
        for byte in bytes {
            let next = (write + 1) % BYTES;
            if next == read {
                break;
            }
            if let Some(place) = BUFFER.get(write) {
                place.store(*byte, Ordering::Relaxed);
            }
            write = next;
        }
        self.write.store(write as u32, Ordering::Release);
    }
}

#[defmt::global_logger]
struct Logger;

static FRAME: LogFrame = LogFrame::new();

fn send(bytes: &[u8]) {
    _SEGGER_RTT.push(bytes);
    log_sinks::push(bytes);
}

// SAFETY: a [`LogFrame`] is inside a critical section from `acquire` to `release`, so that frames
// never interleave.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        FRAME.begin(send);
    }

    /// Sinks are tasks, which cannot be waited for here.
    unsafe fn flush() {}

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: defmt calls this only between `acquire` and `release`.
        unsafe { FRAME.write(bytes, send) }
    }

    unsafe fn release() {
        // SAFETY: defmt calls this once for each `acquire`.
        unsafe { FRAME.end(send, log_sinks::wake) }
    }
}
