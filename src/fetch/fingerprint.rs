//! What a page is remembered by: 128 bits of keyed SipHash-1-3 over its body, streamed.
//!
//! The key keeps a server from preparing two bodies that look alike to us. Parts that always change
//! – nonces, clocks, counters – can be left out: "changed" should mean what a reader means by it.

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use super::ascii::zero_bytes;
use super::exchange::Body;
use super::response::Head;
#[cfg(feature = "filter")]
use super::select::{Select, Selecting};

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
/// Work per byte: one SipHash step, and with `ignore` one comparison a marker and four bytes (more,
/// up to the marker's length squared, where the text keeps almost matching). The same bytes give
/// the same result however they are split.
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
    /// What alone counts, if not all of it.
    #[cfg(feature = "filter")]
    selecting: Option<Selecting<'a>>,
}

impl<'a> Fingerprinter<'a> {
    /// Begins a fingerprint with a key of the device's own, and the stretches to leave out.
    pub fn new(key: &[u8; 16], ignore: &'a [Ignore<'a>]) -> Self {
        let ignore = ignore.get(..Ignore::MOST).unwrap_or(ignore);
        Self {
            hasher: SipHasher13::new_with_key(key),
            ignore,
            matched: [0; Ignore::MOST],
            inside: None,
            #[cfg(feature = "filter")]
            selecting: None,
        }
    }

    /// Counts only what is selected, and of that what is not ignored.
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn selecting(mut self, select: Option<Select<'a>>) -> Self {
        self.selecting = select.map(Selecting::new);
        self
    }

    /// Takes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        #[cfg(feature = "filter")]
        if let Some(mut selecting) = self.selecting.take() {
            selecting.each(bytes, |piece| self.count(piece));
            self.selecting = Some(selecting);
            return;
        }
        self.count(bytes);
    }

    /// Counts bytes, but for stretches that are ignored.
    #[cfg_attr(not(feature = "filter"), inline(always))] // One function, where nothing is selected.
    fn count(&mut self, mut bytes: &[u8]) {
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
        let mut markers: [&[u8]; Ignore::MOST] = [&[]; Ignore::MOST];
        for (marker, ignore) in markers.iter_mut().zip(self.ignore) {
            *marker = ignore.from;
        }
        let markers = markers.get(..self.ignore.len()).unwrap_or_default();
        let mut has_begun = self.matched != [0; Ignore::MOST];
        let mut index = 0;
        loop {
            if !has_begun {
                index = next_start(markers, bytes, index);
            }
            let Some(byte) = bytes.get(index) else {
                return bytes.len();
            };
            index += 1;
            has_begun = false;
            for (ignore, matched) in self.ignore.iter().zip(&mut self.matched) {
                *matched = advance(ignore.from, *matched, *byte);
                has_begun |= *matched > 0;
                if usize::from(*matched) == ignore.from.len() && !ignore.from.is_empty() {
                    self.inside = Some((ignore.to, Ignore::LONGEST));
                    self.matched = [0; Ignore::MOST];
                    return index;
                }
            }
        }
    }

    /// Passes over a stretch: bytes used, and the end marker once it is complete (it was swallowed
    /// bit by bit).
    fn skip(&mut self, bytes: &[u8], to: &'a [u8], left: u16) -> (usize, &'a [u8]) {
        let [matched, ..] = &mut self.matched;
        let bytes = bytes.get(..usize::from(left)).unwrap_or(bytes);
        let mut index = 0;
        loop {
            if *matched == 0 {
                index = next_start(&[to], bytes, index);
            }
            let Some(byte) = bytes.get(index) else { break };
            index += 1;
            *matched = advance(to, *matched, *byte);
            if usize::from(*matched) == to.len() {
                *matched = 0;
                self.inside = None;
                return (index, to);
            }
        }
        // At most `left`, by the cut above.
        let left = left - bytes.len() as u16;
        self.inside = (left > 0).then_some((to, left));
        if left == 0 {
            *matched = 0;
        }
        (bytes.len(), &[])
    }
}

/// Error pages are fingerprinted, too; nobody uses the result.
impl Body for Fingerprinter<'_> {
    fn take(&mut self, _: &Head, bytes: &mut &[u8]) -> bool {
        self.update(bytes);
        true
    }
}

