//! Whom the owner trusts beyond the public certificate authorities, in sections of their own.

use super::{Image, Tag};

/// Bytes of a pin: SHA-256 of a public key.
const PIN: usize = 32;

impl<'a> Image<'a> {
    /// A certificate of the owner's own certificate authorities, in DER. Work: those before it.
    pub fn authority(&self, index: usize) -> Option<&'a [u8]> {
        let mut rest = self.section(Tag::AUTHORITIES)?;
        for _ in 0..index {
            (_, rest) = certificate(rest)?;
        }
        certificate(rest).map(|(certificate, _)| certificate)
    }

    /// SHA-256 of the public key that a host of this name must have, if the owner says so. Work:
    /// all pins.
    pub fn pin(&self, host: &str) -> Option<[u8; PIN]> {
        let mut rest = self.section(Tag::PINS)?;
        while let Some((&length, after)) = rest.split_first() {
            let (name, after) = after.split_at_checked(length.into())?;
            let (pin, after) = after.split_first_chunk()?;
            if name.eq_ignore_ascii_case(host.as_bytes()) {
                return Some(*pin);
            }
            rest = after;
        }
        None
    }

    /// Is this a host of the list, whatever its port? Work: the hosts.
    pub fn lists(&self, name: &str) -> bool {
        let is_it = |host: &str| {
            let end = host.rfind(':').filter(|end| {
                let port = host.get(end + 1..).unwrap_or_default();
                !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit())
            });
            let host = host.get(..end.unwrap_or(host.len())).unwrap_or_default();
            let host = host.strip_prefix('[').unwrap_or(host);
            let host = host.strip_suffix(']').unwrap_or(host);
            host.eq_ignore_ascii_case(name)
        };
        (0..self.hosts()).any(|index| self.host(index).is_ok_and(|host| is_it(host.name)))
    }
}

/// The DER element that these bytes begin with, and what follows it.
fn certificate(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, length) = match *bytes {
        [_, length, ..] if length < 0x80 => (2, length.into()),
        [_, 0x81, length, ..] => (3, length.into()),
        [_, 0x82, high, low, ..] => (4, u16::from_be_bytes([high, low])),
        _ => return None,
    };
    bytes.split_at_checked(header + usize::from(length))
}
