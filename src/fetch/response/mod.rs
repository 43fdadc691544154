//! An HTTP/1.x response as a state machine: bytes in, in any pieces; head, body and end out.
//!
//! Nothing here waits, allocates or depends on the body's size. Where a body ends follows RFC 9112
//! §6.3; where a server contradicts itself the answer is an error, never a guess.

mod chunked;
mod head;

use core::fmt;

use chunked::Chunk;
#[cfg(feature = "update")]
pub use head::ContentRange;
pub use head::Head;
use head::HeadReader;

/// What was asked, as far as the answer's framing depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Method {
    /// The whole page was asked for.
    #[default]
    Get,
    /// Its head alone: whatever the head says, no body follows.
    Head,
}

/// How much of a response is worth reading. A server that exceeds them is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of head, interim heads and trailers together.
    pub head_bytes: u32,
    /// Header and trailer fields together.
    pub fields: u16,
    /// Interim (1xx) responses before the real one.
    pub interim: u8,
    /// Bytes of chunk extensions, and of padding beside chunk sizes, together.
    pub extension_bytes: u32,
    /// Bytes of body. A longer page is taken up to here, and marked so.
    pub body_bytes: u32,
}

impl Limits {
    /// 64 KiB of head, 200 fields, 8 interim responses, 4 KiB of extensions, 1 MiB of body.
    pub const DEFAULT: Self = Self {
        head_bytes: 65_536,
        fields: 200,
        interim: 8,
        extension_bytes: 4_096,
        body_bytes: 1 << 20,
    };

    /// The same with another [`body_bytes`](Self::body_bytes).
    #[must_use]
    pub const fn with_body_bytes(mut self, bytes: u32) -> Self {
        self.body_bytes = bytes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Why a response is not worth reading on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ResponseError {
    /// Does not begin with `HTTP/1.x` and a status: another protocol.
    StatusLine,
    /// A header line without a name, with a space in it, or with control characters.
    Field,
    /// A CR without its LF.
    LineEnd,
    /// The head exceeds [`Limits::head_bytes`].
    HeadTooLong,
    /// There are more fields than [`Limits::fields`].
    TooManyFields,
    /// There are more 1xx responses than [`Limits::interim`].
    TooManyInterim,
    /// 101: the server changed to a protocol nobody asked for.
    Upgrade,
    /// Not a number, or several that differ.
    ContentLength,
    /// A coding after `chunked`, or a list too long to judge.
    TransferEncoding,
    /// Not a hex number of at most 15 digits.
    ChunkSize,
    /// Control characters, or more than [`Limits::extension_bytes`].
    ChunkExtension,
    /// Data that does not end where its chunk does.
    ChunkEnd,
    /// The connection ended before the response began. On a connection that was used before, this
    /// only means that the server had closed it: try again on a new one.
    Closed,
    /// The connection ended inside the response.
    Incomplete,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StatusLine => "response does not begin with HTTP/1.x and a status",
            Self::Field => {
                "response has a header line without a valid name, or with control characters"
            }
            Self::LineEnd => "response has a CR without LF in its head",
            Self::HeadTooLong => "response head is longer than the limit",
            Self::TooManyFields => "response has more header fields than the limit",
            Self::TooManyInterim => "server sent more interim (1xx) responses than the limit",
            Self::Upgrade => "server switched protocols without being asked",
            Self::ContentLength => "Content-Length is not one number",
            Self::TransferEncoding => "Transfer-Encoding does not end in chunked once",
            Self::ChunkSize => "chunk size is not a hex number",
            Self::ChunkExtension => "chunk extensions are malformed or longer than the limit",
            Self::ChunkEnd => "chunk data is not followed by CRLF",
            Self::Closed => "server closed the connection without an answer",
            Self::Incomplete => "connection ended inside the response",
        })
    }
}

impl core::error::Error for ResponseError {}

/// What one step found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'i> {
    /// The input is used up; more is needed.
    More,
    /// The head is complete: see [`Response::head`].
    Head,
    /// A piece of the body.
    Body(&'i [u8]),
    /// The response is complete. Input that is left does not belong to it.
    Done,
}

/// Reads one response.
///
/// Each [`step`](Self::step) does work proportional to the input it takes, and takes some or ends.
///
/// ```
/// use dunlin::fetch::{Limits, Method, Response, Step};
///
/// let mut response = Response::new(Method::Get, Limits::DEFAULT);
/// let mut input: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// assert_eq!(response.step(&mut input)?, Step::Head);
/// assert_eq!(response.step(&mut input)?, Step::Body(b"hi"));
/// assert_eq!(response.step(&mut input)?, Step::Done);
/// assert!(response.head().status == 200 && response.reusable());
/// # Ok::<(), dunlin::fetch::ResponseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Response {
    method: Method,
    limits: Limits,
    state: State,
    interim: u8,
    extension_bytes: u32,
    received: u32,
    truncated: bool,
    reader: HeadReader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Length { left: u64 },
    Chunked(Chunk),
    UntilClose,
    Done,
}

impl Response {
    /// Ready for the first byte.
    // Inlined, or its kilobyte would be made in one place and moved to another, twice for each
    // fetch.
    #[inline(always)]
    pub fn new(method: Method, limits: Limits) -> Self {
        Self {
            method,
            limits,
            state: State::Head,
            interim: 0,
            extension_bytes: 0,
            received: 0,
            truncated: false,
            reader: HeadReader::new(),
        }
    }

