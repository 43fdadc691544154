#![no_std]
#![no_main]
//! Counts what the suite's benches cost in instructions. Start QEMU with `-icount shift=7`.

use dunlin_board::banner;
use dunlin_suite::BENCHES;
use qemu_mps2::meter::InstructionMeter;
use qemu_mps2::{exit, log};

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    banner("dunlin bench on qemu-mps2");
    let Some(mut meter) = InstructionMeter::calibrated() else {
        defmt::error!(
            "the meter does not count a thousand instructions as such: start QEMU with -icount shift=7"
        );
        exit::failure()
    };
    BENCHES.iter().for_each(|bench| bench(&mut meter));
    exit::success()
}
