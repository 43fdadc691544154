//! A flash that is a file of the computer, through semihosting: what is in it outlives QEMU.
//!
//! ```text
//! 0            the store's partition
//! IMAGE        the last page image that was good: length u32, then the image
//! BLACK_BOX    the last words
//! ```

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, Ordering};

use dunlin::boot::{self, BlackBox};
use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use semihosting::fd::BorrowedFd;
use semihosting::sys::arm_compat::{
    OpenMode, sys_flen, sys_open, sys_read_orig, sys_seek, sys_write_orig,
};

use qemu_mps2_capacity::{BLACK_BOX, IMAGE, IMAGE_ROOM, SECTOR, SECTORS, STATE};

/// The open file. There is one, and it stays open.
static FILE: AtomicI32 = AtomicI32::new(NONE);
/// Standard input, which is no file of ours; zero, so that the variable costs no flash.
const NONE: i32 = 0;

/// The computer did not do as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, defmt::Format)]
pub struct FileError;

impl NorFlashError for FileError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// The file as a flash. Made by [`open`].
#[derive(Debug)]
pub struct StateFile(());

/// Opens the file that QEMU was started with. Call once.
///
/// # Errors
/// It is not there, or too short.
pub fn open(path: &CStr) -> Result<StateFile, FileError> {
    let file = sys_open(path, OpenMode::RDWR_BINARY).map_err(|_| FileError)?;
    FILE.store(file.into_raw_fd(), Ordering::Relaxed);
    let long_enough = with(|file| sys_flen(file).map_err(|_| FileError))? >= STATE;
    if long_enough {
        Ok(StateFile(()))
    } else {
        Err(FileError)
    }
}

fn with<T>(work: impl FnOnce(BorrowedFd<'_>) -> Result<T, FileError>) -> Result<T, FileError> {
    let file = FILE.load(Ordering::Relaxed);
    if file == NONE {
        return Err(FileError);
    }
    // SAFETY: `open` put it there, and nobody closes it.
    work(unsafe { BorrowedFd::borrow_raw(file) })
}

fn seek(file: BorrowedFd<'_>, offset: usize) -> Result<(), FileError> {
    // SAFETY: within the file, whose length was checked: all callers stay below `STATE`.
    unsafe { sys_seek(file, offset.min(STATE)) }.map_err(|_| FileError)
}

fn read(offset: usize, bytes: &mut [u8]) -> Result<(), FileError> {
    with(|file| {
        seek(file, offset)?;
        // What is left to read: nothing.
        if matches!(sys_read_orig(file, bytes), Ok(0)) {
            Ok(())
        } else {
            Err(FileError)
        }
    })
}

fn write(offset: usize, bytes: &[u8]) -> Result<(), FileError> {
    with(|file| {
        seek(file, offset)?;
        if matches!(sys_write_orig(file, bytes), Ok(0)) {
            Ok(())
        } else {
            Err(FileError)
        }
    })
}

impl ErrorType for StateFile {
    type Error = FileError;
}

impl ReadNorFlash for StateFile {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
        read(offset as usize, bytes)
    }

    fn capacity(&self) -> usize {
        SECTORS * SECTOR
    }
}

impl NorFlash for StateFile {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        const BLANK: [u8; 256] = [0xff; 256];
        (from..to)
            .step_by(BLANK.len())
            .try_for_each(|place| write(place as usize, &BLANK))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        write(offset as usize, bytes)
    }
}

/// The reference layout: 4 KiB sectors, as small chips and flash beside a chip have them. 10,000
/// cycles are what the least of them promise, and 400 ms what the slowest of them take.
impl Partition for StateFile {
    const SECTORS: usize = SECTORS;
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_millis(400);
}

/// Keeps a page image that is good, unless it is the one that is kept.
///
/// # Errors
/// The file cannot be written.
pub fn keep_image(image: &[u8]) -> Result<(), FileError> {
    let mut kept = [0; 64];
    let same = kept_length() == Some(image.len())
        && image.chunks(kept.len()).enumerate().all(|(index, chunk)| {
            let part = &mut kept[..chunk.len()];
            read(IMAGE + 4 + index * 64, part).is_ok() && part == chunk
        });
    if same || image.len() > IMAGE_ROOM - 4 {
        return Ok(());
    }
    // The length comes last: until then there is no image.
    write(IMAGE, &0_u32.to_le_bytes())?;
    write(IMAGE + 4, image)?;
    write(IMAGE, &(image.len() as u32).to_le_bytes())
}

fn kept_length() -> Option<usize> {
    let mut length = [0; 4];
    read(IMAGE, &mut length).ok()?;
    let length = u32::from_le_bytes(length) as usize;
    (0 < length && length <= IMAGE_ROOM - 4).then_some(length)
}

/// Puts the last good page image back into `place`; its length, if there was one.
pub fn recall_image(place: &mut [u8]) -> Option<usize> {
    let length = kept_length()?;
    read(IMAGE + 4, place.get_mut(..length)?).ok()?;
    Some(length)
}

/// What was kept by [`keep_last_words`], once: it is forgotten now.
pub fn last_words() -> Option<BlackBox> {
    let mut bytes = [0; boot::SIZE];
    read(BLACK_BOX, &mut bytes).ok()?;
    Some(BlackBox::from_bytes(bytes))
}

/// Keeps the black box beyond QEMU's end.
pub fn keep_last_words(black_box: &BlackBox) {
    // Without a file there is nowhere to keep it.
    let _ = write(BLACK_BOX, black_box.as_bytes());
}
