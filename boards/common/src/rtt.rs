//! The log over RTT, and the way down: a panic or fault is logged, and the device starts again.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::{DCB, SCB};
use cortex_m_rt::{ExceptionFrame, exception};
use defmt_rtt as _;

/// A panic inside the panic handler, or inside a log statement, must not try to log again.
static FALLING: AtomicBool = AtomicBool::new(false);

// Never inlined: `cargo xtask test` finds panic sites by the branches that lead here.
#[panic_handler]
#[inline(never)]
fn panic(info: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    if !FALLING.swap(true, Ordering::Relaxed) {
        defmt::error!("{}", defmt::Display2Format(info));
    }
    fall()
}

// SAFETY: never returns, and touches nothing but the log.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    if !FALLING.swap(true, Ordering::Relaxed) {
        defmt::error!("hard fault at {=u32:#x}, called from {=u32:#x}", frame.pc(), frame.lr());
    }
    fall()
}

/// Stops where somebody is looking, so that `probe-rs run` ends and shows the stack; starts again where nobody is.
fn fall() -> ! {
    if DCB::is_debugger_attached() {
        cortex_m::asm::bkpt();
    }
    SCB::sys_reset()
}