/// Where the next of the markers may begin, from `start` on, if none has begun: its first two bytes
/// are there, or its first at the very end. The number of bytes if nowhere.
///
/// Almost every byte begins nothing, so eight are looked at together.
pub(super) fn next_start(markers: &[&[u8]], bytes: &[u8], start: usize) -> usize {
    let begins = |at: &usize| {
        let next = bytes.get(at + 1);
        bytes.get(*at).is_some_and(|byte| {
            markers.iter().any(|marker| match marker {
                [] => false,
                [first] => first == byte,
                [first, second, ..] => first == byte && next.is_none_or(|next| next == second),
            })
        })
    };
    let Some((marker, others)) = markers.split_first() else {
        return bytes.len();
    };
    let first = repeated(marker);
    let mut at = start;
    for eight in bytes.get(start..).unwrap_or_default().chunks_exact(8) {
        let words = [word(eight, 0), word(eight, 4)];
        let holds = |first: u32| (zero_bytes(words[0] ^ first) | zero_bytes(words[1] ^ first)) != 0;
        if (holds(first) || others.iter().any(|marker| holds(repeated(marker))))
            && let Some(found) = (at..at + 8).find(begins)
        {
            return found;
        }
        at += 8;
    }
    (at..bytes.len()).find(begins).unwrap_or(bytes.len())
}

/// The first byte of a marker in every byte of a word.
fn repeated(marker: &[u8]) -> u32 {
    u32::from_le_bytes([marker.first().copied().unwrap_or(0); 4])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk);
    four.map_or(0, |four| u32::from_le_bytes(*four))
}

/// How much of `marker` is matched after one more byte: the longest start of it that the text now
/// ends with.
pub(super) fn advance(marker: &[u8], matched: u8, byte: u8) -> u8 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::split_mix;

    /// What counts, byte by byte: an opening marker is complete where the text since the last
    /// stretch ends with it, a closing one likewise.
    fn counted(text: &[u8], ignore: &[Ignore<'_>]) -> ([u8; 256], usize) {
        let mut kept = [0; 256];
        let mut length = 0;
        let mut keep = |bytes: &[u8]| {
            kept[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
        };
        let mut since = 0;
        let mut inside: Option<&[u8]> = None;
        for end in 1..=text.len() {
            let seen = &text[since..end];
            match inside {
                None => {
                    keep(&text[end - 1..end]);
                    let opened = |ignore: &&Ignore<'_>| {
                        !ignore.from.is_empty() && seen.ends_with(ignore.from)
                    };
                    if let Some(ignore) = ignore.iter().find(opened) {
                        inside = Some(ignore.to);
                        since = end;
                    }
                }
                Some(to) if !to.is_empty() && seen.ends_with(to) => {
                    keep(to);
                    inside = None;
                    since = end;
                }
                Some(_) => {}
            }
        }
        (kept, length)
    }

    #[test]
    fn what_counts_is_the_same_for_every_split_of_every_text() {
        let sets: [&[Ignore<'_>]; 4] = [
            &[Ignore {
                from: b"ab",
                to: b"ba",
            }],
            &[
                Ignore {
                    from: b"aab",
                    to: b"a",
                },
                Ignore {
                    from: b"b",
                    to: b"",
                },
            ],
            &[
                Ignore {
                    from: b"abcab",
                    to: b"cc",
                },
                Ignore {
                    from: b"bca",
                    to: b"ab",
                },
            ],
            &[
                Ignore {
                    from: b"",
                    to: b"a",
                },
                Ignore {
                    from: b"cab",
                    to: b"bc",
                },
            ],
        ];
        let mut seed = 1;
        for round in 0..4_000 {
            let mut text = [0; 48];
            for byte in &mut text {
                // Stretches are far apart in some texts, so that eight bytes begin nothing.
                let letters = if round % 2 == 0 { 3 } else { 12 };
                *byte = b'a' + (split_mix(&mut seed) % letters) as u8;
            }
            for ignore in sets {
                let (kept, length) = counted(&text, ignore);
                let mut expected = Fingerprinter::new(&[3; 16], &[]);
                expected.update(&kept[..length]);
                let mut found = Fingerprinter::new(&[3; 16], ignore);
                let mut rest = &text[..];
                while !rest.is_empty() {
                    let size = 1 + split_mix(&mut seed) as usize % rest.len().min(20);
                    let (piece, after) = rest.split_at(size);
                    found.update(piece);
                    rest = after;
                }
                assert_eq!(found.finish(), expected.finish(), "{text:?} {ignore:?}");
            }
        }
    }

    #[test]
    fn a_stretch_without_end_is_over_after_its_longest() {
        let ignore = [Ignore {
            from: b"<",
            to: b">",
        }];
        let of = |text: &[u8], size: usize| {
            let mut hasher = Fingerprinter::new(&[3; 16], &ignore);
            text.chunks(size).for_each(|piece| hasher.update(piece));
            hasher.finish()
        };
        let mut text = [b'x'; Ignore::LONGEST as usize + 9];
        text[0] = b'<';
        let longer = of(&text, 4_096);
        assert_eq!(longer, of(&text, 1));
        assert_eq!(longer, of(&text, 1_000));
        text[Ignore::LONGEST as usize] = b'y';
        assert_eq!(longer, of(&text, 77), "swallowed");
        text[Ignore::LONGEST as usize + 1] = b'y';
        assert_ne!(longer, of(&text, 77), "counted again");
    }
}
