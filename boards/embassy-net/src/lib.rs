#![no_std]
#![allow(missing_debug_implementations)] // embassy-net's types have none.
//! embassy-net as dunlin's fetcher and probe want it, over any driver and on any chip.
//!
//! | what | for what |
//! |---|---|
//! | [`Connector`], [`Socket`], [`Names`] | connections and names for [`fetch::Client`](dunlin::fetch::Client), with an HTTP loop of one's own |
//! | [`SlotMemory`] | the same with its buffers, as a [`Slot`] of the probe |
//! | [`keep_online`] | tells the probe when the network comes and goes |
//! | [`keep_time`] | asks the time server that the page image names |
//! | [`start`] | a stack with the address that the page image names |
//! | [`is_busy`], [`opened`] | are connections open? For radios, and for QEMU |
//!
//! `boards/examples/embassy-net` is a whole firmware around it, and `boards/common` the one of the
//! boards in this repository. A full socket set panics: count a socket for each slot, one for DNS,
//! one for DHCP, one for the time server, and one to spare while a closing socket and its successor
//! overlap ([`SOCKETS_BESIDES`]). Types of embassy-net stay out of dunlin's own API; this crate is
//! where they meet.

use core::cell::Cell;
use core::future::poll_fn;
use core::net::{IpAddr, Ipv4Addr};
use core::task::Poll;

use dunlin::catalog::Address;
use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
use dunlin::probe::{Board, Datagrams, Event, Probe, Slot};
use embassy_net::dns::DnsQueryType;
use embassy_net::tcp::{self, TcpSocket};
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{Config, IpAddress, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use embassy_net_driver::Driver;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};

/// Sockets besides one a slot: DNS, DHCP, the time server's, and one to spare.
pub const SOCKETS_BESIDES: usize = 4;

/// A peer that says nothing for so long is gone, deadline or not.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a connection may take to say good-bye.
const GOOD_BYE: Duration = Duration::from_millis(500);

/// Bytes that wait to be read: a few frames, so that a burst fits the chip's FIFO beside it.
const RECEIVE: usize = 4096;
/// Bytes that wait to be sent: requests are short.
const SEND: usize = 1024;
/// The window requests and responses pass through.
const WINDOW: usize = 1024;

/// Starts the stack, on a `StackResources` that the board sets apart; its runner has to be run.
pub fn start<D: Driver, const SOCKETS: usize>(
    driver: D,
    address: Address,
    seed: u64,
    resources: &'static mut StackResources<SOCKETS>,
) -> (Stack<'static>, Runner<'static, D>) {
    SEED.lock(|kept| kept.set(seed));
    embassy_net::new(driver, config(address), resources, seed)
}

/// What [`start`] was told: for numbers that nobody should guess.
static SEED: Mutex<CriticalSectionRawMutex, Cell<u64>> = Mutex::new(Cell::new(0));

fn config(address: Address) -> Config {
    match address {
        Address::Dhcp => Config::dhcpv4(Default::default()),
        Address::Static {
            address,
            prefix,
            router,
            names,
        } => Config::ipv4_static(StaticConfigV4 {
            // Longer than an address is no prefix; the image's maker refuses it.
            address: Ipv4Cidr::new(Ipv4Addr::from(address), prefix.min(32)),
            gateway: router.map(Ipv4Addr::from),
            dns_servers: names.map(Ipv4Addr::from).into_iter().collect(),
        }),
    }
}

/// Asks the image's time server, if it names one. *Cancellation*: safe; the hosts' `Date` headers
/// stand in.
pub async fn keep_time<B: Board>(stack: Stack<'static>, probe: &Probe<'_, B>) {
    let mut heard = [PacketMetadata::EMPTY; 2];
    let mut said = [PacketMetadata::EMPTY; 1];
    let mut receive = [0; 2 * LONGEST_TIME];
    let mut send = [0; LONGEST_TIME];
    let socket = UdpSocket::new(stack, &mut heard, &mut receive, &mut said, &mut send);
    probe
        .time()
        .keep(SEED.lock(Cell::get), &mut Names(stack), &mut Udp(socket))
        .await
}

/// Bytes of a time server's answer, or more.
const LONGEST_TIME: usize = 96;

struct Udp<'a>(UdpSocket<'a>);

// Futures without a state of their own: an async function is half a kilobyte and a panic site more.
impl Datagrams for Udp<'_> {
    fn send(&mut self, to: IpAddr, port: u16, bytes: &[u8]) -> impl Future<Output = bool> {
        // Another port each time: whoever answers has to know it.
        self.0.close();
        let bound = self.0.bind(0).is_ok();
        poll_fn(move |context| match to {
            IpAddr::V4(to) if bound => self
                .0
                .poll_send_to(bytes, (to, port), context)
                .map(|sent| sent.is_ok()),
            _ => Poll::Ready(false),
        })
    }

    fn receive(&mut self, buffer: &mut [u8]) -> impl Future<Output = usize> {
        poll_fn(|context| {
            self.0
                .poll_recv_from(buffer, context)
                .map(|heard| heard.map_or(0, |(length, _)| length))
        })
    }
}

