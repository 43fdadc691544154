//! A small web on loopback that keeps a log: what was asked for, when, and what it said. Tests
//! judge the probe by this log and not by the probe's own word.

pub mod changing;

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// One request, as the server saw it.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Since the web began: when the request had been read.
    pub at: Duration,
    /// The `Host` header without its port.
    pub host: String,
    /// As in the request line: a path, or a whole URL if we are asked as a gateway.
    pub path: String,
    /// The value of `If-None-Match`, if there was one.
    pub known: Option<String>,
    /// The value of `User-Agent`.
    pub agent: String,
    /// The value of `X-Token`, if there was one.
    pub token: Option<String>,
    /// What we answered; 0 for nothing.
    pub status: u16,
    /// Which connection it came on.
    pub connection: usize,
    /// The port that it came to.
    pub port: u16,
}

/// What a site says to a request.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// 0 says nothing at all until the web ends.
    pub status: u16,
    /// Whole lines, without their ends.
    pub headers: Vec<String>,
    pub body: String,
    /// Let the client ask again on the same connection.
    pub keep: bool,
}

impl Answer {
    /// Answers 200 with this body.
    pub fn page(body: &str) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    /// A status and one header.
    pub fn status(status: u16, header: &str) -> Self {
        Self {
            status,
            headers: vec![header.into()],
            ..Self::default()
        }
    }

    /// A version of a page: 304 if it is the one that is known.
    pub fn version(hit: &Hit, version: usize) -> Self {
        let tag = format!("\"v{version}\"");
        if hit.known.as_deref() == Some(&tag) {
            return Self::status(304, &format!("ETag: {tag}"));
        }
        let body = format!("{} version {version}\n", hit.path).repeat(20);
        Self {
            status: 200,
            headers: vec![format!("ETag: {tag}")],
            body,
            keep: false,
        }
    }
}

type Site = dyn Fn(&Hit) -> Answer + Send + Sync;

/// A running web. Ends when dropped.
#[derive(Debug)]
pub struct Web {
    port: u16,
    begin: Instant,
    log: Arc<Mutex<Vec<Hit>>>,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Web {
    /// Starts a web in which `site` answers for every host.
    pub fn start(site: impl Fn(&Hit) -> Answer + Send + Sync + 'static) -> Result<Self> {
        Self::start_at(0, site)
    }

    /// The same at a port that was chosen before.
    ///
    /// # Errors
    /// The port is taken.
    pub fn start_at(
        port: u16,
        site: impl Fn(&Hit) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::on_port(port, Instant::now(), Arc::default(), Arc::new(site))
    }

    /// The same at a port that was used before, with the same log.
    pub fn restart(
        ended: EndedWeb,
        site: impl Fn(&Hit) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::on_port(ended.port, ended.begin, ended.log, Arc::new(site))
    }

    fn on_port(
        port: u16,
        begin: Instant,
        log: Arc<Mutex<Vec<Hit>>>,
        site: Arc<Site>,
    ) -> Result<Self> {
        let listener =
            TcpListener::bind(("127.0.0.1", port)).context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let stop = Arc::new(AtomicBool::new(false));
        let hits = Arc::clone(&log);
        let stopped = Arc::clone(&stop);
        let accept = move || {
            for (number, stream) in listener.incoming().enumerate() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let site = Arc::clone(&site);
                let hits = Arc::clone(&hits);
                let stopped = Arc::clone(&stopped);
                // A client that went away is not the server's problem.
                thread::spawn(move || drop(serve(stream, number, &*site, begin, &hits, &stopped)));
            }
        };
        Ok(Self {
            port,
            begin,
            log,
            stop,
            listener: Some(thread::spawn(accept)),
        })
    }

    /// Its port, the same for all hosts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the time since the web began.
    pub fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Returns all requests so far.
    pub fn log(&self) -> Vec<Hit> {
        self.log.lock().map(|log| log.clone()).unwrap_or_default()
    }

    /// Ends it; connections are refused until it is restarted.
    pub fn end(self) -> EndedWeb {
        EndedWeb {
            port: self.port,
            begin: self.begin,
            log: Arc::clone(&self.log),
        }
    }
}

/// What is left of a web that ended.
#[derive(Debug)]
pub struct EndedWeb {
    port: u16,
    begin: Instant,
    log: Arc<Mutex<Vec<Hit>>>,
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it can see that it is to stop.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.listener.take().map(JoinHandle::join);
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    site: &Site,
    begin: Instant,
    log: &Mutex<Vec<Hit>>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let port = stream.local_addr()?.port();
    loop {
        let Some(mut hit) = read_request(&mut lines, connection, port)? else {
            return Ok(());
        };
        hit.at = begin.elapsed();
        let answer = site(&hit);
        hit.status = answer.status;
        if let Ok(mut log) = log.lock() {
            log.push(hit);
        }
        if answer.status == 0 {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(50));
            }
            return Ok(());
        }
        let connection = if answer.keep {
            ""
        } else {
            "Connection: close\r\n"
        };
        let mut head = format!("HTTP/1.1 {} Said\r\n{connection}", answer.status);
        answer
            .headers
            .iter()
            .for_each(|header| head += &format!("{header}\r\n"));
        if answer.status != 304 {
            head += &format!("Content-Length: {}\r\n", answer.body.len());
        }
        stream.write_all((head + "\r\n" + &answer.body).as_bytes())?;
        if !answer.keep {
            return Ok(());
        }
    }
}

/// The next request, not dated or answered yet; `None` if the client has closed the connection.
fn read_request(
    lines: &mut Lines<BufReader<TcpStream>>,
    connection: usize,
    port: u16,
) -> std::io::Result<Option<Hit>> {
    let Some(line) = lines.next().transpose()? else {
        return Ok(None);
    };
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut hit = Hit {
        at: Duration::ZERO,
        host: String::new(),
        path,
        known: None,
        agent: String::new(),
        token: None,
        status: 0,
        connection,
        port,
    };
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "host" => hit.host = value.split(':').next().unwrap_or_default().to_owned(),
            "if-none-match" => hit.known = Some(value.to_owned()),
            "user-agent" => hit.agent = value.to_owned(),
            "x-token" => hit.token = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(Some(hit))
}

/// The shortest time between two requests to a host, by the server's clock; `None` if there were no
/// two.
pub fn shortest_gap(log: &[Hit], host: &str) -> Option<Duration> {
    let mut times: Vec<Duration> = log
        .iter()
        .filter(|hit| hit.host == host)
        .map(|hit| hit.at)
        .collect();
    times.sort();
    times.windows(2).map(|pair| pair[1] - pair[0]).min()
}
