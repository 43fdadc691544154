//! The network of a microcontroller: embassy-net through `dunlin-embassy-net`, with what only our
//! firmware has: https, and the log over TCP.

#[cfg(feature = "collect")]
use dunlin::probe::CollectingSlot;
#[cfg(not(feature = "collect"))]
use dunlin::probe::Slot;
use dunlin::probe::{Board, Probe};
use dunlin_embassy_net::{keep_online, keep_time};
use embassy_net::{Runner, Stack};
use embassy_net_driver::Driver;

pub use dunlin_embassy_net::{
    Buffers, Connector, Names, Socket, is_busy, opened, own_address, start,
};

/// A full socket set panics, so it is counted here: one a slot, another one where pages are
/// collected, what the adapter needs besides, the log's if it goes over TCP, and those of updates,
/// of a fleet's broker and of who says that pages have changed. Each further [`connector`] counts
/// as a slot.
pub const fn sockets(slots: usize) -> usize {
    slots * (1 + cfg!(feature = "collect") as usize)
        + dunlin_embassy_net::SOCKETS_BESIDES
        + cfg!(feature = "tcp-log") as usize
        + cfg!(feature = "update") as usize
        + cfg!(feature = "fleet") as usize
        + cfg!(feature = "push") as usize
}

/// Bytes to receive from a collector: a status line is read.
#[cfg(feature = "collect")]
const FROM_COLLECTOR: usize = 128;
/// What a slot holds of a body on its way to the collector: two whole segments, so that one is
/// filled while the other is under way. With less than two, none is ever whole, and each costs as
/// much.
#[cfg(feature = "collect")]
const TO_COLLECTOR: usize = 2 * 1460;

/// Moves frames, tells the probe when the network comes and goes, and asks its time server if it
/// has one; for ever.
///
/// *Cancellation*: no frame moves any more, for the runner is gone.
pub async fn keep_up<B: Board, D: Driver>(
    mut runner: Runner<'static, D>,
    stack: Stack<'static>,
    probe: &Probe<'_, B>,
) {
    let date = async {
        #[cfg(feature = "tls")]
        crate::tls::keep_time(probe).await;
    };
    embassy_futures::join::join4(
        runner.run(),
        keep_online(stack, probe),
        keep_time(stack, probe),
        date,
    )
    .await;
}

/// What one slot needs: put an array of them in a `ConstStaticCell`.
#[derive(Debug)]
pub struct SlotMemory {
    slot: dunlin_embassy_net::SlotMemory,
    #[cfg(feature = "collect")]
    collector: Buffers<FROM_COLLECTOR, TO_COLLECTOR>,
}

impl SlotMemory {
    /// Memory that nobody has used yet.
    pub const NEW: Self = Self {
        slot: dunlin_embassy_net::SlotMemory::NEW,
        #[cfg(feature = "collect")]
        collector: Buffers::NEW,
    };

    /// Makes a slot of it.
    pub fn on(&'static mut self, stack: Stack<'static>) -> NetworkSlot {
        let slot = self.slot.on(stack, wrap_slot);
        #[cfg(feature = "collect")]
        let slot = CollectingSlot {
            slot,
            connect: Connector::new(stack, &mut self.collector),
            resolve: Names(stack),
        };
        slot
    }
}

/// A slot that fetches over the network.
#[cfg(not(feature = "collect"))]
pub type NetworkSlot = Slot<'static, SlotConnector, Names>;
/// A slot that fetches over the network, and hands copies to a collector.
#[cfg(feature = "collect")]
pub type NetworkSlot = CollectingSlot<'static, SlotConnector, Names, Connector>;

/// Runs a slot, for ever. *Cancellation*: as for [`Probe::run_slot`].
pub async fn run_slot<B: Board>(probe: &Probe<'_, B>, number: usize, slot: &mut NetworkSlot) -> ! {
    #[cfg(not(feature = "collect"))]
    probe.run_slot(number, slot).await;
    #[cfg(feature = "collect")]
    probe.run_collecting_slot(number, slot).await
}

/// What opens connections: with TLS for https, if the firmware has it.
#[cfg(not(feature = "tls"))]
pub type NetworkConnector = Connector;
/// What opens connections: with TLS for https.
#[cfg(feature = "tls")]
pub type NetworkConnector = crate::tls::TlsConnector;

/// What opens a slot's connections.
#[cfg(not(feature = "headers"))]
pub type SlotConnector = NetworkConnector;
/// What opens a slot's connections, with headers of the owner's in their requests.
#[cfg(feature = "headers")]
pub type SlotConnector = crate::headers::Headed<NetworkConnector>;

fn wrap_slot(connector: Connector) -> SlotConnector {
    #[cfg(feature = "headers")]
    return crate::headers::Headed(wrap(connector));
    #[cfg(not(feature = "headers"))]
    wrap(connector)
}

/// Opens connections for whoever is no slot: an update, what is collected, a broker. It shares
/// TLS's memory and trust with the slots, and waits for them as they do for each other. `buffers`
/// are of one connection at a time: put them in a `ConstStaticCell`, and count one more in
/// [`sockets`].
pub fn connector(stack: Stack<'static>, buffers: &'static mut Buffers) -> NetworkConnector {
    wrap(Connector::new(stack, buffers))
}

pub(crate) fn wrap(connector: Connector) -> NetworkConnector {
    #[cfg(feature = "tls")]
    return crate::tls::TlsConnector(connector);
    #[cfg(not(feature = "tls"))]
    connector
}
