//! The network of a microcontroller: embassy-net through `dunlin-embassy-net`, with what only our
//! firmware has: https, and the log over TCP.

use dunlin::probe::{Board, Probe, Slot};
use dunlin_embassy_net::{keep_online, keep_time};
use embassy_net::{Runner, Stack};
use embassy_net_driver::Driver;

pub use dunlin_embassy_net::{Connector, Names, Socket, is_busy, opened, own_address, start};

/// A full socket set panics, so it is counted here: one a slot, what the adapter needs besides, and
/// the log's if it goes over TCP.
pub const fn sockets(slots: usize) -> usize {
    slots + dunlin_embassy_net::SOCKETS_BESIDES + cfg!(feature = "tcp-log") as usize
}

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
pub struct SlotMemory(dunlin_embassy_net::SlotMemory);

impl SlotMemory {
    /// Empty.
    pub const NEW: Self = Self(dunlin_embassy_net::SlotMemory::NEW);

    /// Makes a slot of it.
    pub fn on(&'static mut self, stack: Stack<'static>) -> NetworkSlot {
        #[cfg(feature = "tls")]
        let wrap = crate::tls::TlsConnector;
        #[cfg(not(feature = "tls"))]
        let wrap = core::convert::identity;
        self.0.on(stack, wrap)
    }
}

/// A slot that fetches over the network.
#[cfg(not(feature = "tls"))]
pub type NetworkSlot = Slot<'static, Connector, Names>;
/// A slot that fetches over the network.
#[cfg(feature = "tls")]
pub type NetworkSlot = Slot<'static, crate::tls::TlsConnector, Names>;
