//! Deliveries of probes: what is kept, who may, and what a kill leaves.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use super::program::{read_by_others, refuses};
use super::{Collector, deliver, folder, frame, frames, mend, request};

#[test]
fn what_has_changed_is_kept_once_and_what_is_cut_or_the_same_is_not() {
    let folder = folder("once");
    let collector = Collector::start(&folder, &["--web", "127.0.0.1:0"]);
    let url = "http://a.test/page";
    let kept = |body: &str, verdict: &str| {
        let answer = collector.post(&request(&frames(url, body, verdict), ""));
        answer.expect("an answer").1.trim().to_owned()
    };
    let long = "long ".repeat(100_000);
    assert_eq!(kept("one", "changed"), r#"{"kept":"version"}"#);
    assert_eq!(kept("one", "changed"), r#"{"kept":"same"}"#);
    assert_eq!(kept("two", "same"), r#"{"kept":"nothing"}"#);
    assert_eq!(kept("two", "failed"), r#"{"kept":"nothing"}"#);
    assert_eq!(kept(&long, "changed"), r#"{"kept":"version"}"#);
    // A connection that ends before the verdict, at several places.
    let whole = request(&frames(url, "three", "changed"), "");
    for cut in [10, 100, whole.len() - 20, whole.len() - 6] {
        let mut stream = TcpStream::connect(&collector.address).expect("it listens");
        stream.write_all(&whole[..cut]).expect("sent");
    }
    let wrong =
        |body: &[u8], more: &str| collector.post(&request(body, more)).expect("an answer").0;
    assert_eq!(wrong(b"no frames at all", ""), "HTTP/1.1 400 Bad Request");
    let half = &frames(url, "x", "changed")[..60];
    assert_eq!(wrong(half, ""), "HTTP/1.1 400 Bad Request");
    let get = collector
        .post(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("an answer");
    assert_eq!(get.0, "HTTP/1.1 404 Not Found");
    std::thread::sleep(Duration::from_millis(1_500));
    drop(collector);
    let read = read_by_others(&folder, &[]);
    assert_eq!(read["/page"], ["one", &long]);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn what_was_given_up_while_the_collector_stood_still_is_not_kept_late() {
    let folder = folder("late");
    let collector = Collector::start(&folder, &[]);
    let url = "http://a.test/page";
    assert!(collector.deliver(url, "one"));
    let signal = |name: &str| {
        let id = collector.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    };
    signal("-STOP");
    let mut stream = TcpStream::connect(&collector.address).expect("the kernel listens");
    stream
        .write_all(&request(&frames(url, "two", "changed"), ""))
        .expect("sent");
    drop(stream);
    signal("-CONT");
    assert!(collector.deliver(url, "three"));
    drop(collector);
    mend(&folder);
    assert_eq!(read_by_others(&folder, &[])["/page"], ["one", "three"]);
    let _ = std::fs::remove_dir_all(&folder);
}

/// What has changed before a collector was started again stays among the recent changes.
#[test]
fn recent_changes_outlive_a_restart() {
    let folder = folder("recent");
    let feed = folder.with_extension("atom");
    let list = folder.with_extension("csv");
    std::fs::write(&list, "url,name\nhttp://a.test/page,The page\n").expect("a list");
    let list_path = list.to_str().expect("UTF-8");
    let told = || {
        let text = std::fs::read_to_string(&feed).expect("a feed");
        assert!(
            !text.contains("/other"),
            "a first version is no change: {text}"
        );
        text.matches("<title>The page (http://a.test/page) has changed</title>")
            .count()
    };
    let start = || {
        let feed = feed.to_str().expect("UTF-8");
        Collector::start(&folder, &["--feed", feed, "--pages", list_path])
    };
    let collector = start();
    for body in ["one", "two", "three"] {
        assert!(collector.deliver("http://a.test/page", body));
    }
    assert!(collector.deliver("http://a.test/other", "one"));
    assert_eq!(told(), 2);
    drop(collector);
    let collector = start();
    assert_eq!(told(), 2);
    assert!(collector.deliver("http://a.test/page", "four"));
    assert_eq!(told(), 3);
    drop(collector);
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&feed),
        std::fs::remove_file(&list),
    );
}

/// What a probe says is the same is written down as that, if it is, and never as a version.
#[test]
fn visits_that_brought_nothing_new_are_written_down_on_request() {
    for (options, revisits) in [(&["--revisits"][..], 1), (&[], 0)] {
        let folder = folder("revisits");
        let collector = Collector::start(&folder, options);
        let kept = |page: &str, body: &str, verdict: &str| {
            let frames = frames(&format!("http://a.test/{page}"), body, verdict);
            let answer = collector.post(&request(&frames, ""));
            answer.expect("an answer").1.trim().to_owned()
        };
        assert_eq!(kept("page", "one", "changed"), r#"{"kept":"version"}"#);
        for (page, body) in [("page", "one"), ("page", "two"), ("other", "one")] {
            assert_eq!(kept(page, body, "same"), r#"{"kept":"nothing"}"#);
        }
        drop(collector);
        mend(&folder);
        let read = read_by_others(&folder, &["--replay"]);
        assert_eq!(read.len(), 1);
        assert_eq!(read["/page"], ["one"]);
        let index = std::fs::read_to_string(folder.join("index.cdxj")).expect("an index");
        assert_eq!(index.matches("warc/revisit").count(), revisits);
        assert_eq!(index.lines().count(), 1 + revisits);
        let _ = std::fs::remove_dir_all(&folder);
    }
}

#[test]
fn only_probes_with_a_token_deliver() {
    let folder = folder("tokens");
    let tokens = folder.with_extension("tokens");
    std::fs::write(&tokens, "# probes\nkitchen  correct-horse-battery\n").expect("a file");
    let path = tokens.to_str().expect("UTF-8");
    let collector = Collector::start(&folder, &["--tokens", path]);
    let body = frames("http://a.test/", "one", "changed");
    let status = |more: &str| collector.post(&request(&body, more)).expect("an answer").0;
    assert_eq!(status(""), "HTTP/1.1 401 Unauthorized");
    let wrong = "Authorization: Bearer correct-horse-batterx\r\n";
    assert_eq!(status(wrong), "HTTP/1.1 401 Unauthorized");
    let right = "Authorization: Bearer correct-horse-battery\r\n";
    assert_eq!(status(right), "HTTP/1.1 200 OK");
    let by_a_page = format!("{right}Origin: https://evil.example\r\n");
    assert_eq!(status(&by_a_page), "HTTP/1.1 403 Forbidden");
    drop(collector);
    let archive = folder.to_str().expect("UTF-8");
    let open = ["collect", "--archive", archive, "--listen", "0.0.0.0:0"];
    refuses(&open, b"", "expected --tokens FILE with it");
    std::fs::write(&tokens, "kitchen short\n").expect("a file");
    let short = ["collect", "--archive", archive, "--tokens", path];
    refuses(&short, b"", "line 1: found a token of 5 bytes");
    refuses(&["collect"], b"", "expected --archive DIR");
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&tokens),
    );
}

/// A page of some other site can make a browser on this computer send what it likes to loopback.
#[test]
fn no_page_of_another_site_delivers_by_a_browser() {
    let folder = folder("browser");
    let collector = Collector::start(&folder, &[]);
    let gone = r#"{"time":1,"event":"gone","url":"http://a.test/","reason":"status 404"}"#;
    let changed = frames("http://a.test/", "one", "changed");
    let post = |path: &str, body: &[u8], host: &str, more: &str| {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n"
        );
        let whole = [head.as_bytes(), body].concat();
        collector.post(&whole).expect("an answer").0
    };
    let port = collector.address.rsplit_once(':').expect("a port").1;
    let origin = "Origin: https://evil.example\r\n";
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for (path, body) in [("/v1/news", gone.as_bytes()), ("/v1/exchanges", &changed)] {
        let status = |host: &str, more: &str| post(path, body, host, more);
        for origin in [origin, own.as_str(), "Origin: null\r\n"] {
            assert_eq!(status("127.0.0.1", origin), "HTTP/1.1 403 Forbidden");
        }
        // Names that lead here because their owner says so.
        for host in [
            "evil.example",
            "evil.example:8090",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert_eq!(status(host, ""), "HTTP/1.1 403 Forbidden", "{host}");
        }
        // A probe on this computer, and one in a virtual machine on it.
        for host in [
            &collector.address,
            "localhost:8090",
            "[::1]:8090",
            "10.0.2.2:8090",
        ] {
            assert_eq!(status(host, ""), "HTTP/1.1 200 OK", "{host}");
        }
    }
    let read = std::fs::read_dir(&folder).expect("an archive");
    assert!(read.count() > 0, "the honest ones were kept");
    drop(collector);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Thirty kills: every acknowledged body is there, once, and nothing by halves.
#[test]
fn what_was_acknowledged_survives_kills() {
    let folder = folder("kills");
    let mut acknowledged: Vec<(usize, String)> = Vec::new();
    let mut number = 0;
    for round in 0..30_u64 {
        let collector = Collector::start(&folder, &[]);
        let address = collector.address.clone();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20 + round * 7 % 60));
            drop(collector);
        });
        loop {
            number += 1;
            let body = format!("version {number} {}", "x".repeat(number % 5_000));
            let url = format!("http://a.test/page{}", number % 7);
            if !deliver(&address, &url, &body) {
                break;
            }
            acknowledged.push((number % 7, body));
        }
        killer.join().expect("killed");
    }
    assert!(
        acknowledged.len() > 60,
        "{} were acknowledged",
        acknowledged.len()
    );
    drop(Collector::start(&folder, &[]));
    mend(&folder);
    let read = read_by_others(&folder, &["--killed"]);
    for page in 0..7 {
        let expected: Vec<&String> = acknowledged
            .iter()
            .filter_map(|(of, body)| (*of == page).then_some(body))
            .collect();
        let found = &read[&format!("/page{page}")];
        let there = |body: &&String| found.iter().filter(|found| found == body).count() == 1;
        assert!(expected.iter().all(there), "page {page}");
        // What was written and not acknowledged any more: one a round at most.
        assert!(found.len() <= expected.len() + 30);
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// What a probe's deliveries say of a page is told: once that it is gone, once that it is back.
#[test]
fn a_page_that_is_gone_and_back_is_told() {
    let folder = folder("gone");
    let told = folder.with_extension("told");
    let _ = std::fs::remove_file(&told);
    let command = format!("tee -a '{}'", told.display());
    let collector = Collector::start(&folder, &["--exec", &command]);
    let url = "http://a.test/page";
    let meta = serde_json::json!({ "url": url }).to_string();
    let gone = [
        frame(b'm', meta.as_bytes()),
        frame(b'r', b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        frame(b'v', b"failed 0000000000000000"),
    ]
    .concat();
    let there = |verdict: &str| frames(url, "one", verdict);
    let deliveries = [
        there("changed"),
        there("same"),
        gone.clone(),
        gone,
        there("same"),
        there("same"),
    ];
    for delivery in &deliveries {
        let (status, _) = collector.post(&request(delivery, "")).expect("an answer");
        assert_eq!(status, "HTTP/1.1 200 OK");
    }
    // Another one, which comes last.
    let other = "http://a.test/other";
    assert!(collector.deliver(other, "one") && collector.deliver(other, "two"));
    let text = || std::fs::read_to_string(&told).unwrap_or_default();
    let came = (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        text().contains(other)
    });
    assert!(came, "{}", text());
    let events: Vec<serde_json::Value> = text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let events: Vec<&str> = events
        .iter()
        .filter_map(|one| one["text"].as_str())
        .collect();
    let expected = [
        "http://a.test/page is gone: status 404 (not found)",
        "http://a.test/page is back",
        "http://a.test/other has changed",
    ];
    assert_eq!(events, expected);
    drop(collector);
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&told),
    );
}

/// News that a probe posts is passed on, and nothing else.
#[test]
fn bad_news_is_taken_from_probes_with_a_token_alone() {
    let folder = folder("news");
    let tokens = folder.with_extension("tokens");
    std::fs::write(&tokens, "roof token-of-the-roof\n").expect("a file");
    let collector = Collector::start(&folder, &["--tokens", tokens.to_str().expect("UTF-8")]);
    let post = |body: &str, token: &str| {
        let length = body.len();
        let head = format!(
            "POST /v1/news HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        collector.post(head.as_bytes()).expect("an answer").0
    };
    let gone = r#"{"time":1,"event":"gone","url":"http://a.test/","reason":"status 404"}"#;
    assert_eq!(post(gone, "token-of-the-roof"), "HTTP/1.1 200 OK");
    assert_eq!(post(gone, "another-token-123"), "HTTP/1.1 401 Unauthorized");
    let changed = gone.replace("gone", "changed");
    assert_eq!(
        post(&changed, "token-of-the-roof"),
        "HTTP/1.1 400 Bad Request"
    );
    let long = format!(
        r#"{{"time":1,"event":"gone","url":"http://a.test/","reason":"{}"}}"#,
        "x".repeat(20_000)
    );
    assert_eq!(
        post(&long, "token-of-the-roof"),
        "HTTP/1.1 413 Content Too Large"
    );
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&tokens),
    );
}
