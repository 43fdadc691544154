//! What a server told us about a page's versions and about when to come back.

use core::num::NonZeroU8;

use super::date::HttpDate;
use super::number::decimal;
use crate::fetch::ascii::{same, trimmed};
use crate::time::Duration;

/// An entity tag, kept to be sent back verbatim in `If-None-Match`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Etag {
    /// Never zero, so that an `Option` takes no more room.
    len: NonZeroU8,
    bytes: [u8; Self::LONGEST],
}

impl Etag {
    /// Longer tags are not used: the fingerprint still tells whether a page changed.
    pub const LONGEST: usize = 40;

    /// Keeps a tag; `None` if it is empty, too long, or could not be sent back in a header line.
    ///
    /// ```
    /// use dunlin::fetch::Etag;
    ///
    /// let tag = Etag::new(b"W/\"67ab43\"").unwrap();
    /// assert_eq!(tag.as_bytes(), b"W/\"67ab43\"");
    /// assert!(Etag::new(&[b'x'; 41]).is_none());
    /// ```
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::LONGEST];
        let control = text.iter().any(|byte| byte.is_ascii_control());
        let len = NonZeroU8::new(text.len().try_into().ok()?).filter(|_| !control)?;
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { len, bytes })
    }

    /// Does it stand for the same bytes, and not only for the same meaning (RFC 9110 §8.8.1)?
    #[cfg(feature = "update")]
    pub fn is_strong(&self) -> bool {
        self.as_bytes().starts_with(b"\"")
    }

    /// The bytes as the server wrote them.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.len.get()))
            .unwrap_or_default()
    }
}

impl core::fmt::Debug for Etag {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Etag({})", self.as_bytes().escape_ascii())
    }
}

/// When a busy server wants us back (RFC 9110 §10.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RetryAfter {
    /// It wants us back in so many seconds.
    Seconds(u32),
    /// It does not want us back before this date.
    Date(HttpDate),
}

impl RetryAfter {
    /// Reads the header's value. Numbers too large to hold mean "for ever" and become the largest.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        delta_seconds(value)
            .map(Self::Seconds)
            .or_else(|| HttpDate::of_header(value).map(Self::Date))
    }

    /// The time to wait. A date is taken relative to the response's own `Date`, which needs no
    /// clock; failing that, relative to `now`; `None` if neither is known.
    pub fn wait(self, date: Option<HttpDate>, now: Option<HttpDate>) -> Option<Duration> {
        match self {
            Self::Seconds(seconds) => Some(Duration::from_secs(seconds.into())),
            Self::Date(until) => Some(until.since(date.or(now)?)),
        }
    }
}

/// Too large a number is the largest (RFC 9111 §1.2.2).
fn delta_seconds(value: &[u8]) -> Option<u32> {
    decimal(value).map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX))
}

/// How long `Cache-Control` says a page stays good: `max-age`, or zero for `no-cache` and
/// `no-store`.
pub(crate) fn cache_lifetime(value: &[u8]) -> Option<u32> {
    let mut lifetime = None;
    for directive in list(value) {
        if same(directive, b"no-cache") || same(directive, b"no-store") {
            return Some(0);
        }
        if let Some((name, seconds)) = directive.split_at_checked(8)
            && same(name, b"max-age=")
        {
            let digits = seconds
                .strip_prefix(b"\"")
                .and_then(|rest| rest.strip_suffix(b"\""));
            // RFC 9111 §4.2.1: a value that cannot be read makes the response stale.
            lifetime = lifetime.or(Some(delta_seconds(digits.unwrap_or(seconds)).unwrap_or(0)));
        }
    }
    lifetime
}

/// The members of a comma-separated list, trimmed. Commas inside quotes split, too: no member we
/// look for has any.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(trimmed)
        .filter(|member| !member.is_empty())
}

/// Is `wanted` a member of a comma-separated list? And is something else?
// One copy of the walk for all headers that hold lists.
#[inline(never)]
pub(crate) fn members(value: &[u8], wanted: &[u8]) -> (bool, bool) {
    let mut found = (false, false);
    for member in list(value) {
        let same = same(member, wanted);
        found = (found.0 | same, found.1 | !same);
    }
    found
}
