//! Pages of one site resemble each other, and sites resemble each other: what a host's pages have
//! shown is where a new page starts (Cho §7.3), and what all pages have shown is where a new host
//! starts.
//!
//! Nothing here knows a unit of time. Where nobody has shown anything yet, pages are taken to
//! change about as often as they are visited: whoever set the budget had a reason.

use super::{Estimate, Prior};
use crate::math::{greater, lesser, root};

/// Before anything is known, rates are taken to differ by a factor of 3.4 (one standard deviation
/// of the logarithm, squared). Wider, and the first visits decide too much by chance; narrower, and
/// it takes longer to find out that pages differ. Both were measured.
const FIRST_VARIANCE: f32 = 1.5;
/// However alike a host's pages are, a new one must be able to differ.
const MOST_PRIOR_SHAPE: f32 = 16.0;
/// The pages of a host count against as many of all others; so a host with one page is believed to
/// be a little like that page and mostly like everybody else.
const KIN: f32 = 4.0;
/// All pages count against as many of the first guess.
const GUESS: f32 = 2.0;
/// Visits that came after this many even gaps count no more than this: of pages that are visited
/// seldom there are few visits, and each has to speak for many.
const MOST_WEIGHT: f32 = 4.0;
/// A visit that finds a change cannot tell a page that has changed so often since the visit before
/// from one that has changed more often. Where each visit finds one, beliefs would climb without
/// bound: every page would start where the others have climbed to.
const MOST_TOLD: f32 = 16.0;
/// Pages are counted in 64ths.
const PARTS_OF_A_PAGE: f32 = 64.0;

/// The mean and the spread of the logarithms of the change rates of pages that belong together: of
/// one host, or of all. Twelve bytes.
///
/// Each visit says what is then believed of its page, and counts by the time it covers: counting
/// visits instead would let the pages that change most speak for all. It remembers about as many
/// visits as there are pages, so that a page speaks with what is known of it now.
///
/// ```
/// use dunlin::learn::{Estimate, HostPrior, LearningSettings, Visit};
/// use dunlin::time::Duration;
///
/// // Nothing known yet, but that pages are visited every hour.
/// let guess = HostPrior::of_gap(1.0 / 24.0);
/// let mut host = HostPrior::new();
/// (0..10).for_each(|_| host.add_page());
/// for _ in 0..10 {
///     let mut page = Estimate::new(&host.prior(&guess));
///     for hour in 0..100 {
///         page.update(&Visit::new(Duration::HOUR, hour % 20 == 0), &LearningSettings::DEFAULT);
///         host.update(&page, 1.0);
///     }
/// }
/// let next = host.prior(&guess).rate();
/// // Not one an hour: the next page of this host is likely to be quiet, too.
/// assert!(next < 12.0, "{next}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostPrior {
    log_rate: f32,
    variance: f32,
    /// Pages it has heard of lately, in 64ths.
    heard: u16,
    /// How many pages the host has.
    pages: u16,
}

impl HostPrior {
    /// A host that nobody has visited, without pages.
    pub const fn new() -> Self {
        Self {
            log_rate: 0.0,
            variance: FIRST_VARIANCE,
            heard: 0,
            pages: 0,
        }
    }

    /// What memory starts as: the prior of no host at all.
    pub(crate) const ZERO: Self = Self {
        log_rate: 0.0,
        variance: 0.0,
        heard: 0,
        pages: 0,
    };

    /// The first guess: pages that are visited every so many days change about as often.
    pub fn of_gap(days: f32) -> Self {
        Self {
            log_rate: -libm::logf(days.clamp(1e-9, 1e9)),
            ..Self::new()
        }
    }

    /// One page more belongs to it.
    pub fn add_page(&mut self) {
        self.pages = self.pages.saturating_add(1);
    }

    /// One page less does.
    pub fn remove_page(&mut self) {
        self.pages = self.pages.saturating_sub(1);
    }

    /// Pages that belong to it.
    #[cfg(feature = "hints")]
    pub(crate) fn pages(&self) -> u16 {
        self.pages
    }

    /// The usual rate a day: half of the pages change more often.
    pub(crate) fn usual_rate(&self) -> f32 {
        libm::expf(self.log_rate)
    }

    /// Has a visit to any of its pages said anything yet?
    pub fn has_learnt(&self) -> bool {
        self.heard > 0
    }

