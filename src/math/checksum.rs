//! CRC-32, for what is kept in flash or survives a reset.

/// CRC-32 (IEEE 802.3) of the parts one behind the other, four bits at a time: a device reads a
/// page list whole before it starts. A table for eight would take 1 kB of flash.
#[inline(never)]
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32| crc >> 4 ^ TABLE[crc as usize % TABLE.len()];
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc, byte| step(step(crc ^ u32::from(*byte))))
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
    use super::crc32;

    #[test]
    fn the_check_value_of_the_standard_comes_out_however_the_bytes_are_split() {
        assert_eq!(crc32(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(crc32(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
    }
}
