//! The ways out: QEMU ends with an exit code, through semihosting.

use core::panic::PanicInfo;

use dunlin_board::black_box;

use crate::{flash, log};

/// Ends QEMU with exit code 0.
pub fn success() -> ! {
    log::flush();
    semihosting::process::exit(0)
}

/// Ends QEMU with exit code 1.
#[cfg(not(feature = "update"))]
pub fn failure() -> ! {
    log::flush();
    semihosting::process::exit(1)
}

/// Starts the machine again, as hardware does: the boot loader may have another firmware.
#[cfg(feature = "update")]
pub fn failure() -> ! {
    crate::restart::restart()
}

// Never inlined: `cargo xtask test` finds panic sites by the branches that lead here.
#[panic_handler]
#[inline(never)]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    log::release_after_panic();
    defmt::error!("{}", defmt::Display2Format(info));
    black_box::panic(info);
    flash::keep_last_words(&black_box::copy());
    failure()
}
