#![no_std]
#![no_main]
//! The firmware: dunlin's probe on embassy-net.

use dunlin::boot::{BlackBox, Boot, Reset};
use dunlin::store::Store;
use dunlin_board::network::{NetworkSlot, keep_up, sockets};
use dunlin_board::probe::spawn;
use dunlin_board::{black_box, boot, executor, persist};
use embassy_executor::Spawner;
use embassy_futures::select::select;
use embassy_net::{Runner, Stack, StackResources};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Ticker, with_timeout};
use qemu_mps2::ethernet::Ethernet;
use qemu_mps2::flash::{self, StateFile};
use qemu_mps2::options::Options;
use qemu_mps2::probe::{self, BoardProbe};
use qemu_mps2::{clock, log, network, options, watchdog};
use qemu_mps2_capacity::SLOTS;
use static_cell::StaticCell;

/// It is time to store what is not stored yet …
static END: Signal<CriticalSectionRawMutex, ()> = Signal::new();
/// … and it has been stored.
static STORED: Signal<CriticalSectionRawMutex, ()> = Signal::new();
/// How long that may take.
const LAST_STORE: Duration = Duration::from_secs(2);

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    clock::start();
    let options = options::read();
    let (file, boot) = open(&options);
    if file.is_some() {
        probe::keep_last_good_image();
    }
    // Without a page list there is nothing to do, but a log that says so, minute by minute.
    let probe = probe::load(options.epoch).ok();
    if probe.is_some() {
        watchdog::start();
    }
    let store = probe
        .zip(file)
        .map(|(probe, file)| restore(probe, file, &boot));
    executor::run(|spawner| start(spawner, options, probe, store))
}

/// Opens the state file, if there is one, and says why the device started.
fn open(options: &Options) -> (Option<StateFile>, Boot) {
    const NAME: &str = "dunlin on qemu-mps2";
    let bitten = watchdog::has_bitten();
    let Some(path) = options.state() else {
        return (
            None,
            boot(
                NAME,
                if bitten {
                    Reset::Watchdog
                } else {
                    Reset::PowerOn
                },
            ),
        );
    };
    let file = flash::open(path).ok();
    // Last words in the file mean that QEMU has ended by a panic.
    let words = flash::last_words().filter(BlackBox::is_written);
    if let Some(words) = words {
        black_box::put(words);
        flash::keep_last_words(&BlackBox::EMPTY);
    }
    let reset = match (bitten, words) {
        (true, _) => Reset::Watchdog,
        (false, Some(_)) => Reset::Software,
        (false, None) => Reset::PowerOn,
    };
    let boot = boot(NAME, reset);
    if file.is_none() {
        defmt::error!("the state file cannot be used: nothing is kept");
    }
    (file, boot)
}

/// Takes over what is in the state file.
fn restore(probe: &BoardProbe, file: StateFile, boot: &Boot) -> &'static mut Store<StateFile> {
    static STORE: StaticCell<Store<StateFile>> = StaticCell::new();
    let store = STORE.init(Store::new(file));
    persist::restore(probe, store, boot);
    store
}

fn start(
    spawner: Spawner,
    options: Options,
    probe: Option<&'static BoardProbe>,
    store: Option<&'static mut Store<StateFile>>,
) {
    let kept = store.is_some();
    spawn(spawner, end(options.seconds, options.panic, probe, kept));
    let Some(probe) = probe else { return };
    if let Some(store) = store {
        spawn(spawner, keeper(probe, store));
    }
    static RESOURCES: StaticCell<StackResources<{ sockets(SLOTS) }>> = StaticCell::new();
    if let Some((stack, runner)) = network::start(probe, RESOURCES.init(StackResources::new())) {
        #[cfg(feature = "tls")]
        start_tls(probe, options.entropy);
        spawn(spawner, net(runner, stack, probe));
        #[cfg(feature = "tcp-log")]
        spawn(spawner, dunlin_board::tcp_log::serve(stack));
        spawn(spawner, hurry());
        for (number, memory) in probe::slots(stack).enumerate() {
            spawn(spawner, slot(number, probe, memory));
        }
    }
    spawn(spawner, house(probe));
}

/// Gets https ready, with what the command line gives for random numbers.
#[cfg(feature = "tls")]
fn start_tls(probe: &BoardProbe, entropy: Option<[u8; 32]>) {
    match entropy {
        Some(entropy) => {
            defmt::warn!("random numbers are made of what the command line says: for tests only");
            dunlin_board::tls::start(*probe.image(), entropy);
        }
        None => defmt::error!("no random numbers, so no https: give entropy=HEX"),
    }
}

/// Stores what is learnt, to the end.
#[embassy_executor::task]
async fn keeper(probe: &'static BoardProbe, store: &'static mut Store<StateFile>) {
    let persistence = probe.persistence();
    select(persistence.run(store), END.wait()).await;
    persistence.flush(store).await;
    STORED.signal(());
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

/// Ends the run with a summary when its time is over, or when somebody types a `q` into the serial
/// line.
#[embassy_executor::task]
async fn end(
    seconds: Option<u32>,
    panic: Option<u32>,
    probe: Option<&'static BoardProbe>,
    kept: bool,
) {
    let mut ticker = Ticker::every(Duration::from_millis(100));
    let after =
        |seconds: Option<u32>| seconds.map_or(u64::MAX, |seconds| u64::from(seconds) * 1_000_000);
    while clock::micros() < after(seconds) && log::typed() != Some(b'q') {
        assert!(clock::micros() < after(panic), "told to panic");
        ticker.next().await;
    }
    if kept {
        END.signal(());
        let _ = with_timeout(LAST_STORE, STORED.wait()).await;
    }
    probe::end(probe)
}
