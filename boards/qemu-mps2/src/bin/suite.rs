#![no_std]
#![no_main]
//! Runs the on-target suite: each case is named before it runs, so that a panic's last line before says which
//! claim failed. Ends QEMU with 0 only when every case passed.

use dunlin_suite::CASES;
use qemu_mps2::exit;

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin suite on qemu-mps2");
    let mut passed: u32 = 0;
    for case in CASES.iter().copied().flatten() {
        defmt::info!("case {=str}", case.name);
        (case.run)();
        passed += 1;
    }
    defmt::info!("suite: {=u32} passed", passed);
    exit::success()
}
