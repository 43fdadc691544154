#![no_std]
#![no_main]
//! How fast is the probe? Turn by turn, a bare loop over embassy-net – connect, ask, read to the
//! end, close – and the probe, both on the same pages, with as many sockets at a time and a
//! connection for each request: what a request costs besides the network. `cargo xtask throughput`
//! compares.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dunlin::fetch::{Connect as _, Connection as _, Endpoint, Scheme, Url};
use dunlin_board::executor;
use dunlin_board::network::{NetworkSlot, SlotMemory, sockets};
use dunlin_board::probe::spawn;
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, Timer};
use embedded_io_async::{Read as _, Write as _};
use qemu_mps2::ethernet::Ethernet;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::{exit, network, options};
use qemu_mps2_capacity::SLOTS;
use static_cell::{ConstStaticCell, StaticCell};

/// How long a turn is. Short, so that what else the computer does hits both kinds alike.
const TURN: Duration = Duration::from_millis(500);
/// What a turn gets before it counts, and the one before it for coming to an end.
const SETTLE: Duration = Duration::from_millis(100);

/// Requests of the bare loops that were answered.
static ANSWERED: AtomicU32 = AtomicU32::new(0);
/// Is it the bare loops' turn?
static BARE: AtomicBool = AtomicBool::new(false);
static GO: [Signal<CriticalSectionRawMutex, ()>; SLOTS] = [const { Signal::new() }; SLOTS];

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("dunlin's throughput on qemu-mps2");
    let options = options::read();
    let seconds = options.seconds.unwrap_or(30);
    match probe::load(&options) {
        Ok(probe) => executor::run(|spawner| start(spawner, seconds, probe)),
        Err(_) => exit::failure(),
    }
}

fn start(spawner: Spawner, seconds: u32, probe: &'static BoardProbe) {
    // The probe's and the bare loops': between two turns, both may have some open.
    static RESOURCES: StaticCell<StackResources<{ sockets(2 * SLOTS) }>> = StaticCell::new();
    static BARE_MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> =
        ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    let resources = RESOURCES.init(StackResources::new());
    let Some((stack, runner)) = network::start(probe, resources) else {
        exit::failure()
    };
    spawn(spawner, frames(runner));
    spawn(spawner, hurry());
    for (number, memory) in BARE_MEMORY.take().iter_mut().enumerate() {
        spawn(spawner, bare(number, probe, memory.on(stack)));
    }
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

#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(number: usize, probe: &'static BoardProbe, mut slot: NetworkSlot) {
    probe.run_slot(number, &mut slot).await
}

/// Asks again and again while it is its turn.
#[embassy_executor::task(pool_size = SLOTS)]
async fn bare(number: usize, probe: &'static BoardProbe, mut slot: NetworkSlot) {
    let url = probe
        .image()
        .page(0)
        .ok()
        .and_then(|page| Url::parse(page.url).ok());
    let port = url.map_or(80, |url| url.port());
    let to = Endpoint {
        scheme: Scheme::Http,
        host: "",
        address: Ipv4Addr::new(10, 0, 2, 2).into(),
        port,
    };
    loop {
        if let Some(go) = GO.get(number) {
            go.wait().await;
        }
        while BARE.load(Ordering::Relaxed) {
            let Ok(mut socket) = slot.connect.connect(to).await else {
                Timer::after_millis(10).await;
                continue;
            };
            let asked = socket
                .write(b"GET /bare HTTP/1.1\r\nHost: bare.test\r\nConnection: close\r\n\r\n")
                .await;
            let mut total = 0;
            while let Ok(count @ 1..) = socket.read(slot.buffer).await {
                total += count;
            }
            socket.finish().await;
            if asked.is_ok() && total > 0 {
                // Tasks of one executor do not interrupt each other here.
                ANSWERED.store(ANSWERED.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
        }
    }
}

/// What a turn came to.
struct Turn {
    requests: u32,
    /// Time the core did not sleep.
    awake_us: u32,
}

/// Counts what happens in a turn. *Cancellation*: safe.
async fn turn(count: impl Fn() -> u32) -> Turn {
    Timer::after(SETTLE).await;
    let before = count();
    let awake = executor::awake();
    Timer::after(TURN).await;
    Turn {
        requests: count() - before,
        awake_us: (executor::awake() - awake).as_micros() as u32,
    }
}

#[embassy_executor::task]
async fn judge(stack: Stack<'static>, probe: &'static BoardProbe, seconds: u32) {
    stack.wait_config_up().await;
    // Every host is asked for its robots.txt once a day: that is over before anything counts.
    probe.set_online(true);
    Timer::after_secs(2).await;
    probe.set_online(false);
    let end = Instant::now() + Duration::from_secs(seconds.into());
    while Instant::now() < end {
        Timer::after(SETTLE).await;
        BARE.store(true, Ordering::Relaxed);
        GO.iter().for_each(|go| go.signal(()));
        let bare = turn(|| ANSWERED.load(Ordering::Relaxed)).await;
        BARE.store(false, Ordering::Relaxed);
        Timer::after(SETTLE).await;
        probe.set_online(true);
        let own = turn(|| probe.totals().fetches).await;
        probe.set_online(false);
        defmt::info!(
            "throughput bare={=u32} bare_awake_us={=u32} probe={=u32} probe_awake_us={=u32} errors={=u32} ms={=u64}",
            bare.requests,
            bare.awake_us,
            own.requests,
            own.awake_us,
            probe.totals().errors,
            TURN.as_millis()
        );
    }
    exit::success()
}
