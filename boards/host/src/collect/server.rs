//! Takes what probes post, and acknowledges what is in the archive.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin::fetch::{Limits, Method, Response, Step};

use super::frames::{self, Verdict, Wrong};
use super::news;
use super::publish::Publisher;
use super::tokens::Tokens;
use crate::archive::exchange::Exchange;
use crate::archive::{Archive, Kept};
use crate::board::computer::unix_time;
use crate::error::Error;
use crate::monitor::web::places::Places;
use crate::monitor::web::request::{is_address, is_loopback};
use crate::output;
use crate::told::message::Message;

/// Where probes post to.
pub const PATH: &str = "/v1/exchanges";
/// The longest head of a request.
const LONGEST_HEAD: usize = 8 * 1024;
/// Bytes that are read at a time: what a socket holds, as a rule.
const PIECE: usize = 64 * 1024;
/// A probe that is silent for longer is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a whole delivery may take: a page and its politeness, over a slow line.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes of deliveries that are held at a time, over all probes.
const MOST_HELD: usize = 128 << 20;
/// A body, its frames and the chunks around them.
const MOST_BODY: u32 = 32 << 20;
/// What is still read of a delivery that was refused.
const MOST_DROPPED: usize = 8 << 20;
/// A clock that is further ahead than this is none.
const AHEAD_S: u64 = 86_400;

/// What a collector hears.
#[derive(Clone, Copy, Debug)]
pub enum Said<'e> {
    /// There is a version of a page, the first of its URL or another one.
    Version {
        /// The exchange that brought it.
        exchange: &'e Exchange,
        /// Is it the first of its URL?
        first: bool,
    },
    /// A probe has bad news, or says that it is over.
    News(&'e Message),
}

/// Who hears of it.
pub type Heard = Box<dyn FnMut(Said<'_>) + Send>;

/// Tidies the archive, and publishes what is in it.
pub type Upkeep = Box<dyn Fn(Option<&mut Publisher>) -> io::Result<()> + Send>;

/// What all connections share.
struct Collector {
    archive: Mutex<Archive>,
    tokens: Option<Tokens>,
    heard: Mutex<Heard>,
    held: AtomicUsize,
    failing: Mutex<bool>,
    /// It listens on loopback: who delivers is on this computer.
    local_only: bool,
}

/// Starts the server; it lasts as long as the process. Without `tokens` everybody may deliver.
/// Returns where it listens, and what has to be called now and then.
///
/// # Errors
/// The address cannot be listened on.
pub fn start(
    address: SocketAddr,
    archive: Archive,
    tokens: Option<Tokens>,
    heard: Heard,
) -> Result<(SocketAddr, Upkeep), Error> {
    let listener = TcpListener::bind(address).map_err(|why| Error::listening(address, why))?;
    let address = listener
        .local_addr()
        .map_err(|why| Error::Usage(why.to_string()))?;
    let collector = Arc::new(Collector {
        archive: Mutex::new(archive),
        tokens,
        heard: Mutex::new(heard),
        held: AtomicUsize::new(0),
        failing: Mutex::new(false),
        local_only: address.ip().is_loopback(),
    });
    let shared = Arc::clone(&collector);
    let places = Places::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let client = stream.peer_addr().map(|client| client.ip());
            let Some(place) = client.ok().and_then(|client| places.take(client)) else {
                let _ = stream.set_nonblocking(true);
                let _ = respond(&stream, "503 Service Unavailable", "busy");
                continue;
            };
            let collector = Arc::clone(&shared);
            std::thread::spawn(move || {
                // A probe that went away is nobody's problem but its own.
                let _ = serve(&stream, &collector);
                drop(place);
            });
        }
    });
    let tidy = move |publisher: Option<&mut Publisher>| {
        let mut archive = collector.archive();
        archive.tidy()?;
        match publisher {
            Some(publisher) => publisher
                .tick(unix_time() as f64, || archive.fold())
                .map(drop),
            None => Ok(()),
        }
    };
    Ok((address, Box::new(tidy)))
}

/// What a finished post has turned out to be.
enum Delivered {
    Exchange(Exchange, Verdict),
    News(Message),
}

/// What is being posted, by where to.
enum Receiving {
    Exchange(frames::Reader),
    News(Vec<u8>),
}

