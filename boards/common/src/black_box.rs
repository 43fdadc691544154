//! The black box of the device: RAM that a reset leaves alone.

use core::cell::UnsafeCell;
use core::fmt::Display;
use core::mem::MaybeUninit;

use dunlin::boot::{BlackBox, Boot, Reset, SIZE};
use dunlin::time::Duration;

struct Place(UnsafeCell<MaybeUninit<[u8; SIZE]>>);

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

fn with<T>(work: impl FnOnce(&mut BlackBox) -> T) -> T {
    cortex_m::interrupt::free(|_| {
        let place = PLACE.0.get().cast::<[u8; SIZE]>();
        // SAFETY: aligned RAM of our own, and nobody else is here. Volatile, so that the compiler takes the bytes for
        // what they are, whoever wrote them: any bytes are a black box.
        let mut black_box = BlackBox::from_bytes(unsafe { place.read_volatile() });
        let result = work(&mut black_box);
        // SAFETY: as above.
        unsafe { place.write_volatile(*black_box.as_bytes()) };
        result
    })
}
