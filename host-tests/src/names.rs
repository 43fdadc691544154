//! A look-up by the boards' own network stack, answered by whatever bytes a name server sends.

use std::net::Ipv4Addr;

use smoltcp::iface::{Config, Interface, SocketSet, SocketStorage};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::dns::{GetQueryResultError, Socket};
use smoltcp::time::Instant;
use smoltcp::wire::{DnsQueryType, HardwareAddress, IpAddress, IpCidr};

const OURS: [u8; 4] = [10, 0, 2, 15];
const SERVER: [u8; 4] = [10, 0, 2, 2];
/// Bytes of an IPv4 header without options, and of a UDP header.
const IPV4: usize = 20;
const UDP: usize = 8;

/// Asks for the address of `name` as a board does, and gives the query's server `reply` to say. Its
/// first two bytes become the query's own, or nothing would be read of it.
///
/// The addresses, or `None` if the query goes on or has failed.
pub fn look_up(name: &str, reply: &[u8]) -> Option<Vec<Ipv4Addr>> {
    let mut wire = Wire::default();
    let now = Instant::from_secs(1);
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut wire, now);
    interface.update_ip_addrs(|all| {
        // There is room for one.
        let _ = all.push(IpCidr::new(IpAddress::Ipv4(OURS.into()), 24));
    });
    let mut storage = [SocketStorage::EMPTY];
    let mut sockets = SocketSet::new(&mut storage[..]);
    let mut queries = [None];
    let servers = [IpAddress::Ipv4(SERVER.into())];
    let handle = sockets.add(Socket::new(&servers, &mut queries[..]));
    let socket = sockets.get_mut::<Socket<'_>>(handle);
    let query = socket
        .start_query(interface.context(), name, DnsQueryType::A)
        .ok()?;
    interface.poll(now, &mut wire, &mut sockets);
    let asked = wire.sent.pop()?;
    wire.inbox = Some(answer(&asked, reply)?);
    interface.poll(now, &mut wire, &mut sockets);
    let socket = sockets.get_mut::<Socket<'_>>(handle);
    match socket.get_query_result(query) {
        Ok(found) => Some(
            found
                .into_iter()
                .map(|IpAddress::Ipv4(address)| address)
                .collect(),
        ),
        Err(GetQueryResultError::Pending | GetQueryResultError::Failed) => None,
    }
}

/// The packet that brings a reply to the query in this packet.
fn answer(asked: &[u8], reply: &[u8]) -> Option<Vec<u8>> {
    let port = asked.get(IPV4..IPV4 + 2)?;
    let id = asked.get(IPV4 + UDP..IPV4 + UDP + 2)?;
    let length = (IPV4 + UDP + reply.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(SERVER);
    packet.extend(OURS);
    packet.extend([0, 53]);
    packet.extend(port);
    packet.extend((length - IPV4 as u16).to_be_bytes());
    // No checksums: the device says that it has looked at them.
    packet.extend([0, 0]);
    packet.extend(reply);
    let start = packet.get_mut(IPV4 + UDP..)?;
    start.iter_mut().zip(id).for_each(|(to, from)| *to = *from);
    Some(packet)
}

/// A cable between the stack and us.
#[derive(Default)]
struct Wire {
    sent: Vec<Vec<u8>>,
    inbox: Option<Vec<u8>>,
}

struct Received(Vec<u8>);

struct Sent<'w>(&'w mut Vec<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        Some((Received(self.inbox.take()?), Sent(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1_500;
        capabilities.checksum = smoltcp::phy::ChecksumCapabilities::ignored();
        capabilities
    }
}
