//! CRC-32, for what is kept in flash or survives a reset.

/// CRC-32 (IEEE 802.3) of the parts one behind the other, a bit at a time: it is computed once a
/// boot, and a table would take 1 kB of flash.
#[inline(never)]
pub(crate) fn crc32(parts: &[&[u8]]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 0 {
            crc >> 1
        } else {
            crc >> 1 ^ 0xedb8_8320
        }
    };
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_check_value_of_the_standard_comes_out_however_the_bytes_are_split() {
        assert_eq!(crc32(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(crc32(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
    }
}
