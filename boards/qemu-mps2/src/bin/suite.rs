#![no_std]
#![no_main]
//! Runs the on-target suite. Ends QEMU with 0 only when every case passed.

use qemu_mps2::exit;

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin suite on qemu-mps2");
    dunlin_board::suite::run();
    exit::success()
}
