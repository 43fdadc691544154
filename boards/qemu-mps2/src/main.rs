#![no_std]
#![no_main]
//! The firmware: dunlin's probe on embassy-net.

use dunlin_board::executor;
use dunlin_board::network::{NetworkSlot, keep_up};
use dunlin_board::probe::spawn;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack};
use embassy_time::{Duration, Ticker};
use qemu_mps2::capacity::SLOTS;
use qemu_mps2::lan9118::Ethernet;
use qemu_mps2::options::Options;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::{clock, log, network, options};

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin on qemu-mps2");
    let options = options::read();
    // Without a page list there is nothing to do, but a log that says so, minute by minute.
    let probe = probe::load().ok();
    executor::run(|spawner| start(spawner, options, probe))
}

fn start(spawner: Spawner, options: Options, probe: Option<&'static BoardProbe>) {
    spawn(spawner, end(options.seconds, probe));
    let Some(probe) = probe else { return };
    if let Some((stack, runner)) = network::start(probe) {
        spawn(spawner, net(runner, stack, probe));
        spawn(spawner, hurry());
        for (number, memory) in probe::slots(stack).enumerate() {
            spawn(spawner, slot(number, probe, memory));
        }
    }
    spawn(spawner, house(probe));
}

#[embassy_executor::task]
async fn net(runner: Runner<'static, Ethernet>, stack: Stack<'static>, probe: &'static BoardProbe) {
    keep_up(runner, stack, probe).await
}

#[embassy_executor::task]
async fn hurry() {
    network::hurry().await
}

#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(number: usize, probe: &'static BoardProbe, mut slot: NetworkSlot) {
    probe.run_slot(number, &mut slot).await
}

#[embassy_executor::task]
async fn house(probe: &'static BoardProbe) {
    probe.keep_house().await
}

/// Ends the run with a summary when its time is over, or when somebody types a `q` into the serial line.
#[embassy_executor::task]
async fn end(seconds: Option<u32>, probe: Option<&'static BoardProbe>) {
    let mut ticker = Ticker::every(Duration::from_millis(100));
    let end = seconds.map_or(u64::MAX, |seconds| u64::from(seconds) * 1_000_000);
    while clock::micros() < end && log::typed() != Some(b'q') {
        ticker.next().await;
    }
    probe::end(probe)
}
