//! A flash that is a file of the computer, through semihosting: what is in it outlives QEMU.
//!
//! ```text
//! 0            the store's partition
//! IMAGE        the last page image that was good: length u32, then the image
//! BLACK_BOX    the last words
//! ```
//!
//! With discovery, the last sectors of the store's partition are the log of URL texts: `TextFile`.
//! With updates, slots and what belongs to them follow: see `qemu_mps2_capacity`.

use core::ffi::CStr;

use dunlin::boot::{self, BlackBox};
use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use qemu_mps2_capacity::{BLACK_BOX, IMAGE, IMAGE_ROOM, SECTOR, SECTORS};
use qemu_mps2_flash::file::{self, read, write};

/// Bytes that the file has to have.
#[cfg(not(feature = "update"))]
const LENGTH: usize = qemu_mps2_capacity::STATE;
/// The same with slots.
#[cfg(feature = "update")]
const LENGTH: usize = qemu_mps2_capacity::STATE_WITH_SLOTS;

/// Sectors of the log of URL texts: 128 KiB.
#[cfg(feature = "discover")]
const TEXT_SECTORS: usize = 32;
#[cfg(not(feature = "discover"))]
const TEXT_SECTORS: usize = 0;
/// Sectors of the store.
const STORE_SECTORS: usize = SECTORS - TEXT_SECTORS;

/// The computer did not do as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, defmt::Format)]
pub struct FileError;

impl From<file::FileError> for FileError {
    fn from(_: file::FileError) -> Self {
        Self
    }
}

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
    file::open(path, LENGTH)?;
    Ok(StateFile(()))
}

impl ErrorType for StateFile {
    type Error = FileError;
}

impl ReadNorFlash for StateFile {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
        Ok(read(offset as usize, bytes)?)
    }

    fn capacity(&self) -> usize {
        STORE_SECTORS * SECTOR
    }
}

impl NorFlash for StateFile {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        const BLANK: [u8; 256] = [0xff; 256];
        (from..to)
            .step_by(BLANK.len())
            .try_for_each(|place| Ok(write(place as usize, &BLANK)?))
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        Ok(write(offset as usize, bytes)?)
    }
}

/// The reference layout: 4 KiB sectors, as small chips and flash beside a chip have them. 10,000
/// cycles are what the least of them promise, and 400 ms what the slowest of them take.
impl Partition for StateFile {
    const SECTORS: usize = STORE_SECTORS;
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_millis(400);
}

/// The log of URL texts: the last sectors of the store's part.
#[cfg(feature = "discover")]
#[derive(Clone, Copy, Debug)]
pub struct TextFile;

#[cfg(feature = "discover")]
impl TextFile {
    const START: u32 = (STORE_SECTORS * SECTOR) as u32;
}

#[cfg(feature = "discover")]
impl dunlin::probe::TextSource for TextFile {
    fn read(&self, at: u32, bytes: &mut [u8]) -> bool {
        read((Self::START + at) as usize, bytes).is_ok()
    }
}

#[cfg(feature = "discover")]
impl ErrorType for TextFile {
    type Error = FileError;
}

#[cfg(feature = "discover")]
impl ReadNorFlash for TextFile {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FileError> {
        Ok(read((Self::START + offset) as usize, bytes)?)
    }

    fn capacity(&self) -> usize {
        TEXT_SECTORS * SECTOR
    }
}

#[cfg(feature = "discover")]
impl NorFlash for TextFile {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FileError> {
        StateFile(())
            .erase(Self::START + from, Self::START + to)
            .await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FileError> {
        Ok(write((Self::START + offset) as usize, bytes)?)
    }
}

#[cfg(feature = "discover")]
impl Partition for TextFile {
    const SECTORS: usize = TEXT_SECTORS;
    const RATED_CYCLES: u32 = 10_000;
    const LONGEST_STALL: Duration = Duration::from_millis(400);
}

/// Keeps a page image that is good, unless it is the one that is kept; true if it is another.
///
/// # Errors
/// The file cannot be written.
pub fn keep_image(image: &[u8]) -> Result<bool, FileError> {
    let mut kept = [0; 64];
    let same = kept_length() == Some(image.len())
        && image.chunks(kept.len()).enumerate().all(|(index, chunk)| {
            let part = &mut kept[..chunk.len()];
            read(IMAGE + 4 + index * 64, part).is_ok() && part == chunk
        });
    if same || image.len() > IMAGE_ROOM - 4 {
        return Ok(false);
    }
    // The length comes last: until then there is no image.
    write(IMAGE, &0_u32.to_le_bytes())?;
    write(IMAGE + 4, image)?;
    write(IMAGE, &(image.len() as u32).to_le_bytes())?;
    Ok(true)
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
