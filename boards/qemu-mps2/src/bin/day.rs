#![no_std]
#![no_main]
//! The probe on a simulated network. In a time that passes only while everybody waits (`skip`) the
//! log is the same each time, byte by byte; in QEMU's own skipped time the board's clock is at
//! work.

use dunlin::probe::{BoardEvent, Slot};
use dunlin_board::executor;
use dunlin_board::probe::spawn;
use embassy_executor::Spawner;
use embassy_time::Timer;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::simulated::Simulated;
use qemu_mps2::{clock, exit, log, options};
use qemu_mps2_capacity::SLOTS;
use static_cell::ConstStaticCell;

const WINDOW: usize = 1024;

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    let options = options::read();
    let seconds = options.seconds.unwrap_or(86_400);
    clock::start();
    if options.skip {
        clock::start_skipping();
    }
    dunlin_board::banner("dunlin's day on qemu-mps2");
    match (probe::load(&options), options.skip) {
        (Ok(probe), true) => {
            executor::run_with(|spawner| start(spawner, seconds, probe), clock::skip)
        }
        (Ok(probe), false) => executor::run(|spawner| start(spawner, seconds, probe)),
        (Err(_), _) => exit::failure(),
    }
}

fn start(spawner: Spawner, seconds: u32, probe: &'static BoardProbe) {
    static WINDOWS: ConstStaticCell<[[u8; WINDOW]; SLOTS]> =
        ConstStaticCell::new([[0; WINDOW]; SLOTS]);
    for (number, buffer) in WINDOWS.take().iter_mut().enumerate() {
        spawn(
            spawner,
            slot(
                number,
                probe,
                Slot {
                    connect: Simulated,
                    resolve: Simulated,
                    buffer,
                },
            ),
        );
    }
    spawn(spawner, house(probe));
    spawn(spawner, end(probe, seconds));
    probe.set_online(true);
}

#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(
    number: usize,
    probe: &'static BoardProbe,
    mut slot: Slot<'static, Simulated, Simulated>,
) {
    probe.run_slot(number, &mut slot).await
}

#[embassy_executor::task]
async fn house(probe: &'static BoardProbe) {
    probe.keep_house().await
}

#[embassy_executor::task]
async fn end(probe: &'static BoardProbe, seconds: u32) {
    Timer::after_secs(seconds.into()).await;
    let micros = executor::awake().as_micros();
    BoardEvent::Awake { micros }.emit();
    probe::end(Some(probe))
}
