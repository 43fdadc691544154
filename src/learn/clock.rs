//! Does it change by the clock? Hours of the day at which a page tends to change (Wolf's
//! quasi-deterministic pages).

use super::shape::deviation_of_chi_squared;
use crate::time::{Duration, Instant};

const HOURS: usize = 24;
/// Below this many changes no pattern is told from chance.
const FEWEST_CHANGES: u32 = 12;

/// Changes counted by hour of the day. 148 bytes: one page on a device, or every page on a host.
///
/// ```
/// use dunlin::learn::Clock;
/// use dunlin::time::{Duration, Instant};
///
/// // Half past six every day, nine days in ten.
/// let mut clock = Clock::new();
/// let half_past_six = Instant::ZERO + Duration::from_secs(23_400);
/// for day in (0..30).filter(|day| day % 10 != 9) {
///     clock.add(half_past_six + Duration::DAY * day);
/// }
/// assert!(clock.is_pattern());
/// let mut updates = clock.updates(30.0);
/// assert_eq!(updates.next(), Some((Duration::from_secs(23_400), 0.9)));
/// assert_eq!(updates.next(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Clock {
    changes: [u16; HOURS],
    /// Seconds past the full hour, summed.
    seconds: [u32; HOURS],
    total: u32,
}

impl Clock {
    /// A clock that has seen no changes yet.
    pub const fn new() -> Self {
        Self {
            changes: [0; HOURS],
            seconds: [0; HOURS],
            total: 0,
        }
    }

    /// Counts a change, by a clock whose zero is midnight. Constant time. After 65,535 changes in
    /// one hour of the day, further ones in that hour are left out.
    pub fn add(&mut self, at: Instant) {
        let second = (at.as_micros() % Duration::DAY.as_micros() / 1_000_000) as u32;
        let hour = (second / 3_600) as usize;
        let (Some(changes), Some(seconds)) =
            (self.changes.get_mut(hour), self.seconds.get_mut(hour))
        else {
            return;
        };
        if *changes < u16::MAX {
            *changes += 1;
            *seconds += second % 3_600;
            self.total = self.total.saturating_add(1);
        }
    }

    /// How unevenly the day's hours are used, in standard deviations: χ² with 23 degrees of
    /// freedom, from counts.
    pub fn deviation(&self) -> f32 {
        if self.total == 0 {
            return 0.0;
        }
        let expected = self.total as f32 / HOURS as f32;
        let chi_squared = self
            .changes
            .iter()
            .map(|n| (f32::from(*n) - expected) * (f32::from(*n) - expected))
            .sum::<f32>();
        deviation_of_chi_squared(chi_squared / expected, (HOURS - 1) as f32)
    }

    /// Does the page keep to the clock? Never for fewer than twelve changes; by chance, once in a
    /// thousand pages.
    pub fn is_pattern(&self) -> bool {
        self.total >= FEWEST_CHANGES && self.deviation() > 3.09
    }

    /// The potential updates of a quasi-deterministic page that was watched for `days`: when in the
    /// day (the mean time of the changes in that hour) and how likely. Hours used no more than
    /// chance would have it are left out. O(24).
    pub fn updates(&self, days: f32) -> impl Iterator<Item = (Duration, f32)> + '_ {
        let expected = self.total as f32 / HOURS as f32;
        // Three standard deviations of a count above its mean.
        let least = expected + 3.0 * libm::sqrtf(expected);
        (0_u64..)
            .zip(self.changes.iter().zip(&self.seconds))
            .filter_map(move |(hour, (changes, seconds))| {
                let count = f32::from(*changes);
                let offset = Duration::HOUR * hour
                    + Duration::from_secs(u64::from(*seconds)) / u64::from(*changes);
                (count > least && days > 0.0).then(|| (offset, (count / days).min(1.0)))
            })
    }
}
