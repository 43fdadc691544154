//! What URLs are known by: 32 bits of keyed SipHash-1-3.

use crate::fetch::Url;

/// The same for URLs that are equal by meaning; never 0. With a key of the device's own, so that
/// nobody can make a URL that is taken for another. Among 6,000 URLs one of a million newcomers is
/// taken for one that is known, and is not looked at.
pub fn digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    url.keyed_digest(key).max(1)
}

/// What the directory that a URL is in is counted by: what stands before its last slash. Under the
/// same key: who made his directory collide with another host's would fill that one's count, and
/// none of its pages would be looked at.
pub fn directory_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let target = url.path_and_query();
    let path = target.split('?').next().unwrap_or(target);
    let directory = path.rfind('/').and_then(|end| path.get(..=end));
    part_digest(url, key, directory.unwrap_or("/"), false)
}

/// The same for the part of a host that a URL is in: the first directory of its path, and whether
/// it has a query. Traps have parts of their own, as a rule.
pub fn branch_digest(url: &Url<'_>, key: &[u8; 16]) -> u32 {
    let target = url.path_and_query();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let below = path.strip_prefix('/').unwrap_or(path);
    let first = below.split_once('/').map_or("", |(first, _)| first);
    part_digest(url, key, first, !query.is_empty())
}

#[inline(never)] // Once for both.
fn part_digest(url: &Url<'_>, key: &[u8; 16], part: &str, mark: bool) -> u32 {
    url.keyed_digest_of_part(key, part, mark).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(url: &str, key: &[u8; 16]) -> u32 {
        directory_digest(&Url::parse(url).expect("a URL"), key)
    }

    #[test]
    fn nobody_makes_up_a_directory_that_is_counted_as_another_hosts() {
        // Under a checksum, these two were the same whatever the key.
        let victim = "http://victim.test/news/2026/";
        for key in [[0; 16], [7; 16], *b"a key of its own"] {
            let evil = directory("http://evil.test/og-bjfaaaaa/", &key);
            assert_ne!(evil, directory(victim, &key), "{key:?}");
            assert_eq!(
                directory(victim, &key),
                directory("HTTP://Victim.test/news/2026/x", &key)
            );
        }
        assert_ne!(directory(victim, &[0; 16]), directory(victim, &[7; 16]));
    }
}