impl Receiving {
    /// Takes the next bytes.
    fn take(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match self {
            Self::Exchange(frames) => frames.take(bytes).map_err(|why| match why {
                Wrong::TooLong => TOO_LONG,
                Wrong::Frame | Wrong::Meta => ("400 Bad Request", "no frames of an exchange"),
            }),
            Self::News(held) if held.len() + bytes.len() > news::LONGEST => Err(TOO_LONG),
            Self::News(held) => {
                held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Bytes of memory that it holds.
    fn held(&self) -> usize {
        match self {
            Self::Exchange(frames) => frames.held(),
            Self::News(held) => held.capacity(),
        }
    }

    /// What was posted, at its end.
    fn finish(self) -> Result<Delivered, Refused> {
        match self {
            Self::Exchange(frames) => frames
                .finish()
                .map(|(exchange, verdict)| Delivered::Exchange(exchange, verdict))
                .ok_or(("400 Bad Request", "no verdict at the end")),
            Self::News(held) => news::read(&held)
                .map(Delivered::News)
                .ok_or(("400 Bad Request", "no bad news of a page or a host")),
        }
    }
}

/// Why a delivery is not taken, as an answer.
type Refused = (&'static str, &'static str);

const TOO_LONG: Refused = ("413 Content Too Large", "longer than what is taken");

fn serve(stream: &TcpStream, collector: &Collector) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let deadline = Instant::now() + PATIENCE;
    let received = receive(stream, collector, deadline)?;
    // Whoever has gone has given the delivery up, and will make it again. That it came at all shows
    // late, after a newer version even, where this program stood still for a while.
    if has_left(stream)? {
        return Ok(());
    }
    let answer = match received {
        Ok(Delivered::Exchange(exchange, verdict)) => collector.keep(exchange, verdict),
        Ok(Delivered::News(message)) => {
            collector.say(Said::News(&message));
            Ok("news")
        }
        Err(refused) => Err(refused),
    };
    match answer {
        Ok(kept) => respond(stream, "200 OK", kept),
        Err((status, why)) => {
            respond(stream, status, why)?;
            drop_rest(stream, deadline)
        }
    }
}

/// Has the other end closed the connection? It waits for an answer until it has one.
fn has_left(stream: &TcpStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    Ok(match peeked {
        Ok(count) => count == 0,
        Err(why) => why.kind() != io::ErrorKind::WouldBlock,
    })
}

/// Reads what still comes of a delivery that was refused: a connection that is closed before is
/// reset, and the answer may be lost with it.
fn drop_rest(stream: &TcpStream, deadline: Instant) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let mut buffer = vec![0; PIECE];
    let mut dropped = 0;
    while dropped < MOST_DROPPED {
        match read(stream, &mut buffer, deadline)? {
            0 => break,
            count => dropped += count,
        }
    }
    Ok(())
}

fn respond(mut stream: &TcpStream, status: &str, word: &str) -> io::Result<()> {
    let body = format!("{{\"kept\":\"{word}\"}}\n");
    let body = match status {
        "200 OK" => body,
        _ => format!("{{\"error\":\"{word}\"}}\n"),
    };
    let length = body.len();
    stream.set_write_timeout(Some(SILENCE))?;
    // In one piece: each would be a packet of its own.
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes())
}

/// Reads once, within the time that is left.
fn read(mut stream: &TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left.min(SILENCE)))?;
    stream.read(buffer)
}

