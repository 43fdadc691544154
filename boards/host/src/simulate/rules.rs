//! The rules the scheduler is compared with.
//!
//! | rule | next fetch of a page | uses up the budget |
//! |---|---|---|
//! | [`RoundRobin`] | after all others | always |
//! | [`Proportional`] | after a gap as long as 1/λ, to scale | always |
//! | [`RandomPicks`] | at random, as often as Azar's optimum for random visits says | always |
//! | [`Adaptive::NUTCH`] | interval × 0.8 after a change, × 1.2 else | only where pages are due |
//! | [`Adaptive::STORMCRAWLER`] | interval × 0.5 after a change, × 1.5 else | only where pages are due |

use dunlin::plan::Objective;
use dunlin::plan::azar::azar;
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};

use super::beliefs::{Beliefs, Believed};
use super::gated::{Fetched, Gated, Rule};
use super::{Random, World};

/// Every page after all others: whatever was fetched longest ago.
#[derive(Debug)]
pub struct RoundRobin;

impl Rule for RoundRobin {
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        Some(fetched.now)
    }
}

/// Round robin (Cho's uniform policy).
pub fn uniform(world: &World, per_day: f64) -> Gated<RoundRobin> {
    Gated::new(world, per_day, RoundRobin)
}

/// Twice the changes, twice the visits (Cho's proportional policy).
#[derive(Debug)]
pub struct Proportional {
    beliefs: Beliefs,
    random: Random,
    per_day: f64,
    /// Visits for each change, so that the budget is just spent.
    per_change: f64,
}

impl Proportional {
    fn gap(&self, page: usize) -> f64 {
        1.0 / (self.per_change * self.beliefs.rate(page))
    }

    fn share(&mut self) {
        self.per_change = self.per_day / self.beliefs.rates().iter().sum::<f64>();
    }
}

impl Rule for Proportional {
    fn first(&mut self, page: usize) -> Instant {
        let round = self.beliefs.rates().len() as f64 / self.per_day;
        in_days(
            Instant::ZERO,
            self.random.unit() * self.gap(page).min(round),
        )
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        if self.beliefs.record(fetched) {
            self.share();
        }
        let gap = self.gap(fetched.page);
        gap.is_finite().then(|| in_days(fetched.due, gap))
    }
}

/// The rule [`Proportional`] behind the hosts' gates.
pub fn proportional(world: &World, per_day: f64, learn: bool, seed: u64) -> Gated<Proportional> {
    let beliefs = Beliefs::new(world, learn);
    let mut rule = Proportional {
        beliefs,
        random: Random(seed),
        per_day,
        per_change: 0.0,
    };
    rule.share();
    Gated::new(world, per_day, rule)
}

/// A page at random, by the rates that are best for that (Azar's Algorithm 2).
#[derive(Debug)]
pub struct RandomPicks {
    beliefs: Beliefs,
    /// Weight and host of every page, to plan anew with.
    pages: Vec<(f64, u32)>,
    caps: Vec<dunlin::plan::PlanHost<f64>>,
    rates: Vec<f64>,
    per_day: f64,
    random: Random,
}

impl RandomPicks {
    fn plan(&mut self) {
        let pages = Believed {
            pages: &self.pages,
            rates: self.beliefs.rates(),
            days: 1.0,
            most: &[],
        };
        // A sound world makes a sound demand; were it not, the rates of before would stay.
        let _ = azar(
            &pages,
            &mut self.caps,
            self.per_day,
            Objective::Freshness,
            &mut self.rates,
        );
    }

    fn wait(&mut self, page: usize) -> f64 {
        self.random.exponential() / self.rates[page]
    }
}

impl Rule for RandomPicks {
    fn first(&mut self, page: usize) -> Instant {
        let round = self.pages.len() as f64 / self.per_day;
        let wait = self.wait(page).min(round * self.random.unit());
        in_days(Instant::ZERO, wait)
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        if self.beliefs.record(fetched) {
            self.plan();
        }
        let wait = self.wait(fetched.page);
        wait.is_finite().then(|| in_days(fetched.due, wait))
    }
}

/// The rule [`RandomPicks`] behind the hosts' gates.
pub fn random(world: &World, per_day: f64, learn: bool, seed: u64) -> Gated<RandomPicks> {
    let mut rule = RandomPicks {
        beliefs: Beliefs::new(world, learn),
        pages: world
            .pages
            .iter()
            .map(|page| (page.weight, page.host as u32))
            .collect(),
        caps: world.plan_hosts(),
        rates: vec![0.0; world.pages.len()],
        per_day,
        random: Random(seed),
    };
    rule.plan();
    Gated::new(world, per_day, rule)
}

/// An interval for each page that shrinks after a change and grows without one. Knows no rates and
/// no weights.
///
/// Both originals start from a fixed interval (30 days and 1 day), whatever the budget; here it is
/// the one that would just spend the budget, as their manuals advise to set it.
#[derive(Clone, Debug)]
pub struct Adaptive {
    grow: f64,
    shrink: f64,
    /// The shortest interval, in days.
    shortest: f64,
    longest: f64,
    start: f64,
    intervals: Vec<f32>,
}

impl Adaptive {
    /// Apache Nutch, `AdaptiveFetchSchedule` with the constants of its class description: 20 %
    /// either way, from a minute to a year. Its sync_delta needs modification dates and is left
    /// out.
    pub const NUTCH: Self = Self {
        grow: 1.2,
        shrink: 0.8,
        shortest: 1.0 / 1_440.0,
        longest: 365.0,
        start: 0.0,
        intervals: Vec::new(),
    };
    /// Apache StormCrawler, `AdaptiveScheduler` with its default configuration: half either way,
    /// from an hour to a year.
    pub const STORMCRAWLER: Self = Self {
        grow: 1.5,
        shrink: 0.5,
        shortest: 1.0 / 24.0,
        longest: 365.0,
        start: 0.0,
        intervals: Vec::new(),
    };
}

impl Rule for Adaptive {
    fn eager(&self) -> bool {
        false
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        let interval = &mut self.intervals[fetched.page];
        if interval.is_nan() {
            // The first fetch has nothing to compare with.
            *interval = self.start as f32;
        } else {
            let factor = match fetched.outcome {
                Outcome::Changed { .. } => self.shrink,
                Outcome::Unchanged => self.grow,
                _ => 1.0,
            };
            *interval = (f64::from(*interval) * factor)
                .max(self.shortest)
                .min(self.longest) as f32;
        }
        Some(in_days(fetched.now, f64::from(*interval)))
    }
}

/// The rule [`Adaptive`] behind the hosts' gates.
pub fn adaptive(world: &World, per_day: f64, rule: Adaptive) -> Gated<Adaptive> {
    let pages = world.pages.len();
    let start = pages as f64 / per_day;
    Gated::new(
        world,
        per_day,
        Adaptive {
            start,
            intervals: vec![f32::NAN; pages],
            ..rule
        },
    )
}

fn in_days(from: Instant, days: f64) -> Instant {
    from + Duration::from_days(days)
}
