//! The black box of the device: RAM that a reset leaves alone.

use core::cell::UnsafeCell;
use core::fmt::Display;
use core::mem::MaybeUninit;

use dunlin::boot::{BlackBox, Boot, Reset, SIZE};
use dunlin::time::Duration;

struct Place(UnsafeCell<MaybeUninit<[u32; SIZE / 4]>>);

// SAFETY: touched only by `with`, which masks interrupts; there is one core.
unsafe impl Sync for Place {}

// SAFETY: the section of cortex-m-rt's that is neither copied nor cleared at reset.
#[unsafe(link_section = ".uninit.dunlin_black_box")]
static PLACE: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));

/// What happened before this start; call once, first thing.
pub fn boot(reset: Reset) -> Boot {
    with(|black_box| black_box.boot(reset))
}

/// The device has run for so long and makes progress.
pub fn alive(uptime: Duration) {
    with(|black_box| black_box.alive(uptime));
}

/// Keeps the last words; for handlers that do not return.
pub fn panic(message: &dyn Display) {
    with(|black_box| black_box.panic(message));
}

/// Puts a black box that was kept in a file or in flash in its place.
pub fn put(kept: BlackBox) {
    with(|black_box| *black_box = kept);
}

/// A copy of the black box, to be kept in a file or in flash.
pub fn copy() -> BlackBox {
    with(|black_box| *black_box)
}

fn with<T>(work: impl FnOnce(&mut BlackBox) -> T) -> T {
    cortex_m::interrupt::free(|_| {
        let mut black_box = BlackBox::from_bytes(load());
        let result = work(&mut black_box);
        save(black_box.as_bytes());
        result
    })
}

// Word by word, and once for all callers: a copy of volatile bytes is four instructions a byte.
#[inline(never)]
fn load() -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let place = PLACE.0.get().cast::<u32>();
    for (index, word) in bytes.chunks_exact_mut(4).enumerate() {
        // SAFETY: aligned RAM of our own, as many words as there are chunks, and interrupts are
        // masked. Volatile, so that the compiler takes the bytes for what they are, whoever wrote
        // them: any bytes are a black box.
        word.copy_from_slice(&unsafe { place.add(index).read_volatile() }.to_ne_bytes());
    }
    bytes
}

#[inline(never)]
fn save(bytes: &[u8; SIZE]) {
    let place = PLACE.0.get().cast::<u32>();
    for (index, word) in bytes.chunks_exact(4).enumerate() {
        let word = word
            .first_chunk()
            .map_or(0, |word| u32::from_ne_bytes(*word));
        // SAFETY: as above.
        unsafe { place.add(index).write_volatile(word) };
    }
}
