//! Where a record's text is: where it was decrypted.
//!
//! rustls would copy it into the pool, up to 16 KiB at a time. It is told of the first byte only,
//! which is enough for it to say that a record with text was in order. The rest stays in the shared
//! buffer, and the decrypter leaves a note at the end of the record, where its tag was.

use core::ops::Range;

/// Bytes of a note: how far before the end of the record its text begins, and how long it is.
const NOTE: usize = 4;

/// Notes where the text is in a record that was decrypted in place. A record is longer than its
/// text and a note: it had a tag.
pub(crate) fn note(record: &mut [u8], text: Range<usize>) {
    let before = record.len().saturating_sub(text.start) as u16;
    let length = text.len() as u16;
    if let Some(place) = record.last_chunk_mut::<NOTE>() {
        let [a, b] = before.to_le_bytes();
        let [c, d] = length.to_le_bytes();
        *place = [a, b, c, d];
    }
}

/// Where the text is of the record that ends at the end of these bytes.
pub(crate) fn noted(bytes: &[u8]) -> Option<Range<usize>> {
    let [a, b, c, d] = *bytes.last_chunk::<NOTE>()?;
    let before = usize::from(u16::from_le_bytes([a, b]));
    let length = usize::from(u16::from_le_bytes([c, d]));
    let start = bytes.len().checked_sub(before)?;
    (length + NOTE <= before).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_leads_to_the_text() {
        let mut record = [0; 40];
        note(&mut record[10..35], 3..9);
        assert_eq!(noted(&record[..35]), Some(13..19));
        note(&mut record[10..35], 0..0);
        assert_eq!(noted(&record[..35]), Some(10..10));
    }

    #[test]
    fn what_is_no_note_leads_nowhere() {
        assert_eq!(noted(&[1, 0, 1]), None);
        // Before the first byte, and into the note itself.
        assert_eq!(noted(&[0, 0, 9, 0, 1, 0]), None);
        assert_eq!(noted(&[0, 0, 6, 0, 3, 0]), None);
    }
}
