//! By how much the rates of two clocks may differ.

use crate::time::Duration;

/// ρ: no clock of the fleet is faster or slower than true time by more than this share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Drift {
    /// The rate in millionths.
    millionths: u32,
}

impl Drift {
    /// A thousandth: ten times what a crystal is off by, twice what time servers slew a clock by.
    pub const DEFAULT: Self = Self::from_millionths(1_000);

    /// A rate in millionths, up to a tenth.
    pub const fn from_millionths(millionths: u32) -> Self {
        let most = 100_000;
        Self {
            millionths: if millionths < most { millionths } else { most },
        }
    }

    /// A time that is not over anywhere when this clock says that `duration` × (1 − ρ) has passed.
    pub fn shorten(self, duration: Duration) -> Duration {
        duration - self.part(duration)
    }

    /// A time that is over everywhere when this clock says that `duration` × (1 + ρ) has passed.
    pub fn lengthen(self, duration: Duration) -> Duration {
        duration + self.part(duration)
    }

    /// The part ρ of a duration, rounded up.
    fn part(self, duration: Duration) -> Duration {
        let micros = duration.as_micros();
        // In two steps, which cannot overflow.
        let rate = u64::from(self.millionths);
        let part = micros / 1_000_000 * rate + (micros % 1_000_000 * rate).div_ceil(1_000_000);
        Duration::from_micros(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_any_time_can_be_told() {
        let drift = Drift::from_millionths(1_000);
        let hour = Duration::HOUR;
        assert_eq!(drift.shorten(hour), Duration::from_millis(3_596_400));
        assert_eq!(drift.lengthen(hour), Duration::from_millis(3_603_600));
        assert_eq!(drift.lengthen(Duration::MAX), Duration::MAX);
        assert_eq!(drift.lengthen(Duration::from_micros(1)).as_micros(), 2);
    }
}
