//! xml: a pull parser in fixed memory, for what hosts say about their pages: sitemaps and feeds.
//!
//! [`Reader`] takes bytes in any pieces and gives elements, attributes and text. It is no judge:
//! end tags need not match, and what comes after a mistake is read as well as it can be. Nothing in
//! a document makes it grow or work longer than the document is: entities that a document defines
//! are not expanded, nothing is nested, and nothing is fetched.
//!
//! ```
//! use dunlin::xml::{Reader, Token};
//!
//! let mut reader: Reader<64> = Reader::new();
//! let mut bytes: &[u8] = b"<loc a='1'> http://a.test/?b=1&amp;c=2 </loc>";
//! assert_eq!(reader.next(&mut bytes), Some(Token::Start(b"loc")));
//! let attribute = Token::Attribute { name: b"a", value: b"1", cut: false };
//! assert_eq!(reader.next(&mut bytes), Some(attribute));
//! let text = Token::Text { text: b"http://a.test/?b=1&c=2", cut: false };
//! assert_eq!(reader.next(&mut bytes), Some(text));
//! assert_eq!(reader.next(&mut bytes), Some(Token::End(b"loc")));
//! assert_eq!(reader.next(&mut bytes), None);
//! ```

pub(crate) mod buffer;
mod reference;

use crate::fetch::ascii::trimmed;
use buffer::Buffer;
use reference::Reference;

/// Longest name of an element or attribute, with its prefix.
pub const LONGEST_NAME: usize = 32;

/// What a document holds, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'x> {
    /// An element begins; its attributes follow. A name that is too long is empty.
    Start(&'x [u8]),
    /// An attribute of the element that has just begun.
    Attribute {
        /// Its name, with its prefix.
        name: &'x [u8],
        /// Its value, references resolved.
        value: &'x [u8],
        /// The value did not fit: this is its beginning.
        cut: bool,
    },
    /// Text between two tags, references resolved, without white space around it.
    Text {
        /// The bytes of the text, or its beginning.
        text: &'x [u8],
        /// It did not fit: this is its beginning.
        cut: bool,
    },
    /// The element of this name ends.
    End(&'x [u8]),
}

/// Where in a document the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// It has read `<`.
    Open,
    Name,
    InTag,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Value(u8),
    /// It has read the `/` of an element without content.
    Empty,
    EndName,
    /// It looks for the `>` of an end tag whose name is known.
    AfterEndName,
    /// It has read `<!`, and so many bytes of `--` or `[CDATA[`.
    Bang,
    Dash,
    CdataName(u8),
    /// It is in a comment, after so many dashes; in CDATA, after so many brackets.
    Comment(u8),
    Cdata(u8),
    /// It is in an instruction; true after a `?`.
    Instruction(bool),
    /// It is in a document type: angles that are open, and the quote that we are in, or 0.
    DocumentType(u8, u8),
}

/// Reads a document through a window of `TEXT` bytes. See the [module](self).
#[derive(Clone, Debug)]
pub struct Reader<const TEXT: usize> {
    state: State,
    /// The element at hand.
    name: Buffer<LONGEST_NAME>,
    attribute: Buffer<LONGEST_NAME>,
    /// Text, or the value of an attribute.
    text: Buffer<TEXT>,
    reference: Reference,
    /// What was handed out last is cleared by the next call.
    spent: bool,
}

impl<const TEXT: usize> Default for Reader<TEXT> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const TEXT: usize> Reader<TEXT> {
    /// A reader at the beginning of a document.
    pub const fn new() -> Self {
        Self {
            state: State::Text,
            name: Buffer::new(),
            attribute: Buffer::new(),
            text: Buffer::new(),
            reference: Reference::new(),
            spent: false,
        }
    }

