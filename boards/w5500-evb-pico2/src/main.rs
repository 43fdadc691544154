#![no_std]
#![no_main]
//! dunlin's probe on the W5500-EVB-Pico2.

use core::pin::pin;

use dunlin::store::Store;
#[cfg(feature = "discover")]
use dunlin::store::TextLog;
#[cfg(feature = "discover")]
use dunlin_board::discovering;
#[cfg(feature = "fleet")]
use dunlin_board::fleet::mapped::Membership;
use dunlin_board::network::{self, NetworkSlot, SlotMemory, keep_up, run_slot, sockets};
use dunlin_board::partition::StoreFlash;
use dunlin_board::probe::{self, Capacity, PageTable, Tables, records, spawn};
use dunlin_board::rp2350::{self, Rp2350, Rp2350Flash};
#[cfg(feature = "update")]
use dunlin_board::update::{Memory, Updates, mapped};
use dunlin_board::{boot, executor, persist, rtt};
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_net_wiznet::chip::W5500;
use embassy_net_wiznet::{Device, State};
use embassy_rp::flash::Flash;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::peripherals::{DMA_CH0, DMA_CH1, SPI0, TRNG};
use embassy_rp::spi::{self, Spi};
use embassy_rp::{Peri, bind_interrupts, dma};
use embassy_time::{Delay, Timer};
use embedded_hal_bus::spi::ExclusiveDevice;
use static_cell::{ConstStaticCell, StaticCell};

/// What this firmware holds; `cargo xtask boards` reads it from the ELF.
#[cfg(not(any(feature = "tls", feature = "discover")))]
const PAGES: usize = 3072;
/// The same with pages beyond the list: their tables take the rest.
#[cfg(all(feature = "discover", not(feature = "tls")))]
const PAGES: usize = rp2350::FOUND_PLACES;
/// The same with https.
#[cfg(feature = "tls")]
const PAGES: usize = 1536;
const HOSTS: usize = 256;
/// So many fetches run at the same time.
const SLOTS: usize = 4;
/// Sectors of the store, as in the memory map.
#[cfg(not(feature = "tls"))]
const SECTORS: usize = 176;
/// The same with https.
#[cfg(feature = "tls")]
const SECTORS: usize = 140;

/// The board's flash has so many bytes.
const BYTES: usize = 2 * 1024 * 1024;
/// All of it, of which the store has its part.
type BoardFlash = StoreFlash<Rp2350Flash<BYTES>, SECTORS>;
/// The part that texts of URLs are in.
#[cfg(feature = "discover")]
type TextFlash = StoreFlash<Rp2350Flash<BYTES>, { discovering::mapped::SECTORS }>;
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
type Bus = ExclusiveDevice<Spi<'static, SPI0, spi::Async>, Output<'static>, Delay>;
type Card = embassy_net_wiznet::Runner<'static, W5500, Bus, Input<'static>, Output<'static>>;

bind_interrupts!(struct Interrupts {
    DMA_IRQ_0 => dma::InterruptHandler<DMA_CH0>, dma::InterruptHandler<DMA_CH1>;
});

