//! A trial: policies run several times on one world, and what that comes to.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use dunlin::model::Objective;
use dunlin::time::Duration;
use serde::Serialize;

use super::repeat::{Mean, parallel};
use super::run::run_watched;
use super::{Change, Options, PolicyName, Report, World};

/// How many simulations there are unless the user says: so many that their spread says something.
pub const SEEDS: u16 = 5;
/// More days or fetches are a slip of the pen, or a month of waiting.
const MOST_DAYS: f64 = 36_500.0;
const MOST_FETCHES: f64 = 1e10;
/// Of all pages in all simulations: some minutes of drawing them.
const MOST_CHANGES: f64 = 1e10;
/// Fewer are no crawl: once in two thousand years.
const FEWEST_CRAWLS_PER_DAY: f64 = 1e-6;
/// Rounds of fetches before figures count.
const WARM_UP_ROUNDS: f64 = 4.0;

/// A world, how it is crawled, and what could be reached in it.
#[derive(Debug)]
pub struct Trial {
    /// The pages and hosts that are crawled.
    pub world: World,
    /// How long it takes, and how many crawlers there are; the first seed.
    pub options: Options,
    /// The budget: fetches a day over all hosts.
    pub crawls_per_day: f64,
    /// What is to be kept small.
    pub objective: Objective,
    /// Do policies start without the rates?
    pub learn: bool,
    /// How many seeds there are, from that of the options on.
    pub seeds: u16,
    /// The best that any schedule could reach on average.
    pub bound: f64,
    /// The best in the long run for pages of these rates.
    pub optimum: f64,
}

/// What one policy achieved; the contract of `--format json`. Means over all seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The policy that decided.
    pub policy: PolicyName,
    /// Weighted mean of the share of time that copies were fresh.
    pub freshness: f64,
    /// What is missing to 1.
    pub staleness: f64,
    /// Weighted mean age in seconds.
    pub age_s: f64,
    /// How many fetches were started.
    pub fetches: u64,
    /// Changes of all pages.
    pub changes: u64,
    /// Fetches that found a change.
    pub changes_seen: u64,
    /// Fetches that came too soon; a sum, not a mean: one is too many.
    pub politeness_violations: u64,
    /// Fetches that came sooner after another of the same page than its limits allow; a sum, too.
    pub limit_violations: u64,
    /// What was to be kept small: `freshness` (which is to be large), `age` or `harmonic`.
    pub objective: &'static str,
    /// The best that any schedule could reach on average.
    pub bound: f64,
    /// The best in the long run for pages of these rates.
    pub optimum: f64,
    /// Half the width of the 95 % confidence interval of freshness; `null` for a single seed.
    pub freshness_plus_minus: Option<f64>,
    /// The same for age.
    pub age_s_plus_minus: Option<f64>,
    /// Weighted mean of H_k, k being the changes a copy lags behind.
    pub harmonic_staleness: f64,
    /// Mean seconds that fetches started after they were due.
    pub late_s: f64,
    /// Fetches without an answer.
    pub errors: u64,
    /// The first of the seeds.
    pub seed: u64,
    /// How many there were.
    pub seeds: u16,
    /// Freshness, piece by piece.
    #[serde(skip)]
    pub course: Vec<f64>,
    /// Fetches of each host.
    #[serde(skip)]
    pub host_fetches: Vec<f64>,
}

/// A number that no simulation takes, by the name that it has in JSON and Python.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// The name of the number.
    pub name: &'static str,
    /// The value that was found.
    pub found: f64,
    /// The values that are taken.
    pub expected: &'static str,
}

impl OutOfRange {
    /// The same in the words of the command line.
    pub fn as_option(&self) -> String {
        let name = self.name.replace('_', "-");
        let found = number(self.found);
        format!("found --{name} {found}, expected {}", self.expected)
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            found,
            expected,
        } = self;
        let found = number(*found);
        write!(f, "found {name} {found}, expected {expected}")
    }
}

/// Refuses what no simulation could end.
///
/// # Errors
/// The first number that is out of range.
pub fn check(days: f64, crawls_per_day: f64, failures: f64) -> Result<(), OutOfRange> {
    let wrong = |name, found, expected| {
        Err(OutOfRange {
            name,
            found,
            expected,
        })
    };
    if !(days > 0.0 && days <= MOST_DAYS) {
        return wrong("days", days, "a number above 0, at most 36500");
    }
    let fetches = crawls_per_day * days;
    if !(crawls_per_day >= FEWEST_CRAWLS_PER_DAY && fetches <= MOST_FETCHES) {
        let expected = "a number above 0 (from 0.000001), and at most 10000000000 fetches in all";
        return wrong("crawls_per_day", crawls_per_day, expected);
    }
    if !(0.0..1.0).contains(&failures) {
        return wrong("failures", failures, "a share from 0 to below 1");
    }
    Ok(())
}

