//! What is signed: ten lines that say what the payload is and for whom.
//!
//! The fields are those of RFC 9124; the encoding is text, so that `cat` shows it and `signify`
//! signs it. Lines stand in this order and end with a line feed; nothing may follow.
//!
//! ```text
//! dunlin update 1
//! kind firmware
//! board qemu-mps2
//! build 00112233445566ff
//! sequence 7
//! counter 0
//! length 181244
//! sha512 (128 hexadecimal digits)
//! store 1
//! image 1
//! url qemu-mps2-7.bin
//! ```

use super::refusal::Refusal;
use crate::fetch::decimal;

/// What an update brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PayloadKind {
    /// A firmware, for the spare slot.
    Firmware,
    /// A page image, for the spare half of its partition.
    List,
}

impl PayloadKind {
    /// The word in the manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Firmware => "firmware",
            Self::List => "list",
        }
    }
}

/// What a manifest says. Made by [`parse`](Self::parse), after its signature was
/// [verified](super::PublicKey::open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest<'m> {
    /// Whether it brings firmware or a list.
    pub kind: PayloadKind,
    /// Which board it is for.
    pub board: &'m str,
    /// The firmware's build identity, as in its boot banner; of a list, the first bytes of its
    /// digest.
    pub build: u64,
    /// Rises with each release, a downgrade included.
    pub sequence: u32,
    /// Rises when a hole was closed: what has a lower one is refused from then on.
    pub counter: u32,
    /// Bytes of the payload.
    pub length: u32,
    /// The SHA-512 of the payload.
    pub digest: [u8; 64],
    /// The oldest version of the store's records that the firmware can read; 0 of a list.
    pub store: u8,
    /// The oldest version of page images that the firmware can read; of a list, its own version.
    pub image: u16,
    /// Where the payload is: a URL, or a part of one that is joined with the manifest's.
    pub url: &'m str,
}

/// How every manifest of this version begins.
const FIRST: &str = "dunlin update 1";

impl<'m> Manifest<'m> {
    /// Reads a message whose signature is good. Work: the message's length.
    ///
    /// # Errors
    /// [`Refusal::Manifest`] names the first line that is missing or makes no sense.
    pub fn parse(message: &'m [u8]) -> Result<Self, Refusal> {
        let mut lines = Lines {
            rest: message,
            line: 0,
        };
        lines.next("", |line| (line == FIRST).then_some(()))?;
        let mut build = [0; 8];
        let mut digest = [0; 64];
        let manifest = Self {
            kind: lines.next("kind ", |word| {
                [PayloadKind::Firmware, PayloadKind::List]
                    .into_iter()
                    .find(|kind| kind.name() == word)
            })?,
            board: lines.next("board ", word)?,
            build: {
                lines.bytes("build ", &mut build)?;
                u64::from_be_bytes(build)
            },
            sequence: lines.number("sequence ", u32::MAX)?,
            counter: lines.number("counter ", u32::MAX)?,
            length: lines.number("length ", u32::MAX)?,
            digest: {
                lines.bytes("sha512 ", &mut digest)?;
                digest
            },
            store: lines.number("store ", u8::MAX.into())? as u8,
            image: lines.number("image ", u16::MAX.into())? as u16,
            url: lines.next("url ", word)?,
        };
        if lines.rest.is_empty() {
            Ok(manifest)
        } else {
            Err(Refusal::Manifest {
                line: lines.line + 1,
            })
        }
    }

    /// The text that is signed.
    #[cfg(feature = "std")]
    pub fn text(&self) -> std::string::String {
        let digest: std::string::String = self
            .digest
            .iter()
            .map(|byte| std::format!("{byte:02x}"))
            .collect();
        std::format!(
            "{FIRST}\nkind {}\nboard {}\nbuild {:016x}\nsequence {}\ncounter {}\nlength {}\n\
            sha512 {digest}\nstore {}\nimage {}\nurl {}\n",
            self.kind.name(),
            self.board,
            self.build,
            self.sequence,
            self.counter,
            self.length,
            self.store,
            self.image,
            self.url,
        )
    }
}

/// Takes one line after the other.
struct Lines<'m> {
    rest: &'m [u8],
    /// The line that was taken last.
    line: u8,
}

impl<'m> Lines<'m> {
    /// The value of the next line, which has this name.
    fn next<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'m str) -> Option<T>,
    ) -> Result<T, Refusal> {
        self.line += 1;
        let line = self.line;
        self.value(name)
            .and_then(read)
            .ok_or(Refusal::Manifest { line })
    }

    /// The same of a number up to `most`, without zeros before it: there is one way to write it.
    #[inline(never)] // Once for all numbers.
    fn number(&mut self, name: &str, most: u32) -> Result<u32, Refusal> {
        self.next(name, |digits| {
            let is_plain = digits == "0" || !digits.starts_with('0');
            let number = decimal(digits.as_bytes()).filter(|_| is_plain)?;
            u32::try_from(number).ok().filter(|number| *number <= most)
        })
    }

    /// The same of bytes, as many as there is room for.
    #[inline(never)] // Once for all lengths.
    fn bytes(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.next(name, |digits| {
            read_hexadecimal(digits.as_bytes(), bytes).then_some(())
        })
    }

    #[inline(never)] // Once for all lines.
    fn value(&mut self, name: &str) -> Option<&'m str> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line = self.rest.get(..end)?;
        self.rest = self.rest.get(end + 1..)?;
        core::str::from_utf8(line).ok()?.strip_prefix(name)
    }
}

/// A word of letters that can be seen.
fn word(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then_some(text)
}

/// Fills `bytes`, two small hexadecimal digits each; false if these are not as many digits.
fn read_hexadecimal(digits: &[u8], bytes: &mut [u8]) -> bool {
    if digits.len() != 2 * bytes.len() {
        return false;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return false,
            };
            *byte = *byte << 4 | value;
        }
    }
    true
}
