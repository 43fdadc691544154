#![no_std]
#![no_main]
//! The on-target suite: `cargo run --release --bin pico2-w-suite` with a debug probe attached.

#[cortex_m_rt::entry]
fn main() -> ! {
    // Clocks as in the firmware.
    embassy_rp::init(Default::default());
    dunlin_board::banner("dunlin suite on pico2-w");
    dunlin_board::suite::run();
    semihosting::process::exit(0)
}
