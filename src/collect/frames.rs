//! The bytes of a delivery.

use core::fmt;

use crate::fetch::{Pieces, Request, Scheme, Url, UrlError, render};

/// The longest piece of an answer that a frame holds.
pub const LONGEST_PIECE: usize = u16::MAX as usize;
/// The shortest token: shorter ones are guessed.
const SHORTEST_TOKEN: usize = 16;
/// Where deliveries are posted to.
const PATH: &[u8] = b"/v1/exchanges";

/// A few bytes between those that are handed on.
pub type Bytes<const N: usize> = heapless::Vec<u8, N, u8>;

/// Whom copies go to.
#[derive(Clone, Copy)]
pub struct Collector<'a> {
    url: Url<'a>,
    token: Option<&'a str>,
}

impl fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is nobody's business.
        f.debug_struct("Collector")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Why there is no such collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CollectorError {
    /// Its address is no URL.
    Url(UrlError),
    /// It is asked for by https, which copies do not go through.
    Https,
    /// The token is shorter than 16 bytes, or holds what cannot stand in a header.
    Token,
}

impl fmt::Display for CollectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) => why.fmt(f),
            Self::Https => {
                f.write_str("found https, expected http://HOST:PORT/: on a network of your own")
            }
            Self::Token => f.write_str(
                "expected a token of 16 or more letters, digits and signs without a space",
            ),
        }
    }
}

impl core::error::Error for CollectorError {}

impl<'a> Collector<'a> {
    /// The collector at this URL, of which only host and port count. The token says which probe
    /// delivers.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn new(url: &'a str, token: Option<&'a str>) -> Result<Self, CollectorError> {
        let url = Url::parse(url).map_err(CollectorError::Url)?;
        if url.scheme() == Scheme::Https {
            return Err(CollectorError::Https);
        }
        let sound = |token: &str| {
            token.len() >= SHORTEST_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if token.is_some_and(|token| !sound(token)) {
            return Err(CollectorError::Token);
        }
        Ok(Self { url, token })
    }

    /// The URL of the collector, as its owner gave it.
    pub fn url(&self) -> &Url<'a> {
        &self.url
    }

    fn head_pieces(&self, put: &mut dyn FnMut(&[u8])) {
        put(b"POST ");
        put(PATH);
        put(b" HTTP/1.1\r\nHost: ");
        self.url.authority_pieces(put);
        if let Some(token) = self.token {
            put(b"\r\nAuthorization: Bearer ");
            put(token.as_bytes());
        }
        put(
            b"\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\
            Connection: close\r\n\r\n",
        );
    }
}

/// What a delivery begins with, up to the first piece of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Preamble<'p, 'a> {
    /// Whom it goes to.
    pub collector: &'p Collector<'a>,
    /// The request that the page was fetched with.
    pub request: &'p Request<'p>,
    /// When that was, in seconds since 1970.
    pub unix_time: Option<u64>,
}

impl Preamble<'_, '_> {
    /// Writes its bytes from `skip` on into `out`; returns how many. Fewer than fit means the end.
    /// Work: its length, whatever `skip` is.
    pub fn render(&self, skip: usize, out: &mut [u8]) -> usize {
        render(skip, out, &|put| self.pieces(put))
    }

    fn pieces(&self, put: &mut dyn FnMut(&[u8])) {
        self.collector.head_pieces(put);
        let length = |pieces: &Pieces<'_>| {
            let mut length = 0;
            pieces(&mut |piece| length += piece.len());
            length
        };
        let meta = |put: &mut dyn FnMut(&[u8])| self.meta_pieces(put);
        let request = |put: &mut dyn FnMut(&[u8])| self.request.pieces(put);
        // No chunk before it, which its head would end.
        let head = frame::<12>(b'm', length(&meta));
        put(head.get(2..).unwrap_or_default());
        meta(put);
        put(&frame::<12>(b'q', length(&request)));
        request(put);
    }

    fn meta_pieces(&self, put: &mut dyn FnMut(&[u8])) {
        let url = &self.request.url;
        put(b"{\"url\":\"");
        put(url.scheme().name().as_bytes());
        put(b"://");
        // As they go into a request: bytes that JSON would want written otherwise are encoded
        // there.
        url.authority_pieces(put);
        url.target_pieces(put);
        put(b"\"");
        if let Some(seconds) = self.unix_time.and_then(|time| u32::try_from(time).ok()) {
            put(b",\"time\":");
            put(crate::fetch::Decimal::<10>::new(seconds).as_bytes());
        }
        put(b"}");
    }
}

