//! `dunlin collect`: what probes deliver is kept once, byte for byte, and what was acknowledged
//! survives everything.

mod program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use program::{dunlin, read_by_others, refuses, set_read_only, text, unprivileged};

/// A collector that runs. Ends, without a word, when dropped.
struct Collector {
    child: Child,
    address: String,
    /// What it has said since it began to listen.
    said: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start(archive: &Path, more: &[&str]) -> Self {
        Self::begin(Command::new(env!("CARGO_BIN_EXE_dunlin")), archive, more)
    }

    /// The same, by a command that runs the program.
    fn begin(mut program: Command, archive: &Path, more: &[&str]) -> Self {
        let mut child = program
            .args(["collect", "--listen", "127.0.0.1:0", "--archive"])
            .arg(archive)
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let rest = line.strip_prefix("collecting at http://")?;
            Some(rest.trim_end_matches('/').to_owned())
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().expect("nobody panics").push(line);
            }
        });
        Self {
            child,
            address: address.expect("it says where"),
            said,
        }
    }

    /// How often it has said this, a moment from now.
    fn count(&self, words: &str) -> usize {
        std::thread::sleep(Duration::from_millis(200));
        let said = self.said.lock().expect("nobody panics");
        said.iter().filter(|line| line.contains(words)).count()
    }

    /// Posts bytes as they are; the answer's first line and its body.
    fn post(&self, request: &[u8]) -> Option<(String, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .ok()?;
        stream.write_all(request).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.lines().next()?.to_owned(), body.to_owned()))
    }

    /// Delivers a page; was it acknowledged?
    fn deliver(&self, url: &str, body: &str) -> bool {
        let answer = self.post(&request(&frames(url, body, "changed"), ""));
        answer.is_some_and(|(status, _)| status == "HTTP/1.1 200 OK")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in content.chunks(60_000) {
        out.push(kind);
        out.extend((piece.len() as u16).to_be_bytes());
        out.extend(piece);
    }
    out
}

fn frames(url: &str, body: &str, verdict: &str) -> Vec<u8> {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let meta = serde_json::json!({"url": url, "address": "127.0.0.1"});
    [
        frame(b'm', meta.to_string().as_bytes()),
        frame(b'q', b"GET / HTTP/1.1\r\n\r\n"),
        frame(b'r', answer.as_bytes()),
        frame(b'v', verdict.as_bytes()),
    ]
    .concat()
}

