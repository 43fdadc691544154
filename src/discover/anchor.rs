//! The text of an anchor.

use super::tag::is_space;

/// Bytes of an anchor's text that are kept.
pub const ANCHOR: usize = 64;

/// The beginning of an anchor's text: words in single spaces.
#[derive(Clone, Debug)]
pub(super) struct AnchorText {
    bytes: [u8; ANCHOR],
    length: u8,
    /// White space stands before the next letter.
    gap: bool,
}

impl AnchorText {
    /// An anchor whose text is still to come.
    pub(super) const EMPTY: Self = Self {
        bytes: [0; ANCHOR],
        length: 0,
        gap: false,
    };

    /// The words that were taken so far.
    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or_default()
    }

    /// The next anchor begins.
    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.gap = false;
    }

    /// Takes text of the anchor.
    pub(super) fn take(&mut self, text: &[u8]) {
        for byte in text {
            if is_space(*byte) {
                self.gap = self.length > 0;
                continue;
            }
            if core::mem::take(&mut self.gap) {
                self.push(b' ');
            }
            self.push(*byte);
            if usize::from(self.length) == ANCHOR {
                return;
            }
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(usize::from(self.length)) {
            *slot = byte;
            self.length += 1;
        }
    }
}
