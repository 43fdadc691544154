//! Fuzz targets for everything that reads what strangers send, and a mutator for every test run.
//!
//! Each target takes any bytes and panics if a promise is broken: no panic inside, no endless loop,
//! the same result however the input is split. `host-tests/fuzz` runs the same targets under
//! libFuzzer: `cargo xtask fuzz` runs them, guided by coverage, and so does the long mode of `cargo
//! xtask test`. What it finds is kept in `host-tests/fuzz/corpus`, and is where the mutator here
//! starts.

use std::cell::Cell;
use std::path::Path;
use std::task::{Context, Poll, Waker};

use dunlin::fetch::robots::{Judge, Reader, Reason, Rule, RuleSink as _, Rules};
use dunlin::fetch::{Fingerprinter, HttpDate, Ignore, Limits, Method, Url};
use dunlin::image::Image;
use dunlin::store::{Key, Ledger, NOWHERE, RECORD, Record, Root, Stamp, Step, Store};
use dunlin::time::Instant;
use dunlin_suite::bench::Random;
use sequential_storage::cache::Cache;
use sequential_storage::queue::{QueueConfig, QueueStorage};

use crate::fetch::read;
use crate::flash::Flash;

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// All targets, with words their inputs are made of.
pub const TARGETS: &[(&str, Target, &[&str])] = &[
    ("response", response, RESPONSE_WORDS),
    ("robots", robots, ROBOTS_WORDS),
    ("pattern", pattern, PATTERN_WORDS),
    ("url", url, URL_WORDS),
    ("date", date, DATE_WORDS),
    ("image", image, IMAGE_WORDS),
    ("state", state, STATE_WORDS),
    ("names", names, NAMES_WORDS),
];

const RESPONSE_WORDS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 304 N\r\n",
    "\r\n",
    "\n",
    "\r",
    ": ",
    ", ",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "gzip",
    "Connection: close\r\n",
    "Location: ",
    "ETag: \"",
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
    "Retry-After: ",
    "Cache-Control: max-age=",
    "Expires: 0\r\n",
    " ",
    "\t",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "ffffffffffffffff",
    "18446744073709551615",
    ";a=b",
    "\0",
];
const ROBOTS_WORDS: &[&str] = &[
    "User-agent: *\n",
    "User-agent: dunlin\n",
    "Disallow: /",
    "Allow: /",
    "Crawl-delay: ",
    "Sitemap: ",
    "*",
    "$",
    "#",
    "\n",
    "\r\n",
    "\r",
    "%2F",
    "%41",
    "\u{feff}",
    "/a",
    "/b",
    "?",
    ":",
    " ",
];
const PATTERN_WORDS: &[&str] = &[
    "\n", "/", "*", "$", "a", "aa", "b", "aaaaaaaa", "*a", "%2F", "%2f", "%41", "%24", "%2A", "%",
    "?", ":", "ä", "%c3%a4", "x=", "/a/b",
];
const URL_WORDS: &[&str] = &[
    "http://",
    "https://",
    "a",
    "example.org",
    ":80",
    ":",
    "/",
    "//",
    ".",
    "..",
    "../",
    "?",
    "#",
    "%2e",
    "%",
    "@",
    "[::1]",
    "[",
    "]",
    "127.0.0.1",
    "\\",
    " ",
    "ä",
    "\n",
];
const DATE_WORDS: &[&str] = &[
    "Sun, ",
    "06 Nov 1994",
    "08:49:37",
    " GMT",
    "Sunday, ",
    "06-Nov-94",
    "Sun Nov  6 ",
    "1994",
    "29 Feb 2000",
    ":60",
    " ",
    "9999",
    "1970",
    "0",
    "-",
];

const IMAGE_WORDS: &[&str] = &[
    "dnln",
    "CONF",
    "NAME",
    "HOST",
    "PAGE",
    "IGNO",
    "note",
    "http://a.test/",
    "a.test",
    "\0\0\0\0",
    "\u{1}\0\0\0",
    "\u{7f}\u{7f}",
    "*",
];
const STATE_WORDS: &[&str] = &[
    "\0\0\0\0",
    "\u{1}",
    "\u{2}",
    "\u{3}",
    "\u{7f}",
    "T\0",
    "http://a.test/",
];

