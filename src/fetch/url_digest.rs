//! What URLs are known by in tables: 32 bits of HalfSipHash-1-3, which is SipHash in words as a
//! small core has them (Aumasson and Bernstein; it keys hash tables of Linux on such cores). The
//! crate that hashes all else, `siphasher`, has it in words of 64 bits only.

use core::net::IpAddr;

use super::percent::{ILLEGAL, PERCENT};
use super::{Url, UrlHost};

impl Url<'_> {
    /// The same for URLs that are equal by meaning. Under a key that others do not have, nobody can
    /// make up a URL that is taken for another.
    pub fn keyed_digest(&self, key: &[u8; 16]) -> u32 {
        ServerDigest::new(self, key).of(self)
    }

    /// The same for a part of what this URL's server has, by the part's own name.
    pub(crate) fn keyed_digest_of_part(&self, key: &[u8; 16], part: &[u8], mark: bool) -> u32 {
        let mut hasher = HalfSipHasher::of_server(self, key, 2 + u8::from(mark));
        hasher.take(b"/");
        hasher.take(part);
        hasher.finish()
    }
}

/// What the digests of all URLs of one server begin with.
#[derive(Clone, Debug)]
pub(crate) struct ServerDigest(HalfSipHasher);

impl ServerDigest {
    /// Of the server that a URL is on, by its scheme.
    pub(crate) fn new(url: &Url<'_>, key: &[u8; 16]) -> Self {
        Self(HalfSipHasher::of_server(url, key, url.scheme() as u8))
    }

    /// The digest of a URL of that server.
    pub(crate) fn of(&self, url: &Url<'_>) -> u32 {
        let mut hasher = self.0.clone();
        let canonical = url.canonical();
        if !canonical.slash && url.kinds() & (ILLEGAL | PERCENT) == 0 {
            hasher.take(canonical.text);
            return hasher.finish();
        }
        for octet in canonical {
            // What is not encoded is ASCII: no two targets read the same.
            let [low, high] = octet.to_le_bytes();
            hasher.take(if high > 0 { &[0xff] } else { &[] });
            hasher.take(&[low]);
        }
        hasher.finish()
    }
}

/// What a directory is known by on the host of this number.
pub(crate) fn keyed_digest_of_directory(host: u16, directory: &[u8], key: &[u8; 16]) -> u32 {
    let mut hasher = HalfSipHasher::new(key);
    let [low, high] = host.to_le_bytes();
    hasher.take(&[low, high, 4, 0]);
    hasher.take(directory);
    hasher.finish()
}

/// Takes bytes in any pieces.
#[derive(Clone, Debug)]
struct HalfSipHasher {
    state: [u32; 4],
    /// Bytes that wait for the rest of their word, as the highest of it.
    tail: u32,
    length: usize,
}

impl HalfSipHasher {
    /// Under the first half of a key.
    fn new(key: &[u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *key;
        let first = u32::from_le_bytes([a, b, c, d]);
        let second = u32::from_le_bytes([e, f, g, h]);
        Self {
            state: [first, second, first ^ 0x6c79_6765, second ^ 0x7465_6462],
            tail: 0,
            length: 0,
        }
    }

    /// Begins with what is hashed of a URL, and who serves it: its port, and its name in lower case
    /// or its address. What follows begins with a slash, which no name holds: no two read the same.
    #[inline(never)] // Once for both.
    fn of_server(url: &Url<'_>, key: &[u8; 16], kind: u8) -> Self {
        let mut hasher = Self::new(key);
        let [low, high] = url.port().to_le_bytes();
        let address = match url.host() {
            UrlHost::Name(_) => None,
            UrlHost::Address(IpAddr::V4(address)) => Some(address.to_ipv6_mapped()),
            UrlHost::Address(IpAddr::V6(address)) => Some(address),
        };
        hasher.take(&[low, high, kind, address.is_some().into()]);
        match address {
            Some(address) => hasher.take(&address.octets()),
            None => {
                let letters = url.name_bytes().iter().map(u8::to_ascii_lowercase);
                letters.for_each(|letter| hasher.take(&[letter]));
            }
        }
        // To the end of a word, from where on it is faster.
        let rest = hasher.length.wrapping_neg() % 4;
        hasher.take([0; 3].get(..rest).unwrap_or_default());
        hasher
    }

    #[inline(never)] // Once for all parts of a URL.
    fn take(&mut self, bytes: &[u8]) {
        let before = self.length.wrapping_neg() % 4;
        let (before, rest) = bytes.split_at_checked(before).unwrap_or((bytes, &[]));
        before.iter().for_each(|byte| self.push(*byte));
        let (words, rest) = rest.as_chunks();
        for word in words {
            self.absorb(u32::from_le_bytes(*word));
        }
        self.length += 4 * words.len();
        rest.iter().for_each(|byte| self.push(*byte));
    }

    fn push(&mut self, byte: u8) {
        self.tail = self.tail >> 8 | u32::from(byte) << 24;
        self.length += 1;
        if self.length.is_multiple_of(4) {
            self.absorb(self.tail);
        }
    }

    fn absorb(&mut self, word: u32) {
        self.state[3] ^= word;
        self.round();
        self.state[0] ^= word;
    }

    #[inline(always)]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        a = a.wrapping_add(b);
        b = b.rotate_left(5) ^ a;
        a = a.rotate_left(16);
        c = c.wrapping_add(d);
        d = d.rotate_left(8) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(7) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(13) ^ c;
        c = c.rotate_left(16);
        self.state = [a, b, c, d];
    }

    fn finish(mut self) -> u32 {
        // The bytes that are left, and in the highest one their number.
        let left = 8 * (self.length % 4) as u32;
        let rest = self.tail.unbounded_shr(32 - left);
        self.absorb((self.length as u32) << 24 | rest);
        self.state[2] ^= 0xff;
        (0..3).for_each(|_| self.round());
        self.state[1] ^ self.state[3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in `lib/tests/siphash_kunit.c` of Linux, for cores of 32 bits.
    #[test]
    fn hashes_are_those_that_are_published() {
        let key: [u8; 16] = core::array::from_fn(|at| at as u8);
        let expected: [u32; 18] = [
            0x5814_c896,
            0xe7e8_64ca,
            0xbc4b_0e30,
            0x0153_9939,
            0x7e05_9ea6,
            0x88e3_d89b,
            0xa008_0b65,
            0x9d38_d9d6,
            0x5779_99b1,
            0xc839_caed,
            0xe4fa_32cf,
            0x9592_46ee,
            0x6b28_096c,
            0x66dd_9cd6,
            0x1665_8a7c,
            0xd025_7b04,
            0x8b31_d501,
            0x2b1c_d04b,
        ];
        let bytes: [u8; 18] = core::array::from_fn(|at| at as u8);
        for (length, expected) in expected.into_iter().enumerate() {
            for cut in 0..=length {
                let mut hasher = HalfSipHasher::new(&key);
                hasher.take(&bytes[..cut]);
                hasher.take(&bytes[cut..length]);
                assert_eq!(hasher.finish(), expected, "{length} bytes, cut at {cut}");
            }
        }
    }
}
