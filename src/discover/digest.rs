//! What URLs are known by: 32 bits of keyed SipHash-1-3.

use core::hash::{Hash as _, Hasher as _};

use siphasher::sip::SipHasher13;

use crate::fetch::Url;

/// The same for URLs that are equal by meaning; never 0. With a key of the device's own, so that
/// nobody can make a URL that is taken for another. Among 6,000 URLs one of a million newcomers is
/// taken for one that is known, and is not looked at.
pub fn digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let mut hasher = SipHasher13::new_with_key(key);
    url.hash(&mut hasher);
    nonzero(hasher.finish())
}

/// The same for the directory that a URL is in: what stands before its last slash.
pub fn directory_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let target = url.path_and_query();
    let path = target.split('?').next().unwrap_or(target);
    let directory = path.rfind('/').and_then(|end| path.get(..=end));
    let mut hasher = SipHasher13::new_with_key(key);
    hasher.write_u16(url.port());
    for byte in url.host_text().bytes() {
        hasher.write_u8(byte.to_ascii_lowercase());
    }
    hasher.write(directory.unwrap_or("/").as_bytes());
    nonzero(hasher.finish())
}

fn nonzero(hash: u64) -> u32 {
    (hash as u32).max(1)
}
