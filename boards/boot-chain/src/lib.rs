#![no_std]
#![forbid(unsafe_code)]
//! How a boot loader and its application agree on which firmware starts.
//!
//! embassy-boot keeps three partitions: ACTIVE, from which the firmware runs; DFU, one sector
//! larger, into which the application puts a new one; and STATE, words that say what is to be done
//! and how far it is. [`start`] is the boot loader's part, [`Marks`] the application's. Both see
//! STATE through [`StateWords`]: without it, a power cut on flash with error correction can leave a
//! word that is neither written nor can be written again, and the device never starts any more.

mod part;
mod state_words;

pub use embassy_boot::AlignedBuffer;
use embassy_boot::{BlockingFirmwareState, BootLoader, BootLoaderConfig};
use embedded_storage::nor_flash::{NorFlash, ReadNorFlash as _};
pub use part::Part;
pub use state_words::StateWords;

/// Flash could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashError;

/// Sectors of STATE for so many sectors of ACTIVE: a word for the mark, one that says whether the
/// others count, and four for each sector that is swapped and reverted.
pub const fn state_sectors(active_sectors: usize, word: usize, sector: usize) -> usize {
    ((2 + 4 * active_sectors) * word).div_ceil(sector)
}

/// Gets ACTIVE ready to be started: goes on with a swap or a revert, or begins one. Call it before
/// anything else in the boot loader.
///
/// `buffer` divides a sector, and is as aligned as the flash wants it. Work: every sector of ACTIVE
/// twice, if there is something to be done.
///
/// # Errors
/// [`FlashError`]: there is nothing to be started for certain. Reset, and try again.
pub fn start<A: NorFlash, D: NorFlash, S: NorFlash, const WORD: usize>(
    active: A,
    dfu: D,
    state: StateWords<S, WORD>,
    buffer: &mut [u8],
) -> Result<(), FlashError> {
    let config = BootLoaderConfig { active, dfu, state };
    BootLoader::new(config)
        .prepare_boot(buffer)
        .map(drop)
        .map_err(|_| FlashError)
}

/// What is at the beginning of STATE where there is nothing to be done: a word of these bytes. A
/// cable that brings a firmware puts it there, for what was begun before does not count any more.
pub const NOTHING_TO_DO: u8 = 0xd0;

/// What is there instead from the mark on until what was swapped in is confirmed, or swapped back.
const SWAPPED_IN: u8 = 0xf0;

/// What the application tells the boot loader.
#[derive(Debug)]
pub struct Marks<S, const WORD: usize>(StateWords<S, WORD>);

impl<S: NorFlash, const WORD: usize> Marks<S, WORD> {
    /// Takes the STATE partition, where the marks are.
    pub fn new(state: S) -> Self {
        Self(StateWords::new(state))
    }

    /// What is in DFU is swapped in at the next start, and back at the one after it unless it is
    /// confirmed.
    ///
    /// # Errors
    /// [`FlashError`]
    pub fn mark(&mut self) -> Result<(), FlashError> {
        self.with(|state| state.mark_updated().map_err(|_| FlashError))
    }

    /// What runs stays. Does nothing if that was said before.
    ///
    /// # Errors
    /// [`FlashError`]
    pub fn confirm(&mut self) -> Result<(), FlashError> {
        self.with(|state| state.mark_booted().map_err(|_| FlashError))
    }

    /// Does what runs stay? Only what was swapped in is swapped back at the next start: with any other
    /// mark, there is no way back to what was there before.
    pub fn is_confirmed(&mut self) -> bool {
        let mut word = [0; WORD];
        let read = self.0.read(0, &mut word);
        read.is_ok() && word != [SWAPPED_IN; WORD]
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(
            &mut BlockingFirmwareState<'_, &mut StateWords<S, WORD>>,
        ) -> Result<T, FlashError>,
    ) -> Result<T, FlashError> {
        let mut word = AlignedBuffer([0; WORD]);
        work(&mut BlockingFirmwareState::new(&mut self.0, &mut word.0))
    }
}