    /// Has it heard of as many pages as there are?
    pub(crate) fn has_heard_of_all(&self) -> bool {
        u32::from(self.heard) >= PARTS_OF_A_PAGE as u32 * u32::from(self.pages)
    }

    /// Learns from what is believed about one of its pages after a visit that came after so many
    /// `gaps`, measured by the gap that all pages would have if they had the same. Constant time:
    /// one logarithm.
    pub fn update(&mut self, page: &Estimate, gaps: f32) {
        self.hear(logarithm(page, 0.0), parts(gaps));
    }

    /// The same for a host and for all pages at once, where so many gaps are so many days.
    pub(crate) fn update_both(
        host: &mut Self,
        all: &mut Self,
        page: &Estimate,
        days: f32,
        gaps: f32,
    ) {
        let logarithm = logarithm(page, days);
        let counts = parts(gaps);
        host.hear(logarithm, counts);
        all.hear(logarithm, counts);
    }

    /// Learns from the mean and the variance of the logarithm of a page's rate, which count for so
    /// many parts of a page.
    fn hear(&mut self, (mean, doubt): (f32, f32), counts: f32) {
        let most = greater(f32::from(self.pages), 1.0) * PARTS_OF_A_PAGE;
        let heard = lesser(f32::from(self.heard) + counts, most);
        if heard < 1.0 {
            return;
        }
        // A cast saturates.
        self.heard = heard as u16;
        let weight = lesser(counts / heard, 1.0);
        let difference = mean - self.log_rate;
        self.log_rate += weight * difference;
        // West's weighted update; (1 − w) keeps it from ever going below zero. Pages differ from
        // each other, and each from what is believed of it: without the second part a host would
        // seem the more uniform the less is known.
        self.variance =
            (1.0 - weight) * (self.variance + weight * difference * difference) + weight * doubt;
    }

    /// All pages, as far as they have been heard of; the guess for the rest.
    #[must_use]
    pub fn or_guess(&self, guess: &Self) -> Self {
        self.beside(guess, GUESS)
    }

    /// Where a new page of this host starts, given what is known of all pages: the Gamma whose
    /// logarithm has the mean and the variance of both together.
    pub fn prior(&self, all: &Self) -> Prior {
        let Self {
            log_rate, variance, ..
        } = self.beside(all, KIN);
        // ψ′(a) ≈ 1/a + 1/(2a²) = variance, solved for a; then E ln λ = ψ(a) − ln b with ψ(a) ≈ ln
        // a − 1/(2a) − 1/(12a²). Good to a few percent from a = ½, where priors end anyway.
        let shape = (1.0 + root(1.0 + 2.0 * variance)) / (2.0 * variance);
        let shape = shape.clamp(0.5, MOST_PRIOR_SHAPE);
        let inverse = 1.0 / shape;
        Prior::new(
            libm::expf(log_rate + inverse * (0.5 + inverse / 12.0)),
            shape,
        )
    }

    /// What both know together, where the others have the weight of so many pages.
    fn beside(&self, others: &Self, weight: f32) -> Self {
        let heard = f32::from(self.heard) / PARTS_OF_A_PAGE;
        let share = heard / (heard + weight);
        let difference = self.log_rate - others.log_rate;
        Self {
            log_rate: others.log_rate + share * difference,
            variance: share * self.variance
                + (1.0 - share) * (others.variance + share * difference * difference),
            ..*self
        }
    }
}

impl Default for HostPrior {
    fn default() -> Self {
        Self::new()
    }
}

/// What a visit after so many gaps counts for, in parts of a page.
fn parts(gaps: f32) -> f32 {
    // What is no number counts for nothing.
    PARTS_OF_A_PAGE * lesser(greater(0.0, gaps), MOST_WEIGHT)
}

/// Mean and variance of the logarithm of a page's rate, ψ(a) − ln b and ψ′(a), by the first terms
/// of their series, after a visit that came after so many days.
fn logarithm(page: &Estimate, days: f32) -> (f32, f32) {
    let inverse = 1.0 / page.shape();
    let rate = page.rate();
    let rate = if rate * days > MOST_TOLD {
        MOST_TOLD / days
    } else {
        rate
    };
    (
        libm::logf(rate) - inverse * (0.5 + inverse / 12.0),
        inverse * (1.0 + 0.5 * inverse),
    )
}
