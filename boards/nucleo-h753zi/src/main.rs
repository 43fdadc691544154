#![no_std]
#![no_main]
//! dunlin's probe on the NUCLEO-H753ZI.

use dunlin::store::Store;
#[cfg(feature = "fleet")]
use dunlin_board::fleet::mapped::Membership;
use dunlin_board::network::{self, NetworkSlot, SlotMemory, keep_up, run_slot, sockets};
use dunlin_board::partition::StoreFlash;
use dunlin_board::probe::{self, Capacity, PageTable, Tables, records, spawn};
#[cfg(feature = "update")]
use dunlin_board::update::{Memory, Updates, mapped};
use dunlin_board::{boot, executor, persist};
use embassy_executor::Spawner;
use embassy_net::{Runner, Stack, StackResources};
use embassy_stm32::bind_interrupts;
use embassy_stm32::eth::{self, Ethernet, GenericPhy, PacketQueue, Sma};
use embassy_stm32::peripherals::{ETH, ETH_SMA, RNG};
use embassy_stm32::rng::{self, Rng};
use nucleo_h753zi::H753;
use nucleo_h753zi::flash::H753Flash;
use static_cell::{ConstStaticCell, StaticCell};

/// What this firmware holds; `cargo xtask boards` reads it from the ELF.
#[cfg(not(any(
    feature = "tls",
    feature = "update",
    feature = "fleet",
    feature = "serial-log",
    feature = "tcp-log"
)))]
const PAGES: usize = 4000;
/// The same with a log over the serial line or TCP, whose lines take RAM.
#[cfg(all(
    not(any(feature = "tls", feature = "update", feature = "fleet")),
    any(feature = "serial-log", feature = "tcp-log")
))]
const PAGES: usize = 3840;
/// The same with https.
#[cfg(all(feature = "tls", not(feature = "update")))]
const PAGES: usize = 2048;
/// The same with updates, which leave the store half as many sectors.
#[cfg(feature = "update")]
const PAGES: usize = 1728;
/// The same in a fleet, whose lists take some of the store's sectors.
#[cfg(all(feature = "fleet", not(feature = "tls")))]
const PAGES: usize = 3072;
const HOSTS: usize = 256;
/// So many fetches run at the same time.
const SLOTS: usize = 4;
/// Sectors of the store, as in the memory map.
#[cfg(not(any(feature = "tls", feature = "update", feature = "fleet")))]
const SECTORS: usize = 10;
/// The same in a fleet.
#[cfg(all(feature = "fleet", not(feature = "tls")))]
const SECTORS: usize = 8;
/// The same in a fleet with https.
#[cfg(all(feature = "fleet", feature = "tls"))]
const SECTORS: usize = 6;
/// The same with https.
#[cfg(all(feature = "tls", not(any(feature = "update", feature = "fleet"))))]
const SECTORS: usize = 9;
/// The same with updates.
#[cfg(feature = "update")]
const SECTORS: usize = 5;

type BoardFlash = StoreFlash<H753Flash, SECTORS>;
const _: () = assert!(
    Store::<BoardFlash>::places() >= records(PAGES, HOSTS),
    "the store is too small"
);

// SAFETY: dunlin.x knows the section, and nothing at run time reads it.
#[unsafe(link_section = ".dunlin.capacity")]
#[used]
static CAPACITY: Capacity = Capacity::of::<PAGES, HOSTS>();

type BoardProbe = probe::BoardProbe<PAGES, HOSTS, H753>;
#[cfg(feature = "update")]
type BoardUpdates = Updates<boot_chain::Part<H753Flash>, { nucleo_h753zi_flash::WORD }>;
type Card = Ethernet<'static, ETH, GenericPhy<Sma<'static, ETH_SMA>>>;

bind_interrupts!(struct Interrupts {
    ETH => eth::InterruptHandler;
    HASH_RNG => rng::InterruptHandler<RNG>;
});

