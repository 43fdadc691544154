//! Pages by the million, and what they ask for at a price: a table of the best rate of a visit, so
//! that a page costs nanoseconds and eight bytes.

use dunlin::math::{g, h_inverse, split_mix};

/// The table's steps in the logarithm of a price.
const STEP: f32 = 1.0 / 512.0;
/// Prices below e to this are looked up as this.
const LEAST: f32 = -24.0;

/// What a page asks for, by the logarithm of y = price × rate / weight: visits for each of its
/// changes, and the freshness that follows (Cho, section 5.3). Nothing from y = 1 on.
#[derive(Debug)]
pub struct Curve {
    visits: Vec<f32>,
    fresh: Vec<f32>,
}

impl Curve {
    /// Computes the table that prices are looked up in.
    pub fn new() -> Self {
        let count = (-LEAST / STEP) as usize + 2;
        let gap = |index: usize| h_inverse(f64::from(LEAST + index as f32 * STEP).exp());
        let gaps = (0..count).map(gap);
        let fresh = |gap: f64| {
            if gap.is_finite() {
                (1.0 - g(gap)) as f32
            } else {
                0.0
            }
        };
        Self {
            visits: gaps.clone().map(|gap| (1.0 / gap) as f32).collect(),
            fresh: gaps.map(fresh).collect(),
        }
    }

    fn look_up(table: &[f32], log: f32) -> f32 {
        let place = (log.clamp(LEAST, 0.0) - LEAST) * (1.0 / STEP);
        let index = place as usize;
        match table.get(index..index + 2) {
            Some([low, high]) => low + (high - low) * (place - index as f32),
            _ => 0.0,
        }
    }
}

impl Default for Curve {
    fn default() -> Self {
        Self::new()
    }
}

/// A page: its rate of change, and the logarithm of rate over weight.
#[derive(Clone, Copy, Debug)]
struct Page {
    rate: f32,
    log: f32,
}

/// Pages that are on one host, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// A hash of its name.
    pub key: u64,
    first: u32,
    /// How many pages it has.
    pub pages: u32,
}

/// All pages of a collection, by host.
#[derive(Debug, Default)]
pub struct Web {
    pages: Vec<Page>,
    hosts: Vec<Host>,
}

/// What hosts ask for at a price.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// How many visits a day they ask for.
    pub visits: f64,
    /// What these visits bring: the sum of weight × freshness.
    pub fresh: f64,
}

impl Web {
    /// The hosts that the pages are on.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// How many pages it has.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Adds a host whose pages' rates lie around e to `log_rate`, give or take a factor of e.
    pub fn add_host(&mut self, pages: u32, log_rate: f32, random: &mut u64) {
        self.hosts.push(Host {
            key: split_mix(random),
            first: self.pages.len() as u32,
            pages,
        });
        for _ in 0..pages {
            let rate = (log_rate + normal(random)).exp();
            let weight = (0.7 * normal(random)).exp();
            let log = (rate / weight).ln();
            self.pages.push(Page { rate, log });
        }
    }

    /// The sum of all weights.
    pub fn weight(&self) -> f64 {
        let weight = |page: &Page| f64::from(page.rate) / f64::from(page.log).exp();
        self.pages.iter().map(weight).sum()
    }

    fn pages_of(&self, host: u32) -> &[Page] {
        let host = self.hosts.get(host as usize);
        let range = host.map(|host| host.first as usize..(host.first + host.pages) as usize);
        range
            .and_then(|range| self.pages.get(range))
            .unwrap_or_default()
    }

    /// Visits a day that hosts ask for at a price, given as its logarithm.
    pub fn visits(&self, hosts: &[u32], log_price: f32, curve: &Curve) -> f64 {
        let pages = hosts.iter().flat_map(|host| self.pages_of(*host));
        let visits =
            pages.map(|page| page.rate * Curve::look_up(&curve.visits, page.log + log_price));
        visits.map(f64::from).sum()
    }

    /// Visits a day, and what freshness comes of them.
    pub fn asked(&self, hosts: &[u32], log_price: f32, curve: &Curve) -> Asked {
        let mut asked = Asked::default();
        for page in hosts.iter().flat_map(|host| self.pages_of(*host)) {
            let y = page.log + log_price;
            asked.visits += f64::from(page.rate * Curve::look_up(&curve.visits, y));
            let weight = page.rate * (-page.log).exp();
            asked.fresh += f64::from(weight * Curve::look_up(&curve.fresh, y));
        }
        asked
    }

    /// The price, as its logarithm, at which hosts ask for so many visits a day.
    pub fn price(&self, hosts: &[u32], budget: f64, curve: &Curve) -> f32 {
        bisect(budget, |log| self.visits(hosts, log, curve))
    }
}

/// Where a falling demand meets a budget.
pub fn bisect(budget: f64, demand: impl Fn(f32) -> f64) -> f32 {
    let (mut low, mut high) = (-16.0_f32, 10.0_f32);
    for _ in 0..24 {
        let middle = (low + high) / 2.0;
        if demand(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// A random number from 0 to below 1.
pub fn unit(random: &mut u64) -> f32 {
    (split_mix(random) >> 40) as f32 * (1.0 / 16_777_216.0)
}

/// Normally distributed, as nearly as twelve dice are.
fn normal(random: &mut u64) -> f32 {
    (0..12).map(|_| unit(random)).sum::<f32>() - 6.0
}
