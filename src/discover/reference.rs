//! Character references in the values of attributes: `&amp;`, `&#38;`, `&#x26;` (HTML §13.2.5.72).
//!
//! HTML names 2,231 of them, some 20 kB. URLs are written with those that stand for ASCII and, in
//! old pages, for Latin-1: these are known here, in 1 kB. What has another name stays as it is
//! written.

use crate::fetch::ascii::word_at;

/// Longest name that is known.
const LONGEST: usize = 8;

/// Names with spaces between them. First those of U+00A0 to U+00FF, in order; they and the next ten
/// may stand without a semicolon.
const NAMES: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg \
    macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 \
    iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave \
    Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc \
    Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc \
    euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave \
    uacute ucirc uuml yacute thorn yuml \
    amp lt gt quot AMP LT GT QUOT COPY REG \
    apos Tab NewLine excl num dollar percnt lpar rpar ast plus comma period sol colon semi equals \
    quest commat lsqb bsol rsqb Hat lowbar grave lcub verbar vert rcub";
/// Names of the Latin letters.
const LATIN: usize = 96;
/// What the names behind those stand for.
const OTHERS: &[u8; BARE + 29] = b"&<>\"&<>\"\xa9\xae'\t\n!#$%()*+,./:;=?@[\\]^_`{||}";
/// Those of them that may stand without a semicolon.
const BARE: usize = 10;

/// What U+0080 to U+009F stand for: windows-1252, because old pages meant it (HTML §13.2.5.84).
const WINDOWS: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x8d, 0x017d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
    0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
];

/// How far a reference has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// No reference is being read.
    #[default]
    Outside,
    /// It has read `&`, and so many letters of a name.
    Name,
    /// It has read `&#`.
    Number,
    /// It has read `&#x`, or `&#X`.
    HexStart(u8),
    Decimal,
    Hex,
}

/// A reference that is read byte by byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reference {
    place: Place,
    name: [u8; LONGEST],
    length: u8,
    code: u32,
}

/// What a byte did to a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceStep {
    /// It belongs to it, and more may come.
    Inside,
    /// It ended it; the byte itself is used up, or has to be read again.
    Done { used: bool },
}

impl Reference {
    /// Begins a reference, after its `&`.
    pub(super) fn begin(&mut self) {
        *self = Self {
            place: Place::Name,
            ..Self::default()
        };
    }

    pub(super) fn is_inside(&self) -> bool {
        self.place != Place::Outside
    }

    /// Takes a byte. When that ends the reference, what it stands for goes to `put`.
    pub(super) fn push(&mut self, byte: u8, put: &mut dyn FnMut(u8)) -> ReferenceStep {
        match self.place {
            Place::Outside => return ReferenceStep::Done { used: false },
            Place::Name if self.length == 0 && byte == b'#' => self.place = Place::Number,
            Place::Name if byte.is_ascii_alphanumeric() => {
                let Some(slot) = self.name.get_mut(usize::from(self.length)) else {
                    return self.end(byte, put);
                };
                *slot = byte;
                self.length += 1;
            }
            Place::Number if matches!(byte, b'x' | b'X') => self.place = Place::HexStart(byte),
            Place::Number | Place::Decimal if byte.is_ascii_digit() => {
                self.place = Place::Decimal;
                self.digit(10, byte - b'0');
            }
            Place::HexStart(_) | Place::Hex if byte.is_ascii_hexdigit() => {
                self.place = Place::Hex;
                let digit = (byte as char).to_digit(16).unwrap_or(0);
                self.digit(16, digit as u8);
            }
            _ => return self.end(byte, put),
        }
        ReferenceStep::Inside
    }

    /// More than Unicode has is one more than it has: the number cannot overflow.
    fn digit(&mut self, base: u32, digit: u8) {
        self.code = (self.code * base + u32::from(digit)).min(0x11_0000);
    }

    /// A byte came that is no part of the reference, but for a semicolon.
    fn end(&mut self, byte: u8, put: &mut dyn FnMut(u8)) -> ReferenceStep {
        let name = self.name.get(..usize::from(self.length)).unwrap_or(&[]);
        let closed = byte == b';';
        let letter = match self.place {
            Place::Decimal | Place::Hex => Some(character(self.code)),
            Place::Name if byte == b'=' || byte.is_ascii_alphanumeric() => None,
            Place::Name => named(name, closed),
            _ => None,
        };
        match (letter, self.place) {
            (Some(letter), _) => letter.encode_utf8(&mut [0; 4]).bytes().for_each(&mut *put),
            (None, place) => {
                put(b'&');
                match place {
                    Place::Number => put(b'#'),
                    Place::HexStart(x) => {
                        put(b'#');
                        put(x);
                    }
                    _ => name.iter().for_each(|letter| put(*letter)),
                }
            }
        }
        self.place = Place::Outside;
        ReferenceStep::Done {
            used: closed && letter.is_some(),
        }
    }
}

/// What a number stands for.
fn character(code: u32) -> char {
    let windows = code
        .checked_sub(0x80)
        .and_then(|place| WINDOWS.get(place as usize));
    match (code, windows) {
        (0, _) => None,
        (_, Some(code)) => char::from_u32((*code).into()),
        (code, None) => char::from_u32(code),
    }
    .unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// What a name stands for.
fn named(name: &[u8], closed: bool) -> Option<char> {
    if name.is_empty() {
        return None;
    }
    let at = word_at(NAMES, name, |known, name| known == name)?;
    match at.checked_sub(LATIN) {
        None => char::from_u32(0xa0 + at as u32),
        Some(at) => OTHERS
            .get(at)
            .filter(|_| closed || at < BARE)
            .map(|letter| char::from(*letter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latin_letter_has_its_place() {
        assert_eq!(NAMES.split(' ').count(), LATIN + OTHERS.len());
        assert!(NAMES.split(' ').all(|name| name.len() <= LONGEST));
        assert_eq!(NAMES.split(' ').nth(LATIN), Some("amp"));
        assert_eq!(named(b"REG", false), Some('\u{ae}'));
        assert_eq!(named(b"apos", false), None);
        assert_eq!(named(b"rcub", true), Some('}'));
        assert_eq!(named(b"eacute", false), Some('é'));
        assert_eq!(named(b"yuml", true), Some('ÿ'));
    }
}
