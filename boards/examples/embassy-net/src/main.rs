#![no_std]
#![no_main]
//! A firmware of one's own: dunlin's probe on embassy-net, in seventy lines. boards/EMBEDDING.md goes
//! through it.

use dunlin::image::Image;
use dunlin::probe::{Board, Event, HostMemory, Memory, PageMemory, Probe};
use dunlin::scheduler::{Settings, Tables};
use dunlin::time::Instant;
use dunlin_embassy_net::{SOCKETS_BESIDES, SlotMemory, keep_online, start};
use embassy_net::{Runner, Stack, StackResources};
use qemu_mps2::ethernet::{self, Ethernet};
use static_cell::{ConstStaticCell, StaticCell};

type OfPages = [PageMemory; 64];
type OfHosts = [HostMemory; 8];
static LIST: &[u8] = include_bytes!("../../pages.img"); // dunlin image pages.csv --out pages.img
static MEMORY: ConstStaticCell<(Tables<64, 8>, OfPages, OfHosts, [u8; 1024])> =
    ConstStaticCell::new((
        Tables::NEW,
        [PageMemory::NEW; 64],
        [HostMemory::NEW; 8],
        [0; 1024],
    ));
static SLOT: ConstStaticCell<SlotMemory> = ConstStaticCell::new(SlotMemory::NEW);
static SOCKETS: StaticCell<StackResources<{ 1 + SOCKETS_BESIDES }>> = StaticCell::new();
static PROBE: StaticCell<Probe<'static, Mine>> = StaticCell::new();

/// What the probe needs of this device: a clock and a log. The rest has defaults.
struct Mine;

impl Board for Mine {
    fn now(&self) -> Instant {
        Instant::from_micros(embassy_time::Instant::now().as_micros())
    }
    async fn sleep_until(&self, then: Instant) {
        embassy_time::Timer::at(embassy_time::Instant::from_micros(then.as_micros())).await
    }
    fn log(&self, event: &Event) {
        event.emit(); // as a line that `dunlin monitor` reads; or look at the event yourself
    }
}

#[embassy_executor::task]
async fn network(mut runner: Runner<'static, Ethernet>) {
    runner.run().await
}

#[embassy_executor::task]
async fn crawl(probe: &'static Probe<'static, Mine>, stack: Stack<'static>) {
    let mut slot = SLOT.take().on(stack, core::convert::identity);
    let house = probe.keep_house(); // reports each minute, feeds a watchdog
    embassy_futures::join::join3(
        keep_online(stack, probe),
        probe.run_slot(0, &mut slot),
        house,
    )
    .await;
}

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("a firmware of one's own"); // your chip's clocks, your log
    let driver = ethernet::start([2, 0, 0, 0, 0, 1]).expect("your network driver");
    let (tables, pages, hosts, redirects) = MEMORY.take();
    let scheduler = tables.scheduler(Settings::DEFAULT);
    let memory = Memory {
        scheduler,
        pages,
        hosts,
        redirects,
    };
    let image = Image::parse(LIST).expect("made by dunlin image");
    let probe = PROBE.init(Probe::new(image, memory, 1, Mine).expect("room for the list"));
    let address = probe.config().address;
    let (stack, runner) = start(driver, address, 42, SOCKETS.init(StackResources::new()));
    dunlin_board::executor::run(|spawner| {
        spawner.spawn(network(runner).expect("once"));
        spawner.spawn(crawl(probe, stack).expect("once"));
    })
}
