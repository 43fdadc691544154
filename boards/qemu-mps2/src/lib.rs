#![no_std]
//! dunlin's board in QEMU: mps2-an386, an emulated Cortex-M4F with 25 MHz, a UART, a timer and Ethernet.
//!
//! The library is what the binaries share: clock, executor, log, ways out. The binaries are the firmware
//! (`main.rs`), the on-target suite and the instruction bench (`bin/`).

pub mod capacity;
pub mod clock;
pub mod executor;
pub mod exit;
pub mod interrupts;
pub mod lan9118;
pub mod log;
pub mod memory;
pub mod meter;
pub mod network;
pub mod options;
pub mod probe;
pub mod register;
pub mod simulated;

/// Starts log and clock and says who is speaking.
pub fn boot(name: &'static str) {
    log::start();
    clock::start();
    banner(name);
}

/// The boot banner: name, version, build identity, memory in use.
pub fn banner(name: &'static str) {
    defmt::info!("{=str} {=str}, build {=u64:016x}", name, env!("CARGO_PKG_VERSION"), memory::build_id());
    let memory = memory::in_use();
    defmt::info!(
        "memory: {=u32} B flash, {=u32} B static RAM, {=u32} B left for the stack",
        memory.flash,
        memory.ram,
        memory.stack,
    );
}
