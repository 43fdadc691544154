//! What URLs are known by in tables: 32 bits of keyed SipHash-1-3.

use core::hash::{Hash as _, Hasher as _};

use siphasher::sip::SipHasher13;

use super::Url;

impl Url<'_> {
    /// The same for URLs that are equal by meaning. Under a key that others do not have, nobody can
    /// make up a URL that is taken for another.
    pub fn keyed_digest(&self, key: &[u8; 16]) -> u32 {
        let mut hasher = SipHasher13::new_with_key(key);
        self.hash(&mut hasher);
        hasher.finish() as u32
    }

    /// The same for a part of what this URL's server has, by its port, its name in either case, and
    /// the part's own name.
    #[cfg(feature = "discover")]
    pub(crate) fn keyed_digest_of_part(&self, key: &[u8; 16], part: &str, mark: bool) -> u32 {
        let mut hasher = SipHasher13::new_with_key(key);
        hasher.write_u16(self.port());
        for byte in self.name_bytes() {
            hasher.write_u8(byte.to_ascii_lowercase());
        }
        // A host has no slash: no two hosts and parts read the same.
        hasher.write_u8(b'/');
        hasher.write(part.as_bytes());
        hasher.write_u8(mark.into());
        hasher.finish() as u32
    }
}
