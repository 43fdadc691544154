//! Pushes: others say that a page has changed, over HTTP, in IndexNow's or WebSub's form.
//!
//! | request | answer |
//! |---|---|
//! | `GET /indexnow?url=URL&key=KEY`, `POST /indexnow` with `{"key", "urlList"}` | 200; 403 for a key that nobody has, 422 if no URL is of the list, 429 if it is too much |
//! | `GET /websub/SENDER?hub.topic=URL&hub.challenge=TEXT` | 200 and the challenge if the topic is a page of the list or its host's, 404 if not |
//! | `POST /websub/SENDER` with `X-Hub-Signature` | 202, whether the signature is right or not, as WebSub wants it; unsigned content is not heeded |
//!
//! A push makes a page due as soon as that is worth a visit, within politeness and budget. Who was
//! wrong too often is no longer heeded: see [`senders`].

pub mod message;
pub mod send;
pub mod senders;

use std::collections::HashMap;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin::fetch::Url;
use dunlin::image::Image;

use self::message::Push;
use self::senders::{Reception, Senders};
use crate::collect::tokens::Tokens;
use crate::error::Error;
use crate::monitor::web::places::Places;

/// The longest head of a request.
const LONGEST_HEAD: usize = 8 * 1024;
/// The longest body: ten thousand URLs, or a feed.
const LONGEST_BODY: usize = 1 << 20;
/// Who takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Header lines of a request.
const HEADERS: usize = 64;
/// Pages that wait to be heeded.
const MOST_WAITING: usize = 10_000;

/// Where pushes come in, and wait for the probe.
#[derive(Debug)]
pub struct Pushes {
    /// Pages of the image by URL.
    pages: HashMap<String, u16>,
    /// Hosts of the list.
    hosts: Vec<String>,
    begin: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    senders: Senders,
    waiting: Vec<u16>,
}

/// A URL in the one way to write it.
fn canonical(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.to_string())
}

impl Pushes {
    /// Listens for the pages of an image, to senders with these tokens.
    pub fn new(image: &Image<'_>, tokens: Tokens) -> Self {
        let page = |index: usize| {
            let url = canonical(image.page(index).ok()?.url)?;
            Some((url, index as u16))
        };
        let host = |index: usize| Some(image.host(index).ok()?.name.to_owned());
        Self {
            pages: (0..image.pages()).filter_map(page).collect(),
            hosts: (0..image.hosts()).filter_map(host).collect(),
            begin: Instant::now(),
            inner: Mutex::new(Inner {
                senders: Senders::new(tokens),
                waiting: Vec::new(),
            }),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages that somebody has said to have changed, since this was asked last.
    pub fn take(&self) -> Vec<u16> {
        std::mem::take(&mut self.inner().waiting)
    }

    /// A page was visited.
    pub fn visited(&self, page: u16, changed: bool) {
        self.inner().senders.visited(page, changed);
    }

    /// Listens; it lasts as long as the process. Returns where.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(self: &Arc<Self>, address: SocketAddr) -> Result<SocketAddr, Error> {
        let wrong = |why: std::io::Error| Error::listening(address, why);
        let listener = TcpListener::bind(address).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let pushes = Arc::clone(self);
        let places = Places::default();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let client = stream.peer_addr().map(|client| client.ip());
                let Some(place) = client.ok().and_then(|client| places.take(client)) else {
                    continue;
                };
                let pushes = Arc::clone(&pushes);
                std::thread::spawn(move || {
                    // A sender that went away is nobody's problem but its own.
                    let _ = pushes.serve(&stream);
                    drop(place);
                });
            }
        });
        Ok(address)
    }

    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let (status, body) = match receive(stream)? {
            Some(request) => self.answer(&request),
            None => ("400 Bad Request", String::new()),
        };
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    /// The status and the body of the answer to a request.
    fn answer(&self, request: &Request) -> (&'static str, String) {
        let push = Push::read(&request.method, &request.target, &request.body);
        match push {
            None => ("400 Bad Request", String::new()),
            Some(Push::Changed { key, urls }) => {
                let name = self.inner().senders.named(key.as_bytes());
                match name {
                    Some(name) => (self.push(&name, &urls), String::new()),
                    None => ("403 Forbidden", String::new()),
                }
            }
            Some(Push::Verify {
                sender,
                topic,
                challenge,
            }) => {
                let known = self.inner().senders.token(&sender).is_some();
                match known && self.is_ours(&topic) {
                    true => ("200 OK", challenge),
                    false => ("404 Not Found", String::new()),
                }
            }
            Some(Push::Content { sender }) => {
                let signed = {
                    let inner = self.inner();
                    let secret = inner.senders.token(&sender);
                    let signature = request.signature.as_deref().unwrap_or_default();
                    secret.is_some_and(|secret| {
                        message::is_signed(secret.as_bytes(), signature, &request.body)
                    })
                };
                if signed {
                    let mut urls = message::named(&request.body);
                    urls.extend(request.topic.clone());
                    self.push(&sender, &urls);
                }
                ("202 Accepted", String::new())
            }
        }
    }

    /// Is this a page of the list, or on a host of it?
    fn is_ours(&self, topic: &str) -> bool {
        let Some(url) = canonical(topic) else {
            return false;
        };
        let host = url
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        self.pages.contains_key(&url)
            || host.is_some_and(|host| self.hosts.iter().any(|known| known == host))
    }

    /// A sender says that these have changed.
    fn push(&self, name: &str, urls: &[String]) -> &'static str {
        let now = dunlin::time::Instant::ZERO + self.begin.elapsed().into();
        let inner = &mut *self.inner();
        let mut ours = 0;
        for url in urls {
            let page = canonical(url).and_then(|url| self.pages.get(&url).copied());
            let Some(page) = page else { continue };
            ours += 1;
            match inner.senders.push(name, page, now) {
                Reception::Heard if inner.waiting.len() < MOST_WAITING => inner.waiting.push(page),
                Reception::Heard | Reception::TooMany => return "429 Too Many Requests",
                Reception::Doubted => {}
            }
        }
        match ours {
            0 => "422 Unprocessable Content",
            _ => "200 OK",
        }
    }
}

