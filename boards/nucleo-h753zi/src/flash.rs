//! The chip's own flash: sixteen sectors of 128 KiB, words of 32 bytes, each with a code that
//! corrects errors.

use core::arch::asm;

use dunlin::time::Duration;
use dunlin_board::partition::ChipFlash;
use embassy_stm32::Peri;
use embassy_stm32::flash::{Blocking, Error, Flash};
use embassy_stm32::peripherals::FLASH;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// All of the flash. Reading a word whose writing a power cut cut short raises a bus fault; here it
/// reads as whatever it holds, and the store's checksums judge.
pub struct H753Flash(Flash<'static, Blocking>);

impl core::fmt::Debug for H753Flash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("H753Flash")
    }
}

impl H753Flash {
    /// Takes the peripheral.
    pub fn new(flash: Peri<'static, FLASH>) -> Self {
        Self(Flash::new_blocking(flash))
    }

    /// The device's key: drawn once, and kept in the word behind the page image, beside its
    /// complement. Where that word cannot be used, the key is a new one at every start, and what
    /// was stored is not believed.
    pub fn device_key(&mut self, random: impl FnOnce() -> [u64; 2]) -> [u8; 16] {
        let place = (&raw const _key_start).addr() as u32 - Self::BASE;
        let mut word = [0; WORD];
        let kept = ReadNorFlash::read(self, place, &mut word)
            .ok()
            .and_then(|()| key_in(&word));
        kept.unwrap_or_else(|| {
            let [low, high] = random();
            let key = u128::from(low) | u128::from(high) << 64;
            word.iter_mut()
                .zip([key, !key].iter().flat_map(|half| half.to_le_bytes()))
                .for_each(|(to, from)| *to = from);
            if self.0.blocking_write(place, &word).is_err() {
                defmt::warn!("the device's key could not be kept");
            }
            key.to_le_bytes()
        })
    }
}

unsafe extern "C" {
    static _key_start: u8;
}

/// What is written at once.
const WORD: usize = <Flash<'_, Blocking> as NorFlash>::WRITE_SIZE;

/// A key, if its complement is beside it.
fn key_in(word: &[u8; WORD]) -> Option<[u8; 16]> {
    let key = word.first_chunk()?;
    let complement = word.last_chunk()?;
    (u128::from_le_bytes(*key) == !u128::from_le_bytes(*complement)).then_some(*key)
}

/// SCB.CCR: data bus faults at priority -1 are ignored.
const BUS_FAULTS_IGNORED: u32 = 1 << 8;

/// Runs `read` at the priority at which bus faults can be ignored, and ignores them.
fn ignoring_bus_faults<T>(read: impl FnOnce() -> T) -> T {
    // SAFETY: the register is the core's own; `critical_section` keeps others from changing it
    // meanwhile.
    let scb = unsafe { cortex_m::Peripherals::steal() }.SCB;
    cortex_m::interrupt::free(|_| {
        // SAFETY: sets one bit, which is taken back below; data bus faults are all it is about.
        unsafe { scb.ccr.modify(|bits| bits | BUS_FAULTS_IGNORED) };
        // SAFETY: raises the priority to that of faults, until it is lowered again below.
        unsafe { asm!("cpsid f", "dsb", "isb") };
        let result = read();
        // SAFETY: pairs with the one above; the barrier lets every read end first.
        unsafe { asm!("dsb", "cpsie f", "isb") };
        // SAFETY: as above.
        unsafe { scb.ccr.modify(|bits| bits & !BUS_FAULTS_IGNORED) };
        result
    })
}

impl ChipFlash for H753Flash {
    const BASE: u32 = 0x0800_0000;
    // DS12117, tables 56 and 57: 10,000 cycles, and 4 s at most at the slowest setting.
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_secs(4);
}

impl ErrorType for H753Flash {
    type Error = Error;
}

impl ReadNorFlash for H753Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        ignoring_bus_faults(|| self.0.blocking_read(offset, bytes))
    }

    fn capacity(&self) -> usize {
        ReadNorFlash::capacity(&self.0)
    }
}

impl NorFlash for H753Flash {
    const WRITE_SIZE: usize = <Flash<'_, Blocking> as NorFlash>::WRITE_SIZE;
    const ERASE_SIZE: usize = <Flash<'_, Blocking> as NorFlash>::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        self.0.blocking_erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.0.blocking_write(offset, bytes)
    }
}
