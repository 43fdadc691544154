//! The flash of the emulated device, as `cargo xtask qemu --state` keeps it in a file. It is read
//! into memory: nothing that happens there comes back to the file.

use std::convert::Infallible;
use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::Path;

use dunlin::image::Image;
use dunlin::store::{Partition, text_sector_number};
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use qemu_mps2_capacity::{IMAGE, IMAGE_ROOM, SECTOR, SECTORS, STATE, STATE_WITH_SLOTS};

use crate::error::Error;

/// The sectors of its store.
#[derive(Debug)]
pub struct EmulatedFlash(Vec<u8>);

impl EmulatedFlash {
    /// Reads the file, and the key that its records are known by; `None` if it is something else.
    ///
    /// # Errors
    /// It cannot be read, or a device uses it.
    pub fn read(path: &Path) -> Result<Option<(Self, [u8; 16])>, Error> {
        let reading = |why| Error::reading(path, why);
        let found = std::fs::metadata(path).map_err(reading)?;
        if !found.is_file() || ![STATE as u64, STATE_WITH_SLOTS as u64].contains(&found.len()) {
            return Ok(None);
        }
        let file = File::open(path).map_err(reading)?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                return Err(Error::Usage(format!(
                    "{path}: found that a device uses it, expected a state file that nobody uses"
                )));
            }
            Err(TryLockError::Error(why)) => return Err(reading(why)),
        }
        let mut bytes = Vec::new();
        let mut file = file.take(STATE as u64);
        file.read_to_end(&mut bytes).map_err(reading)?;
        let Some(key) = key_of(&bytes) else {
            return Ok(None);
        };
        bytes.truncate(SECTORS * SECTOR);
        // With discovery, the last sectors hold the URLs of found pages, which are no records.
        for sector in bytes.chunks_mut(SECTOR) {
            if text_sector_number(sector).is_some() {
                sector.fill(0xff);
            }
        }
        Ok(Some((Self(bytes), key)))
    }

    /// The bytes from there on.
    fn at(&mut self, offset: u32) -> impl Iterator<Item = &mut u8> {
        self.0.iter_mut().skip(offset as usize)
    }
}

/// The key in the page image that a device has kept, behind the image's length.
fn key_of(bytes: &[u8]) -> Option<[u8; 16]> {
    let room = bytes.get(IMAGE..IMAGE + IMAGE_ROOM)?;
    let (length, rest) = room.split_first_chunk()?;
    let image = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let config = Image::parse(image).ok()?.config().ok()?;
    Some(config.key)
}

impl ErrorType for EmulatedFlash {
    type Error = Infallible;
}

impl ReadNorFlash for EmulatedFlash {
    const READ_SIZE: usize = 4;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        let there = self.at(offset);
        bytes
            .iter_mut()
            .zip(there)
            .for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for EmulatedFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        let erased = self.at(from).take(to.saturating_sub(from) as usize);
        erased.for_each(|byte| *byte = 0xff);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        let there = self.at(offset);
        there.zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

impl Partition for EmulatedFlash {
    const SECTORS: usize = SECTORS;
    // It is memory.
    const RATED_CYCLES: u32 = u32::MAX;
    const LONGEST_STALL: Duration = Duration::from_millis(10);
}