/// How the W5500 is wired.
struct Wires {
    bus: Bus,
    interrupt: Input<'static>,
    reset: Output<'static>,
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let p = embassy_rp::init(Default::default());
    let (hardware, reset) = Rp2350::start(p.WATCHDOG);
    let boot = boot("dunlin on w5500-evb-pico2", reset);
    let mut config = spi::Config::default();
    config.frequency = 40_000_000;
    let bus = Spi::new(
        p.SPI0, p.PIN_18, p.PIN_19, p.PIN_16, p.DMA_CH0, p.DMA_CH1, Interrupts, config,
    );
    let select = Output::new(p.PIN_17, Level::High);
    let wires = ExclusiveDevice::new(bus, select, Delay).map(|bus| Wires {
        bus,
        interrupt: Input::new(p.PIN_21, Pull::Up),
        reset: Output::new(p.PIN_20, Level::High),
    });
    // Without a page list there is nothing to do, and nobody feeds the watchdog: the log says so,
    // again and again.
    #[cfg(feature = "update")]
    let list = mapped::choose::<PAGES, HOSTS>();
    #[cfg(feature = "update")]
    let updates = {
        // Not in a task, which would hold it twice.
        static UPDATES: StaticCell<BoardUpdates> = StaticCell::new();
        UPDATES.init(mapped::start::<_, _, PAGES, HOSTS>(
            "w5500-evb-pico2",
            rp2350::another_flash,
            &list,
            &boot,
        ))
    };
    #[cfg(feature = "update")]
    let image = list.image;
    #[cfg(feature = "fleet")]
    let member = Membership::find::<PAGES, HOSTS>(SLOTS);
    #[cfg(feature = "fleet")]
    let image = Membership::list(member.as_ref());
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    let image = probe::image_flash();
    let probe = load(image, hardware);
    let flash = StoreFlash::new(Flash::new_blocking(p.FLASH));
    executor::run(|spawner| {
        #[cfg(feature = "usb-log")]
        dunlin_board::usb_log::start(spawner, p.USB, "dunlin on w5500-evb-pico2");
        if let (Some(probe), Ok(wires)) = (probe, wires) {
            static STORE: StaticCell<Store<BoardFlash>> = StaticCell::new();
            let store = STORE.init(Store::new(flash));
            #[cfg(feature = "discover")]
            {
                static TEXTS: StaticCell<TextLog<TextFlash>> = StaticCell::new();
                let flash = discovering::mapped::flash(rp2350::another_flash());
                let log = TEXTS.init(TextLog::new(flash));
                discovering::restore(probe, log, &boot);
                spawn(spawner, writer(probe, log));
            }
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
                    #[cfg(feature = "fleet")]
                    member,
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
    #[cfg(feature = "fleet")] member: Option<Membership>,
) {
    // Packets that wait, 1.5 kB each: what is sent are requests and acknowledgements, one a slot.
    static STATE: StaticCell<State<8, SLOTS>> = StaticCell::new();
    static RESOURCES: StaticCell<StackResources<{ sockets(SLOTS) }>> = StaticCell::new();
    static MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> =
        ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    let state = STATE.init(State::new());
    let Wires {
        bus,
        interrupt,
        reset,
    } = wires;
    let address = rp2350::hardware_address();
    let made = pin!(embassy_net_wiznet::new(
        address, state, bus, interrupt, reset
    ));
    // A card that does not start is a reason to give an update up.
    #[cfg(feature = "update")]
    let made = updates.in_time(made);
    let Ok((device, runner)) = made.await else {
        defmt::error!("the W5500 does not answer: once more from the start");
        Timer::after_secs(5).await;
        rtt::reset()
    };
    spawn(spawner, card(runner));
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
    #[cfg(feature = "update")]
    spawn(spawner, update(updates, probe, stack));
    #[cfg(feature = "fleet")]
    if let Some(member) = member {
        spawn(spawner, fleet(member, probe, stack, random as u32));
    }
    for (number, memory) in MEMORY.take().iter_mut().enumerate() {
        spawn(spawner, slot(number, probe, memory.on(stack)));
    }
}

#[embassy_executor::task]
async fn card(runner: Card) {
    runner.run().await
}

#[embassy_executor::task]
async fn net(
    runner: Runner<'static, Device<'static>>,
    stack: Stack<'static>,
    probe: &'static BoardProbe,
) {
    keep_up(runner, stack, probe).await
}

#[cfg(feature = "fleet")]
dunlin_board::fleet_task!(BoardProbe, rp2350::another_flash::<BYTES>());

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

/// Writes down what is found.
#[cfg(feature = "discover")]
#[embassy_executor::task]
async fn writer(probe: &'static BoardProbe, log: &'static mut TextLog<TextFlash>) {
    probe.persistence().run_found(log).await
}

#[embassy_executor::task]
async fn keeper(probe: &'static BoardProbe, store: &'static mut Store<BoardFlash>) {
    #[cfg(any(feature = "update", feature = "fleet"))]
    persist::keep(probe, store).await;
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    probe.persistence().run(store).await
}
