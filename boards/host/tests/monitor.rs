//! `dunlin monitor` and `dunlin report` on a real record: half a minute of a probe in QEMU.

mod program;

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dunlin::probe::{LoggedBoardEvent, LoggedEvent};
use dunlin_host::monitor::decode::{Decoder, Level, Line, Trust};
use dunlin_host::monitor::firmware::Firmware;
use dunlin_host::monitor::names::Names;
use dunlin_host::monitor::state::MonitoredProbe;
use program::{dunlin, refuses, text};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../host-tests/data/monitor")
        .join(name)
}

fn path(name: &str) -> String {
    fixture(name).to_str().expect("a UTF-8 path").to_owned()
}

fn record() -> Vec<u8> {
    fs::read(fixture("probe.defmt")).expect("the record")
}

fn firmware() -> Arc<Firmware> {
    Arc::new(Firmware::read(&fixture("probe.elf")).expect("the log strings"))
}

/// The record begins with the boot banner; by here it has ended.
const BANNER: usize = 100;

fn decode(bytes: &[u8]) -> (Vec<Line>, Decoder) {
    let mut lines = Vec::new();
    let mut decoder = Decoder::new(firmware());
    // Cut anywhere, as streams are.
    for chunk in bytes.chunks(37) {
        decoder.feed(chunk, &mut |line| lines.push(line));
    }
    decoder.finish(&mut |line| lines.push(line));
    (lines, decoder)
}

fn good(lines: &[Line]) -> Vec<Line> {
    lines
        .iter()
        .filter(|line| line.level != Level::Lost)
        .cloned()
        .collect()
}

