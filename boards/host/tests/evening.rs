//! A watcher's evening, from a list to a change that was seen: three commands, and a browser.
//!
//! 36 pages on 12 hosts are checked and watched; one changes, into something that would like to
//! take the browser over. The change is in the live view's events, at the webhook, in the feed, and
//! a real browser shows what changed, as text.

mod program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use program::{dunlin, text};

/// For what has no end of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads a request: its path and its body.
fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let value = line.strip_prefix("Content-Length: ")?;
        value.parse::<usize>().ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.to_owned(), body))
}

/// Answers every request with what `site` says of its path and body; returns the port.
fn serve(site: impl Fn(&str, &[u8]) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let site = Arc::new(site);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let site = Arc::clone(&site);
            std::thread::spawn(move || {
                let (path, body) = read(&stream)?;
                let page = site(&path, &body);
                let length = page.len();
                write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                    Connection: close\r\n\r\n{page}"
                )
                .ok()
            });
        }
    });
    port
}

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What a real browser makes of a page, scripts run, as markup.
fn browser(url: &str) -> String {
    let output = Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run", "--dump-dom"])
        .arg(url)
        .stderr(Stdio::null())
        .output()
        .expect("chromium starts: `cargo xtask test --step tools` installs it");
    text(&output.stdout)
}

#[test]
fn a_change_is_seen_in_a_browser_by_a_webhook_and_in_a_feed() {
    let version = Arc::new(AtomicUsize::new(0));
    let current = Arc::clone(&version);
    let web = serve(move |path, _| match path {
        "/robots.txt" => "User-agent: *\nAllow: /\n".into(),
        "/page7" => {
            let version = current.load(Ordering::Relaxed);
            format!(
                "<p>Steady line</p>\n<p>Version {version}</p>\n\
                <script>document.title = 'taken {version}'</script>\n\
                <img src=x onerror=\"document.title = 'taken {version}'\">\n"
            )
        }
        path => format!("<p>{path} stays as it is</p>"),
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hook = serve(move |_, body| {
        let message: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        heard.lock().expect("a list").push(message);
        String::new()
    });
    let folder: PathBuf =
        std::env::temp_dir().join(format!("dunlin-evening-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (pages, feed, archive) = (file("pages.csv"), file("feed.atom"), file("kept"));
    let url = |page: usize| format!("http://host{}.test:{web}/page{page}", page % 12);
    let list: String = (0..36).map(|page| url(page) + "\n").collect();
    std::fs::write(&pages, list).expect("a list");

    // The first command: is the list sound?
    let checked = dunlin(&["check", &pages], b"");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    // The second: watch it.
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["run", &pages, "--politeness", "200ms"])
        .args(["--crawls-per-day", "max", "--resolve", "*=127.0.0.1"])
        .args([
            "--web",
            "127.0.0.1:0",
            "--feed",
            &feed,
            "--archive",
            &archive,
        ])
        .args(["--webhook", &format!("http://127.0.0.1:{hook}/secret")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let news = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let _running = Running(child);
    let address = said.by_ref().map_while(Result::ok).find_map(|line| {
        let rest = line.strip_prefix("monitor: http://")?;
        Some(rest.split_once('/')?.0.to_owned())
    });
    let address = address.expect("it says where its page is");
    std::thread::spawn(move || said.for_each(drop));
    // Each page is seen once; then one changes.
    let mut firsts = 0;
    let mut lines = news.map_while(Result::ok);
    while firsts < 36 {
        let line = lines.next().expect("it runs");
        firsts += usize::from(line.contains("\"first\":true"));
    }
    std::thread::spawn(move || lines.for_each(drop));
    version.store(1, Ordering::Relaxed);
    let changed = url(7);
    until("the webhook is told", || {
        let told = told.lock().expect("a list");
        told.iter()
            .any(|message| message["url"] == changed.as_str())
    });
    let told = told.lock().expect("a list").clone();
    assert_eq!(told.len(), 1, "one page has changed: {told:#?}");
    assert_eq!(told[0]["event"], "changed");
    assert!(
        std::fs::read_to_string(&feed)
            .expect("a feed")
            .contains(&changed)
    );
    // What the live view shows is what its events say.
    let mut events = TcpStream::connect(&address).expect("it listens");
    write!(events, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("asked");
    let mut live = BufReader::new(events).lines().map_while(Result::ok);
    let event = live.find_map(|line| Some(line.strip_prefix("data: ")?.to_owned()));
    let event: serde_json::Value = serde_json::from_str(&event.expect("an event")).expect("JSON");
    let shown = event[0]["news"].as_array().expect("news");
    let is_it =
        |row: &serde_json::Value| row["event"] == "changed" && row["about"] == changed.as_str();
    assert!(shown.iter().any(is_it), "{shown:#?}");
    // The third: a browser, which nothing of the page takes over.
    let list = browser(&format!("http://{address}/changes?event=changed"));
    assert!(
        list.contains(&changed) && list.contains(">what changed</a>"),
        "{list}"
    );
    let encoded = changed.replace(':', "%3A").replace('/', "%2F");
    let diff = |more: &str| browser(&format!("http://{address}/diff?url={encoded}{more}"));
    let words = diff("");
    assert!(words.contains("<del>Version 0</del>"), "{words}");
    assert!(words.contains("<ins>Version 1</ins>"), "{words}");
    for view in ["&raw=1", "&raw=1&view=side"] {
        let markup = diff(view);
        assert!(
            markup.contains("&lt;script&gt;document.title = 'taken 1'"),
            "{markup}"
        );
        assert!(markup.contains("<title>What changed</title>"), "{markup}");
        assert!(
            !markup.contains("<script") && !markup.contains("<img"),
            "{markup}"
        );
    }
    let _ = std::fs::remove_dir_all(&folder);
}
