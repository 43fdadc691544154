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
        match self.bytes.get_mut(usize::from(self.length)) {
            Some(slot) if self.length < u16::MAX => {
                *slot = byte;
                self.length += 1;
            }
            _ => self.cut |= !byte.is_ascii_whitespace(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// All that there is room for.
    pub(crate) fn beginning(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }

    /// The whole text; nothing if it did not fit.
    pub(crate) fn whole(&self) -> &[u8] {
        if self.cut { &[] } else { self.beginning() }
    }

    /// The whole text, which is forgotten with the next byte.
    pub(crate) fn take_whole(&mut self) -> &[u8] {
        let length = if self.cut { 0 } else { self.length };
        self.clear();
        self.bytes.get(..usize::from(length)).unwrap_or_default()
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
