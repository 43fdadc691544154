//! The network of this board: the LAN9118, and what QEMU needs besides.

use dunlin_board::network;
use embassy_net::{Runner, Stack, StackResources};
use embassy_time::{Duration, Ticker};

use crate::ethernet::{self, Ethernet};
use crate::probe::BoardProbe;

/// Locally administered; QEMU's user network does not care.
const HARDWARE_ADDRESS: [u8; 6] = [0x02, 0x64, 0x6e, 0x6c, 0x6e, 0x01];

/// Starts the stack, on a `StackResources<{ sockets(SLOTS) }>`; `None` if there is no LAN9118,
/// which has been logged.
pub fn start<const SOCKETS: usize>(
    probe: &BoardProbe,
    resources: &'static mut StackResources<SOCKETS>,
) -> Option<(Stack<'static>, Runner<'static, Ethernet>)> {
    let absent = |why: &lan9118::NotThere| {
        defmt::error!("no LAN9118: its test register reads {=u32:#x}", why.found)
    };
    let ethernet = ethernet::start(HARDWARE_ADDRESS).inspect_err(absent).ok()?;
    let config = probe.config();
    // A list that a fleet's planner sent knows nothing of this device's network.
    #[cfg(feature = "fleet")]
    let device = dunlin::image::Image::parse(dunlin_board::probe::image_flash())
        .and_then(|image| image.config());
    #[cfg(feature = "fleet")]
    let config = device.as_ref().unwrap_or(config);
    Some(network::start(
        ethernet,
        config.address,
        config.seed.into(),
        resources,
    ))
}

/// Keeps a 1 ms timer running while connections are open, for ever. Real hardware needs nothing of
/// the kind: QEMU notices new sockets of the computer only when the guest's timers ring (10–19
/// connections a second without).
///
/// *Cancellation*: safe; connections take their time then.
pub async fn hurry() -> ! {
    let mut ticker = Ticker::every(Duration::from_millis(1));
    loop {
        if !network::is_busy() {
            network::opened().await;
            ticker.reset();
        }
        ticker.next().await;
    }
}
