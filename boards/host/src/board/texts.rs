//! The log of URL texts of `dunlin run`: a file beside the state file, or memory.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use dunlin::probe::TextSource;
use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// Bytes of a sector.
const SECTOR: usize = 16_384;
const SECTORS: usize = 128;

/// Where the texts are. Clones share it.
#[derive(Clone, Debug)]
pub struct TextFlash(Rc<Place>);

#[derive(Debug)]
enum Place {
    /// From this byte of a file on; what is beyond its end is blank.
    File(File, u64),
    Memory(RefCell<Vec<u8>>),
}

/// The file cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextError;

impl NorFlashError for TextError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl TextFlash {
    /// In a file, from this byte on.
    pub fn in_file(file: File, start: u64) -> Self {
        Self(Rc::new(Place::File(file, start)))
    }

    /// In memory, for a run that keeps nothing.
    pub fn in_memory() -> Self {
        Self(Rc::new(Place::Memory(RefCell::new(vec![
            0xff;
            SECTOR * SECTORS
        ]))))
    }

    fn fill(&self, offset: u32, bytes: &mut [u8]) -> Result<(), TextError> {
        match &*self.0 {
            Place::Memory(all) => {
                bytes.fill(0xff);
                let all = all.borrow();
                let there = all.get(offset as usize..).unwrap_or_default();
                bytes
                    .iter_mut()
                    .zip(there)
                    .for_each(|(to, from)| *to = *from);
                Ok(())
            }
            Place::File(file, start) => {
                let mut done = 0;
                while done < bytes.len() {
                    let at = start + u64::from(offset) + done as u64;
                    match file.read_at(&mut bytes[done..], at) {
                        Ok(0) => {
                            bytes[done..].fill(0xff);
                            return Ok(());
                        }
                        Ok(count) => done += count,
                        Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(_) => return Err(TextError),
                    }
                }
                Ok(())
            }
        }
    }

    fn put(&self, offset: u32, bytes: &[u8]) -> Result<(), TextError> {
        match &*self.0 {
            Place::Memory(all) => {
                let mut all = all.borrow_mut();
                let place = all.iter_mut().skip(offset as usize);
                place.zip(bytes).for_each(|(to, from)| *to = *from);
                Ok(())
            }
            Place::File(file, start) => file
                .write_all_at(bytes, start + u64::from(offset))
                .map_err(|_| TextError),
        }
    }
}

impl TextSource for TextFlash {
    fn read(&self, at: u32, bytes: &mut [u8]) -> bool {
        self.fill(at, bytes).is_ok()
    }
}

impl ErrorType for TextFlash {
    type Error = TextError;
}

impl ReadNorFlash for TextFlash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), TextError> {
        self.fill(offset, bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl NorFlash for TextFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), TextError> {
        self.put(from, &vec![0xff; (to - from) as usize])
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), TextError> {
        self.put(offset, bytes)
    }
}

impl Partition for TextFlash {
    const SECTORS: usize = SECTORS;
    // Disks do not wear out by this.
    const RATED_CYCLES: u32 = u32::MAX;
    const LONGEST_STALL: Duration = Duration::from_millis(10);
}
