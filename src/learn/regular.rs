//! From counts: how many visits, how many found a change (Cho §6.4.1–2).

use crate::math::Real;

/// Changes seen over the time watched, `X/T`. The baseline: it misses every change but the last
/// between two visits, and more visits do not help. At one visit a change it reads 37 % low (Cho,
/// Figure 6.2).
///
/// `None` without time.
pub fn naive<F: Real>(changes: u32, days: F) -> Option<F> {
    (days > F::ZERO && days.is_finite()).then(|| F::from_u32(changes) / days)
}

/// `−ln((X̄ + ½)/(n + ½))` per interval, X̄ of n visits having found nothing new (Cho §6.4.2):
/// right for visits at a regular interval, within 10 % for a page that changes up to 3.5 times a
/// visit after 20 of them.
///
/// `None` without visits, without time, or for more changes than visits.
///
/// ```
/// use dunlin::learn::{naive, regular};
///
/// // Cho, Example 6.1: daily visits for ten days found six changes.
/// assert_eq!(naive(6, 10.0), Some(0.6));
/// assert!((regular(10, 6, 1.0_f64).unwrap() - 0.847).abs() < 5e-4);
/// ```
pub fn regular<F: Real>(visits: u32, changes: u32, interval_days: F) -> Option<F> {
    let unchanged = visits.checked_sub(changes)?;
    if visits == 0 || interval_days.is_nan() || interval_days <= F::ZERO {
        return None;
    }
    let ratio = (F::from_u32(visits) + F::HALF) / (F::from_u32(unchanged) + F::HALF);
    Some(ratio.ln() / interval_days)
}
