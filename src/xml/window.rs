//! Texts of any length, a piece at a time.

use super::Piece;
use super::buffer::Buffer;
use super::reference;

/// What has to fit into a window at once: a reference, or a letter.
const LONGEST_STEP: usize = reference::LONGEST;

/// The piece of a text that is at hand.
#[derive(Clone, Debug)]
pub(crate) struct Window<const TEXT: usize> {
    pub(crate) text: Buffer<TEXT>,
    /// It has been handed out, and is forgotten when more is read.
    spent: bool,
    /// Pieces of the same text came before.
    goes_on: bool,
}

impl<const TEXT: usize> Window<TEXT> {
    /// With so many bytes, it may be too full for the next ones.
    const FULL: usize = TEXT - LONGEST_STEP;

    pub(crate) const fn new() -> Self {
        const { assert!(TEXT >= 32, "a window of 32 bytes at least") };
        Self {
            text: Buffer::new(),
            spent: false,
            goes_on: false,
        }
    }

    /// Forgets what has been handed out.
    pub(crate) fn forget(&mut self) {
        if core::mem::take(&mut self.spent) {
            self.text.clear();
        }
    }

    /// May it have too little room for what comes next?
    pub(crate) fn is_full(&self) -> bool {
        self.text.len() >= Self::FULL
    }

    /// Has a text begun that has not ended?
    pub(crate) fn is_open(&self) -> bool {
        self.goes_on || self.text.len() > 0
    }

    /// Takes the first of these bytes, and those behind it up to one of these `ends`, as far as
    /// there is room: how many.
    #[inline(never)] // Once for all callers.
    pub(crate) fn take_run(&mut self, bytes: &[u8], ends: [u8; 2]) -> usize {
        let room = Self::FULL.saturating_sub(self.text.len()).max(1);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        let [one, other] = ends;
        let end = bytes.iter().position(|byte| *byte == one || *byte == other);
        let used = end.unwrap_or(bytes.len());
        self.text.extend(bytes.get(..used).unwrap_or_default());
        used
    }

    /// Hands out what there is, the last piece of its text or not.
    #[inline(never)] // Once for all callers.
    pub(crate) fn piece(&mut self, is_last: bool) -> Piece<'_> {
        self.spent = true;
        let is_first = !core::mem::replace(&mut self.goes_on, !is_last);
        Piece {
            bytes: self.text.beginning(),
            is_first,
            is_last,
        }
    }
}
