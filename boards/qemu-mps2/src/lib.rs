#![no_std]
//! dunlin's board in QEMU: mps2-an386, an emulated Cortex-M4F with 25 MHz, a UART, a timer and
//! Ethernet.
//!
//! The library is what the binaries share: clock, log, network, ways out; what all boards share is
//! in `boards/common`. With feature `update`, `boards/qemu-mps2-boot` starts it. The binaries are
//! the firmware (`main.rs`), the on-target suite and the instruction bench (`bin/`).

pub mod clock;
pub mod ethernet;
pub mod exit;
pub mod flash;
#[cfg(feature = "fleet")]
pub mod fleet;
pub mod interrupts;
pub mod log;
pub mod meter;
pub mod network;
pub mod options;
pub mod probe;
pub mod register;
#[cfg(any(feature = "update", feature = "fleet"))]
pub mod restart;
pub mod simulated;
#[cfg(feature = "update")]
pub mod update;
pub mod watchdog;

/// Starts log and clock and says who is speaking.
pub fn boot(name: &'static str) {
    log::start();
    clock::start();
    dunlin_board::banner(name);
}
