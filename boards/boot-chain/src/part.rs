//! A part of a chip's flash.

use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};

/// A part of a flash, whose addresses begin at 0. `F` drives the whole of it.
#[derive(Debug)]
pub struct Part<F> {
    flash: F,
    start: u32,
    length: u32,
    before: fn(),
}

impl<F: NorFlash> Part<F> {
    /// The bytes from `start` up to `end`, as the driver counts them: whole sectors. `before` is
    /// called before each erase of a sector and each write, which may take longer than a watchdog
    /// waits for all of them together.
    pub fn new(flash: F, start: u32, end: u32, before: fn()) -> Self {
        Self {
            flash,
            start,
            length: end.saturating_sub(start),
            before,
        }
    }

    /// Where the driver finds it, if it is within the part.
    fn place(&self, offset: u32, length: usize) -> Result<u32, NorFlashErrorKind> {
        let length = u32::try_from(length).map_err(|_| NorFlashErrorKind::OutOfBounds)?;
        match offset.checked_add(length) {
            Some(end) if end <= self.length => Ok(self.start + offset),
            _ => Err(NorFlashErrorKind::OutOfBounds),
        }
    }
}

impl<F: NorFlash> ErrorType for Part<F> {
    type Error = NorFlashErrorKind;
}

impl<F: NorFlash> ReadNorFlash for Part<F> {
    const READ_SIZE: usize = F::READ_SIZE;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let place = self.place(offset, bytes.len())?;
        self.flash.read(place, bytes).map_err(kind)
    }

    fn capacity(&self) -> usize {
        self.length as usize
    }
}

impl<F: NorFlash> NorFlash for Part<F> {
    const WRITE_SIZE: usize = F::WRITE_SIZE;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let sector = F::ERASE_SIZE as u32;
        let end = self.place(to, 0)?;
        let mut place = self.place(from, 0)?;
        while place < end {
            (self.before)();
            self.flash.erase(place, place + sector).map_err(kind)?;
            place += sector;
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let place = self.place(offset, bytes.len())?;
        (self.before)();
        self.flash.write(place, bytes).map_err(kind)
    }
}

fn kind(error: impl embedded_storage::nor_flash::NorFlashError) -> NorFlashErrorKind {
    error.kind()
}
