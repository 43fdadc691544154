//! Text of a fixed length.

/// Bytes up to so many; of those that are too many it only knows that there were some.
#[derive(Clone, Debug)]
pub(crate) struct Buffer<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: u16,
    cut: bool,
}

impl<const ROOM: usize> Buffer<ROOM> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; ROOM],
            length: 0,
            cut: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.cut = false;
    }

    pub(crate) fn push(&mut self, byte: u8) {
        push(&mut self.bytes, &mut self.length, &mut self.cut, byte);
    }

    /// Adds a letter, or the sign for one that is none.
    #[inline(never)] // Once for all callers.
    pub(crate) fn push_letter(&mut self, code: u32) {
        let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut room = [0; 4];
        let text = letter.encode_utf8(&mut room);
        text.bytes().for_each(|byte| self.push(byte));
    }

    /// Replaces the text by another one, or by its beginning if that was `cut`.
    pub(crate) fn set(&mut self, text: &[u8], cut: bool) {
        self.clear();
        text.iter().for_each(|byte| self.push(*byte));
        self.cut |= cut;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// All that there is room for.
    pub(crate) fn beginning(&self) -> &[u8] {
        beginning(&self.bytes, self.length)
    }

    /// The whole text; nothing if it did not fit.
    pub(crate) fn whole(&self) -> &[u8] {
        if self.cut { &[] } else { self.beginning() }
    }

    /// The whole text, which is forgotten with the next byte.
    pub(crate) fn take_whole(&mut self) -> &[u8] {
        let length = if self.cut { 0 } else { self.length };
        self.clear();
        beginning(&self.bytes, length)
    }
}

#[inline(never)] // Once for all callers.
fn beginning(bytes: &[u8], length: u16) -> &[u8] {
    bytes.get(..usize::from(length)).unwrap_or_default()
}

#[inline(never)] // Once for all lengths.
fn push(bytes: &mut [u8], length: &mut u16, cut: &mut bool, byte: u8) {
    match bytes.get_mut(usize::from(*length)) {
        Some(slot) if *length < u16::MAX => {
            *slot = byte;
            *length += 1;
        }
        _ => *cut |= !byte.is_ascii_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_are_cut_off_unnoticed() {
        let mut buffer = Buffer::<3>::new();
        b"abc \n".iter().for_each(|byte| buffer.push(*byte));
        assert!(!buffer.is_cut() && !buffer.is_empty());
        buffer.push(b'd');
        assert!(buffer.is_cut());
        buffer.clear();
        assert!(buffer.is_empty() && !buffer.is_cut());
    }
}
