//! What a policy believes about change rates: the truth, or what it has learnt so far.

use dunlin::learn::{Estimate, Prior, Settings, Visit};
use dunlin::model;
use dunlin::plan::{Pages, PlanPage};
use dunlin::scheduler::Outcome;
use dunlin::time::Instant;

use super::World;

/// Rates in changes a day.
#[derive(Clone, Debug)]
pub struct Beliefs {
    rates: Vec<f64>,
    /// For those who have to learn: what visits showed, and the last one.
    learnt: Vec<(Estimate, Option<Instant>)>,
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
        }
    }

    /// Of a page.
    pub fn rate(&self, page: usize) -> f64 {
        self.rates[page]
    }

    /// Of all pages.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Can they change?
    pub fn learning(&self) -> bool {
        !self.learnt.is_empty()
    }

    /// Learns from a fetch.
    pub fn record(&mut self, page: usize, outcome: Outcome, now: Instant) {
        let Some((estimate, last)) = self.learnt.get_mut(page) else {
            return;
        };
        let changed = match outcome {
            Outcome::Changed { .. } => true,
            Outcome::Unchanged => false,
            _ => return,
        };
        if let Some(before) = last.replace(now) {
            estimate.update(&Visit::new(now - before, changed), &Settings::DEFAULT);
            self.rates[page] = f64::from(estimate.rate());
        }
    }
}

/// Pages as a policy sees them that plans for an interval.
pub struct Believed<'a> {
    /// Weight and host of every page.
    pub pages: &'a [(f64, u32)],
    /// Changes a day.
    pub rates: &'a [f64],
    /// Of an interval.
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