/// Cuts `data` into pieces whose sizes depend on its content alone, so that a failure can be
/// repeated.
fn pieces(data: &[u8]) -> Vec<&[u8]> {
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
    const TIGHT: Limits = Limits {
        head_bytes: 300,
        fields: 5,
        interim: 1,
        extension_bytes: 6,
        body_bytes: 40,
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
            let mut judge = Reader::new("dunlin", Judge::new(url));
            let mut kept = Reader::new("dunlin", Rules::new(vec![0; 1 << 16]));
            let mut short = Reader::new("dunlin", Rules::new([0; 24]));
            for piece in pieces {
                judge.update(piece);
                kept.update(piece);
                short.update(piece);
            }
            let ((judge, delay), (kept, _), (short, _)) =
                (judge.finish(), kept.finish(), short.finish());
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

/// What replies of name servers are made of.
const NAMES_WORDS: &[&str] = &[
    "\0\0\u{1}\0",
    "\u{1}a\u{4}test\0\0\u{1}\0\u{1}",
    "\0\u{5}\0\u{1}\0\0\0\u{9}",
    "\0\u{4}",
    "\u{9}localhost\0",
];

/// What a name server sends to a board: whatever it is, the addresses that come of it stand in it.
pub fn names(data: &[u8]) {
    let found = crate::names::look_up("a.test", data).unwrap_or_default();
    for address in found {
        let octets = address.octets();
        let stands = data.windows(4).any(|four| four == octets);
        assert!(stands, "{address} is made up");
    }
}

/// A pattern, and behind the first line end a path: compared by the judge, in one go and a few steps
/// at a time, and by an oracle that keeps every place where the pattern may be.
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
        let (longer, shorter) = (
            target.len().max(pattern.len()),
            target.len().min(pattern.len()),
        );
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

/// A date: what was read is written and read again, and means the same in a head that comes byte by
/// byte.
pub fn date(data: &[u8]) {
    let parsed = HttpDate::parse(data);
    if let Some(date) = parsed {
        assert_eq!(HttpDate::parse(&date.format()), Some(date));
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
        assert_eq!(read.head.last_modified, parsed);
    }
}

/// A page image, with the length and the checksum that somebody would give it who wants to deceive
/// the reader: it is refused, or whatever it says can be read and refers to what is there.
pub fn image(data: &[u8]) {
    let _ = Image::parse(data);
    if data.len() < 20 {
        return;
    }
    let mut bytes = data.to_vec();
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(b"dnln");
    bytes[12..16].copy_from_slice(&length.to_le_bytes());
    let crc = crc32(bytes[4..12].iter().chain(&bytes[20..]));
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    let Ok(image) = Image::parse(&bytes) else {
        return;
    };
    image.config().expect("a configuration that was checked");
    for index in 0..image.hosts() {
        let host = image.host(index).expect("a host that was checked");
        let end = usize::from(host.first_page) + usize::from(host.pages);
        assert!(end <= image.pages() && usize::from(host.gate) < image.hosts());
    }
    for index in 0..image.pages() {
        let page = image.page(index).expect("a page that was checked");
        assert!(usize::from(page.host) < image.hosts() && page.weight > 0.0);
        // They may be refused, but not more.
        let _ = image.limits(index);
        let _ = image.law(index);
    }
    assert!(image.host(image.hosts()).is_err() && image.page(image.pages()).is_err());
    assert!(image.ignores().len() <= Ignore::MOST);
    let _ = image.named("a.test");
}

/// The checksum of an image, bit by bit.
fn crc32<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 0 { 0 } else { 0xedb8_8320 };
        }
    }
    !crc
}

/// Sectors of the flash that [`state`] fills.
type SmallFlash = Flash<4, 1024, 4>;

/// A probe's flash of these bytes, or with items of these bytes whose checksums are right: whatever
/// is in it, it can be opened, what is stored on top of it is found again, and records that are read
/// mean the same when they are written.
pub fn state(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let mut flash = SmallFlash::blank();
    if kind.is_multiple_of(2) {
        flash
            .bytes_mut()
            .iter_mut()
            .zip(data)
            .for_each(|(to, from)| *to = *from);
    } else {
        let config = const { QueueConfig::new(0..1024) };
        let mut queue = QueueStorage::new(flash, config, Cache::new_uncached());
        for item in data.chunks(RECORD).take(8) {
            let mut bytes = [0; RECORD];
            bytes[..item.len()].copy_from_slice(item);
            // Numbers that no device comes to would leave none for what it writes next.
            bytes[4] &= 0x7f;
            if ready(queue.push(&bytes, false)).is_err() {
                break;
            }
        }
        flash = queue.destroy().0;
    }
    let mut store = Store::new(flash);
    let mut records = 0;
    let found = ready(store.open(|record, sector| {
        assert!(usize::from(sector) < 4);
        if let Record::Move(record) = record {
            // Whatever it says, it is a text of this length at most, or none.
            let _ = record.target::<64>("http://a.test/some/path");
        }
        records += 1;
    }));
    let found = found.expect("a flash that can be read");
    assert_eq!(found.records, records);
    let books = OneRecord(Cell::new(false), Cell::new(NOWHERE));
    for _ in 0..4 {
        match ready(store.step(&books, true, Instant::MAX)) {
            Ok(Step::Idle) => break,
            // A sector that is worn costs a try.
            Ok(Step::Wrote) | Err(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(books.0.get(), "nothing can be stored on top of it");
    let mut roots = Vec::new();
    let mut again = Store::new(store.flash().switched_on());
    ready(again.open(|record, _| {
        if let Record::Root(root) = record {
            roots.push(*root);
        }
    }))
    .expect("a flash that can be read");
    assert!(roots.contains(&ROOT), "what was stored is not there");
    let forged = !kind.is_multiple_of(2);
    assert!(
        !forged || roots.last() == Some(&ROOT),
        "what was stored last does not count: {roots:?}"
    );
}

const ROOT: Root = Root {
    device: 1,
    list: 2,
    firm: true,
    time: Stamp::new(4, true),
    price: 1.0,
};

/// Whether the one record is saved, and where.
struct OneRecord(Cell<bool>, Cell<u8>);

impl Ledger for OneRecord {
    fn unsaved(&self) -> Option<Key> {
        (!self.0.get()).then_some(Key::Root)
    }

    fn any_in(&self, sector: u8) -> Option<Key> {
        (self.1.get() == sector).then_some(Key::Root)
    }

    fn count_in(&self, sector: u8) -> usize {
        usize::from(self.1.get() == sector)
    }

    fn read(&self, _: Key) -> Record {
        self.0.set(true);
        Record::Root(ROOT)
    }

    fn saved(&self, _: Key, sector: u8) {
        self.1.set(sector);
        if sector == NOWHERE {
            self.0.set(false);
        }
    }
}

/// What a future comes to that waits for nothing.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a flash in RAM has nothing to wait for"),
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
