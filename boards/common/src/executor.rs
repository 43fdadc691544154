//! Runs embassy tasks and sleeps when none is ready. Embassy's own thread executor waits with WFE,
//! which QEMU treats as a no-op: it would burn a whole core of the computer; and it leaves no place
//! to sleep deeper.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Instant};
use static_cell::StaticCell;

static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
/// A task was woken since the last poll began.
static WOKEN: AtomicBool = AtomicBool::new(false);

/// Ticks spent polling. Interrupt handlers between polls are not in it: they wake a task, and
/// little else.
static AWAKE: Mutex<CriticalSectionRawMutex, Cell<u64>> = Mutex::new(Cell::new(0));

/// How long the core has been awake since it started, sleep not included.
pub fn awake() -> Duration {
    Duration::from_ticks(AWAKE.lock(Cell::get))
}

/// Embassy calls this, possibly from an interrupt, when a task becomes ready.
// SAFETY: embassy-executor declares this symbol with this signature, and no other crate here
// defines it.
#[unsafe(export_name = "__pender")]
fn pender(_context: *mut ()) {
    WOKEN.store(true, Ordering::SeqCst);
}

/// Spawns the first tasks in `start` and runs everything spawned, for ever; the core sleeps with
/// WFI in between. Call once.
pub fn run(start: impl FnOnce(Spawner)) -> ! {
    run_with(start, cortex_m::asm::wfi)
}

/// The same with a sleep of the board's own. `sleep` is called with interrupts masked when no task
/// is ready, and must return on a pending interrupt: see [`crate::power`].
pub fn run_with(start: impl FnOnce(Spawner), mut sleep: impl FnMut()) -> ! {
    let executor = EXECUTOR.init(raw::Executor::new(core::ptr::null_mut()));
    spawn_first(start, executor.spawner());
    loop {
        WOKEN.store(false, Ordering::SeqCst);
        let start = Instant::now();
        // SAFETY: only this loop polls, and it is never re-entered.
        unsafe { executor.poll() };
        let awake = start.elapsed().as_ticks();
        AWAKE.lock(|total| total.set(total.get() + awake));
        // Masked, so that an interrupt between the check and the sleep cannot be slept through: WFI
        // returns on a pending interrupt even while it is masked.
        cortex_m::interrupt::free(|_| {
            if !WOKEN.load(Ordering::SeqCst) {
                sleep();
            }
        });
    }
}

/// A function of its own: tasks are made on the stack before they are put where they stay, and
/// here that room is given back. In the loop's own frame, 6 kB of it were held for ever.
#[inline(never)]
fn spawn_first(start: impl FnOnce(Spawner), spawner: Spawner) {
    start(spawner);
}
