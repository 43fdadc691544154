//! Text of protocols: compiled once, where core's own would be copied to every caller.

/// Whether both say the same, whatever the case of their letters.
#[inline(never)]
pub(crate) fn same(text: &[u8], other: &[u8]) -> bool {
    text == other || text.eq_ignore_ascii_case(other)
}

/// The text without white space around it.
#[inline(never)]
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// Which of these words, which have a space between them, a text is; `same` says whether it is one.
#[cfg(feature = "discover")]
#[inline(never)]
pub(crate) fn word_at(words: &str, text: &[u8], same: fn(&[u8], &[u8]) -> bool) -> Option<usize> {
    let mut words = words.as_bytes().split(|byte| *byte == b' ');
    words.position(|word| same(word, text))
}

/// Where a byte stands first. Four are looked at together, and sixteen in long texts: almost all are
/// others.
#[cfg(feature = "discover")]
#[inline(never)]
pub(crate) fn find(text: &[u8], byte: u8) -> Option<usize> {
    let wanted = u32::from_le_bytes([byte; 4]);
    let found_in = |word: &[u8; 4]| zero_bytes(u32::from_le_bytes(*word) ^ wanted);
    let (words, rest) = text.as_chunks::<4>();
    let mut start = 0;
    if words.len() >= 8 {
        let (fours, _) = words.as_chunks::<4>();
        let holds = |[a, b, c, d]: &[[u8; 4]; 4]| {
            found_in(a) | found_in(b) | found_in(c) | found_in(d) != 0
        };
        start = 4 * fours.iter().position(holds).unwrap_or(fours.len());
    }
    for word in words.get(start..)? {
        let found = found_in(word);
        if found != 0 {
            // The lowest bit that is set is that of the first one.
            return Some(4 * start + found.trailing_zeros() as usize / 8);
        }
        start += 1;
    }
    let found = rest.iter().position(|other| *other == byte)?;
    Some(4 * start + found)
}

/// Not 0 if a byte of the word is (Mycroft 1987).
pub(crate) fn zero_bytes(word: u32) -> u32 {
    word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080
}
