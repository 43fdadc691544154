//! The log over RTT, and the way down: a panic or fault goes into the log and the black box, and
//! the device starts again.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::DCB;
use cortex_m_rt::{ExceptionFrame, exception};
#[cfg(not(feature = "log-sinks"))]
use defmt_rtt as _;

use crate::black_box;

/// A panic inside the panic handler, or inside a log statement, must not try to log again.
static FALLING: AtomicBool = AtomicBool::new(false);

// Never inlined: `cargo xtask test` finds panic sites by the branches that lead here.
#[panic_handler]
#[inline(never)]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    if !FALLING.swap(true, Ordering::Relaxed) {
        black_box::panic(info);
        defmt::error!("{}", defmt::Display2Format(info));
    }
    fall()
}

// SAFETY: never returns, and touches nothing but the log.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    if !FALLING.swap(true, Ordering::Relaxed) {
        black_box::panic(&format_args!("hard fault at {:#x}", frame.pc()));
        defmt::error!(
            "hard fault at {=u32:#x}, called from {=u32:#x}",
            frame.pc(),
            frame.lr()
        );
    }
    fall()
}

/// Stops where somebody is looking, so that `probe-rs run` ends and shows the stack; starts again
/// where nobody is.
fn fall() -> ! {
    if DCB::is_debugger_attached() {
        cortex_m::asm::bkpt();
    }
    reset()
}

#[cfg(feature = "rp2350")]
pub use crate::rp2350::reset;

/// Starts the device again.
#[cfg(not(feature = "rp2350"))]
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
