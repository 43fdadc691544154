//! End to end in QEMU: fetches a second beside a bare loop, and bytes on the wire for a page that
//! has not changed.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_tools::qemu::list::{self, LOOPBACK, listing};
use dunlin_tools::qemu::page_image::{self, ImageFile, Options};
use dunlin_tools::qemu::{self, Attached, Machine, Time, temporary};
use dunlin_tools::web::{Answer, Web};
use dunlin_tools::{firmware, setup};

use super::row::{Limit, Row};
use crate::throughput;

const SECONDS: u32 = 20;
const DEADLINE: Duration = Duration::from_secs(60);

/// All rows of the network.
pub fn rows(install: bool) -> Result<Vec<Row>> {
    let found = throughput::measure(install)?;
    let rates = found.rates();
    let instructions = found.instructions;
    let mut rows = vec![
        row(
            "fetches without politeness",
            rates.probe,
            "a second",
            ("a bare embassy-net loop", rates.bare),
            Limit::Least(throughput::LEAST * rates.bare),
        ),
        row(
            "the core's work for one of them",
            instructions.probe,
            "instructions",
            ("a bare embassy-net loop", instructions.bare),
            Limit::None,
        ),
    ];
    rows.extend(unchanged_pages(install)?);
    rows.push(Row {
        room: "end to end".into(),
        what: "QEMU while the probe waits, boot included".into(),
        ours: idle(install)?,
        unit: "% of a core of this computer".into(),
        other: None,
        limit: Limit::Most(20.0),
        place: None,
    });
    Ok(rows)
}

/// What an unchanged page takes on the wire.
pub fn unchanged_pages(install: bool) -> Result<[Row; 2]> {
    let same = unchanged(install, Sites::OnePageEach)?;
    let kept = unchanged(install, Sites::OneForAll)?;
    Ok([
        row(
            "an unchanged page, whole frames both ways",
            same.wire,
            "bytes",
            ("one frame for the request, one for the 304", same.least),
            Limit::Text("one conditional request and a 304".into()),
        ),
        row(
            "the same where the connection is kept",
            kept.wire,
            "bytes",
            ("one frame for the request, one for the 304", kept.least),
            Limit::Most(500.0),
        ),
    ])
}

fn row(what: &str, ours: f64, unit: &str, other: (&str, f64), limit: Limit) -> Row {
    Row {
        room: "end to end".into(),
        what: what.into(),
        ours,
        unit: unit.into(),
        other: Some((other.0.into(), other.1)),
        limit,
        place: None,
    }
}

/// Lets the probe wait for the turn of its only page, and returns the share of a core that QEMU
/// takes meanwhile.
fn idle(install: bool) -> Result<f64> {
    let elf = firmware::build(install, firmware::BOARD)?;
    let gone = listing(9, &[("site.test", "/")], Duration::from_secs(600));
    let (image, _) = page_image::build(&gone, &list::options())?;
    let image = ImageFile::write(&image, &elf)?;
    let arguments = [format!("seconds={SECONDS}")];
    let attached = Attached {
        image: Some((&image.path, image.address)),
        network: true,
        ..Attached::default()
    };
    let machine = Machine {
        elf: &elf,
        options: &arguments,
        time: Time::Real,
        deadline: DEADLINE,
        attached,
    };
    let before = children_seconds()?;
    qemu::run(machine, |_| ())?.success("the firmware", DEADLINE)?;
    Ok(100.0 * (children_seconds()? - before) / f64::from(SECONDS))
}

/// Processor time of all programs that were started here and have ended.
fn children_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat")
        .context("the system does not tell what programs take")?;
    // The program's name, in brackets, may hold spaces.
    let (_, fields) = text
        .rsplit_once(')')
        .context("/proc/self/stat names no program")?;
    let ticks = fields
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    // Linux counts a hundred of them a second, whatever its clock does.
    Ok(ticks.sum::<f64>() / 100.0)
}

/// Bytes for a page that has not changed.
struct Unchanged {
    /// All frames of its connection.
    wire: f64,
    /// The request and the answer as they were sent, in one frame each.
    least: f64,
}

/// Where the eight pages are that never change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sites {
    /// Each on a host of its own: the next request there is far away, so each has a connection.
    OnePageEach,
    /// On one host, which is asked twice a second: the connection is kept.
    OneForAll,
}

