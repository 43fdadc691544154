//! A web whose pages change at known rates and known moments, and how fresh a probe kept its copies
//! of it – by the server's own log.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use dunlin::model::Change;
use dunlin::plan::optimal::bound;
use dunlin::plan::{Objective, PlanHost, PlanPage};
use dunlin_host::lists::listing::{Gate, Listing};
use dunlin_host::lists::pages::{self, PageList};
use dunlin_host::simulate::Random;

use super::{Answer, Hit, Web};

/// Seconds a day: the unit of rates and budgets.
pub const DAY: f64 = 86_400.0;

/// One page: where it is, and when it changes.
#[derive(Clone, Debug)]
pub struct Changing {
    pub host: usize,
    pub path: String,
    /// How many changes there are a second, on average.
    pub rate: f64,
    /// In seconds since the web began, in order.
    pub changes: Vec<f64>,
}

/// The plan of a whole web: where its pages are, and when they change.
#[derive(Clone, Debug)]
pub struct World {
    pub hosts: usize,
    pub pages: Vec<Changing>,
}

impl World {
    /// `pages` pages on `hosts` hosts that change for `seconds`, at rates from one in two seconds
    /// to one in ten minutes.
    pub fn new(pages: usize, hosts: usize, seconds: f64, seed: u64) -> Self {
        Self::between(2.0, 600.0, pages, hosts, seconds, seed)
    }

    /// The same where the busiest page changes every `shortest` seconds, and the quietest every
    /// `longest`.
    pub fn between(
        shortest: f64,
        longest: f64,
        pages: usize,
        hosts: usize,
        seconds: f64,
        seed: u64,
    ) -> Self {
        let mut random = Random(seed);
        let page = |index: usize| {
            // Spread evenly over the logarithm, in an order that mixes hosts.
            let share = (index * 37 % pages) as f64 / pages as f64;
            let rate = (shortest / longest).powf(share) / shortest;
            let mut changes = Vec::new();
            let mut time = random.exponential() / rate;
            while time < seconds {
                changes.push(time);
                time += random.exponential() / rate;
            }
            Changing {
                host: index % hosts,
                path: format!("/page{index}"),
                rate,
                changes,
            }
        };
        Self {
            hosts,
            pages: (0..pages).map(page).collect(),
        }
    }

    /// Serves it. Changes count from now on.
    pub fn serve(self: &Arc<Self>) -> Result<Web> {
        let world = Arc::clone(self);
        Web::start(move |hit| {
            if hit.path == "/robots.txt" {
                return Answer::page("User-agent: *\nDisallow: /private/\n");
            }
            let page = world
                .pages
                .iter()
                .find(|page| page.path == hit.path && host(page.host) == hit.host);
            match page {
                Some(page) => Answer::version(hit, page.version(hit.at)),
                None => Answer::status(404, "X: no such page"),
            }
        })
    }

    /// The page list: with true rates, without any, or all alike – which makes a round robin of the
    /// scheduler.
    pub fn listing(&self, port: u16, rates: Rates, politeness: Duration) -> Listing {
        let mean = self.pages.iter().map(|page| page.rate).sum::<f64>() / self.pages.len() as f64;
        let rate = |page: &Changing| match rates {
            Rates::Given => Some(page.rate * DAY),
            Rates::Learnt => None,
            Rates::Alike => Some(mean * DAY),
        };
        let page = |page: &Changing| pages::ListedPage {
            url: format!("http://{}:{port}{}", host(page.host), page.path),
            name: None,
            host: page.host,
            weight: 1.0,
            change: pages::ListedChange::Poisson { rate: rate(page) },
            min: 0,
            max: None,
            every: None,
            filter: None,
        };
        let hosts: Vec<String> = (0..self.hosts)
            .map(|index| format!("{}:{port}", host(index)))
            .collect();
        let gate = |name: &String| Gate {
            name: name.clone(),
            politeness: politeness.into(),
            hours: None,
            provider: Default::default(),
        };
        Listing {
            gates: hosts.iter().map(gate).collect(),
            gate_of_host: (0..self.hosts).collect(),
            pins: Vec::new(),
            headers: Vec::new(),
            tellers: Vec::new(),
            list: PageList {
                pages: self.pages.iter().map(page).collect(),
                hosts,
                ..PageList::default()
            },
        }
    }

    /// Mean freshness from `from` to `to`: the share of time in which the copies that the log tells
    /// of were current.
    pub fn freshness(&self, log: &[Hit], from: Duration, to: Duration) -> f64 {
        let fresh: f64 = self
            .pages
            .iter()
            .map(|page| page.fresh(log, from.as_secs_f64(), to.as_secs_f64()))
            .sum();
        fresh / self.pages.len() as f64
    }

    /// The best mean freshness of any schedule with so many fetches a second and so much
    /// politeness.
    pub fn optimum(&self, per_second: f64, politeness: Duration) -> Result<f64> {
        let page = |page: &Changing| {
            PlanPage::new(1.0, Change::Poisson(page.rate)).on_host(page.host as u32)
        };
        let pages: Vec<PlanPage<'_, f64>> = self.pages.iter().map(page).collect();
        let mut hosts = vec![PlanHost::new(1.0 / politeness.as_secs_f64()); self.hosts];
        let outcome = bound(&pages[..], &mut hosts, per_second, Objective::Freshness);
        outcome
            .map(|outcome| 1.0 - outcome.bound)
            .context("the demo's own web cannot be planned")
    }
}

/// What a probe is told about change rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    Given,
    Learnt,
    Alike,
}

impl Changing {
    /// Which version it has then, counted from 0.
    pub fn version(&self, at: Duration) -> usize {
        self.changes
            .partition_point(|&change| change <= at.as_secs_f64())
    }

    fn fresh(&self, log: &[Hit], from: f64, to: f64) -> f64 {
        self.fresh_at(&host(self.host), log, from, to)
    }

    /// The share of the time from `from` to `to` in which the copy of the page, on the host of this
    /// name, was current.
    pub fn fresh_at(&self, name: &str, log: &[Hit], from: f64, to: f64) -> f64 {
        let served = |hit: &&Hit| {
            hit.path == self.path && hit.host == name && [200, 304].contains(&hit.status)
        };
        let mut visits: Vec<f64> = log
            .iter()
            .filter(served)
            .map(|hit| hit.at.as_secs_f64())
            .collect();
        visits.sort_by(f64::total_cmp);
        let mut fresh = 0.0;
        for (index, &visit) in visits.iter().enumerate() {
            let next = visits.get(index + 1).copied().unwrap_or(to).min(to);
            let change = self
                .changes
                .get(self.changes.partition_point(|&change| change <= visit));
            let until = change.copied().unwrap_or(f64::INFINITY).min(next);
            fresh += (until - visit.max(from)).max(0.0);
        }
        fresh / (to - from)
    }
}

/// The name of a host.
pub fn host(index: usize) -> String {
    format!("site{index}.test")
}
