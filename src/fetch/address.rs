//! Which addresses a stranger may send us to: a redirect must not steer a probe into its own network.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Is this an address on the open Internet?
///
/// No for loopback, private, link-local, shared, multicast, reserved and documentation ranges (RFC 6890 and its
/// registries), and for IPv6 forms that carry such an IPv4 address. Ask it about the *resolved* address: any
/// name can point anywhere.
///
/// ```
/// use dunlin::fetch::is_public;
///
/// assert!(is_public("93.184.215.14".parse()?));
/// assert!(!is_public("192.168.1.1".parse()?));
/// assert!(!is_public("::ffff:127.0.0.1".parse()?));
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [224..=255, ..]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // IPv4-mapped, and NAT64's well-known prefix: whoever they embed.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo and other protocol assignments, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] => false,
        // Documentation, again (RFC 9637).
        [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is handed out; ::, ::1, fc00::/7, fe80::/10 and ff00::/8 all lie outside.
        [first, ..] => first >> 13 == 1,
    }
}