#[cortex_m_rt::entry]
fn main() -> ! {
    let p = nucleo_h753zi::start();
    let boot = boot("dunlin on nucleo-h753zi", nucleo_h753zi::reset_cause());
    let mut rng = Rng::new(p.RNG, Interrupts);
    let mut flash = H753Flash::new(p.FLASH);
    let key = flash.device_key(|| [rng.next_u64(), rng.next_u64()]);
    // Without a page list there is nothing to do, and nobody feeds the watchdog: the log says so,
    // again and again.
    let hardware = H753::start(p.IWDG1, key);
    // A half that a power cut has left may be unreadable in places.
    #[cfg(feature = "update")]
    let list = nucleo_h753zi::flash::ignoring_bus_faults(mapped::choose::<PAGES, HOSTS>);
    #[cfg(feature = "update")]
    let updates = {
        // Not in a task, which would hold it twice.
        static UPDATES: StaticCell<BoardUpdates> = StaticCell::new();
        UPDATES.init(mapped::start::<_, _, PAGES, HOSTS>(
            "nucleo-h753zi",
            H753Flash::strict,
            &list,
            &boot,
        ))
    };
    #[cfg(feature = "update")]
    let image = list.image;
    // A place that a power cut has left may be unreadable, too.
    #[cfg(feature = "fleet")]
    let member =
        nucleo_h753zi::flash::ignoring_bus_faults(|| Membership::find::<PAGES, HOSTS>(SLOTS));
    #[cfg(feature = "fleet")]
    let image = Membership::list(member.as_ref());
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    let image = probe::image_flash();
    let probe = load(image, hardware);
    static PACKETS: StaticCell<PacketQueue<8, 8>> = StaticCell::new();
    // The LAN8742A answers at address 0; nine wires of RMII and two of management, as on the
    // board's schematic.
    let card = Ethernet::new_with_phy(
        PACKETS.init(PacketQueue::new()),
        p.ETH,
        Interrupts,
        p.PA1,
        p.PA7,
        p.PC4,
        p.PC5,
        p.PG13,
        p.PB13,
        p.PG11,
        nucleo_h753zi::hardware_address(),
        GenericPhy::new(Sma::new(p.ETH_SMA, p.PA2, p.PC1), 0),
    );
    let random = rng.next_u64();
    #[cfg(feature = "tls")]
    if let Some(probe) = probe {
        let mut seed = [0; 32];
        for word in seed.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes());
        }
        dunlin_board::tls::start(*probe.image(), seed);
    }
    executor::run(|spawner| {
        #[cfg(feature = "serial-log")]
        if let Ok(line) = nucleo_h753zi::serial_log::open(p.USART3, p.PD8, p.DMA1_CH0) {
            spawn(spawner, nucleo_h753zi::serial_log::send(line));
        }
        if let Some(probe) = probe {
            static STORE: StaticCell<Store<BoardFlash>> = StaticCell::new();
            let store = STORE.init(Store::new(StoreFlash::new(flash)));
            persist::restore(probe, store, &boot);
            spawn(spawner, keeper(probe, store));
            spawn(spawner, house(probe));
            let stack = start(spawner, probe, card, random);
            #[cfg(feature = "update")]
            spawn(spawner, update(updates, probe, stack));
            #[cfg(feature = "fleet")]
            if let Some(member) = member {
                // Not the number that the network has begun with.
                let boot = (random >> 32) as u32;
                spawn(spawner, fleet(member, probe, stack, boot));
            }
            #[cfg(not(any(feature = "update", feature = "fleet")))]
            let _ = stack;
        }
    })
}

fn load(image: &'static [u8], hardware: H753) -> Option<&'static BoardProbe> {
    static TABLES: ConstStaticCell<Tables<PAGES, HOSTS>> = ConstStaticCell::new(Tables::NEW);
    static PAGE_TABLE: ConstStaticCell<PageTable<PAGES>> = ConstStaticCell::new(PageTable::NEW);
    static PROBE: StaticCell<BoardProbe> = StaticCell::new();
    let tables = TABLES.take();
    probe::load_from(image, tables, PAGE_TABLE.take(), &PROBE, SLOTS, hardware).ok()
}

/// Brings the network up, then the slots.
fn start(spawner: Spawner, probe: &'static BoardProbe, card: Card, random: u64) -> Stack<'static> {
    static RESOURCES: StaticCell<StackResources<{ sockets(SLOTS) }>> = StaticCell::new();
    static MEMORY: ConstStaticCell<[SlotMemory; SLOTS]> =
        ConstStaticCell::new([SlotMemory::NEW; SLOTS]);
    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = network::start(card, probe.config().address, random, resources);
    spawn(spawner, net(runner, stack, probe));
    #[cfg(feature = "tcp-log")]
    spawn(spawner, dunlin_board::tcp_log::serve(stack));
    #[cfg(feature = "push")]
    spawn(spawner, pushes(probe, stack));
    for (number, memory) in MEMORY.take().iter_mut().enumerate() {
        spawn(spawner, slot(number, probe, memory.on(stack)));
    }
    stack
}

#[cfg(feature = "fleet")]
dunlin_board::fleet_task!(BoardProbe, H753Flash::another());

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

#[embassy_executor::task]
async fn net(runner: Runner<'static, Card>, stack: Stack<'static>, probe: &'static BoardProbe) {
    keep_up(runner, stack, probe).await
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
    #[cfg(any(feature = "update", feature = "fleet"))]
    persist::keep(probe, store).await;
    #[cfg(not(any(feature = "update", feature = "fleet")))]
    probe.persistence().run(store).await
}
