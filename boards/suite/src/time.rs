//! Time arithmetic saturates and converts without drift.

use dunlin::time::{Duration, Instant};

use crate::{Case, cases};

pub const CASES: &[Case] = cases![time: saturates_at_both_ends, days_round_trip_in_both_precisions];

fn saturates_at_both_ends() {
    assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
    assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
    assert_eq!(Instant::ZERO.since(Instant::MAX), Duration::ZERO);
    assert_eq!(Duration::MAX + Duration::DAY, Duration::MAX);
    assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
    assert_eq!(Duration::DAY * u64::MAX, Duration::MAX);
    assert_eq!(Duration::DAY / 0, Duration::MAX);
    assert_eq!(Duration::from_days(f32::NAN), Duration::ZERO);
    assert_eq!(Duration::from_days(-1.0_f64), Duration::ZERO);
    assert_eq!(Duration::from_days(f32::INFINITY), Duration::MAX);
}

fn days_round_trip_in_both_precisions() {
    for hours in [1_u64, 7, 24, 1_000, 100_000] {
        let exact = Duration::HOUR * hours;
        let through_f32 = Duration::from_days(exact.as_days::<f32>()).as_micros();
        let through_f64 = Duration::from_days(exact.as_days::<f64>()).as_micros();
        assert!(
            through_f32.abs_diff(exact.as_micros()) <= exact.as_micros() >> 22,
            "{hours} h in f32"
        );
        assert!(
            through_f64.abs_diff(exact.as_micros()) <= 1 + (exact.as_micros() >> 51),
            "{hours} h in f64"
        );
    }
}
