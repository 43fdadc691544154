//! JSON in fixed memory: names and strings, and how deep they are. Numbers and the rest are passed
//! over. It is no judge: what comes after a mistake is read as well as it can be.

use super::draft::WINDOW;
use crate::xml::Piece;
use crate::xml::window::Window;

/// What a document holds, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonEvent<'j> {
    /// An object begins, or else a list: it is so deep, counted from 1.
    Open { object: bool, depth: u16 },
    /// What was so deep ends.
    Close { depth: u16 },
    /// The name of a value in an object that is so deep.
    Name { name: Piece<'j>, depth: u16 },
    /// A string that is a value in what is so deep.
    Text { text: Piece<'j>, depth: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Between,
    Text,
    Escape,
    /// So many digits of `\u` are missing.
    Digits(u8),
}

/// Reads a document through a window.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    state: State,
    window: Window<WINDOW>,
    /// The string is, or would be, a name.
    is_name: bool,
    depth: u16,
    /// A bit for each of the outer 32 levels: it is an object. What is deeper has no names, which
    /// nobody reads there.
    objects: u32,
    /// The digits of `\u`, and the first half of a pair of them.
    code: u16,
    high: u16,
}

impl Reader {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Between,
            window: Window::new(),
            is_name: false,
            depth: 0,
            objects: 0,
            code: 0,
            high: 0,
        }
    }

    /// Reads on until there is something to tell; `None` if all bytes are used up. Work: constant
    /// per byte.
    pub(super) fn next<'j>(&'j mut self, bytes: &mut &[u8]) -> Option<JsonEvent<'j>> {
        self.window.forget();
        while let [byte, ..] = *bytes {
            if self.window.is_full() {
                return Some(self.string(false));
            }
            let used = match self.state {
                State::Text if !matches!(byte, b'\\' | b'"') => self.letters(bytes),
                _ => 1,
            };
            *bytes = bytes.get(used..).unwrap_or_default();
            match (self.state, *byte) {
                (State::Between, byte) => {
                    if let Some(event) = self.between(byte) {
                        return Some(event);
                    }
                }
                (State::Text, b'\\') => self.state = State::Escape,
                (State::Text, b'"') => {
                    self.put_half();
                    self.state = State::Between;
                    return Some(self.string(true));
                }
                (State::Text, _) => {}
                (State::Escape, byte) => self.escape(byte),
                (State::Digits(left), byte) => self.digit(byte, left),
            }
        }
        None
    }

    /// Takes the letters of a string that stand for themselves, as far as there is room: how many.
    fn letters(&mut self, bytes: &[u8]) -> usize {
        self.put_half();
        self.window.take_run(bytes, [b'\\', b'"'])
    }

    fn between(&mut self, byte: u8) -> Option<JsonEvent<'static>> {
        match byte {
            b'"' => self.state = State::Text,
            b',' => self.is_name = self.is_object(),
            b':' => self.is_name = false,
            b'{' | b'[' => {
                let object = byte == b'{';
                self.depth = self.depth.saturating_add(1);
                if let Some(bit) = self.bit() {
                    self.objects &= !bit;
                    self.objects |= if object { bit } else { 0 };
                }
                self.is_name = self.is_object();
                let depth = self.depth;
                return Some(JsonEvent::Open { object, depth });
            }
            b'}' | b']' => {
                let depth = self.depth;
                self.depth = depth.saturating_sub(1);
                self.is_name = false;
                return Some(JsonEvent::Close { depth });
            }
            _ => {}
        }
        None
    }

    /// Hands out the string, or a piece of it.
    fn string(&mut self, is_last: bool) -> JsonEvent<'_> {
        let depth = self.depth;
        let piece = self.window.piece(is_last);
        match self.is_name {
            true => JsonEvent::Name { name: piece, depth },
            false => JsonEvent::Text { text: piece, depth },
        }
    }

    fn escape(&mut self, byte: u8) {
        self.state = State::Text;
        let byte = match byte {
            b'u' => {
                self.code = 0;
                self.state = State::Digits(4);
                return;
            }
            b'n' | b't' | b'r' | b'b' | b'f' => b' ',
            byte => byte,
        };
        self.put_half();
        self.window.text.push(byte);
    }

    fn digit(&mut self, byte: u8, left: u8) {
        let digit = char::from(byte).to_digit(16).unwrap_or(0);
        self.code = self.code << 4 | digit as u16;
        self.state = State::Digits(left - 1);
        if left > 1 {
            return;
        }
        self.state = State::Text;
        match self.code {
            0xd800..0xdc00 => {
                self.put_half();
                self.high = self.code;
            }
            0xdc00..0xe000 if self.high != 0 => {
                let high = u32::from(core::mem::take(&mut self.high) - 0xd800);
                let low = u32::from(self.code - 0xdc00);
                self.window.text.push_letter(0x1_0000 + (high << 10 | low));
            }
            code => {
                self.put_half();
                self.window.text.push_letter(code.into());
            }
        }
    }

    /// The first half of a pair that has no second one is no letter.
    fn put_half(&mut self) {
        if core::mem::take(&mut self.high) != 0 {
            self.window
                .text
                .push_letter(u32::from(char::REPLACEMENT_CHARACTER));
        }
    }

    fn bit(&self) -> Option<u32> {
        1_u32.checked_shl(u32::from(self.depth).checked_sub(1)?)
    }

    fn is_object(&self) -> bool {
        self.bit().is_some_and(|bit| self.objects & bit != 0)
    }
}
