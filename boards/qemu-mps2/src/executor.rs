//! Runs embassy tasks and sleeps with WFI when none is ready. Embassy's own thread executor waits with WFE,
//! which QEMU treats as a no-op: it would burn a whole core of the computer.

use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};
use static_cell::StaticCell;

static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
/// A task was woken since the last poll began.
static WOKEN: AtomicBool = AtomicBool::new(false);

/// Embassy calls this, possibly from an interrupt, when a task becomes ready.
// SAFETY: embassy-executor declares this symbol with this signature, and no other crate here defines it.
#[unsafe(export_name = "__pender")]
fn pender(_context: *mut ()) {
    WOKEN.store(true, Ordering::SeqCst);
}

/// Spawns the first tasks in `start` and runs everything spawned, for ever. Call once.
pub fn run(start: impl FnOnce(Spawner)) -> ! {
    let executor = EXECUTOR.init(raw::Executor::new(core::ptr::null_mut()));
    start(executor.spawner());
    loop {
        WOKEN.store(false, Ordering::SeqCst);
        // SAFETY: only this loop polls, and it is never re-entered.
        unsafe { executor.poll() };
        // Masked, so that an interrupt between the check and the WFI cannot be slept through: WFI returns on a
        // pending interrupt even while it is masked.
        cortex_m::interrupt::free(|_| {
            if !WOKEN.load(Ordering::SeqCst) {
                cortex_m::asm::wfi();
            }
        });
    }
}
