//! The log over the network: a monitor that connects to the device reads what the serial line says.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dunlin::probe::LoggedBoardEvent;
use dunlin_host::monitor::firmware::Firmware;
use dunlin_host::monitor::names::Names;
use dunlin_host::monitor::source::Source;
use dunlin_host::monitor::state::MonitoredProbe;
use dunlin_host::monitor::stream_reader::{ReadSetting, StreamReader};
use dunlin_tools::firmware::{self, budgets};
use dunlin_tools::qemu::crawl::Crawl;
use dunlin_tools::qemu::list::{LOOPBACK, listing};
use dunlin_tools::qemu::page_image::Options;
use dunlin_tools::web::{Answer, Web};

use crate::trace;

/// The image, as host-tests/budgets.toml has it.
const IMAGE: &str = "qemu-mps2+tcp-log";
/// The port that the device listens at.
const PORT: u16 = 19021;
const SECONDS: u32 = 14;
/// How long each of the two readers stays.
const READS: Duration = Duration::from_secs(4);
/// How long QEMU may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);
const GAP: Duration = Duration::from_millis(300);

/// Two monitors, one after the other: what they read are lines of the serial log, in its order and
/// without a hole, and the first one finds what was said before it came.
pub fn monitors_read_it(_: &Path) -> Result<()> {
    let elf = firmware::build_image(false, &budgets::image(IMAGE)?)?;
    let web = Web::start(|hit| Answer::version(hit, 0))?;
    let pages = [("a.test", "/1"), ("a.test", "/2"), ("b.test", "/")];
    let listing = listing(web.port(), &pages, GAP);
    let options = Options {
        resolve: vec![("*".into(), LOOPBACK)],
        ..Options::default()
    };
    let here = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let crawl = Crawl {
        forward: Some((here, PORT)),
        ..Crawl::new(&elf, &listing, &options, SECONDS)
    };
    let mut serial = Vec::new();
    let read = thread::scope(|scope| {
        let readers = scope.spawn(|| -> Result<Vec<Vec<String>>> {
            Ok(vec![read(&elf, here)?, read(&elf, here)?])
        });
        let report = crawl.run(|line| {
            trace(line);
            serial.push(line.message.clone());
        });
        let read = readers
            .join()
            .map_err(|_| anyhow::anyhow!("a reader panicked"));
        report.and(read?)
    })?;
    for (number, lines) in read.iter().enumerate() {
        let count = lines.len();
        ensure!(count > 5, "reader {number} got {count} lines");
        ensure!(
            serial.windows(count).any(|part| part == lines),
            "reader {number} got lines that the serial log has not: {lines:?}"
        );
    }
    ensure!(
        read[0][0].starts_with("dunlin on qemu-mps2"),
        "the first reader does not know whom it listens to: {}",
        read[0][0]
    );
    ensure!(read[0] != read[1], "both got the same");
    let power = |line: &String| match LoggedBoardEvent::read(line) {
        Some(LoggedBoardEvent::Power { awake_millis }) => Some(awake_millis),
        _ => None,
    };
    let awake = serial.iter().rev().find_map(power);
    let awake = Duration::from_millis(awake.context("the device does not say how long it slept")?);
    // 0.2 s for some 90 pages. A listener that kept itself awake took 13 of the 14 s.
    ensure!(
        awake < Duration::from_secs(SECONDS.into()) / 2,
        "the device was awake for {awake:?}"
    );
    Ok(())
}

/// What `dunlin monitor --log tcp:` reads in some seconds, line by line; none may be lost.
fn read(elf: &Path, port: u16) -> Result<Vec<String>> {
    let setting = ReadSetting {
        source: Source::parse(&format!("tcp:127.0.0.1:{port}")),
        firmware: Arc::new(Firmware::read(elf)?),
        other_builds: Vec::new(),
        record: None,
        baud: 0,
        speed: None,
        follow: false,
    };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let probe = Arc::new(Mutex::new(MonitoredProbe::new(
        "probe".into(),
        Arc::new(Names::default()),
    )));
    let stop = Arc::new(AtomicBool::new(false));
    let end = Instant::now() + PATIENCE;
    let reader = loop {
        let kept = Arc::clone(&lines);
        let listener = Box::new(move |_: &MonitoredProbe, line: &_| {
            let line: &dunlin_host::monitor::decode::Line = line;
            if let Ok(mut kept) = kept.lock() {
                kept.push(line.message.clone());
            }
        });
        let opened = StreamReader::open(
            setting.clone(),
            Arc::clone(&probe),
            Some(listener),
            Arc::clone(&stop),
        );
        match opened {
            Ok(reader) => break reader.spawn(),
            Err(why) => ensure!(Instant::now() < end, "no connection: {why}"),
        }
        thread::sleep(Duration::from_millis(100));
    };
    // QEMU takes connections before the device does, and ends them then; the reader tries again.
    while lines.lock().is_ok_and(|lines| lines.is_empty()) && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(READS);
    stop.store(true, Ordering::Relaxed);
    let _ = reader.join();
    let probe = probe.lock().ok().context("the reader panicked")?;
    let lines = lines.lock().ok().context("the reader panicked")?.clone();
    ensure!(
        probe.lost.frames == 0,
        "{} frames were lost",
        probe.lost.frames
    );
    Ok(lines)
}
