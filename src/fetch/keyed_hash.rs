//! What pages, hosts and servers of time are known by: SipHash-1-3 under a key of the device's own.
//!
//! Written here, because that of crate `siphasher`, whose rounds are copied out, takes 500 bytes of
//! flash more, and names are short. The one that reads whole pages is the crate's.

/// What nobody without the key can tell. Work: a round for eight bytes, and four more.
#[inline(never)] // Once for all callers.
pub(crate) fn keyed_hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let key = u128::from_le_bytes(*key);
    let (low, high) = (key as u64, (key >> 64) as u64);
    let mut state = [
        low ^ 0x736f_6d65_7073_6575,
        high ^ 0x646f_7261_6e64_6f6d,
        low ^ 0x6c79_6765_6e65_7261,
        high ^ 0x7465_6462_7974_6573,
    ];
    // The last block is what is left, and the length at its end.
    for block in 0..=bytes.len() / 8 {
        let rest = bytes.get(8 * block..).unwrap_or_default();
        let mut word = [0, 0, 0, 0, 0, 0, 0, bytes.len() as u8];
        word.iter_mut()
            .zip(rest)
            .for_each(|(slot, byte)| *slot = *byte);
        let word = u64::from_le_bytes(word);
        state[3] ^= word;
        round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    state.iter().fold(0, |all, part| all ^ part)
}

#[inline(never)] // Once for both callers.
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *c = c.wrapping_add(*d);
    *b = b.rotate_left(13) ^ *a;
    *d = d.rotate_left(16) ^ *c;
    *a = a.rotate_left(32).wrapping_add(*d);
    *c = c.wrapping_add(*b);
    *d = d.rotate_left(21) ^ *a;
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::keyed_hash;
    use siphasher::sip::SipHasher13;

    #[test]
    fn it_is_sip_hash_1_3_whatever_the_length() {
        let mut bytes = [0_u8; 300];
        let mut key = [0_u8; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (at * 37 + at / 7) as u8;
        }
        for length in 0..=bytes.len() {
            key[length % 16] ^= bytes[length.saturating_sub(1)];
            let text = &bytes[..length];
            let expected = SipHasher13::new_with_key(&key).hash(text);
            assert_eq!(keyed_hash(&key, text), expected, "{length} bytes");
        }
    }
}