/// Lets the probe fetch pages that never change and reads the cable's record.
fn unchanged(install: bool, sites: Sites) -> Result<Unchanged> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    let web = Web::start(move |hit| {
        let answer = match hit.path.as_str() {
            "/robots.txt" => Answer::status(404, "X: none"),
            _ => Answer::version(hit, 1),
        };
        Answer {
            keep: sites == Sites::OneForAll,
            ..answer
        }
    })?;
    let pages: Vec<(String, String)> = (0..8)
        .map(|page| {
            let site = if sites == Sites::OneForAll { 0 } else { page };
            (format!("site{site}.test"), format!("/{page}"))
        })
        .collect();
    let pages: Vec<(&str, &str)> = pages
        .iter()
        .map(|(host, path)| (host.as_str(), path.as_str()))
        .collect();
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        ..list::options()
    };
    let (image, _) = page_image::build(
        &listing(web.port(), &pages, Duration::from_millis(500)),
        &options,
    )?;
    let image = ImageFile::write(&image, &elf)?;
    let record = temporary("pcap");
    let arguments = [format!("seconds={SECONDS}")];
    let attached = Attached {
        image: Some((&image.path, image.address)),
        network: true,
        frames: Some(&record),
        ..Attached::default()
    };
    let machine = Machine {
        elf: &elf,
        options: &arguments,
        time: Time::Real,
        deadline: DEADLINE,
        attached,
    };
    qemu::run(machine, |_| ())?.success("the firmware", DEADLINE)?;
    let bytes = fs::read(&record).context("QEMU kept no record of the cable");
    let _ = fs::remove_file(&record);
    summed(&bytes?)
}

/// Sums up connections from where the answers are 304 and nothing else.
fn summed(record: &[u8]) -> Result<Unchanged> {
    let mut connections: BTreeMap<u16, Connection> = BTreeMap::new();
    for frame in frames(record) {
        let Some(segment) = segment(frame) else {
            continue;
        };
        let connection = connections.entry(segment.guest_port).or_default();
        let has_other = [&b"HTTP/1.1 200 "[..], b"HTTP/1.1 404 "]
            .iter()
            .any(|status| count(segment.payload, status) > 0);
        if has_other {
            // A body, or a robots.txt that is not there: what came before does not count.
            *connection = Connection::default();
            continue;
        }
        connection.frames += frame.len();
        connection.payload += segment.payload.len();
        connection.unchanged += count(segment.payload, b"HTTP/1.1 304 ");
    }
    let all = || {
        connections
            .values()
            .filter(|connection| connection.unchanged > 0)
    };
    let answers: usize = all().map(|connection| connection.unchanged).sum();
    ensure!(answers > 0, "no page was found unchanged in {SECONDS} s");
    let mean = |of: fn(&Connection) -> usize| all().map(of).sum::<usize>() as f64 / answers as f64;
    let headers = (2 * HEADERS) as f64;
    Ok(Unchanged {
        wire: mean(|connection| connection.frames),
        least: mean(|connection| connection.payload) + headers,
    })
}

/// Ethernet, IPv4 and TCP without options.
const HEADERS: usize = 14 + 20 + 20;

#[derive(Default)]
struct Connection {
    frames: usize,
    payload: usize,
    unchanged: usize,
}

struct Segment<'a> {
    guest_port: u16,
    payload: &'a [u8],
}

/// The frames of a pcap file, which QEMU writes in this computer's byte order.
fn frames(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = record.get(24..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (head, after) = rest.split_at_checked(16)?;
        let length = u32::from_ne_bytes(*head.get(8..)?.first_chunk()?) as usize;
        let (frame, after) = after.split_at_checked(length)?;
        rest = after;
        Some(frame)
    })
}

/// The TCP segment in a frame.
fn segment(frame: &[u8]) -> Option<Segment<'_>> {
    const GUEST: &[u8] = &[10, 0, 2, 15];
    let packet = frame
        .get(14..)
        .filter(|_| frame.get(12..14) == Some(&[8, 0]))?;
    let length = usize::from(u16::from_be_bytes(*packet.get(2..)?.first_chunk()?));
    // Without what pads short frames.
    let packet = packet
        .get(..length)
        .filter(|packet| packet.get(9) == Some(&6))?;
    let tcp = packet.get(4 * usize::from(packet.first()? & 15)..)?;
    let from_guest = packet.get(12..16) == Some(GUEST);
    let port = tcp.get(if from_guest { 0..2 } else { 2..4 })?;
    Some(Segment {
        guest_port: u16::from_be_bytes(*port.first_chunk()?),
        payload: tcp.get(4 * usize::from(tcp.get(12)? >> 4)..)?,
    })
}

fn count(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len())
        .filter(|window| *window == part)
        .count()
}