/// What stands before a piece of the answer of so many bytes, up to [`LONGEST_PIECE`].
pub fn piece(length: usize) -> Bytes<12> {
    frame(b'r', length)
}

/// The end of the chunk before, and the head of a frame in a chunk of its own.
fn frame<const N: usize>(kind: u8, length: usize) -> Bytes<N> {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let length = length.min(LONGEST_PIECE);
    let chunk = length + 3;
    let digits = (usize::BITS - chunk.leading_zeros()).div_ceil(4);
    let mut bytes = Bytes::new();
    // There is room: two line ends, five digits at most, a letter and two bytes.
    let _ = bytes.extend_from_slice(b"\r\n");
    for digit in (0..digits).rev() {
        let digit = HEXADECIMAL.get(chunk >> (4 * digit) & 0xf).unwrap_or(&b'0');
        let _ = bytes.push(*digit);
    }
    let [high, low] = (length as u16).to_be_bytes();
    let _ = bytes.extend_from_slice(&[b'\r', b'\n', kind, high, low]);
    bytes
}

/// What the probe thinks of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyStatus {
    /// It is another version, or one that is not with the collector yet.
    Changed,
    /// It is the one that is known.
    Same,
    /// It is none: the server says that the page is gone, or not for us.
    Refused,
}

/// The status of the copy, and the end of the delivery.
pub fn ending(status: CopyStatus, fingerprint: u64) -> Bytes<48> {
    let word: &[u8] = match status {
        CopyStatus::Changed => b"changed ",
        CopyStatus::Same => b"same ",
        CopyStatus::Refused => b"failed ",
    };
    let mut bytes: Bytes<48> = frame(b'v', word.len() + 16);
    // There is room.
    let _ = bytes.extend_from_slice(word);
    for digit in (0..16).rev() {
        let digit = (fingerprint >> (4 * digit) & 0xf) as u8;
        let _ = bytes.push(if digit < 10 { b'0' } else { b'a' - 10 } + digit);
    }
    let _ = bytes.extend_from_slice(b"\r\n0\r\n\r\n");
    bytes
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::fetch::Agent;
    use std::string::String;
    use std::vec::Vec;

    fn whole(preamble: &Preamble<'_, '_>, window: usize) -> String {
        let mut bytes = Vec::new();
        let mut out = std::vec![0; window];
        loop {
            let count = preamble.render(bytes.len(), &mut out);
            bytes.extend_from_slice(&out[..count]);
            if count < window {
                return String::from_utf8(bytes).expect("text");
            }
        }
    }

    #[test]
    fn a_preamble_is_the_same_through_any_window() {
        let collector = Collector::new("http://keeper.test:81/any/path", None).expect("a URL");
        let agent = Agent::new("dunlin/0.1", None).expect("an agent");
        let url = Url::parse("http://example.org/a?b=\\").expect("a URL");
        let request = Request::get(url, agent);
        let preamble = Preamble {
            collector: &collector,
            request: &request,
            unix_time: None,
        };
        let text = whole(&preamble, 4096);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.starts_with("POST /v1/exchanges HTTP/1.1\r\nHost: keeper.test:81\r\n"),
            "{head}"
        );
        assert!(!head.contains("Authorization"), "{head}");
        let (meta, request) = body
            .split_once("\r\nq")
            .map_or((body, ""), |(meta, rest)| (meta, rest));
        assert!(
            meta.contains(r#"{"url":"http://example.org/a?b="#),
            "{meta}"
        );
        assert!(request.contains("GET /a?b="), "{request}");
        for window in [1, 7, 128] {
            assert_eq!(whole(&preamble, window), text);
        }
    }

    #[test]
    fn frames_of_any_length_say_it_twice() {
        for (length, expected) in [
            (0, &b"\r\n3\r\nr\0\0"[..]),
            (13, b"\r\n10\r\nr\0\x0d"),
            (LONGEST_PIECE, b"\r\n10002\r\nr\xff\xff"),
        ] {
            assert_eq!(piece(length), *expected);
        }
    }

    #[test]
    fn what_is_no_collector_is_refused() {
        let why = |url, token| Collector::new(url, token).expect_err("no collector");
        assert!(matches!(why("keeper", None), CollectorError::Url(_)));
        assert_eq!(why("https://keeper.test/", None), CollectorError::Https);
        for token in ["short", "0123456789abcde\n", "0123456789 abcdef"] {
            assert_eq!(
                why("http://keeper.test/", Some(token)),
                CollectorError::Token
            );
        }
    }
}
