//! Fuzz targets for everything that reads what strangers send, and a mutator for every test run.
//!
//! Each target takes any bytes and panics if a promise is broken: no panic inside, no endless loop,
//! the same result however the input is split. `host-tests/fuzz` runs the same targets under
//! libFuzzer: `cargo xtask fuzz` runs them, guided by coverage, and so does the long mode of `cargo
//! xtask test`. What it finds is kept in `host-tests/fuzz/corpus`, and is where the mutator here
//! starts.

mod messages;
mod pattern;
mod stored;
mod words;

pub use messages::{fleet, push};
pub use pattern::pattern;
pub use stored::{image, state};

use std::path::Path;

use dunlin::fetch::robots::{Judge, RobotsReader, Rules};
use dunlin::fetch::{Fingerprinter, HttpDate, Ignore, Limits, Method, Url};
use dunlin_suite::bench::Random;

use crate::fetch::read;

/// A function that has to take any bytes.
pub type Target = fn(&[u8]);

/// All targets, with words their inputs are made of.
pub const TARGETS: &[(&str, Target, &[&str])] = &[
    ("response", response, words::RESPONSE),
    ("robots", robots, words::ROBOTS),
    ("pattern", pattern, words::PATTERN),
    ("url", url, words::URL),
    ("date", date, words::DATE),
    ("image", image, words::IMAGE),
    ("state", state, words::STATE),
    ("names", names, words::NAMES),
    ("links", crate::discover::links, words::LINKS),
    ("sitemap", crate::discover::sitemap, words::SITEMAP),
    ("feed", crate::discover::sitemap, words::FEED),
    ("push", push, words::PUSH),
    ("fleet", fleet, words::FLEET),
];

/// Cuts `data` into pieces whose sizes depend on its content alone, so that a failure can be
/// repeated.
pub(crate) fn pieces(data: &[u8]) -> Vec<&[u8]> {
    let mut random = Random(data.iter().fold(7, |seed, byte| {
        seed.wrapping_mul(31).wrapping_add(u64::from(*byte))
    }));
    let mut rest = data;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(1 + random.below(40) as usize));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A response, under usual and under tight limits, answering GET and HEAD.
pub fn response(data: &[u8]) {
    const TIGHT: Limits = {
        let mut limits = Limits::DEFAULT.with_body_bytes(40);
        limits.head_bytes = 300;
        limits.fields = 5;
        limits.interim = 1;
        limits.extension_bytes = 6;
        limits
    };
    for (method, limits) in [
        (Method::Get, Limits::DEFAULT),
        (Method::Get, TIGHT),
        (Method::Head, TIGHT),
    ] {
        let whole = format!("{:?}", read([data], method, limits));
        assert_eq!(format!("{:?}", read(data.chunks(1), method, limits)), whole);
        assert_eq!(format!("{:?}", read(pieces(data), method, limits)), whole);
        if let Ok(read) = read([data], method, limits) {
            assert!(
                read.body.len() <= limits.body_bytes as usize
                    && read.body.len() + read.left <= data.len()
            );
            assert!((200..1000).contains(&read.head.status));
        }
    }
    let ignore = [
        Ignore {
            from: b"aab",
            to: b"ab",
        },
        Ignore {
            from: b"<",
            to: b">",
        },
    ];
    let fingerprint = |pieces: &[&[u8]]| {
        let mut hasher = Fingerprinter::new(&[3; 16], &ignore);
        pieces.iter().for_each(|piece| hasher.update(piece));
        hasher.finish()
    };
    let whole = fingerprint(&[data]);
    assert_eq!(whole, fingerprint(&pieces(data)));
    assert_eq!(whole, fingerprint(&data.chunks(1).collect::<Vec<_>>()));
}

/// A robots.txt, judged exactly, from rules that were kept, and from rules that did not all fit.
pub fn robots(data: &[u8]) {
    let path: String = data
        .iter()
        .filter(|byte| byte.is_ascii_graphic())
        .take(20)
        .map(|byte| *byte as char)
        .collect();
    for target in [
        format!("http://a/{path}"),
        "http://a/".into(),
        "http://a/a/b?c=/d%2F".into(),
    ] {
        let Ok(url) = Url::parse(&target) else {
            continue;
        };
        let decide = |pieces: &[&[u8]]| {
            let mut judge = RobotsReader::new("dunlin", Judge::new(url));
            let mut kept = RobotsReader::new("dunlin", Rules::new(vec![0; 1 << 16]));
            let mut short = RobotsReader::new("dunlin", Rules::new([0; 24]));
            for piece in pieces {
                judge.update(piece);
                kept.update(piece);
                short.update(piece);
            }
            let (judge, delay) = judge.finish();
            let (kept, _) = kept.finish();
            let (short, _) = short.finish();
            let allowed = judge.ruling().allowed;
            assert_eq!(allowed, kept.decide(&url).allowed);
            assert!(
                allowed || !short.decide(&url).allowed,
                "a short budget allowed what is disallowed"
            );
            (allowed, judge.ruling().reason, delay)
        };
        let whole = decide(&[data]);
        assert_eq!(whole, decide(&pieces(data)));
        assert_eq!(whole, decide(&data.chunks(1).collect::<Vec<_>>()));
    }
}

