#![no_std]
#![no_main]
//! The on-target suite: `cargo run --release --bin nucleo-h753zi-suite` with the board on USB.

#[cortex_m_rt::entry]
fn main() -> ! {
    // Clocks as in the firmware.
    nucleo_h753zi::start();
    dunlin_board::banner("dunlin suite on nucleo-h753zi");
    dunlin_board::suite::run();
    semihosting::process::exit(0)
}
