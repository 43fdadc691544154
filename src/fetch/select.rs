//! What alone counts of a page: the stretches between two markers, as they stream by.

use super::fingerprint::{advance, next_start};

/// The part of a page that counts: every stretch from behind an opening marker to the end of the
/// closing one that follows it. Without a closing marker, a stretch ends with the page.
///
/// A page without the opening marker has nothing that counts: all its versions are the same.
///
/// ```
/// use dunlin::fetch::{Fingerprinter, Select};
///
/// let select = Select { from: b"<main>", to: b"</main>" };
/// let of = |pieces: &[&[u8]]| {
///     let mut hasher = Fingerprinter::new(&[7; 16], &[]).selecting(Some(select));
///     pieces.iter().for_each(|piece| hasher.update(piece));
///     hasher.finish()
/// };
/// assert_eq!(of(&[b"12:00 <main>Hi</main>"]), of(&[b"12:01 <ma", b"in>Hi</main> ad"]));
/// assert_ne!(of(&[b"12:00 <main>Hi</main>"]), of(&[b"12:00 <main>Ho</main>"]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Select<'a> {
    /// Opens a stretch, such as `<main>`. If it is empty, the page begins with one.
    pub from: &'a [u8],
    /// Closes it, such as `</main>`. If it is empty, the stretch ends with the page.
    pub to: &'a [u8],
}

/// Where a selection is in a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selecting<'a> {
    select: Select<'a>,
    inside: bool,
    /// How much of the marker that comes next the last bytes matched.
    matched: u8,
}

impl<'a> Selecting<'a> {
    pub(super) fn new(select: Select<'a>) -> Self {
        Self {
            select,
            inside: select.from.is_empty(),
            matched: 0,
        }
    }

    /// Hands what is selected of these bytes to `count`. Work: as for the stretches of
    /// [`Ignore`](super::Ignore).
    pub(super) fn each(&mut self, mut bytes: &[u8], mut count: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            let (used, over) = self.look_for_marker(bytes);
            let (piece, rest) = bytes.split_at_checked(used).unwrap_or((bytes, &[]));
            if self.inside {
                count(piece);
            }
            if over {
                self.inside = !self.inside;
                self.matched = 0;
            }
            bytes = rest;
        }
    }

    /// Bytes up to and including the end of the next marker and `true`, or all of them.
    fn look_for_marker(&mut self, bytes: &[u8]) -> (usize, bool) {
        let marker = match self.inside {
            true => self.select.to,
            false => self.select.from,
        };
        let mut index = 0;
        loop {
            if self.matched == 0 {
                index = next_start(&[marker], bytes, index);
            }
            let Some(byte) = bytes.get(index) else {
                return (bytes.len(), false);
            };
            index += 1;
            self.matched = advance(marker, self.matched, *byte);
            if usize::from(self.matched) == marker.len() {
                return (index, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::split_mix;

    /// What is selected of a text that comes in these pieces.
    fn selected<'p>(
        select: Select<'_>,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> heapless::Vec<u8, 256> {
        let mut selecting = Selecting::new(select);
        let mut found = heapless::Vec::new();
        for piece in pieces {
            selecting.each(piece, |piece| {
                found.extend_from_slice(piece).expect("it fits");
            });
        }
        found
    }

    fn of(from: &str, to: &str, text: &str) -> heapless::Vec<u8, 256> {
        let select = Select {
            from: from.as_bytes(),
            to: to.as_bytes(),
        };
        selected(select, core::iter::once(text.as_bytes()))
    }

    #[test]
    fn every_stretch_is_selected_to_the_end_of_its_marker() {
        assert_eq!(of("<", ">", "a<b>c<d>e"), b"b>d>");
        assert_eq!(of("<", ">", "a<b"), b"b", "the page ends it");
        assert_eq!(of("<", ">", "abc"), b"");
        assert_eq!(of("<", "", "a<b>c<d"), b"b>c<d");
        assert_eq!(of("", ">", "ab>c"), b"ab>");
        assert_eq!(of("", "", "ab>c"), b"ab>c");
        assert_eq!(of("aab", "b", "aaabcbb"), b"cb");
    }

    #[test]
    fn what_is_selected_is_the_same_for_every_split_of_every_text() {
        let mut seed = 26;
        for _ in 0..4_000 {
            let mut text = [0; 48];
            for byte in &mut text {
                *byte = b'a' + (split_mix(&mut seed) % 3) as u8;
            }
            for (from, to) in [("ab", "ba"), ("aab", "c"), ("abcab", "cc"), ("b", "")] {
                let select = Select {
                    from: from.as_bytes(),
                    to: to.as_bytes(),
                };
                let whole = selected(select, core::iter::once(&text[..]));
                let size = 1 + split_mix(&mut seed) as usize % 20;
                assert_eq!(
                    whole,
                    selected(select, text.chunks(size)),
                    "{text:?} {from} {to}"
                );
            }
        }
    }
}
