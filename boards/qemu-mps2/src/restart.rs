//! Starting the machine again, and what is known of that afterwards.

use qemu_mps2_flash::kept::{RESTARTED, Word};

use crate::log;

/// Starts the machine again.
pub fn restart() -> ! {
    log::flush();
    Word::Restarted.set(RESTARTED);
    cortex_m::peripheral::SCB::sys_reset()
}

/// Starts the machine again as if power had come: nothing is wrong that would have to be counted.
#[cfg(feature = "fleet")]
pub fn begin_again() -> ! {
    log::flush();
    cortex_m::peripheral::SCB::sys_reset()
}

/// Has the firmware itself asked for the last reset? It is forgotten now.
pub fn was_asked_for() -> bool {
    let asked = Word::Restarted.get() == RESTARTED;
    Word::Restarted.set(0);
    asked
}

/// Milliseconds that were spent before the last reset: a run has one end, however often the machine
/// is started again.
pub fn spent_before() -> u64 {
    Word::Spent.get().into()
}

/// So many milliseconds are spent.
pub fn spend(millis: u64) {
    Word::Spent.set(millis as u32);
}
