//! RP2350: watchdog, the cause of a reset, random numbers, an address of its own, flash.

use core::cell::RefCell;

use dunlin::boot::Reset;
use dunlin::time::Duration;
use embassy_rp::flash::{Blocking, Flash};
use embassy_rp::peripherals::{FLASH, TRNG, WATCHDOG};
use embassy_rp::trng::{self, Trng};
use embassy_rp::watchdog::{ResetReason, Watchdog};
use embassy_rp::{Peri, bind_interrupts, otp, pac};

use crate::network::own_address;
use crate::partition::ChipFlash;
use crate::probe::Hardware;

/// The watchdog bites after so long. It counts 16.7 s at most.
const PATIENCE: embassy_time::Duration = embassy_time::Duration::from_secs(8);

bind_interrupts!(struct Interrupts {
    TRNG_IRQ => trng::InterruptHandler<TRNG>;
});

/// The chip as the probe needs it.
pub struct Rp2350 {
    watchdog: RefCell<Watchdog>,
}

impl core::fmt::Debug for Rp2350 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Rp2350")
    }
}

impl Rp2350 {
    /// Starts the watchdog, which has to be fed from now on, and says why the chip was reset. The
    /// watchdog waits while a debugger has halted the core.
    pub fn start(watchdog: Peri<'static, WATCHDOG>) -> (Self, Reset) {
        let mut watchdog = Watchdog::new(watchdog);
        let causes = pac::POWMAN.chip_reset().read();
        let reset = match watchdog.reset_reason() {
            Some(ResetReason::TimedOut) => Reset::Watchdog,
            Some(ResetReason::Forced) => Reset::Software,
            None if causes.had_bor() => Reset::BrownOut,
            None if causes.had_por() => Reset::PowerOn,
            None if causes.had_run_low() => Reset::Pin,
            None => Reset::Unknown,
        };
        watchdog.pause_on_debug(true);
        watchdog.start(PATIENCE);
        (
            Self {
                watchdog: RefCell::new(watchdog),
            },
            reset,
        )
    }
}

impl Hardware for Rp2350 {
    fn feed_watchdog(&self) {
        self.watchdog.borrow_mut().feed(PATIENCE);
    }

    /// The number that the factory drew for this chip.
    fn key(&self) -> Option<[u8; 16]> {
        otp::get_private_random_number().ok().map(u128::to_le_bytes)
    }

    #[cfg(feature = "discover")]
    fn discovery(&self) -> Option<crate::discovering::Lent> {
        use crate::discovering::{FoundTables, Lent, mapped::MappedTexts};
        use static_cell::ConstStaticCell;
        static TABLES: ConstStaticCell<FoundTables<FOUND_PLACES, FOUND_HOSTS, CANDIDATES>> =
            ConstStaticCell::new(FoundTables::NEW);
        Some(Lent {
            memory: TABLES.take().lend(),
            source: &MappedTexts,
        })
    }

    #[cfg(feature = "fleet")]
    fn fleet_image(&self) -> Option<dunlin::image::Image<'static>> {
        crate::fleet::mapped::device_image()
    }
}

/// Places of a collection, with pages beyond the list: the board has room for as many pages.
#[cfg(feature = "discover")]
pub const FOUND_PLACES: usize = 2_048;
/// Hosts beyond those of the list, at most; they need room among the board's.
#[cfg(feature = "discover")]
const FOUND_HOSTS: usize = 16;
/// Pages that are known and not kept, at most.
#[cfg(feature = "discover")]
const CANDIDATES: usize = 2_048;

/// Starts the chip again, all of it but its oscillators: the processor's own reset would leave
/// peripherals as they are.
pub fn reset() -> ! {
    // SAFETY: nothing else runs any more, whoever owns the watchdog.
    let watchdog = unsafe { WATCHDOG::steal() };
    Watchdog::new(watchdog).trigger_reset();
    loop {
        cortex_m::asm::wfi();
    }
}

/// Random by the chip's ring oscillator. Work: milliseconds.
pub fn random(trng: Peri<'_, TRNG>) -> u64 {
    Trng::new(trng, Interrupts, trng::Config::default()).blocking_next_u64()
}

/// What random numbers are made of: 256 bits by the chip's ring oscillator. Work: milliseconds.
pub fn seed(trng: Peri<'_, TRNG>) -> [u8; 32] {
    let mut seed = [0; 32];
    Trng::new(trng, Interrupts, trng::Config::default()).blocking_fill_bytes(&mut seed);
    seed
}

/// A hardware address that no other chip has, made of the number it was made with.
pub fn hardware_address() -> [u8; 6] {
    own_address(otp::get_chipid().unwrap_or_default())
}

/// The flash beside the chip, of so many bytes.
pub type Rp2350Flash<const BYTES: usize> = Flash<'static, FLASH, Blocking, BYTES>;

/// Bytes of one word of the boot loader's state, of boards with updates.
pub const BOOT_WORD: usize = 8;

/// One more driver of the same flash, for another part of it.
pub fn another_flash<const BYTES: usize>() -> Rp2350Flash<BYTES> {
    // SAFETY: the driver has no state, and each of its operations ends before the next one begins:
    // one core runs, and no interrupt handler has a driver.
    Flash::new_blocking(unsafe { FLASH::steal() })
}

impl<const BYTES: usize> ChipFlash for Rp2350Flash<BYTES> {
    const BASE: u32 = 0x1000_0000;
    // W25Q16JV and W25Q32RV: 100,000 cycles, 400 ms at most; nothing runs from flash meanwhile.
    const RATED_CYCLES: u32 = 100_000;
    const LONGEST_STALL: Duration = LONGEST_STALL;
}

const LONGEST_STALL: Duration = Duration::from_millis(400);
const _: () = assert!(
    PATIENCE.as_micros() > 2 * LONGEST_STALL.as_micros(),
    "an erase is no reason to bite"
);
