//! A part of a chip's own flash, the store's as a rule: where memory.x says it is, as an
//! [asynchronous](NorFlash) driver whose addresses begin at 0.

use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage::nor_flash::NorFlash as Blocking;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// A chip's flash, whole, through its blocking driver.
pub trait ChipFlash: Blocking {
    /// Where the processor sees the driver's address 0.
    const BASE: u32;
    /// How often its maker promises that each sector can be erased.
    const RATED_CYCLES: u32;
    /// For how long an erase stops everything else.
    const LONGEST_STALL: Duration;
}

unsafe extern "C" {
    static _store_start: u8;
}

/// A part of `F` of `SECTORS` sectors.
#[derive(Debug)]
pub struct StoreFlash<F, const SECTORS: usize> {
    flash: F,
    start: u32,
}

impl<F: ChipFlash, const SECTORS: usize> StoreFlash<F, SECTORS> {
    /// The store's part, from `_store_start` on. Takes the chip's driver.
    pub fn new(flash: F) -> Self {
        Self::at(flash, &raw const _store_start)
    }

    /// The part that begins where the processor sees `start`.
    pub(crate) fn at(flash: F, start: *const u8) -> Self {
        Self {
            flash,
            start: (start.addr() as u32).wrapping_sub(F::BASE),
        }
    }
}

impl<F: ChipFlash, const SECTORS: usize> Partition for StoreFlash<F, SECTORS> {
    const SECTORS: usize = SECTORS;
    const RATED_CYCLES: u32 = F::RATED_CYCLES;
    const LONGEST_STALL: Duration = F::LONGEST_STALL;
}

impl<F: ChipFlash, const SECTORS: usize> ErrorType for StoreFlash<F, SECTORS> {
    type Error = F::Error;
}

impl<F: ChipFlash, const SECTORS: usize> ReadNorFlash for StoreFlash<F, SECTORS> {
    const READ_SIZE: usize = F::READ_SIZE;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), F::Error> {
        self.flash.read(self.start.saturating_add(offset), bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * F::ERASE_SIZE
    }
}

impl<F: ChipFlash, const SECTORS: usize> NorFlash for StoreFlash<F, SECTORS> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), F::Error> {
        self.flash.erase(
            self.start.saturating_add(from),
            self.start.saturating_add(to),
        )
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), F::Error> {
        self.flash.write(self.start.saturating_add(offset), bytes)
    }
}
