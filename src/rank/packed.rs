//! Figures of pages in few bytes: none is below 0, and none needs all the digits that it could have.

/// A figure in the lowest so many bits: an exponent from `2^-BIAS` on, and a fraction behind it. What
/// is too small for it is 0, what is too large the most that there is.
#[inline(never)] // Once for all callers.
fn packed(figure: f32, bits: u32, fraction: u32, bias: u32) -> u32 {
    let shift = f32::MANTISSA_DIGITS - 1 - fraction;
    // To the nearest step, carrying over into the exponent. What is no number is none here, either.
    if !(figure > 0.0) {
        return 0;
    }
    let steps = figure.to_bits().saturating_add(1 << (shift - 1)) >> shift;
    let above = steps.saturating_sub((127 - bias) << fraction);
    let most = (1 << bits) - 1;
    if above > most { most } else { above }
}

/// The figure that was packed so.
const fn unpacked(packed: u32, fraction: u32, bias: u32) -> f32 {
    if packed == 0 {
        return 0.0;
    }
    let shift = f32::MANTISSA_DIGITS - 1 - fraction;
    f32::from_bits((packed + ((127 - bias) << fraction)) << shift)
}

/// To one part in 500,000, from 2⁻³² to 2³²: what grows by small parts and is never spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fine([u8; 3]);

impl Fine {
    pub(super) const ZERO: Self = Self([0; 3]);
    const FRACTION: u32 = 18;
    const BIAS: u32 = 32;

    pub(super) fn new(figure: f32) -> Self {
        let [low, middle, high, _] = packed(figure, 24, Self::FRACTION, Self::BIAS).to_le_bytes();
        Self([low, middle, high])
    }

    pub(super) fn get(self) -> f32 {
        unpacked(self.bits(), Self::FRACTION, Self::BIAS)
    }

    /// What is packed: the more the figure is, the more.
    pub(super) fn bits(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

/// To one part in 4,096, from 2⁻¹² to 2²⁰: what is spent before it has grown by many parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Coarse([u8; 2]);

impl Coarse {
    pub(super) const ZERO: Self = Self([0; 2]);
    const FRACTION: u32 = 11;
    const BIAS: u32 = 12;

    pub(super) fn new(figure: f32) -> Self {
        let [low, high, ..] = packed(figure, 16, Self::FRACTION, Self::BIAS).to_le_bytes();
        Self([low, high])
    }

    /// The upper byte of what is packed.
    pub(super) fn high(self) -> u8 {
        let [_, high] = self.0;
        high
    }

    pub(super) fn get(self) -> f32 {
        let packed = u16::from_le_bytes(self.0);
        unpacked(packed.into(), Self::FRACTION, Self::BIAS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_kept_as_well_as_is_said() {
        let mut figure = 3e-4_f32;
        while figure < 1e6 {
            let fine = Fine::new(figure).get();
            assert!((fine / figure - 1.0).abs() <= 2e-6, "{figure}: {fine}");
            let coarse = Coarse::new(figure).get();
            assert!(
                (coarse / figure - 1.0).abs() <= 1.0 / 4096.0,
                "{figure}: {coarse}"
            );
            figure *= 1.0137;
        }
        for none in [0.0, -1.0, f32::NAN, 1e-20] {
            assert_eq!((Fine::new(none).get(), Coarse::new(none).get()), (0.0, 0.0));
        }
        assert!(Fine::new(f32::INFINITY).get() > 4e9);
        assert!(Coarse::new(f32::INFINITY).get() > 1e6);
        assert_eq!((Fine::new(1.0).get(), Coarse::new(0.5).get()), (1.0, 0.5));
    }
}
