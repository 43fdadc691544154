//! LambdaCrawl with rates that it has to learn, written from its paper: Kolobov, Peres, Lu and
//! Horvitz, *Staying up to Date with Online Content Changes Using Reinforcement Learning for
//! Scheduling*, NeurIPS 2019.
//!
//! Checked against the code that its authors published with it (`LambdaCrawlExps.py` in
//! microsoft/Optimal-Freshness-Crawl-Scheduling), formula by formula: cost, rates, likelihood and
//! smoothing are those of its `HarmonicPolicyCost_IncomplObs`, `PolicyValueLagr_NoObs`,
//! `DataLLDerivative` and `LearnChRates_IncomplObs`.
//!
//! The paper's objective is the harmonic number of the changes that a copy lags behind, which under
//! visits at random times costs `μ ln((ρ + Δ)/ρ)` a page (its Proposition 1). The best rates under
//! a budget are `ρ = (√(Δ² + 4μΔ/λ) − Δ)/2`, with the one λ that spends it (Proposition 2, found
//! here by bisection). Change rates Δ come by maximum likelihood from all visits so far, each of
//! which says whether the page has changed since the one before: the root of
//!
//! ```text
//! Σ over changed a/(e^{Δa} − 1)  =  Σ over unchanged a
//! ```
//!
//! Smoothed, as the authors do it, by an imaginary visit of either kind, so that no estimate is 0
//! or infinite. Theirs come after half a day, where pages were visited daily: here after half the
//! mean gap. (Their estimates end at 0.0005 and 7 changes a day; that bound is left out, it would
//! be one of their data.) Rates are estimated and the budget divided anew after each round, that
//! is, as many fetches as there are pages. The paper's learner has no bound on what it keeps of a
//! page, so neither has this one.

use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::{Fetched, Gated, Random, Rule, World};

/// When pages are visited, at their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// At random, as in the paper.
    Random,
    /// At even gaps, which no copy of a page is worse for.
    Even,
}

/// The rule; see the module.
#[derive(Debug)]
pub struct LambdaCrawl {
    weights: Vec<f64>,
    pages: Vec<Learnt>,
    /// Visits a day of each page.
    visits: Vec<f64>,
    per_day: f64,
    times: Times,
    random: Random,
    recorded: usize,
}

/// What is kept of a page.
#[derive(Clone, Debug)]
struct Learnt {
    /// Changes a day, as estimated last.
    rate: f64,
    last: Option<Instant>,
    /// Days between two visits, below 0 if the page had not changed.
    history: Vec<f32>,
    /// Has a visit been added since the estimate?
    has_news: bool,
}

/// On a world, with so many fetches a day.
pub fn lambda_crawl(world: &World, per_day: f64, times: Times, seed: u64) -> Gated<LambdaCrawl> {
    let count = world.pages.len();
    // Before anything is known, all are alike.
    let rate = per_day / count as f64;
    let page = Learnt {
        rate,
        last: None,
        history: Vec::new(),
        has_news: false,
    };
    let mut rule = LambdaCrawl {
        weights: world.pages.iter().map(|page| page.weight).collect(),
        pages: vec![page; count],
        visits: vec![rate; count],
        per_day,
        times,
        random: Random(seed),
        recorded: 0,
    };
    rule.plan();
    Gated::new(world, per_day, rule)
}

impl LambdaCrawl {
    fn mean_gap(&self) -> f64 {
        self.pages.len() as f64 / self.per_day
    }

    fn learn(&mut self) {
        let gap = self.mean_gap();
        for page in self.pages.iter_mut().filter(|page| page.has_news) {
            page.rate = likeliest(&page.history, gap);
            page.has_news = false;
        }
    }

    fn plan(&mut self) {
        let rates: Vec<f64> = self.pages.iter().map(|page| page.rate).collect();
        divide(&self.weights, &rates, self.per_day, &mut self.visits);
    }

    fn wait(&mut self, page: usize) -> Duration {
        let gaps = match self.times {
            Times::Random => self.random.exponential(),
            Times::Even => 1.0,
        };
        Duration::from_days(gaps / self.visits[page])
    }
}

