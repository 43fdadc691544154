//! `dunlin collect`: what probes deliver is kept once, byte for byte, and what was acknowledged
//! survives everything.

mod deliveries;
mod disks;
mod hostile;
#[path = "../program/mod.rs"]
mod program;
mod publishing;
mod runs;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use program::{dunlin, text};

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
        post(&self.address, request)
    }

    /// Delivers a page; was it acknowledged?
    fn deliver(&self, url: &str, body: &str) -> bool {
        deliver(&self.address, url, body)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// Posts bytes as they are to whoever listens there; the answer's first line and its body.
fn post(address: &str, request: &[u8]) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    stream.write_all(request).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

/// Delivers a page to the collector there; was it acknowledged?
fn deliver(address: &str, url: &str, body: &str) -> bool {
    let answer = post(address, &request(&frames(url, body, "changed"), ""));
    answer.is_some_and(|(status, _)| status == "HTTP/1.1 200 OK")
}

/// Repairs an archive whose collector has ended suddenly, and sorts its index.
fn mend(folder: &Path) {
    let archive = folder.to_str().expect("UTF-8");
    let again = ["collect", "--seconds", "0", "--listen", "0", "--archive"];
    let output = dunlin(&[&again[..], &[archive]].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
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
