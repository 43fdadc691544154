//! Is what lies in flash what was signed? It is read back, not remembered: a download goes on after
//! a restart, and a bit may be lost on the way into flash, too.

use embedded_storage::nor_flash::ReadNorFlash;

use super::refusal::Refusal;
use super::sha512::Sha512;

/// Bytes that are read at once.
pub(super) const PIECE: usize = 256;
/// Bytes of one step: some 570,000 instructions on a Cortex-M4, then others have a turn.
const STEP: u32 = 4096;

/// Reads flash step by step.
pub(super) struct Check {
    hash: Sha512,
    /// Where the payload begins, how much of it was read, and how long it is.
    start: u32,
    at: u32,
    length: u32,
}

impl Check {
    /// Checks so many bytes from `start` on.
    pub(super) fn new(start: u32, length: u32) -> Self {
        Self {
            hash: Sha512::new(),
            start,
            at: 0,
            length,
        }
    }

    /// Reads on; true at the end. Work: [`STEP`] bytes.
    pub(super) fn step<F: ReadNorFlash>(&mut self, flash: &mut F) -> Result<bool, Refusal> {
        let end = self.at.saturating_add(STEP).min(self.length);
        let mut piece = [0; PIECE];
        while self.at < end {
            flash
                .read(self.start + self.at, &mut piece)
                .map_err(|_| Refusal::Flash)?;
            let count = (end - self.at).min(PIECE as u32);
            self.hash
                .update(piece.get(..count as usize).unwrap_or_default());
            self.at += count;
        }
        Ok(self.at == self.length)
    }

    /// The digest of what was read.
    pub(super) fn finish(&mut self) -> [u8; 64] {
        self.hash.finish()
    }
}

/// The SHA-512 of these bytes, as a manifest has it.
///
/// ```
/// # use dunlin::update::digest_of;
/// assert_eq!(digest_of(b"abc")[..4], [0xdd, 0xaf, 0x35, 0xa1]);
/// ```
pub fn digest_of(bytes: &[u8]) -> [u8; 64] {
    let mut hash = Sha512::new();
    hash.update(bytes);
    hash.finish()
}
