//! http and https URLs: parsed in place, compared by meaning, joined with a base (RFC 3986).
//!
//! A [`Url`] borrows its text: no copies, no buffer. Paths keep the spelling they came with,
//! because servers may care; only comparison normalises. International names are left as they are:
//! a resolver that wants `xn--…` must be given it.

use crate::fetch::ascii::{same, trimmed};
use core::net::IpAddr;
use core::{fmt, hash};

use super::address::{parse_ipv4, parse_ipv6};
use super::number::{Decimal, decimal};
#[cfg(feature = "discover")]
use super::percent::UNREAD;
use super::percent::{
    COLON, Canonical, DOT, HASH, ILLEGAL, PERCENT, QUESTION, encoded, is_legal, kinds_of,
};

/// How a page is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Scheme {
    /// It is read in the clear, at port 80 as a rule.
    Http,
    /// It is read through TLS, at port 443 as a rule.
    Https,
}

impl Scheme {
    /// The port when a URL names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// How URLs write it: `http` or `https`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        [Self::Http, Self::Https]
            .into_iter()
            .find(|scheme| same(name, scheme.name().as_bytes()))
    }
}

/// Who serves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlHost<'a> {
    /// A name to be resolved.
    Name(&'a str),
    /// An IPv4 or IPv6 literal.
    Address(IpAddr),
}

/// What is wrong with a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum UrlError {
    /// Longer than [`Url::MAX_LENGTH`], or than the buffer it should be joined in.
    TooLong,
    /// Does not start with `http://` or `https://`.
    Scheme,
    /// Holds a name or password before the host.
    Userinfo,
    /// The host is empty, too long, or neither a name nor an address.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// A space or control character, at this byte.
    Character(u16),
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "URL is too long, expected at most {} bytes",
                Url::MAX_LENGTH
            ),
            Self::Scheme => f.write_str("URL does not start with http:// or https://"),
            Self::Userinfo => {
                f.write_str("URL holds a user name or password: remove what stands before the @")
            }
            Self::Host => {
                f.write_str("URL has no valid host: expected a name, an IPv4 address or [IPv6]")
            }
            Self::Port => f.write_str("URL's port is not a number from 1 to 65535"),
            Self::Character(at) => {
                write!(
                    f,
                    "URL holds a space or control character at byte {at}: percent-encode it"
                )
            }
        }
    }
}

impl core::error::Error for UrlError {}

/// A parsed http or https URL. The fragment is dropped: it never reaches a server.
///
/// ```
/// use dunlin::fetch::{Url, UrlHost};
///
/// let url = Url::parse("http://Example.org:8080/a%7Eb?q=1#top")?;
/// assert_eq!((url.host(), url.port()), (UrlHost::Name("Example.org"), 8080));
/// assert_eq!(url.path_and_query(), "/a%7Eb?q=1");
/// assert_eq!(url, Url::parse("http://example.org:8080/a~b?q=1")?);
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Url<'a> {
    scheme: Scheme,
    host: UrlHost<'a>,
    /// The host as it was written, with the brackets of an IPv6 literal.
    host_text: &'a str,
    port: u16,
    /// Kinds of octets that the target may hold, or [`UNREAD`].
    #[cfg(feature = "discover")]
    kinds: u8,
    /// May be empty or start with `?`: then a `/` belongs before it.
    target: &'a str,
}

impl<'a> Url<'a> {
    /// Longer URLs are refused: no page that people link to has one.
    pub const MAX_LENGTH: usize = 2048;

    /// Reads an absolute URL. Work: one pass over at most [`Self::MAX_LENGTH`] bytes.
    pub fn parse(text: &'a str) -> Result<Self, UrlError> {
        if text.len() > Self::MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        if let Some(at) = text.bytes().position(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(UrlError::Character(at as u16));
        }
        let bytes = text.as_bytes();
        let (scheme, rest) = split_scheme(bytes).ok_or(UrlError::Scheme)?;
        let scheme = Scheme::named(scheme).ok_or(UrlError::Scheme)?;
        let rest = until(rest.strip_prefix(b"//").ok_or(UrlError::Scheme)?, b"#");
        let authority = until(rest, b"/?");
        if authority.contains(&b'@') {
            return Err(UrlError::Userinfo);
        }
        // Both end at ASCII characters of a text that is UTF-8, so they are UTF-8, too.
        let start = scheme.name().len() + 3;
        let end = start + authority.len();
        let authority = text.get(start..end).ok_or(UrlError::Host)?;
        let target = text.get(end..start + rest.len()).ok_or(UrlError::Host)?;
        let (host_text, port) = split_port(authority)?;
        let port = match port {
            None | Some(b"") => scheme.default_port(),
            Some(digits) => parse_port(digits).ok_or(UrlError::Port)?,
        };
        Ok(Self {
            scheme,
            host: parse_host(host_text).ok_or(UrlError::Host)?,
            host_text,
            port,
            #[cfg(feature = "discover")]
            kinds: UNREAD,
            target,
        })
    }