impl Rule for LambdaCrawl {
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        let now = fetched.now;
        let known = &mut self.pages[fetched.page];
        let seen = match fetched.outcome {
            Outcome::Changed { .. } => Some(1.0),
            Outcome::Unchanged => Some(-1.0),
            _ => None,
        };
        if let Some(sign) = seen
            && let Some(last) = known.last.replace(now)
        {
            known.history.push(sign * (now - last).as_days::<f32>());
            known.has_news = true;
        }
        self.recorded += 1;
        if self.recorded.is_multiple_of(self.pages.len()) {
            self.learn();
            self.plan();
        }
        Some(now + self.wait(fetched.page))
    }
}

/// The rate that makes a history likeliest, with a visit of either kind after half a `gap` added.
pub fn likeliest(history: &[f32], gap: f64) -> f64 {
    let unchanged: f64 = history
        .iter()
        .filter(|gap| **gap < 0.0)
        .map(|gap| -f64::from(*gap))
        .sum();
    let imaginary = 0.5 * gap;
    let excess = |rate: f64| {
        let changed: f64 = history
            .iter()
            .filter(|gap| **gap > 0.0)
            .map(|gap| term(f64::from(*gap), rate))
            .sum();
        changed + term(imaginary, rate) - unchanged - imaginary
    };
    bisect(1e-9 / gap, 1e6 / gap, excess)
}

fn term(gap: f64, rate: f64) -> f64 {
    gap / (gap * rate).exp_m1()
}

/// Divides a budget of visits a day.
pub fn divide(weights: &[f64], rates: &[f64], per_day: f64, visits: &mut [f64]) {
    let visit = |weight: f64, rate: f64, price: f64| {
        0.5 * ((rate * rate + 4.0 * weight * rate / price).sqrt() - rate)
    };
    let pairs = || weights.iter().copied().zip(rates.iter().copied());
    let most: f64 = weights.iter().sum::<f64>() / per_day;
    let excess = |price: f64| {
        let asked: f64 = pairs()
            .map(|(weight, rate)| visit(weight, rate, price))
            .sum();
        asked - per_day
    };
    // At most the price at which rates without end would spend it, and never free.
    let price = bisect(1e-15 * most, most, excess);
    for (place, (weight, rate)) in visits.iter_mut().zip(pairs()) {
        *place = visit(weight, rate, price);
    }
}

/// Where a falling function crosses 0, to twelve digits.
fn bisect(low: f64, high: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let mut low = low.ln();
    let mut high = high.ln();
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        if falling(middle.exp()) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_gaps_have_a_likeliest_rate_in_closed_form() {
        // 3 of 10 visits, each after two days, and one of either kind: e^{−2Δ} = 8/12.
        let history = [2.0, -2.0, -2.0, 2.0, -2.0, -2.0, -2.0, 2.0, -2.0, -2.0];
        let rate = likeliest(&history, 4.0);
        assert!((rate - -(8.0_f64 / 12.0).ln() / 2.0).abs() < 1e-9, "{rate}");
        // Without a visit, the authors' ln 2 in an imaginary interval.
        let rate = likeliest(&[], 4.0);
        assert!((rate - 0.5 * 2_f64.ln()).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn the_budget_is_spent_where_the_next_visit_saves_most() {
        let weights = [1.0, 1.0, 5.0, 0.1];
        let rates = [0.1, 10.0, 1.0, 1.0];
        let mut visits = [0.0; 4];
        divide(&weights, &rates, 4.0, &mut visits);
        assert!(
            (visits.iter().sum::<f64>() - 4.0).abs() < 1e-6,
            "{visits:?}"
        );
        // −d/dρ of μ ln((ρ + Δ)/ρ) is the same for all.
        let saved = |page: usize| {
            let sum = visits[page] + rates[page];
            weights[page] * rates[page] / (visits[page] * sum)
        };
        for page in 1..4 {
            assert!((saved(page) / saved(0) - 1.0).abs() < 1e-6, "{visits:?}");
        }
    }
}
