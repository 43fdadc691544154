#![no_std]
#![no_main]
//! dunlin's probe on the Pico 2 W.

use core::pin::pin;

use cyw43::{Control, JoinOptions, NetDriver, PowerManagementMode, SpiBus, State};
use cyw43_pio::{DEFAULT_CLOCK_DIVIDER, PioSpi};
use cyw43_setup::{CLM, FW, NVRAM};
use dunlin::probe::BoardEvent;
use dunlin::settings::SettingKey;
use dunlin::store::Store;
use dunlin_board::network::{self, NetworkSlot, SlotMemory, keep_up, run_slot, sockets};
use dunlin_board::partition::StoreFlash;
use dunlin_board::probe::{self, Capacity, PageTable, Tables, records, spawn};
use dunlin_board::rp2350::{self, Rp2350, Rp2350Flash};
#[cfg(feature = "update")]
use dunlin_board::update::{Memory, Updates, mapped};
use dunlin_board::{boot, executor, persist, settings};
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_rp::flash::Flash;
use embassy_rp::gpio::{Level, Output};
use embassy_rp::peripherals::{DMA_CH0, PIO0, TRNG};
use embassy_rp::pio::{self, Pio};
use embassy_rp::{Peri, bind_interrupts, dma};
use embassy_time::{Duration, Timer, with_timeout};
use static_cell::{ConstStaticCell, StaticCell};

/// What this firmware holds; `cargo xtask boards` reads it from the ELF.
#[cfg(not(feature = "tls"))]
const PAGES: usize = 3072;
/// The same with https.
#[cfg(feature = "tls")]
const PAGES: usize = 2048;
const HOSTS: usize = 256;
/// So many fetches run at the same time.
const SLOTS: usize = 4;
/// Sectors of the store, as in memory.x.
const SECTORS: usize = 176;

/// The board's flash has so many bytes.
const BYTES: usize = 4 * 1024 * 1024;
/// All of it, of which the store has its part.
type BoardFlash = StoreFlash<Rp2350Flash<BYTES>, SECTORS>;
const _: () = assert!(
    Store::<BoardFlash>::places() >= records(PAGES, HOSTS),
    "the store is too small"
);

// SAFETY: dunlin.x knows the section, and nothing at run time reads it.
#[unsafe(link_section = ".dunlin.capacity")]
#[used]
static CAPACITY: Capacity = Capacity::of::<PAGES, HOSTS>();

type BoardProbe = probe::BoardProbe<PAGES, HOSTS, Rp2350>;
#[cfg(feature = "update")]
type BoardUpdates = Updates<boot_chain::Part<Rp2350Flash<BYTES>>, { rp2350::BOOT_WORD }>;
type Bus = PioSpi<'static, PIO0, 0>;
type Radio = cyw43::Runner<'static, SpiBus<Output<'static>, Bus>>;

bind_interrupts!(struct Interrupts {
    PIO0_IRQ_0 => pio::InterruptHandler<PIO0>;
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>;
});

/// Between two attempts to join.
const PAUSE: Duration = Duration::from_secs(10);

/// How the radio is wired.
struct Wires {
    bus: Bus,
    power: Output<'static>,
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let p = embassy_rp::init(Default::default());
    let (hardware, reset) = Rp2350::start(p.WATCHDOG);
    let boot = boot("dunlin on pico2-w", reset);
    let Pio {
        mut common,
        sm0,
        irq0,
        ..
    } = Pio::new(p.PIO0, Interrupts);
    let select = Output::new(p.PIN_25, Level::High);
    let dma = dma::Channel::new(p.DMA_CH0, Interrupts);
    let divider = DEFAULT_CLOCK_DIVIDER;
    let bus = PioSpi::new(
        &mut common,
        sm0,
        divider,
        irq0,
        select,
        p.PIN_24,
        p.PIN_29,
        dma,
    );
    let wires = Wires {
        bus,
        power: Output::new(p.PIN_23, Level::Low),
    };
    // Without a page list there is nothing to do, and nobody feeds the watchdog: the log says so,
    // again and again.
    #[cfg(feature = "update")]
    let list = mapped::choose::<PAGES, HOSTS>();
    #[cfg(feature = "update")]
    let updates = {
        // Not in a task, which would hold it twice.
        static UPDATES: StaticCell<BoardUpdates> = StaticCell::new();
        UPDATES.init(mapped::start::<_, _, PAGES, HOSTS>(
            "pico2-w",
            rp2350::another_flash,
            &list,
            &boot,
        ))
    };
    #[cfg(feature = "update")]
    let image = list.image;
    #[cfg(not(feature = "update"))]
    let image = probe::image_flash();
    let probe = load(image, hardware);
    let flash = StoreFlash::new(Flash::new_blocking(p.FLASH));
    executor::run(|spawner| {
        #[cfg(feature = "usb-log")]
        dunlin_board::usb_log::start(spawner, p.USB, "dunlin on pico2-w");
        if let Some(probe) = probe {
            static STORE: StaticCell<Store<BoardFlash>> = StaticCell::new();
            let store = STORE.init(Store::new(flash));
            persist::restore(probe, store, &boot);
            spawn(spawner, keeper(probe, store));
            spawn(spawner, house(probe));
            spawn(
                spawner,
                start(
                    spawner,
                    probe,
                    wires,
                    p.TRNG,
                    #[cfg(feature = "update")]
                    updates,
                ),
            );
        }
    })
}