/// A request in two chunks.
fn request(body: &[u8], more: &str) -> Vec<u8> {
    let (one, two) = body.split_at(body.len() / 2);
    let mut out = format!(
        "POST /v1/exchanges HTTP/1.1\r\nHost: 127.0.0.1:8090\r\n{more}Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in [one, two] {
        out.extend(format!("{:x}\r\n", chunk.len()).bytes());
        out.extend(chunk);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dunlin-collect-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

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
        let delivering = std::mem::ManuallyDrop::new(Collector {
            child: Command::new("true").spawn().expect("a process"),
            address,
            said: Arc::default(),
        });
        loop {
            number += 1;
            let body = format!("version {number} {}", "x".repeat(number % 5_000));
            let url = format!("http://a.test/page{}", number % 7);
            if !delivering.deliver(&url, &body) {
                break;
            }
            acknowledged.push((number % 7, body));
        }
        killer.join().expect("killed");
        let mut spent = std::mem::ManuallyDrop::into_inner(delivering);
        let _ = spent.child.wait();
    }
    assert!(
        acknowledged.len() > 60,
        "{} were acknowledged",
        acknowledged.len()
    );
    drop(Collector::start(&folder, &[]));
    let output = dunlin(
        &[
            "collect",
            "--seconds",
            "0",
            "--listen",
            "0",
            "--archive",
            folder.to_str().expect("UTF-8"),
        ],
        b"",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = read_by_others(&folder, &[]);
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

/// Serves a page that is another one each time, with so many bytes more; its port.
fn serve_changing(more: usize) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().flatten().enumerate() {
            let mut head = [0; 2048];
            let _ = (&stream).read(&mut head);
            let body = if head.starts_with(b"GET /robots") {
                String::new()
            } else {
                format!("version {count}{}", " ".repeat(more))
            };
            let _ = write!(
                &stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

/// A crawl that delivers to a collector, which is not there at first.
#[test]
fn a_run_delivers_and_waits_for_a_collector_that_is_late() {
    let pages = serve_changing(0);
    let folder = folder("late");
    let spare = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = spare.local_addr().expect("an address").port();
    drop(spare);
    let (archive, listen) = (folder.clone(), port.to_string());
    let collector = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1_500));
        let archive = archive.to_str().expect("UTF-8");
        dunlin(
            &[
                "collect",
                "--archive",
                archive,
                "--listen",
                &listen,
                "--seconds",
                "8",
            ],
            b"",
        )
    });
    let output = run_into(&format!("127.0.0.1:{port}"), pages);
    let (said, news) = (text(&output.stderr), text(&output.stdout));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the collector takes nothing now"), "{said}");
    let fetched = changes(&news);
    let collected = collector.join().expect("it ran");
    assert!(collected.status.success(), "{}", text(&collected.stderr));
    let read = read_by_others(&folder, &[]);
    assert_eq!(read["/page"].len(), fetched, "{said}");
    assert!(fetched > 8, "{news}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// Crawls a page for six seconds, and delivers to a collector.
fn run_into(collector: &str, pages: u16) -> Output {
    let url = format!("http://{collector}/");
    let run = "run - --seconds 6 --politeness 300ms --crawls-per-day max --collect";
    let arguments: Vec<&str> = run.split(' ').chain([url.as_str()]).collect();
    let list = format!("url\nhttp://127.0.0.1:{pages}/page\n");
    dunlin(&arguments, list.as_bytes())
}

/// Versions that a crawl has found.
fn changes(news: &str) -> usize {
    let changed = |line: &&str| line.contains("\"changed\"");
    news.lines().filter(changed).count()
}

/// The paths that a server was asked for, with the statuses that it answered.
type Answered = Arc<Mutex<Vec<(String, u16)>>>;

/// Serves pages that never change, and says so to whoever knows them.
fn serve_steady() -> (u16, Answered) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let answered = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&answered);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut head = [0; 2048];
            let count = (&stream).read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..count]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let body = format!("all of {path}");
            let answer = match head.contains("If-None-Match: \"one\"") {
                _ if path == "/robots.txt" => {
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into()
                }
                true => "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_owned(),
                false => format!(
                    "HTTP/1.1 200 OK\r\nETag: \"one\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                ),
            };
            let status = answer[9..12].parse().expect("a status");
            log.lock().expect("nobody panics").push((path, status));
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    (port, answered)
}

/// A list of so many pages, each on a host of its own.
fn many_pages(count: usize, port: u16) -> String {
    let row = |page: usize| format!("http://host{page}.test:{port}/page{page}\n");
    format!("url\n{}", (0..count).map(row).collect::<String>())
}

/// Crawls a list, and delivers to a collector.
fn crawl(list: &str, seconds: &str, collector: u16, more: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{collector}/");
    let run = "run - --politeness 200ms --crawls-per-day max --resolve *=127.0.0.1";
    let fixed: Vec<&str> = run.split(' ').collect();
    let own = ["--seconds", seconds, "--collect", &url];
    dunlin(&[&fixed, &own[..], more].concat(), list.as_bytes())
}

/// A port that nobody listens on.
fn spare_port() -> u16 {
    let spare = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    spare.local_addr().expect("an address").port()
}

/// A collector for some seconds, from some moment on.
fn collect_later(
    archive: &Path,
    port: u16,
    after_ms: u64,
    seconds: &str,
) -> std::thread::JoinHandle<Output> {
    let (archive, seconds) = (archive.to_owned(), seconds.to_owned());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(after_ms));
        let archive = archive.to_str().expect("UTF-8");
        let listen = port.to_string();
        let arguments = [
            "collect",
            "--archive",
            archive,
            "--listen",
            &listen,
            "--seconds",
            &seconds,
        ];
        dunlin(&arguments, b"")
    })
}

