#![no_std]
#![no_main]
//! The firmware: dunlin's probe on embassy-net.

use dunlin::probe::{Board as _, Event, Slot};
use embassy_executor::{SpawnError, SpawnToken, Spawner};
use embassy_net::{Runner, Stack};
use embassy_time::{Duration, Ticker};
use qemu_mps2::capacity::SLOTS;
use qemu_mps2::lan9118::Ethernet;
use qemu_mps2::network::{self, Buffers, Connector, Names};
use qemu_mps2::options::Options;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::{clock, executor, exit, log, memory, options};
use static_cell::ConstStaticCell;

/// The window requests and responses pass through.
const WINDOW: usize = 1024;

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
    let config = probe.config();
    match network::start(config.address, config.seed.into()) {
        Ok((stack, runner)) => {
            spawn(spawner, frames(runner));
            spawn(spawner, hurry());
            spawn(spawner, link(stack, probe));
            slots(spawner, stack, probe);
        }
        Err(why) => defmt::error!("no LAN9118: its test register reads {=u32:#x}", why.found),
    }
    spawn(spawner, house(probe));
}

fn slots(spawner: Spawner, stack: Stack<'static>, probe: &'static BoardProbe) {
    static BUFFERS: ConstStaticCell<[Buffers; SLOTS]> = ConstStaticCell::new([Buffers::NEW; SLOTS]);
    static WINDOWS: ConstStaticCell<[[u8; WINDOW]; SLOTS]> = ConstStaticCell::new([[0; WINDOW]; SLOTS]);
    for (number, (buffers, window)) in BUFFERS.take().iter_mut().zip(WINDOWS.take()).enumerate() {
        let connect = Connector::new(stack, buffers);
        spawn(spawner, slot(number, probe, Slot { connect, resolve: Names(stack), buffer: window }));
    }
}

/// There is room for every task: each is spawned as often as its pool says.
fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, SpawnError>) {
    match task {
        Ok(task) => spawner.spawn(task),
        Err(_) => defmt::error!("no room for a task"),
    }
}

#[embassy_executor::task]
async fn frames(runner: Runner<'static, Ethernet>) {
    network::run(runner).await
}

#[embassy_executor::task]
async fn hurry() {
    network::hurry().await
}

#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(number: usize, probe: &'static BoardProbe, mut slot: Slot<'static, Connector, Names>) {
    probe.run_slot(number, &mut slot).await
}

#[embassy_executor::task]
async fn house(probe: &'static BoardProbe) {
    probe.keep_house().await
}

/// Tells the probe when the network comes and goes.
#[embassy_executor::task]
async fn link(stack: Stack<'static>, probe: &'static BoardProbe) {
    loop {
        stack.wait_config_up().await;
        let address = stack.config_v4().map_or([0; 4], |config| config.address.address().octets());
        probe.board().log(&Event::Up { address });
        probe.set_online(true);
        embassy_futures::select::select(stack.wait_config_down(), stack.wait_link_down()).await;
        probe.set_online(false);
        probe.board().log(&Event::Down);
        stack.wait_link_up().await;
    }
}

/// Ends the run with a summary when its time is over, or when somebody types a `q` into the serial line.
#[embassy_executor::task]
async fn end(seconds: Option<u32>, probe: Option<&'static BoardProbe>) {
    let mut ticker = Ticker::every(Duration::from_millis(100));
    let end = seconds.map_or(u64::MAX, |seconds| u64::from(seconds) * 1_000_000);
    while clock::micros() < end && log::typed() != Some(b'q') {
        ticker.next().await;
    }
    if let Some(probe) = probe {
        probe.report();
    }
    defmt::info!(
        "done after {=u64} ms, stack high-water mark {=u32} B",
        clock::micros() / 1_000,
        memory::stack_high_water()
    );
    exit::success()
}
