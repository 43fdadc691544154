//! CRC-32, for what is kept in flash or survives a reset.

/// CRC-32 (IEEE 802.3) of the parts one behind the other.
#[inline(never)]
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    #[cfg(not(feature = "std"))]
    return by_four_bits(parts);
    #[cfg(feature = "std")]
    by_eight_bytes::crc32(parts)
}

/// Four bits at a time: a device reads a page list whole before it starts. A table for eight would
/// take 1 kB of flash.
#[cfg(any(test, not(feature = "std")))]
fn by_four_bits(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32| crc >> 4 ^ TABLE[crc as usize % TABLE.len()];
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc, byte| step(step(crc ^ u32::from(*byte))))
}

/// Eight bytes at a time, with 8 kB of tables: a fleet's planner makes lists of gigabytes.
#[cfg(feature = "std")]
mod by_eight_bytes {
    /// What is left of each byte that so many zero bytes follow.
    static TABLES: [[u32; 256]; 8] = {
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            let mut crc = byte as u32;
            let mut table = 0;
            while table < tables.len() {
                let low = super::TABLE[crc as usize % super::TABLE.len()];
                crc = crc >> 4 ^ low;
                let low = super::TABLE[crc as usize % super::TABLE.len()];
                crc = crc >> 4 ^ low;
                tables[table][byte] = crc;
                table += 1;
            }
            byte += 1;
        }
        tables
    };

    pub(super) fn crc32(parts: &[&[u8]]) -> u32 {
        !parts.iter().fold(!0, |crc, part| beyond(crc, part))
    }

    /// The sum so far, and these bytes.
    fn beyond(crc: u32, bytes: &[u8]) -> u32 {
        let left = |table: &[u32; 256], byte: u8| table[usize::from(byte)];
        let (eights, rest) = bytes.as_chunks::<8>();
        let crc = eights.iter().fold(crc, |crc, eight| {
            let mixed = u64::from_le_bytes(*eight) ^ u64::from(crc);
            let bytes = mixed.to_le_bytes().into_iter();
            let each = TABLES.iter().rev().zip(bytes);
            each.fold(0, |sum, (table, byte)| sum ^ left(table, byte))
        });
        let step = |crc: u32, byte: &u8| crc >> 8 ^ left(&TABLES[0], crc as u8 ^ byte);
        rest.iter().fold(crc, step)
    }
}

/// What is left of each four bits.
static TABLE: [u32; 16] = {
    let mut table = [0; 16];
    let mut bits = 0;
    while bits < table.len() {
        let mut crc = bits as u32;
        let mut step = 0;
        while step < 4 {
            crc = if crc & 1 == 0 {
                crc >> 1
            } else {
                crc >> 1 ^ 0xedb8_8320
            };
            step += 1;
        }
        table[bits] = crc;
        bits += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{by_four_bits, crc32};

    #[test]
    fn the_check_value_of_the_standard_comes_out_however_the_bytes_are_split() {
        assert_eq!(crc32(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(crc32(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
    }

    #[test]
    fn a_device_and_a_computer_come_to_the_same_sum() {
        let bytes: [u8; 300] = core::array::from_fn(|place| (place * place + place / 7) as u8);
        for end in 0..bytes.len() {
            let parts = bytes[..end].split_at(end / 3);
            let parts = [parts.0, parts.1];
            assert_eq!(crc32(&parts), by_four_bits(&parts), "{end} bytes");
        }
    }
}
