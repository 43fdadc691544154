//! RAM that a reset leaves alone, at the same place in every build: the boot loader, a firmware and
//! the one before it read each other's words there. The memory maps put it first among what is
//! kept.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A word that a reset leaves as it is.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Word {
    /// Operations on the flash since power came.
    Operations,
    /// Milliseconds that were spent before the last reset.
    Spent,
    /// [`RESTARTED`], if the firmware itself has asked for the reset.
    Restarted,
    /// Starts since power came.
    Starts,
}

/// What [`Word::Restarted`] holds then; power leaves zeros.
pub const RESTARTED: u32 = 0x7265_7374;

const WORDS: usize = 4;

struct Place(UnsafeCell<MaybeUninit<[u32; WORDS]>>);

// SAFETY: words, each read and written whole by volatile accesses: nobody can see half of one.
unsafe impl Sync for Place {}

// SAFETY: a section of our own that is neither copied nor cleared at reset; the memory maps of the
// boot loader and of firmware with updates put it at the same address.
#[unsafe(link_section = ".uninit.dunlin_kept")]
static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));

impl Word {
    fn place(self) -> *mut u32 {
        // Within the array: there are fewer words than places.
        PLACE.0.get().cast::<u32>().wrapping_add(self as usize)
    }

    /// Reads what the word holds.
    pub fn get(self) -> u32 {
        // SAFETY: an aligned word of our own; volatile, so that whatever is in it is a number.
        unsafe { self.place().read_volatile() }
    }

    /// Holds this from now on.
    pub fn set(self, value: u32) {
        // SAFETY: an aligned word of our own.
        unsafe { self.place().write_volatile(value) }
    }
}
