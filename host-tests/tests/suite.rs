//! Runs the on-target suite on this computer, one test a case.

use dunlin_suite::{BENCHES, CASES, Meter};
use libtest_mimic::{Arguments, Trial};

/// Runs every bench without counting, so that one that panics is found here first.
struct Exercise;

impl Meter for Exercise {
    fn measure(&mut self, _: &'static str, _: u32, _: u32, work: &mut dyn FnMut()) {
        work();
    }
}

fn main() {
    let cases = CASES.iter().copied().flatten().map(|case| {
        Trial::test(case.name, move || {
            (case.run)();
            Ok(())
        })
    });
    let benches = Trial::test("benches_run", || {
        BENCHES.iter().for_each(|bench| bench(&mut Exercise));
        Ok(())
    });
    libtest_mimic::run(&Arguments::from_args(), cases.chain([benches]).collect()).exit();
}
