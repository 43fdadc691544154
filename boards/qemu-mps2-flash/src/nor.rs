//! The file as a NOR flash: sectors that are erased whole, words that are written once between two
//! erases, and a power cut at any operation.

use core::sync::atomic::{AtomicU32, Ordering};

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError as _, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};
use qemu_mps2_capacity::{SECTOR, STATE_WITH_SLOTS};

use crate::file::{self, FileError};
use crate::kept::Word;

/// Bytes that are written at once, and once.
const WORD: usize = 4;
/// What erased flash holds.
const BLANK: u8 = 0xff;
/// The exit code of a power cut.
pub const CUT: i32 = 75;

/// The operation in which power goes; 0 for none.
static CUT_AT: AtomicU32 = AtomicU32::new(0);

/// Lets power go in the so manieth erase or write since QEMU was started: half of it is done.
pub fn cut_at(operation: u32) {
    CUT_AT.store(operation, Ordering::Relaxed);
}

/// Counts an operation; true if power goes in it.
fn is_last() -> bool {
    let count = Word::Operations.get().wrapping_add(1);
    Word::Operations.set(count);
    count == CUT_AT.load(Ordering::Relaxed)
}

/// A part of the flash, whose addresses begin at 0.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    start: usize,
    length: usize,
}

impl Part {
    /// So many bytes of the file, from this one on: whole sectors.
    pub const fn new(start: usize, length: usize) -> Self {
        assert!(start.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR));
        Self { start, length }
    }

    fn fill(self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        // Made when it is needed: as a constant, it would lie in flash.
        let piece = [BLANK; 512];
        for place in (from..to).step_by(piece.len()) {
            put(self.start + place as usize, &piece)?;
        }
        Ok(())
    }
}

#[inline(never)] // Once for all callers.
fn put(place: usize, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
    let written = file::write(place, bytes).and_then(|()| note(place, bytes));
    written.map_err(|_| NorFlashErrorKind::Other)
}

/// Notes what was written, in which operation and where, behind the end of a file that is longer
/// than the flash: so a test gets to know every operation of a run, and what each has done.
fn note(place: usize, bytes: &[u8]) -> Result<(), FileError> {
    let end = file::length()?;
    if end == STATE_WITH_SLOTS {
        return Ok(());
    }
    let words = [Word::Operations.get(), place as u32, bytes.len() as u32].map(u32::to_le_bytes);
    let words = words.as_flattened();
    file::write(end, words)?;
    file::write(end + words.len(), bytes)
}

impl ErrorType for Part {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Part {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        file::read(self.start + offset as usize, bytes).map_err(|_| NorFlashErrorKind::Other)
    }

    fn capacity(&self) -> usize {
        self.length
    }
}

impl NorFlash for Part {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to).map_err(|error| error.kind())?;
        for sector in (from..to).step_by(SECTOR) {
            let cut = is_last();
            let length = if cut { SECTOR / 2 } else { SECTOR };
            self.fill(sector, sector + length as u32)?;
            if cut {
                semihosting::process::exit(CUT);
            }
        }
        Ok(())
    }

    /// Fails on a word that is not blank: a chip with error correction does, too.
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let place = self.start + offset as usize;
        let mut there = [0; 256];
        for (index, piece) in bytes.chunks(there.len()).enumerate() {
            let there = there.get_mut(..piece.len()).unwrap_or_default();
            self.read(offset + (index * 256) as u32, there)?;
            if there.iter().any(|byte| *byte != BLANK) {
                return Err(NorFlashErrorKind::Other);
            }
        }
        if is_last() {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            put(place, half)?;
            semihosting::process::exit(CUT);
        }
        put(place, bytes)
    }
}
