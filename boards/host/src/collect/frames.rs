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

/// Reads frames, in any pieces. Memory: what the limits allow, and one frame.
#[derive(Debug, Default)]
pub struct Reader {
    rest: Vec<u8>,
    exchange: Option<Exchange>,
    verdict: Option<Verdict>,
}

impl Reader {
    /// Takes bytes.
    ///
    /// # Errors
    /// They are no frames of an exchange.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        self.rest.extend_from_slice(bytes);
        let mut used = 0;
        while let Some([kind, high, low, after @ ..]) = self.rest.get(used..) {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            let Some(content) = after.get(..length) else {
                break;
            };
            let (kind, content) = (*kind, content.to_vec());
            used += 3 + length;
            self.frame(kind, &content)?;
        }
        self.rest.drain(..used);
        Ok(())
    }

    fn frame(&mut self, kind: u8, content: &[u8]) -> Result<(), Wrong> {
        if self.verdict.is_some() {
            return Err(Wrong::Frame);
        }
        let grow = |bytes: &mut Vec<u8>, most| {
            if bytes.len() + content.len() > most {
                return Err(Wrong::TooLong);
            }
            bytes.extend_from_slice(content);
            Ok(())
        };
        match (kind, &mut self.exchange) {
            (b'm', None) => {
                let meta: Meta = serde_json::from_slice(content).map_err(|_| Wrong::Meta)?;
                if dunlin::fetch::Url::parse(&meta.url).is_err() {
                    return Err(Wrong::Meta);
                }
                self.exchange = Some(Exchange {
                    url: meta.url,
                    address: meta.address,
                    time: meta.time.unwrap_or(0),
                    ..Exchange::default()
                });
                Ok(())
            }
            (b'q', Some(exchange)) => grow(&mut exchange.request, MOST_REQUEST),
            (b'r', Some(exchange)) => grow(&mut exchange.response, MOST_RESPONSE),
            (b'v', Some(_)) => {
                let mut words = content.split(|byte| *byte == b' ');
                self.verdict = Some(match words.next() {
                    Some(b"changed") => Verdict::Changed,
                    Some(b"same") => Verdict::Same,
                    Some(b"failed") => Verdict::Failed,
                    _ => return Err(Wrong::Frame),
                });
                // Its key is the probe's own: nobody else can compare it with anything.
                let is_hash =
                    |word: &[u8]| word.len() == 16 && word.iter().all(u8::is_ascii_hexdigit);
                match (words.next().is_none_or(is_hash), words.next()) {
                    (true, None) => Ok(()),
                    _ => Err(Wrong::Frame),
                }
            }
            _ => Err(Wrong::Frame),
        }
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        let exchange = self.exchange.as_ref();
        self.rest.len() + exchange.map_or(0, |one| one.request.len() + one.response.len())
    }

    /// What was sent, and the verdict; `None` if that has not come.
    pub fn finish(self) -> Option<(Exchange, Verdict)> {
        match (self.rest.is_empty(), self.exchange, self.verdict) {
            (true, Some(exchange), Some(verdict)) => Some((exchange, verdict)),
            _ => None,
        }
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
        for size in [1_000_000, 4_096, 7] {
            let mut reader = Reader::default();
            for piece in bytes.chunks(size) {
                reader.take(piece).expect("frames");
            }
            assert!(reader.held() >= 200_000);
            assert_eq!(reader.finish(), Some((sample(), Verdict::Changed)));
        }
        let mut cut = Reader::default();
        cut.take(&bytes[..bytes.len() - 1]).expect("frames");
        assert_eq!(cut.finish(), None);
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
    }
}
