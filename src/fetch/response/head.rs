//! The head of a response: status line and header fields, of which we keep eleven (RFC 9112 §4 and
//! §5).
//!
//! Bytes come in any pieces and pass through one window. Real heads run to many KiB of cookies and
//! policies; lines that do not fit are counted and forgotten, and only a framing field may not be
//! that long.

#[cfg(feature = "update")]
use core::num::NonZeroU32;

use super::{Limits, ResponseError};
use crate::fetch::ascii::{same, trimmed};
use crate::fetch::date::HttpDate;
use crate::fetch::number::decimal;
#[cfg(feature = "discover")]
use crate::fetch::robots::{AgentName, Directives};
use crate::fetch::validator::{Etag, RetryAfter, cache_lifetime, list, members};

/// Longest `Location` that is kept.
const LOCATION: usize = 512;
/// What always remains of the window for other lines, even beside the longest `Location`.
const OTHERS: usize = 128;

/// What a response's head said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// The status code, 200 to 999 once the head is complete.
    pub status: u16,
    /// The tag of this version of the page.
    pub etag: Option<Etag>,
    /// When the page last changed, by the server's word.
    pub last_modified: Option<HttpDate>,
    /// The server's clock when it answered.
    pub date: Option<HttpDate>,
    /// When to come back.
    pub retry_after: Option<RetryAfter>,
    /// Seconds this version stays good: `Cache-Control: max-age`, 0 for `no-cache` and `no-store`.
    pub max_age: Option<u32>,
    /// When this version stops being good. A value that is no date means "already" and is kept as
    /// 1970.
    pub expires: Option<HttpDate>,
    /// Seconds that this answer has spent in caches on its way.
    #[cfg(feature = "hints")]
    pub age: u32,
    /// Encoded (gzip, …) although we asked for `identity`: the fingerprint is of the encoded bytes.
    pub encoded: bool,
    /// What `X-Robots-Tag` asks of everybody, and of the agent that reads the response.
    #[cfg(feature = "discover")]
    pub directives: Directives,
    /// The body is the rest of a whole, by an answer to a request for it.
    #[cfg(feature = "update")]
    pub content_range: Option<ContentRange>,
    /// Where the body ends.
    pub(super) framing: Framing,
    /// May the connection be used again, as far as the head tells?
    pub(super) persistent: bool,
}

/// The body is the rest of a whole, from one byte on to the end (RFC 9110 §14.4): no other part is
/// ever asked for.
#[cfg(feature = "update")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Its first byte, counted from 0.
    pub first: u32,
    /// Bytes of the whole.
    pub total: NonZeroU32,
}

#[cfg(feature = "update")]
impl ContentRange {
    /// Reads `bytes 900-999/1000`; `None` for anything else: another part than the rest, numbers
    /// that do not fit, a whole whose length is not known.
    fn parse(value: &[u8]) -> Option<Self> {
        let (unit, rest) = value.split_at_checked(6)?;
        let dash = rest.iter().position(|byte| *byte == b'-')?;
        let slash = rest.iter().position(|byte| *byte == b'/')?;
        let number = |digits: Option<&[u8]>| u32::try_from(decimal(digits?)?).ok();
        let first = number(rest.get(..dash))?;
        let last = number(rest.get(dash + 1..slash))?;
        let total = NonZeroU32::new(number(rest.get(slash + 1..))?)?;
        let to_the_end = first <= last && last == total.get() - 1;
        (same(unit, b"bytes ") && to_the_end).then_some(Self { first, total })
    }
}

/// The fields we read.
#[derive(Clone, Copy)]
enum Field {
    #[cfg(feature = "hints")]
    Age,
    CacheControl,
    Connection,
    ContentEncoding,
    ContentLength,
    #[cfg(feature = "update")]
    ContentRange,
    Date,
    Etag,
    Expires,
    LastModified,
    Location,
    RetryAfter,
    TransferEncoding,
}

