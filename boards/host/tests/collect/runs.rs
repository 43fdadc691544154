//! `dunlin run --collect`, with a collector that is late or away.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::folder;
use super::program::{dunlin, read_by_others, text};

/// Answers each request, by its path and its head, until the tests end; the port.
fn serve(mut answer: impl FnMut(&str, &str) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut head = [0; 2048];
            let count = (&stream).read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..count]);
            // A run that ends leaves connections behind on which nothing was asked.
            let Some(path) = head.split(' ').nth(1) else {
                continue;
            };
            let answer = match path {
                "/robots.txt" => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
                _ => answer(path, &head),
            };
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    port
}

/// An answer with this body, and these fields besides.
fn page(fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Serves a page that is another one each time, with so many bytes more; its port.
pub fn serve_changing(more: usize) -> u16 {
    let mut count = 0;
    serve(move |_, _| {
        count += 1;
        page("", &format!("version {count}{}", " ".repeat(more)))
    })
}

/// What a server was asked for, and the statuses that it answered.
type Answered = Arc<Mutex<Vec<(String, u16)>>>;

/// Serves pages that never change, and says so to whoever knows them.
fn serve_steady() -> (u16, Answered) {
    let answered = Answered::default();
    let log = Arc::clone(&answered);
    let port = serve(move |path, head| {
        let (status, answer) = match head.contains("If-None-Match: \"one\"") {
            true => (
                304,
                "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".into(),
            ),
            false => (200, page("ETag: \"one\"\r\n", &format!("all of {path}"))),
        };
        log.lock()
            .expect("nobody panics")
            .push((path.to_owned(), status));
        answer
    });
    (port, answered)
}

/// A list of one page.
pub fn one_page(port: u16) -> String {
    format!("url\nhttp://127.0.0.1:{port}/page\n")
}

/// A list of so many pages, each on a host of its own.
fn many_pages(count: usize, port: u16) -> String {
    let row = |page: usize| format!("http://host{page}.test:{port}/page{page}\n");
    format!("url\n{}", (0..count).map(row).collect::<String>())
}

/// Crawls a list for some seconds, and delivers to a collector.
pub fn crawl(list: &str, seconds: &str, collector: &str, more: &[&str]) -> Output {
    let url = format!("http://{collector}/");
    let run = "run - --politeness 200ms --crawls-per-day max --resolve *=127.0.0.1";
    let fixed: Vec<&str> = run.split(' ').collect();
    let own = ["--seconds", seconds, "--collect", &url];
    dunlin(&[&fixed, &own[..], more].concat(), list.as_bytes())
}

/// Versions that a crawl has found.
pub fn changes(news: &str) -> usize {
    let changed = |line: &&str| line.contains("\"changed\"");
    news.lines().filter(changed).count()
}

/// An address that nobody listens at.
fn spare_address() -> String {
    let spare = TcpListener::bind("127.0.0.1:0").expect("a free port");
    spare.local_addr().expect("an address").to_string()
}

/// A collector for some seconds, from some moment on.
fn collect_later(
    archive: &Path,
    address: &str,
    after_ms: u64,
    seconds: &'static str,
) -> JoinHandle<Output> {
    let archive = archive.to_owned();
    let address = address.to_owned();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(after_ms));
        let archive = archive.to_str().expect("UTF-8");
        let own = ["--listen", &address, "--seconds", seconds];
        dunlin(
            &[&["collect", "--archive", archive], &own[..]].concat(),
            b"",
        )
    })
}

/// A crawl that delivers to a collector, which is not there at first.
#[test]
fn a_run_delivers_and_waits_for_a_collector_that_is_late() {
    let pages = serve_changing(0);
    let folder = folder("late");
    let address = spare_address();
    let collector = collect_later(&folder, &address, 1_500, "8");
    let output = crawl(&one_page(pages), "6", &address, &[]);
    let said = text(&output.stderr);
    let news = text(&output.stdout);
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

/// A collector that is away while more pages change than wait for it: what found no room is asked
/// for whole at its next visit, although it has not changed since, and no more often than that.
#[test]
fn what_found_no_room_while_the_collector_was_away_is_fetched_and_delivered_again() {
    const PAGES: usize = 100;
    let (pages, answered) = serve_steady();
    let folder = folder("owed");
    let address = spare_address();
    let collector = collect_later(&folder, &address, 3_000, "13");
    let output = crawl(&many_pages(PAGES, pages), "14", &address, &[]);
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
    let address = spare_address();
    let list = many_pages(PAGES, pages);
    let output = crawl(&list, "3", &address, &["--state", state_path]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("5 versions were not collected"), "{said}");
    let collector = collect_later(&folder, &address, 0, "7");
    std::thread::sleep(Duration::from_millis(500));
    let output = crawl(&list, "5", &address, &["--state", state_path]);
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
