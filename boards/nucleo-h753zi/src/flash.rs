//! The chip's own flash, and what the board keeps in it besides the store.

use dunlin::probe::BoardEvent;
use dunlin::time::Duration;
use dunlin_board::partition::ChipFlash;
use embassy_stm32::Peri;
use embassy_stm32::flash::Error;
use embassy_stm32::peripherals::FLASH;
use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
pub use nucleo_h753zi_flash::ignoring_bus_faults;
use nucleo_h753zi_flash::{BASE, EccFlash, WORD};

/// All of the flash.
#[derive(Debug)]
pub struct H753Flash {
    flash: EccFlash,
    /// What a power cut has left of a word is an error. Else it reads as whatever it holds, and
    /// checksums judge, as the store's do.
    is_strict: bool,
}

impl H753Flash {
    /// Makes a driver of the chip's peripheral.
    pub fn new(flash: Peri<'static, FLASH>) -> Self {
        Self {
            flash: EccFlash::new(flash),
            is_strict: false,
        }
    }

    /// One more driver of the same flash, for another part of it.
    pub fn another() -> Self {
        Self {
            flash: EccFlash::another(),
            is_strict: false,
        }
    }

    /// The same for parts whose words have no checksums: the boot loader's state, and what is
    /// looked at for blank words.
    pub fn strict() -> Self {
        Self {
            is_strict: true,
            ..Self::another()
        }
    }

    /// The device's key: drawn once, and kept in a word of its own, beside its complement. Where
    /// that word cannot be used, the key is a new one at every start, and what was stored is not
    /// believed.
    pub fn device_key(&mut self, random: impl FnOnce() -> [u64; 2]) -> [u8; 16] {
        let place = (&raw const _key_start).addr() as u32 - BASE;
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
            if self.flash.write(place, &word).is_err() {
                BoardEvent::KeyNotKept.emit();
            }
            key.to_le_bytes()
        })
    }
}

unsafe extern "C" {
    static _key_start: u8;
}

/// A key, if its complement is beside it.
fn key_in(word: &[u8; WORD]) -> Option<[u8; 16]> {
    let key = word.first_chunk()?;
    let complement = word.last_chunk()?;
    (u128::from_le_bytes(*key) == !u128::from_le_bytes(*complement)).then_some(*key)
}

impl ChipFlash for H753Flash {
    const BASE: u32 = BASE;
    // DS12117, tables 56 and 57: 10,000 cycles, and 4 s at most at the slowest setting.
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_secs(4);
}

impl ErrorType for H753Flash {
    type Error = Error;
}

impl ReadNorFlash for H753Flash {
    const READ_SIZE: usize = EccFlash::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        match self.flash.read(offset, bytes) {
            Err(Error::Prog) if !self.is_strict => Ok(()),
            read => read,
        }
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl NorFlash for H753Flash {
    const WRITE_SIZE: usize = EccFlash::WRITE_SIZE;
    const ERASE_SIZE: usize = EccFlash::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Error> {
        self.flash.erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.flash.write(offset, bytes)
    }
}
