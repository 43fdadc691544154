//! What a probe posts: frames, each a letter, a length in two bytes (big end first), and so many
//! bytes. Bodies have no length before they end, so there are as many frames as it takes.
//!
//! | letter | what it holds | how often |
//! |---|---|---|
//! | `m` | JSON: `url`, and if they are known `time` (Unix, seconds) and `address` | once, first |
//! | `q` | a piece of the request as it was sent | any number |
//! | `r` | a piece of the answer as it came, head and framing included | any number |
//! | `v` | the verdict: `changed`, `same` or `failed`; then, after a space, the probe's fingerprint of the body if it has one | once, last |
//!
//! Probes write the same frames: room `collect` of the crate.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::archive::exchange::Exchange;

/// No frame holds more: its length has two bytes.
pub const LONGEST: usize = u16::MAX as usize;
/// The longest request that is taken: nobody needs more.
const MOST_REQUEST: usize = 64 * 1024;
/// A body of 1 MiB, however it is cut into chunks.
const MOST_RESPONSE: usize = 8 << 20;

/// What the first frame says about the exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Meta {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

/// What the probe thinks of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is another version.
    Changed,
    /// It is the one that is known.
    Same,
    /// It was not read to its end.
    Failed,
}

/// Why frames make no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A letter or an order that is none.
    Frame,
    /// The first frame is no JSON with a URL.
    Meta,
    /// Request or answer are longer than what is taken.
    TooLong,
}

/// What a frame holds, by its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Meta,
    Request,
    Response,
    Verdict,
}

/// Which byte comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NextByte {
    /// The letter that a frame begins with.
    #[default]
    Letter,
    /// The first byte of a frame's length.
    High(FrameKind),
    /// The second byte of the length, whose first byte is this.
    Low(FrameKind, u8),
    /// The next byte of what a frame holds; so many are left of it.
    Content(FrameKind, usize),
}

/// Reads frames, in any pieces, and puts what they hold where it belongs. Memory: what the limits
/// allow.
#[derive(Debug, Default)]
pub struct Reader {
    next: NextByte,
    /// What has come of a frame that is read as a whole: the first one, and the verdict.
    text: Vec<u8>,
    exchange: Option<Exchange>,
    verdict: Option<Verdict>,
}

