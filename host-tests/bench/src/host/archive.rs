//! The collection: how fast bodies are kept, and how fast one version of a million is found.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

use dunlin_host::archive::cdxj::Entry;
use dunlin_host::archive::exchange::Exchange;
use dunlin_host::archive::index::{Index, IndexWriter};
use dunlin_host::archive::{Archive, Settings};
use dunlin_host::collect::{frames, server};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Row, grouped, peak_bytes, seconds};

/// Bodies, and bytes of each.
const BODIES: usize = 96;
const BYTES: usize = 1 << 20;
/// Versions in the index.
const RECORDS: usize = 1_000_000;
/// Look-ups that are timed together.
const LOOKUPS: usize = 1_000;
/// Turns of the compressor alone and of keeping with it, of which the best ones count.
const TURNS: usize = 3;
/// What keeping has to reach of the compressor's own speed: it computes digests besides, and writes,
/// at 240 to 330 MB/s, which beside a compressor of 27 to 35 MB/s is a tenth. Measured: 0.88 on a
/// computer that was busy otherwise, 0.93 and 0.999 on calmer ones.
const OF_COMPRESSOR: f64 = 0.85;

/// A folder of our own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dunlin-bench-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Look-ups, and ingest with and without compression.
pub fn rows(rows: &mut Vec<Row>) {
    // First of all: memory that somebody else has used and left would not count.
    look_up(rows);
    let bodies: Vec<Vec<u8>> = (0..BODIES).map(body).collect();
    let megabytes = (BODIES * BYTES) as f64 / 1e6;
    let mut row = |what: &str, time: f64, other, limit: &str| {
        rows.push(Row {
            room: "archive",
            what: format!("{what}, {BODIES} bodies of 1 MiB"),
            ours: megabytes / time,
            unit: "MB/s",
            other,
            limit: limit.into(),
            grows: None,
        });
    };
    row("keep, not compressed", ingest(&bodies, 0), None, ">= 100");
    let collected = collected(&bodies);
    let by_clock = Some(("by the clock", megabytes / collected.clock_s));
    row(
        "collect over loopback, not compressed, its sender's work included",
        collected.processor_s,
        by_clock,
        ">= 100",
    );
    let mut alone = f64::INFINITY;
    let mut time = f64::INFINITY;
    // In turns: a computer that is busy for a while is so for both.
    for _ in 0..TURNS {
        alone = alone.min(compress(&bodies));
        time = time.min(ingest(&bodies, 6));
    }
    let other = Some(("the compressor alone", megabytes / alone));
    let limit = format!(">= {:.1}", OF_COMPRESSOR * megabytes / alone);
    row("keep, compressed as a rule", time, other, &limit);
    rows.push(Row {
        room: "archive",
        what: "keep, compressed as a rule, beside the compressor alone".into(),
        ours: alone / time,
        unit: "times",
        other: None,
        limit: format!(">= {OF_COMPRESSOR}"),
        grows: None,
    });
}

/// Each body as it was fetched.
fn exchanges(bodies: &[Vec<u8>]) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (place, body) in bodies.iter().enumerate() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        exchanges.push(Exchange {
            url: format!("http://example.org/{place}"),
            address: None,
            time: 1_794_000_000,
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: [head.as_bytes(), body].concat(),
        });
    }
    exchanges
}

/// Seconds that the compressor takes for all bodies.
fn compress(bodies: &[Vec<u8>]) -> f64 {
    seconds(1, || {
        let mut bytes = 0;
        for body in bodies {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
            let _ = encoder.write_all(body);
            bytes += encoder.finish().map_or(0, |packed| packed.len());
        }
        bytes
    })
}

/// What deliveries take, one after the other.
struct Collected {
    /// Seconds of one processor, of all threads together: the collector's, and this one, which
    /// sends.
    processor_s: f64,
    /// Seconds by the clock, whatever else this computer did.
    clock_s: f64,
}

