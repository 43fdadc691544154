//! Figures of pages in few bytes: none is below 0, and none needs all the digits that it could have.

/// Bits of the fraction of what a page has earned: to one part in 65,000.
const INCOME: u32 = 15;
/// Those of its cash, which is spent before much is lost: to one part in 256.
const CASH: u32 = 7;
/// Both have five bits of an exponent: from 2⁻¹² to 2²⁰.
const EXPONENT: u32 = 5;
const LEAST: u32 = 127 - 12;
/// Bits that are the cash, below those of the income.
const CASH_BITS: u32 = EXPONENT + CASH;

/// Where between two steps a figure is rounded: each time at another place, so that what grows by
/// less than a step grows by a whole one as often as it should. The places are as far from each
/// other as can be (Weyl 1916, by the golden ratio).
#[derive(Clone, Debug)]
pub(super) struct Dither(u32);

impl Dither {
    pub(super) const START: Self = Self(1 << 31);

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        self.0
    }
}

/// A figure with a fraction of so many bits, rounded up if what is left out is at least as much as
/// `place` is below 2³². What is too small for it is 0, what is too large the most that there is.
#[inline(never)] // Once for all callers.
fn packed(figure: f32, fraction: u32, place: u32) -> u32 {
    let shift = f32::MANTISSA_DIGITS - 1 - fraction;
    // What is no number is none here, either.
    if !(figure > 0.0) {
        return 0;
    }
    // Carrying over into the exponent.
    let steps = figure.to_bits().saturating_add(place >> (32 - shift)) >> shift;
    let above = steps.saturating_sub(LEAST << fraction);
    let most = (1 << (EXPONENT + fraction)) - 1;
    if above > most { most } else { above }
}

/// The figure that was packed so.
#[inline(never)] // Once for all callers.
fn unpacked(packed: u32, fraction: u32) -> f32 {
    if packed == 0 {
        return 0.0;
    }
    let shift = f32::MANTISSA_DIGITS - 1 - fraction;
    f32::from_bits((packed + (LEAST << fraction)) << shift)
}

/// What a page has earned and what it has not spent, in 4 bytes: that in the upper 20 bits, this in
/// the lower 12.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures(u32);

impl Figures {
    pub(super) const ZERO: Self = Self(0);

    pub(super) fn income(self) -> f32 {
        unpacked(self.0 >> CASH_BITS, INCOME)
    }

    pub(super) fn set_income(&mut self, income: f32, dither: &mut Dither) {
        let cash = self.0 & ((1 << CASH_BITS) - 1);
        self.0 = packed(income, INCOME, dither.next()) << CASH_BITS | cash;
    }

    pub(super) fn cash(self) -> f32 {
        unpacked(self.0 & ((1 << CASH_BITS) - 1), CASH)
    }

    pub(super) fn set_cash(&mut self, cash: f32, dither: &mut Dither) {
        let income = self.0 >> CASH_BITS;
        self.0 = income << CASH_BITS | packed(cash, CASH, dither.next());
    }

    /// More for whoever has earned more, whatever his cash is: one word to be read and compared,
    /// for it is read of every page.
    pub(super) fn order(self) -> u32 {
        self.0
    }

    /// The most that [`Self::order`] is of who has earned this.
    pub(super) fn most_of(income: f32) -> u32 {
        packed(income, INCOME, u32::MAX) << CASH_BITS | ((1 << CASH_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_kept_as_well_as_is_said() {
        let mut dither = Dither::START;
        let mut figures = Figures::ZERO;
        let mut figure = 3e-4_f32;
        while figure < 1e6 {
            figures.set_income(figure, &mut dither);
            figures.set_cash(1e6 - figure, &mut dither);
            let (income, cash) = (figures.income(), figures.cash());
            assert!((income / figure - 1.0).abs() <= 1.0 / 32_768.0, "{figure}");
            assert!((cash / (1e6 - figure) - 1.0).abs() <= 1.0 / 128.0, "{cash}");
            assert!(figures.order() <= Figures::most_of(figure));
            assert!(figures.order() > Figures::most_of(0.9999 * figure));
            figure *= 1.0137;
        }
        for none in [0.0, -1.0, f32::NAN, 1e-20] {
            figures.set_income(none, &mut dither);
            figures.set_cash(none, &mut dither);
            assert_eq!((figures.income(), figures.cash()), (0.0, 0.0));
        }
        figures.set_income(f32::INFINITY, &mut dither);
        figures.set_cash(f32::INFINITY, &mut dither);
        assert!(figures.income() > 1e6 && figures.cash() > 1e6);
        for exact in [1.0, 0.5, 3.5] {
            figures.set_income(exact, &mut dither);
            figures.set_cash(exact, &mut dither);
            assert_eq!((figures.income(), figures.cash()), (exact, exact));
        }
    }

    /// A thousand shares of a thousandth, each less than a step: rounded to the nearest, nothing
    /// would become of them.
    #[test]
    fn what_grows_by_less_than_a_step_grows_all_the_same() {
        let mut dither = Dither::START;
        let mut figures = Figures::ZERO;
        figures.set_income(100.0, &mut dither);
        figures.set_cash(1.0, &mut dither);
        for _ in 0..1_000 {
            figures.set_income(figures.income() + 1e-3, &mut dither);
            figures.set_cash(figures.cash() + 1e-3, &mut dither);
        }
        assert!(
            (figures.income() - 101.0).abs() < 0.02,
            "{}",
            figures.income()
        );
        assert!((figures.cash() - 2.0).abs() < 0.04, "{}", figures.cash());
    }
}