    /// What a reference means that leads to a path of this URL's own server, and stands there as
    /// URLs are written: nothing of it has to be copied. As a rule, links are such.
    #[cfg(feature = "discover")]
    pub(crate) fn at_path<'o>(&self, reference: &'o [u8]) -> Option<Url<'o>>
    where
        'a: 'o,
    {
        let kinds = kinds_of(reference);
        let is_plain = kinds & (ILLEGAL | PERCENT | HASH) == 0
            && (kinds & DOT == 0 || !has_dot_segment(reference));
        let target = match reference {
            [b'/', b'/', ..] => return None,
            [b'/', ..] if is_plain => core::str::from_utf8(reference).ok()?,
            _ => return None,
        };
        Some(Url {
            kinds,
            target,
            ..*self
        })
    }

    /// Resolves what a `Location` header said against this URL (RFC 3986 §5.2), writing the result
    /// into `out`.
    ///
    /// Dot segments are removed and bytes that may not stand in a URL are encoded; escapes that are
    /// there stay as they are. `http:g`, without slashes, is read as relative, as browsers do
    /// (§5.4.2). Work: one pass over both.
    ///
    /// ```
    /// use dunlin::fetch::Url;
    ///
    /// let base = Url::parse("http://a/b/c/d;p?q")?;
    /// let mut buffer = [0; 64];
    /// assert_eq!(base.join(b"../g?y#s", &mut buffer)?, Url::parse("http://a/b/g?y")?);
    /// # Ok::<(), dunlin::fetch::UrlError>(())
    /// ```
    pub fn join<'o>(&self, reference: &[u8], out: &'o mut [u8]) -> Result<Url<'o>, UrlError> {
        let mut joined = Joined { out, len: 0 };
        let own_server = self.write_joined(reference, &mut joined)?;
        let Joined { out, len } = joined;
        let text = out
            .get(..len)
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .ok_or(UrlError::Host)?;
        match own_server {
            // What is written is clean, and the rest was read before.
            Some(path) if cfg!(feature = "discover") && len <= Self::MAX_LENGTH => {
                self.with_target(text, path)
            }
            _ => Url::parse(text),
        }
    }

    /// A URL of the same server, of which this is the text, and the target begins at this byte.
    fn with_target<'o>(&self, text: &'o str, target: usize) -> Result<Url<'o>, UrlError> {
        let start = self.scheme.name().len() + 3;
        let end = start + self.host_text.len();
        let host_text = text.get(start..end).ok_or(UrlError::Host)?;
        Ok(Url {
            host: match self.host {
                UrlHost::Name(_) => UrlHost::Name(host_text),
                UrlHost::Address(address) => UrlHost::Address(address),
            },
            host_text,
            #[cfg(feature = "discover")]
            kinds: UNREAD,
            target: text.get(target..).ok_or(UrlError::Host)?,
            ..*self
        })
    }

    /// The path, and the query behind it, without its `?`.
    #[cfg(feature = "discover")]
    #[inline(never)] // Once for all callers.
    pub(crate) fn split_target(&self) -> (&'a [u8], &'a [u8]) {
        let target = self.path_and_query().as_bytes();
        if self.kinds & (QUESTION | UNREAD) == 0 {
            return (target, &[]);
        }
        let end = super::ascii::find(target, b'?').unwrap_or(target.len());
        let (path, query) = target.split_at_checked(end).unwrap_or_default();
        (path, query.get(1..).unwrap_or_default())
    }

    /// Kinds of octets that the target may hold.
    #[cfg(feature = "discover")]
    pub(crate) fn kinds(&self) -> u8 {
        match self.kinds {
            UNREAD => kinds_of(self.target.as_bytes()),
            kinds => kinds,
        }
    }

    /// Was it made from that URL by another path? Then it is on the same server.
    #[cfg(feature = "discover")]
    pub(crate) fn is_made_from(&self, other: &Url<'_>) -> bool {
        core::ptr::eq(self.host_text, other.host_text)
            && self.scheme == other.scheme
            && self.port == other.port
    }

    /// Where the target begins, if the reference leads to this URL's own server.
    fn write_joined(
        &self,
        reference: &[u8],
        out: &mut Joined<'_>,
    ) -> Result<Option<usize>, UrlError> {
        let reference = trimmed(reference);
        let kinds = kinds_of(reference);
        let reference = match kinds & HASH {
            0 => reference,
            _ => until(reference, b"#"),
        };
        let found = match kinds & COLON {
            0 => None,
            _ => split_scheme(reference),
        };
        let (scheme, relative) = match found {
            Some((scheme, rest)) => (Scheme::named(scheme).ok_or(UrlError::Scheme)?, rest),
            None => (self.scheme, reference),
        };
        out.put(scheme.name().as_bytes())?;
        out.put(b"://")?;
        if let Some(rest) = relative.strip_prefix(b"//") {
            let authority = until(rest, b"/?");
            out.put(authority)?;
            let target = rest.get(authority.len()..).unwrap_or_default();
            self.write_target(target, kinds, true, out)?;
            return Ok(None);
        }
        if scheme != self.scheme {
            return Err(UrlError::Host);
        }
        out.put(self.host_text.as_bytes())?;
        if self.port != self.scheme.default_port() {
            out.put(b":")?;
            out.put(<Decimal>::new(self.port).as_bytes())?;
        }
        let target = out.len;
        self.write_target(relative, kinds, false, out)?;
        Ok(Some(target))
    }

    /// The path and query of a reference, which holds octets of these kinds; `absolute` if an
    /// authority stood before them.
    fn write_target(
        &self,
        target: &[u8],
        kinds: u8,
        absolute: bool,
        out: &mut Joined<'_>,
    ) -> Result<(), UrlError> {
        let path = match kinds & QUESTION {
            0 => target,
            _ => until(target, b"?"),
        };
        let query = target.get(path.len()..).unwrap_or_default();
        let start = out.len;
        if path.starts_with(b"/") {
            out.put_path(start, path, kinds, true)?;
            return out.put_encoded(query);
        }
        let own = self.target.as_bytes();
        let own_path = until(own, b"?");
        let own_query = own.get(own_path.len()..).unwrap_or_default();
        if path.is_empty() && !absolute {
            out.put_path(start, own_path, kinds_of(own_path), true)?;
            return out.put_encoded(if query.is_empty() { own_query } else { query });
        }
        if !absolute {
            let directory = own_path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            let directory = own_path.get(..directory).unwrap_or_default();
            out.put_path(start, directory, kinds_of(directory), false)?;
        }
        out.put_path(start, path, kinds, true)?;
        out.put_encoded(query)
    }

    /// The scheme: http or https.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// A name to resolve, or an address.
    pub const fn host(&self) -> UrlHost<'a> {
        self.host
    }

    /// The host as written, an IPv6 literal in its brackets.
    pub const fn host_text(&self) -> &'a str {
        self.host_text
    }

    /// The port as written, or the scheme's own.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The path and query as written; `/` stands for an empty path.
    ///
    /// A URL such as `http://a?q` has an empty path and a query: what is sent then is `/?q`, but
    /// what is borrowed can only be `?q`.
    pub const fn path_and_query(&self) -> &'a str {
        if self.target.is_empty() {
            "/"
        } else {
            self.target
        }
    }

    /// Was it read from this very text, and not from one that is spelled alike?
    #[cfg(feature = "probe")]
    pub(crate) fn is_read_from(&self, text: &str) -> bool {
        text.as_bytes()
            .as_ptr_range()
            .contains(&self.host_text.as_ptr())
    }

    /// Whether scheme, host and port are the same: that is who a robots.txt is for.
    pub fn same_origin(&self, other: &Url<'_>) -> bool {
        self.same_host(other) && self.scheme == other.scheme && self.port == other.port
    }

    /// Same host and port, where the port of http and that of https are one? That is who is asked
    /// politely.
    ///
    /// ```
    /// use dunlin::fetch::Url;
    ///
    /// let url = Url::parse("http://a.test/x")?;
    /// assert!(url.same_server(&Url::parse("https://A.test./y")?));
    /// assert!(!url.same_server(&Url::parse("http://a.test:8080/x")?));
    /// # Ok::<(), dunlin::fetch::UrlError>(())
    /// ```
    pub fn same_server(&self, other: &Url<'_>) -> bool {
        self.same_host(other) && self.own_port() == other.own_port()
    }

    fn same_host(&self, other: &Url<'_>) -> bool {
        #[cfg(feature = "discover")]
        if self.is_made_from(other) {
            return true;
        }
        match (self.host, other.host) {
            (UrlHost::Name(_), UrlHost::Name(_)) => same(self.name_bytes(), other.name_bytes()),
            (UrlHost::Address(a), UrlHost::Address(b)) => a == b,
            _ => false,
        }
    }

    /// The port, unless it is the scheme's own.
    pub(crate) fn own_port(&self) -> Option<u16> {
        (self.port != self.scheme.default_port()).then_some(self.port)
    }

    /// The host as written, without the dot that may end a name: `a.test.` is `a.test`.
    pub(crate) fn name_bytes(&self) -> &'a [u8] {
        let name = self.host_text.as_bytes();
        name.strip_suffix(b".").unwrap_or(name)
    }

    /// 32 bits that are equal for equal URLs (FNV-1a over the canonical form), to notice redirect
    /// loops. Anybody can make two URLs of the same digest: nothing but that may rest on it.
    #[inline(never)] // Once for all callers.
    pub fn digest(&self) -> u32 {
        let mut hasher = Fnv(0x811c_9dc5);
        hash::Hash::hash(self, &mut hasher);
        hasher.0
    }

    /// Hands the bytes of the request target to `put`, in order: encoded where they must be.
    pub(crate) fn target_pieces(&self, put: &mut dyn FnMut(&[u8])) {
        if !self.target.as_bytes().starts_with(b"/") {
            put(b"/");
        }
        encoded_pieces(self.target.as_bytes(), put);
    }

    /// Hands `host[:port]`, as the Host header wants it, to `put`.
    #[inline(never)] // Once for all callers.
    pub(crate) fn authority_pieces(&self, put: &mut dyn FnMut(&[u8])) {
        put(self.host_text.as_bytes());
        if self.port != self.scheme.default_port() {
            put(b":");
            put(<Decimal>::new(self.port).as_bytes());
        }
    }

    /// The path and query in the form that is compared.
    pub(crate) fn canonical(&self) -> Canonical<'a> {
        let text = self.target.as_bytes();
        Canonical {
            text,
            slash: !text.starts_with(b"/"),
        }
    }
}

