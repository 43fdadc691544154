//! A board as a probe of a fleet: who it is by its settings, and a link over its own socket.

#[cfg(feature = "tls")]
mod connect;
#[cfg(feature = "rtt")]
pub mod mapped;

use dunlin::image::Image;
use dunlin::probe::{Board, BoardEvent, OwnerNames, Probe};
use dunlin::settings::{DeviceSettings, SettingKey};
use dunlin::time::Duration;
pub use dunlin_fleet::{Broker, Device, Room};
use embassy_net::Stack;

use crate::network::{Buffers, Connector, Names, wrap};
use crate::{probe, settings};

/// How long leases are taken to last until the planner says so.
const LEASE: Duration = Duration::HOUR;

/// What a device was told by a cable alone, which no list of a planner changes.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The fleet that it belongs to.
    pub broker: Broker<'static>,
    /// The image that it was loaded with: its network, its time server, whom it trusts.
    pub image: Image<'static>,
}

impl Home {
    /// `None` if the device is alone, or was loaded with no image.
    pub fn find() -> Option<Self> {
        Some(Self {
            broker: broker(settings::read())?,
            image: Image::parse(probe::image_flash()).ok()?,
        })
    }
}

/// Fetches a day that so many slots can make: one a second each.
pub const fn fetches(slots: usize) -> f32 {
    86_400.0 * slots as f32
}

/// The fleet that a device was told to belong to, if it was.
fn broker(settings: DeviceSettings<'static>) -> Option<Broker<'static>> {
    let url = settings.get(SettingKey::Broker)?;
    let user = settings.get(SettingKey::BrokerUser)?;
    let broker = Broker::told(url, user, settings.get(SettingKey::BrokerPassword));
    if broker.is_none() {
        BoardEvent::NoBroker.emit();
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
    /// Memory that nobody has used yet.
    pub const NEW: Self = Self {
        link: dunlin_fleet::Memory::NEW,
        buffers: Buffers::NEW,
    };
}

/// Keeps the probe in its fleet until the device has another list, which counts from the next start
/// on: save what is to be kept, and reset. `boot` was drawn at random, and `list` is the version of
/// the list in use, 0 for none.
///
/// *Cancellation*: safe; the connection to the broker ends without a good-bye.
pub async fn run<B: Board, D: Device>(
    probe: &Probe<'static, B>,
    stack: Stack<'static>,
    memory: &'static mut Memory,
    home: Home,
    (boot, list): (u32, u32),
    (room, device): (Room, &mut D),
) {
    let names = OwnerNames {
        image: &home.image,
        resolve: &mut Names(stack),
    };
    let connect = wrap(Connector::new(stack, &mut memory.buffers));
    #[cfg(feature = "tls")]
    let connect = connect::BrokerConnector {
        connect,
        broker: home.broker,
    };
    let started = (LEASE, probe.board().now());
    let network = (connect, names);
    let mut link = dunlin_fleet::Link::new(
        network,
        home.broker,
        &mut memory.link,
        room,
        (boot, list),
        started,
    );
    stack.wait_config_up().await;
    link.run(probe, device).await;
}