const FIELDS: &[(&str, Field)] = &[
    #[cfg(feature = "hints")]
    ("age", Field::Age),
    ("cache-control", Field::CacheControl),
    ("connection", Field::Connection),
    ("content-encoding", Field::ContentEncoding),
    ("content-length", Field::ContentLength),
    #[cfg(feature = "update")]
    ("content-range", Field::ContentRange),
    ("date", Field::Date),
    ("etag", Field::Etag),
    ("expires", Field::Expires),
    ("last-modified", Field::LastModified),
    ("location", Field::Location),
    ("retry-after", Field::RetryAfter),
    ("transfer-encoding", Field::TransferEncoding),
];

/// What the framing fields said, before RFC 9112 §6.3 weighs them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Framing {
    pub(super) content_length: Option<u64>,
    pub(super) transfer_encoding: bool,
    /// The last transfer coding is `chunked`.
    pub(super) chunked: bool,
}

/// Reads a head byte by byte.
#[derive(Clone, Debug)]
pub(super) struct HeadReader {
    place: Place,
    status_line: bool,
    /// Bytes and fields of all heads of this response, interim ones and trailers included.
    bytes: u32,
    fields: u16,
    /// `Location` first, then the line at hand.
    window: [u8; LOCATION + OTHERS],
    location: u16,
    line: u16,
    /// The line at hand did not fit.
    long: bool,
    location_too_long: bool,
    /// Who reads it: a field may be for one agent alone.
    #[cfg(feature = "discover")]
    pub(super) agent: AgentName,
    pub(super) head: Head,
}

/// Where in a line the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the status line: stray line ends of the response before are skipped (RFC 9112 §2.2).
    Start,
    Line,
    /// It has read a CR that ends a line.
    Cr,
    /// It has read a line: the next byte tells whether it goes on (obs-fold).
    Next,
    /// It has read the CR of the empty line.
    LastCr,
}

