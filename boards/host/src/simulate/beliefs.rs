//! What a policy believes about change rates: the truth, or what it has learnt so far.

use dunlin::learn::{Estimate, LearningSettings, Prior, Visit};
use dunlin::model;
use dunlin::plan::{Pages, PlanPage};
use dunlin::scheduler::Outcome;
use dunlin::time::Instant;

use super::World;
use super::gated::Fetched;

/// Rates in changes a day.
#[derive(Clone, Debug)]
pub struct Beliefs {
    rates: Vec<f64>,
    /// For those who have to learn: what visits showed, and the last one.
    learnt: Vec<(Estimate, Option<Instant>)>,
    /// How many fetches were recorded so far.
    recorded: usize,
}

impl Beliefs {
    /// Told the mean rates, or nothing.
    pub fn new(world: &World, learn: bool) -> Self {
        let prior = Estimate::new(&Prior::DEFAULT);
        let rate = |page: &super::SimPage| {
            if learn {
                f64::from(prior.rate())
            } else {
                page.mean_rate
            }
        };
        let learnt = if learn {
            vec![(prior, None); world.pages.len()]
        } else {
            Vec::new()
        };
        Self {
            rates: world.pages.iter().map(rate).collect(),
            learnt,
            recorded: 0,
        }
    }

    /// The rate of a page, as it is believed to be.
    pub fn rate(&self, page: usize) -> f64 {
        self.rates[page]
    }

    /// The rates of all pages, as they are believed to be.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Learns from a fetch. Says whether it is time to plan anew: after as many fetches as there
    /// are pages, and only for those who have to learn.
    pub fn record(&mut self, fetched: &Fetched) -> bool {
        let Some((estimate, last)) = self.learnt.get_mut(fetched.page) else {
            return false;
        };
        let changed = match fetched.outcome {
            Outcome::Changed { .. } => Some(true),
            Outcome::Unchanged => Some(false),
            _ => None,
        };
        if let Some(changed) = changed
            && let Some(before) = last.replace(fetched.now)
        {
            let visit = Visit::new(fetched.now - before, changed);
            estimate.update(&visit, &LearningSettings::DEFAULT);
            self.rates[fetched.page] = f64::from(estimate.rate());
        }
        self.recorded += 1;
        self.recorded.is_multiple_of(self.rates.len())
    }
}

/// Pages as a policy sees them that plans for an interval.
pub struct Believed<'a> {
    /// Weight and host of every page.
    pub pages: &'a [(f64, u32)],
    /// The changes a day of every page, as they are believed.
    pub rates: &'a [f64],
    /// The length of an interval, in days.
    pub days: f64,
    /// Most crawls of each page in it; empty where none is limited.
    pub most: &'a [u32],
}

impl Pages<f64> for Believed<'_> {
    fn len(&self) -> usize {
        self.pages.len()
    }
    fn page(&self, index: usize) -> PlanPage<'_, f64> {
        let (weight, host) = self.pages[index];
        PlanPage::new(
            weight,
            model::Change::Poisson(self.rates[index] * self.days),
        )
        .on_host(host)
        .between(0, self.most.get(index).copied().unwrap_or(u32::MAX))
    }
}
