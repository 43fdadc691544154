//! Sources of hints that exist in the wild, brought to one form.
//!
//! Xu's smart provider says *that* a page changed, her super provider says *when it will*. Both
//! become moments at which a signal counts for the page; how much a host's signals mean is learnt
//! by [`Provider`](super::Provider).
//!
//! | source | says | signal counts |
//! |---|---|---|
//! | push message (WebSub, IndexNow, a hook) | changed | at once |
//! | sitemap `lastmod` after the last visit | changed | at once |
//! | feed `ttl` | may change then | at the visit + ttl |
//! | `Cache-Control: max-age`, less `Age` | may change then | when it runs out |
//! | `Expires` | may change then | at that moment |

use crate::time::{Duration, Instant};

/// What a source says about one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Hint {
    /// The page changed at this moment.
    Changed(Instant),
    /// It will change, or may, then.
    Expected(Instant),
}

impl Hint {
    /// When the signal counts.
    pub const fn at(self) -> Instant {
        match self {
            Self::Changed(at) | Self::Expected(at) => at,
        }
    }

    /// A message that came in now.
    pub const fn push(now: Instant) -> Self {
        Self::Changed(now)
    }

    /// A sitemap's `lastmod`, on the device's clock. Says nothing if the page was fetched since,
    /// nor if it lies in the future, as that of a site whose dates are made up does.
    ///
    /// ```
    /// use dunlin::learn::hints::Hint;
    /// use dunlin::time::{Duration, Instant};
    ///
    /// let at = |hours| Instant::ZERO + Duration::HOUR * hours;
    /// assert_eq!(Hint::sitemap(at(5), at(3), at(6)), Some(Hint::Changed(at(5))));
    /// assert_eq!(Hint::sitemap(at(2), at(3), at(6)), None);
    /// assert_eq!(Hint::sitemap(at(9), at(3), at(6)), None);
    /// ```
    pub fn sitemap(modified: Instant, fetched: Instant, now: Instant) -> Option<Self> {
        (modified > fetched && modified <= now).then_some(Self::Changed(modified))
    }

    /// A feed's `ttl` (its channel's or RSS `ttl` minutes). Zero says nothing.
    pub fn feed(time_to_live: Duration, fetched: Instant) -> Option<Self> {
        (!time_to_live.is_zero()).then(|| Self::Expected(fetched + time_to_live))
    }

    /// `Cache-Control: max-age` of a response that was `age` old when it came (its `Age`, else
    /// zero). Says nothing when it has run out already: "ask every time" is not "changes every
    /// time".
    pub fn max_age(max_age: Duration, age: Duration, fetched: Instant) -> Option<Self> {
        (max_age > age).then(|| Self::Expected(fetched + (max_age - age)))
    }

    /// `Expires`, on the device's clock. Says nothing if it lies before the fetch, as dates meant
    /// to switch caches off do.
    pub fn expires(expires: Instant, fetched: Instant) -> Option<Self> {
        (expires > fetched).then_some(Self::Expected(expires))
    }
}
