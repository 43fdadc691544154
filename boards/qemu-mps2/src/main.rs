#![no_std]
#![no_main]
//! The firmware: dunlin's probe on embassy-net.

use dunlin::boot::{BlackBox, Boot, Reset};
use dunlin::store::Store;
use dunlin_board::network::{NetworkSlot, keep_up, run_slot, sockets};
use dunlin_board::probe::spawn;
#[cfg(feature = "update")]
use dunlin_board::update::Memory;
use dunlin_board::{black_box, boot, executor, persist};
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_time::{Duration, Ticker};
use qemu_mps2::ethernet::Ethernet;
use qemu_mps2::flash::{self, StateFile};
#[cfg(feature = "fleet")]
use qemu_mps2::fleet::Membership;
use qemu_mps2::options::Options;
use qemu_mps2::probe::{self, BoardProbe};
#[cfg(feature = "update")]
use qemu_mps2::update::BoardUpdates;
use qemu_mps2::{clock, log, network, options, watchdog};
use qemu_mps2_capacity::SLOTS;
#[cfg(feature = "update")]
use static_cell::ConstStaticCell;
use static_cell::StaticCell;

#[cortex_m_rt::entry]
fn main() -> ! {
    log::start();
    clock::start();
    let options = options::read();
    let (file, boot) = open(&options);
    if file.is_some() {
        probe::keep_last_good_image();
    }
    #[cfg(feature = "update")]
    let updates = {
        let updates = qemu_mps2::update::start(&options, &boot);
        qemu_mps2::update::fall(&options);
        updates
    };
    // Without a page list there is nothing to do, but a log that says so, minute by minute.
    let probe = probe::load(&options).ok();
    if probe.is_some() {
        watchdog::start();
    }
    let store = probe
        .zip(file)
        .map(|(probe, file)| restore(probe, file, &boot));
    #[cfg(feature = "fleet")]
    if let (Some(probe), None) = (probe, &store) {
        // What others have learnt, and this one under an earlier list.
        probe.membership().seed();
    }
    executor::run(|spawner| {
        start(
            spawner,
            options,
            probe,
            store,
            #[cfg(feature = "update")]
            updates,
        )
    })
}

/// Opens the state file, if there is one, and says why the device started.
fn open(options: &Options) -> (Option<StateFile>, Boot) {
    const NAME: &str = "dunlin on qemu-mps2";
    let bitten = watchdog::has_bitten();
    #[cfg(any(feature = "update", feature = "fleet"))]
    let restarted = qemu_mps2::restart::was_asked_for();
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    let restarted = false;
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
        (false, None) if !restarted => Reset::PowerOn,
        (false, _) => Reset::Software,
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
    #[cfg(feature = "discover")]
    restore_texts(probe, boot);
    persist::restore(probe, store, boot);
    store
}

/// The log of URL texts.
#[cfg(feature = "discover")]
static TEXTS: StaticCell<dunlin::store::TextLog<flash::TextFile>> = StaticCell::new();
#[cfg(feature = "discover")]
type Texts = &'static mut dunlin::store::TextLog<flash::TextFile>;
#[cfg(feature = "discover")]
static OPENED: critical_section::Mutex<core::cell::Cell<Option<Texts>>> =
    critical_section::Mutex::new(core::cell::Cell::new(None));

/// Takes over which pages an earlier run has found.
#[cfg(feature = "discover")]
fn restore_texts(probe: &BoardProbe, boot: &Boot) {
    let log = TEXTS.init(dunlin::store::TextLog::new(flash::TextFile));
    dunlin_board::discovering::restore(probe, log, boot);
    critical_section::with(|section| OPENED.borrow(section).set(Some(log)));
}

/// Writes down what is found.
#[cfg(feature = "discover")]
#[embassy_executor::task]
async fn writer(probe: &'static BoardProbe, log: Texts) {
    probe.persistence().run_found(log).await
}

fn start(
    spawner: Spawner,
    options: Options,
    probe: Option<&'static BoardProbe>,
    store: Option<&'static mut Store<StateFile>>,
    #[cfg(feature = "update")] updates: BoardUpdates,
) {
    let kept = store.is_some();
    spawn(spawner, end(options.seconds, options.panic, probe, kept));
    let Some(probe) = probe else { return };
    if let Some(store) = store {
        spawn(spawner, keeper(probe, store));
        #[cfg(feature = "discover")]
        if let Some(log) = critical_section::with(|section| OPENED.borrow(section).take()) {
            spawn(spawner, writer(probe, log));
        }
    }
    static RESOURCES: StaticCell<StackResources<{ sockets(SLOTS) }>> = StaticCell::new();
    if let Some((stack, runner)) = network::start(probe, RESOURCES.init(StackResources::new())) {
        #[cfg(feature = "update")]
        {
            static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::NEW);
            // Not in the task, which would hold it twice.
            static UPDATES: StaticCell<BoardUpdates> = StaticCell::new();
            let updates = UPDATES.init(updates);
            spawn(spawner, update(updates, probe, stack, MEMORY.take()));
            if qemu_mps2::update::is_mute(&options) {
                return spawn(spawner, house(probe));
            }
        }
        #[cfg(feature = "fleet")]
        if let Some(membership) = Membership::find() {
            let boot = qemu_mps2::fleet::nonce(&options);
            spawn(spawner, fleet(membership, probe, stack, boot, kept));
        }
        #[cfg(feature = "tls")]
        start_tls(probe, options.entropy);
        spawn(spawner, net(runner, stack, probe));
        #[cfg(feature = "tcp-log")]
        spawn(spawner, dunlin_board::tcp_log::serve(stack));
        #[cfg(feature = "push")]
        spawn(spawner, pushes(probe, stack));
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
    persist::keep(probe, store).await
}

/// Keeps the probe in its fleet, and starts it again with each list that comes.
#[cfg(feature = "fleet")]
#[embassy_executor::task]
async fn fleet(
    membership: Membership,
    probe: &'static BoardProbe,
    stack: Stack<'static>,
    boot: u32,
    kept: bool,
) {
    membership.run(probe, stack, boot).await;
    if kept {
        persist::end().await;
    }
    qemu_mps2::restart::begin_again()
}

/// Hears who says that pages have changed.
#[cfg(feature = "push")]
#[embassy_executor::task]
async fn pushes(probe: &'static BoardProbe, stack: Stack<'static>) {
    dunlin_board::push::listen(probe, stack).await
}

/// Looks for updates, for ever.
#[cfg(feature = "update")]
#[embassy_executor::task]
async fn update(
    updates: &'static mut BoardUpdates,
    probe: &'static BoardProbe,
    stack: Stack<'static>,
    memory: &'static mut Memory,
) {
    let url = qemu_mps2::update::url(probe.image());
    updates.run(probe, stack, memory, url).await
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
    run_slot(probe, number, &mut slot).await
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
    #[cfg(any(feature = "update", feature = "fleet"))]
    let before = qemu_mps2::restart::spent_before();
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    let before = 0;
    while clock::micros() + 1_000 * before < after(seconds) && log::typed() != Some(b'q') {
        #[cfg(any(feature = "update", feature = "fleet"))]
        qemu_mps2::restart::spend(before + clock::micros() / 1_000);
        assert!(clock::micros() < after(panic), "told to panic");
        ticker.next().await;
    }
    if kept {
        persist::end().await;
    }
    probe::end(probe)
}
