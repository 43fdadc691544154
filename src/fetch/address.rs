//! Which addresses a stranger may send us to: a redirect must not steer a probe into its own
//! network.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::percent::hex_digit;

/// Is this an address on the open Internet?
///
/// No for loopback, private, link-local, shared, multicast, reserved and documentation ranges (RFC
/// 6890 and its registries), and for IPv6 forms that carry such an IPv4 address. Ask it about the
/// *resolved* address: any name can point anywhere.
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
    let embedded =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // IPv4-mapped, and NAT64's well-known prefix: whoever they embed.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            embedded(high, low)
        }
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

/// An address as it stands in a URL: IPv6 in brackets or without.
pub(crate) fn literal(text: &str) -> Option<IpAddr> {
    let bytes = text.as_bytes();
    let inner = bytes
        .strip_prefix(b"[")
        .and_then(|rest| rest.strip_suffix(b"]"))
        .unwrap_or(bytes);
    parse_ipv4(inner)
        .map(IpAddr::from)
        .or_else(|| parse_ipv6(inner).map(IpAddr::from))
}

/// `127.0.0.1`: four decimal numbers without leading zeros. A third of the flash that core's parser
/// takes.
pub(super) fn parse_ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split(|byte| *byte == b'.');
    for octet in &mut octets {
        let digits = parts.next()?;
        if digits.is_empty() || digits.len() > 1 && digits.starts_with(b"0") {
            return None;
        }
        for digit in digits {
            let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
            *octet = octet.checked_mul(10)?.checked_add(digit)?;
        }
    }
    parts.next().is_none().then(|| octets.into())
}

/// `2001:db8::1`, without brackets and zone (RFC 4291 §2.2; an IPv4 tail is read, too).
pub(super) fn parse_ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    let gap = text.windows(2).position(|pair| pair == b"::");
    let (before, after) = match gap {
        Some(at) => (text.get(..at)?, text.get(at + 2..)?),
        None => (text, &[][..]),
    };
    let mut head = [0_u16; 8];
    let mut tail = [0_u16; 8];
    // An IPv4 tail can only stand at the very end.
    let first = groups(before, &mut head, gap.is_none())?;
    let last = groups(after, &mut tail, true)?;
    match gap {
        None if first == 8 => {}
        Some(_) if first + last < 8 => {
            for (to, from) in head.iter_mut().rev().zip(tail.iter().take(last).rev()) {
                *to = *from;
            }
        }
        _ => return None,
    }
    Some(head.into())
}

/// Reads groups of hex digits between colons, and perhaps an IPv4 address behind them; returns how
/// many.
fn groups(text: &[u8], out: &mut [u16; 8], ends: bool) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    let mut count = 0;
    let mut parts = text.split(|byte| *byte == b':').peekable();
    while let Some(part) = parts.next() {
        if ends && parts.peek().is_none() && part.contains(&b'.') {
            let [a, b, c, d] = parse_ipv4(part)?.octets();
            *out.get_mut(count)? = u16::from_be_bytes([a, b]);
            *out.get_mut(count + 1)? = u16::from_be_bytes([c, d]);
            return Some(count + 2);
        }
        if part.is_empty() || part.len() > 4 {
            return None;
        }
        let group = part.iter().try_fold(0, |group, digit| {
            Some(group << 4 | u16::from(hex_digit(*digit)?))
        });
        *out.get_mut(count)? = group?;
        count += 1;
    }
    Some(count)
}
