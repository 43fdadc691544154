//! The probe on this board: memory, clock and log of dunlin's loop.

use dunlin::image::{Image, ImageError, LogLevel};
use dunlin::probe::{Board, Event, HostMemory, Memory, PageMemory, Probe};
use dunlin::scheduler::{Fixed, Scheduler, Settings};
use dunlin::time::Instant;
use embassy_time::Timer;
use static_cell::{ConstStaticCell, StaticCell};

use crate::capacity::{HOSTS, PAGES, SLOTS};
use crate::clock;

/// Clock and log.
#[derive(Clone, Copy, Debug)]
pub struct Mps2 {
    log: LogLevel,
}

impl Board for Mps2 {
    fn now(&self) -> Instant {
        Instant::from_micros(clock::micros())
    }

    async fn sleep_until(&self, then: Instant) {
        Timer::at(embassy_time::Instant::from_micros(then.as_micros())).await;
    }

    fn log(&self, event: &Event) {
        if event.level() <= self.log {
            event.emit();
        }
    }
}

/// The probe, for as many pages as [`crate::capacity`] says.
pub type BoardProbe = Probe<'static, Fixed<PAGES, HOSTS>, Mps2>;

unsafe extern "C" {
    static _image_start: u8;
    static _image_end: u8;
}

/// The place of the page image, whatever is in it.
pub fn flash() -> &'static [u8] {
    let start = &raw const _image_start;
    let length = (&raw const _image_end).addr().saturating_sub(start.addr());
    // SAFETY: memory.x sets this region apart, it is loaded before the firmware starts, and nobody writes it.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// Makes the probe of the image that is loaded. Call once.
///
/// # Errors
/// Why the image cannot be used; it has been logged.
pub fn load() -> Result<&'static BoardProbe, ImageError> {
    // Made by the compiler, at the price of flash: made at run time it would be on the stack first.
    static SCHEDULER: ConstStaticCell<Scheduler<PAGES, HOSTS>> =
        ConstStaticCell::new(Scheduler::new(Settings::DEFAULT));
    static PAGE_MEMORY: ConstStaticCell<[PageMemory; PAGES]> = ConstStaticCell::new([PageMemory::NEW; PAGES]);
    static HOST_MEMORY: ConstStaticCell<[HostMemory; HOSTS]> = ConstStaticCell::new([HostMemory::NEW; HOSTS]);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    let made = Image::parse(flash()).and_then(|image| {
        let config = image.config()?;
        let memory =
            Memory { scheduler: SCHEDULER.take(), pages: PAGE_MEMORY.take(), hosts: HOST_MEMORY.take() };
        Probe::new(image, memory, SLOTS, Mps2 { log: config.log })
    });
    made.map(|probe| &*PROBE.init(probe)).inspect_err(|why| Event::Refused(*why).emit())
}
