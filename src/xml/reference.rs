//! Character references: the five names that XML knows by itself, and numbers. Entities that a
//! document defines stay as they are written, so that no document grows.

/// Longest reference that is read, with its `&`: `&#x10FFFF`, with some zeros.
pub(super) const LONGEST: usize = 13;

/// Can this byte be part of a reference, behind its `&`?
pub(super) fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

/// The code of a character by its name or number.
pub(super) fn character(name: &[u8]) -> Option<u32> {
    let (digits, base) = match name {
        [b'#', b'x', digits @ ..] => (digits, 16),
        [b'#', digits @ ..] => (digits, 10),
        b"amp" => return Some('&'.into()),
        b"lt" => return Some('<'.into()),
        b"gt" => return Some('>'.into()),
        b"quot" => return Some('"'.into()),
        b"apos" => return Some('\''.into()),
        _ => return None,
    };
    let mut code = 0_u32;
    for digit in digits {
        let digit = char::from(*digit).to_digit(base)?;
        code = code.saturating_mul(base).saturating_add(digit);
    }
    // No digits are none, too.
    char::from_u32(code).filter(|letter| *letter != '\0')?;
    Some(code)
}
