//! The rhythm of a page: what it is owed after a visit that was late or early, and when it is due
//! again.
//!
//! A page with a gap of its own is due every gap, counted from when it was due, not from when it
//! was visited: what a late visit took away, the next one gives back. So one number a page is
//! enough, what it is *owed* after a visit, in gaps (or, which is the same, in visits): the
//! lateness of that visit, below 0 if it came early. The next is due after
//!
//! ```text
//! gap × (1 − owed)
//! ```
//!
//! The scheduler counts time in days and keeps a [`Credit`] of one byte, within one gap either way:
//! what is later than that is not made up for. The [`carousel`](super::carousel) counts in slots
//! and keeps the exact remainder, an integer as wide as its rates: its bound, never a visit ahead
//! or behind however long it turns, would not survive rounding to 128ths of a gap. Hence the same
//! rule stands here twice, once for each arithmetic; a test holds them together.

use super::ticks::Ticks;
use crate::math::greater;

/// Steps of a [`Credit`] in a gap.
const STEPS: f32 = 128.0;
/// A wait counts as at least this share of its gap, so a computed gap is at most 100 waits.
const LEAST_WAIT: f32 = 0.01;

/// What a page is owed after a visit, in gaps from −1 to just below 1, to two decimals.
///
/// ```
/// use dunlin::pace::rhythm::Credit;
///
/// // Due every 8 days, and visited two days late: the next visit is due 6 days after.
/// let owed = Credit::after(2.0, 8.0);
/// assert_eq!(owed.wait(8.0), 6.0);
/// assert_eq!(owed.gap(6.0), 8.0);
/// assert_eq!(Credit::NONE.wait(8.0), 8.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credit(i8);

impl Credit {
    /// The credit of a page that nothing is owed.
    pub const NONE: Self = Self(0);

    /// What is owed after a visit that came `late` (below 0: early), with so long a gap; at most a
    /// gap either way.
    pub fn after(late: f32, gap: f32) -> Self {
        Self::of(late / gap)
    }

    /// What is owed in gaps, at most one either way.
    pub fn of(gaps: f32) -> Self {
        // A cast saturates, and turns NaN into 0.
        Self((gaps * STEPS) as i8)
    }

    /// What is owed, in gaps.
    pub fn gaps(self) -> f32 {
        f32::from(self.0) * (1.0 / STEPS)
    }

    /// How long after a visit the next is due.
    pub fn wait(self, gap: f32) -> f32 {
        gap * (1.0 - self.gaps())
    }

    /// The gap of a page that is due so long after a visit: the inverse of [`Self::wait`].
    pub fn gap(self, wait: f32) -> f32 {
        wait / greater(1.0 - self.gaps(), LEAST_WAIT)
    }
}

/// [`Credit::wait`] in slots: a page that earns `rate` of a `unit` a slot has a gap of `unit/rate`
/// slots, and one that is owed `credit` of a unit is due after `⌈(unit − credit)/rate⌉`.
///
/// The caller sees to `credit ≤ rate ≤ unit`.
pub(super) fn slots_to_wait<W: Ticks>(unit: W, rate: W, credit: W) -> W {
    // Rounded up without a sum that could overflow.
    (unit - credit + (rate - W::ONE)) / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_slots_follow_the_same_rhythm() {
        const UNIT: u32 = 1 << 20;
        for rate in [1, 3, 1_000, 77_777, UNIT / 3, UNIT] {
            for part in 0..=64 {
                let credit = (u64::from(rate) * part / 64) as u32;
                let gap = UNIT as f32 / rate as f32;
                let owed = Credit::of(credit as f32 / UNIT as f32);
                let days = owed.wait(gap);
                let slots = slots_to_wait(UNIT, rate, credit) as f32;
                // A slot is begun as a whole, and a credit is one of 128 to a gap.
                let rounding = gap / STEPS + 1e-6 * gap;
                assert!(
                    slots >= days - rounding && slots < days + 1.0 + rounding,
                    "{rate}, {credit}: {slots} slots, {days} days"
                );
            }
        }
    }

    #[test]
    fn no_more_than_a_gap_is_owed() {
        assert_eq!(Credit::after(100.0, 1.0).gaps(), 127.0 / 128.0);
        assert_eq!(Credit::after(-100.0, 1.0).gaps(), -1.0);
        assert_eq!(Credit::after(0.0, 0.0), Credit::NONE);
    }

    #[test]
    fn a_wait_tells_the_gap() {
        for late in [-0.9_f32, -0.25, 0.0, 0.5, 0.9] {
            let owed = Credit::of(late);
            assert!((owed.gap(owed.wait(3.0)) - 3.0).abs() < 1e-5, "{late}");
        }
    }
}