/// A collector that is away while more pages change than wait for it: what found no room is asked
/// for whole at its next visit, although it has not changed since, and no more often than that.
#[test]
fn what_found_no_room_while_the_collector_was_away_is_fetched_and_delivered_again() {
    const PAGES: usize = 100;
    let (pages, answered) = serve_steady();
    let folder = folder("owed");
    let port = spare_port();
    let collector = collect_later(&folder, port, 3_000, "13");
    let output = crawl(&many_pages(PAGES, pages), "14", port, &[]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the collector takes nothing now"), "{said}");
    let collected = collector.join().expect("it ran");
    assert!(collected.status.success(), "{}", text(&collected.stderr));
    let read = read_by_others(&folder, &[]);
    for page in 0..PAGES {
        let path = format!("/page{page}");
        let versions = read.get(&path).map_or(&[][..], Vec::as_slice);
        assert_eq!(versions, [format!("all of {path}")], "{said}");
    }
    assert!(
        said.contains(&format!("collector: versions delivered: {PAGES}\n")),
        "each of them once: {said}"
    );
    // The last visits ask as visits do: everything is there.
    let answered = answered.lock().expect("nobody panics");
    let last = &answered[answered.len() - PAGES / 2..];
    assert!(last.iter().all(|(_, status)| *status == 304), "{last:?}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// What a run could not deliver to its end is owed by the next one that goes on from its state.
#[test]
fn what_a_run_owes_at_its_end_is_delivered_by_the_next() {
    const PAGES: usize = 5;
    let (pages, _) = serve_steady();
    let folder = folder("owed-later");
    let state = folder.with_extension("state");
    let state_path = state.to_str().expect("UTF-8");
    let port = spare_port();
    let list = many_pages(PAGES, pages);
    let output = crawl(&list, "3", port, &["--state", state_path]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("5 versions were not collected"), "{said}");
    let collector = collect_later(&folder, port, 0, "7");
    std::thread::sleep(Duration::from_millis(500));
    let output = crawl(&list, "5", port, &["--state", state_path]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        !text(&output.stdout).contains("\"changed\""),
        "nothing has changed"
    );
    let collected = collector.join().expect("it ran");
    assert!(collected.status.success(), "{}", text(&collected.stderr));
    let read = read_by_others(&folder, &[]);
    for page in 0..PAGES {
        let path = format!("/page{page}");
        assert!(read.contains_key(&path), "{path} is missing: {said}");
    }
    let _ = (
        std::fs::remove_dir_all(&folder),
        std::fs::remove_file(&state),
    );
}

/// How many versions whoever serves the collection shows, and how many there are.
fn shown(folder: &Path) -> (usize, usize) {
    let lines = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.lines()
            .filter(|line| line.contains("http://a.test/page"))
            .count()
    };
    (lines("published.cdxj"), lines("index.cdxj"))
}

/// Waits until so many are shown; false if that takes longer than a few seconds.
fn is_shown(folder: &Path, count: usize) -> bool {
    (0..400).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        shown(folder).0 == count
    })
}

/// Shadowed, readers see one state of the collection for a while, and then the next; in place, each
/// version at once.
#[test]
fn versions_are_published_all_together_or_at_once() {
    let folder = folder("publish");
    let url = "http://a.test/page";
    let often = ["--publish", "shadow", "--every", "1s"];
    let seldom = ["--publish", "shadow", "--every", "1d"];
    let shadowed = Collector::start(&folder, &often);
    assert!(shadowed.deliver(url, "one"));
    assert!(is_shown(&folder, 1), "{:?}", shown(&folder));
    drop(shadowed);
    let shadowed = Collector::start(&folder, &seldom);
    assert!(shadowed.deliver(url, "two") && shadowed.deliver(url, "three"));
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(shown(&folder), (1, 3), "they are there, and not shown");
    drop(shadowed);
    let shadowed = Collector::start(&folder, &often);
    assert!(is_shown(&folder, 3), "{:?}", shown(&folder));
    drop(shadowed);
    let in_place = Collector::start(&folder, &["--publish", "in-place"]);
    assert!(in_place.deliver(url, "four"));
    assert!(is_shown(&folder, 4), "{:?}", shown(&folder));
    assert_eq!(shown(&folder), (4, 4));
    drop(in_place);
    // What has been seen stays, until the time of the next comes.
    let again = Collector::start(&folder, &seldom);
    assert!(again.deliver(url, "five"));
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(shown(&folder), (4, 5));
    drop(again);
    let _ = std::fs::remove_dir_all(&folder);
}

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