impl Reader {
    /// Takes bytes.
    ///
    /// # Errors
    /// They are no frames of an exchange.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), Wrong> {
        while let Some((first, rest)) = bytes.split_first() {
            match self.next {
                NextByte::Letter => self.next = NextByte::High(self.kind(*first)?),
                NextByte::High(kind) => self.next = NextByte::Low(kind, *first),
                NextByte::Low(kind, high) => {
                    self.begin(kind, usize::from(u16::from_be_bytes([high, *first])))?;
                }
                NextByte::Content(kind, left) => {
                    let (piece, after) = bytes.split_at(left.min(bytes.len()));
                    self.put(kind, piece);
                    self.go_on(kind, left - piece.len())?;
                    bytes = after;
                    continue;
                }
            }
            bytes = rest;
        }
        Ok(())
    }

    /// What a frame with this letter holds, if one may come now.
    fn kind(&self, letter: u8) -> Result<FrameKind, Wrong> {
        match (letter, &self.exchange, self.verdict) {
            (b'm', None, None) => Ok(FrameKind::Meta),
            (b'q', Some(_), None) => Ok(FrameKind::Request),
            (b'r', Some(_), None) => Ok(FrameKind::Response),
            (b'v', Some(_), None) => Ok(FrameKind::Verdict),
            _ => Err(Wrong::Frame),
        }
    }

    /// A frame of so many bytes begins: there has to be room for all of it.
    fn begin(&mut self, kind: FrameKind, length: usize) -> Result<(), Wrong> {
        let (held, most) = match (kind, &self.exchange) {
            (FrameKind::Request, Some(exchange)) => (exchange.request.len(), MOST_REQUEST),
            (FrameKind::Response, Some(exchange)) => (exchange.response.len(), MOST_RESPONSE),
            // No frame is longer.
            _ => (0, LONGEST),
        };
        if held + length > most {
            return Err(Wrong::TooLong);
        }
        self.go_on(kind, length)
    }

    /// So many bytes of a frame are left.
    fn go_on(&mut self, kind: FrameKind, left: usize) -> Result<(), Wrong> {
        if left > 0 {
            self.next = NextByte::Content(kind, left);
            return Ok(());
        }
        self.next = NextByte::Letter;
        match kind {
            FrameKind::Meta => self.exchange = Some(described(&self.text)?),
            FrameKind::Verdict => self.verdict = Some(judged(&self.text)?),
            FrameKind::Request | FrameKind::Response => {}
        }
        self.text.clear();
        Ok(())
    }

    /// Keeps a piece of a frame.
    fn put(&mut self, kind: FrameKind, piece: &[u8]) {
        let to = match (kind, &mut self.exchange) {
            (FrameKind::Request, Some(exchange)) => &mut exchange.request,
            (FrameKind::Response, Some(exchange)) => &mut exchange.response,
            _ => &mut self.text,
        };
        to.extend_from_slice(piece);
    }

    /// Bytes of memory that it holds.
    pub fn held(&self) -> usize {
        let exchange = self.exchange.as_ref();
        let of_exchange = |one: &Exchange| one.request.capacity() + one.response.capacity();
        self.text.capacity() + exchange.map_or(0, of_exchange)
    }

    /// What was sent, and the verdict; `None` if that has not come.
    pub fn finish(self) -> Option<(Exchange, Verdict)> {
        match (self.next, self.exchange, self.verdict) {
            (NextByte::Letter, Some(exchange), Some(verdict)) => Some((exchange, verdict)),
            _ => None,
        }
    }
}

/// The exchange that the first frame speaks of, without its bytes.
fn described(text: &[u8]) -> Result<Exchange, Wrong> {
    let meta: Meta = serde_json::from_slice(text).map_err(|_| Wrong::Meta)?;
    if dunlin::fetch::Url::parse(&meta.url).is_err() {
        return Err(Wrong::Meta);
    }
    Ok(Exchange {
        url: meta.url,
        address: meta.address,
        time: meta.time.unwrap_or(0),
        ..Exchange::default()
    })
}

/// What the last frame says.
fn judged(text: &[u8]) -> Result<Verdict, Wrong> {
    let mut words = text.split(|byte| *byte == b' ');
    let verdict = match words.next() {
        Some(b"changed") => Verdict::Changed,
        Some(b"same") => Verdict::Same,
        Some(b"failed") => Verdict::Failed,
        _ => return Err(Wrong::Frame),
    };
    // Its key is the probe's own: nobody else can compare it with anything.
    let is_hash = |word: &[u8]| word.len() == 16 && word.iter().all(u8::is_ascii_hexdigit);
    match (words.next().is_none_or(is_hash), words.next()) {
        (true, None) => Ok(verdict),
        _ => Err(Wrong::Frame),
    }
}

