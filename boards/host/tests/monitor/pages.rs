//! What is on the pages of `dunlin monitor --web`.

use std::fs;
use std::path::PathBuf;

use super::program::refuses;
use super::server::Server;
use super::{decode, path, record};

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