/// What a name server sends to a board: whatever it is, the addresses that come of it stand in it.
pub fn names(data: &[u8]) {
    let found = crate::names::look_up("a.test", data).unwrap_or_default();
    for address in found {
        let octets = address.octets();
        let stands = data.windows(4).any(|four| four == octets);
        assert!(stands, "{address} is made up");
    }
}

/// A URL, and a reference joined with it: the two are divided by the first line end.
pub fn url(data: &[u8]) {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    let base = std::str::from_utf8(first)
        .ok()
        .and_then(|text| Url::parse(text).ok());
    if let Some(url) = base {
        let printed = url.to_string();
        // Encoding makes a URL up to three times longer, perhaps too long to be read back.
        if let Ok(again) = Url::parse(&printed) {
            assert!(url == again && url.digest() == again.digest() && again.to_string() == printed);
        } else {
            assert!(printed.len() > Url::MAX_LENGTH);
        }
    }
    let base = base.unwrap_or(Url::parse("http://a/b/c/d;p?q").expect("RFC 3986's own"));
    for size in [40, Url::MAX_LENGTH] {
        let mut buffer = vec![0; size];
        let mut again = vec![0; size];
        if let Ok(joined) = base.join(second, &mut buffer) {
            let text = joined.to_string();
            let path = joined
                .path_and_query()
                .split('?')
                .next()
                .unwrap_or_default();
            assert!(
                !path
                    .split('/')
                    .any(|segment| segment == "." || segment == ".."),
                "{text}"
            );
            // Printed, an empty path becomes a slash: perhaps one byte too many.
            if text.len() <= size {
                assert_eq!(
                    base.join(text.as_bytes(), &mut again)
                        .map(|url| url.to_string()),
                    Ok(text)
                );
            }
        }
    }
}

/// A date: what was read is written and read again; what is one of HTTP is the same by the reader
/// of any date, which heads have, and in a head that comes byte by byte.
pub fn date(data: &[u8]) {
    let parsed = HttpDate::parse(data);
    let spelled = HttpDate::parse_any(data);
    for date in parsed.into_iter().chain(spelled) {
        assert_eq!(HttpDate::parse(&date.format()), Some(date));
        assert_eq!(HttpDate::parse_any(&date.format()), Some(date));
    }
    // What HTTP lets pass without reading it has to be a weekday.
    let mut words = data.trim_ascii().split(|byte| matches!(byte, b',' | b' '));
    let begins_well = words
        .next()
        .is_some_and(|word| word.len() > 2 && word.iter().all(u8::is_ascii_alphabetic));
    if parsed.is_some() && begins_well {
        assert_eq!(spelled, parsed);
    }
    let line = data
        .iter()
        .all(|byte| *byte == b'\t' || !byte.is_ascii_control())
        && data.len() < 80;
    if line {
        let head = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLast-Modified: ",
            data,
            b"\r\n\r\n",
        ]
        .concat();
        let read = read(head.chunks(1), Method::Get, Limits::DEFAULT).expect("a head of our own");
        let modified = read.head.last_modified;
        // Without a time of day, a number is no year there.
        assert!(modified.is_none() || modified == spelled);
        if parsed.is_some() {
            assert_eq!(modified, spelled);
        }
    }
}

/// Runs a target on its corpus and on so many mutations of it.
///
/// # Panics
/// If the target does, after printing the input; if the corpus cannot be read.
pub fn run(name: &str, target: Target, words: &[&str], seed: u64, count: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder entry").path())
        .collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("a corpus file"))
        .collect();
    assert!(!corpus.is_empty(), "{} is empty", folder.display());
    corpus.iter().for_each(|input| attempt(target, input));
    let mut random = Random(seed);
    for _ in 0..count {
        let mut input = corpus[random.below(corpus.len() as u32) as usize].clone();
        for _ in 0..=random.below(5) {
            mutate(&mut input, &corpus, words, &mut random);
        }
        attempt(target, &input);
    }
}

fn attempt(target: Target, input: &[u8]) {
    if let Err(panic) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("this input fails: b\"{}\"", input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

/// One change, of the kinds that break parsers.
fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let mut below = |limit: usize| random.below(limit.max(1) as u32) as usize;
    let at = below(input.len() + 1);
    let end = below(input.len() + 1);
    let from = at.min(end);
    let to = at.max(end);
    match below(7) {
        0 if at < input.len() => input[at] ^= 1 << below(8),
        1 if at < input.len() => input[at] = b"\0\t\n\r ,:;/%.09afAF\x7f\x80\xff"[below(20)],
        2 => drop(input.splice(at..at, words[below(words.len())].bytes())),
        3 => drop(input.drain(from..to)),
        4 => {
            let copy = input[from..to.min(from + 200)].to_vec();
            input.splice(at..at, copy);
        }
        5 => {
            let other = &corpus[below(corpus.len())];
            let start = below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[start..]);
        }
        _ => input.truncate(at),
    }
    input.truncate(8_192);
}
