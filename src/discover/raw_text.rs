//! Elements whose content is no markup: scripts, styles, titles (HTML §13.2.5.2–4, §13.2.5.9–31).
//!
//! Such an element ends with its own end tag only. A script is harder: what looks like a comment in
//! it may hold a script of its own, whose end tag does not count.

use super::tag::Element;
use crate::fetch::ascii::find;

/// How deep a script is in what looks like a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    /// The script has opened what looks like a comment, with `<!--`.
    Once,
    /// A `<script` was opened in it: an end tag ends only that.
    Twice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is in the text itself.
    Text,
    /// It has read `<`.
    Open,
    /// It has read `<!`, and then `<!-`.
    Bang,
    BangDash,
    /// It has read `</`, and so many letters of the element's name.
    EndName(u8),
    /// It is in an escaped script, and has read `<` or `</` and so many letters of `script`.
    Nested(u8),
}

/// The text of an element, while it is passed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawText {
    element: Element,
    place: Place,
    escape: Escape,
    /// Dashes just before, two at most.
    dashes: u8,
}

impl RawText {
    /// Begins to pass over an element whose start tag has just ended.
    pub(super) fn new(element: Element) -> Self {
        Self {
            element,
            place: Place::Text,
            escape: Escape::No,
            dashes: 0,
        }
    }

    /// The element that is passed over.
    pub(super) fn element(&self) -> Element {
        self.element
    }

    /// Passes over bytes that are nothing but text, and need not be pushed: so many.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> usize {
        if self.place != Place::Text {
            return 0;
        }
        if self.element == Element::PlainText {
            return bytes.len();
        }
        let end = match self.escape {
            Escape::No => find(bytes, b'<'),
            // What may end a comment counts.
            Escape::Once | Escape::Twice => {
                let counts = |byte: &u8| matches!(byte, b'<' | b'-' | b'>');
                bytes.iter().position(counts)
            }
        };
        let skipped = end.unwrap_or(bytes.len());
        if skipped > 0 {
            self.dashes = 0;
        }
        skipped
    }

    /// Takes a byte; true if it stands behind the name of the element's end tag, which it is no
    /// part of.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        let ends_name = matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | b' ' | b'/' | b'>');
        match self.place {
            Place::Text => self.text(byte),
            Place::Open => self.open(byte),
            Place::Bang if byte == b'-' => self.place = Place::BangDash,
            Place::BangDash if byte == b'-' => {
                self.place = Place::Text;
                self.escape = Escape::Once;
                self.dashes = 2;
            }
            Place::EndName(matched) => {
                let name = self.element.name().as_bytes();
                match name.get(usize::from(matched)) {
                    None if ends_name => return true,
                    Some(letter) if byte.eq_ignore_ascii_case(letter) => {
                        self.place = Place::EndName(matched + 1);
                    }
                    _ => self.text(byte),
                }
            }
            Place::Nested(matched) => match b"script".get(usize::from(matched)) {
                None if ends_name => self.turn(),
                Some(letter) if byte.eq_ignore_ascii_case(letter) => {
                    self.place = Place::Nested(matched + 1);
                }
                _ => self.text(byte),
            },
            _ => self.text(byte),
        }
        false
    }

    /// Takes a byte of the text itself: it may begin something.
    fn text(&mut self, byte: u8) {
        self.place = Place::Text;
        match byte {
            b'<' if self.element != Element::PlainText => {
                self.place = Place::Open;
                self.dashes = 0;
            }
            b'-' => self.dashes = (self.dashes + 1).min(2),
            b'>' if self.dashes == 2 => {
                self.escape = Escape::No;
                self.dashes = 0;
            }
            _ => self.dashes = 0,
        }
    }

    /// Takes the byte after a `<`.
    fn open(&mut self, byte: u8) {
        match (byte, self.escape) {
            (b'/', Escape::No | Escape::Once) => self.place = Place::EndName(0),
            (b'/', Escape::Twice) => self.place = Place::Nested(0),
            (b'!', Escape::No) if self.element == Element::Script => self.place = Place::Bang,
            (letter, Escape::Once) if letter.is_ascii_alphabetic() => {
                self.place = Place::Nested(0);
                self.push(letter);
            }
            _ => self.text(byte),
        }
    }

    /// `<script` or `</script` has ended in an escaped script.
    fn turn(&mut self) {
        self.place = Place::Text;
        self.escape = match self.escape {
            Escape::Once => Escape::Twice,
            _ => Escape::Once,
        };
    }
}
