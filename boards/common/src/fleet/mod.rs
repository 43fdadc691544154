//! A board as a probe of a fleet: who it is by its settings, and a link over its own socket.

#[cfg(feature = "rtt")]
pub mod mapped;

use core::net::IpAddr;

use dunlin::fetch::{Addresses, Resolve};
use dunlin::image::Image;
use dunlin::probe::{Board, Probe};
use dunlin::settings::{Key, Settings};
use dunlin::time::Duration;
pub use dunlin_fleet::{Broker, Device, News, Room};
use embassy_net::Stack;

use crate::network::{Buffers, Connector, Names, wrap};

/// How long leases are taken to last until the planner says so.
const LEASE: Duration = Duration::HOUR;

/// The fleet that a device was told to belong to, if it was.
pub fn broker(settings: Settings<'static>) -> Option<Broker<'static>> {
    let url = settings.get(Key::Broker)?;
    let user = settings.get(Key::BrokerUser)?;
    let broker = Broker::told(url, user, settings.get(Key::BrokerPassword));
    if broker.is_none() {
        defmt::error!("the settings name no broker that can be asked: this probe is alone");
    }
    broker
}

/// What a link needs on a board: put it in a `ConstStaticCell`.
#[derive(Debug)]
pub struct Memory {
    link: dunlin_fleet::Memory,
    buffers: Buffers<1_152, 1_024>,
}

impl Memory {
    /// Empty.
    pub const NEW: Self = Self {
        link: dunlin_fleet::Memory::NEW,
        buffers: Buffers::NEW,
    };
}

/// Names as the image that the device was loaded with has them, then the network's.
struct DeviceNames {
    image: Image<'static>,
    names: Names,
}

impl Resolve for DeviceNames {
    type Error = <Names as Resolve>::Error;

    fn owner_address(&self, host: &str) -> Option<IpAddr> {
        self.image.named(host).map(IpAddr::from)
    }

    async fn resolve(&mut self, name: &str) -> Result<Addresses, Self::Error> {
        self.names.resolve(name).await
    }
}

/// Keeps the probe in its fleet until the device has another list, which counts from the next start
/// on: save what is to be kept, and reset. `image` is the one that the device was loaded with;
/// `boot` was drawn at random, and `list` is the version of the list in use, 0 for none.
///
/// *Cancellation*: safe; the connection to the broker ends without a good-bye.
pub async fn run<B: Board, D: Device>(
    probe: &Probe<'static, B>,
    stack: Stack<'static>,
    memory: &'static mut Memory,
    (broker, image): (Broker<'static>, Image<'static>),
    (boot, list): (u32, u32),
    (room, device): (Room, &mut D),
) {
    let names = DeviceNames {
        image,
        names: Names(stack),
    };
    let connect = wrap(Connector::new(stack, &mut memory.buffers));
    let started = (LEASE, probe.board().now());
    let network = (connect, names);
    let mut link = dunlin_fleet::Link::new(
        network,
        broker,
        &mut memory.link,
        room,
        (boot, list),
        started,
    );
    stack.wait_config_up().await;
    link.run(probe, device).await;
}
