#![no_std]
//! The STM32H753 as the probe needs it: clocks, watchdog, the cause of a reset, an address of its
//! own, flash.

pub mod flash;
#[cfg(feature = "serial-log")]
pub mod serial_log;

use core::cell::RefCell;

use dunlin::boot::Reset;
use dunlin_board::network::own_address;
use dunlin_board::partition::ChipFlash;
use dunlin_board::probe::Hardware;
use embassy_stm32::peripherals::IWDG1;
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, HSIPrescaler, Pll, PllDiv, PllMul, PllPreDiv, PllSource, Sysclk,
    VoltageScale,
};
use embassy_stm32::wdg::IndependentWatchdog;
use embassy_stm32::{Config, Peri, Peripherals, pac, uid};

/// The watchdog bites after so many microseconds; erasing a sector may take four seconds.
const PATIENCE_US: u32 = 10_000_000;
const _: () = assert!(
    PATIENCE_US as u64 > 2 * <flash::H753Flash as ChipFlash>::LONGEST_STALL.as_micros(),
    "an erase is no reason to bite"
);

/// Starts the chip: 400 MHz for the core, 200 MHz for buses and memory, from the internal
/// oscillator, so that nothing on the board has to be soldered or set.
pub fn start() -> Peripherals {
    let mut config = Config::default();
    let rcc = &mut config.rcc;
    rcc.hsi = Some(HSIPrescaler::DIV1);
    // For random numbers.
    rcc.hsi48 = Some(Default::default());
    rcc.pll1 = Some(Pll {
        source: PllSource::HSI,
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL50,
        divp: Some(PllDiv::DIV2),
        divq: None,
        divr: None,
    });
    rcc.sys = Sysclk::PLL1_P;
    rcc.ahb_pre = AHBPrescaler::DIV2;
    rcc.apb1_pre = APBPrescaler::DIV2;
    rcc.apb2_pre = APBPrescaler::DIV2;
    rcc.apb3_pre = APBPrescaler::DIV2;
    rcc.apb4_pre = APBPrescaler::DIV2;
    rcc.voltage_scale = VoltageScale::Scale1;
    embassy_stm32::init(config)
}

/// The chip as the probe needs it.
pub struct H753 {
    watchdog: RefCell<IndependentWatchdog<'static, IWDG1>>,
    key: [u8; 16],
}

impl core::fmt::Debug for H753 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("H753")
    }
}

impl H753 {
    /// Starts the watchdog, which has to be fed from now on, by a halted core, too.
    pub fn start(watchdog: Peri<'static, IWDG1>, key: [u8; 16]) -> Self {
        let mut watchdog = IndependentWatchdog::new(watchdog, PATIENCE_US);
        watchdog.unleash();
        Self {
            watchdog: RefCell::new(watchdog),
            key,
        }
    }
}

/// Why the chip was reset. Forgets it: causes add up until they are forgotten.
pub fn reset_cause() -> Reset {
    let causes = pac::RCC.rsr().read();
    pac::RCC.rsr().modify(|causes| causes.set_rmvf(true));
    // Every cause pulls the pin, too, and power brings a brown-out along (RM0433, table 55): the
    // most telling first.
    match causes {
        _ if causes.iwdg1rstf() || causes.wwdg1rstf() => Reset::Watchdog,
        _ if causes.sftrstf() => Reset::Software,
        _ if causes.porrstf() => Reset::PowerOn,
        _ if causes.borrstf() => Reset::BrownOut,
        _ if causes.pinrstf() => Reset::Pin,
        _ => Reset::Unknown,
    }
}

impl Hardware for H753 {
    fn feed_watchdog(&self) {
        self.watchdog.borrow_mut().pet();
    }

    fn key(&self) -> Option<[u8; 16]> {
        Some(self.key)
    }

    #[cfg(feature = "fleet")]
    fn fleet_image(&self) -> Option<dunlin::image::Image<'static>> {
        dunlin_board::fleet::mapped::device_image()
    }
}

/// A hardware address that no other chip has, made of the number it was made with.
pub fn hardware_address() -> [u8; 6] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = uid::uid();
    let wafer = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    own_address(wafer ^ u64::from(u32::from_le_bytes([i, j, k, l])) << 32)
}