/// A folder of our own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("dunlin-monitor-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        Self(folder)
    }

    fn name(&self) -> &str {
        self.0
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a UTF-8 name")
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a UTF-8 path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_whole_record_decodes_and_agrees_with_the_probes_own_count() {
    let (lines, decoder) = decode(&record());
    assert_eq!((decoder.lost.frames, decoder.trust), (0, Trust::Confirmed));
    assert!(lines.len() > 200, "{}", lines.len());
    let mut probe = MonitoredProbe::new("probe".into(), Arc::new(Names::default()));
    let mut compared = 0;
    for line in lines {
        let totals = if let Some(LoggedEvent::Totals(totals)) = LoggedEvent::read(&line.message) {
            Some(totals)
        } else {
            None
        };
        probe.hear(line);
        if let Some(totals) = totals {
            let counts = &probe.counts;
            assert_eq!(
                [
                    counts.fetches,
                    counts.not_modified,
                    counts.changed + counts.first,
                    counts.all_errors(),
                    counts.denied
                ],
                [
                    totals.fetches,
                    totals.not_modified,
                    totals.changed,
                    totals.errors,
                    totals.denied
                ]
                .map(u64::from)
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "the probe never counted");
}

#[test]
fn every_line_of_the_record_is_of_the_tables_of_events() {
    let (lines, _) = decode(&record());
    for line in lines {
        let known = LoggedEvent::read(&line.message).is_some()
            || LoggedBoardEvent::read(&line.message).is_some();
        assert!(known, "{}", line.message);
    }
}

/// What a log says becomes a label: nothing in it may end the label, or begin a sample of its own.
#[test]
fn labels_of_metrics_are_escaped() {
    let name = "a\"} 1\\\nb";
    let probe = MonitoredProbe::new(name.into(), Arc::new(Names::default()));
    let text = dunlin_host::monitor::metrics::text([&probe].into_iter());
    let escaped = r#"{probe="a\"} 1\\\nb""#;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let count = samples
        .inspect(|line| assert!(line.contains(escaped), "{line}"))
        .count();
    assert!(count > 10, "{text}");
}

#[test]
fn a_stream_may_start_anywhere() {
    let whole = record();
    let (all, _) = decode(&whole);
    let mut start = 0;
    for cut in (0..whole.len()).step_by(7) {
        let frames_cut_off = whole[..cut].iter().filter(|byte| **byte == 0).count();
        let (lines, decoder) = decode(&whole[cut..]);
        let found = good(&lines);
        // Whatever was found is the end of what there is, and at most the cut frame is missing.
        assert!(
            all.ends_with(&found),
            "cut at {cut}: lines that were never written"
        );
        assert!(
            decoder.lost.frames <= 1,
            "cut at {cut}: {} frames lost",
            decoder.lost.frames
        );
        assert!(
            all.len() - found.len() <= frames_cut_off + 1,
            "cut at {cut}"
        );
        start = start.max(all.len() - found.len());
    }
    assert!(start > 100, "the cuts were all near the start");
}

#[test]
fn garbage_costs_no_more_than_what_it_touches() {
    let whole = record();
    let (all, _) = decode(&whole);
    let mut random = 12345_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for round in 0..60 {
        let mut damaged = whole.clone();
        let places = 1 + round % 5;
        for _ in 0..places {
            // Behind the banner: what that says is believed, and one flipped bit makes it another
            // firmware's.
            let at = BANNER + next(damaged.len() - BANNER);
            match next(3) {
                0 => {
                    let garbage: Vec<u8> = (0..next(60)).map(|_| next(256) as u8).collect();
                    damaged.splice(at..at, garbage);
                }
                1 => drop(damaged.drain(at..(at + next(40)).min(damaged.len() - 1).max(at))),
                _ => damaged[at] ^= 1 << next(8),
            }
        }
        let (lines, decoder) = decode(&damaged);
        let found = good(&lines);
        let known = found.iter().filter(|line| all.contains(line)).count();
        // One byte may turn one value of one line into another that is as likely: nothing can tell.
        assert!(
            found.len() - known <= places,
            "{} lines out of nowhere",
            found.len() - known
        );
        // 40 bytes lie in four frames at most, each place touches one more on either side.
        assert!(
            known + 6 * places >= all.len(),
            "{known} of {} lines left, {places} places",
            all.len()
        );
        assert!(
            decoder.lost.frames as usize <= 64 * places,
            "{:?}",
            decoder.lost
        );
    }
}

#[test]
fn endless_garbage_is_counted_in_bounded_memory() {
    let mut decoder = Decoder::new(firmware());
    let mut shown = 0;
    for _ in 0..1_000 {
        decoder.feed(&[0x5a; 4096], &mut |_| shown += 1);
    }
    decoder.feed(&[0], &mut |_| shown += 1);
    assert_eq!(
        (shown, decoder.lost.frames, decoder.lost.bytes),
        (1, 1, 4_096_001)
    );
    let record = record();
    let mut lines = Vec::new();
    decoder.feed(&record, &mut |line| lines.push(line));
    assert!(good(&lines).len() > 200, "it found back to the log");
}

#[test]
fn an_elf_of_another_build_is_named_as_the_reason() {
    let folder = Folder::new("mismatch");
    let mut elf = fs::read(fixture("probe.elf")).expect("the log strings");
    let id = firmware().build.expect("an identity").to_be_bytes();
    let at = elf
        .windows(8)
        .position(|window| window == id)
        .expect("the identity is in the file");
    elf[at] ^= 0xff;
    let other = folder.file("other.elf");
    fs::write(&other, elf).expect("written");
    let banner = format!(
        "the log comes from dunlin on qemu-mps2 {}, build",
        env!("CARGO_PKG_VERSION")
    );
    for arguments in [
        &["monitor", "--elf", &other, "--log", "-", "--plain"][..],
        &["monitor", "--elf", &other, "--log", "-", "--summary"],
        &[
            "report",
            "-",
            "--elf",
            &other,
            "--html",
            &folder.file("never.html"),
        ],
    ] {
        refuses(arguments, &record(), &banner);
    }
    assert!(!Path::new(&folder.file("never.html")).exists());
    // Without the banner, what cannot be decoded speaks for itself.
    let mut decoder = Decoder::new(firmware());
    let nonsense: Vec<u8> = (0..40_000_u32)
        .map(|n| ((n * n) >> 3) as u8 | u8::from(n % 19 != 0))
        .collect();
    decoder.feed(&nonsense, &mut |_| ());
    assert_eq!(
        decoder.trust,
        Trust::Doubtful,
        "{} frames, {:?}",
        decoder.frames,
        decoder.lost
    );
}

#[test]
fn what_is_no_elf_is_said_so() {
    let elf = path("probe.elf");
    refuses(
        &["monitor", "--elf", &path("pages.csv"), "--log", "-"],
        b"",
        "found no object file",
    );
    refuses(
        &["monitor", "--elf", "no-such.elf", "--log", "-"],
        b"",
        "cannot read no-such.elf",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "no-such.defmt"],
        b"",
        "cannot open no-such.defmt",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "."],
        b"",
        "cannot read .",
    );
    refuses(&["monitor", "--elf", &elf], b"", "--log");
    refuses(
        &["monitor", "--elf", &elf, "--log", "a=-", "--log", "a=x"],
        b"",
        "two probes called a",
    );
    refuses(
        &["monitor", "--elf", &elf, "--elf", "b=x", "--log", "a=-"],
        b"",
        "one of the probes: a",
    );
    refuses(
        &["monitor", "--elf", "a=x", "--log", "b=-", "--log", "a=-"],
        b"",
        "no --elf for b",
    );
    refuses(
        &["monitor", "--elf", &elf, "--log", "-", "--speed", "0"],
        b"",
        "a number from 0.001",
    );
    refuses(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            "-",
            "--web",
            "everywhere",
        ],
        b"",
        "expected a port",
    );
    refuses(&["report", "-", "--elf", &elf], b"", "found no line in -");
}

