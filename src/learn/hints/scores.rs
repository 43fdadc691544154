//! Xu's priority scores, as published, with the repairs they need to be computed.
//!
//! | provider | tells | score |
//! |---|---|---|
//! | normal | nothing | [`normal`]: ½ × time since the crawl × accesses since (Eq. 5) |
//! | smart | that it changed | [`Missed`]: Σ over missed changes of time × stale accesses (Eq. 4) |
//! | super | when it will change, with a probability | [`unified`]: β × smart + (1 − β) × [`Future`] (Eq. 6, 7) |
//!
//! Repairs: Table 1 in print swaps Equations 4 and 5; in Equation 4 the last crawl is t₋₁ and now
//! is t_U, else a single missed change scores nothing; scores are divided by all accesses before
//! they are mixed (§4.2); and the freshness of Equation 3 is clipped at 1. Where nobody counts
//! accesses, weight × time stands in for them.
//!
//! [`ScoredPage`] joins them to a policy. They ignore how often a page changes;
//! [`Signals`](super::Signals) does not, and wins at equal budget.

use crate::math::Real;

/// How much a provider tells (Xu §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ProviderKind {
    /// The provider tells nothing.
    #[default]
    Normal,
    /// The provider tells that a page has changed.
    Smart,
    /// That it has changed, and when it will.
    Super,
}

/// c in Equation 5: a page that nobody asks for is crawled some day, too.
const LEAST_ACCESSES: f64 = 1.0;

/// The weight β in Equation 7.
pub const PAST_SHARE: f64 = 0.8;
/// The weight α in Equation 6.
pub const LAST_CYCLE_SHARE: f64 = 0.8;

/// Equation 5: `½ (now − last crawl)(N + c)`, N accesses since the crawl; the small constant c lets
/// pages compete that nobody has asked for.
pub fn normal<F: Real>(days_since_crawl: F, accesses: F, constant: F) -> F {
    F::HALF * days_since_crawl * (accesses + constant)
}

/// Equation 4 in constant memory: changes that a smart provider has told of since the last crawl.
///
/// ```
/// use dunlin::learn::hints::scores::Missed;
///
/// // Crawled at 0; changes at days 1 and 3; ten accesses a day hit the stale copy.
/// let mut page = Missed::crawled(0.0);
/// page.change(1.0, 0.0);
/// page.change(3.0, 20.0);
/// assert_eq!(page.score(4.0, 30.0), 1.0 * 0.0 + 2.0 * 20.0 + 1.0 * 30.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Missed<F> {
    changes: u32,
    /// When the page was last crawled, `t_{m−1}` in the paper.
    last: F,
    score: F,
}

impl<F: Real> Missed<F> {
    /// Fresh from a crawl, at this time in days.
    pub fn crawled(day: F) -> Self {
        Self {
            changes: 0,
            last: day,
            score: F::ZERO,
        }
    }

    /// It changed, after `stale_accesses` in all had hit the stale copy since the crawl (none
    /// before the first change).
    pub fn change(&mut self, day: F, stale_accesses: F) {
        self.changes = self.changes.saturating_add(1);
        self.score += (day - self.last).max(F::ZERO) * stale_accesses;
        self.last = day;
    }

    /// How many changes the copy has missed.
    pub fn changes(&self) -> u32 {
        self.changes
    }

    /// The score now; 0 for a fresh page.
    pub fn score(&self, day: F, stale_accesses: F) -> F {
        if self.changes == 0 {
            F::ZERO
        } else {
            self.score + (day - self.last).max(F::ZERO) * stale_accesses
        }
    }
}

/// An announced change, for Equation 6.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Future<F> {
    /// How likely the change is.
    pub probability: F,
    /// Accesses to the page in the cycle before this.
    pub last_cycle: F,
    /// Accesses in the cycles before that one (Xu: four of them).
    pub earlier_cycles: F,
}