/// Delivers all bodies to a collector over loopback.
fn collected(bodies: &[Vec<u8>]) -> Collected {
    let folder = Folder::new("collected");
    let settings = Settings {
        compression: 0,
        ..Settings::default()
    };
    let archive = Archive::open(&folder.0, settings).expect("an archive");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let started = server::start(address, archive, None, Box::new(|_| ()));
    let (address, _) = started.expect("a port on loopback");
    let delivery = |exchange: &Exchange| {
        let frames = frames::write(exchange);
        let length = frames.len();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n",
            server::PATH
        );
        [head.as_bytes(), &frames].concat()
    };
    let deliveries: Vec<Vec<u8>> = exchanges(bodies).iter().map(delivery).collect();
    let deliver = |delivery: &Vec<u8>| {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(delivery)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let start = Instant::now();
    let before = process_time();
    for delivery in &deliveries {
        let answer = deliver(delivery).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let clock_s = start.elapsed().as_secs_f64();
    let processor_s = process_time()
        .zip(before)
        .map_or(clock_s, |(after, before)| after - before);
    Collected {
        processor_s,
        clock_s,
    }
}

/// Seconds that all threads of this process have run so far, where the system tells: to a
/// hundredth, as Linux has it.
fn process_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold spaces. Ticks of the process and of the kernel for it are
    // the twelfth and the thirteenth field behind it.
    let (_, fields) = text.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11);
    let mut next = || ticks.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

/// Seconds that keeping all bodies takes.
fn ingest(bodies: &[Vec<u8>], compression: u32) -> f64 {
    let folder = Folder::new("ingest");
    let settings = Settings {
        compression,
        ..Settings::default()
    };
    let exchanges = exchanges(bodies);
    seconds(1, || {
        let archive = Archive::open(&folder.0, settings);
        let kept = archive.ok().map_or(0, |mut archive| {
            let kept = exchanges.iter().filter_map(|one| archive.keep(one).ok());
            kept.count()
        });
        assert_eq!(kept, bodies.len(), "bodies were kept");
    })
}

/// Text as pages have it: words that repeat, and some that do not.
fn body(seed: usize) -> Vec<u8> {
    let words = [
        "<p>",
        "the ",
        "collection ",
        "of ",
        "pages ",
        "is ",
        "fresh",
        "</p>\n",
    ];
    let mut body = Vec::with_capacity(BYTES + 16);
    let mut state = seed as u64 + 1;
    while body.len() < BYTES {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        match state >> 61 {
            7 => body.extend(format!("{:x} ", state >> 32).bytes()),
            word => body.extend(words[word as usize].bytes()),
        }
    }
    body.truncate(BYTES);
    body
}

fn entry(place: usize) -> Entry {
    Entry {
        time: 1_794_000_000 + (place % 4) as u64,
        url: url(place / 4),
        media_type: "text/html".into(),
        status: Some(200),
        digest: "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".into(),
        file: "dunlin-00001-20261117045008.warc.gz".into(),
        offset: place as u64 * 5_000,
        length: 4_321,
    }
}

fn url(page: usize) -> String {
    format!(
        "http://host{}.example.org/section/page{page}.html",
        page % 997
    )
}

/// Indexes a million versions of a quarter of a million pages, and finds some.
fn look_up(rows: &mut Vec<Row>) {
    let folder = Folder::new("index");
    let mut written = None;
    let indexing = peak_bytes(|| written = write_index(&folder.0));
    // A row that is missing would pass unseen.
    assert!(written.is_some(), "the index cannot be written");
    let mut found = 0;
    let mut search = || -> Option<f64> {
        let index = Index::open(&folder.0).ok()?;
        let pages = RECORDS / 4;
        Some(seconds(1, || {
            for place in 0..LOOKUPS {
                let page = place.wrapping_mul(7_919) % pages;
                found += index.versions(&url(page), 100).map_or(0, |all| all.len());
            }
        }))
    };
    let mut time = None;
    let memory = peak_bytes(|| time = search());
    assert_eq!(found, 4 * LOOKUPS, "versions were found");
    let time = time.unwrap_or(f64::INFINITY);
    let what = format!("{} records indexed", grouped(RECORDS));
    rows.push(Row {
        room: "archive",
        what: format!("find a page's versions, {what}"),
        ours: time * 1e3 / LOOKUPS as f64,
        unit: "ms",
        other: None,
        limit: "<= 10".into(),
        grows: None,
    });
    for (of, memory) in [("to find them", memory), ("to index them", indexing)] {
        // Here, too, a row that is missing would pass unseen.
        let memory = memory.expect("Linux says how much memory is used");
        rows.push(Row {
            room: "archive",
            what: format!("memory {of}, {} records", grouped(RECORDS)),
            ours: memory / 1e6,
            unit: "MB",
            other: None,
            limit: "<= 200".into(),
            grows: None,
        });
    }
}

fn write_index(folder: &Path) -> Option<()> {
    std::fs::create_dir_all(folder).ok()?;
    let mut writer = IndexWriter::open(folder).ok()?;
    for place in 0..RECORDS {
        writer.add(entry(place)).ok()?;
        if place % 65_536 == 65_535 && writer.should_fold() {
            writer.fold().ok()?;
        }
    }
    writer.fold().ok()
}
