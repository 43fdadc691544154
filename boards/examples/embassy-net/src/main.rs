#![no_std]
#![no_main]
//! A firmware of one's own: dunlin's probe on embassy-net. boards/EMBEDDING.md goes through it.

use dunlin::image::Image;
use dunlin::probe::{Board, Event, OwnedMemory, Probe};
use dunlin::scheduler::Settings;
use dunlin::time::Instant;
use dunlin_embassy_net::{SOCKETS_BESIDES, SlotMemory, keep_online, start};
use embassy_futures::join::join4;
use embassy_net::StackResources;
use qemu_mps2::ethernet::{self, Ethernet};
use static_cell::{ConstStaticCell, StaticCell};

static MEMORY: ConstStaticCell<OwnedMemory<64, 8, 1024>> = ConstStaticCell::new(OwnedMemory::NEW);
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
async fn crawl(probe: &'static Probe<'static, Mine>, driver: Ethernet) {
    let sockets = SOCKETS.init(StackResources::new());
    let (stack, mut runner) = start(driver, probe.config().address, 42, sockets);
    let mut slot = SLOT.take().on(stack, core::convert::identity);
    let online = keep_online(stack, probe);
    let house = probe.keep_house(); // reports each minute, feeds a watchdog
    join4(runner.run(), online, probe.run_slot(0, &mut slot), house).await;
}

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("a firmware of one's own"); // your chip's clocks, your log
    let driver = ethernet::start([2, 0, 0, 0, 0, 1]).expect("your network driver");
    let memory = MEMORY.take().view(Settings::DEFAULT); // 64 pages, 8 hosts, redirects
    let list = include_bytes!("../../pages.img"); // dunlin image pages.csv --out pages.img
    let image = Image::parse(list).expect("made by dunlin image");
    let probe = PROBE.init(Probe::new(image, memory, 1, Mine).expect("room for the list"));
    dunlin_board::executor::run(|spawner| spawner.spawn(crawl(probe, driver).expect("once")))
}
