//! xml: a pull parser in fixed memory, for what hosts say about their pages: sitemaps and feeds.
//!
//! [`Reader`] takes bytes in any pieces and gives elements, attributes and text. It is no judge:
//! end tags need not match, and what comes after a mistake is read as well as it can be. Nothing in
//! a document makes it grow or work longer than the document is: entities that a document defines
//! are not expanded, nothing is nested, and nothing is fetched.
//!
//! ```
//! use dunlin::xml::{Piece, Reader, Token};
//!
//! let mut reader: Reader<64> = Reader::new();
//! let mut bytes: &[u8] = b"<loc a='1'> http://a.test/?b=1&amp;c=2</loc>";
//! assert_eq!(reader.next(&mut bytes), Some(Token::Start(b"loc")));
//! let value = Piece::all(b"1");
//! assert_eq!(reader.next(&mut bytes), Some(Token::Attribute { name: b"a", value }));
//! let text = Piece::all(b"http://a.test/?b=1&c=2");
//! assert_eq!(reader.next(&mut bytes), Some(Token::Text(text)));
//! assert_eq!(reader.next(&mut bytes), Some(Token::End(b"loc")));
//! assert_eq!(reader.next(&mut bytes), None);
//! ```

pub(crate) mod buffer;
mod reference;
pub(crate) mod window;

use buffer::Buffer;
use window::Window;

/// Longest name of an element or attribute, with its prefix.
pub const LONGEST_NAME: usize = 32;

/// A text, or one of the pieces in which a text comes that is longer than the reader's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'x> {
    /// Its bytes; the last of several pieces may have none.
    pub bytes: &'x [u8],
    /// The text begins with it.
    pub is_first: bool,
    /// The text ends with it.
    pub is_last: bool,
}

impl<'x> Piece<'x> {
    /// A text that comes in one piece.
    pub const fn all(bytes: &'x [u8]) -> Self {
        Self {
            bytes,
            is_first: true,
            is_last: true,
        }
    }

