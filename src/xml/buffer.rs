//! Text of a fixed length.

/// Bytes up to so many; of those that are too many it only knows that there were some.
#[derive(Clone, Debug)]
pub(crate) struct Buffer<const ROOM: usize> {
    bytes: [u8; ROOM],
    /// One more than there is room for stands for all that are longer.
    length: u16,
}

impl<const ROOM: usize> Buffer<ROOM> {
    pub(crate) const fn new() -> Self {
        const { assert!(ROOM < u16::MAX as usize, "too long for its length") };
        Self {
            bytes: [0; ROOM],
            length: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    pub(crate) fn extend(&mut self, text: &[u8]) {
        extend(&mut self.bytes, &mut self.length, text);
    }

    /// Adds a letter, or the sign for one that is none.
    #[inline(never)] // Once for all callers.
    pub(crate) fn push_letter(&mut self, code: u32) {
        let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut room = [0; 4];
        self.extend(letter.encode_utf8(&mut room).as_bytes());
    }

    /// Takes its last bytes away, which have fitted.
    pub(crate) fn shorten(&mut self, bytes: u8) {
        self.length = self.length.saturating_sub(bytes.into());
    }

    /// How many bytes it has; one more than there is room for, if it is cut.
    pub(crate) fn len(&self) -> usize {
        self.length.into()
    }

    /// All that there is room for.
    pub(crate) fn beginning(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or(&self.bytes)
    }

    /// The whole text; nothing if it did not fit.
    pub(crate) fn whole(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or_default()
    }

    /// The whole text, which is forgotten with the next byte.
    pub(crate) fn take_whole(&mut self) -> &[u8] {
        let length = core::mem::take(&mut self.length);
        self.bytes.get(..length.into()).unwrap_or_default()
    }
}

/// Adds what there is room for. White space behind that is left out unnoticed.
#[inline(never)] // Once for all lengths.
fn extend(bytes: &mut [u8], length: &mut u16, text: &[u8]) {
    let longest = bytes.len() as u16;
    let room = bytes.get_mut(usize::from(*length)..).unwrap_or_default();
    let fits = room.len().min(text.len());
    if let Some((to, (from, rest))) = room.get_mut(..fits).zip(text.split_at_checked(fits)) {
        to.copy_from_slice(from);
        *length += fits as u16;
        if !rest.trim_ascii_start().is_empty() {
            *length = longest + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_are_cut_off_unnoticed() {
        let mut buffer = Buffer::<3>::new();
        b"abc \n".iter().for_each(|byte| buffer.push(*byte));
        assert_eq!(buffer.whole(), b"abc");
        buffer.push(b'd');
        assert_eq!(
            (buffer.whole(), buffer.beginning()),
            (&b""[..], &b"abc"[..])
        );
        buffer.clear();
        buffer.extend(b"ab \n");
        assert_eq!(buffer.whole(), b"ab ");
        buffer.extend(b" .");
        assert_eq!(buffer.take_whole(), b"");
        assert_eq!(buffer.len(), 0);
    }
}
