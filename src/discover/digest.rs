//! What URLs are known by: 32 bits of keyed SipHash-1-3.

use crate::fetch::Url;
use crate::math::crc32;

/// The same for URLs that are equal by meaning; never 0. With a key of the device's own, so that
/// nobody can make a URL that is taken for another. Among 6,000 URLs one of a million newcomers is
/// taken for one that is known, and is not looked at.
pub fn digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    url.keyed_digest(key).max(1)
}

/// What the directory that a URL is in is counted by: what stands before its last slash. A checksum
/// is enough for that: who makes two of them collide harms none but himself.
pub fn directory_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let target = url.path_and_query();
    let path = target.split('?').next().unwrap_or(target);
    let directory = path.rfind('/').and_then(|end| path.get(..=end));
    part_digest(url, key, directory.unwrap_or("/"), "")
}

/// The same for the part of a host that a URL is in: the first directory of its path, and whether it
/// has a query. Traps have parts of their own, as a rule.
pub fn branch_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let target = url.path_and_query();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let below = path.strip_prefix('/').unwrap_or(path);
    let first = below.split_once('/').map_or("", |(first, _)| first);
    part_digest(url, key, first, if query.is_empty() { "" } else { "?" })
}

#[inline(never)] // Once for both.
fn part_digest(url: &Url<'_>, key: &[u8; 16], part: &str, mark: &str) -> u32 {
    let port = url.port().to_le_bytes();
    let parts = [
        key.as_slice(),
        &port,
        url.host_text().as_bytes(),
        part.as_bytes(),
        mark.as_bytes(),
    ];
    crc32(&parts).max(1)
}
