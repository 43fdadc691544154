//! A chip's flash that behaves as its kind does, and loses power at any byte.

use std::cell::RefCell;
use std::rc::Rc;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// Bytes of a sector: small, so that a power cut at every byte is soon tried.
pub const SECTOR: usize = 512;

/// What a word does when it is written twice, or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bits can be cleared at any time.
    Nor,
    /// A word that is not blank is not written again.
    WriteOnce,
    /// The same, and a word that was cut cannot be read before it is erased.
    Ecc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    PowerCut,
    Address,
    NotErased,
    Unreadable,
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Address => NorFlashErrorKind::OutOfBounds,
            _ => NorFlashErrorKind::Other,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Chip {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// Words that were cut, of error-correcting flash.
    broken: Vec<bool>,
    /// Bytes that are written or erased until the power goes; `None` if it stays.
    pub power: Option<u64>,
    /// Bytes that were written or erased.
    pub count: u64,
}

impl Chip {
    pub fn blank(kind: Kind, sectors: usize) -> Self {
        Self {
            kind,
            bytes: vec![0xff; sectors * SECTOR],
            broken: vec![false; sectors * SECTOR],
            power: None,
            count: 0,
        }
    }

    /// A word of error-correcting flash cannot be read any more.
    pub fn spoil(&mut self, word: usize) {
        self.broken[word] = true;
    }

    fn byte(&mut self) -> Result<(), Fault> {
        match &mut self.power {
            Some(0) => return Err(Fault::PowerCut),
            Some(left) => *left -= 1,
            None => {}
        }
        self.count += 1;
        Ok(())
    }
}

/// A part of a chip, in words of `WORD` bytes.
#[derive(Clone, Debug)]
pub struct Part<const WORD: usize> {
    pub chip: Rc<RefCell<Chip>>,
    pub start: usize,
    pub length: usize,
}

impl<const WORD: usize> Part<WORD> {
    fn range(&self, from: u32, length: usize, unit: usize) -> Result<(usize, usize), Fault> {
        let from = from as usize;
        let whole = from.is_multiple_of(unit) && length.is_multiple_of(unit);
        if whole && from + length <= self.length {
            Ok((self.start + from, self.start + from + length))
        } else {
            Err(Fault::Address)
        }
    }

    /// A copy of what the part holds now, whatever a power cut has left there.
    pub fn bytes(&self) -> Vec<u8> {
        self.chip.borrow().bytes[self.start..][..self.length].to_vec()
    }
}

impl<const WORD: usize> ErrorType for Part<WORD> {
    type Error = Fault;
}

impl<const WORD: usize> ReadNorFlash for Part<WORD> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        let (from, to) = self.range(offset, bytes.len(), 1)?;
        // Without power nobody reads: the cut comes with the next byte that is written or erased.
        let chip = self.chip.borrow();
        if (from / WORD..to.div_ceil(WORD)).any(|word| chip.broken[word]) {
            return Err(Fault::Unreadable);
        }
        bytes.copy_from_slice(&chip.bytes[from..to]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.length
    }
}

impl<const WORD: usize> NorFlash for Part<WORD> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        let (from, to) = self.range(from, (to - from) as usize, SECTOR)?;
        let chip = &mut *self.chip.borrow_mut();
        for at in from..to {
            if let Err(cut) = chip.byte() {
                // The word at hand is half erased.
                chip.broken[at / WORD] |= chip.kind == Kind::Ecc && at % WORD != 0;
                return Err(cut);
            }
            chip.bytes[at] = 0xff;
            if at % WORD == WORD - 1 {
                chip.broken[at / WORD] = false;
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        let (from, to) = self.range(offset, bytes.len(), WORD)?;
        let chip = &mut *self.chip.borrow_mut();
        for (at, byte) in (from..to).zip(bytes) {
            if at % WORD == 0 && chip.kind != Kind::Nor {
                let blank = chip.bytes[at..at + WORD].iter().all(|byte| *byte == 0xff);
                if !blank || chip.broken[at / WORD] {
                    return Err(Fault::NotErased);
                }
            }
            if let Err(cut) = chip.byte() {
                chip.broken[at / WORD] |= chip.kind == Kind::Ecc && at % WORD != 0;
                return Err(cut);
            }
            chip.bytes[at] &= byte;
        }
        Ok(())
    }
}