/// By meaning: scheme, host without case, port, path and query in canonical form (RFC 3986 §6.2.2).
impl PartialEq for Url<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.same_origin(other) && self.canonical().eq(other.canonical())
    }
}

impl Eq for Url<'_> {}

/// The same for equal URLs. The hasher should have a key where strangers choose the URLs.
impl hash::Hash for Url<'_> {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        state.write_u16(self.port);
        state.write_u8(self.scheme as u8);
        let address = match self.host {
            UrlHost::Name(_) => None,
            UrlHost::Address(IpAddr::V4(address)) => Some(address.to_ipv6_mapped()),
            UrlHost::Address(IpAddr::V6(address)) => Some(address),
        };
        match address {
            Some(address) => state.write(&address.octets()),
            None => self
                .name_bytes()
                .iter()
                .for_each(|byte| state.write_u8(byte.to_ascii_lowercase())),
        }
        self.canonical().for_each(|value| state.write_u16(value));
    }
}

/// The hash FNV-1a, in 32 bits.
struct Fnv(u32);

impl hash::Hasher for Fnv {
    #[inline(never)] // Once for all parts of a URL.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }

    fn finish(&self) -> u64 {
        self.0.into()
    }
}

/// Writes it as it is sent to a gateway: absolute, encoded, without fragment.
impl fmt::Display for Url<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme.name())?;
        f.write_str("://")?;
        let mut result = Ok(());
        let mut put = |bytes: &[u8]| {
            let text = core::str::from_utf8(bytes).unwrap_or("\u{fffd}");
            result = result.and_then(|()| f.write_str(text));
        };
        self.authority_pieces(&mut put);
        self.target_pieces(&mut put);
        result
    }
}

