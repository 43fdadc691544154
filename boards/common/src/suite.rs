//! The on-target suite: each case is named before it runs, so that a panic's last line before says
//! which claim failed.

use dunlin_suite::CASES;

/// Runs every case; returns only if all passed, and has said so.
pub fn run() {
    let mut passed: u32 = 0;
    for case in CASES.iter().copied().flatten() {
        defmt::info!("case {=str}", case.name);
        (case.run)();
        passed += 1;
    }
    defmt::info!("suite: {=u32} passed", passed);
}
