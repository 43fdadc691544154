//! One request and its answer, as they went over the wire, made into what an archive keeps: the
//! answer's head without what framed its body, and the body itself.

use std::net::IpAddr;

use dunlin::fetch::{Limits, Method, Response, ResponseError, Step};

/// A request and its answer as bytes of the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The URL that was asked for.
    pub url: String,
    /// Where it was asked.
    pub address: Option<IpAddr>,
    /// When, as Unix time in seconds.
    pub time: u64,
    /// The request as it was sent, head and all.
    pub request: Vec<u8>,
    /// The answer, as far as it was read.
    pub response: Vec<u8>,
}

/// An answer as it is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status line and fields, with the empty line at their end.
    pub head: Vec<u8>,
    /// The body, without chunks around it.
    pub body: Vec<u8>,
    /// The status code of the status line.
    pub status: u16,
    /// The media type, without parameters.
    pub media_type: String,
    /// The body is longer than what was read of it.
    pub cut: bool,
}

/// Media types that are longer are not written down.
const LONGEST_MEDIA_TYPE: usize = 127;
/// What a head calls its framing once the chunks are gone: `warcio` and `pywb` know the name.
const FRAMED: &[u8] = b"X-Archive-Orig-Transfer-Encoding";

impl Answer {
    /// Reads an answer with the parser that the crawler reads with: what is archived is what was
    /// compared. Up to `most` bytes of body are kept.
    ///
    /// # Errors
    /// It is no HTTP, or ends in the middle.
    pub fn read(bytes: &[u8], most: u32) -> Result<Self, ResponseError> {
        let limits = Limits::DEFAULT.with_body_bytes(most);
        let mut response = Response::new(Method::Get, limits);
        let mut input = bytes;
        let mut head = &bytes[..0];
        let mut body = Vec::new();
        loop {
            match response.step(&mut input)? {
                Step::Head => head = &bytes[..bytes.len() - input.len()],
                Step::Body(piece) => body.extend_from_slice(piece),
                Step::Done => break,
                Step::More => {
                    response.end()?;
                    break;
                }
            }
        }
        let fields = fields(head);
        Ok(Self {
            status: response.head().status,
            media_type: media_type(&fields),
            head: archived(&fields),
            body,
            cut: response.truncated(),
        })
    }
}

/// Status and media type of a head that is archived, or of what begins with one.
pub fn described(block: &[u8]) -> (Option<u16>, String) {
    let (head, _) = split(block);
    let fields = fields(head);
    let line = fields.first().copied().unwrap_or_default();
    let status = line.split(|byte| *byte == b' ').nth(1);
    let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    (status, media_type(&fields))
}

/// A field of a head that is archived.
pub fn header(head: &[u8], name: &str) -> Option<String> {
    let lines = fields(head);
    let mut named = lines.iter().skip(1).filter_map(|line| field(line));
    let found = named.find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// What is archived of an answer, as head and body.
pub fn split(block: &[u8]) -> (&[u8], &[u8]) {
    let end = block.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    block.split_at(end.map_or(block.len(), |end| end + 4))
}

/// The lines of the last head: interim ones (1xx) come before it.
fn fields(heads: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut over = false;
    for line in heads.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            over = true;
            continue;
        }
        if std::mem::take(&mut over) {
            lines.clear();
        }
        lines.push(line);
    }
    lines
}

/// A field's name and value.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    Some((name, value.get(1..)?.trim_ascii()))
}

fn media_type(lines: &[&[u8]]) -> String {
    let named = lines.iter().skip(1).filter_map(|line| field(line));
    let value = named
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"content-type"))
        .map(|(_, value)| value.split(|byte| *byte == b';').next().unwrap_or_default())
        .next();
    let value = value.unwrap_or_default().trim_ascii();
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+-._".contains(byte);
    if value.is_empty() || value.len() > LONGEST_MEDIA_TYPE || !value.iter().all(token) {
        return "unk".into();
    }
    String::from_utf8_lossy(value).to_ascii_lowercase()
}

/// The head as it is kept: the lines as they came, but for the name of what is no longer true.
fn archived(lines: &[&[u8]]) -> Vec<u8> {
    let mut head = Vec::new();
    for line in lines {
        match field(line) {
            Some((name, value)) if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                head.extend_from_slice(FRAMED);
                head.extend_from_slice(b": ");
                head.extend_from_slice(value);
            }
            _ => head.extend_from_slice(line),
        }
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Answer {
        Answer::read(text.as_bytes(), 1 << 20).expect("an answer")
    }

    #[test]
    fn chunks_are_taken_away_and_said() {
        let answer = read(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 Fine\r\n\
            Content-Type: Text/HTML; charset=utf-8\r\ntransfer-encoding:  chunked\r\n\r\n\
            5;ext=1\r\nhello\r\n3\r\n, a\r\n0\r\nTrailer: x\r\n\r\n",
        );
        let head = "HTTP/1.1 200 Fine\r\nContent-Type: Text/HTML; charset=utf-8\r\n\
            X-Archive-Orig-Transfer-Encoding: chunked\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&answer.head), head);
        assert_eq!(answer.body, b"hello, a");
        assert_eq!((answer.status, answer.cut), (200, false));
        assert_eq!(answer.media_type, "text/html");
    }

    #[test]
    fn bare_line_ends_bodies_until_the_end_and_long_ones() {
        let answer = read("HTTP/1.0 404 No\nContent-Type: \"evil\r\n\r\nuntil the end");
        assert_eq!(
            answer.head,
            b"HTTP/1.0 404 No\r\nContent-Type: \"evil\r\n\r\n"
        );
        assert_eq!((answer.status, answer.media_type.as_str()), (404, "unk"));
        assert_eq!(answer.body, b"until the end");
        let long = Answer::read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789", 4);
        let long = long.expect("an answer");
        assert!(long.cut && long.body == b"1234");
        for cut in [
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234",
            "",
            "SSH-2.0",
        ] {
            assert!(Answer::read(cut.as_bytes(), 100).is_err(), "{cut}");
        }
    }
}
