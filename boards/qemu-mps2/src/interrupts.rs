//! The vector table's device half: which interrupt line calls which driver, and what faults do.

use cortex_m::interrupt::InterruptNumber;
use cortex_m_rt::{ExceptionFrame, exception};

use crate::{clock, ethernet, exit};

/// The interrupt of CMSDK timer 0.
pub const TIMER0: u16 = 8;
/// The interrupt of the LAN9118.
pub const ETHERNET: u16 = 13;

/// An interrupt line by its number.
#[derive(Clone, Copy, Debug)]
pub struct Line(pub u16);

// SAFETY: the number is passed on unchanged, and the table below has an entry for each of the 32
// lines.
unsafe impl InterruptNumber for Line {
    fn number(self) -> u16 {
        self.0
    }
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn DefaultHandler();
}

const fn table() -> [Handler; 32] {
    let mut table: [Handler; 32] = [DefaultHandler; 32];
    table[TIMER0 as usize] = clock::on_alarm;
    table[ETHERNET as usize] = ethernet::on_interrupt;
    table
}

// SAFETY: the linker script of cortex-m-rt places this section right behind the exception vectors.
#[unsafe(link_section = ".vector_table.interrupts")]
// SAFETY: cortex-m-rt's feature `device` asks for this very symbol.
#[unsafe(no_mangle)]
static __INTERRUPTS: [Handler; 32] = table();

// SAFETY: never returns, and touches nothing but the log.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    crate::log::release_after_panic();
    defmt::error!(
        "hard fault at {=u32:#x}, called from {=u32:#x}",
        frame.pc(),
        frame.lr()
    );
    exit::failure()
}

// SAFETY: never returns, and touches nothing but the log.
#[exception]
unsafe fn DefaultHandler(number: i16) {
    crate::log::release_after_panic();
    defmt::error!("interrupt {=i16} has no handler", number);
    exit::failure()
}