/// The frames of an exchange that has changed.
pub fn write(exchange: &Exchange) -> Vec<u8> {
    let mut out = Vec::new();
    let meta = Meta {
        url: exchange.url.clone(),
        time: Some(exchange.time),
        address: exchange.address,
    };
    // Text and numbers: it has no way to fail.
    let meta = serde_json::to_vec(&meta).unwrap_or_default();
    let parts = [
        (b'm', &meta[..]),
        (b'q', &exchange.request),
        (b'r', &exchange.response),
        (b'v', b"changed"),
    ];
    for (kind, content) in parts {
        for piece in content.chunks(LONGEST) {
            out.push(kind);
            out.extend_from_slice(&(piece.len() as u16).to_be_bytes());
            out.extend_from_slice(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Exchange {
        Exchange {
            url: "http://a.test/".into(),
            address: Some([127, 0, 0, 1].into()),
            time: 1_794_000_000,
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            response: vec![b'x'; 200_000],
        }
    }

    #[test]
    fn frames_come_back_in_any_pieces_and_not_without_their_verdict() {
        let bytes = write(&sample());
        for size in [1_000_000, 4_096, 7, 1] {
            let mut reader = Reader::default();
            for piece in bytes.chunks(size) {
                reader.take(piece).expect("frames");
            }
            assert!(reader.held() >= 200_000);
            assert_eq!(reader.finish(), Some((sample(), Verdict::Changed)));
        }
        // In the letter, the length and the content of the last frame, and before it.
        for missing in 1..=11 {
            let mut cut = Reader::default();
            cut.take(&bytes[..bytes.len() - missing]).expect("frames");
            assert_eq!(cut.finish(), None, "{missing} bytes are missing");
        }
    }

    #[test]
    fn empty_frames_hold_nothing_and_are_taken() {
        let empty = |kind: u8| [kind, 0, 0];
        let bytes = write(&Exchange {
            request: Vec::new(),
            response: Vec::new(),
            ..sample()
        });
        let verdict = bytes.len() - b"v\0\x07changed".len();
        let (meta, verdict) = bytes.split_at(verdict);
        let frames = [meta, &empty(b'q'), &empty(b'r'), &empty(b'r'), verdict].concat();
        let mut reader = Reader::default();
        reader.take(&frames).expect("frames");
        let (exchange, verdict) = reader.finish().expect("an exchange");
        assert_eq!(verdict, Verdict::Changed);
        assert_eq!(
            (exchange.url, exchange.response),
            (sample().url, Vec::new())
        );
        for kind in [b'm', b'v'] {
            let mut reader = Reader::default();
            let before = if kind == b'm' { &[][..] } else { meta };
            reader.take(before).expect("a beginning");
            assert!(reader.take(&empty(kind)).is_err(), "{}", char::from(kind));
        }
    }

    #[test]
    fn what_is_no_exchange_is_refused() {
        let frames = |parts: &[(u8, &str)]| {
            let mut reader = Reader::default();
            let mut bytes = Vec::new();
            for (kind, content) in parts {
                bytes.extend([*kind, 0, content.len() as u8]);
                bytes.extend(content.bytes());
            }
            reader.take(&bytes)
        };
        let meta = (b'm', r#"{"url":"http://a.test/"}"#);
        assert_eq!(frames(&[meta, (b'v', "same")]), Ok(()));
        assert_eq!(frames(&[meta, (b'v', "same 0123456789abcdef")]), Ok(()));
        assert_eq!(frames(&[meta, (b'v', "same 0123")]), Err(Wrong::Frame));
        assert_eq!(frames(&[(b'q', "")]), Err(Wrong::Frame));
        assert_eq!(frames(&[(b'm', "{}")]), Err(Wrong::Meta));
        assert_eq!(frames(&[(b'm', r#"{"url":"file:///"}"#)]), Err(Wrong::Meta));
        assert_eq!(frames(&[meta, meta]), Err(Wrong::Frame));
        assert_eq!(frames(&[meta, (b'x', "")]), Err(Wrong::Frame));
        assert_eq!(frames(&[meta, (b'v', "perhaps")]), Err(Wrong::Frame));
        assert_eq!(
            frames(&[meta, (b'v', "same"), (b'r', "")]),
            Err(Wrong::Frame)
        );
        let mut endless = Reader::default();
        endless.take(&[b'm', 0, 24]).expect("a beginning");
        endless.take(meta.1.as_bytes()).expect("a frame");
        let piece = [&[b'r', 0xff, 0xff][..], &[0; LONGEST]].concat();
        let taken = (0..1_000)
            .take_while(|_| endless.take(&piece).is_ok())
            .count();
        assert!(taken * LONGEST <= MOST_RESPONSE, "{taken} frames");
        assert!((taken + 1) * LONGEST > MOST_RESPONSE, "{taken} frames");
        assert!(endless.held() <= 2 * MOST_RESPONSE, "{}", endless.held());
    }
}
