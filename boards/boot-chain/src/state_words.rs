//! Words of flash that are blank or written, and nothing in between.

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError as _, NorFlashErrorKind, ReadNorFlash,
};

/// Every byte of an erased flash reads like this.
const BLANK: u8 = 0xff;

/// A partition in words of `WORD` bytes, for which a word begun is done: what a power cut has left
/// of one reads as zeros, which embassy-boot takes for "done", and is not written again.
///
/// embassy-boot writes words whose bytes are all the same, and writes each only after what it
/// stands for has happened. So a word of which a part was written means that it has happened.
/// Taking it for blank would do it again, harmlessly, but then write the word a second time: chips
/// with error correction refuse that for ever.
///
/// `WORD` is a multiple of what the flash writes at once, and 8 at least: of one byte, the mark
/// "start" looks like the mark "swap" while half of its bits are written.
#[derive(Debug)]
pub struct StateWords<F, const WORD: usize>(F);

impl<F: NorFlash, const WORD: usize> StateWords<F, WORD> {
    const _WORD: () = assert!(
        WORD >= 8 && WORD.is_multiple_of(F::WRITE_SIZE) && WORD.is_multiple_of(F::READ_SIZE),
        "words are whole words of the flash, and long enough"
    );

    /// Takes the partition that the words are in.
    pub fn new(flash: F) -> Self {
        let () = Self::_WORD;
        Self(flash)
    }

    /// Reads one word: as it is if all its bytes are the same, else as zeros.
    fn word(&mut self, offset: u32, word: &mut [u8]) {
        let read = self.0.read(offset, word);
        let uniform = word.iter().min() == word.iter().max();
        // Half of a word may be more than error correction can make sense of.
        if read.is_err() || !uniform {
            word.fill(0);
        }
    }
}

impl<F: NorFlash, const WORD: usize> ErrorType for StateWords<F, WORD> {
    type Error = NorFlashErrorKind;
}

impl<F: NorFlash, const WORD: usize> ReadNorFlash for StateWords<F, WORD> {
    const READ_SIZE: usize = WORD;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        embedded_storage::nor_flash::check_read(self, offset, bytes.len())?;
        for (index, word) in bytes.chunks_exact_mut(WORD).enumerate() {
            self.word(offset + (index * WORD) as u32, word);
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<F: NorFlash, const WORD: usize> NorFlash for StateWords<F, WORD> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = F::ERASE_SIZE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.0.erase(from, to).map_err(|error| error.kind())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        embedded_storage::nor_flash::check_write(self, offset, bytes.len())?;
        for (index, word) in bytes.chunks_exact(WORD).enumerate() {
            let place = offset + (index * WORD) as u32;
            let mut there = [0; WORD];
            self.word(place, &mut there);
            if there.iter().all(|byte| *byte == BLANK) {
                self.0.write(place, word).map_err(|error| error.kind())?;
            }
        }
        Ok(())
    }
}
