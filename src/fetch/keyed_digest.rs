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
}
