//! Deliveries that would like to harm whoever looks at them, through `dunlin collect --web` into a
//! real browser: what is shown is bounded, and text all the way.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dunlin_host::archive::exchange::Exchange;
use dunlin_host::board::computer::unix_time;
use dunlin_host::collect::frames;
use dunlin_tools::qemu::temporary;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::browser::Browser;
use super::collection::{Reader, on_a_phone};
use super::live::asked_nobody_else;
use super::program::Monitor;

/// What a bomb is when it has been unpacked.
const UNPACKED: usize = 256 << 20;
/// A line of a page.
const LINE: usize = 1 << 20;
/// The longest page that the collector may make of any of this (2,000 lines of 2,000 letters, and
/// what is around them), and the longest it may take.
const LONGEST_PAGE: u64 = 5_000_000;
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// What the collector may take of memory for all of it.
const MOST_KIB: u64 = 100_000;

/// Would show itself in the browser.
const SCRIPT: &str = "<script>document.title = 'taken'</script>";

/// A page that was fetched twice: its name, its heads and its bodies.
struct Page {
    name: &'static str,
    head: String,
    bodies: [Vec<u8>; 2],
}

/// Lines that end where they should not, in fields that would be others, or markup.
fn line_ends() -> Page {
    let head = format!(
        "Content-Type: text/html\r\nX-One: a\nX-Two: {SCRIPT}\r\nX-Three: b\n Folded: {SCRIPT}\r\n\
        Set-Cookie: taken=1\r\nContent-Type: text/x\"{SCRIPT}\r\n"
    );
    let body = |version| format!("<p>{SCRIPT} version {version}</p>").into_bytes();
    Page {
        name: "line-ends",
        head,
        bodies: [body(1), body(2)],
    }
}

/// Some hundred kilobytes that are a quarter of a gigabyte for whoever unpacks them.
fn bomb() -> Result<Page> {
    let packed = |letter: u8| -> Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let piece = vec![letter; 1 << 20];
        for _ in 0..UNPACKED >> 20 {
            encoder.write_all(&piece)?;
        }
        Ok(encoder.finish()?)
    };
    Ok(Page {
        name: "bomb",
        head: "Content-Type: text/html\r\nContent-Encoding: gzip\r\n".into(),
        bodies: [packed(b'<')?, packed(b'>')?],
    })
}

/// Lines that no screen and no comparison is made for.
fn long_line() -> Page {
    let body = |letter: &str| format!("<p>{}{SCRIPT}</p>", letter.repeat(LINE)).into_bytes();
    Page {
        name: "long-line",
        head: "Content-Type: text/html\r\n".into(),
        bodies: [body("x"), body("y")],
    }
}

/// Delivers both versions of a page, a minute apart.
fn deliver(port: u16, page: &Page) -> Result<String> {
    let url = format!("http://hostile.test/{}", page.name);
    for (version, body) in page.bodies.iter().enumerate() {
        let head = &page.head;
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n");
        let posted = frames::write(&Exchange {
            url: url.clone(),
            address: None,
            time: unix_time() - 600 + 60 * version as u64,
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: [head.as_bytes(), body].concat(),
        });
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        let length = posted.len();
        let head = format!(
            "POST /v1/exchanges HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&posted)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(
            answer.contains("{\"kept\":\"version\"}"),
            "{}: {answer}",
            page.name
        );
    }
    Ok(url)
}

/// Delivers all of it, and looks at every page that the collector makes of it.
pub fn check(program: &Path, browser: &Browser) -> Result<()> {
    let folder = temporary("hostile-archive");
    let spare = TcpListener::bind("127.0.0.1:0")?;
    let port = spare.local_addr()?.port();
    drop(spare);
    let arguments = [
        "--archive",
        folder.to_str().context("a path")?,
        "--listen",
        &port.to_string(),
    ];
    let site = Monitor::start(program, "collect", &arguments.map(str::to_owned))?;
    let seen = on_a_phone(browser, || look(browser, &site, port));
    let memory = site.peak_kib();
    drop(site);
    let _ = fs::remove_dir_all(&folder);
    seen?;
    let memory = memory.context("the system does not say what it took")?;
    ensure!(memory < MOST_KIB, "the collector took {memory} KiB");
    Ok(())
}

fn look(browser: &Browser, site: &Monitor, port: u16) -> Result<()> {
    let reader = Reader { browser };
    // It listens a moment after it has said where its page is.
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(began.elapsed() < LONGEST_WAIT, "the collector is not there");
        std::thread::sleep(Duration::from_millis(50));
    }
    browser.open(&format!("{}changes", site.url))?;
    let _ = (browser.log("browser")?, browser.log("performance")?);
    for page in [line_ends(), bomb()?, long_line()] {
        let url = deliver(port, &page)?;
        for path in [
            "changes".to_owned(),
            format!("history?url={url}"),
            format!("diff?url={url}"),
            format!("diff?url={url}&view=side"),
            format!("diff?url={url}&raw=1"),
            format!("diff?url={url}&raw=1&view=side"),
        ] {
            let began = Instant::now();
            browser.open(&format!("{}{path}", site.url))?;
            let length = reader.ask("return document.documentElement.outerHTML.length")?;
            let took = began.elapsed();
            ensure!(
                took < LONGEST_WAIT && length.as_u64().is_some_and(|it| it < LONGEST_PAGE),
                "{path} is {length} letters long, and took {took:?}"
            );
            reader
                .look()
                .with_context(|| format!("{} at {path}", page.name))?;
            if path.starts_with("diff") {
                let lines = reader.ask("return document.querySelectorAll('del, ins').length")?;
                ensure!(
                    lines.as_u64().is_some_and(|lines| lines >= 2),
                    "{path} shows {lines} lines that differ"
                );
            }
        }
    }
    asked_nobody_else(browser, &site.url)
}
