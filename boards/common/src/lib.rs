#![no_std]
//! What dunlin's boards share, so that a board is a folder of its own peculiarities only: clock,
//! network driver, watchdog, flash, pins, memory map. How to bring one more is told in
//! `boards/PORTING.md`.
//!
//! - [`boot`] says who is speaking, what is in use and why it started, by its [`black_box`].
//! - [`executor`] runs tasks and sleeps between them; [`power`] says how to sleep deeper.
//! - [`memory`] is what the image occupies, and how deep the stack has been.
//! - [`network`] is embassy-net as the fetcher wants it, over any driver: the crate
//!   `dunlin-embassy-net`, with https and a log around it.
//! - [`probe`] is the probe with a microcontroller's clock and log, in memory that the board sets
//!   apart.
//! - [`partition`] is the store's part of a chip's flash, [`persist`] the store in it.
//! - [`settings`] are what the device was told by a cable alone.
//! - `headers` (feature) puts headers of the owner's into requests.
//! - [`suite`] runs the on-target suite.
//! - `push` (feature) hears others say that a page has changed.
//! - `fleet` (feature) makes it a probe of a fleet.
//! - `tls` (feature) is https.
//! - `update` (feature) looks for signed firmware and lists, tries them and rolls them back.
//! - `rtt` (feature) is the log and the way down of boards with a debug probe, `rp2350` (feature)
//!   their chip.
//! - [`log_frame`] keeps the frames of a log apart, for loggers of our own.
//! - `log_sinks` (features `tcp-log`, `line-log`) lets the log out beside RTT: `tcp_log` to the
//!   network, `usb_log` (feature) to a USB port.

pub mod black_box;
#[cfg(feature = "discover")]
pub mod discovering;
pub mod executor;
#[cfg(feature = "fleet")]
pub mod fleet;
#[cfg(feature = "headers")]
pub mod headers;
pub mod log_frame;
#[cfg(feature = "log-sinks")]
pub mod log_sinks;
#[cfg(all(feature = "log-sinks", feature = "rtt"))]
mod logger;
// Cores that cannot exchange a word in one go cannot read one at any address, either.
#[cfg(target_has_atomic = "32")]
mod memcpy;
mod memmove;
pub mod memory;
mod memset;
pub mod network;
pub mod partition;
pub mod persist;
pub mod power;
pub mod probe;
#[cfg(feature = "push")]
pub mod push;
#[cfg(feature = "rp2350")]
pub mod rp2350;
#[cfg(feature = "rtt")]
pub mod rtt;
pub mod settings;
pub mod suite;
#[cfg(feature = "tcp-log")]
pub mod tcp_log;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "update")]
pub mod update;
#[cfg(feature = "usb-log")]
pub mod usb_log;

use core::cell::Cell;

use dunlin::boot::{Boot, Reset};
use dunlin::probe::BoardEvent;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;

defmt::timestamp!("{=u64:us}", embassy_time::Instant::now().as_micros());

/// The banner, and why the device started: call once, first thing.
pub fn boot(name: &'static str, reset: Reset) -> Boot {
    banner(name);
    let boot = black_box::boot(reset);
    let said = BoardEvent::Boot {
        reset: boot.reset,
        uptime_seconds: boot.uptime.map_or(0, |uptime| uptime.as_secs()),
        fast_resets: boot.fast_resets,
    };
    said.emit();
    if !boot.message.is_empty() {
        let message = boot.message.as_str();
        BoardEvent::LastWords { message }.emit();
    }
    boot
}

/// The name of the firmware, once it was said.
static NAME: Mutex<CriticalSectionRawMutex, Cell<&str>> = Mutex::new(Cell::new("dunlin"));

/// The banner again, for who did not hear the boot.
pub fn here() {
    let here = BoardEvent::Here {
        name: NAME.lock(Cell::get),
        version: env!("CARGO_PKG_VERSION"),
        build: memory::build_id(),
    };
    here.emit();
}

/// The boot banner: name, version, build identity, memory in use.
pub fn banner(name: &'static str) {
    NAME.lock(|known| known.set(name));
    let banner = BoardEvent::Banner {
        name,
        version: env!("CARGO_PKG_VERSION"),
        build: memory::build_id(),
    };
    banner.emit();
    let memory = memory::in_use();
    let said = BoardEvent::Memory {
        flash: memory.flash,
        ram: memory.ram,
        stack: memory.stack,
    };
    said.emit();
}
