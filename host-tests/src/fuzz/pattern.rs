//! The matcher of robots rules against one that is too simple to be wrong.

use dunlin::fetch::Url;
use dunlin::fetch::robots::{Judge, Reason, Rule, RuleSink as _};

/// A pattern, and behind the first line end a path: compared by the judge, in one go and a few
/// steps at a time, and by an oracle that keeps every place where the pattern may be.
pub fn pattern(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let pattern = lines.next().unwrap_or_default();
    let path = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let text = match path.strip_prefix('/') {
        Some(path) => format!("http://a/{path}"),
        None => format!("http://a?{path}"),
    };
    let Ok(url) = Url::parse(&text) else {
        return;
    };
    if pattern.is_empty() || pattern.len() > 500 {
        return;
    }
    let rule = Rule {
        allow: false,
        pattern,
        cut: false,
        line: 1,
    };
    let compare = |each: u32| {
        let mut judge = Judge::new(url);
        let mut turns = 0_usize;
        while !judge.rule(&rule, &mut each.clone()) {
            turns += 1;
            let most = 16 * (pattern.len() + text.len()) / each as usize + 1;
            assert!(turns <= most, "{turns} turns of {each} steps");
        }
        judge.ruling()
    };
    let ruling = compare(u32::MAX);
    assert_eq!(ruling, compare(7));
    let target = url.path_and_query();
    if ruling.reason == Reason::RobotsTxt {
        return;
    }
    if ruling.reason == Reason::Overflow {
        // Trying one star at every place takes no more than the product of both lengths.
        let longer = target.len().max(pattern.len());
        let shorter = target.len().min(pattern.len());
        assert!(shorter > 16, "given up after {shorter} × {longer} bytes");
    } else {
        let expected = oracle(pattern, target.as_bytes());
        assert_eq!(!ruling.allowed, expected, "{text}");
    }
}

/// An octet, and whether it has to be written behind a `%`.
type Octet = (u8, bool);

/// The octets that a text means.
fn meant(text: &[u8]) -> Vec<Octet> {
    let hex = |at: usize| {
        let digits = std::str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
        let digits = digits
            .bytes()
            .all(|digit| digit.is_ascii_hexdigit())
            .then_some(digits)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let mut octets = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let escaped = hex(at).filter(|_| *byte == b'%');
        octets.push(match escaped {
            Some(octet) => {
                at += 2;
                let plain = octet.is_ascii_alphanumeric() || b"-._~".contains(&octet);
                (octet, !plain)
            }
            None => {
                let legal = byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(byte);
                (*byte, !legal)
            }
        });
        at += 1;
    }
    octets
}

/// Does a pattern match a path and query? By all places where it may be at once.
fn oracle(pattern: &[u8], target: &[u8]) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut target = meant(target);
    if target.first() != Some(&(b'/', false)) {
        target.insert(0, (b'/', false));
    }
    let query = target.iter().position(|octet| *octet == (b'?', false));
    let fits = |pattern: Octet, at: usize| {
        let Some((octet, escaped)) = target.get(at).copied() else {
            return false;
        };
        if query.is_some_and(|query| at > query) && b":/?[]@!'(),;".contains(&octet) {
            return pattern.0 == octet;
        }
        // Both mean themselves in a URL, however they are written, and in a pattern behind a `%`.
        let escaped = escaped || b"*$".contains(&octet);
        let special = pattern.0 == b'$';
        (pattern.0, pattern.1 || special) == (octet, escaped)
    };
    let mut places = vec![false; target.len() + 1];
    places[0] = true;
    for octet in meant(pattern) {
        let mut next = vec![false; target.len() + 1];
        if octet == (b'*', false) {
            let first = places.iter().position(|place| *place);
            first.into_iter().for_each(|first| next[first..].fill(true));
        } else {
            (0..target.len()).for_each(|at| next[at + 1] = places[at] && fits(octet, at));
        }
        places = next;
    }
    if anchored {
        places[target.len()]
    } else {
        places.contains(&true)
    }
}
