//! A flash in RAM that behaves as chips do, loses power at any byte, and counts what is done to it.

use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// What went wrong with a flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power is off.
    PowerCut,
    /// Not in whole words or sectors, or beyond the end.
    Address,
    /// A byte that is not blank was written: chips with error correction forbid it, others add up
    /// the bits.
    NotErased,
}

impl NorFlashError for Fault {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Address => NorFlashErrorKind::OutOfBounds,
            Self::PowerCut | Self::NotErased => NorFlashErrorKind::Other,
        }
    }
}

/// `SECTORS` sectors of `SECTOR` bytes, in words of `WORD` bytes.
#[derive(Clone, Debug)]
pub struct Flash<const SECTORS: usize, const SECTOR: usize, const WORD: usize> {
    bytes: Vec<u8>,
    /// Bytes that are written or erased until the power goes; `None` if it stays.
    pub power: Option<u64>,
    /// What has been done with it so far.
    pub count: Count,
}

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often it was read.
    pub reads: u64,
    /// Bytes that were written or erased: the places where the power can go.
    pub bytes: u64,
    /// Sectors that were erased.
    pub erases: u64,
}

impl<const SECTORS: usize, const SECTOR: usize, const WORD: usize> Flash<SECTORS, SECTOR, WORD> {
    /// As it comes from its maker.
    pub fn blank() -> Self {
        Self {
            bytes: vec![0xff; SECTORS * SECTOR],
            power: None,
            count: Count::default(),
        }
    }

    /// Shows what the flash holds.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it holds, to be damaged.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The same flash once the power is back.
    pub fn switched_on(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
            power: None,
            count: Count::default(),
        }
    }

    fn range(
        &self,
        from: u32,
        length: usize,
        unit: usize,
    ) -> Result<std::ops::Range<usize>, Fault> {
        let from = from as usize;
        let whole = from.is_multiple_of(unit) && length.is_multiple_of(unit);
        if whole && from + length <= self.bytes.len() {
            Ok(from..from + length)
        } else {
            Err(Fault::Address)
        }
    }

    /// Power for one more byte?
    fn byte(&mut self) -> Result<(), Fault> {
        match &mut self.power {
            Some(0) => return Err(Fault::PowerCut),
            Some(left) => *left -= 1,
            None => {}
        }
        self.count.bytes += 1;
        Ok(())
    }
}

impl<const SECTORS: usize, const SECTOR: usize, const WORD: usize> ErrorType
    for Flash<SECTORS, SECTOR, WORD>
{
    type Error = Fault;
}

impl<const SECTORS: usize, const SECTOR: usize, const WORD: usize> ReadNorFlash
    for Flash<SECTORS, SECTOR, WORD>
{
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        if self.power == Some(0) {
            return Err(Fault::PowerCut);
        }
        let range = self.range(offset, bytes.len(), WORD)?;
        self.count.reads += 1;
        bytes.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl<const SECTORS: usize, const SECTOR: usize, const WORD: usize> NorFlash
    for Flash<SECTORS, SECTOR, WORD>
{
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        for index in self.range(from, (to - from) as usize, SECTOR)? {
            self.byte()?;
            self.bytes[index] = 0xff;
        }
        self.count.erases += u64::from(to - from) / SECTOR as u64;
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        for (index, byte) in self.range(offset, bytes.len(), WORD)?.zip(bytes) {
            self.byte()?;
            if self.bytes[index] != 0xff {
                return Err(Fault::NotErased);
            }
            self.bytes[index] = *byte;
        }
        Ok(())
    }
}

impl<const SECTORS: usize, const SECTOR: usize, const WORD: usize> Partition
    for Flash<SECTORS, SECTOR, WORD>
{
    const SECTORS: usize = SECTORS;
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_millis(400);
}
