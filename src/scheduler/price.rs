//! What a fetch costs: one price for all, and a higher one for each host that cannot keep up.
//!
//! At the optimum every page is fetched when that is worth the price, and the price is such that
//! the budget is just spent; a host whose pages ask for more than its gate lets through has a price
//! of its own that just fills it (Karush, Kuhn and Tucker; see [`plan`](crate::plan)). The
//! scheduler never solves that at once. It walks over the pages, a few at each call, adding up what
//! they ask for at the present prices; after each round it corrects the prices, and the next round
//! brings due times in line. Rounds never end: prices follow what is learnt.
//!
//! [`plan`](crate::plan) meets the same conditions by a search that passes over all pages in each
//! of its steps and knows how demand bends with the price. A probe has one sum a round to go by, so
//! its correction is another one; both value pages by [`plan::worth`](crate::plan::worth), and a
//! test compares where they end.

use crate::math::{greater, lesser};

/// A round corrects a price by this factor at most.
const MOST_CORRECTION: f32 = 8.0;
/// Prices stay between these two, where f32 can compute with them.
const LEAST_PRICE: f32 = 1e-20;
/// The largest price: see [`LEAST_PRICE`].
const MOST_PRICE: f32 = 1e20;
/// A round that corrects the price by no more than this leaves no hurry. Beliefs that move with
/// every visit keep it busy with corrections of a few per cent.
const SETTLED: f32 = 0.1;

/// Where strides are short, one is still so long, in parts of the price.
const LEAST_STRIDE: f32 = 0.01;

/// The common price and the present round.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    /// The price of one fetch, in weight × days of freshness.
    pub(super) common: f32,
    /// The page that the present round comes to next.
    pub(super) cursor: usize,
    /// Demand and supply agreed at the end of the last round.
    pub(super) settled: bool,
    /// The share that the last round corrected the price by at the most, negative if it fell. Where
    /// pages have constraints only: those that change by the clock ask for all or for nothing.
    stride: f32,
    /// Sums over the present round.
    round: Sums,
    /// Sums over the last complete round.
    last: Sums,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    pages: u32,
    demand: f32,
    samples: u32,
    weight: f32,
    fresh: f32,
    achievable: f32,
}

impl Sums {
    const ZERO: Self = Self {
        pages: 0,
        demand: 0.0,
        samples: 0,
        weight: 0.0,
        fresh: 0.0,
        achievable: 0.0,
    };
}

impl Prices {
    pub(super) const fn new() -> Self {
        Self {
            common: 0.0,
            cursor: 0,
            settled: false,
            stride: MOST_CORRECTION - 1.0,
            round: Sums::ZERO,
            last: Sums::ZERO,
        }
    }

    /// Books a page's fetches a day.
    pub(super) fn add(&mut self, demand: f32) {
        self.round.pages += 1;
        self.round.demand += demand;
    }

    /// Books, of some of the pages, how fresh one is likely to be now, and how fresh on average.
    pub(super) fn sample(&mut self, weight: f32, fresh: f32, achievable: f32) {
        self.round.samples += 1;
        self.round.weight += weight;
        self.round.fresh += weight * fresh;
        self.round.achievable += weight * achievable;
    }

    /// Ends the round: `demand` of the pages at the common price has to meet `supply`, what the
    /// hosts with a price of their own have left of the budget. `cheapest` is the least of those
    /// prices. Where demand comes in `steps`, the price goes in strides.
    pub(super) fn end_round(&mut self, demand: f32, supply: f32, cheapest: f32, steps: bool) {
        if self.round.pages == 0 {
            // Nothing to sell: the first page that comes will set the price.
            *self = Self::new();
            return;
        }
        let ratio = if demand > 0.0 || cheapest == f32::INFINITY {
            correction(demand, supply.max(0.0))
        } else {
            // All pages are on hosts with a price of their own: the common one stays below those,
            // so that a host may come back to it.
            (0.5 * cheapest / self.common).min(1.0)
        };
        let price = (self.common * ratio).clamp(LEAST_PRICE, MOST_PRICE);
        // A price at its limit is settled, too: more is offered than anybody can take.
        self.settled = (price - self.common).abs() <= SETTLED * price;
        self.common = if steps {
            self.stride_towards(price)
        } else {
            price
        };
        self.last = core::mem::replace(&mut self.round, Sums::ZERO);
        self.cursor = 0;
    }

    /// As far towards a price as strides go: each is half as long as the one before if that went
    /// too far, and longer if not.
    #[cold]
    fn stride_towards(&mut self, price: f32) -> f32 {
        let rises = price > self.common;
        let length = self.stride.abs();
        let length = if rises == (self.stride > 0.0) {
            lesser(1.25 * length, MOST_CORRECTION - 1.0)
        } else {
            greater(0.5 * length, LEAST_STRIDE)
        };
        self.stride = if rises { length } else { -length };
        let most = 1.0 + length;
        greater(lesser(price, self.common * most), self.common / most)
    }

    /// Weighted mean freshness at the last round, as the probe believes it.
    pub(super) fn freshness(&self) -> Option<f32> {
        (self.last.weight > 0.0).then(|| self.last.fresh / self.last.weight)
    }

    /// Weighted mean freshness that the present prices are heading for.
    pub(super) fn achievable(&self) -> Option<f32> {
        (self.last.weight > 0.0).then(|| self.last.achievable / self.last.weight)
    }

    /// The mean weight of the pages of the last round; 1 before there was one.
    pub(super) fn mean_weight(&self) -> f32 {
        if self.last.samples > 0 {
            self.last.weight / self.last.samples as f32
        } else {
            1.0
        }
    }

    /// Days between two fetches of a page, on average.
    pub(super) fn mean_gap(&self) -> Option<f32> {
        (self.last.demand > 0.0).then(|| self.last.pages as f32 / self.last.demand)
    }
}

/// The price of a host after a round in which its pages asked for `demand` at `price` (its own or
/// the common one), and its gate let through `cap`; 0 where the common price will do.
pub(super) fn host_price(demand: f32, cap: f32, price: f32, common: f32) -> f32 {
    let own = (price * libm::sqrtf(correction(demand, cap))).clamp(LEAST_PRICE, MOST_PRICE);
    if own > common { own } else { 0.0 }
}

/// What to multiply a price by. Demand falls like price^−½ where pages are cheap to keep fresh and
/// faster where they are not; multiplying by demand over supply halves the difference each round,
/// or better, and hardly overshoots.
fn correction(demand: f32, supply: f32) -> f32 {
    let ratio = demand / supply;
    if ratio.is_nan() {
        1.0
    } else {
        ratio.clamp(1.0 / MOST_CORRECTION, MOST_CORRECTION)
    }
}
