//! Pages of one site resemble each other: what a host's pages have shown is where a new page starts
//! (Cho §7.3).

use super::{Estimate, Prior};
use crate::time::Duration;

/// A host that nobody has visited: its pages change about every week (the geometric mean, 0.13 per
/// day) …
const FIRST_LOG_RATE: f32 = -2.026_480_5;
/// … give or take a factor of ten: (ln 10)².
const FIRST_VARIANCE: f32 = 5.301_898;
/// What that guess weighs, in days of one page's observation.
const FIRST_DAYS: f32 = 30.0;
/// Habits of a host older than this many page-days fade.
const MOST_DAYS: f32 = 100_000.0;
/// However alike a host's pages, a new one must be able to differ.
const MOST_SHAPE: f32 = 4.0;

/// The mean and the spread of the logarithms of a host's change rates. Twelve bytes.
///
/// Each visit counts by the time it covers. So a page weighs what it was observed, whether in many
/// visits or in few: counting visits instead would let the pages that change most speak for all.
///
/// ```
/// use dunlin::learn::{Estimate, HostPrior, Settings, Visit};
/// use dunlin::time::Duration;
///
/// let mut host = HostPrior::new();
/// let mut page = Estimate::new(&host.prior());
/// for hour in 0..1_000 {
///     let visit = Visit::new(Duration::HOUR, hour % 2 == 0);
///     page.update(&visit, &Settings::DEFAULT);
///     host.update(&page, visit.interval);
/// }
/// assert!(host.prior().rate() > 5.0, "the next page of this host is expected to be busy, too");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostPrior {
    log_rate: f32,
    variance: f32,
    days: f32,
}

impl HostPrior {
    /// A host that nobody has visited.
    pub const fn new() -> Self {
        Self {
            log_rate: FIRST_LOG_RATE,
            variance: FIRST_VARIANCE,
            days: FIRST_DAYS,
        }
    }

    /// Of no host at all: what memory starts as.
    pub(crate) const ZERO: Self = Self {
        log_rate: 0.0,
        variance: 0.0,
        days: 0.0,
    };

    /// Learns from what is believed about one of its pages after a visit. Constant time: one
    /// logarithm.
    pub fn update(&mut self, page: &Estimate, interval: Duration) {
        let days = interval.as_days::<f32>().min(MOST_DAYS);
        self.days = (self.days + days).min(MOST_DAYS);
        let weight = days / self.days;
        let (mean, doubt) = logarithm(page);
        let difference = mean - self.log_rate;
        self.log_rate += weight * difference;
        // West's weighted update; (1 − w) keeps it from ever going below zero. Pages differ from
        // each other, and each from what is believed of it: without the second part a host would
        // seem the more uniform the less is known.
        self.variance =
            (1.0 - weight) * (self.variance + weight * difference * difference) + weight * doubt;
    }

    /// Learns from one of its pages that was watched before a restart: it weighs what it was
    /// observed.
    pub fn restore(&mut self, page: &Estimate) {
        self.update(page, Duration::from_days(page.time()));
    }

    /// Where a new page of this host starts: the Gamma whose logarithm has this mean and variance.
    pub fn prior(&self) -> Prior {
        // ψ′(a) ≈ 1/a + 1/(2a²) = variance, solved for a; then E ln λ = ψ(a) − ln b with ψ(a) ≈ ln
        // a − 1/(2a) − 1/(12a²). Good to a few percent from a = ½, where priors end anyway.
        let variance = self.variance.max(0.05);
        let shape =
            ((1.0 + libm::sqrtf(1.0 + 2.0 * variance)) / (2.0 * variance)).clamp(0.5, MOST_SHAPE);
        let inverse = 1.0 / shape;
        Prior::new(
            libm::expf(self.log_rate + inverse * (0.5 + inverse / 12.0)),
            shape,
        )
    }
}

impl Default for HostPrior {
    fn default() -> Self {
        Self::new()
    }
}

/// Mean and variance of the logarithm of a page's rate, ψ(a) − ln b and ψ′(a), by the first terms
/// of their series.
fn logarithm(page: &Estimate) -> (f32, f32) {
    let inverse = 1.0 / page.shape();
    (
        libm::logf(page.rate()) - inverse * (0.5 + inverse / 12.0),
        inverse * (1.0 + 0.5 * inverse),
    )
}