impl HeadReader {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            place: Place::Start,
            status_line: true,
            bytes: 0,
            fields: 0,
            window: [0; LOCATION + OTHERS],
            location: 0,
            line: 0,
            long: false,
            location_too_long: false,
            #[cfg(feature = "discover")]
            agent: AgentName::default(),
            head: Head::default(),
        }
    }

    /// Gets ready for the next head of the same response; what was counted stays counted.
    pub(super) fn next_head(&mut self) {
        *self = Self {
            bytes: self.bytes,
            fields: self.fields,
            #[cfg(feature = "discover")]
            agent: self.agent,
            ..Self::new()
        };
    }

    /// Has any byte of a head arrived?
    pub(super) fn started(&self) -> bool {
        self.bytes > 0
    }

    /// What `Location` said, if it said something and the status is a redirect. Of an answer that
    /// is none, where its `Link` says that a feed is, if anybody reads feeds.
    pub(super) fn location(&self) -> Option<&[u8]> {
        self.window
            .get(..usize::from(self.location))
            .filter(|text| !text.is_empty() && !self.location_too_long)
    }

    /// Counts bytes of heads and trailers against their limit.
    pub(super) fn count_byte(&mut self, limits: &Limits) -> Result<(), ResponseError> {
        self.bytes = self.bytes.saturating_add(1);
        if self.bytes > limits.head_bytes {
            Err(ResponseError::HeadTooLong)
        } else {
            Ok(())
        }
    }

    /// Counts fields of heads and trailers against their limit.
    pub(super) fn count_field(&mut self, limits: &Limits) -> Result<(), ResponseError> {
        self.fields = self.fields.saturating_add(1);
        if self.fields > limits.fields {
            Err(ResponseError::TooManyFields)
        } else {
            Ok(())
        }
    }

    /// Takes one byte; true when the head is complete.
    pub(super) fn push(&mut self, byte: u8, limits: &Limits) -> Result<bool, ResponseError> {
        self.count_byte(limits)?;
        match (self.place, byte) {
            (Place::Start, b'\r' | b'\n') => {}
            (Place::Line, b'\r') => self.place = Place::Cr,
            (Place::Line | Place::Cr, b'\n') => self.place = Place::Next,
            (Place::Start | Place::Line, _) => self.keep(byte)?,
            (Place::Next, b'\r') => self.place = Place::LastCr,
            (Place::Next | Place::LastCr, b'\n') => {
                self.end_line(limits)?;
                return Ok(true);
            }
            // A folded line goes on: RFC 9112 §5.2 puts a space for the line end. After the status
            // line it would be a header in disguise (§2.2).
            (Place::Next, b' ' | b'\t') if !self.status_line => self.keep(b' ')?,
            (Place::Next, b' ' | b'\t') => return Err(ResponseError::Field),
            (Place::Next, _) => {
                self.end_line(limits)?;
                self.keep(byte)?;
            }
            // A bare CR: reading on could see two lines where the server meant one.
            (Place::Cr | Place::LastCr, _) => return Err(ResponseError::LineEnd),
        }
        Ok(false)
    }

    /// Adds a byte to the line at hand, or forgets it if the window is full.
    fn keep(&mut self, byte: u8) -> Result<(), ResponseError> {
        self.place = Place::Line;
        if byte.is_ascii_control() && byte != b'\t' {
            return Err(if self.status_line {
                ResponseError::StatusLine
            } else {
                ResponseError::Field
            });
        }
        match self.window.get_mut(usize::from(self.location + self.line)) {
            Some(slot) => {
                *slot = byte;
                self.line += 1;
            }
            None => self.long = true,
        }
        Ok(())
    }

    fn end_line(&mut self, limits: &Limits) -> Result<(), ResponseError> {
        let start = usize::from(self.location);
        let end = usize::from(self.location + self.line);
        let line = self.window.get(start..end).unwrap_or_default();
        if self.status_line {
            (self.head.status, self.head.persistent) =
                status_line(line).ok_or(ResponseError::StatusLine)?;
            self.status_line = false;
        } else {
            let colon = line
                .iter()
                .position(|byte| *byte == b':')
                .ok_or(ResponseError::Field)?;
            let (name, value) = line.split_at(colon);
            if name.is_empty() || !name.iter().copied().all(is_token) {
                return Err(ResponseError::Field);
            }
            let value = value.get(1..).unwrap_or_default().trim_ascii_start();
            let value_start = end - value.len();
            let value = value.trim_ascii_end();
            let length = value.len();
            #[cfg(feature = "discover")]
            if same(name, b"x-robots-tag") {
                // As far as it was kept: what is asked for at its beginning is asked for.
                let said = Directives::of_value(value, self.agent);
                self.head.directives = self.head.directives.and(said);
            }
            let is_location = self.head.field(name, value, self.long)?;
            #[cfg(feature = "hints")]
            let feed = match same(name, b"link") {
                true => self.head.feed(value, self.long),
                false => None,
            };
            if is_location && (300..400).contains(&self.head.status) && self.location == 0 {
                self.keep_location(value_start, length);
            }
            #[cfg(feature = "hints")]
            if let Some(feed) = feed.filter(|_| self.location == 0) {
                self.keep_location(value_start + feed.start, feed.len());
            }
            self.count_field(limits)?;
        }
        self.line = 0;
        self.long = false;
        Ok(())
    }

    /// Moves a `Location` value to the front of the window, where later lines leave it alone.
    fn keep_location(&mut self, start: usize, length: usize) {
        self.location_too_long = self.long || length > LOCATION;
        if self.location_too_long {
            return;
        }
        for to in 0..length {
            let Some(byte) = self.window.get(start + to).copied() else {
                return;
            };
            self.window
                .get_mut(to)
                .into_iter()
                .for_each(|slot| *slot = byte);
        }
        self.location = length as u16;
    }
}

impl Head {
    /// Bytes of the body by the server's word, if it gave one that counts.
    #[cfg(feature = "update")]
    pub fn length(&self) -> Option<u64> {
        self.framing
            .content_length
            .filter(|_| !self.framing.transfer_encoding)
    }

    /// Where the value of a `Link` has the URL of a feed, if this is the head of a page. Cut off,
    /// it could mean something else.
    #[cfg(feature = "hints")]
    fn feed(&self, value: &[u8], long: bool) -> Option<core::ops::Range<usize>> {
        let is_page = (200..300).contains(&self.status) && !long;
        is_page.then(|| crate::fetch::link::feed(value)).flatten()
    }