/// Tells the probe when the network comes and goes. *Cancellation*: safe; the probe believes what
/// it was told last.
pub async fn keep_online<B: Board>(stack: Stack<'static>, probe: &Probe<'_, B>) -> ! {
    loop {
        stack.wait_config_up().await;
        let address = stack
            .config_v4()
            .map_or([0; 4], |config| config.address.address().octets());
        probe.board().log(&Event::Up { address });
        probe.set_online(true);
        embassy_futures::select::select(stack.wait_config_down(), stack.wait_link_down()).await;
        probe.set_online(false);
        probe.board().log(&Event::Down);
        stack.wait_link_up().await;
    }
}

/// Connections that are open or being opened.
static OPEN: Mutex<CriticalSectionRawMutex, Cell<u32>> = Mutex::new(Cell::new(0));
static OPENED: Signal<CriticalSectionRawMutex, ()> = Signal::new();

/// Is a connection open, or being opened?
pub fn is_busy() -> bool {
    OPEN.lock(Cell::get) > 0
}

/// Completes once a connection is being opened; at once if one was since the last call. For one
/// task only.
///
/// *Cancellation*: safe.
pub async fn opened() {
    OPENED.wait().await;
}

/// What one slot needs: put an array of them in a `ConstStaticCell`.
#[derive(Debug)]
pub struct SlotMemory {
    buffers: Buffers,
    window: [u8; WINDOW],
}

impl SlotMemory {
    /// Memory that no slot has used yet.
    pub const NEW: Self = Self {
        buffers: Buffers::NEW,
        window: [0; WINDOW],
    };

    /// Makes a slot of it, whose connections `wrap` may put something around, such as TLS.
    pub fn on<C>(
        &'static mut self,
        stack: Stack<'static>,
        wrap: impl FnOnce(Connector) -> C,
    ) -> Slot<'static, C, Names> {
        Slot {
            connect: wrap(Connector::new(stack, &mut self.buffers)),
            resolve: Names(stack),
            buffer: &mut self.window,
        }
    }
}

/// Buffers of one connection: by default of one over which pages are fetched.
#[derive(Debug)]
pub struct Buffers<const IN: usize = RECEIVE, const OUT: usize = SEND> {
    receive: [u8; IN],
    send: [u8; OUT],
}

impl<const IN: usize, const OUT: usize> Buffers<IN, OUT> {
    /// Buffers that no connection has used yet.
    pub const NEW: Self = Self {
        receive: [0; IN],
        send: [0; OUT],
    };
}

/// Opens connections, one at a time.
///
/// *Cancellation*: an attempt that is dropped frees its socket.
pub struct Connector {
    stack: Stack<'static>,
    receive: &'static mut [u8],
    send: &'static mut [u8],
}

impl Connector {
    /// Opens them on this stack, in these buffers.
    pub fn new<const IN: usize, const OUT: usize>(
        stack: Stack<'static>,
        buffers: &'static mut Buffers<IN, OUT>,
    ) -> Self {
        Self::with_room(stack, &mut buffers.receive, &mut buffers.send)
    }

    /// Opens them on this stack, with so much room for what waits to be read and to be sent.
    pub fn with_room(
        stack: Stack<'static>,
        receive: &'static mut [u8],
        send: &'static mut [u8],
    ) -> Self {
        Self {
            stack,
            receive,
            send,
        }
    }
}

impl Connect for Connector {
    type Error = tcp::ConnectError;
    type Connection<'c> = Socket<'c>;

    /// embassy-net is built without IPv6, see Cargo.toml.
    fn reaches(&self, address: IpAddr) -> bool {
        address.is_ipv4()
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Socket<'_>, tcp::ConnectError> {
        let socket = TcpSocket::new(self.stack, self.receive, self.send);
        let mut socket = Socket::new(socket);
        socket.0.set_timeout(Some(SILENCE));
        let IpAddr::V4(address) = to.address else {
            return Err(tcp::ConnectError::NoRoute);
        };
        socket.0.connect((address, to.port)).await?;
        Ok(socket)
    }
}

/// An open connection.
///
/// *Cancellation*: a read or write that is dropped has moved no bytes; what becomes of a connection
/// that is dropped before it has finished, the peer has to find out by itself.
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
        // What has been written goes out by itself; waiting until it is acknowledged would cost a
        // round trip.
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

/// Asks the network's name server. *Cancellation*: the query that is dropped is cancelled.
#[derive(Clone, Copy)]
pub struct Names(pub Stack<'static>);

impl Resolve for Names {
    type Error = embassy_net::dns::Error;

    async fn resolve(&mut self, name: &str) -> Result<Addresses, embassy_net::dns::Error> {
        let found = self.0.dns_query(name, DnsQueryType::A).await?;
        Ok(found
            .into_iter()
            .map(|IpAddress::Ipv4(address)| IpAddr::V4(address))
            .take(4)
            .collect())
    }
}

/// A hardware address for a chip without one: locally administered, and made of the number that the
/// chip was made with.
pub fn own_address(serial: u64) -> [u8; 6] {
    // Serial numbers count: whichever bytes of them differ, all of the address does (splitmix64's
    // finaliser).
    let mixed = (serial ^ serial >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    let [first, b, c, d, e, f, ..] = (mixed ^ mixed >> 31).to_be_bytes();
    // Bit 1: local; bit 0: a group, which this is not.
    [first & !1 | 2, b, c, d, e, f]
}
