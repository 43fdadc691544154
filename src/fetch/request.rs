//! What we send: HTTP/1.1 GET, conditional when we know a version, honest about who asks.

use core::fmt;

use super::date::HttpDate;
use super::response::Method;
use super::url::Url;
use super::validator::Etag;

/// Who we say we are: a product, and where its owner can be reached.
///
/// ```
/// use dunlin::fetch::Agent;
///
/// let agent = Agent::new("dunlin/0.1", Some("https://example.org/probe"))?;
/// assert_eq!(agent.token(), "dunlin");
/// assert!(Agent::new("two words", None).is_err());
/// # Ok::<(), dunlin::fetch::AgentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent<'a> {
    product: &'a str,
    contact: Option<&'a str>,
}

/// Why an agent cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AgentError {
    /// The product is not a letter followed by letters, digits and `-_./`.
    Product,
    /// The contact holds spaces, parentheses or control characters.
    Contact,
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Product => {
                "agent must be a name such as dunlin/0.1: letters first, then letters, digits and \
                 -_./"
            }
            Self::Contact => "contact must be a URL or address without spaces and parentheses",
        })
    }
}

impl core::error::Error for AgentError {}

impl<'a> Agent<'a> {
    /// Checks that both can stand in a header: they come from configuration, and a line end in them
    /// would be a second header.
    pub fn new(product: &'a str, contact: Option<&'a str>) -> Result<Self, AgentError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        if !product.starts_with(|first: char| first.is_ascii_alphabetic())
            || !product.bytes().all(legal)
        {
            return Err(AgentError::Product);
        }
        let illegal = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'(' | b')' | b'\\');
        match contact {
            Some(contact) if contact.is_empty() || contact.bytes().any(illegal) => {
                Err(AgentError::Contact)
            }
            _ => Ok(Self { product, contact }),
        }
    }

    /// The name robots.txt knows us by (RFC 9309 §2.2.1): letters, `-` and `_`, up to the version.
    pub fn token(&self) -> &'a str {
        super::robots::product_token(self.product)
    }
}

/// A request for one page.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The page that is asked for.
    pub url: Url<'a>,
    /// The agent that asks, for its `User-Agent`.
    pub agent: Agent<'a>,
    /// GET, as a rule.
    pub method: Method,
    /// The version we know: answered with 304 if it is still current.
    pub etag: Option<&'a Etag>,
    /// When the version we know was last modified.
    pub last_modified: Option<HttpDate>,
    /// Keep the connection: the next fetch from this host is near.
    pub keep_alive: bool,
    /// Ask a forward gateway, which wants the whole URL in the request line.
    pub via_gateway: bool,
    /// See [`Self::starting_at`]; 0 for all bytes.
    #[cfg(feature = "update")]
    from: u32,
}

impl<'a> Request<'a> {
    /// A plain GET on a connection of its own.
    pub const fn get(url: Url<'a>, agent: Agent<'a>) -> Self {
        Self {
            url,
            agent,
            method: Method::Get,
            etag: None,
            last_modified: None,
            keep_alive: false,
            via_gateway: false,
            #[cfg(feature = "update")]
            from: 0,
        }
    }

    /// The same for the bytes from this one on (RFC 9110 §14.2), 0 for all of them. With it, `etag`
    /// says of which version: what belongs to another one comes whole.
    #[cfg(feature = "update")]
    #[must_use]
    pub const fn starting_at(mut self, byte: u32) -> Self {
        self.from = byte;
        self
    }

    /// Is a version known that the answer may refer to?
    pub const fn is_conditional(&self) -> bool {
        #[cfg(feature = "update")]
        if self.from > 0 {
            return false;
        }
        self.etag.is_some() || self.last_modified.is_some()
    }

    /// Writes the request's bytes from `skip` on into `out`; returns how many. Fewer than fit means
    /// the end.
    ///
    /// A request of any length goes out through a window of any size, at the price of composing it
    /// again for each window. Work: the request's length.
    pub fn render(&self, skip: usize, out: &mut [u8]) -> usize {
        render(skip, out, &|put| self.pieces(put))
    }

    /// Hands the request to `put`, in order.
    pub(crate) fn pieces(&self, put: &mut dyn FnMut(&[u8])) {
        put(match self.method {
            Method::Get => b"GET ",
            Method::Head => b"HEAD ",
        });
        if self.via_gateway {
            put(self.url.scheme().name().as_bytes());
            put(b"://");
            self.url.authority_pieces(put);
        }
        self.url.target_pieces(put);
        put(b" HTTP/1.1\r\nHost: ");
        self.url.authority_pieces(put);
        put(b"\r\nUser-Agent: ");
        put(self.agent.product.as_bytes());
        if let Some(contact) = self.agent.contact {
            put(b" (+");
            put(contact.as_bytes());
            put(b")");
        }
        put(b"\r\nAccept: */*\r\nAccept-Encoding: identity\r\n");
        #[cfg(feature = "update")]
        let part = self.range_pieces(put);
        #[cfg(not(feature = "update"))]
        let part = false;
        if let Some(etag) = self.etag.filter(|_| !part) {
            put(b"If-None-Match: ");
            put(etag.as_bytes());
            put(b"\r\n");
        }
        // Beside a tag, too: servers that know no tags ignore that field, and the others ignore
        // this one.
        if let Some(date) = self.last_modified {
            put(b"If-Modified-Since: ");
            put(&date.format());
            put(b"\r\n");
        }
        put(if self.keep_alive {
            b"\r\n"
        } else {
            b"Connection: close\r\n\r\n"
        });
    }

    /// The fields that ask for a part; false if the whole is asked for.
    #[cfg(feature = "update")]
    fn range_pieces(&self, put: &mut dyn FnMut(&[u8])) -> bool {
        if self.from == 0 {
            return false;
        }
        put(b"Range: bytes=");
        put(super::number::Decimal::<10>::new(self.from).as_bytes());
        put(b"-\r\n");
        // A weak tag does not say that bytes are the same, so it may not be used here (§13.1.5).
        if let Some(etag) = self.etag.filter(|etag| etag.is_strong()) {
            put(b"If-Range: ");
            put(etag.as_bytes());
            put(b"\r\n");
        }
        true
    }
}

/// What hands out a text piece by piece, the same each time.
pub(crate) type Pieces<'p> = dyn Fn(&mut dyn FnMut(&[u8])) + 'p;

/// Writes what `pieces` hands out, from `skip` on, into `out`; returns how many bytes. Work: all of
/// the pieces.
pub(crate) fn render(skip: usize, out: &mut [u8], pieces: &Pieces<'_>) -> usize {
    let mut window = Window {
        skip,
        out,
        written: 0,
    };
    pieces(&mut |piece| window.put(piece));
    window.written
}

/// The part of a longer text that goes into a buffer.
struct Window<'o> {
    /// Bytes still to be passed over.
    skip: usize,
    out: &'o mut [u8],
    written: usize,
}

impl Window<'_> {
    // Not to be inlined: it would be copied into every line that composes the request, 3 kB in all.
    #[inline(never)]
    fn put(&mut self, piece: &[u8]) {
        let wanted = piece.get(self.skip.min(piece.len())..).unwrap_or_default();
        self.skip -= piece.len() - wanted.len();
        let room = self.out.get_mut(self.written..).unwrap_or_default();
        self.written += wanted.len().min(room.len());
        room.iter_mut()
            .zip(wanted)
            .for_each(|(to, from)| *to = *from);
    }
}