    /// Takes what we need from one field. True for `Location`, which the reader keeps itself.
    fn field(&mut self, name: &[u8], value: &[u8], long: bool) -> Result<bool, ResponseError> {
        let Some(known) = FIELDS
            .iter()
            .find(|(known, _)| same(name, known.as_bytes()))
        else {
            return Ok(false);
        };
        // The first answer counts where a server gives several.
        match known.1 {
            Field::ContentLength => {
                self.framing.content_length =
                    Some(content_length(value, self.framing.content_length, long)?);
            }
            Field::TransferEncoding => self.transfer_encoding(value, long)?,
            Field::Connection => {
                self.persistent &= !long && !members(value, b"close").0;
            }
            Field::Location => return Ok(true),
            // Cut off, it could mean something else.
            _ if long => {}
            #[cfg(feature = "hints")]
            Field::Age => {
                self.age = decimal(value).map_or(0, |age| age.min(u32::MAX.into()) as u32)
            }
            Field::ContentEncoding => self.encoded |= members(value, b"identity").1,
            #[cfg(feature = "update")]
            Field::ContentRange => {
                self.content_range = self.content_range.or_else(|| ContentRange::parse(value))
            }
            Field::Etag => self.etag = self.etag.or_else(|| Etag::new(value)),
            Field::LastModified => {
                self.last_modified = self.last_modified.or_else(|| HttpDate::of_header(value))
            }
            Field::Date => self.date = self.date.or_else(|| HttpDate::of_header(value)),
            Field::RetryAfter => {
                self.retry_after = self.retry_after.or_else(|| RetryAfter::parse(value))
            }
            Field::CacheControl => self.max_age = self.max_age.or_else(|| cache_lifetime(value)),
            Field::Expires => {
                self.expires = self
                    .expires
                    .or_else(|| HttpDate::of_header(value).or(HttpDate::from_unix(0)));
            }
        }
        Ok(false)
    }

    /// RFC 9112 §6.1: codings in the order they were applied, over one field or several.
    fn transfer_encoding(&mut self, value: &[u8], long: bool) -> Result<(), ResponseError> {
        if long {
            return Err(ResponseError::TransferEncoding);
        }
        self.framing.transfer_encoding = true;
        for coding in list(value) {
            // Chunked twice, or something around chunked: nobody can tell where such a body ends.
            if self.framing.chunked {
                return Err(ResponseError::TransferEncoding);
            }
            if same(coding, b"chunked") {
                self.framing.chunked = true;
            } else if !same(coding, b"identity") {
                self.encoded = true;
            }
        }
        Ok(())
    }
}

/// `HTTP/1.1 200 OK`: the status, and whether this version keeps connections open by default.
fn status_line(line: &[u8]) -> Option<(u16, bool)> {
    let [
        b'H',
        b'T',
        b'T',
        b'P',
        b'/',
        b'1',
        b'.',
        minor @ b'0'..=b'9',
        b' ',
        rest @ ..,
    ] = line
    else {
        return None;
    };
    // The reason phrase is for people, and some servers leave out even the space before it.
    let (code, after) = rest.split_first_chunk::<3>()?;
    if !matches!(after.first(), None | Some(b' ')) || !code.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let status = code
        .iter()
        .fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    (status >= 100).then_some((status, *minor != b'0'))
}

/// One number, or the same number several times over (RFC 9112 §6.3, item 5).
fn content_length(value: &[u8], before: Option<u64>, long: bool) -> Result<u64, ResponseError> {
    let mut length = before;
    for member in value.split(|byte| *byte == b',') {
        let number = decimal(trimmed(member)).ok_or(ResponseError::ContentLength)?;
        // The largest number stands for all that do not fit.
        if long || number == u64::MAX || length.is_some_and(|other| other != number) {
            return Err(ResponseError::ContentLength);
        }
        length = Some(number);
    }
    length.ok_or(ResponseError::ContentLength)
}

/// Whether a token may hold this byte (RFC 9110 §5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
