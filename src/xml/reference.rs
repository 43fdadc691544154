//! Character references: the five names that XML knows by itself, and numbers. Entities that a
//! document defines stay as they are written, so that no document grows.

use super::buffer::Buffer;
use crate::fetch::ascii::place_in;

/// Longest reference that is read: `#x10FFFF`, with some zeros.
const LONGEST: usize = 12;

const NAMES: &[u8] = b"amp lt gt quot apos";
const LETTERS: [u8; 5] = *b"&<>\"'";

/// A reference that is read byte by byte.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    inside: bool,
    name: [u8; LONGEST],
    length: u8,
}

impl Reference {
    pub(super) const fn new() -> Self {
        Self {
            inside: false,
            name: [0; LONGEST],
            length: 0,
        }
    }

    /// Begins a reference, after its `&`.
    pub(super) fn begin(&mut self) {
        self.inside = true;
        self.length = 0;
    }

    pub(super) fn is_inside(&self) -> bool {
        self.inside
    }

    /// Takes a byte; false if it has to be read again, behind the reference. What the reference
    /// stands for goes to `text` when it has ended.
    #[inline(never)] // Once for all callers.
    pub(super) fn push<const ROOM: usize>(&mut self, byte: u8, text: &mut Buffer<ROOM>) -> bool {
        if (byte.is_ascii_alphanumeric() || byte == b'#')
            && let Some(slot) = self.name.get_mut(usize::from(self.length))
        {
            *slot = byte;
            self.length += 1;
            return true;
        }
        self.inside = false;
        let name = self.name.get(..usize::from(self.length)).unwrap_or(&[]);
        let letter = character(name).filter(|_| byte == b';');
        match letter {
            Some(letter) => text.push_letter(letter),
            None => {
                text.push(b'&');
                name.iter().for_each(|byte| text.push(*byte));
            }
        }
        letter.is_some()
    }
}

/// The code of a character by its name or number.
fn character(name: &[u8]) -> Option<u32> {
    let (digits, base) = match name {
        [b'#', b'x', digits @ ..] => (digits, 16),
        [b'#', digits @ ..] => (digits, 10),
        _ => {
            let known = place_in(NAMES, name, |known, name| known == name)?;
            return LETTERS.get(known).map(|letter| u32::from(*letter));
        }
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
