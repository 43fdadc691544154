//! From `Last-Modified` dates: a date says more than "changed" (Cho §6.5).

use super::Visit;
use crate::math::Real;

/// Cho's estimator with its bias correction (Figures 6.11 and 6.14): three numbers, however long
/// the history.
///
/// ```
/// use dunlin::learn::{LastModified, Visit};
/// use dunlin::time::Duration;
///
/// let mut page = LastModified::<f64>::new();
/// for days in 1..=10 {
///     let visit = Visit::new(Duration::DAY, days % 2 == 0).modified(Duration::HOUR * 12);
///     assert!(page.update(&visit));
/// }
/// // Five changes in 5 × 1 + 5 × ½ days, less what so few visits overstate.
/// assert!((page.rate().unwrap() - 0.629).abs() < 1e-3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LastModified<F> {
    visits: u32,
    changes: u32,
    /// Time from the last change, or the last visit, to each visit.
    days: F,
}

impl<F: Real> LastModified<F> {
    /// An estimator that has seen no visits yet.
    pub const fn new() -> Self {
        Self {
            visits: 0,
            changes: 0,
            days: F::ZERO,
        }
    }

    /// Counts a visit. Says `false`, and counts nothing, if the visit found a change but has no
    /// date for it between the visit before and now.
    pub fn update(&mut self, visit: &Visit) -> bool {
        let since = match (visit.changed, visit.modified_ago) {
            (false, _) => visit.interval,
            (true, Some(ago)) if ago < visit.interval => ago,
            (true, _) => return false,
        };
        self.visits = self.visits.saturating_add(1);
        self.changes = self.changes.saturating_add(u32::from(visit.changed));
        self.days += since.as_days();
        true
    }

    /// Changes per day: `X′/T` with `X′ = (X − 1) − X/(n ln(1 − X/n))`, which is 0 at X = 0 and n −
    /// 1 at X = n. `None` without visits or time.
    pub fn rate(&self) -> Option<F> {
        if self.visits == 0 || self.days <= F::ZERO {
            return None;
        }
        let n = F::from_u32(self.visits);
        let x = F::from_u32(self.changes);
        let corrected = if self.changes == 0 {
            F::ZERO
        } else if self.changes == self.visits {
            n - F::ONE
        } else {
            (x - F::ONE) - x / (n * (-x / n).ln_1p())
        };
        Some(corrected / self.days)
    }
}