/// Splits `host[:port]`, minding the colons of an IPv6 literal.
fn split_port(authority: &str) -> Result<(&str, Option<&[u8]>), UrlError> {
    let bytes = authority.as_bytes();
    let literal = match bytes.first() {
        Some(b'[') => {
            bytes
                .iter()
                .position(|byte| *byte == b']')
                .ok_or(UrlError::Host)?
                + 1
        }
        _ => 0,
    };
    let host = literal + until(bytes.get(literal..).unwrap_or_default(), b":").len();
    if literal > 0 && host > literal {
        return Err(UrlError::Host);
    }
    Ok((
        authority.get(..host).ok_or(UrlError::Host)?,
        bytes.get(host + 1..),
    ))
}

fn parse_port(digits: &[u8]) -> Option<u16> {
    u16::try_from(decimal(digits)?)
        .ok()
        .filter(|port| *port != 0)
}

fn parse_host(text: &str) -> Option<UrlHost<'_>> {
    let bytes = text.as_bytes();
    if let [b'[', literal @ .., b']'] = bytes {
        return Some(UrlHost::Address(parse_ipv6(literal)?.into()));
    }
    let forbidden = |byte: &u8| {
        byte.is_ascii() && !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
    };
    if bytes.is_empty()
        || bytes.len() > 253
        || bytes.iter().any(forbidden)
        || bytes.starts_with(b".")
    {
        return None;
    }
    // A name that ends in a number is an address or a mistake: some resolvers read `127.1` as
    // loopback.
    let last = bytes
        .strip_suffix(b".")
        .unwrap_or(bytes)
        .rsplit(|byte| *byte == b'.')
        .next()
        .unwrap_or_default();
    let is_number = match last {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if is_number {
        return parse_ipv4(bytes).map(|address| UrlHost::Address(address.into()));
    }
    Some(UrlHost::Name(text))
}

