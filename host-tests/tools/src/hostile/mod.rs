//! A web that misbehaves, a trap that nobody may be led to, and honest hosts between them.
//!
//! | host | what it does |
//! |---|---|
//! | `h0.test`, `h1.test`, … | its page is the answer of that number, see [`answers`] |
//! | `r0.test`, `r1.test`, … | its robots.txt is; `/no` is a page that none of them allows, [`LONG_PATH`] another |
//! | `good0.test`, … | an honest host, whose pages change every time; [`HOP`] leads on into the trap |
//! | `d0.test`, `d1.test`, … | are in no list; redirects lead there, and [`names`] says where that is |

mod answers;
pub mod names;

use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

pub use answers::{HOP, Hostile, LONG_PATH, Sent, answers, robots};

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When its head was complete.
    pub at: Instant,
    /// The name it was for, without the port.
    pub host: String,
    /// What it was for.
    pub path: String,
}

/// The web, as long as the process lasts.
#[derive(Clone, Debug)]
pub struct HostileWeb {
    port: u16,
    trap_port: u16,
    answers: Arc<Vec<Hostile>>,
    robots: Arc<Vec<Hostile>>,
    log: Arc<Mutex<Vec<Asked>>>,
    trapped: Arc<Mutex<Vec<String>>>,
    /// Why there is no trap by IPv6.
    no_ipv6: Option<String>,
}

impl HostileWeb {
    /// Starts it, and its trap, on ports of loopback that are free.
    ///
    /// # Errors
    /// There is no such port.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let trap = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let port = listener.local_addr()?.port();
        let trap_port = trap.local_addr()?.port();
        // IPv6 leads into the trap, too, where this computer has it.
        let by_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, trap_port));
        let web = Self {
            port,
            trap_port,
            no_ipv6: by_ipv6.as_ref().err().map(ToString::to_string),
            answers: Arc::new(answers(port, trap_port)),
            robots: Arc::new(robots(trap_port)),
            log: Arc::default(),
            trapped: Arc::default(),
        };
        for trap in [Some(trap), by_ipv6.ok()].into_iter().flatten() {
            let trapped = Arc::clone(&web.trapped);
            thread::spawn(move || {
                for stream in trap.incoming().flatten() {
                    let from = format!("{:?}", stream.peer_addr());
                    lock(&trapped).push(from);
                }
            });
        }
        let server = web.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                // Whoever hangs up ends this thread, no more.
                thread::spawn(move || server.serve(&stream));
            }
        });
        Ok(web)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answers to pages, by their number.
    pub fn answers(&self) -> &[Hostile] {
        &self.answers
    }

    /// The answers to robots.txt, by their number.
    pub fn robots(&self) -> &[Hostile] {
        &self.robots
    }

    /// Every request so far.
    pub fn log(&self) -> Vec<Asked> {
        lock(&self.log).clone()
    }

    /// Forgets what was asked so far.
    pub fn forget(&self) {
        lock(&self.log).clear();
    }

    /// Why nobody can be led into the trap by IPv6, if so.
    pub fn no_ipv6(&self) -> Option<&str> {
        self.no_ipv6.as_deref()
    }

    /// Who was led into the trap.
    pub fn trapped(&self) -> Vec<String> {
        lock(&self.trapped).clone()
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let Some((host, path)) = head(&mut reader)? else {
                return Ok(());
            };
            let count = {
                let mut log = lock(&self.log);
                log.push(Asked {
                    at: Instant::now(),
                    host: host.clone(),
                    path: path.clone(),
                });
                log.len()
            };
            if !send(stream, &self.answer(&host, &path, count))? {
                let _ = stream.shutdown(Shutdown::Write);
                return Ok(());
            }
        }
    }

    fn answer(&self, host: &str, path: &str, count: usize) -> Sent {
        let numbered = |letter: char, list: &[Hostile]| {
            let number: usize = host
                .strip_prefix(letter)?
                .strip_suffix(".test")?
                .parse()
                .ok()?;
            list.get(number).map(|hostile| hostile.sent.clone())
        };
        let chosen = match path {
            HOP => {
                let target = format!("http://127.0.0.1:{}/", self.trap_port);
                let head = format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\n");
                let head = head + "Content-Length: 0\r\n\r\n";
                Some(Sent::Kept(head.into_bytes()))
            }
            "/robots.txt" => numbered('r', &self.robots),
            _ => numbered('h', &self.answers),
        };
        chosen.unwrap_or_else(|| match path {
            "/robots.txt" => Sent::Kept(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n".to_vec()),
            _ => {
                let body = format!("version {count:08}");
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                Sent::Kept((head + &body).into_bytes())
            }
        })
    }
}

/// Reads a request: its host without the port, and its path; `None` at the end of the connection.
fn head(reader: &mut impl BufRead) -> io::Result<Option<(String, String)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut host = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? <= 2 {
            return Ok(Some((host, path)));
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("host") {
            let value = value.trim();
            host = value.split(':').next().unwrap_or_default().to_owned();
        }
    }
}

/// Sends an answer; true if the connection is kept.
fn send(mut stream: &TcpStream, sent: &Sent) -> io::Result<bool> {
    match sent {
        Sent::Bytes(bytes) => stream.write_all(bytes)?,
        Sent::Kept(bytes) => {
            stream.write_all(bytes)?;
            return Ok(true);
        }
        Sent::Endless(first, piece, times) => {
            stream.write_all(first)?;
            for _ in 0..*times {
                stream.write_all(piece)?;
            }
        }
        Sent::Stalled(bytes) => {
            stream.write_all(bytes)?;
            // Longer than anybody waits for a server.
            thread::sleep(Duration::from_secs(120));
        }
        Sent::Trickled(bytes) => {
            for byte in bytes {
                stream.write_all(&[*byte])?;
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
    Ok(false)
}

/// Nobody panics while holding it.
fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
