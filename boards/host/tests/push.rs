//! Pushes: `dunlin run --push` as a running program, judged by its answers and by when the pages
//! are asked for; and `dunlin push`, judged by what arrives.

mod program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dunlin::push::{Datagram, KEY};
use program::{dunlin, refuses, text};
use ring::hmac;

/// The senders of the tests, and their keys.
const SENDERS: &str = "site 000102030405060708090a0b0c0d0e0f\nhub a-secret-of-the-hub\n";
const KEY_OF_SITE: &str = "000102030405060708090a0b0c0d0e0f";
/// Pages, all on one host.
const PAGES: usize = 12;
/// Between two visits to a page if nobody says anything: a quarter of a second between any two.
const GAP: Duration = Duration::from_secs(3);
/// A page that has just been visited is visited again before so many others if it is pushed, and
/// only then: otherwise all the others come first.
const SOON: usize = 8;

/// Which page was asked for, and when.
type Log = Arc<Mutex<Vec<(String, Instant)>>>;

/// A web of pages that stay as they are.
fn web() -> (u16, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let log = Log::default();
    let shared = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = Arc::clone(&shared);
            std::thread::spawn(move || answer(&stream, &log));
        }
    });
    (port, log)
}

fn answer(mut stream: &TcpStream, log: &Log) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.find(String::is_empty)?;
    log.lock().ok()?.push((path.clone(), Instant::now()));
    let (status, body) = match path.as_str() {
        "/robots.txt" => ("404 Not Found", ""),
        _ => ("200 OK", "always the same"),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n");
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .ok()
}

/// A file of a test; removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let file = format!("dunlin-push-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(file);
        std::fs::write(&file, text).expect("written");
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// `dunlin run --push` on the pages of a web.
struct Run {
    child: Child,
    log: Log,
    web: u16,
    /// Where it listens for pushes.
    address: String,
    _senders: Scratch,
}

