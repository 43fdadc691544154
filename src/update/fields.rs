//! Fields of a record in flash: one after the other, the least byte first, and a checksum at the
//! end.

use super::journal::Released;
use crate::math::crc32;

/// Puts one field after the other.
pub(super) struct Writer<'b>(pub(super) &'b mut [u8]);

impl Writer<'_> {
    #[inline(never)] // Once for all fields.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let room = core::mem::take(&mut self.0);
        let (now, later) = room.split_at_mut_checked(bytes.len()).unwrap_or_default();
        now.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.0 = later;
    }

    pub(super) fn released(&mut self, released: Released) {
        self.put(&released.sequence.to_le_bytes());
        self.put(&released.counter.to_le_bytes());
    }
}

/// Takes one field after the other of a record that is whole.
pub(super) struct Reader<'r>(pub(super) &'r [u8]);

impl Reader<'_> {
    /// A number of so many bytes.
    #[inline(never)] // Once for all fields.
    pub(super) fn number(&mut self, bytes: usize) -> u64 {
        let (taken, rest) = self.0.split_at_checked(bytes).unwrap_or_default();
        self.0 = rest;
        taken
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub(super) fn released(&mut self) -> Released {
        Released {
            sequence: self.number(4) as u32,
            counter: self.number(4) as u32,
        }
    }
}

/// The checksum of a record, but for the place of the checksum, behind these bytes.
#[inline(never)] // Once for all records.
fn checksum(seal: &[u8], record: &[u8]) -> [u8; 4] {
    let (fields, _) = record.split_last_chunk::<4>().unwrap_or((&[], &[0; 4]));
    crc32(&[seal, fields]).to_le_bytes()
}

/// Puts the checksum at the end of a record.
pub(super) fn seal(seal: &[u8], record: &mut [u8]) {
    let sum = checksum(seal, record);
    if let Some(place) = record.last_chunk_mut() {
        *place = sum;
    }
}

/// Is the checksum at the end of a record its own?
pub(super) fn is_sealed(seal: &[u8], record: &[u8]) -> bool {
    record.ends_with(&checksum(seal, record))
}
