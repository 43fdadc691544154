#![no_std]
#![no_main]
//! The on-target suite: `cargo run --release --bin w5500-evb-pico2-suite` with a debug probe
//! attached.

#[cortex_m_rt::entry]
fn main() -> ! {
    // Clocks as in the firmware.
    embassy_rp::init(Default::default());
    dunlin_board::banner("dunlin suite on w5500-evb-pico2");
    dunlin_board::suite::run();
    semihosting::process::exit(0)
}
