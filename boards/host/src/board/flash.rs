//! A flash that is a file: what `dunlin run` has learnt, kept between runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use crate::error::Error;
use crate::output;

/// A sector is as large as 65,534 pages need it to be.
pub(super) const SECTOR: usize = 65_536;
pub(super) const SECTORS: usize = 254;

/// The part of a file that holds sectors. It grows as they are used: what is beyond its end is
/// blank.
#[derive(Debug)]
pub struct FileFlash {
    file: File,
    path: PathBuf,
    /// Bytes of the file before the first sector.
    start: u64,
    /// What went wrong with the last write, if it did.
    failed: Option<io::Error>,
}

impl FileFlash {
    /// The sectors of `file`, which begin at byte `start`; `path` is for complaints.
    pub(super) fn new(file: File, path: PathBuf, start: u64) -> Self {
        Self {
            file,
            path,
            start,
            failed: None,
        }
    }

    /// Hands what was written to the disk, and says why the last of it is not there.
    ///
    /// # Errors
    /// The last write failed, as on a full disk, or the disk refuses.
    pub fn finish(&mut self) -> Result<(), Error> {
        let failed = self.failed.take().or_else(|| self.file.sync_data().err());
        failed.map_or(Ok(()), |source| Err(Error::writing(&self.path, source)))
    }

    pub(super) fn fill(&self, offset: u32, mut bytes: &mut [u8]) -> Result<(), FileError> {
        let mut place = self.start + u64::from(offset);
        while !bytes.is_empty() {
            match self.file.read_at(bytes, place) {
                Ok(0) => {
                    bytes.fill(0xff);
                    return Ok(());
                }
                Ok(count) => {
                    place += count as u64;
                    bytes = &mut bytes[count..];
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(FileError(why.kind())),
            }
        }
        Ok(())
    }

    pub(super) fn put(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        let written = self
            .file
            .write_all_at(bytes, self.start + u64::from(offset));
        let result = written.as_ref().map_err(|why| FileError(why.kind()));
        let result = result.copied();
        if let (Err(why), None) = (&written, &self.failed) {
            output::say(format_args!(
                "cannot write {}: {why}; what is learnt is lost at the end unless that works again",
                self.path.display()
            ));
        }
        self.failed = written.err();
        result
    }
}

/// The kind of error that the operating system reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileError(io::ErrorKind);

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
        self.fill(offset, bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl NorFlash for FileFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        self.put(from, &vec![0xff; (to - from) as usize])
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        self.put(offset, bytes)
    }
}

impl Partition for FileFlash {
    const SECTORS: usize = SECTORS;
    // Disks do not wear out by this; the budget of erases is for chips.
    const RATED_CYCLES: u32 = u32::MAX;
    const LONGEST_STALL: Duration = Duration::from_millis(10);
}
