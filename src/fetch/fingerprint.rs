//! What a page is remembered by: 128 bits of keyed SipHash-1-3 over its body, streamed.
//!
//! The key keeps a server from preparing two bodies that look alike to us. Parts that always change
//! – nonces, clocks, counters – can be left out: "changed" should mean what a reader means by it.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// 128 bits that differ when bodies differ (up to one chance in 2¹²⁸).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The first 64 bits: enough to tell one page's versions apart, in half the memory.
    pub fn short(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

/// A stretch of a page that does not count: what stands between two markers. The markers themselves
/// count.
///
/// A stretch ends after [`Ignore::LONGEST`] bytes even without its end marker, so that a page that
/// lost the marker is not ignored altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ignore<'a> {
    /// Opens the stretch, such as `nonce="`. An empty marker never matches.
    pub from: &'a [u8],
    /// Closes it, such as `"`. If empty, the stretch is [`Ignore::LONGEST`] bytes long.
    pub to: &'a [u8],
}

impl Ignore<'_> {
    /// Bytes that one stretch may swallow.
    pub const LONGEST: u16 = 4096;
    /// Stretches a fingerprinter can look for; more are not looked at.
    pub const MOST: usize = 8;
}

/// Turns a body, in pieces of any size, into a [`Fingerprint`].
///
/// Work per byte: one SipHash step, and with `ignore` one comparison a marker (more, up to the
/// marker's length squared, where the text keeps almost matching). The same bytes give the same
/// result however they are split.
///
/// ```
/// use dunlin::fetch::{Fingerprinter, Ignore};
///
/// let ignore = [Ignore { from: b"nonce=\"", to: b"\"" }];
/// let of = |pieces: &[&[u8]]| {
///     let mut hasher = Fingerprinter::new(&[7; 16], &ignore);
///     pieces.iter().for_each(|piece| hasher.update(piece));
///     hasher.finish()
/// };
/// assert_eq!(of(&[b"<p nonce=\"a1\">Hi"]), of(&[b"<p non", b"ce=\"b22\">Hi"]));
/// assert_ne!(of(&[b"<p nonce=\"a1\">Hi"]), of(&[b"<p nonce=\"a1\">Ho"]));
/// ```
#[derive(Clone, Debug)]
pub struct Fingerprinter<'a> {
    hasher: SipHasher13,
    ignore: &'a [Ignore<'a>],
    /// How much of each opening marker the last bytes matched; in a stretch, `matched[0]` follows
    /// its end.
    matched: [u8; Ignore::MOST],
    /// The stretch we are in, and how many bytes it may still swallow.
    inside: Option<(&'a [u8], u16)>,
}

impl<'a> Fingerprinter<'a> {
    /// With a key of the device's own and the stretches to leave out.
    pub fn new(key: &[u8; 16], ignore: &'a [Ignore<'a>]) -> Self {
        let ignore = ignore.get(..Ignore::MOST).unwrap_or(ignore);
        Self {
            hasher: SipHasher13::new_with_key(key),
            ignore,
            matched: [0; Ignore::MOST],
            inside: None,
        }
    }

    /// Takes the next bytes of the body.
    pub fn update(&mut self, mut bytes: &[u8]) {
        if self.ignore.is_empty() {
            return self.hasher.write(bytes);
        }
        while !bytes.is_empty() {
            let (used, counted) = match self.inside {
                Some((to, left)) => self.skip(bytes, to, left),
                None => {
                    let used = self.look_for_start(bytes);
                    (used, bytes.get(..used).unwrap_or_default())
                }
            };
            self.hasher.write(counted);
            bytes = bytes.get(used..).unwrap_or_default();
        }
    }

    /// What the body came to.
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(self.hasher.finish128().as_bytes())
    }

    /// Bytes up to and including the end of the first opening marker, or all of them.
    fn look_for_start(&mut self, bytes: &[u8]) -> usize {
        for (index, byte) in bytes.iter().enumerate() {
            for (ignore, matched) in self.ignore.iter().zip(&mut self.matched) {
                // Almost every byte: nothing has begun, and nothing begins here.
                if *matched == 0 && ignore.from.first() != Some(byte) {
                    continue;
                }
                *matched = advance(ignore.from, *matched, *byte);
                if usize::from(*matched) == ignore.from.len() && !ignore.from.is_empty() {
                    self.inside = Some((ignore.to, Ignore::LONGEST));
                    self.matched = [0; Ignore::MOST];
                    return index + 1;
                }
            }
        }
        bytes.len()
    }

    /// Passes over a stretch: bytes used, and the end marker once it is complete (it was swallowed
    /// bit by bit).
    fn skip(&mut self, bytes: &[u8], to: &'a [u8], mut left: u16) -> (usize, &'a [u8]) {
        let [matched, ..] = &mut self.matched;
        for (index, byte) in bytes.iter().enumerate() {
            *matched = advance(to, *matched, *byte);
            left -= 1;
            let ended = usize::from(*matched) == to.len() && !to.is_empty();
            if ended || left == 0 {
                *matched = 0;
                self.inside = None;
                return (index + 1, if ended { to } else { &[] });
            }
        }
        self.inside = Some((to, left));
        (bytes.len(), &[])
    }
}

/// How much of `marker` is matched after one more byte: the longest start of it that the text now
/// ends with.
fn advance(marker: &[u8], matched: u8, byte: u8) -> u8 {
    let matched = usize::from(matched);
    if marker.get(matched) == Some(&byte) {
        return (matched + 1).min(usize::from(u8::MAX)) as u8;
    }
    let seen = marker.get(..matched).unwrap_or_default();
    let shorter = (1..=matched).rev().find(|length| {
        let Some((last, start)) = marker.get(..*length).and_then(<[u8]>::split_last) else {
            return false;
        };
        *last == byte && seen.ends_with(start)
    });
    shorter.unwrap_or(0) as u8
}