impl Run {
    /// Starts it, and waits until every page was asked for, and nothing is late any more: the first
    /// round is ahead of the budget, and has to be paid for.
    fn start(name: &str) -> Self {
        let (web, log) = web();
        let senders = Scratch::new(name, SENDERS);
        let per_day = 86_400.0 / GAP.as_secs_f64() * PAGES as f64;
        let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
            .args(["run", "-", "--seconds", "90", "--politeness", "100ms"])
            .args(["--crawls-per-day", &per_day.to_string()])
            .args(["--resolve", "*=127.0.0.1", "--push", "127.0.0.1:0"])
            .args(["--push-senders", senders.path()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        // A change a minute: what somebody not known yet says is worth a quarter of that.
        let row = |page: usize| format!("http://a.test:{web}/{page},1440\n");
        let rows: String = (0..PAGES).map(row).collect();
        let list = format!("url,changes_per_day\n{rows}");
        let mut stdin = child.stdin.take().expect("stdin");
        stdin.write_all(list.as_bytes()).expect("it reads");
        drop(stdin);
        let mut said = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let address = said.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("pushes are heard at http://")?;
            Some(rest.trim_end_matches('/').to_owned())
        });
        std::thread::spawn(move || said.for_each(drop));
        let run = Self {
            child,
            log,
            web,
            address: address.expect("it says where"),
            _senders: senders,
        };
        let end = Instant::now() + Duration::from_secs(20);
        while (0..PAGES).any(|page| run.last(&format!("/{page}")).is_none()) {
            assert!(Instant::now() < end, "not all pages were asked for");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(GAP * 6);
        run
    }

    /// Waits for the next visit; which page that was.
    fn just_visited(&self) -> String {
        let count = || self.log.lock().expect("no thread panicked").len();
        let before = count();
        let end = Instant::now() + 10 * GAP;
        while count() == before {
            assert!(Instant::now() < end, "nothing is asked for");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Until its answer has been read, it is being visited.
        std::thread::sleep(Duration::from_millis(200));
        let log = self.log.lock().expect("no thread panicked");
        log[before].0.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("http://a.test:{}{path}", self.web)
    }

    /// When a page was last asked for.
    fn last(&self, path: &str) -> Option<Instant> {
        let log = self.log.lock().expect("no thread panicked");
        let found = log.iter().rev().find(|(asked, _)| asked == path);
        found.map(|(_, at)| *at)
    }

    /// Is the page that has just been visited visited again before most others, after this was said
    /// of its URL? By order and not by the clock, so that a busy computer is no reason.
    fn is_visited(&self, say: impl FnOnce(&str)) -> bool {
        let path = self.just_visited();
        let before = self.log.lock().expect("no thread panicked").len();
        say(&self.url(&path));
        let end = Instant::now() + 10 * GAP;
        loop {
            let log = self.log.lock().expect("no thread panicked");
            let since = log.iter().skip(before).take(SOON);
            if since.clone().any(|(asked, _)| *asked == path) {
                return true;
            }
            if since.count() == SOON {
                return false;
            }
            drop(log);
            assert!(Instant::now() < end, "nothing is asked for");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a request; status and body of the answer.
    fn ask(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let head = format!("{head}Host: push.test\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        (status.expect("a status"), body.to_owned())
    }

    fn get(&self, target: &str) -> (u16, String) {
        self.ask(&format!("GET {target} HTTP/1.1\r\n"), b"")
    }

    /// Posts what IndexNow posts.
    fn submit(&self, key: &str, urls: &[String]) -> u16 {
        let body = serde_json::json!({"host": "a.test", "key": key, "urlList": urls});
        let head = "POST /indexnow HTTP/1.1\r\nContent-Type: application/json\r\n";
        self.ask(head, body.to_string().as_bytes()).0
    }

    /// Content as a hub sends it, signed with a secret.
    fn distribute(&self, secret: &str, topic: &str, body: &str) -> u16 {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, body.as_bytes());
        let digits: String = tag.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        let head = format!(
            "POST /websub/hub HTTP/1.1\r\nContent-Type: application/atom+xml\r\n\
            Link: <{topic}>; rel=\"self\"\r\nX-Hub-Signature: sha256={digits}\r\n"
        );
        self.ask(&head, body.as_bytes()).0
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// A URL or a topic as a query has it.
fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

#[test]
fn a_page_that_indexnow_pushes_is_visited_at_once() {
    let run = Run::start("indexnow");
    let get = |url: &str, key: &str| {
        let url = encoded(url);
        run.get(&format!("/indexnow?url={url}&key={key}")).0
    };
    assert!(
        run.is_visited(|url| assert_eq!(get(url, KEY_OF_SITE), 200)),
        "GET"
    );
    assert!(
        run.is_visited(|url| assert_eq!(run.submit(KEY_OF_SITE, &[url.to_owned()]), 200)),
        "POST"
    );
    let by_nobody = |url: &str| {
        assert_eq!(get(url, "ffffffffffffffffffffffffffffffff"), 403);
        assert_eq!(run.submit("a-key-that-nobody-has", &[url.to_owned()]), 403);
    };
    assert!(!run.is_visited(by_nobody), "by a key of nobody");
    assert_eq!(run.submit(KEY_OF_SITE, &[run.url("/none")]), 422);
    for target in ["/indexnow", "/", "/indexnow?url=x"] {
        assert_eq!(run.get(target).0, 400, "{target}");
    }
    assert_eq!(run.ask("POST /indexnow HTTP/1.1\r\n", b"{").0, 400);
}

#[test]
fn a_hub_is_verified_and_heard_by_its_secret_alone() {
    let run = Run::start("websub");
    let verify = |sender: &str, topic: &str| {
        let topic = encoded(topic);
        run.get(&format!(
            "/websub/{sender}?hub.mode=subscribe&hub.topic={topic}&hub.challenge=abc123"
        ))
    };
    let feed = run.url("/feed.xml");
    assert_eq!(verify("hub", &feed), (200, "abc123".into()));
    assert_eq!(verify("hub", "http://other.test/feed").0, 404);
    assert_eq!(verify("nobody", &feed).0, 404);

    let entry = |url: &str| {
        format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><link href=\"{url}\"/>\
            <updated>2026-01-01T00:00:00Z</updated></entry></feed>"
        )
    };
    let secret = "a-secret-of-the-hub";
    assert!(
        run.is_visited(|url| assert_eq!(run.distribute(secret, &feed, &entry(url)), 202)),
        "an entry of a feed"
    );
    assert!(
        run.is_visited(|url| assert_eq!(run.distribute(secret, url, "text"), 202)),
        "the topic itself"
    );
    // WebSub wants a 2xx all the same: who guesses secrets learns nothing.
    assert!(
        !run.is_visited(|url| assert_eq!(run.distribute("another", &feed, &entry(url)), 202)),
        "by a wrong secret"
    );
    let unsigned = "POST /websub/hub HTTP/1.1\r\n";
    assert!(
        !run.is_visited(|url| assert_eq!(run.ask(unsigned, entry(url).as_bytes()).0, 202)),
        "by no signature"
    );
}

#[test]
fn a_sender_that_pushes_too_much_is_held_back_alone() {
    let run = Run::start("flood");
    let many = vec![run.url("/0"); 100];
    assert_eq!(run.submit(KEY_OF_SITE, &many), 429);
    assert_eq!(run.submit(KEY_OF_SITE, &many), 429);
    assert_eq!(run.submit("a-secret-of-the-hub", &[run.url("/1")]), 200);
    std::thread::sleep(Duration::from_millis(2_100));
    assert_eq!(run.submit(KEY_OF_SITE, &many[..1]), 200, "one a second");
}

fn push(url: &str, to: &str, key: &Path, more: &[&str]) -> Output {
    let key = key.to_str().expect("UTF-8");
    dunlin(
        &[&["push", url, "--to", to, "--key", key], more].concat(),
        b"",
    )
}

#[test]
fn the_program_pushes_to_a_run() {
    let run = Run::start("program");
    let to = format!("http://{}", run.address);
    let key = Scratch::new("key", &format!("# of the site\n{KEY_OF_SITE}\n"));
    let wrong = Scratch::new("wrong", "a-key-that-nobody-has\n");
    assert!(run.is_visited(|url| {
        let heard = push(url, &to, &key.0, &[]);
        assert_eq!(text(&heard.stdout), "heard  (1 page)\n");
        assert_eq!(heard.status.code(), Some(0));
    }));
    for (url, key, why) in [
        (run.url("/1"), &wrong, "not heard  (403: it knows nobody"),
        (run.url("/none"), &key, "not heard  (422: none of the pages"),
    ] {
        let output = push(&url, &to, &key.0, &[]);
        let said = text(&output.stdout);
        assert!(said.starts_with(why), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn the_program_sends_signed_datagrams_one_after_the_other() {
    let device = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let patience = Some(Duration::from_secs(5));
    device.set_read_timeout(patience).expect("a time-out");
    let to = device.local_addr().expect("an address").to_string();
    let file = Scratch::new("device-key", KEY_OF_SITE);
    let key: [u8; KEY] = std::array::from_fn(|index| index as u8);
    let mut last = 0;
    for _ in 0..2 {
        let more = ["http://a.test/2", "--sender", "3"];
        let output = push("http://a.test/1", &to, &file.0, &more);
        assert_eq!(text(&output.stdout), "sent  (2 pages, unanswered)\n");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        for url in ["http://a.test/1", "http://a.test/2"] {
            let mut bytes = [0; 512];
            let length = device.recv(&mut bytes).expect("a datagram");
            let bytes = &bytes[..length];
            assert!(Datagram::is_signed(&key, bytes));
            let datagram = Datagram::parse(bytes).expect("a datagram");
            assert_eq!((datagram.sender, datagram.url), (3, url));
            assert!(datagram.sent_ms > last, "a device would not heed it");
            last = datagram.sent_ms;
        }
    }
}

#[test]
fn what_cannot_be_pushed_is_refused_in_a_line() {
    let key = Scratch::new("good", KEY_OF_SITE);
    let short = Scratch::new("short", "0001");
    let no_digits = Scratch::new("no-digits", "a-secret-of-the-hub");
    let long = format!("http://a.test/{}", "x".repeat(256));
    let page = "http://a.test/";
    let nobody = {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.local_addr().expect("an address").to_string()
    };
    let closed = format!("http://{nobody}");
    for (url, to, key, expected) in [
        (
            "ftp://a.test/",
            "127.0.0.1",
            key.path(),
            "\"ftp://a.test/\"",
        ),
        (page, "a:b", key.path(), "expected a device as HOST[:PORT]"),
        (
            page,
            "127.0.0.1",
            "no-such-file",
            "cannot read no-such-file",
        ),
        (page, "127.0.0.1", short.path(), "found a key of 4 bytes"),
        (page, "127.0.0.1", no_digits.path(), "32 hexadecimal digits"),
        (&long, "127.0.0.1", key.path(), "found a URL of 270 bytes"),
        (page, &nobody, key.path(), "cannot push to 127.0.0.1"),
        (page, &closed, key.path(), "cannot push to 127.0.0.1"),
    ] {
        refuses(&["push", url, "--to", to, "--key", key], b"", expected);
    }
    let usual = ["push", page, "--to", "127.0.0.1", "--key", key.path()];
    refuses(&[&usual[..], &["--sender", "4"]].concat(), b"", "0..4");
    refuses(&["push", "--to", "a", "--key", "b"], b"", "<URL>...");
}