    /// Says who reads it: `X-Robots-Tag` may be for one agent alone.
    #[cfg(feature = "discover")]
    pub fn read_by(&mut self, agent: &str) {
        self.reader.agent = super::robots::AgentName::new(agent);
    }

    /// What the head said; meaningful after [`Step::Head`].
    pub fn head(&self) -> &Head {
        &self.reader.head
    }

    /// The target of a redirect as the server wrote it, if it fits in 512 bytes. With feature
    /// `hints`, of a page: where its `Link` header says that a feed is.
    pub fn location(&self) -> Option<&[u8]> {
        self.reader.location()
    }

    /// Bytes of body so far.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// The body is longer than [`Limits::body_bytes`] and was taken up to there.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Has any byte of it arrived?
    pub fn started(&self) -> bool {
        self.reader.started()
    }

    /// May another request follow on this connection? Meaningful after [`Step::Done`], and only if
    /// no input is left.
    pub fn reusable(&self) -> bool {
        let framing = self.head().framing;
        // RFC 9112 §6.3: with both fields present someone may be smuggling; take no second answer
        // from there.
        let both = framing.transfer_encoding && framing.content_length.is_some();
        self.head().persistent && !both && !self.truncated && self.state == State::Done
    }

    /// Takes input and says what it found. After an error the connection is of no more use.
    pub fn step<'i>(&mut self, input: &mut &'i [u8]) -> Result<Step<'i>, ResponseError> {
        loop {
            match self.state {
                State::Done => return Ok(Step::Done),
                State::Length { left: 0 } | State::Chunked(Chunk::End) => self.state = State::Done,
                _ if input.is_empty() => return Ok(Step::More),
                State::Length { left } => return Ok(self.body(input, left)),
                State::Chunked(Chunk::Data { left }) => return Ok(self.body(input, left)),
                State::UntilClose => return Ok(self.body(input, u64::MAX)),
                State::Chunked(chunk) => self.chunk_framing(chunk, input)?,
                State::Head => {
                    if self.read_head(input)? {
                        return Ok(Step::Head);
                    }
                }
            }
        }
    }

    /// The connection ended. `Ok` if the response is complete.
    pub fn end(&mut self) -> Result<(), ResponseError> {
        match self.state {
            State::Head if !self.reader.started() => Err(ResponseError::Closed),
            State::Done
            | State::Length { left: 0 }
            | State::Chunked(Chunk::End)
            | State::UntilClose => {
                self.reader.head.persistent = false;
                self.state = State::Done;
                Ok(())
            }
            _ => Err(ResponseError::Incomplete),
        }
    }

    /// Takes head bytes; true when the final head is complete.
    fn read_head(&mut self, input: &mut &[u8]) -> Result<bool, ResponseError> {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            if !self.reader.push(*byte, &self.limits)? {
                continue;
            }
            match self.head().status {
                101 => return Err(ResponseError::Upgrade),
                100..200 => {
                    self.interim = self.interim.saturating_add(1);
                    if self.interim > self.limits.interim {
                        return Err(ResponseError::TooManyInterim);
                    }
                    self.reader.next_head();
                }
                _ => {
                    self.state = self.body_state();
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// How the body is framed: RFC 9112 §6.3, in its order.
    fn body_state(&mut self) -> State {
        let Head {
            status, framing, ..
        } = *self.head();
        if self.method == Method::Head || matches!(status, 204 | 304) {
            State::Done
        } else if framing.chunked {
            State::Chunked(Chunk::START)
        } else if let (false, Some(left)) = (framing.transfer_encoding, framing.content_length) {
            State::Length { left }
        } else {
            self.reader.head.persistent = false;
            State::UntilClose
        }
    }

    /// Hands out at most `left` bytes, as far as the body limit goes.
    fn body<'i>(&mut self, input: &mut &'i [u8], left: u64) -> Step<'i> {
        let room = (self.limits.body_bytes - self.received.min(self.limits.body_bytes)) as usize;
        if room == 0 {
            // Only now, with another byte at hand, is it certain that the page is longer.
            self.truncated = true;
            self.state = State::Done;
            return Step::Done;
        }
        let count = input
            .len()
            .min(room)
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some((piece, rest)) = input.split_at_checked(count) else {
            return Step::More;
        };
        *input = rest;
        self.received += count as u32;
        let left = left.saturating_sub(count as u64);
        match self.state {
            State::Length { .. } => self.state = State::Length { left },
            State::Chunked(_) if left == 0 => self.state = State::Chunked(Chunk::DataCr),
            State::Chunked(_) => self.state = State::Chunked(Chunk::Data { left }),
            _ => {}
        }
        Step::Body(piece)
    }

    /// Takes everything up to the next data, or the end.
    fn chunk_framing(&mut self, mut chunk: Chunk, input: &mut &[u8]) -> Result<(), ResponseError> {
        while let Some((byte, rest)) = input.split_first() {
            if matches!(chunk, Chunk::Data { .. } | Chunk::End) {
                break;
            }
            *input = rest;
            match chunk {
                Chunk::Extension { .. } => {
                    self.extension_bytes += 1;
                    if self.extension_bytes > self.limits.extension_bytes {
                        return Err(ResponseError::ChunkExtension);
                    }
                }
                Chunk::Trailer(trailer) => {
                    self.reader.count_byte(&self.limits)?;
                    if trailer == chunked::Trailer::LineStart && !matches!(byte, b'\r' | b'\n') {
                        self.reader.count_field(&self.limits)?;
                    }
                }
                _ => {}
            }
            chunk = chunk.push(*byte)?;
        }
        self.state = State::Chunked(chunk);
        Ok(())
    }
}
