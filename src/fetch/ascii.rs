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
