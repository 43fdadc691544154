//! What URLs, pages and hosts are known by in tables: SipHash-1-3 under a key of the device's own.

use siphasher::sip::SipHasher13;

/// What nobody without the key can tell. Not once for every caller: it takes 900 bytes.
#[inline(never)]
pub(crate) fn keyed_hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    SipHasher13::new_with_key(key).hash(bytes)
}

#[cfg(feature = "discover")]
mod of_urls {
    use core::net::IpAddr;

    use super::keyed_hash;
    use crate::fetch::percent::ENCODED;
    use crate::fetch::{Url, UrlHost};

    impl Url<'_> {
        /// The same for URLs that are equal by meaning. Under a key that others do not have, nobody
        /// can make up a URL that is taken for another.
        pub fn keyed_digest(&self, key: &[u8; 16]) -> u32 {
            let mut text = HashedText::of_server(self, key);
            text.push(self.scheme() as u8);
            for octet in self.canonical() {
                // What is not encoded is ASCII: no two targets read the same.
                if octet & ENCODED != 0 {
                    text.push(0xff);
                }
                text.push(octet as u8);
            }
            text.finish()
        }

        /// The same for a part of what this URL's server has, by the part's own name.
        pub(crate) fn keyed_digest_of_part(&self, key: &[u8; 16], part: &str, mark: bool) -> u32 {
            let mut text = HashedText::of_server(self, key);
            text.push(2 + u8::from(mark));
            part.bytes().for_each(|byte| text.push(byte));
            text.finish()
        }
    }

    /// Text that is hashed at once, or in stretches if it is long: each begins with the hash of
    /// those before it.
    struct HashedText<'k> {
        key: &'k [u8; 16],
        bytes: [u8; 96],
        length: usize,
    }

    impl<'k> HashedText<'k> {
        /// Begins with who serves a URL: its port, and its name in lower case or its address. What
        /// follows begins with a byte that no name holds, and no two servers read the same.
        #[inline(never)] // Once for both.
        fn of_server(url: &Url<'_>, key: &'k [u8; 16]) -> Self {
            let mut text = Self {
                key,
                bytes: [0; 96],
                length: 0,
            };
            text.push(url.port() as u8);
            text.push((url.port() >> 8) as u8);
            let address = match url.host() {
                UrlHost::Name(_) => None,
                UrlHost::Address(IpAddr::V4(address)) => Some(address.to_ipv6_mapped()),
                UrlHost::Address(IpAddr::V6(address)) => Some(address),
            };
            match address {
                Some(address) => {
                    text.push(0);
                    address.octets().iter().for_each(|byte| text.push(*byte));
                }
                None => {
                    let name = url.name_bytes().iter();
                    name.for_each(|byte| text.push(byte.to_ascii_lowercase()));
                }
            }
            text
        }

        fn push(&mut self, byte: u8) {
            if self.length == self.bytes.len() {
                self.fold();
            }
            if let Some(slot) = self.bytes.get_mut(self.length) {
                *slot = byte;
                self.length += 1;
            }
        }

        /// What there is so far becomes its hash.
        #[inline(never)] // Seldom: of long URLs only.
        fn fold(&mut self) {
            let hash = self.hash().to_le_bytes();
            let start = self.bytes.iter_mut().zip(hash);
            start.for_each(|(byte, of_hash)| *byte = of_hash);
            self.length = hash.len();
        }

        fn hash(&self) -> u64 {
            keyed_hash(self.key, self.bytes.get(..self.length).unwrap_or_default())
        }

        fn finish(&self) -> u32 {
            self.hash() as u32
        }
    }
}
