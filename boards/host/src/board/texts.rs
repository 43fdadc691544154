//! The log of URL texts of `dunlin run`: a file beside the state file, or memory.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::rc::Rc;

use dunlin::probe::TextSource;
use dunlin::store::{Partition, text_sector_number};
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use super::flash::{FileError, FileFlash};
use crate::error::Error;

/// Bytes of a sector.
const SECTOR: usize = 16_384;
const SECTORS: usize = 128;

/// Where the texts are. Clones share it.
#[derive(Clone, Debug)]
pub struct TextFlash(Rc<Place>);

#[derive(Debug)]
enum Place {
    /// In a file; what is beyond its end is blank.
    File(RefCell<FileFlash>),
    Memory(RefCell<Vec<u8>>),
}

impl TextFlash {
    /// Keeps the texts in a file.
    pub fn in_file(file: FileFlash) -> Self {
        Self(Rc::new(Place::File(RefCell::new(file))))
    }

    /// In memory, for a run that keeps nothing.
    pub fn in_memory() -> Self {
        let blank = vec![0xff; SECTOR * SECTORS];
        Self(Rc::new(Place::Memory(RefCell::new(blank))))
    }

    /// As for [`FileFlash::finish`].
    ///
    /// # Errors
    /// The last write failed, as on a full disk, or the disk refuses.
    pub fn finish(&self) -> Result<(), Error> {
        match &*self.0 {
            Place::File(file) => file.borrow_mut().finish(),
            Place::Memory(_) => Ok(()),
        }
    }

    fn fill(&self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
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
            Place::File(file) => file.borrow().fill(offset, bytes),
        }
    }

    fn put(&self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        match &*self.0 {
            Place::Memory(all) => {
                let mut all = all.borrow_mut();
                let place = all.iter_mut().skip(offset as usize);
                place.zip(bytes).for_each(|(to, from)| *to = *from);
                Ok(())
            }
            Place::File(file) => file.borrow_mut().put(offset, bytes),
        }
    }
}

/// Is it a log of URL texts? One of its sectors has a head; or it is blank, as before the first.
/// Reads only.
pub(super) fn is_log(file: &File) -> io::Result<bool> {
    let most = (SECTOR * SECTORS) as u64;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    let is_headed = |sector: &[u8]| text_sector_number(sector).is_some();
    let is_headed = bytes.chunks(SECTOR).any(is_headed);
    let is_blank = || bytes.iter().all(|byte| *byte == 0xff);
    Ok(bytes.len() as u64 <= most && (is_headed || is_blank()))
}

impl TextSource for TextFlash {
    fn read(&self, at: u32, bytes: &mut [u8]) -> bool {
        self.fill(at, bytes).is_ok()
    }
}

impl ErrorType for TextFlash {
    type Error = FileError;
}

impl ReadNorFlash for TextFlash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
        self.fill(offset, bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl NorFlash for TextFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        self.put(from, &vec![0xff; (to - from) as usize])
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        self.put(offset, bytes)
    }
}

impl Partition for TextFlash {
    const SECTORS: usize = SECTORS;
    // Disks do not wear out by this.
    const RATED_CYCLES: u32 = u32::MAX;
    const LONGEST_STALL: Duration = Duration::from_millis(10);
}
