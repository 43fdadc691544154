//! What URLs are known by: 32 bits of HalfSipHash-1-3 under the device's key.

use crate::fetch::ascii::find;
use crate::fetch::{Url, keyed_digest_of_directory};

/// The same for URLs that are equal by meaning; never 0. With a key of the device's own, so that
/// nobody can make a URL that is taken for another. Among 6,000 URLs one of a million newcomers is
/// taken for one that is known, and is not looked at.
pub fn digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    url.keyed_digest(key).max(1)
}

/// What the directory that a URL is in is counted by: what stands before its last slash, on the
/// host of this number. Under the same key: who made his directory collide with another host's would
/// fill that one's count, and none of its pages would be looked at.
pub fn directory_digest(url: &Url<'_>, host: u16, key: &[u8; 16]) -> u32 {
    let (path, _) = url.split_target();
    let end = path.iter().rposition(|byte| *byte == b'/');
    let directory = end.and_then(|end| path.get(..end));
    keyed_digest_of_directory(host, directory.unwrap_or_default(), key).max(1)
}

/// What the part of a host that a URL is in is counted by: the first directory of its path, and
/// whether it has a query. Traps have parts of their own, as a rule.
pub fn branch_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let (first, has_query) = part_of(url).unwrap_or_default();
    url.keyed_digest_of_part(key, first, has_query).max(1)
}

/// The first directory of a URL's path and whether it has a query; `None` at the top of a host.
#[inline(never)] // Once for all callers.
pub(crate) fn part_of<'u>(url: &Url<'u>) -> Option<(&'u [u8], bool)> {
    let (path, query) = url.split_target();
    let has_query = !query.is_empty();
    let below = path.strip_prefix(b"/").unwrap_or(path);
    let first = find(below, b'/').and_then(|end| below.get(..end));
    let first = first.unwrap_or_default();
    (has_query || !first.is_empty()).then_some((first, has_query))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(url: &str, host: u16, key: &[u8; 16]) -> u32 {
        directory_digest(&Url::parse(url).expect("a URL"), host, key)
    }

    #[test]
    fn nobody_makes_up_a_directory_that_is_counted_as_another_hosts() {
        // Under a checksum, these two were the same whatever the key.
        let victim = "http://victim.test/news/2026/";
        for key in [[0; 16], [7; 16], *b"a key of its own"] {
            let evil = directory("http://evil.test/og-bjfaaaaa/", 0, &key);
            assert_ne!(evil, directory(victim, 1, &key), "{key:?}");
            assert_ne!(directory(victim, 0, &key), directory(victim, 1, &key));
            assert_eq!(
                directory(victim, 1, &key),
                directory("HTTP://Victim.test/news/2026/x", 1, &key)
            );
        }
        assert_ne!(
            directory(victim, 1, &[0; 16]),
            directory(victim, 1, &[7; 16])
        );
    }
}
