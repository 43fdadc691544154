//! The world of a simulation: pages that change, hosts that want politeness.

use dunlin::model;
use dunlin::plan::{Objective, Pages, PlanHost, PlanPage, optimal};
use dunlin::polite::Hours;
use dunlin::time::Duration;

use super::Change;
use super::change::Quasi;
use dunlin::constraints::CrawlLimits;

/// Pages that change, the hosts they are on, and who asks for them.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// All pages of the world.
    pub pages: Vec<SimPage>,
    /// All hosts of the world.
    pub hosts: Vec<SimHost>,
    /// How often each page may and has to be visited; empty where no page has limits.
    pub limits: Vec<CrawlLimits>,
    /// The directory of each page, counted from 0; empty where hosts have one each.
    pub directories: Vec<u32>,
    /// When the list expects each page to change, where a trace decides when it does; empty where
    /// there is no trace.
    pub clocks: Vec<Option<Quasi>>,
    /// When each page is asked for by those whom the collection is for, in days and in order; empty
    /// where nobody counts, and weights stand in for it.
    pub accesses: Vec<Vec<f64>>,
}

/// A page that is simulated.
#[derive(Clone, Debug)]
pub struct SimPage {
    /// The host that it is on, by its index.
    pub host: usize,
    /// How much the page counts.
    pub weight: f64,
    /// Changes a day, on average: what a policy that need not learn is told.
    pub mean_rate: f64,
    /// The law by which it changes.
    pub change: Change,
}

/// A host that is simulated.
#[derive(Clone, Copy, Debug)]
pub struct SimHost {
    /// Least time between two fetches.
    pub gap: Duration,
    /// Local hours in which fetching is allowed; time 0 is midnight.
    pub hours: Hours,
    /// What it tells about its pages.
    pub tells: Tells,
    /// Share of fetches that get no answer.
    pub fails: f64,
}

/// How much a host tells about its changes (Xu §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tells {
    /// It tells nothing about its changes.
    #[default]
    Nothing,
    /// It tells that a page has changed, at once.
    Changes,
    /// It tells that, and with every fetch when the page will change next.
    Plans,
}

impl SimHost {
    /// A host that answers at any hour, always, and tells nothing.
    pub const fn new(gap: Duration) -> Self {
        Self {
            gap,
            hours: Hours::ALWAYS,
            tells: Tells::Nothing,
            fails: 0.0,
        }
    }

    /// Fetches a day that politeness and hours allow; infinite without a gap.
    pub fn cap(&self) -> f64 {
        let open = (0..24)
            .filter(|hour| self.hours.wait(Duration::HOUR * *hour).is_zero())
            .count();
        if self.gap.is_zero() {
            f64::INFINITY
        } else {
            open as f64 / 24.0 / self.gap.as_days::<f64>()
        }
    }
}

impl World {
    /// How often a page may and has to be visited.
    pub fn limits_of(&self, page: usize) -> CrawlLimits {
        self.limits.get(page).copied().unwrap_or_default()
    }

    /// When the list says that a page changes, if it says so.
    pub fn clock_of(&self, page: usize) -> Option<&Quasi> {
        let listed = self.clocks.get(page).and_then(Option::as_ref);
        match &self.pages.get(page)?.change {
            Change::Quasi(quasi) => Some(quasi),
            _ => listed,
        }
    }

    /// Which pages are siblings: those with the same answer.
    pub fn directory_of(&self, page: usize) -> u32 {
        let directory = self.directories.get(page).copied();
        directory.unwrap_or_else(|| self.pages.get(page).map_or(0, |page| page.host as u32))
    }

    /// Hosts as the planner sees them, with an interval of a day.
    pub fn plan_hosts(&self) -> Vec<PlanHost<f64>> {
        self.hosts
            .iter()
            .map(|host| PlanHost::new(host.cap()))
            .collect()
    }

    /// The best freshness that any rates can reach under the budget and politeness, in the long run
    /// and without foresight; quasi-deterministic pages and traces are taken for Poisson pages of
    /// their mean rate.
    pub fn optimum(&self, per_day: f64) -> f64 {
        let mut hosts = self.plan_hosts();
        optimal::bound(self, &mut hosts, per_day, Objective::Freshness)
            .map_or(f64::NAN, |plan| 1.0 - plan.bound)
    }
}

/// What a planner may know: laws and mean rates, with an interval of a day.
impl Pages<f64> for World {
    fn len(&self) -> usize {
        self.pages.len()
    }

    fn page(&self, index: usize) -> PlanPage<'_, f64> {
        let page = &self.pages[index];
        let rate = page.mean_rate;
        let change = match page.change {
            Change::Weibull { shape, .. } => model::Change::Weibull { rate, shape },
            Change::Pareto { shape, .. } => model::Change::Pareto { rate, shape },
            _ => model::Change::Poisson(rate),
        };
        // A plan counts in whole crawls a day.
        let limits = self.limits_of(index);
        let days: f64 = limits.interval.as_days();
        let least = (f64::from(limits.min) / days).floor() as u32;
        let most = limits.max.map(|max| (f64::from(max) / days).ceil() as u32);
        PlanPage::new(page.weight, change)
            .on_host(page.host as u32)
            .between(least, most.unwrap_or(u32::MAX))
    }
}
