//! RP2350: watchdog, random numbers, an address of its own.

use core::cell::RefCell;

use embassy_rp::peripherals::{TRNG, WATCHDOG};
use embassy_rp::trng::{self, Trng};
use embassy_rp::watchdog::Watchdog;
use embassy_rp::{Peri, bind_interrupts, otp};
use embassy_time::Duration;

use crate::network::own_address;
use crate::probe::Hardware;

/// The watchdog bites after so long. It counts 16.7 s at most.
const PATIENCE: Duration = Duration::from_secs(8);

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
    /// Starts the watchdog, which has to be fed from now on. It waits while a debugger has halted the core.
    pub fn start(watchdog: Peri<'static, WATCHDOG>) -> Self {
        let mut watchdog = Watchdog::new(watchdog);
        watchdog.pause_on_debug(true);
        watchdog.start(PATIENCE);
        Self { watchdog: RefCell::new(watchdog) }
    }
}

impl Hardware for Rp2350 {
    fn feed_watchdog(&self) {
        self.watchdog.borrow_mut().feed(PATIENCE);
    }
}

/// Random by the chip's ring oscillator. Work: milliseconds.
pub fn random(trng: Peri<'_, TRNG>) -> u64 {
    Trng::new(trng, Interrupts, trng::Config::default()).blocking_next_u64()
}

/// A hardware address that no other chip has, made of the number it was made with.
pub fn hardware_address() -> [u8; 6] {
    own_address(otp::get_chipid().unwrap_or_default())
}
