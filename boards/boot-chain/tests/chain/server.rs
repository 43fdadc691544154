//! An update server in memory, which does what it is told, right or wrong.

use std::convert::Infallible;

use dunlin::fetch::{Addresses, Connect, Connection, Endpoint, Resolve};
use dunlin::update::{Manifest, PayloadKind, SecretKey, digest_of};

/// The board that everything is for.
pub const BOARD: &str = "model";

/// A request, as far as the server cares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub from: Option<usize>,
    pub if_none_match: Option<String>,
    pub if_range: Option<String>,
}

/// Answers a request: the bytes on the wire, and the connection ends behind them.
pub type Answer = Box<dyn Fn(&Asked) -> Vec<u8>>;

pub struct Server {
    pub answer: Answer,
    /// What was asked so far.
    pub asked: Vec<Asked>,
}

pub struct Line<'s> {
    server: &'s mut Server,
    request: Vec<u8>,
    response: Option<(Vec<u8>, usize)>,
}

impl Connect for Server {
    type Error = Infallible;
    type Connection<'c> = Line<'c>;

    async fn connect(&mut self, _: Endpoint<'_>) -> Result<Line<'_>, Infallible> {
        Ok(Line {
            server: self,
            request: Vec::new(),
            response: None,
        })
    }
}

impl embedded_io_async::ErrorType for Line<'_> {
    type Error = Infallible;
}

impl embedded_io_async::Read for Line<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let (bytes, at) = self.response.get_or_insert_with(|| {
            let asked = read_request(&self.request);
            let response = (self.server.answer)(&asked);
            self.server.asked.push(asked);
            (response, 0)
        });
        // In pieces that fit nothing.
        let count = buffer.len().min(bytes.len() - *at).min(97);
        buffer[..count].copy_from_slice(&bytes[*at..][..count]);
        *at += count;
        Ok(count)
    }
}

impl embedded_io_async::Write for Line<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.request.extend(bytes);
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Connection for Line<'_> {}

/// Every name is somewhere.
pub struct Names;

impl Resolve for Names {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        Ok(Addresses::from_iter([[192, 0, 2, 1].into()]))
    }
}

fn read_request(bytes: &[u8]) -> Asked {
    let text = std::str::from_utf8(bytes).expect("a request");
    let mut asked = Asked::default();
    for (number, line) in text.lines().enumerate() {
        if number == 0 {
            asked.path = line.split(' ').nth(1).expect("a path").into();
        } else if let Some(range) = line.strip_prefix("Range: bytes=") {
            asked.from = range.trim_end_matches('-').parse().ok();
        } else if let Some(tag) = line.strip_prefix("If-None-Match: ") {
            asked.if_none_match = Some(tag.into());
        } else if let Some(tag) = line.strip_prefix("If-Range: ") {
            asked.if_range = Some(tag.into());
        }
    }
    asked
}

/// An answer on the wire.
pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n").into_bytes();
    bytes.extend(body);
    bytes
}

/// What a good server answers for a payload.
pub fn part_of(payload: &[u8], etag: &str, asked: &Asked) -> Vec<u8> {
    let same = asked.if_range.as_ref().is_none_or(|tag| tag == etag);
    match asked.from.filter(|from| same && *from < payload.len()) {
        Some(from) => response(
            "206 Partial Content",
            &format!(
                "ETag: {etag}\r\nContent-Range: bytes {from}-{}/{}\r\n",
                payload.len() - 1,
                payload.len()
            ),
            &payload[from..],
        ),
        None => response("200 OK", &format!("ETag: {etag}\r\n"), payload),
    }
}

/// The owner's key: the same in every run.
pub fn key(seed: u8) -> SecretKey {
    SecretKey::new(&[seed; 32], [seed; 8])
}

/// What is released: firmware number 2, unless a test says otherwise.
pub fn manifest(payload: &[u8]) -> Manifest<'static> {
    Manifest {
        kind: PayloadKind::Firmware,
        board: BOARD,
        build: 2,
        sequence: 2,
        counter: 0,
        length: payload.len() as u32,
        digest: digest_of(payload),
        store: 1,
        image: 1,
        url: "payload.bin",
    }
}

/// A good server of a signed manifest and its payload.
pub fn good(signed: String, payload: Vec<u8>) -> Server {
    serving(signed, move |asked| part_of(&payload, "\"v2\"", asked))
}

/// A server of a signed manifest, and of what somebody makes of the payload.
pub fn serving(signed: String, payload: impl Fn(&Asked) -> Vec<u8> + 'static) -> Server {
    let answer = move |asked: &Asked| match asked.path.as_str() {
        "/updates/manifest" if asked.if_none_match.as_deref() == Some("\"m\"") => {
            response("304 Not Modified", "", b"")
        }
        "/updates/manifest" => response("200 OK", "ETag: \"m\"\r\n", signed.as_bytes()),
        "/updates/payload.bin" => payload(asked),
        other => panic!("asked for {other}"),
    };
    Server {
        answer: Box::new(answer),
        asked: Vec::new(),
    }
}
