//! Percent-encoding: one canonical form, so that two spellings of a path compare equal (RFC 3986
//! §6.2.2).

/// One octet of a path or query in canonical form: plain, or `ENCODED | octet` if it must stay
/// behind a `%`.
pub(crate) type CanonicalOctet = u16;

/// Marks a [`CanonicalOctet`] that is written as `%XX`.
pub(crate) const ENCODED: CanonicalOctet = 0x100;

/// Walks a path or query in canonical form: unreserved characters decoded, everything that may not
/// stand in a URL encoded, reserved characters left as they are – `%2F` is not `/`. A `%` without
/// two hex digits stands for itself.
#[derive(Clone, Debug)]
pub(crate) struct Canonical<'a> {
    /// What is yet to come.
    pub(crate) text: &'a [u8],
    /// A `/` comes first: the one that an empty path leaves out.
    pub(crate) slash: bool,
}

impl<'a> Canonical<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { text, slash: false }
    }
}

impl Iterator for Canonical<'_> {
    type Item = CanonicalOctet;

    fn next(&mut self) -> Option<CanonicalOctet> {
        if core::mem::take(&mut self.slash) {
            return Some(b'/'.into());
        }
        let (&first, rest) = self.text.split_first()?;
        if first == b'%'
            && let Some((digits, after)) = rest.split_first_chunk()
            && let Some(octet) = hex_pair(*digits)
        {
            self.text = after;
            return Some(if is_unreserved(octet) {
                octet.into()
            } else {
                ENCODED | CanonicalOctet::from(octet)
            });
        }
        self.text = rest;
        Some(if is_legal(first) {
            first.into()
        } else {
            ENCODED | CanonicalOctet::from(first)
        })
    }
}

/// The octet two hex digits stand for.
fn hex_pair([high, low]: [u8; 2]) -> Option<u8> {
    Some(hex_digit(high)? << 4 | hex_digit(low)?)
}

/// The value of a hex digit.
#[inline(never)] // Once for all callers.
pub(crate) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Writes an octet as `%XX`.
pub(crate) fn encoded(octet: u8) -> [u8; 3] {
    let digit = |value: u8| {
        if value < 10 {
            b'0' + value
        } else {
            b'A' + value - 10
        }
    };
    [b'%', digit(octet >> 4), digit(octet & 15)]
}

/// May an octet stand in a path or query as it is?
pub(crate) fn is_legal(octet: u8) -> bool {
    kind(octet) & ILLEGAL == 0
}

/// Kinds of octets that are looked for in URLs, each a bit: what has to be encoded …
pub(crate) const ILLEGAL: u8 = 1;
/// … an escape …
pub(crate) const PERCENT: u8 = 2;
/// … a dot, which may be all of a segment …
pub(crate) const DOT: u8 = 4;
/// … and what ends a scheme, a path, or all that is sent.
pub(crate) const COLON: u8 = 8;
pub(crate) const QUESTION: u8 = 16;
pub(crate) const HASH: u8 = 32;
/// What ends the name of a parameter.
pub(crate) const EQUALS: u8 = 64;
/// Nobody has looked what a text holds.
#[cfg(feature = "discover")]
pub(crate) const UNREAD: u8 = 128;

/// Which of them a text may hold. One look at each octet says what need not be looked for: as a
/// rule, any of them.
#[cfg(feature = "discover")]
#[inline(never)] // Once for all callers.
pub(crate) fn kinds_of(text: &[u8]) -> u8 {
    text.iter().fold(0, |all, octet| all | kind(*octet))
}

/// Any: who follows no links joins a URL now and then, and spares the 800 bytes of flash.
#[cfg(not(feature = "discover"))]
pub(crate) fn kinds_of(_text: &[u8]) -> u8 {
    u8::MAX
}

#[cfg(feature = "discover")]
fn kind(octet: u8) -> u8 {
    static KINDS: [u8; 256] = {
        let mut kinds = [ILLEGAL; 256];
        let mut octet = b'!';
        while octet <= b'~' {
            kinds[octet as usize] = kind_of(octet);
            octet += 1;
        }
        kinds
    };
    KINDS.get(usize::from(octet)).copied().unwrap_or(ILLEGAL)
}

#[cfg(not(feature = "discover"))]
use kind_of as kind;

const fn kind_of(octet: u8) -> u8 {
    match octet {
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => ILLEGAL,
        b'%' => PERCENT,
        b'.' => DOT,
        b':' => COLON,
        b'?' => QUESTION,
        b'#' => HASH,
        b'=' => EQUALS,
        b'!'..=b'~' => 0,
        _ => ILLEGAL,
    }
}

/// Whether a character means the same encoded or not (RFC 3986 §2.3).
fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
}
