#![no_std]
#![no_main]
//! How fast is the probe? First a bare loop over embassy-net – connect, ask, read to the end, close – with as many
//! sockets as the probe has slots; then the probe itself, on the same pages. `cargo xtask throughput` compares.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dunlin::fetch::{Connect as _, Connection as _, Endpoint, Scheme, Url};
use dunlin_board::executor;
use dunlin_board::network::NetworkSlot;
use dunlin_board::probe::spawn;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack};
use embassy_time::Timer;
use embedded_io_async::{Read as _, Write as _};
use qemu_mps2::capacity::SLOTS;
use qemu_mps2::lan9118::Ethernet;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::{exit, network, options};

static BARE: AtomicU32 = AtomicU32::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin's throughput on qemu-mps2");
    let seconds = options::read().seconds.unwrap_or(10);
    match probe::load() {
        Ok(probe) => executor::run(|spawner| start(spawner, seconds, probe)),
        Err(_) => exit::failure(),
    }
}

fn start(spawner: Spawner, seconds: u32, probe: &'static BoardProbe) {
    let Some((stack, runner)) = network::start(probe) else { exit::failure() };
    spawn(spawner, frames(runner));
    spawn(spawner, hurry());
    for (number, memory) in probe::slots(stack).enumerate() {
        spawn(spawner, slot(number, probe, memory));
    }
    spawn(spawner, judge(stack, probe, seconds));
}

#[embassy_executor::task]
async fn frames(mut runner: Runner<'static, Ethernet>) {
    runner.run().await
}

#[embassy_executor::task]
async fn hurry() {
    network::hurry().await
}

/// The bare loop until its time is over, then a slot of the probe.
#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(number: usize, probe: &'static BoardProbe, mut slot: NetworkSlot) {
    let port =
        probe.image().page(0).ok().and_then(|page| Url::parse(page.url).ok()).map_or(80, |url| url.port());
    let to = Endpoint { scheme: Scheme::Http, host: "", address: Ipv4Addr::new(10, 0, 2, 2).into(), port };
    while !OVER.load(Ordering::Relaxed) {
        let Ok(mut socket) = slot.connect.connect(to).await else {
            Timer::after_millis(10).await;
            continue;
        };
        let asked = socket.write(b"GET /bare HTTP/1.1\r\nHost: bare.test\r\nConnection: close\r\n\r\n").await;
        let mut total = 0;
        while let Ok(count @ 1..) = socket.read(slot.buffer).await {
            total += count;
        }
        socket.finish().await;
        if asked.is_ok() && total > 0 {
            // Tasks of one executor do not interrupt each other here.
            BARE.store(BARE.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
    probe.run_slot(number, &mut slot).await
}

#[embassy_executor::task]
async fn judge(stack: Stack<'static>, probe: &'static BoardProbe, seconds: u32) {
    stack.wait_config_up().await;
    // What was done before there was a network does not count.
    BARE.store(0, Ordering::Relaxed);
    Timer::after_secs(seconds.into()).await;
    let bare = BARE.load(Ordering::Relaxed);
    OVER.store(true, Ordering::Relaxed);
    // The loops end, the probe gets its robots.txt.
    probe.set_online(true);
    Timer::after_secs(2).await;
    let before = probe.totals().fetches;
    Timer::after_secs(seconds.into()).await;
    let fetches = probe.totals().fetches - before;
    defmt::info!("throughput bare={=u32} probe={=u32} seconds={=u32}", bare, fetches, seconds);
    exit::success()
}