#[test]
fn nothing_that_is_read_is_recorded_over() {
    let folder = Folder::new("over");
    let elf = folder.file("probe.elf");
    let log = folder.file("probe.defmt");
    fs::copy(fixture("probe.elf"), &elf).expect("copied");
    fs::copy(fixture("probe.defmt"), &log).expect("copied");
    let roundabout = |name: &str| folder.file(&format!("../{}/{name}", folder.name()));
    for record in [
        &log,
        &elf,
        &roundabout("probe.defmt"),
        &roundabout("probe.elf"),
    ] {
        refuses(
            &["monitor", "--elf", &elf, "--log", &log, "--record", record],
            b"",
            "expected two files",
        );
    }
    assert_eq!(fs::read(&log).expect("the log"), record());
    assert_eq!(
        fs::read(&elf).expect("the ELF file"),
        fs::read(fixture("probe.elf")).expect("the original")
    );
}

#[test]
fn plain_lines_come_in_every_format_with_names() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let pages = path("pages.csv");
    let arguments = ["monitor", "--elf", &elf, "--log", &log, "--pages", &pages];
    let lines = text(&dunlin(&arguments, b"").stdout);
    assert!(lines.contains("INFO  dunlin on qemu-mps2"), "{lines}");
    assert!(
        lines.contains("end page=0 ") && lines.contains("  http://news.test/headlines\n"),
        "{lines}"
    );
    let host = lines.lines().find(|line| line.contains("gap host=0 "));
    assert!(
        host.is_some_and(|line| line.ends_with("  news.test")),
        "{host:?}"
    );
    let json = text(&dunlin(&[&arguments[..], &["--format", "json"]].concat(), b"").stdout);
    let parsed: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(parsed.len(), lines.lines().count());
    let csv = text(&dunlin(&[&arguments[..], &["--format", "csv"]].concat(), b"").stdout);
    assert_eq!(csv.lines().next(), Some("probe,time_s,level,message,url"));
    assert_eq!(csv.lines().count(), parsed.len() + 1);
}

#[test]
fn several_probes_are_kept_apart_and_records_are_the_log() {
    let folder = Folder::new("several");
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let kept = folder.file("kept.defmt");
    let output = dunlin(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            &format!("attic={log}"),
            "--log",
            "cellar=-",
            "--record",
            &format!("cellar={kept}"),
            "--summary",
            "--format",
            "json",
        ],
        &record()[2_000..],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let views: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(views[0]["probe"], "attic");
    assert_eq!(views[1]["probe"], "cellar");
    assert!(views[0]["fetches"].as_u64() > views[1]["fetches"].as_u64());
    assert!(views[1]["fetches"].as_u64() > Some(0));
    assert_eq!(fs::read(&kept).expect("the record"), &record()[2_000..]);
}

#[test]
fn a_replay_takes_its_time() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let start = std::time::Instant::now();
    let output = dunlin(
        &[
            "monitor",
            "--elf",
            &elf,
            "--log",
            &log,
            "--speed",
            "30",
            "--summary",
            "--format",
            "json",
        ],
        b"",
    );
    let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        start.elapsed() >= Duration::from_millis(900),
        "30 s at 30 × took {:?}",
        start.elapsed()
    );
    assert!(view["fetches"].as_u64() > Some(100), "{view}");
}

