//! Time as the scheduler stores it: four bytes instead of eight.

use core::cmp::Ordering;

use crate::heap::Key;
use crate::time::{Duration, Instant};

/// 8.192 ms, so that converting is a shift. Gates open at ticks, so that a host without any gap is
/// asked once a tick.
const SHIFT: u32 = 13;
/// Where the ticks of a fresh clock start, and are moved back to: 203 days of past, for pages
/// fetched before a restart.
const START: u32 = 1 << 31;
/// When this is reached (101 days later), all ticks are moved back to [`START`]; 101 days of future
/// are always left.
const REBASE: u32 = 3 << 30;

/// A moment, in halves so that a heap entry with a `u16` id takes 6 bytes, not 8. Ordered like the
/// number; the lower half comes first, so that a core reads both as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tick([u16; 2]);

impl PartialOrd for Tick {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    // As one comparison of numbers: through an `Ordering` it takes three times the instructions.
    fn lt(&self, other: &Self) -> bool {
        self.count() < other.count()
    }
    fn le(&self, other: &Self) -> bool {
        self.count() <= other.count()
    }
}

impl Ord for Tick {
    fn cmp(&self, other: &Self) -> Ordering {
        self.count().cmp(&other.count())
    }
}

impl Key for Tick {
    const FILLER: Self = Self([0, 0]);
}

impl Tick {
    /// Later than every moment that comes.
    pub(super) const NEVER: Self = Self([u16::MAX, u16::MAX]);

    const fn new(count: u32) -> Self {
        Self([count as u16, (count >> 16) as u16])
    }

    const fn count(self) -> u32 {
        self.0[0] as u32 | (self.0[1] as u32) << 16
    }

    /// This much later; [`Self::NEVER`] when that is beyond the range.
    pub(super) fn after(self, duration: Duration) -> Self {
        let ticks = duration.as_micros().div_ceil(1 << SHIFT);
        Self::new(u32::try_from(ticks).map_or(u32::MAX, |ticks| self.count().saturating_add(ticks)))
    }

    /// The tick so many days later.
    pub(super) fn after_days(self, days: f32) -> Self {
        const PER_DAY: f32 = 86_400e6 / (1_u32 << SHIFT) as f32;
        // A cast saturates, and turns NaN into 0.
        Self::new(self.count().saturating_add((days * PER_DAY) as u32))
    }

    /// This much earlier, at most back to the beginning.
    pub(super) fn before_days(self, days: f32) -> Self {
        Self::new(self.count() - Self::new(0).after_days(days).count().min(self.count()))
    }

    /// Is it time to move all ticks back?
    pub(super) fn is_near_the_end(self) -> bool {
        self.count() >= REBASE
    }

    /// As good as by chance, for one moment in `n`, a power of two: nobody plans to 8 ms.
    pub(super) fn is_one_in(self, n: u32) -> bool {
        self.count().wrapping_mul(0x9e37_79b9) >> 16 & (n - 1) == 0
    }

    pub(super) fn ticks_since(self, earlier: Self) -> u32 {
        self.count().saturating_sub(earlier.count())
    }

    pub(super) fn since(self, earlier: Self) -> Duration {
        Self::duration(u64::from(self.ticks_since(earlier)))
    }

    /// How long so many ticks are.
    pub(super) fn duration(ticks: u64) -> Duration {
        Duration::from_micros(ticks.saturating_mul(1 << SHIFT))
    }

    pub(super) fn days_since(self, earlier: Self) -> f32 {
        const DAYS_A_TICK: f32 = (1_u32 << SHIFT) as f32 / 86_400e6;
        self.ticks_since(earlier) as f32 * DAYS_A_TICK
    }

    /// Moved back with the clock; [`Self::NEVER`] stays.
    pub(super) fn moved(self, by: u32) -> Self {
        if self == Self::NEVER {
            self
        } else {
            Self::new(self.count().saturating_sub(by))
        }
    }
}

/// Translates between the caller's time and ticks.
#[derive(Clone, Debug)]
pub(super) struct TickClock {
    /// The caller's time at tick 0, in ticks; negative at first.
    origin: i64,
    latest: Instant,
}

impl TickClock {
    pub(super) const fn new() -> Self {
        Self {
            origin: -(START as i64),
            latest: Instant::ZERO,
        }
    }