/// `scheme:rest`, if it is one (RFC 3986 §3.1).
fn split_scheme(reference: &[u8]) -> Option<(&[u8], &[u8])> {
    if !reference.first()?.is_ascii_alphabetic() {
        return None;
    }
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = reference.iter().position(|byte| !legal(byte))?;
    let (scheme, rest) = reference.split_at_checked(end)?;
    Some((scheme, rest.strip_prefix(b":")?))
}

/// What stands before the first of `ends`.
#[inline(never)]
fn until<'t, const N: usize>(text: &'t [u8], ends: &[u8; N]) -> &'t [u8] {
    let end = text.iter().position(|byte| ends.contains(byte));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Hands `text` to `put`, bytes that may not stand in a URL encoded.
#[inline(never)] // Once for all callers.
fn encoded_pieces(mut text: &[u8], put: &mut dyn FnMut(&[u8])) {
    while let Some(at) = text.iter().position(|byte| !is_legal(*byte)) {
        let (legal, rest) = text.split_at(at);
        put(legal);
        let Some((octet, rest)) = rest.split_first() else {
            return;
        };
        put(&encoded(*octet));
        text = rest;
    }
    put(text);
}

/// The URL that `join` builds.
struct Joined<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Joined<'_> {
    // Small, and called from many places: one copy.
    #[inline(never)]
    fn put(&mut self, bytes: &[u8]) -> Result<(), UrlError> {
        let end = self.len + bytes.len();
        let room = self.out.get_mut(self.len..end).ok_or(UrlError::TooLong)?;
        room.iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        self.len = end;
        Ok(())
    }

    #[inline(never)]
    fn put_encoded(&mut self, text: &[u8]) -> Result<(), UrlError> {
        let mut result = Ok(());
        encoded_pieces(text, &mut |piece| {
            result = result.and_then(|()| self.put(piece))
        });
        result
    }

    /// Appends the segments of a path, resolving `.` and `..` on the way (§5.2.4) but never above
    /// `start`, where the path begins. It holds octets of these kinds at most. `ends` if nothing
    /// follows: then a last dot segment leaves its slash.
    fn put_path(
        &mut self,
        start: usize,
        path: &[u8],
        kinds: u8,
        ends: bool,
    ) -> Result<(), UrlError> {
        if path.is_empty() {
            return Ok(());
        }
        if kinds & (ILLEGAL | PERCENT) == 0 && (kinds & DOT == 0 || !has_dot_segment(path)) {
            if !path.starts_with(b"/") {
                self.put(b"/")?;
            }
            return self.put(path);
        }
        let mut segments = path
            .strip_prefix(b"/")
            .unwrap_or(path)
            .split(|byte| *byte == b'/')
            .peekable();
        while let Some(segment) = segments.next() {
            let dots = dots(segment);
            match dots {
                0 => {
                    self.put(b"/")?;
                    self.put_encoded(segment)?;
                }
                1 => {}
                _ => {
                    let so_far = self.out.get(start..self.len).unwrap_or_default();
                    self.len = start + so_far.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                }
            }
            if dots > 0 && ends && segments.peek().is_none() {
                self.put(b"/")?;
            }
        }
        Ok(())
    }
}

/// Has a path a segment that begins with a dot? More than that may be needed for it to be one.
fn has_dot_segment(path: &[u8]) -> bool {
    path.starts_with(b".") || path.windows(2).any(|two| two == b"/.")
}

/// 1 for `.`, 2 for `..`, 0 for other segments; a dot may be spelt `%2e`.
fn dots(segment: &[u8]) -> usize {
    let mut tokens = Canonical::new(segment);
    let count = tokens
        .by_ref()
        .take(3)
        .take_while(|token| *token == u16::from(b'.'))
        .count();
    if count <= 2 && Canonical::new(segment).count() == count {
        count
    } else {
        0
    }
}
