//! Who gives way to whom: a candidate that is more important than the least important page takes
//! its place (Cho §7.3), but not at every flicker of the estimates; and some visits explore.
//!
//! Greedy replacement alone stalls: what is not in the collection is never asked what it links to,
//! so the pages of a collection vouch for each other. A share of all visits goes to candidates,
//! those with the most cash to hand on first and now and then any.

/// What to do with the next visit that is not needed to keep pages fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the visit that was chosen is counted as one that was made"]
pub enum Choice {
    /// Nothing: pages that are kept are visited as planned.
    Refresh,
    /// The best candidate is better than the least important page by enough: it takes its place.
    Replace,
    /// It is time to look at a candidate.
    Explore {
        /// Any candidate will do, instead of the one with the most cash.
        at_random: bool,
    },
}

/// Decides, visit by visit.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// How many times as important a candidate has to be.
    margin: f32,
    /// The share of visits that explore, in 256ths.
    share: u8,
    /// Visits that are owed to exploring, in 256ths.
    owed: u16,
    explored: u16,
}

impl Replacement {
    /// A candidate has to be a quarter better.
    pub const MARGIN: f32 = 1.25;
    /// A quarter of the visits explore.
    pub const SHARE: f32 = 0.25;
    /// One exploring visit of so many goes anywhere.
    const ANYWHERE: u16 = 8;

    /// With a margin of 1 or more, and a share of visits from 0 to 1.
    pub fn new(margin: f32, share: f32) -> Self {
        let share = (share * 256.0).clamp(0.0, 255.0);
        Self {
            margin: crate::math::greater(margin, 1.0),
            share: share as u8,
            owed: 0,
            explored: 0,
        }
    }

    /// Is a candidate of this importance better than a page of that one, by enough?
    ///
    /// ```
    /// use dunlin::rank::Replacement;
    ///
    /// let rule = Replacement::new(1.25, 0.2);
    /// assert!(rule.is_better(1.3, 1.0));
    /// assert!(!rule.is_better(1.2, 1.0));
    /// ```
    pub fn is_better(&self, candidate: f32, page: f32) -> bool {
        candidate > page * self.margin
    }

    /// A visit was made: is the next one owed to exploring?
    pub(crate) fn is_time_to_explore(&mut self) -> bool {
        self.owed = (self.owed + u16::from(self.share)).min(4 * 256);
        self.owed >= 256
    }

    /// Does the next exploring visit go anywhere?
    pub(crate) fn explores_at_random(&self) -> bool {
        self.explored.wrapping_add(1).is_multiple_of(Self::ANYWHERE)
    }

    /// A visit explores.
    pub(crate) fn explored(&mut self) {
        self.owed = self.owed.saturating_sub(256);
        self.explored = self.explored.wrapping_add(1);
    }

    /// A visit was made: what should the next one be? `best` and `least` are the importance of the
    /// best candidate and of the least important page that may go, if there are such; `any` says
    /// whether there is a candidate at all.
    pub fn next(&mut self, best: Option<f32>, least: Option<f32>, any: bool) -> Choice {
        if self.is_time_to_explore() && any && least.is_some() {
            let at_random = self.explores_at_random();
            self.explored();
            return Choice::Explore { at_random };
        }
        match (best, least) {
            (Some(best), Some(least)) if self.is_better(best, least) => Choice::Replace,
            _ => Choice::Refresh,
        }
    }
}