    /// The present; a clock that steps back stands still instead.
    pub(super) fn set(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// The tick at or before a moment.
    pub(super) fn tick(&self, instant: Instant) -> Tick {
        self.count((instant.as_micros() >> SHIFT) as i64)
    }

    /// The tick at or after a moment.
    #[inline(never)] // Once for all callers.
    pub(super) fn tick_after(&self, instant: Instant) -> Tick {
        self.count(instant.as_micros().div_ceil(1 << SHIFT) as i64)
    }

    pub(super) fn instant(&self, tick: Tick) -> Instant {
        let count = u64::try_from(i64::from(tick.count()) + self.origin).unwrap_or(0);
        // A shift, where a product would have to be watched for overflow.
        if count >> (u64::BITS - SHIFT) == 0 {
            Instant::from_micros(count << SHIFT)
        } else {
            Instant::from_micros(u64::MAX)
        }
    }

    /// The latest moment that was told.
    pub(super) fn latest(&self) -> Instant {
        self.latest
    }

    /// By how much all ticks have to be moved back now, if at all: once in 101 days.
    pub(super) fn rebase(&mut self) -> Option<u32> {
        if self.tick(self.latest).count() < REBASE {
            return None;
        }
        // A jump beyond the range saturates the count; the origin has to follow the true time.
        let true_count = (self.latest.as_micros() >> SHIFT) as i64 - self.origin;
        let by = true_count - i64::from(START);
        self.origin += by;
        Some(u32::try_from(by).unwrap_or(u32::MAX))
    }

    fn count(&self, caller_ticks: i64) -> Tick {
        // Both are below 2⁵² either way.
        let count = caller_ticks - self.origin;
        Tick::new(u32::try_from(count).unwrap_or(if count < 0 { 0 } else { u32::MAX - 1 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_survive_the_trip_to_ticks_and_back() {
        let mut clock = TickClock::new();
        for days in [0, 1, 100, 101, 102, 305, 410, 5_000, 1_000_000] {
            let now = clock.set(Instant::from_micros(12_345) + Duration::DAY * days);
            let _ = clock.rebase();
            let before = clock.instant(clock.tick(now));
            let after = clock.instant(clock.tick_after(now));
            assert!(
                before <= now && now <= after && after - before <= Duration::from_micros(8_192),
                "{days}"
            );
            // Gates stay shut for up to 49 days, and pages wait for 180, of which the future holds
            // at least 101.
            let later = now + Duration::DAY * 100;
            assert!(clock.instant(clock.tick_after(later)) >= later, "{days}");
        }
    }

    #[test]
    fn moving_back_keeps_order_and_never() {
        let mut clock = TickClock::new();
        let start = clock.tick(Instant::ZERO);
        let soon = start.after(Duration::DAY);
        let late = start.after(Duration::DAY * 150);
        clock.set(Instant::ZERO + Duration::DAY * 102);
        let by = clock.rebase().expect("beyond 101 days");
        assert!(start.moved(by) < soon.moved(by) && soon.moved(by) < late.moved(by));
        assert_eq!(late.moved(by).since(soon.moved(by)), late.since(soon));
        assert_eq!(Tick::NEVER.moved(by), Tick::NEVER);
        assert_eq!(
            clock.instant(late.moved(by)),
            Instant::ZERO + late.since(start)
        );
        assert_eq!(clock.rebase(), None);
    }

    #[test]
    fn what_was_long_ago_is_the_oldest_tick() {
        let mut clock = TickClock::new();
        clock.set(Instant::ZERO + Duration::DAY * 1_000);
        assert!(clock.rebase().is_some());
        assert_eq!(clock.tick(Instant::ZERO), Tick::new(0));
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let mut clock = TickClock::new();
        let later = Instant::ZERO + Duration::HOUR;
        clock.set(later);
        assert_eq!(clock.set(Instant::ZERO), later);
    }

    #[test]
    fn days_that_are_none_or_too_many_stay_in_range() {
        let tick = Tick::new(1_000);
        assert_eq!(tick.after_days(f32::NAN), tick);
        assert_eq!(tick.after_days(f32::INFINITY), Tick::NEVER);
        assert_eq!(tick.before_days(f32::INFINITY), Tick::new(0));
        assert_eq!(tick.after(Duration::MAX), Tick::NEVER);
        assert_eq!(Tick::new(0).days_since(tick), 0.0);
    }
}
