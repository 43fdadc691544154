//! What pages, hosts and servers of time are known by: SipHash-1-3 under a key of the device's own.

use siphasher::sip::SipHasher13;

/// What nobody without the key can tell. Not once for every caller: it takes 900 bytes.
#[inline(never)]
pub(crate) fn keyed_hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    SipHasher13::new_with_key(key).hash(bytes)
}