    /// Reads on until there is something to tell; `None` if all bytes are used up. Work: constant
    /// per byte.
    pub fn next<'x>(&'x mut self, bytes: &mut &[u8]) -> Option<Token<'x>> {
        if core::mem::take(&mut self.spent) {
            self.text.clear();
        }
        let found = loop {
            let (byte, rest) = bytes.split_first()?;
            let (used, found) = self.push(*byte);
            if used {
                *bytes = rest;
            }
            if let Some(found) = found {
                break found;
            }
        };
        self.spent = matches!(found, Found::Text | Found::Attribute);
        Some(match found {
            Found::Start => Token::Start(self.name.whole()),
            Found::End => Token::End(self.name.whole()),
            Found::Attribute => Token::Attribute {
                name: self.attribute.whole(),
                value: self.text.beginning(),
                cut: self.text.is_cut(),
            },
            Found::Text => Token::Text {
                text: trimmed(self.text.beginning()),
                cut: self.text.is_cut(),
            },
        })
    }

    /// Takes a byte; whether it is used up, and what it has completed.
    fn push(&mut self, byte: u8) -> (bool, Option<Found>) {
        match self.state {
            State::Text => return (self.text_byte(byte), None),
            State::Open => return self.open(byte),
            State::Name if is_space(byte) || matches!(byte, b'/' | b'>') => {
                self.state = State::InTag;
                return (false, Some(Found::Start));
            }
            State::Name => self.name.push(byte),
            State::InTag => match byte {
                b'>' => self.state = State::Text,
                b'/' => self.state = State::Empty,
                _ if is_space(byte) => {}
                _ => {
                    self.attribute.clear();
                    self.attribute.push(byte);
                    self.state = State::AttributeName;
                }
            },
            State::AttributeName
                if byte == b'=' || is_space(byte) || matches!(byte, b'/' | b'>') =>
            {
                self.state = State::AfterAttributeName;
                return (false, None);
            }
            State::AttributeName => self.attribute.push(byte),
            State::AfterAttributeName => match byte {
                b'=' => self.state = State::BeforeValue,
                _ if is_space(byte) => {}
                _ => {
                    self.state = State::InTag;
                    return (false, None);
                }
            },
            State::BeforeValue => match byte {
                b'"' | b'\'' => self.state = State::Value(byte),
                _ if is_space(byte) => {}
                _ => {
                    self.state = State::InTag;
                    return (false, None);
                }
            },
            State::Value(quote) => return self.value_byte(byte, quote),
            State::Empty if byte == b'>' => {
                self.state = State::Text;
                return (true, Some(Found::End));
            }
            State::Empty => {
                self.state = State::InTag;
                return (false, None);
            }
            State::EndName if byte == b'>' || is_space(byte) => {
                self.state = State::AfterEndName;
                return (false, None);
            }
            State::EndName => self.name.push(byte),
            State::AfterEndName if byte == b'>' => {
                self.state = State::Text;
                return (true, Some(Found::End));
            }
            State::AfterEndName => {}
            _ => return (self.declaration(byte), None),
        }
        (true, None)
    }

    fn text_byte(&mut self, byte: u8) -> bool {
        if self.reference.is_inside() {
            return self.reference.push(byte, &mut self.text);
        }
        match byte {
            b'<' => self.state = State::Open,
            b'&' => self.reference.begin(),
            // White space before the text takes no room.
            _ if is_space(byte) && self.text.is_empty() => {}
            _ => self.text.push(byte),
        }
        true
    }

    fn value_byte(&mut self, byte: u8, quote: u8) -> (bool, Option<Found>) {
        if self.reference.is_inside() {
            return (self.reference.push(byte, &mut self.text), None);
        }
        match byte {
            b'&' => self.reference.begin(),
            _ if byte == quote => {
                self.state = State::InTag;
                return (true, Some(Found::Attribute));
            }
            _ => self.text.push(byte),
        }
        (true, None)
    }

    /// After `<`. Before a tag, the text has to be handed out; comments and CDATA do not end it.
    fn open(&mut self, byte: u8) -> (bool, Option<Found>) {
        match byte {
            b'!' => self.state = State::Bang,
            b'?' => self.state = State::Instruction(false),
            _ if !self.text.is_empty() => return (false, Some(Found::Text)),
            b'/' => {
                self.name.clear();
                self.state = State::EndName;
            }
            _ => {
                self.name.clear();
                self.state = State::Name;
                return (false, None);
            }
        }
        (true, None)
    }

    /// What begins with `<!` or `<?`; false if the byte has to be read again.
    fn declaration(&mut self, byte: u8) -> bool {
        const CDATA: &[u8] = b"CDATA[";
        self.state = match (self.state, byte) {
            (State::Bang, b'-') => State::Dash,
            (State::Bang, b'[') => State::CdataName(0),
            (State::Dash, b'-') => State::Comment(0),
            (State::CdataName(matched), byte) if CDATA.get(usize::from(matched)) == Some(&byte) => {
                if usize::from(matched) + 1 == CDATA.len() {
                    State::Cdata(0)
                } else {
                    State::CdataName(matched + 1)
                }
            }
            (State::Bang | State::Dash | State::CdataName(_), _) => {
                self.state = State::DocumentType(0, 0);
                return false;
            }
            (State::Comment(2), b'>') => State::Text,
            (State::Comment(dashes), b'-') => State::Comment((dashes + 1).min(2)),
            (State::Comment(_), _) => State::Comment(0),
            (State::Cdata(2), b'>') => State::Text,
            (State::Cdata(2), b']') => {
                self.text.push(b']');
                State::Cdata(2)
            }
            (State::Cdata(brackets), b']') => State::Cdata(brackets + 1),
            (State::Cdata(brackets), byte) => {
                (0..brackets).for_each(|_| self.text.push(b']'));
                self.text.push(byte);
                State::Cdata(0)
            }
            (State::Instruction(true), b'>') => State::Text,
            (State::Instruction(_), byte) => State::Instruction(byte == b'?'),
            (State::DocumentType(angles, quote), byte) => document_type(angles, quote, byte),
            (state, _) => state,
        };
        true
    }
}

/// What a byte completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Start,
    Attribute,
    Text,
    End,
}

/// A document type ends with its own `>`, behind those of the declarations in it.
fn document_type(angles: u8, quote: u8, byte: u8) -> State {
    match (byte, quote) {
        (b'"' | b'\'', 0) => State::DocumentType(angles, byte),
        (_, 1..) => State::DocumentType(angles, if byte == quote { 0 } else { quote }),
        (b'<', _) => State::DocumentType(angles.saturating_add(1), 0),
        (b'>', _) if angles == 0 => State::Text,
        (b'>', _) => State::DocumentType(angles - 1, 0),
        _ => State::DocumentType(angles, 0),
    }
}

/// Whether XML takes this byte for white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' ')
}

/// The part of a name behind its prefix, and the prefix.
///
/// ```
/// assert_eq!(dunlin::xml::split_name(b"image:loc"), (&b"image"[..], &b"loc"[..]));
/// assert_eq!(dunlin::xml::split_name(b"loc"), (&b""[..], &b"loc"[..]));
/// ```
pub fn split_name(name: &[u8]) -> (&[u8], &[u8]) {
    let colon = name.iter().position(|byte| *byte == b':');
    match colon.and_then(|colon| name.split_at_checked(colon)) {
        Some((prefix, [_, local @ ..])) => (prefix, local),
        _ => (&[], name),
    }
}