/// What a request says.
struct Request {
    method: String,
    target: String,
    signature: Option<String>,
    /// What the content is of, by its `Link: <URL>; rel="self"`.
    topic: Option<String>,
    body: Vec<u8>,
}

/// Reads a request; `None` if it is none, or too long.
fn receive(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let deadline = Instant::now() + PATIENCE;
    let mut stream = stream;
    let mut bytes = Vec::new();
    let mut more = |bytes: &mut Vec<u8>| -> std::io::Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        stream.set_read_timeout(Some(left))?;
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece)?;
        bytes.extend(piece.iter().take(count));
        Ok(count > 0)
    };
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let start = match head.parse(&bytes) {
            Ok(httparse::Status::Complete(start)) => start,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => {
                if !more(&mut bytes)? {
                    return Ok(None);
                }
                continue;
            }
            _ => return Ok(None),
        };
        let header = |name: &str| {
            let mut headers = head.headers.iter();
            let header = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok()
        };
        let length = header("content-length").map_or(Ok(0), str::parse);
        let Ok(length) = length else { return Ok(None) };
        let mut request = Request {
            method: head.method.unwrap_or_default().to_owned(),
            target: head.path.unwrap_or_default().to_owned(),
            signature: header("x-hub-signature").map(str::to_owned),
            topic: header("link").and_then(topic),
            body: Vec::new(),
        };
        if length > LONGEST_BODY {
            return Ok(None);
        }
        let mut body = bytes.split_off(start);
        while body.len() < length {
            if !more(&mut body)? {
                return Ok(None);
            }
        }
        body.truncate(length);
        request.body = body;
        return Ok(Some(request));
    }
}

/// The URL of `<URL>; rel="self"` among links.
fn topic(links: &str) -> Option<String> {
    let mut links = links.split(',');
    links.find_map(|link| {
        let (url, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_self = parameters.replace(['"', ' '], "");
        is_self.contains("rel=self").then(|| url.to_owned())
    })
}
