//! Page lists in two halves of a partition: the newest good one counts, and the other one is where
//! the next one goes.
//!
//! ```text
//! half    header (64 bytes) · page image · blank
//! header  "dlst" · version u8 · sequence u32 · counter u32 · length u32 · blank · checksum u32
//! ```
//!
//! The header is written last; the image has a checksum of its own. A half without one may hold a
//! page image from its first byte on, as a cable puts it there: it counts as sequence 0.

use embedded_storage::nor_flash::NorFlash;

use super::fields::{self, Reader, Writer, is_sealed};
use super::journal::Released;
use super::refusal::Refusal;

/// Bytes before the page image: whole words of every flash.
pub const HEADER: usize = 64;
const MAGIC: [u8; 4] = *b"dlst";
const VERSION: u8 = 1;

/// What a half says of the image behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the manifest said that it came with.
    pub release: Released,
    /// Bytes of the image.
    pub length: u32,
}

impl Header {
    /// The header as bytes of flash.
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0xff; HEADER];
        let mut to = Writer(&mut bytes);
        to.put(&MAGIC);
        to.put(&[VERSION]);
        to.released(self.release);
        to.put(&self.length.to_le_bytes());
        fields::seal(&[], &mut bytes);
        bytes
    }

    /// Reads it; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (bytes, _) = bytes.split_first_chunk::<HEADER>()?;
        let rest = bytes.strip_prefix(&MAGIC)?;
        let mut from = Reader(rest);
        let good = from.number(1) == u64::from(VERSION) && is_sealed(&[], bytes);
        good.then(|| Self {
            release: from.released(),
            length: from.number(4) as u32,
        })
    }
}

/// What may be the image in a half, and what it was released as; `None` if there is none. Work:
/// constant.
pub fn content(half: &[u8]) -> Option<(Released, &[u8])> {
    let Some(header) = Header::decode(half) else {
        // Whether it is an image, and how long, is for the image's own reader to say.
        return Some((Released::default(), half));
    };
    let length = usize::try_from(header.length).ok()?;
    Some((header.release, half.get(HEADER..)?.get(..length)?))
}

/// The half that counts, of two: the newest whose image is good. `is_good` says whether the board
/// can run on it. Work: both halves.
pub fn newest(
    halves: [&[u8]; 2],
    is_good: impl Fn(&[u8]) -> bool,
) -> Option<(usize, Released, &[u8])> {
    halves
        .into_iter()
        .enumerate()
        .filter_map(|(index, half)| {
            let (release, image) = content(half)?;
            is_good(image).then_some((index, release, image))
        })
        // Of two that are equally new, the first: it was there before.
        .reduce(|best, other| {
            if other.1.sequence > best.1.sequence {
                other
            } else {
                best
            }
        })
}

/// Writes the header of a half, whose image was written and verified: from here on it counts.
///
/// # Errors
/// [`Refusal::Flash`]
pub fn seal<F: NorFlash>(flash: &mut F, start: u32, header: &Header) -> Result<(), Refusal> {
    flash
        .write(start, &header.encode())
        .map_err(|_| Refusal::Flash)
}
