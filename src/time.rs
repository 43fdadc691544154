//! Time as the core sees it: whole microseconds, handed in by the caller.
//!
//! Nothing in this crate reads a clock. Microseconds match embassy's default tick, so that a device
//! converts without dividing; 64 bits of them last 584,000 years. All arithmetic saturates: a clock
//! that jumps can make an answer late or early, never panic or wrap.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::heap::Key;

/// A moment on the device's own clock, which starts at 0 when the device does and never steps back.
///
/// ```
/// use dunlin::time::{Duration, Instant};
///
/// let boot = Instant::ZERO;
/// let later = boot + Duration::from_secs(15);
/// assert_eq!(later - boot, Duration::from_millis(15_000));
/// assert_eq!(boot - later, Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

/// A length of time.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Duration(u64);

impl Instant {
    /// When the clock started.
    pub const ZERO: Self = Self(0);
    /// Later than any other.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment so many microseconds after the clock started.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the clock started.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, zero if that lies in the future.
    #[inline(never)] // Once for all callers.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any other.
    pub const MAX: Self = Self(u64::MAX);
    /// A day of 24 hours.
    pub const DAY: Self = Self::from_secs(86_400);
    /// An hour of 60 minutes.
    pub const HOUR: Self = Self::from_secs(3_600);

    /// A time of so many microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// A time of so many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A time of so many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// A time of fractional seconds, to the nearest microsecond; zero for NaN and negative numbers.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e6 + 0.5) as u64)
    }

    /// The time in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The time in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole seconds, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Fractional seconds. For hosts: on a device without a double-precision unit prefer
    /// [`Self::as_days`].
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// In days, the unit of every change rate.
    ///
    /// ```
    /// use dunlin::time::Duration;
    /// assert_eq!(Duration::from_secs(43_200).as_days::<f32>(), 0.5);
    /// ```
    pub fn as_days<F: crate::math::Real>(self) -> F {
        // In halves, which a core of 32 bits turns into numbers by itself.
        let high = F::from_u32((self.0 >> 32) as u32);
        let low = F::from_u32(self.0 as u32);
        (high * F::from_f64(4_294_967_296.0) + low) * F::from_f64(1.0 / 86_400e6)
    }

    /// A time of so many days; zero for NaN and negative numbers, the maximum when too long.
    pub fn from_days<F: crate::math::Real>(days: F) -> Self {
        Self((days * F::from_f64(86_400e6)).to_u64())
    }

    /// No time at all?
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Key for Instant {
    const FILLER: Self = Self::ZERO;
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline(never)] // Once for all callers.
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline(never)] // Once for all callers.
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

/// Division by zero gives the maximum: "never" is the useful answer to "how long between no
/// visits".
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, rhs: u64) -> Self {
        Self(self.0.checked_div(rhs).unwrap_or(u64::MAX))
    }
}

/// Local hours in which fetching is allowed; from 22 to 6 wraps around midnight (Wolf §3's
/// restricted slots).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Hours {
    from: u8,
    to: u8,
}

impl Default for Hours {
    fn default() -> Self {
        Self::ALWAYS
    }
}

impl Hours {
    /// Fetching is allowed at any time.
    pub const ALWAYS: Self = Self { from: 0, to: 0 };

    /// From the hour `from` (0–23) until the hour `to` (0–24) begins; `None` when that is empty or
    /// not of this day.
    ///
    /// ```
    /// use dunlin::time::{Duration, Hours};
    /// let night = Hours::new(22, 6).ok_or("not hours of a day")?;
    /// assert_eq!(night.wait(Duration::HOUR * 23), Duration::ZERO);
    /// assert_eq!(night.wait(Duration::HOUR * 6), Duration::HOUR * 16);
    /// # Ok::<(), &str>(())
    /// ```
    pub const fn new(from: u8, to: u8) -> Option<Self> {
        if from > 23 || to > 24 || from == to {
            None
        } else {
            Some(Self { from, to: to % 24 })
        }
    }

    /// Whether there is no restriction at all.
    pub fn is_always(self) -> bool {
        self.from == self.to
    }

    /// How long after this time of day fetching is allowed; zero when it is already.
    pub fn wait(self, time_of_day: Duration) -> Duration {
        const DAY: u64 = Duration::DAY.as_micros();
        let at = |hour: u8| Duration::HOUR.as_micros() * u64::from(hour);
        let since_start = (time_of_day.as_micros() % DAY + DAY - at(self.from)) % DAY;
        let open = (at(self.to) + DAY - at(self.from)) % DAY;
        if self.is_always() || since_start < open {
            Duration::ZERO
        } else {
            Duration::from_micros(DAY - since_start)
        }
    }
}

#[cfg(feature = "std")]
impl From<std::time::Duration> for Duration {
    fn from(value: std::time::Duration) -> Self {
        Self(u64::try_from(value.as_micros()).unwrap_or(u64::MAX))
    }
}

#[cfg(feature = "std")]
impl From<Duration> for std::time::Duration {
    fn from(value: Duration) -> Self {
        Self::from_micros(value.0)
    }
}