/// Reads a delivery: head, frames, verdict.
fn receive(
    stream: &TcpStream,
    collector: &Collector,
    deadline: Instant,
) -> io::Result<Result<Delivered, Refused>> {
    let mut head = vec![0; LONGEST_HEAD];
    let mut length = 0;
    let (body_from, framing, mut receiving) = loop {
        let count = read(stream, &mut head[length..], deadline)?;
        length += count;
        match parse(&head[..length], collector) {
            Some(Ok(found)) => break found,
            Some(Err(refused)) => return Ok(Err(refused)),
            None if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    };
    // The fetcher's own parser takes the body apart: how a body is framed is the same in both
    // directions.
    let limits = Limits::DEFAULT.with_body_bytes(MOST_BODY);
    let mut body = Response::new(Method::Get, limits);
    let framed = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
    let mut holding = Holding {
        collector,
        bytes: 0,
    };
    let mut take = |bytes: &[u8]| unpack(bytes, &mut body, &mut receiving, &mut holding);
    let mut taken = take(framed.as_bytes()).and_then(|_| take(&head[body_from..length]));
    let mut buffer = vec![0; PIECE];
    loop {
        match taken {
            Ok(true) => return Ok(receiving.finish()),
            Ok(false) => {}
            Err(refused) => return Ok(Err(refused)),
        }
        taken = match read(stream, &mut buffer, deadline)? {
            // Cut before its verdict: nothing is kept, and nobody is there to be told.
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => take(&buffer[..count]),
        };
    }
}

/// Takes bytes of a body, without what frames them; true once it is complete.
fn unpack(
    mut bytes: &[u8],
    body: &mut Response,
    receiving: &mut Receiving,
    holding: &mut Holding<'_>,
) -> Result<bool, Refused> {
    loop {
        match body.step(&mut bytes) {
            Ok(Step::Head) => {}
            Ok(Step::Body(piece)) => {
                receiving.take(piece)?;
                if !holding.grow(receiving.held()) {
                    return Err(("503 Service Unavailable", "no memory is left"));
                }
            }
            Ok(Step::More) => return Ok(false),
            Ok(Step::Done) if body.truncated() => return Err(TOO_LONG),
            Ok(Step::Done) => return Ok(true),
            Err(_) => return Err(("400 Bad Request", "no body of HTTP")),
        }
    }
}

/// Where the body of a request begins, the field that frames it, and what it is; `None` while its
/// head is not complete.
fn parse(
    head: &[u8],
    collector: &Collector,
) -> Option<Result<(usize, String, Receiving), Refused>> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    let body = match request.parse(head) {
        Ok(httparse::Status::Complete(body)) => body,
        Ok(httparse::Status::Partial) if head.len() < LONGEST_HEAD => return None,
        _ => return Some(Err(("400 Bad Request", "no head of HTTP"))),
    };
    let field = |name: &str| {
        let mut named = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        named.next().map(|field| field.value)
    };
    // No probe is a browser. What one sends here, a page of some other site has made it send.
    if field("origin").is_some() {
        return Some(Err(("403 Forbidden", "not from a web page")));
    }
    // Such a page could have its own name lead here, but it has no token.
    let host = field("host").and_then(|value| std::str::from_utf8(value).ok());
    let is_ours = |host: &str| is_loopback(host) || is_address(host);
    if collector.local_only && collector.tokens.is_none() && !host.is_some_and(is_ours) {
        return Some(Err(("403 Forbidden", "not by this name without a token")));
    }
    let receiving = match (request.method, request.path) {
        (Some("POST"), Some(PATH)) => Receiving::Exchange(frames::Reader::default()),
        (Some("POST"), Some(news::PATH)) => Receiving::News(Vec::new()),
        _ => {
            let expected = "expected POST /v1/exchanges or /v1/news";
            return Some(Err(("404 Not Found", expected)));
        }
    };
    if let Some(tokens) = &collector.tokens {
        let given = field("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
        if given.and_then(|given| tokens.probe(given)).is_none() {
            return Some(Err(("401 Unauthorized", "no token of a probe")));
        }
    }
    let chunked =
        field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked"));
    let length = field("content-length")
        .and_then(|value| std::str::from_utf8(value).ok()?.parse::<u32>().ok());
    Some(match (chunked, length) {
        (true, None) => Ok((body, "Transfer-Encoding: chunked".into(), receiving)),
        (false, Some(length)) if length <= MOST_BODY => {
            Ok((body, format!("Content-Length: {length}"), receiving))
        }
        (false, Some(_)) => Err(TOO_LONG),
        _ => Err(("411 Length Required", "expected chunks or a length")),
    })
}

/// What one delivery holds of the memory that all share.
struct Holding<'c> {
    collector: &'c Collector,
    bytes: usize,
}

impl Holding<'_> {
    /// Takes more, if there is more.
    fn grow(&mut self, to: usize) -> bool {
        let more = to.saturating_sub(self.bytes);
        let held = self.collector.held.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        held + more <= MOST_HELD
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.collector.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Collector {
    /// Passes on what was heard.
    fn say(&self, said: Said<'_>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard(said);
    }

    /// Keeps a delivery, according to its verdict. What is acknowledged is in the archive.
    fn keep(&self, mut exchange: Exchange, verdict: Verdict) -> Result<&'static str, Refused> {
        let now = unix_time();
        // A probe that does not know the date, or believes in another, has none.
        if exchange.time == 0 || exchange.time > now + AHEAD_S {
            exchange.time = now;
        }
        if verdict != Verdict::Changed {
            if let Some(message) = news::of_answer(&exchange, verdict) {
                self.say(Said::News(&message));
            }
            if verdict == Verdict::Same {
                let written = self.archive().revisit(&exchange);
                // Where there was nothing to write, nothing says that it can be.
                if !matches!(written, Ok(false)) {
                    self.written(written)?;
                }
            }
            return Ok("nothing");
        }
        let kept = self.archive().keep(&exchange);
        let kept = self.written(kept)?;
        if matches!(kept, Kept::First | Kept::Version) {
            self.say(Said::Version {
                exchange: &exchange,
                first: kept == Kept::First,
            });
        }
        match kept {
            Kept::First | Kept::Version => Ok("version"),
            Kept::Same => Ok("same"),
            Kept::Nothing => Err(("400 Bad Request", "no answer of HTTP")),
        }
    }

    fn archive(&self) -> MutexGuard<'_, Archive> {
        self.archive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of writing to the archive. That it cannot be written is said once, until it can.
    fn written<T>(&self, done: io::Result<T>) -> Result<T, Refused> {
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok(done) => {
                *failing = false;
                Ok(done)
            }
            Err(why) => {
                if !std::mem::replace(&mut *failing, true) {
                    output::say(format_args!(
                        "cannot write to the archive: {why}; probes are told so until that works again"
                    ));
                }
                Err(("507 Insufficient Storage", "the archive cannot be written"))
            }
        }
    }
}