/// A disk without room: probes are told so, each time, and what was acknowledged is there.
#[test]
fn a_full_disk_is_told_to_the_probes_and_harms_nothing() {
    let folder = folder("full");
    // No file of this process may be longer: a disk that is full after so many bytes.
    let mut limited = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_dunlin")]);
    let collector = Collector::begin(limited, &folder, &["--archive-compression", "0"]);
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for version in 0..60 {
        let body = format!("version {version} {}", "x".repeat(500));
        let posted = request(&frames("http://a.test/page", &body, "changed"), "");
        let (status, _) = collector.post(&posted).expect("it answers, full or not");
        match status.as_str() {
            "HTTP/1.1 200 OK" => acknowledged.push(body),
            "HTTP/1.1 507 Insufficient Storage" => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(
        !acknowledged.is_empty() && refused > 10,
        "{refused} refused"
    );
    assert_eq!(collector.count("cannot write to the archive: "), 1);
    drop(collector);
    drop(Collector::start(&folder, &[]));
    let again = [
        "collect",
        "--seconds",
        "0",
        "--listen",
        "0",
        "--archive",
        folder.to_str().expect("UTF-8"),
    ];
    assert!(dunlin(&again, b"").status.success());
    let read = read_by_others(&folder, &[]);
    let there = |body: &String| read["/page"].contains(body);
    assert!(acknowledged.iter().all(there));
    let _ = std::fs::remove_dir_all(&folder);
}

/// A disk on which the index finds no room, but for half a line, and then room again: what was
/// acknowledged is found after a kill.
#[test]
fn a_disk_that_is_full_for_the_index_alone_harms_nothing() {
    let folder = folder("full-index");
    let mut limited = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" \"$@\"";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_dunlin")]);
    let collector = Collector::begin(limited, &folder, &[]);
    // Long lines for the index, and little for the archive, which is compressed.
    let url = |page: usize| format!("http://a.test/{page}/{}", "x".repeat(1_500));
    let refused = (0..12).filter(|page| !collector.deliver(&url(*page), "short"));
    assert!(refused.count() > 3);
    let pid = collector.child.id().to_string();
    let freed = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited"])
        .status();
    assert!(freed.expect("prlimit starts").success());
    for page in 0..20 {
        assert!(collector.deliver(&url(page), "short"), "page {page}");
    }
    drop(collector);
    drop(Collector::start(&folder, &[]));
    for page in 0..20 {
        let history = [
            "history",
            &url(page),
            "--archive",
            folder.to_str().expect("UTF-8"),
        ];
        let output = dunlin(&history, b"");
        assert!(output.status.success(), "{page}: {}", text(&output.stderr));
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A disk that becomes read-only while a crawl delivers, and is written to again: said once, probes
/// are told so, the crawl goes on, and nothing of what it found is lost.
#[test]
fn a_read_only_disk_is_said_and_holds_no_crawl_up() {
    let folder = folder("read-only");
    // Longer than a file of the archive may be: each version begins another one.
    const LONG: usize = 1_010_000;
    let rotating = ["--archive-compression", "0", "--archive-size", "1"];
    let collector = Collector::begin(unprivileged(), &folder, &rotating);
    let pages = serve_changing(LONG);
    assert!(collector.deliver("http://a.test/first", &"x".repeat(LONG)));
    set_read_only(&folder, true);
    let posted = request(&frames("http://a.test/second", "y", "changed"), "");
    let (status, _) = collector.post(&posted).expect("it answers all the same");
    assert_eq!(status, "HTTP/1.1 507 Insufficient Storage");
    let address = collector.address.clone();
    let crawl = std::thread::spawn(move || run_into(&address, pages));
    std::thread::sleep(Duration::from_millis(2_500));
    set_read_only(&folder, false);
    let output = crawl.join().expect("it ran");
    let (said, news) = (text(&output.stderr), text(&output.stdout));
    assert!(output.status.success(), "{said}");
    let told = "the collector takes nothing now: it answered 507";
    assert!(said.contains(told), "{said}");
    for words in ["to the archive", "the archive's index"] {
        let words = format!("cannot write {words}: Permission denied");
        assert_eq!(collector.count(&words), 1, "{words}");
    }
    assert!(collector.deliver("http://a.test/second", "y"));
    std::thread::sleep(Duration::from_millis(1_500));
    drop(collector);
    let read = read_by_others(&folder, &[]);
    let fetched = changes(&news);
    assert!(fetched > 8, "{news}");
    assert_eq!(read["/page"].len(), fetched, "{said}");
    assert_eq!((read["/first"].len(), read["/second"].len()), (1, 1));
    let _ = std::fs::remove_dir_all(&folder);
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

fn peak_kib(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