impl<F: Real> Future<F> {
    /// `P (α C_{p−1} + (1−α) Σ earlier) / (C_{p−1} + Σ earlier)`, at most P; 0 for a page that
    /// nobody has asked for.
    pub fn score(&self) -> F {
        let all = self.last_cycle + self.earlier_cycles;
        if all.is_nan() || all <= F::ZERO {
            return F::ZERO;
        }
        let share = F::from_f64(LAST_CYCLE_SHARE);
        self.probability * (share * self.last_cycle + (F::ONE - share) * self.earlier_cycles) / all
    }
}

/// Equation 7: a super provider's page. The past is divided by all accesses to all pages, as the
/// future is a share.
pub fn unified<F: Real>(missed: F, all_accesses: F, future: F) -> F {
    let share = F::from_f64(PAST_SHARE);
    share * missed / all_accesses.max(F::ONE) + (F::ONE - share) * future
}

/// What a crawler that follows Xu's scores keeps for a page; it fetches the page of the largest
/// score.
///
/// ```
/// use dunlin::learn::hints::scores::{ProviderKind, ScoredPage};
///
/// // Ten accesses a day each, out of a hundred in all; one has told that it changed on day 1.
/// let (quiet, mut told) = (ScoredPage::new(10.0), ScoredPage::new(10.0));
/// told.change(1.0);
/// assert_eq!(quiet.score(ProviderKind::Smart, 2.0, 100.0, 0.0), 0.0);
/// assert_eq!(told.score(ProviderKind::Smart, 2.0, 100.0, 0.0), 0.1);
/// assert!(quiet.score(ProviderKind::Normal, 2.0, 100.0, 0.0) > 0.0, "who knows");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ScoredPage<F> {
    accesses_per_day: F,
    crawled: F,
    first_missed: F,
    missed: Missed<F>,
}

impl<F: Real> ScoredPage<F> {
    /// A page crawled at day 0. Where nobody counts accesses, its weight stands in for them.
    pub fn new(accesses_per_day: F) -> Self {
        Self {
            accesses_per_day,
            crawled: F::ZERO,
            first_missed: F::ZERO,
            missed: Missed::crawled(F::ZERO),
        }
    }

    /// Notes that the page was crawled on this day.
    pub fn crawl(&mut self, day: F) {
        *self = Self {
            crawled: day,
            missed: Missed::crawled(day),
            ..*self
        };
    }

    /// Its provider tells that it changed.
    pub fn change(&mut self, day: F) {
        if self.missed.changes() == 0 {
            self.first_missed = day;
        }
        self.missed.change(day, self.stale_accesses(day));
    }

    /// Accesses in so many days.
    pub fn accesses(&self, days: F) -> F {
        self.accesses_per_day * days
    }

    fn stale_accesses(&self, day: F) -> F {
        self.accesses((day - self.first_missed).max(F::ZERO))
    }

    /// Its score by what its provider tells, out of `all_accesses` to all pages so far. `future` is
    /// the [`Future::score`] of a change that a super provider announces, or 0.
    pub fn score(&self, kind: ProviderKind, day: F, all_accesses: F, future: F) -> F {
        let missed = self.missed.score(day, self.stale_accesses(day));
        match kind {
            ProviderKind::Normal => {
                let days = (day - self.crawled).max(F::ZERO);
                let constant = F::from_f64(LEAST_ACCESSES);
                normal(days, self.accesses(days), constant) / all_accesses.max(F::ONE)
            }
            ProviderKind::Smart => missed / all_accesses.max(F::ONE),
            ProviderKind::Super => unified(missed, all_accesses, future),
        }
    }
}

/// Equation 3: `1/Σ m (now − t_m)` for missed changes `t_m` days ago, oldest first, clipped at 1.
pub fn freshness<F: Real>(days_since_changes: impl Iterator<Item = F>) -> F {
    let sum: F = (1_u32..)
        .zip(days_since_changes)
        .map(|(m, days)| F::from_u32(m) * days)
        .sum();
    if sum > F::ONE { F::ONE / sum } else { F::ONE }
}