    /// The text, if it has come in one piece; else nothing.
    pub fn whole(self) -> &'x [u8] {
        match self.is_first && self.is_last {
            true => self.bytes,
            false => &[],
        }
    }
}

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
        value: Piece<'x>,
    },
    /// Text between two tags, references resolved, without white space before it.
    Text(Piece<'x>),
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

/// Reads a document through a window of `TEXT` bytes, from 32 on. See the [module](self).
#[derive(Clone, Debug)]
pub struct Reader<const TEXT: usize> {
    state: State,
    /// The element at hand.
    name: Buffer<LONGEST_NAME>,
    attribute: Buffer<LONGEST_NAME>,
    /// Text, or the value of an attribute.
    window: Window<TEXT>,
    /// The last so many bytes of it are a reference.
    reference: u8,
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
            window: Window::new(),
            reference: 0,
        }
    }

    /// Reads on until there is something to tell; `None` if all bytes are used up. Work: constant
    /// per byte.
    pub fn next<'x>(&'x mut self, bytes: &mut &[u8]) -> Option<Token<'x>> {
        self.window.forget();
        let found = loop {
            let byte = *bytes.first()?;
            let (used, found) = self.push(byte, bytes);
            *bytes = bytes.get(used..).unwrap_or_default();
            if let Some(found) = found {
                break found;
            }
        };
        let is_last = found != Found::Piece;
        let is_value = found == Found::Attribute || matches!(self.state, State::Value(_));
        Some(match found {
            Found::Start => Token::Start(self.name.whole()),
            Found::End => Token::End(self.name.whole()),
            _ if is_value => Token::Attribute {
                name: self.attribute.whole(),
                value: self.window.piece(is_last),
            },
            _ => Token::Text(self.window.piece(is_last)),
        })
    }

    /// Takes the first of these bytes, and what is like it behind it; how many it has used up, and
    /// what they have completed. One that ends something may have to be taken again.
    fn push(&mut self, byte: u8, bytes: &[u8]) -> (usize, Option<Found>) {
        match self.state {
            State::Text => return self.content(byte, bytes, b'<'),
            State::Value(quote) => return self.content(byte, bytes, quote),
            State::Open => return self.open(byte),
            State::Name => {
                let (used, ends) = take_name(&mut self.name, bytes, const { ends(b"\t\n\r />") });
                if !ends {
                    return (used, None);
                }
                self.state = State::InTag;
                return (used, Some(Found::Start));
            }
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
            State::AttributeName => {
                let (used, ends) =
                    take_name(&mut self.attribute, bytes, const { ends(b"\t\n\r /=>") });
                if ends {
                    self.state = State::AfterAttributeName;
                }
                return (used, None);
            }
            State::AfterAttributeName => match byte {
                b'=' => self.state = State::BeforeValue,
                _ if is_space(byte) => {}
                _ => {
                    self.state = State::InTag;
                    return (0, None);
                }
            },
            State::BeforeValue => match byte {
                b'"' | b'\'' => self.state = State::Value(byte),
                _ if is_space(byte) => {}
                _ => {
                    self.state = State::InTag;
                    return (0, None);
                }
            },
            State::Empty if byte == b'>' => {
                self.state = State::Text;
                return (1, Some(Found::End));
            }
            State::Empty => {
                self.state = State::InTag;
                return (0, None);
            }
            State::EndName => {
                let (used, ends) = take_name(&mut self.name, bytes, const { ends(b"\t\n\r >") });
                if ends {
                    self.state = State::AfterEndName;
                }
                return (used, None);
            }
            State::AfterEndName if byte == b'>' => {
                self.state = State::Text;
                return (1, Some(Found::End));
            }
            State::AfterEndName => {}
            State::Cdata(_) if self.window.is_full() => return (0, Some(Found::Piece)),
            _ => return (self.declaration(byte).into(), None),
        }
        (1, None)
    }

    /// Takes text, or the value of an attribute, as far as there is room, up to the byte that ends
    /// it.
    fn content(&mut self, byte: u8, bytes: &[u8], end: u8) -> (usize, Option<Found>) {
        if self.reference > 0 {
            return (self.reference(byte).into(), None);
        }
        match byte {
            b'<' if end == b'<' => self.state = State::Open,
            _ if byte == end => {
                self.state = State::InTag;
                return (1, Some(Found::Attribute));
            }
            _ if self.window.is_full() => return (0, Some(Found::Piece)),
            b'&' => {
                self.window.text.push(byte);
                self.reference = 1;
            }
            // White space before the text takes no room.
            _ if end == b'<' && is_space(byte) && !self.window.is_open() => {
                let text = bytes.iter().position(|byte| !is_space(*byte));
                return (text.unwrap_or(bytes.len()), None);
            }
            _ => {
                let used = self.window.take_run(bytes, [end, b'&']);
                return (used, None);
            }
        }
        (1, None)
    }

    /// Takes a byte of a reference; false if it has to be taken again, behind the reference. What
    /// the reference stands for takes its place.
    #[inline(never)] // Once for text and values.
    fn reference(&mut self, byte: u8) -> bool {
        if reference::goes_on(byte) && usize::from(self.reference) < reference::LONGEST {
            self.window.text.push(byte);
            self.reference += 1;
            return true;
        }
        let length = core::mem::take(&mut self.reference);
        let text = self.window.text.beginning();
        let name = text.len() + 1 - usize::from(length);
        let name = text.get(name..).unwrap_or_default();
        let letter = reference::character(name).filter(|_| byte == b';');
        if let Some(letter) = letter {
            self.window.text.shorten(length);
            self.window.text.push_letter(letter);
        }
        letter.is_some()
    }

    /// After `<`. Before a tag, the text has to be handed out; comments and CDATA do not end it.
    fn open(&mut self, byte: u8) -> (usize, Option<Found>) {
        match byte {
            b'!' => self.state = State::Bang,
            b'?' => self.state = State::Instruction(false),
            _ if self.window.is_open() => return (0, Some(Found::Text)),
            b'/' => {
                self.name.clear();
                self.state = State::EndName;
            }
            _ => {
                self.name.clear();
                self.state = State::Name;
                return (0, None);
            }
        }
        (1, None)
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
                self.window.text.push(b']');
                State::Cdata(2)
            }
            (State::Cdata(brackets), b']') => State::Cdata(brackets + 1),
            (State::Cdata(brackets), byte) => {
                (0..brackets).for_each(|_| self.window.text.push(b']'));
                self.window.text.push(byte);
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
    /// A piece of a text or of a value, which goes on.
    Piece,
    End,
}

/// Bytes that end a name, none of which is beyond `>`: a bit for each of them.
const fn ends(bytes: &[u8]) -> u64 {
    let mut ends = 0;
    let mut index = 0;
    while index < bytes.len() {
        ends |= 1 << bytes[index];
        index += 1;
    }
    ends
}

/// Adds to a name what comes of it; how much that is, and whether the name ends there.
#[inline(never)] // Once for all callers.
fn take_name(name: &mut Buffer<LONGEST_NAME>, bytes: &[u8], ends: u64) -> (usize, bool) {
    let is_end = |byte: &u8| *byte <= b'>' && ends >> *byte & 1 != 0;
    let end = bytes.iter().position(is_end);
    let used = end.unwrap_or(bytes.len());
    name.extend(bytes.get(..used).unwrap_or_default());
    (used, end.is_some())
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
