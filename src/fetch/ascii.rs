//! Text of protocols: compiled once, where core's own would be copied to every caller.

/// Whether both say the same, whatever the case of their letters.
#[inline(never)]
pub(crate) fn same(text: &[u8], other: &[u8]) -> bool {
    text.eq_ignore_ascii_case(other)
}

/// The text without white space around it.
#[inline(never)]
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// Where a byte stands first. Eight are looked at together, for almost all are others.
#[cfg(feature = "discover")]
#[inline(never)]
pub(crate) fn find(text: &[u8], byte: u8) -> Option<usize> {
    let wanted = u32::from_le_bytes([byte; 4]);
    let (eights, _) = text.as_chunks::<8>();
    let holds = |[a, b, c, d, e, f, g, h]: &[u8; 8]| {
        let first = u32::from_le_bytes([*a, *b, *c, *d]);
        let second = u32::from_le_bytes([*e, *f, *g, *h]);
        zero_bytes(first ^ wanted) | zero_bytes(second ^ wanted) != 0
    };
    let start = eights.iter().position(holds).unwrap_or(eights.len()) * 8;
    let found = text.get(start..)?.iter().position(|other| *other == byte)?;
    Some(start + found)
}

/// Not 0 if a byte of the word is (Mycroft 1987).
pub(crate) fn zero_bytes(word: u32) -> u32 {
    word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080
}
