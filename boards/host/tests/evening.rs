//! A watcher's evening, from a list to a change that was seen: two commands, and a browser. It may
//! take five minutes and ten commands in all.
//!
//! 36 pages on 12 hosts are checked and watched; one changes, into something that would like to
//! take the browser over. The change is in the live view's events, at the webhook, in the feed, and
//! a real browser shows what changed, as text.

mod program;

use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use program::site::{page, serve};
use program::{dunlin, text};

/// How long all of it may take: whatever is waited for is waited for so long at most.
const EVENING: Duration = Duration::from_secs(300);
/// How many commands, and looks into the browser, it may take.
const COMMANDS: usize = 10;

/// What of the evening is over.
struct Evening {
    began: Instant,
    commands: Cell<usize>,
}

impl Evening {
    /// The time that is left.
    fn left(&self) -> Duration {
        EVENING.saturating_sub(self.began.elapsed())
    }

    /// Somebody types a command, or opens a page.
    fn command(&self) {
        self.commands.set(self.commands.get() + 1);
        assert!(self.commands.get() <= COMMANDS, "too many commands");
    }

    fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        while !holds() {
            assert!(!self.left().is_zero(), "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens a page in a browser.
    fn browser(&self, url: &str) -> String {
        self.command();
        self.look(url)
    }

    /// What a real browser makes of a page, scripts run, as markup.
    fn look(&self, url: &str) -> String {
        let output = Command::new("timeout")
            .arg(self.left().as_secs().max(1).to_string())
            .args([
                "chromium",
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--dump-dom"])
            // For pages that never end, as the live view.
            .arg("--timeout=5000")
            .arg(url)
            .stderr(Stdio::null())
            .output()
            .expect("chromium starts: `cargo xtask test --step tools` installs it");
        text(&output.stdout)
    }
}

/// The lines that a program says, as they come: with a deadline, which a pipe does not have.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        // Read to its end, whoever listens: a pipe that is full would stop the program.
        lines.for_each(|line| drop(say.send(line)));
    });
    said
}

/// Ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

#[test]
fn a_change_is_seen_in_a_browser_by_a_webhook_and_in_a_feed() {
    let version = Arc::new(AtomicUsize::new(0));
    let current = Arc::clone(&version);
    let web = serve(move |request| match request.path.as_str() {
        "/robots.txt" => page("User-agent: *\nAllow: /\n"),
        "/page7" => {
            let version = current.load(Ordering::Relaxed);
            page(&format!(
                "<p>Steady line</p>\n<p>Version {version}</p>\n\
                <script>document.title = 'taken {version}'</script>\n\
                <img src=x onerror=\"document.title = 'taken {version}'\">\n"
            ))
        }
        path => page(&format!("<p>{path} stays as it is</p>")),
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hook = serve(move |request| {
        let message: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        heard.lock().expect("a list").push(message);
        page("")
    });
    let folder: PathBuf =
        std::env::temp_dir().join(format!("dunlin-evening-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let pages = file("pages.csv");
    let feed = file("feed.atom");
    let archive = file("kept");
    let url = |page: usize| format!("http://host{}.test:{web}/page{page}", page % 12);
    let list: String = (0..36).map(|page| url(page) + "\n").collect();
    std::fs::write(&pages, list).expect("a list");

    let evening = Evening {
        began: Instant::now(),
        commands: Cell::new(0),
    };
    // The first command: is the list sound?
    evening.command();
    let checked = dunlin(&["check", &pages], b"");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    // The second: watch it.
    evening.command();
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
    let said = lines(child.stderr.take().expect("stderr"));
    let news = lines(child.stdout.take().expect("stdout"));
    let _running = Running(child);
    let address = loop {
        let line = said.recv_timeout(evening.left());
        let line = line.expect("it says where its page is");
        if let Some(rest) = line.strip_prefix("monitor: http://") {
            break rest.split_once('/').expect("a path").0.to_owned();
        }
    };
    // Each page is seen once; then one changes.
    let mut firsts = 0;
    while firsts < 36 {
        let line = news.recv_timeout(evening.left()).expect("it runs");
        firsts += usize::from(line.contains("\"first\":true"));
    }
    version.store(1, Ordering::Relaxed);
    let changed = url(7);
    evening.until("the webhook is told", || {
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
    let limited = events.set_read_timeout(Some(evening.left().max(Duration::from_secs(1))));
    limited.expect("a time");
    write!(events, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("asked");
    let mut live = BufReader::new(events).lines().map_while(Result::ok);
    let event = live.find_map(|line| Some(line.strip_prefix("data: ")?.to_owned()));
    let event: serde_json::Value = serde_json::from_str(&event.expect("an event")).expect("JSON");
    let shown = event[0]["news"].as_array().expect("news");
    let is_it =
        |row: &serde_json::Value| row["event"] == "changed" && row["about"] == changed.as_str();
    assert!(shown.iter().any(is_it), "{shown:#?}");
    // The live view itself, in a browser.
    evening.command();
    evening.until("the live view shows the change", || {
        let live = evening.look(&format!("http://{address}/"));
        live.contains("<h1>dunlin monitor</h1>") && live.contains(&changed)
    });
    // What changed, which takes no browser over.
    let list = evening.browser(&format!("http://{address}/changes?event=changed"));
    assert!(
        list.contains(&changed) && list.contains(">what changed</a>"),
        "{list}"
    );
    let encoded = changed.replace(':', "%3A").replace('/', "%2F");
    let diff = |more: &str| evening.browser(&format!("http://{address}/diff?url={encoded}{more}"));
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
