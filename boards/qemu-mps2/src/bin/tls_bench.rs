#![no_std]
#![no_main]
//! Counts what TLS costs in instructions: connections whose servers' part was recorded on a
//! computer (`dunlin_tls::rehearsal`) and lies where the page image would. Start QEMU with `-icount
//! shift=7`.

use core::cell::Cell;
use core::convert::Infallible;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use dunlin::fetch::Connection;
use dunlin_board::tls::dunlin_tls::rehearsal::{DATE, SCENES, SEED, play};
use dunlin_board::tls::dunlin_tls::{Clock, Owner};
use dunlin_board::{banner, memory, tls};
use embedded_io_async::{ErrorType, Read, Write};
use qemu_mps2::meter::{InstructionMeter, so_far};
use qemu_mps2::{exit, log};
use static_cell::StaticCell;

/// Authorities at the front of the recording.
const AUTHORITIES: usize = 3;

unsafe extern "C" {
    static _image_start: u8;
    static _image_end: u8;
}

/// The parts of the recording: each has its length before it, in four bytes.
fn part(number: usize) -> Option<&'static [u8]> {
    let start = &raw const _image_start;
    let length = (&raw const _image_end).addr().saturating_sub(start.addr());
    // SAFETY: memory.x sets this region apart, it is loaded before the firmware starts, and nobody
    // writes it then.
    let mut rest = unsafe { core::slice::from_raw_parts(start, length) };
    let mut next = || {
        let (length, after) = rest.split_first_chunk()?;
        let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        Some(part)
    };
    for _ in 0..number {
        next()?;
    }
    next()
}

#[derive(Debug)]
struct Recorded;

impl Clock for Recorded {
    fn unix_time(&self) -> Option<u64> {
        Some(DATE)
    }
}

impl Owner for Recorded {
    fn is_own(&self, _: &str) -> bool {
        true
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        (index < AUTHORITIES).then(|| part(index)).flatten()
    }
}

/// A server that says what it has said before, a record at a time: what answers a request must not
/// come before it.
struct Replay<'l> {
    rest: &'static [u8],
    /// Bytes of the record that has begun.
    left: usize,
    /// It was told something since it last spoke.
    is_told: bool,
    laps: &'l Laps,
}

/// Between two moments at which a connection waits for its server's answer, nothing else runs if
/// all of the answer is there.
#[derive(Default)]
struct Laps {
    last: Cell<u32>,
    longest: Cell<u32>,
}

impl Laps {
    fn end(&self) {
        let lap = so_far().saturating_sub(self.last.get());
        self.longest.set(self.longest.get().max(lap));
        self.last.set(so_far());
    }
}

impl ErrorType for Replay<'_> {
    type Error = Infallible;
}

impl Read for Replay<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        if core::mem::take(&mut self.is_told) {
            self.laps.end();
        }
        if self.left == 0
            && let [_, _, _, high, low, ..] = *self.rest
        {
            self.left = 5 + usize::from(u16::from_be_bytes([high, low]));
        }
        let count = buffer.len().min(self.rest.len()).min(self.left);
        let (now, later) = self.rest.split_at(count);
        buffer
            .iter_mut()
            .zip(now)
            .for_each(|(to, from)| *to = *from);
        self.left -= count;
        self.rest = later;
        Ok(count)
    }
}

impl Write for Replay<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.is_told = true;
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Connection for Replay<'_> {}

/// Nothing here ever waits.
fn finish<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn tell(name: &str, instructions: u32) {
    defmt::info!("bench {=str}|1|1|{=u32}", name, instructions);
}

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    banner("dunlin TLS bench on qemu-mps2");
    let Some(meter) = InstructionMeter::calibrated() else {
        defmt::error!("the meter does not count: start QEMU with -icount shift=7");
        exit::failure()
    };
    static RECORDED: StaticCell<Recorded> = StaticCell::new();
    let recorded = RECORDED.init(Recorded);
    let Some(tls) = tls::start_with(recorded, recorded, SEED) else {
        exit::failure()
    };
    let mut longest = 0;
    for (number, scene) in SCENES.iter().enumerate() {
        let Some(rest) = part(AUTHORITIES + number) else {
            defmt::error!("the recording is too short");
            exit::failure()
        };
        let laps = Laps::default();
        let opened = Cell::new(0);
        let mut outcome = None;
        let all = meter.count(&mut || {
            let replay = Replay {
                rest,
                left: 0,
                is_told: false,
                laps: &laps,
            };
            outcome = finish(play(tls, replay, scene, || opened.set(so_far())));
            laps.end();
        });
        if !matches!(outcome, Some(Ok(()))) {
            defmt::error!(
                "{=str}: another connection than the recorded one",
                scene.handshake
            );
            exit::failure()
        }
        longest = longest.max(laps.longest.get());
        tell(scene.handshake, opened.get());
        if scene.answer > 1_000 {
            tell("page", all.saturating_sub(opened.get()));
        } else if number == 0 {
            tell("unchanged", all.saturating_sub(opened.get()));
        }
    }
    tell("longest", longest);
    tell("stack", memory::stack_high_water());
    exit::success()
}
