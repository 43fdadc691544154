//! How often a page may or has to be visited, whatever it is worth.

use crate::time::Duration;

/// The fewest and the most crawls of a page in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrawlLimits {
    /// The fewest crawls in an interval.
    pub min: u32,
    /// The most crawls; `None` for as many as politeness allows.
    pub max: Option<u32>,
    /// The interval in which they are counted. An image keeps it in milliseconds, up to 49 days.
    pub interval: Duration,
}

impl CrawlLimits {
    /// A page without limits.
    pub const NONE: Self = Self {
        min: 0,
        max: None,
        interval: Duration::DAY,
    };

    /// One visit after each such time, no more and no fewer.
    pub const fn every(interval: Duration) -> Self {
        Self {
            min: 1,
            max: Some(1),
            interval,
        }
    }

    /// The time between two visits, if it is fixed: the fewest are the most.
    ///
    /// ```
    /// use dunlin::constraints::CrawlLimits;
    /// use dunlin::time::Duration;
    /// assert_eq!(CrawlLimits::every(Duration::HOUR).rhythm(), Some(Duration::HOUR));
    /// assert_eq!(CrawlLimits::NONE.rhythm(), None);
    /// ```
    pub fn rhythm(&self) -> Option<Duration> {
        (self.min > 0 && self.max == Some(self.min)).then(|| self.interval / u64::from(self.min))
    }

    /// The least time between the starts of two visits: the most crawls, spread evenly.
    ///
    /// ```
    /// use dunlin::constraints::CrawlLimits;
    /// use dunlin::time::Duration;
    /// let limits = CrawlLimits { max: Some(2), ..CrawlLimits::NONE };
    /// assert_eq!(limits.shortest_gap(), Duration::HOUR * 12);
    /// ```
    pub fn shortest_gap(&self) -> Duration {
        match self.max {
            None => Duration::ZERO,
            // Not at all, which is later than anything.
            Some(0) => Duration::MAX,
            // Up to a microsecond longer, never shorter.
            Some(max) => Duration::from_micros(self.interval.as_micros().div_ceil(u64::from(max))),
        }
    }

    /// The most time between two visits: the fewest crawls, spread evenly; `None` where there need
    /// not be any.
    pub fn longest_gap(&self) -> Option<Duration> {
        (self.min > 0).then(|| self.interval / u64::from(self.min))
    }

    /// Can they be obeyed? The most must not be fewer than the fewest, and the interval not empty.
    pub fn is_sound(&self) -> bool {
        self.max.is_none_or(|max| self.min <= max) && !self.interval.is_zero()
    }
}

impl Default for CrawlLimits {
    fn default() -> Self {
        Self::NONE
    }
}
