//! Character references: the five names that XML knows by itself, and numbers. Entities that a
//! document defines stay as they are written, so that no document grows.

/// Longest reference that is read: `#x10FFFF`, with some zeros.
const LONGEST: usize = 12;

const NAMES: &[(&[u8], u8)] = &[
    (b"amp", b'&'),
    (b"lt", b'<'),
    (b"gt", b'>'),
    (b"quot", b'"'),
    (b"apos", b'\''),
];

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
    /// stands for goes to `put` when it has ended.
    pub(super) fn push(&mut self, byte: u8, put: &mut dyn FnMut(u8)) -> bool {
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
            Some(letter) => letter.encode_utf8(&mut [0; 4]).bytes().for_each(&mut *put),
            None => {
                put(b'&');
                name.iter().for_each(|byte| put(*byte));
            }
        }
        letter.is_some()
    }
}

fn character(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], base: u32| {
        let mut code = 0_u32;
        for digit in digits {
            let digit = char::from(*digit).to_digit(base)?;
            code = code.checked_mul(base)?.checked_add(digit)?;
        }
        let is_some = !digits.is_empty();
        char::from_u32(code).filter(|letter| is_some && *letter != '\0')
    };
    match name {
        [b'#', b'x', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => {
            let known = NAMES.iter().find(|(known, _)| *known == name);
            known.map(|(_, letter)| char::from(*letter))
        }
    }
}
