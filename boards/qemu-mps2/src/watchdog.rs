//! The machine's watchdog. Not fed for `PATIENCE`, it raises the NMI, which leaves a mark; not fed
//! for as long again, it resets the machine. (One that is fed in between was only slow, and the
//! mark is wiped off.)
//!
//! The mark is in RAM that a reset leaves alone: the machine itself has no register that says why
//! it was reset.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use cortex_m_rt::exception;
use dunlin::store::Partition;

use crate::flash::StateFile;
use crate::register::Register;

// SAFETY: CMSDK watchdog of mps2-an386, reload value; counts, touches no memory.
const LOAD: Register = unsafe { Register::at(0x4000_8000) };
// SAFETY: CMSDK watchdog, control.
const CONTROL: Register = unsafe { Register::at(0x4000_8008) };
// SAFETY: CMSDK watchdog, interrupt clear; starts the count anew, too.
const CLEAR: Register = unsafe { Register::at(0x4000_800c) };

const CYCLES_PER_SECOND: u32 = 25_000_000;
/// Twice so many seconds pass from the last meal to the reset. It is fed every second.
const PATIENCE: u32 = 4;
const _: () = assert!(
    PATIENCE as u64 > 2 * <StateFile as Partition>::LONGEST_STALL.as_secs() + 1,
    "an erase is no reason to bite"
);
const INTERRUPT: u32 = 1;
const RESET: u32 = 2;

struct Mark(UnsafeCell<MaybeUninit<u32>>);

// SAFETY: one word, and every access to it is volatile: nobody can see half of it.
unsafe impl Sync for Mark {}

// SAFETY: the section of cortex-m-rt's that is neither copied nor cleared at reset.
#[unsafe(link_section = ".uninit.dunlin_watchdog")]
static MARK: Mark = Mark(UnsafeCell::new(MaybeUninit::uninit()));
/// What no RAM holds by chance.
const HUNGRY: u32 = 0xd061_b17e;

fn mark(value: u32) {
    // SAFETY: an aligned word of our own.
    unsafe { MARK.0.get().cast::<u32>().write_volatile(value) }
}

/// Was the machine reset by the watchdog? Call once, before [`start`].
pub fn has_bitten() -> bool {
    // SAFETY: an aligned word of our own; volatile, so that whatever is in it is a number.
    let bitten = unsafe { MARK.0.get().cast::<u32>().read_volatile() } == HUNGRY;
    mark(0);
    bitten
}

/// Starts it: it has to be fed from now on.
pub fn start() {
    LOAD.write(PATIENCE * CYCLES_PER_SECOND);
    CLEAR.write(1);
    CONTROL.write(INTERRUPT | RESET);
}

/// Feeds the watchdog: it waits as long again.
pub fn feed() {
    CLEAR.write(1);
    mark(0);
}

// SAFETY: writes one word that nobody else writes meanwhile, and returns to whatever it
// interrupted.
#[exception]
unsafe fn NonMaskableInt() {
    mark(HUNGRY);
}