fn load(image: &'static [u8], hardware: Rp2350) -> Option<&'static BoardProbe> {
    static TABLES: ConstStaticCell<Tables<PAGES, HOSTS>> = ConstStaticCell::new(Tables::NEW);
    static PAGE_TABLE: ConstStaticCell<PageTable<PAGES>> = ConstStaticCell::new(PageTable::NEW);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    let tables = TABLES.take();
    probe::load_from(image, tables, PAGE_TABLE.take(), &PROBE, SLOTS, hardware).ok()
}

/// Brings the network up, then the slots.
#[embassy_executor::task]
async fn start(
    spawner: Spawner,
    probe: &'static BoardProbe,
    wires: Wires,
    mut trng: Peri<'static, TRNG>,
    #[cfg(feature = "update")] updates: &'static mut BoardUpdates,
) {
    static STATE: StaticCell<State> = StaticCell::new();
    static RESOURCES: StaticCell<StackResources<{ sockets(SLOTS) }>> = StaticCell::new();
    static MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> =
        ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    let state = STATE.init(State::new());
    let started = pin!(cyw43::new(state, wires.power, wires.bus, &FW, &NVRAM));
    // A radio that does not start is a reason to give an update up.
    #[cfg(feature = "update")]
    let started = updates.in_time(started);
    let (device, control, runner) = started.await;
    spawn(spawner, radio(runner));
    let random = rp2350::random(trng.reborrow());
    #[cfg(feature = "tls")]
    dunlin_board::tls::start(*probe.image(), rp2350::seed(trng));
    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = network::start(device, probe.config().address, random, resources);
    spawn(spawner, net(runner, stack, probe));
    #[cfg(feature = "tcp-log")]
    spawn(spawner, dunlin_board::tcp_log::serve(stack));
    #[cfg(feature = "push")]
    spawn(spawner, pushes(probe, stack));
    spawn(spawner, join(control, stack));
    #[cfg(feature = "update")]
    spawn(spawner, update(updates, probe, stack));
    for (number, memory) in MEMORY.take().iter_mut().enumerate() {
        spawn(spawner, slot(number, probe, memory.on(stack)));
    }
}

#[embassy_executor::task]
async fn radio(runner: Radio) {
    runner.run().await
}

/// Joins the network, and again whenever it is lost, for ever.
#[embassy_executor::task]
async fn join(mut control: Control<'static>, stack: Stack<'static>) {
    control.init(CLM).await;
    control
        .set_power_management(PowerManagementMode::PowerSave)
        .await;
    let settings = settings::read();
    let Some(network) = settings.get(SettingKey::WifiNetwork) else {
        return BoardEvent::NoNetwork.emit();
    };
    loop {
        let options = match settings.get(SettingKey::WifiPassword) {
            None | Some("") => JoinOptions::new_open(),
            Some(password) => JoinOptions::new(password.as_bytes()),
        };
        if control.join(network, options).await.is_ok() {
            BoardEvent::Joined { network }.emit();
            // Up to a moment later, the link is not up yet; a link that never comes up is as good
            // as lost.
            let _ = with_timeout(PAUSE, stack.wait_link_up()).await;
            stack.wait_link_down().await;
            control.leave().await;
        }
        let seconds = PAUSE.as_secs();
        BoardEvent::NotJoined { network, seconds }.emit();
        Timer::after(PAUSE).await;
    }
}

#[embassy_executor::task]
async fn net(
    runner: Runner<'static, NetDriver<'static>>,
    stack: Stack<'static>,
    probe: &'static BoardProbe,
) {
    keep_up(runner, stack, probe).await
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
) {
    static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::NEW);
    let url = mapped::url(probe);
    updates.run(probe, stack, MEMORY.take(), url).await
}

#[embassy_executor::task(pool_size = SLOTS)]
async fn slot(number: usize, probe: &'static BoardProbe, mut slot: NetworkSlot) {
    run_slot(probe, number, &mut slot).await
}

#[embassy_executor::task]
async fn house(probe: &'static BoardProbe) {
    probe.keep_house().await
}

#[embassy_executor::task]
async fn keeper(probe: &'static BoardProbe, store: &'static mut Store<BoardFlash>) {
    #[cfg(feature = "update")]
    persist::keep(probe, store).await;
    #[cfg(not(feature = "update"))]
    probe.persistence().run(store).await
}
