//! What an allocator is told about pages and hosts.

use super::level::{Bracket, Stage};
use crate::math::{Real, Sum};
use crate::model::Change;

/// A page as an allocator sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanPage<'a, F> {
    /// Importance, not negative. Only ratios matter.
    pub weight: F,
    /// How the page changes.
    pub change: Change<'a, F>,
    /// Index of its host among the hosts of the plan.
    pub host: u32,
    /// Fewest crawls an interval.
    pub min: u32,
    /// Most crawls an interval; `u32::MAX` is no limit.
    pub max: u32,
}

impl<'a, F: Real> PlanPage<'a, F> {
    /// A page on host 0, without limits.
    pub const fn new(weight: F, change: Change<'a, F>) -> Self {
        Self {
            weight,
            change,
            host: 0,
            min: 0,
            max: u32::MAX,
        }
    }

    /// The same page on another host.
    #[must_use]
    pub const fn on_host(self, host: u32) -> Self {
        Self { host, ..self }
    }

    /// The same page with limits.
    #[must_use]
    pub const fn between(self, min: u32, max: u32) -> Self {
        Self { min, max, ..self }
    }

    /// The number within the page's limits that is nearest to `crawls`.
    pub(super) fn clamp(&self, crawls: F) -> F {
        let crawls = crawls.max(F::from_u32(self.min));
        if self.max == u32::MAX {
            crawls
        } else {
            crawls.min(F::from_u32(self.max))
        }
    }

    /// Is it strictly between the page's limits?
    pub(super) fn is_within(&self, crawls: F) -> bool {
        crawls > F::from_u32(self.min) && (self.max == u32::MAX || crawls < F::from_u32(self.max))
    }
}

/// Where an allocator finds its pages: a slice of [`PlanPage`]s, or whatever the caller keeps them
/// in.
///
/// Allocators read every page several times and in order, so `page` should be cheap. It must give
/// the same answer every time.
///
/// ```
/// use dunlin::model::Change;
/// use dunlin::plan::{Pages, PlanPage};
///
/// /// Eight bytes a page instead of 40.
/// struct Columns<'a> { weights: &'a [f32], rates: &'a [f32] }
///
/// impl Pages<f32> for Columns<'_> {
///     fn len(&self) -> usize {
///         self.weights.len().min(self.rates.len())
///     }
///     fn page(&self, index: usize) -> PlanPage<'_, f32> {
///         let get = |column: &[f32]| column.get(index).copied().unwrap_or(0.0);
///         PlanPage::new(get(self.weights), Change::Poisson(get(self.rates)))
///     }
/// }
/// ```
pub trait Pages<F> {
    /// How many there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The page at `index`, which is below [`Self::len`].
    fn page(&self, index: usize) -> PlanPage<'_, F>;
}

impl<F: Real> Pages<F> for [PlanPage<'_, F>] {
    fn len(&self) -> usize {
        <[PlanPage<'_, F>]>::len(self)
    }
    fn page(&self, index: usize) -> PlanPage<'_, F> {
        self.get(index)
            .copied()
            .unwrap_or(PlanPage::new(F::ZERO, Change::Poisson(F::ZERO)))
    }
}

impl<F, P: Pages<F> + ?Sized> Pages<F> for &P {
    fn len(&self) -> usize {
        P::len(self)
    }
    fn page(&self, index: usize) -> PlanPage<'_, F> {
        P::page(self, index)
    }
}

/// A host: its cap goes in, its share and price come out, and in between it is the allocator's
/// working memory.
///
/// Hosts that share one gate are one host here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanHost<F> {
    /// Most crawls an interval: interval / politeness gap, infinite without politeness. Whole-crawl
    /// methods round it down to allot and up for the bound, since ⌈T/P⌉ fetches fit.
    pub cap: F,
    /// Crawls an interval its pages were given.
    pub crawls: F,
    /// What one more crawl on this host would save.
    pub price: F,
    /// Fewest crawls its pages need.
    pub(super) minimum: F,
    /// Demand at the level last tried, and its slope there.
    pub(super) demand: Sum<F>,
    pub(super) slope: F,
    /// What demand grows like at high levels: `gain · level − offset`.
    pub(super) gain: F,
    pub(super) offset: F,
    /// Where this host's level lies.
    pub(super) bracket: Bracket<F>,
    pub(super) trial: F,
    pub(super) stage: Stage,
    /// Does the next pass count its pages?
    pub(super) searching: bool,
}

impl<F: Real> PlanHost<F> {
    /// A host that may be crawled at most `cap` times an interval.
    pub const fn new(cap: F) -> Self {
        Self {
            cap,
            crawls: F::ZERO,
            price: F::ZERO,
            minimum: F::ZERO,
            demand: Sum::ZERO,
            slope: F::ZERO,
            gain: F::ZERO,
            offset: F::ZERO,
            bracket: Bracket::new(F::ZERO),
            trial: F::ZERO,
            stage: Stage::Common,
            searching: false,
        }
    }

    /// A host without politeness.
    pub const fn unlimited() -> Self {
        Self::new(F::INFINITY)
    }

    /// Makes it ready for another search; only cap and minimum stay.
    pub(super) fn reset(&mut self) {
        *self = Self {
            minimum: self.minimum,
            ..Self::new(self.cap)
        };
    }

    /// Whether it is at its cap, but for what the search leaves.
    pub fn is_full(&self) -> bool {
        self.crawls >= self.cap * (F::ONE - F::from_f64(1e-5))
    }
}
