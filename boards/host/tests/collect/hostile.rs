//! Deliveries that are made to do harm.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use super::program::read_by_others;
use super::{Collector, folder, frame, frames, request};

/// Deliveries without end, with every trick in their heads, and answers that are bombs: refused or
/// kept as they are, in bounded memory, and the next honest probe is served.
#[test]
fn hostile_deliveries_are_bounded() {
    let folder = folder("hostile");
    let collector = Collector::start(&folder, &[]);
    let url = "http://a.test/page";
    // An answer without end.
    let mut stream = TcpStream::connect(&collector.address).expect("it listens");
    let head =
        "POST /v1/exchanges HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    let meta = serde_json::json!({ "url": url }).to_string();
    let mut frames_of = frame(b'm', meta.as_bytes());
    let piece = frame(b'r', &vec![b'x'; 60_000]);
    let mut sent = 0_usize;
    while sent < 1 << 30 {
        let mut chunk = format!("{:x}\r\n", frames_of.len()).into_bytes();
        chunk.extend(&frames_of);
        chunk.extend(b"\r\n");
        if stream.write_all(&chunk).is_err() {
            break;
        }
        sent += chunk.len();
        frames_of.clone_from(&piece);
    }
    assert!(
        sent < 64 << 20,
        "{sent} bytes of an endless answer were taken"
    );
    // Heads that would be two, and URLs that are none.
    for url in [
        "http://a.test/\r\nWARC-Type: evil",
        "javascript:alert(1)",
        "",
        "file:///etc/passwd",
    ] {
        let body = frames(url, "x", "changed");
        let (status, _) = collector.post(&request(&body, "")).expect("an answer");
        assert_eq!(status, "HTTP/1.1 400 Bad Request", "{url:?}");
    }
    let long = format!("X: {}\r\n", "y".repeat(20_000));
    let refused = collector.post(&request(&frames(url, "x", "changed"), &long));
    assert!(refused.is_none_or(|(status, _)| status.contains("400")));
    let both = "Content-Length: 5\r\n";
    let (status, _) = collector
        .post(&request(&frames(url, "x", "changed"), both))
        .expect("an answer");
    assert_eq!(status, "HTTP/1.1 411 Length Required");
    let huge =
        b"POST /v1/exchanges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000000\r\n\r\n";
    let (status, _) = collector.post(huge).expect("an answer");
    assert_eq!(status, "HTTP/1.1 413 Content Too Large");
    // It hears so, although more was to come when that was clear.
    let long = frames(url, &"x".repeat(9 << 20), "changed");
    let (status, _) = collector.post(&request(&long, "")).expect("an answer");
    assert_eq!(status, "HTTP/1.1 413 Content Too Large");
    // A compressed bomb and a head of tricks are kept as they are, and unpacked by nobody.
    let trick = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-A: <script>\r\nX-B: \u{0}\u{1b}]0;\r\n\
        Transfer-Encoding: chunked\r\n\r\n3\r\n\u{1f}\u{8b}\r\n0\r\n\r\n";
    let delivered = [
        frame(b'm', meta.as_bytes()),
        frame(b'r', trick.as_bytes()),
        frame(b'v', b"changed"),
    ]
    .concat();
    let _ = collector.post(&request(&delivered, ""));
    assert!(collector.deliver(url, "honest"), "the next probe is served");
    let status = std::fs::read_to_string(format!("/proc/{}/status", collector.child.id()));
    if let Some(peak) = status.ok().as_deref().and_then(peak_kib) {
        assert!(peak < 100_000, "{peak} KiB at the peak");
    }
    std::thread::sleep(Duration::from_millis(1_500));
    drop(collector);
    let read = read_by_others(&folder, &[]);
    assert_eq!(read["/page"].last().map(String::as_str), Some("honest"));
    let _ = std::fs::remove_dir_all(&folder);
}

fn peak_kib(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
