//! What a page has earned, as it stands beside its URL in the log: compared with the mean of the
//! collection, in fifteen bits and one that says how they are to be read, and sixteen bits of the
//! list's identity.

/// What is kept beside a URL.
pub(super) fn value(income: f32, list: u64) -> u32 {
    u32::from(packed(income)) << 16 | list as u32 & 0xffff
}

/// In the upper half of a value, this bit says how the rest is to be read.
const FINE: u16 = 0x8000;
/// Bits of a fraction: to a two-thousandth.
const FRACTION: u32 = 10;
/// What is added to an exponent, which has five bits: from 2⁻¹⁶ on.
const BIAS: u32 = 16;

/// What a page has earned, in fifteen bits: five of an exponent and ten of a fraction. There are no
/// signs, and no figures that are large or small enough for more.
fn packed(income: f32) -> u16 {
    const LEAST: u32 = 127 - BIAS;
    // To the nearest step, carrying over into the exponent.
    let bits = income.to_bits().wrapping_add(1 << (22 - FRACTION)) >> (23 - FRACTION);
    let least = LEAST << FRACTION;
    let most = ((LEAST + 32) << FRACTION) - 1;
    // Also what is no number, or none above 0.
    let bits = if income > 0.0 {
        bits.clamp(least, most)
    } else {
        least
    };
    (bits - least) as u16 | FINE
}

/// What a page had earned, by what was kept.
#[inline(never)] // Once for all callers.
pub(super) fn income(value: u32) -> f32 {
    let kept = (value >> 16) as u16;
    if kept & FINE != 0 {
        let bits = u32::from(kept & !FINE) + ((127 - BIAS) << FRACTION);
        return f32::from_bits(bits << (23 - FRACTION));
    }
    // As it was kept before: half a number, sign and all, to a hundredth.
    let income = f32::from_bits(value & 0xffff_0000);
    if income.is_finite() && income > 0.0 {
        income
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pages_have_earned_is_kept_to_a_two_thousandth() {
        let mut earned = 2e-5;
        while earned < 6e4 {
            let kept = income(value(earned, 7));
            assert!((kept / earned - 1.0).abs() <= 1.0 / 2_048.0, "{earned}");
            earned *= 1.0137;
        }
        assert_eq!(value(1.0, 0x12_3456) & 0xffff, 0x3456);
        let extremes = [0.0, -1.0, 1e-9, f32::NAN];
        for earned in extremes.map(|earned| income(value(earned, 0))) {
            assert!((0.0..2e-5).contains(&earned), "{earned}");
        }
        assert!(income(value(1e9, 0)) > 6e4 && income(value(f32::INFINITY, 0)) > 6e4);
    }

    #[test]
    fn what_was_kept_before_is_read() {
        for earned in [0.004_f32, 0.1, 1.0, 37.5] {
            let kept = income(earned.to_bits() & 0xffff_0000 | 0x3456);
            assert!((kept / earned - 1.0).abs() <= 0.01, "{earned}");
        }
        assert_eq!(income(0x7f80_0000), 0.0, "infinity");
        assert_eq!(income(0), 0.0);
    }
}
