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

use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};

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

/// The half that counts, of two that came as updates, and what its header says: the newest whose
/// image is good. `is_good` says whether the board can run on so many bytes behind the header of a
/// half. `None` if there is none: then what a cable has brought counts. A header that cannot be
/// read is none. Work: the headers, and the image that is chosen, as a rule.
pub fn newest<F: ReadNorFlash>(
    halves: &mut [F; 2],
    is_good: &mut dyn FnMut(usize, u32) -> bool,
) -> Option<(usize, Header)> {
    let mut found = [None; 2];
    for (index, (half, found)) in halves.iter_mut().zip(&mut found).enumerate() {
        let mut bytes = [0; HEADER];
        let read = half.read(0, &mut bytes);
        let header = read.ok().and_then(|()| Header::decode(&bytes));
        *found = header.map(|header| (index, header));
    }
    let sequence = |half: &Option<(usize, Header)>| half.map(|(_, header)| header.release.sequence);
    let [first, second] = &found;
    // Of two that are equally new, the first: it was there before.
    if sequence(first) < sequence(second) {
        found.reverse();
    }
    found
        .into_iter()
        .flatten()
        .find(|(half, header)| header.release.sequence > 0 && is_good(*half, header.length))
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
