//! A flash that is a file: what `dunlin run` has learnt, kept between runs.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use crate::error::Error;

/// A sector is as large as 65,534 pages need it to be.
const SECTOR: usize = 65_536;
const SECTORS: usize = 254;

/// The file. It grows as sectors are used: what is beyond its end is blank.
#[derive(Debug)]
pub struct FileFlash(File);

impl FileFlash {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// It cannot be opened, or is something else.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |source| Error::opening(path, source);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(wrong)?;
        let length = file.metadata().map_err(wrong)?.len();
        let flash = Self(file);
        let mut first = [0; 4];
        flash
            .fill(0, &mut first)
            .map_err(|FileError(kind)| wrong(kind.into()))?;
        let ours = length % SECTOR as u64 == 0 && (first == [0; 4] || first == [0xff; 4]);
        if !ours {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path}: found another file, expected a state file or none"
            )));
        }
        Ok(flash)
    }

    fn fill(&self, mut place: u64, mut bytes: &mut [u8]) -> Result<(), FileError> {
        while !bytes.is_empty() {
            match self
                .0
                .read_at(bytes, place)
                .map_err(|why| FileError(why.kind()))?
            {
                0 => {
                    bytes.fill(0xff);
                    return Ok(());
                }
                count => {
                    place += count as u64;
                    bytes = &mut bytes[count..];
                }
            }
        }
        Ok(())
    }
}

/// The kind of error that the operating system reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileError(ErrorKind);

impl NorFlashError for FileError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for FileFlash {
    type Error = FileError;
}

impl ReadNorFlash for FileFlash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
        self.fill(offset.into(), bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl NorFlash for FileFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        let blank = vec![0xff; (to - from) as usize];
        self.0
            .write_all_at(&blank, from.into())
            .map_err(|why| FileError(why.kind()))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        self.0
            .write_all_at(bytes, offset.into())
            .map_err(|why| FileError(why.kind()))
    }
}

impl Partition for FileFlash {
    const SECTORS: usize = SECTORS;
    // Disks do not wear out by this; the budget of erases is for chips.
    const RATED_CYCLES: u32 = u32::MAX;
    const LONGEST_STALL: Duration = Duration::from_millis(10);
}
