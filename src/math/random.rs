//! Numbers that look random and are the same on every machine.

/// The next 64 bits of a seeded sequence, whose whole state is one number (SplitMix64; Steele, Lea
/// and Flood 2014).
///
/// For simulations and tests: every seed is as good as any other, but whoever sees a number can
/// tell the next one.
///
/// ```
/// let mut state = 1;
/// assert_eq!(dunlin::math::split_mix(&mut state), 0x910a_2dec_8902_5cc1);
/// ```
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
