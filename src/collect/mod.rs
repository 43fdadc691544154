//! collect: the copy itself, to whoever keeps it.
//!
//! While a page is fetched, what comes is handed on to a *collector* over a second connection,
//! piece by piece: nothing of it is kept here, and a collector that is slow, full or gone stops
//! nothing. This room says which bytes go there, and when it is tried again after a failure;
//! `probe` moves them.
//!
//! A delivery is one `POST /v1/exchanges` whose body is chunked, and each chunk a frame: a letter,
//! a length in two bytes (big end first), and so many bytes.
//!
//! | letter | what it holds | how often |
//! |---|---|---|
//! | `m` | JSON: `url`, and `time` (Unix, seconds) if that is known | once, first |
//! | `q` | the request as it was sent, secrets left out | once |
//! | `r` | a piece of the answer as it came, head and framing included | any number |
//! | `v` | the copy's status, `changed` or `same`, a space, and the fingerprint in hexadecimal | once, last |
//!
//! The collector keeps what has changed once it has its status, and answers with 200 when it is
//! safe. What is cut before that never was.
//!
//! ```
//! use dunlin::collect::{Collector, CopyStatus, Preamble, ending, piece};
//! use dunlin::fetch::{Agent, Request, Url};
//!
//! let collector = Collector::new("http://keeper.test:8090/", Some("0123456789abcdef")).unwrap();
//! let agent = Agent::new("dunlin/0.1", None).unwrap();
//! let request = Request::get(Url::parse("http://example.org/").unwrap(), agent);
//! let preamble = Preamble { collector: &collector, request: &request, unix_time: Some(7) };
//! let mut window = [0; 1024];
//! let length = preamble.render(0, &mut window);
//! let begins = b"POST /v1/exchanges HTTP/1.1\r\nHost: keeper.test:8090\r\n";
//! assert!(window[..length].starts_with(begins));
//! // Each piece of the answer follows this, and at last the copy's status.
//! assert_eq!(piece(500), *b"\r\n1f7\r\nr\x01\xf4");
//! let ends = b"\r\n1b\r\nv\0\x18changed 00000000000000ab";
//! assert!(ending(CopyStatus::Changed, 0xab).starts_with(ends));
//! ```

mod frames;
mod rest;

pub use frames::{
    Bytes, Collector, CollectorError, CopyStatus, LONGEST_PIECE, Preamble, ending, piece,
};
pub use rest::Rest;

/// Why a version that has changed is not with the collector. It is fetched again, whole, at the
/// page's next visit, unless that is [in vain](Self::is_final).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Uncollected {
    /// The collector's name has no address.
    Name,
    /// No connection to it could be opened.
    Connection,
    /// It took too long: to be opened, to take bytes, or to say that it has them.
    Slow,
    /// The connection broke before it said so.
    Lost,
    /// It answered with this status: 401 for a token that it does not know, 413 for what is too
    /// long, 507 for a full disk.
    Refused(u16),
    /// It was not asked, because it failed a short time ago.
    Resting,
}

impl Uncollected {
    /// The collector will never take this version; there is nothing wrong with others.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Refused(400 | 411 | 413))
    }
}

/// The status of an answer that begins with these bytes; `None` if that is no answer, or not yet.
pub fn status(answer: &[u8]) -> Option<u16> {
    let digits = answer.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    let number = |number: u16, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        Some(number * 10 + digit)
    };
    digits.iter().try_fold(0, number)
}
