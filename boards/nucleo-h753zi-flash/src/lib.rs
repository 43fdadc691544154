#![no_std]
//! The flash of the STM32H753: sixteen sectors of 128 KiB, words of 32 bytes, each with a code that
//! corrects errors. The firmware and its boot loader share this.

use core::arch::asm;

use embassy_stm32::flash::{Blocking, Error, Flash};
use embassy_stm32::peripherals::FLASH;
use embassy_stm32::{Peri, pac};
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// Where the processor sees it.
pub const BASE: u32 = 0x0800_0000;
/// Bytes that are written at once.
pub const WORD: usize = <Flash<'_, Blocking> as NorFlash>::WRITE_SIZE;

/// All of the flash. Reading a word whose writing a power cut cut short raises a bus fault; here it
/// is [`Error::Prog`], and the bytes are whatever the word holds.
pub struct EccFlash(Flash<'static, Blocking>);

impl core::fmt::Debug for EccFlash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("EccFlash")
    }
}

impl EccFlash {
    /// Makes a driver of the chip's peripheral.
    pub fn new(flash: Peri<'static, FLASH>) -> Self {
        Self(Flash::new_blocking(flash))
    }

    /// One more driver of the same flash, for another part of it.
    pub fn another() -> Self {
        // SAFETY: the driver has no state, and each of its operations ends before the next one
        // begins: there is one core, and no interrupt handler has a driver.
        Self::new(unsafe { FLASH::steal() })
    }
}

/// SCB.CCR: data bus faults at priority -1 are ignored.
const BUS_FAULTS_IGNORED: u32 = 1 << 8;

/// Runs `read` at the priority at which bus faults can be ignored, and ignores them.
pub fn ignoring_bus_faults<T>(read: impl FnOnce() -> T) -> T {
    let (result, _) = noting_bus_faults(read);
    result
}

/// The same, and tells whether `read` has met a word of which error correction makes no sense.
fn noting_bus_faults<T>(read: impl FnOnce() -> T) -> (T, bool) {
    // SAFETY: the register is the core's own; `critical_section` keeps others from changing it
    // meanwhile.
    let scb = unsafe { cortex_m::Peripherals::steal() }.SCB;
    cortex_m::interrupt::free(|_| {
        // SAFETY: sets one bit, which is taken back below; data bus faults are all it is about.
        unsafe { scb.ccr.modify(|bits| bits | BUS_FAULTS_IGNORED) };
        // SAFETY: raises the priority to that of faults, until it is lowered again below.
        unsafe { asm!("cpsid f", "dsb", "isb") };
        take_errors();
        let result = read();
        // SAFETY: pairs with the one above; the barrier lets every read end first.
        unsafe { asm!("dsb", "cpsie f", "isb") };
        let is_broken = take_errors();
        // SAFETY: as above.
        unsafe { scb.ccr.modify(|bits| bits & !BUS_FAULTS_IGNORED) };
        (result, is_broken)
    })
}

/// Has a read of either bank met a word that error correction could not mend? That is forgotten
/// now, and what it could mend, too: the driver would take either for a failure of the next write,
/// and clears only what a write has left.
fn take_errors() -> bool {
    let mut is_broken = false;
    for bank in [pac::FLASH.bank(0), pac::FLASH.bank(1)] {
        is_broken |= bank.sr().read().dbeccerr();
        bank.ccr().write(|errors| {
            errors.set_clr_sneccerr(true);
            errors.set_clr_dbeccerr(true);
        });
    }
    is_broken
}

impl ErrorType for EccFlash {
    type Error = Error;
}

impl ReadNorFlash for EccFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        match noting_bus_faults(|| self.0.blocking_read(offset, bytes)) {
            (Ok(()), true) => Err(Error::Prog),
            (read, _) => read,
        }
    }

    fn capacity(&self) -> usize {
        ReadNorFlash::capacity(&self.0)
    }
}

impl NorFlash for EccFlash {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = <Flash<'_, Blocking> as NorFlash>::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        self.0.blocking_erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.0.blocking_write(offset, bytes)
    }
}
