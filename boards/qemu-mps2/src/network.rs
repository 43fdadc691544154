//! The network of this board: embassy-net on the LAN9118, as the fetcher wants it.

#![allow(missing_debug_implementations)] // embassy-net's types have none.

use core::cell::Cell;
use core::net::{IpAddr, Ipv4Addr};

use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
use dunlin::image::Address;
use embassy_net::dns::DnsQueryType;
use embassy_net::tcp::{self, TcpSocket};
use embassy_net::{Config, IpAddress, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Ticker, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};
use static_cell::StaticCell;

use crate::capacity::SLOTS;
use crate::lan9118::{self, Ethernet};

/// Locally administered; QEMU's user network does not care.
const HARDWARE_ADDRESS: [u8; 6] = [0x02, 0x64, 0x6e, 0x6c, 0x6e, 0x01];
/// A full socket set panics, so it is counted here: one a slot, DNS, DHCP, and one to spare while a closing socket
/// and its successor overlap.
const SOCKETS: usize = SLOTS + 3;
/// A peer that says nothing for so long is gone, deadline or not.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a connection may take to say good-bye.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// Bytes that wait to be read: a few frames, so that a burst fits the chip's FIFO beside it.
const RECEIVE: usize = 4096;
/// Bytes that wait to be sent: requests are short.
const SEND: usize = 1024;

/// Starts the stack; spawn [`run`] and [`hurry`] with what comes back.
///
/// # Errors
/// [`lan9118::chip::NotThere`]
pub fn start(
    address: Address,
    seed: u64,
) -> Result<(Stack<'static>, Runner<'static, Ethernet>), lan9118::chip::NotThere> {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    let ethernet = lan9118::start(HARDWARE_ADDRESS)?;
    Ok(embassy_net::new(ethernet, config(address), RESOURCES.init(StackResources::new()), seed))
}

fn config(address: Address) -> Config {
    match address {
        Address::Dhcp => Config::dhcpv4(Default::default()),
        Address::Static { address, prefix, router, names } => Config::ipv4_static(StaticConfigV4 {
            // Longer than an address is no prefix; the image's maker refuses it.
            address: Ipv4Cidr::new(Ipv4Addr::from(address), prefix.min(32)),
            gateway: router.map(Ipv4Addr::from),
            dns_servers: names.map(Ipv4Addr::from).into_iter().collect(),
        }),
    }
}

/// Moves frames, for ever.
pub async fn run(mut runner: Runner<'static, Ethernet>) -> ! {
    runner.run().await
}

/// Connections that are open or being opened.
static OPEN: Mutex<CriticalSectionRawMutex, Cell<u32>> = Mutex::new(Cell::new(0));
static OPENED: Signal<CriticalSectionRawMutex, ()> = Signal::new();

/// Keeps a 1 ms timer running while connections are open, for ever. Real hardware needs nothing of the kind: QEMU
/// notices new sockets of the computer only when the guest's timers ring (10–19 connections a second without).
pub async fn hurry() -> ! {
    let mut ticker = Ticker::every(Duration::from_millis(1));
    loop {
        if OPEN.lock(Cell::get) == 0 {
            OPENED.wait().await;
            ticker.reset();
        }
        ticker.next().await;
    }
}

/// Buffers of one connection.
#[derive(Debug)]
pub struct Buffers {
    receive: [u8; RECEIVE],
    send: [u8; SEND],
}

impl Buffers {
    /// Empty.
    pub const NEW: Self = Self { receive: [0; RECEIVE], send: [0; SEND] };
}

/// Opens connections, one at a time.
pub struct Connector {
    stack: Stack<'static>,
    buffers: &'static mut Buffers,
}

impl Connector {
    /// With buffers of its own.
    pub fn new(stack: Stack<'static>, buffers: &'static mut Buffers) -> Self {
        Self { stack, buffers }
    }
}

impl Connect for Connector {
    type Error = tcp::ConnectError;
    type Connection<'c> = Socket<'c>;

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Socket<'_>, tcp::ConnectError> {
        let socket = TcpSocket::new(self.stack, &mut self.buffers.receive, &mut self.buffers.send);
        let mut socket = Socket::new(socket);
        socket.0.set_timeout(Some(SILENCE));
        let IpAddr::V4(address) = to.address else { return Err(tcp::ConnectError::NoRoute) };
        socket.0.connect((address, to.port)).await?;
        Ok(socket)
    }
}

/// An open connection.
pub struct Socket<'a>(TcpSocket<'a>);

impl<'a> Socket<'a> {
    fn new(socket: TcpSocket<'a>) -> Self {
        OPEN.lock(|open| open.set(open.get() + 1));
        OPENED.signal(());
        Self(socket)
    }
}

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        OPEN.lock(|open| open.set(open.get().saturating_sub(1)));
    }
}

impl ErrorType for Socket<'_> {
    type Error = tcp::Error;
}

impl Read for Socket<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, tcp::Error> {
        self.0.read(buffer).await
    }
}

impl Write for Socket<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, tcp::Error> {
        self.0.write(bytes).await
    }

    async fn flush(&mut self) -> Result<(), tcp::Error> {
        // What has been written goes out by itself; waiting until it is acknowledged would cost a round trip.
        Ok(())
    }
}

impl Connection for Socket<'_> {
    /// Dropping sends nothing: close, and abort what does not end in time.
    async fn finish(&mut self) {
        self.0.close();
        if with_timeout(GOOD_BYE, self.0.flush()).await.is_err() {
            self.0.abort();
            let _ = with_timeout(GOOD_BYE, self.0.flush()).await;
        }
    }
}

/// Asks the network's name server.
#[derive(Clone, Copy)]
pub struct Names(pub Stack<'static>);

impl Resolve for Names {
    type Error = embassy_net::dns::Error;

    async fn resolve(&mut self, name: &str) -> Result<Addresses, embassy_net::dns::Error> {
        let found = self.0.dns_query(name, DnsQueryType::A).await?;
        Ok(found.into_iter().map(|IpAddress::Ipv4(address)| IpAddr::V4(address)).take(4).collect())
    }
}