/// Days before those that are measured: enough to fetch every page four times.
pub fn warm_up(pages: usize, crawls_per_day: f64) -> f64 {
    (WARM_UP_ROUNDS * pages as f64 / crawls_per_day).min(MOST_DAYS)
}

/// As many crawlers as the budget takes: a quarter more than busy all the time, or everything would
/// be late.
pub fn crawlers(crawls_per_day: f64, fetch_time: Duration) -> usize {
    let busy = crawls_per_day * fetch_time.as_days::<f64>();
    (1.25 * busy).ceil().min(1e6) as usize + 4
}

impl Trial {
    /// Refuses a world that changes too often to be simulated with so many policies.
    ///
    /// # Errors
    /// A sentence that says how often.
    pub fn check_changes(&self, policies: usize) -> Result<(), String> {
        let days = self.options.days;
        let runs = policies * usize::from(self.seeds);
        let changes = days
            * (self.world.pages.iter())
                .filter(|page| !matches!(page.change, Change::Trace(_)))
                .map(|page| page.mean_rate)
                .sum::<f64>();
        if changes * runs as f64 > MOST_CHANGES {
            return Err(format!(
                "found pages that change {changes:.0} times in {days:.1} days, simulated {runs} times, expected at most {MOST_CHANGES:.0} changes in all: take fewer days or seeds"
            ));
        }
        Ok(())
    }

    /// Runs all policies with all seeds, on all cores. Tells now and then how many thousandths of
    /// all runs are done, a thousand a run.
    pub fn run(&self, policies: &[PolicyName], watch: impl Fn(u64) + Sync) -> Vec<Summary> {
        let seeds = usize::from(self.seeds);
        let done = AtomicU64::new(0);
        let mut reports = parallel(policies.len() * seeds, |job| {
            let seed = self.options.seed.wrapping_add((job % seeds) as u64);
            let options = Options {
                seed,
                ..self.options
            };
            let mut policy = policies[job / seeds].build_for(
                self.objective,
                &self.world,
                self.crawls_per_day,
                self.learn,
                seed,
            );
            let mut before = 0;
            run_watched(&self.world, policy.as_mut(), &options, |share| {
                let now = (1_000.0 * share) as u64;
                watch(done.fetch_add(now - before, Ordering::Relaxed) + now - before);
                before = now;
            })
        })
        .into_iter();
        (policies.iter())
            .map(|policy| self.summary(*policy, &reports.by_ref().take(seeds).collect::<Vec<_>>()))
            .collect()
    }

    fn summary(&self, policy: PolicyName, reports: &[Report]) -> Summary {
        let mean = |of: fn(&Report) -> f64| Mean::of(&reports.iter().map(of).collect::<Vec<_>>());
        let count = |of: fn(&Report) -> u64| {
            (reports.iter().map(of).sum::<u64>() as f64 / reports.len() as f64).round() as u64
        };
        let each = |of: fn(&Report) -> Vec<f64>| {
            let lists: Vec<Vec<f64>> = reports.iter().map(of).collect();
            let places = lists.first().map_or(0, Vec::len);
            (0..places)
                .map(|place| lists.iter().map(|list| list[place]).sum::<f64>() / lists.len() as f64)
                .collect()
        };
        let freshness = mean(|report| report.freshness);
        let age = mean(|report| report.age_s);
        Summary {
            policy,
            freshness: freshness.value,
            staleness: 1.0 - freshness.value,
            age_s: age.value,
            fetches: count(|report| report.fetches),
            changes: count(|report| report.changes),
            changes_seen: count(|report| report.changes_seen),
            politeness_violations: (reports.iter())
                .map(|report| report.politeness_violations)
                .sum(),
            limit_violations: (reports.iter()).map(|report| report.limit_violations).sum(),
            objective: match self.objective {
                Objective::Freshness => "freshness",
                Objective::Age => "age",
                Objective::Harmonic => "harmonic",
            },
            bound: self.bound,
            optimum: self.optimum,
            freshness_plus_minus: freshness.plus_minus,
            age_s_plus_minus: age.plus_minus,
            harmonic_staleness: mean(|report| report.harmonic).value,
            late_s: mean(|report| report.late_s).value,
            errors: count(|report| report.errors),
            seed: self.options.seed,
            seeds: self.seeds,
            course: each(|report| report.course.clone()),
            host_fetches: each(|report| {
                (report.host_fetches.iter())
                    .map(|count| f64::from(*count))
                    .collect()
            }),
        }
    }
}

/// A number in as many digits as it has, and not in hundreds of zeros.
fn number(number: f64) -> String {
    match number.is_finite() && number != 0.0 && !(1e-6..1e15).contains(&number.abs()) {
        true => format!("{number:e}"),
        false => number.to_string(),
    }
}