#[test]
fn the_report_is_a_page_with_plots_that_asks_nobody() {
    let folder = Folder::new("report");
    let html = folder.file("report.html");
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let pages = path("pages.csv");
    let output = dunlin(
        &[
            "report", &log, "--elf", &elf, "--pages", &pages, "--html", &html, "--format", "csv",
        ],
        b"",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("probe,fetches,not_modified,"));
    let page = fs::read_to_string(&html).expect("the report");
    for part in [
        "Freshness over time",
        "Fetches over time",
        "Pages by changes a day",
        "Errors by kind",
        "news.test",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(
        !page.contains("src=") && !page.contains("<script") && !page.contains("href="),
        "it needs something"
    );
}

/// The program while it serves. Ends when dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .arg("monitor")
            .args(arguments)
            .args(["--web", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let mut said = Vec::new();
        while !said.ends_with(b"\n") {
            let mut byte = [0];
            errors
                .read_exact(&mut byte)
                .expect("it says where it listens");
            said.push(byte[0]);
        }
        // Kept open, or the program could not complain.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let said = text(&said);
        let address = said
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .expect("an address");
        Self {
            child,
            address: address.to_owned(),
        }
    }

    fn fixture() -> Self {
        let elf = path("probe.elf");
        let log = path("probe.defmt");
        let pages = path("pages.csv");
        Self::start(&["--elf", &elf, "--log", &log, "--pages", &pages])
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream
    }

    /// A connection from another address of this computer: all of 127.0.0.0/8 is.
    #[cfg(target_os = "linux")]
    fn connect_from(&self, last: u8) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let address: std::net::SocketAddr = self.address.parse().expect("an address");
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let own = std::net::SocketAddr::from(([127, 0, 0, last], 0));
        bind(&socket, &own).expect("an address of this computer");
        connect(&socket, &address).expect("it listens");
        let stream = TcpStream::from(socket);
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream
    }

    /// So many connections from each of these addresses.
    #[cfg(target_os = "linux")]
    fn connections(&self, addresses: std::ops::Range<u8>, each: usize) -> Vec<TcpStream> {
        addresses
            .flat_map(|last| (0..each).map(move |_| last))
            .map(|last| self.connect_from(last))
            .collect()
    }

    /// Asks for events on each of them; those that are answered.
    fn read_events(&self, streams: Vec<TcpStream>) -> Vec<TcpStream> {
        let heard = |mut stream: TcpStream| {
            let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
            stream.write_all(request.as_bytes()).ok()?;
            let mut head = [0; 15];
            stream.read_exact(&mut head).ok()?;
            (&head == b"HTTP/1.1 200 OK").then_some(stream)
        };
        streams.into_iter().filter_map(heard).collect()
    }

    fn say(&self, request: &str) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Until it has no place for one more.
    fn wait_until_busy(&self) {
        let mut answer = String::new();
        for _ in 0..100 {
            answer = self.ask("GET", "/metrics");
            // It says no without listening first, so that its answer may be lost.
            if answer.starts_with("HTTP/1.1 503 ") || answer.is_empty() {
                return;
            }
        }
        panic!("one more was answered {answer}");
    }

    /// The first event that is `wanted`.
    fn event(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut stream = self.connect();
        write!(
            stream,
            "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        )
        .expect("sent");
        let events = BufReader::new(stream)
            .lines()
            .map(|line| line.expect("events come"));
        events
            .filter_map(|line| {
                Some(serde_json::from_str(line.strip_prefix("data: ")?).expect("JSON"))
            })
            .find(wanted)
            .expect("events do not end")
    }

    fn ask(&self, method: &str, path: &str) -> String {
        self.say(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        ))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_answers_three_paths_and_nothing_else() {
    let server = Server::fixture();
    let page = server.ask("GET", "/");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n")
            && page.contains("Content-Security-Policy: default-src 'none'")
    );
    assert!(
        !page.contains("http://") || page.contains("http://www.w3.org/2000/svg"),
        "it names another machine"
    );
    let metrics = server.ask("GET", "/metrics");
    assert!(
        metrics.contains(
            "# TYPE dunlin_fetches_total counter\ndunlin_fetches_total{probe=\"probe\"} "
        ),
        "{metrics}"
    );
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/page.html",
        "/favicon.ico",
        "//etc/passwd",
    ] {
        assert!(
            server.ask("GET", path).starts_with("HTTP/1.1 404 "),
            "{path}"
        );
    }
    for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let answer = server.ask(method, "/");
        assert!(
            answer.starts_with("HTTP/1.1 405 ") && answer.contains("Allow: GET\r\n"),
            "{method}: {answer}"
        );
    }
    assert!(
        server
            .say("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            .starts_with("HTTP/1.1 403 ")
    );
    assert!(server.say("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(
        server
            .say("GET / HTTP/1.1\r\nHost: localhost\r\nX: \u{1}\r\n\r\n")
            .starts_with("HTTP/1.1 400 ")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn connections_are_bounded_and_slow_clients_dropped() {
    let server = Server::fixture();
    // Half a request each, and never the rest.
    let mut idle = server.connections(1..5, 8);
    idle.iter_mut()
        .for_each(|stream| stream.write_all(b"GET / HTTP/1.1\r\n").expect("sent"));
    // One is busy all the time, and gets nowhere.
    let mut trickle = idle[0].try_clone().expect("a second handle");
    std::thread::spawn(move || {
        while trickle.write_all(b"X").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    server.wait_until_busy();
    let mut other = server.connect_from(9);
    let _ = write!(
        other,
        "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n",
        server.address
    );
    let mut answer = Vec::new();
    let _ = other.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 503 ") || answer.is_empty(),
        "there are 32 places: {answer}"
    );
    // All of them are told, and let go: the server serves again.
    for stream in &mut idle {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    assert!(server.ask("GET", "/metrics").starts_with("HTTP/1.1 200 "));
}

#[cfg(target_os = "linux")]
#[test]
fn clients_that_stop_reading_are_dropped() {
    let server = Server::fixture();
    let deaf = server.connections(1..8, 4);
    for stream in &deaf {
        // The less this side keeps, the sooner the other one notices.
        rustix::net::sockopt::set_socket_recv_buffer_size(stream, 4096).expect("a small buffer");
    }
    let deaf = server.read_events(deaf);
    assert_eq!(deaf.len(), 28, "all but four places are for events");
    let refused = server.read_events(server.connections(9..10, 1));
    assert!(refused.is_empty(), "one more reader of events");
    // Every place is free again, although none of them has hung up.
    let start = std::time::Instant::now();
    while server.read_events(server.connections(9..10, 1)).is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "clients that do not read keep others out"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn readers_of_events_do_not_lock_out_who_asks_for_figures() {
    let server = Server::fixture();
    // One browser with many pages, on the computer that Prometheus runs on.
    let mine = server.read_events(server.connections(1..2, 8));
    assert_eq!(mine.len(), 4, "half the places of an address");
    // And everybody else's.
    let others = server.read_events(server.connections(2..12, 4));
    assert_eq!(mine.len() + others.len(), 28, "all but four");
    for _ in 0..10 {
        let metrics = server.ask("GET", "/metrics");
        assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_address_has_eight_connections_and_leaves_others_theirs() {
    let server = Server::fixture();
    let greedy = server.connections(2..3, 40);
    let metrics = server.ask("GET", "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
    let mut refused = 0;
    for stream in &greedy {
        stream.set_nonblocking(true).expect("set");
        let mut byte = [0];
        let read = (&*stream).read(&mut byte);
        refused +=
            usize::from(!matches!(&read, Err(why) if why.kind() == std::io::ErrorKind::WouldBlock));
    }
    assert_eq!(refused, 32, "eight are listened to");
}

#[test]
fn a_token_keeps_strangers_out_and_other_networks_need_one() {
    let (elf, log) = (path("probe.elf"), path("probe.defmt"));
    let server = Server::start(&["--elf", &elf, "--log", &log, "--token", "correct-horse"]);
    for path in ["/", "/metrics", "/events", "/metrics?token=wrong-horse"] {
        let answer = server.ask("GET", path);
        assert!(answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
        assert!(answer.contains("WWW-Authenticate: Bearer\r\n"), "{answer}");
        assert!(!answer.contains("dunlin_"), "{path}: {answer}");
    }
    let page = server.ask("GET", "/?token=correct-horse");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(!page.contains("correct-horse"), "the page need not say it");
    let metrics = server.say(&format!(
        "GET /metrics HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer correct-horse\r\n\r\n",
        server.address
    ));
    assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");

    let monitor = |more: &[&'static str], expected: &str| {
        let fixed = ["monitor", "--elf", &elf, "--log", &log, "--summary"];
        refuses(&[&fixed[..], more].concat(), b"", expected);
    };
    let needed = "expected --token TOKEN with it, or --web-open";
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
        monitor(&["--web", address], needed);
    }
    monitor(&["--token", "12345678"], "--web");
    monitor(&["--web", "8080", "--token", "short"], "expected 8 to 256");
    monitor(
        &["--web", "8080", "--token", "with space"],
        "expected 8 to 256",
    );
}

#[test]
fn events_tell_the_page_what_the_log_says() {
    // The first event may come before the log has been read.
    let views = Server::fixture().event(|views| views[0]["stream"] == "ended");
    assert_eq!(
        views[0]["frames"].as_u64(),
        Some(decode(&record()).0.len() as u64)
    );
    assert_eq!(views[0]["lost_frames"], 0);
}

/// An archive with two versions of a page.
fn archive(name: &str, url: &str) -> PathBuf {
    use dunlin_host::archive::exchange::Exchange;
    use dunlin_host::archive::{Archive, Settings};
    let folder = std::env::temp_dir().join(format!("dunlin-monitor-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let mut archive = Archive::open(&folder, Settings::default()).expect("an archive");
    for (time, body) in [
        (1_794_000_000, "old <b>news"),
        (1_794_000_060, "new <b>news"),
    ] {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        let exchange = Exchange {
            url: url.into(),
            address: None,
            time,
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: head.into_bytes(),
        };
        archive.keep(&exchange).expect("kept");
    }
    archive.tidy().expect("an index");
    folder
}

/// The monitor's page has what those of `run` and `collect` have: recent changes by the log, and
/// histories and differences by a collector's archive.
#[test]
fn the_page_lists_changes_and_shows_what_a_collector_keeps() {
    let [elf, log, pages] = ["probe.elf", "probe.defmt", "pages.csv"].map(path);
    let url = "http://news.test/headlines";
    let folder = archive("kept", url);
    let kept = folder.to_str().expect("UTF-8");
    let read = ["--elf", &elf, "--log", &log, "--pages", &pages];
    let server = Server::start(&[&read[..], &["--archive", kept]].concat());
    server.event(|views| views[0]["stream"] == "ended");
    assert!(server.ask("GET", "/").contains("href=\"/changes\""));
    let changes = server.ask("GET", "/changes");
    assert!(changes.contains("sandbox allow-forms"), "{changes}");
    for part in [
        "<td>http://news.test/headlines</td>",
        "<td class=\"bad\">host-backed-off</td><td>busy.test</td>",
        "<td class=\"bad\">refused</td><td>http://docs.test/private/draft</td><td>robots.txt forbids it",
        "href=\"/history?url=http%3A%2F%2Fnews.test%2Fheadlines\"",
    ] {
        assert!(changes.contains(part), "no {part} in {changes}");
    }
    let filtered = server.ask("GET", "/changes?event=refused");
    assert!(!filtered.contains("<td>http://news.test/"), "{filtered}");
    let feed = server.ask("GET", "/changes.atom");
    assert!(feed.contains("<category term=\"refused\"/>"), "{feed}");
    let history = server.ask("GET", "/history?url=http%3A%2F%2Fnews.test%2Fheadlines");
    assert!(history.contains("2 versions"), "{history}");
    let diff = server.ask("GET", "/diff?url=http%3A%2F%2Fnews.test%2Fheadlines&raw=1");
    assert!(diff.contains("<ins>new &lt;b&gt;news</ins>"), "{diff}");
    assert!(diff.contains("<del>old &lt;b&gt;news</del>"), "{diff}");
    drop(server);
    // Without an archive there is nothing to compare, and without a list nobody to name.
    let server = Server::start(&read);
    server.event(|views| views[0]["stream"] == "ended");
    let changes = server.ask("GET", "/changes");
    assert!(changes.contains("<td>http://news.test/headlines</td>"));
    assert!(!changes.contains("/history?"), "{changes}");
    assert!(
        server
            .ask("GET", "/history?url=http%3A%2F%2Fnews.test%2F")
            .starts_with("HTTP/1.1 404 ")
    );
    drop(server);
    let server = Server::start(&read[..4]);
    assert!(server.ask("GET", "/changes").starts_with("HTTP/1.1 404 "));
    assert!(!server.ask("GET", "/").contains("href=\"/changes\""));
    drop(server);
    let wrong = |more: &[&str], expected: &str| {
        refuses(&[&["monitor"], &read[..4], more].concat(), b"", expected);
    };
    wrong(&["--archive", kept], "--web");
    let nowhere = ["--web", "127.0.0.1:0", "--archive", "/no/such/folder"];
    wrong(&nowhere, "/no/such/folder");
    wrong(&["--exec", "true"], "expected --pages PAGES.csv");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn several_probes_are_on_one_page() {
    let elf = path("probe.elf");
    let log = path("probe.defmt");
    let [attic, cellar] = ["attic", "cellar"].map(|name| format!("{name}={log}"));
    let server = Server::start(&["--elf", &elf, "--log", &attic, "--log", &cellar]);
    let views = server.event(|views| (0..2).all(|probe| views[probe]["stream"] == "ended"));
    assert_eq!(
        (&views[0]["probe"], &views[1]["probe"]),
        (&"attic".into(), &"cellar".into())
    );
    assert_eq!(views[0]["fetches"], views[1]["fetches"]);
    let metrics = server.ask("GET", "/metrics");
    let help = metrics
        .lines()
        .filter(|line| line.starts_with("# HELP dunlin_fetches_total "))
        .count();
    assert_eq!(help, 1, "one family, two samples");
    for probe in ["attic", "cellar"] {
        let sample = format!(
            "dunlin_fetches_total{{probe=\"{probe}\"}} {}\n",
            views[0]["fetches"]
        );
        assert!(metrics.contains(&sample), "no {sample} in {metrics}");
    }
}

#[test]
fn a_tcp_port_is_read_from_the_middle_and_again_after_a_break() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let source = format!("tcp:{}", listener.local_addr().expect("an address"));
    let server = Server::start(&["--elf", &path("probe.elf"), "--log", &source]);
    let record = record();
    for part in [&record[1_000..2_000], &record[2_500..]] {
        let (mut stream, _) = listener.accept().expect("it connects");
        stream.write_all(part).expect("sent");
    }
    let (first, _) = decode(&record[1_000..2_000]);
    let (second, _) = decode(&record[2_500..]);
    let expected = format!(
        "dunlin_log_frames_total{{probe=\"probe\"}} {}\n",
        good(&first).len() + good(&second).len()
    );
    for _ in 0..300 {
        if server.ask("GET", "/metrics").contains(&expected) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!(
        "expected {expected}, found {}",
        server.ask("GET", "/metrics")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_serial_line_is_read_byte_for_byte() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let wire = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&wire).expect("ours");
    unlockpt(&wire).expect("open");
    let line = ptsname(&wire, Vec::new())
        .expect("its other end")
        .into_string()
        .expect("a UTF-8 path");
    let server = Server::start(&["--elf", &path("probe.elf"), "--log", &line]);
    let frames = |server: &Server| {
        let metrics = server.ask("GET", "/metrics");
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("dunlin_log_frames_total{probe=\"probe\"} "));
        count.and_then(|count| count.parse::<usize>().ok())
    };
    assert_eq!(frames(&server), Some(0));
    let mut wire = fs::File::from(wire);
    for piece in record().chunks(256) {
        wire.write_all(piece).expect("written");
    }
    let all = decode(&record()).0.len();
    for _ in 0..300 {
        if frames(&server) == Some(all) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{:?} of {all} frames came through", frames(&server));
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_record_takes_no_more_memory_than_a_short_one() {
    // The issue asks for 1 GiB within 100 MiB; 1 GiB takes minutes, so that is for --long. A leak
    // shows at 24 MiB, too.
    let megabytes: usize = if std::env::var_os("DUNLIN_LONG").is_some() {
        1024
    } else {
        24
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args([
            "monitor",
            "--elf",
            &path("probe.elf"),
            "--log",
            "-",
            "--pages",
            &path("pages.csv"),
            "--summary",
        ])
        .args(["--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let record = record();
    let mut sent = 0;
    while sent < megabytes << 20 {
        pipe.write_all(&record).expect("it reads");
        sent += record.len();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it still runs");
    drop(pipe);
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let peak: u64 = peak.expect("the system tells");
    let output = child.wait_with_output().expect("it ends");
    let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(view["lost_frames"], 0);
    assert_eq!(view["boots"].as_u64(), Some((sent / record.len()) as u64));
    println!("{megabytes} MiB replayed, {peak} kB resident at most");
    assert!(peak < 100 * 1024, "{peak} kB resident");
}
