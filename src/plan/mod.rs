//! How often to visit each page: the best division of a crawl budget under host politeness.
//!
//! | allocator | gives | how |
//! |---|---|---|
//! | [`greedy`] | whole crawls, optimal | largest gain first, on a heap (Fox; de Souza §2.1) |
//! | [`select`] | whole crawls, the same optimum | searches the price; no heap |
//! | [`optimal`] | rates at equal gaps, optimal | searches the price; Cho's optimum in closed form |
//! | [`azar`] | rates for random visits, optimal for those | Azar's Algorithms 1 and 2 |
//! | [`baseline`] | uniform, proportional, and weighted | what the others are measured against |
//!
//! Everything is counted in *intervals*: rates are changes an interval, budgets and caps crawls an
//! interval. An allocator reads pages through [`Pages`], so they stay in whatever form the caller
//! keeps them, writes one number a page into a slice of the caller's, and works in one [`PlanHost`]
//! record a host. Nothing else is needed: no allocator, no copy of the pages.
//!
//! # Prices
//! A price is what one more crawl an interval would save, in units of weighted cost. Hosts that are
//! not at their cap share one price; a host at its cap has a higher one of its own. A page is
//! crawled for as long as a crawl saves at least its host's price. All rate methods and [`select`]
//! search these prices: a pass over the pages a step, at most [`level::STEPS`] steps, about ten in
//! practice.
//!
//! What a visit is worth and the gap that follows are in [`worth`], for allocators that know rates
//! and for the probe that learns them.
//!
//! # Pages of special kinds
//! A rate of 0 means the page never changes: it gets its minimum and is always fresh. An unknown
//! rate is taken as the geometric mean of the known ones, or one change an interval if none is
//! known. A quasi-deterministic page keeps its own times and takes whole crawls; where rates are
//! allotted it may get a fraction of the crawl that is just worth its price (crawled so in that
//! fraction of intervals).

pub mod azar;
pub mod baseline;
mod block;
mod check;
mod cost;
mod error;
pub mod greedy;
pub mod level;
pub mod optimal;
mod page;
mod queue;
pub mod select;
pub mod worth;

pub use check::assumed_rate;
pub use cost::{Spacing, page_cost};
pub use error::PlanError;
pub use page::{Pages, PlanHost, PlanPage};

pub use crate::model::Objective;

/// What an allocation achieves, beside what could be achieved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation<F> {
    /// Weighted mean cost, `Σ w C / Σ w`: staleness (1 − freshness), age in intervals, or harmonic
    /// staleness.
    pub cost: F,
    /// No allocation under the same budget and caps costs less. For whole crawls this is the weak
    /// politeness bound (de Souza §2.1), for rates the continuous optimum; the two are on different
    /// scales, because whole crawls start with a fresh copy.
    pub bound: F,
    /// What one more crawl an interval would save, `Σ w C` counted; 0 if budget is left over.
    pub price: F,
    /// Crawls handed out an interval.
    pub crawls: F,
}
