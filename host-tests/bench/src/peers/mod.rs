//! What a user would pick instead, on the same lists and with the same budget: how fresh it keeps
//! them, what a decision takes, and what it remembers of a page.

pub mod fixed;
pub mod lambda;
pub mod worlds;

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dunlin::scheduler::Outcome;
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::{
    Change, Options, Policy, PolicyName, Random, SimHost, SimPage, Step, World, run,
};

use crate::host::{peak_bytes, seconds};
use lambda::Times;
use worlds::Case;

/// Runs of each peer on each list, paired: what is random about a list is the same for all.
pub const SEEDS: u64 = 10;

/// A way to decide what is fetched next.
#[derive(Debug)]
pub struct Peer {
    pub name: &'static str,
    build: fn(&World, f64, u64) -> Box<dyn Policy>,
}

/// The scheduler that ships first, then the others.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "dunlin",
        build: |world, per_day, seed| PolicyName::default().build(world, per_day, true, seed),
    },
    Peer {
        name: "fixed intervals (APScheduler)",
        build: |world, per_day, _| Box::new(fixed::fixed(world, per_day)),
    },
    Peer {
        name: "Nutch, adaptive",
        build: |world, per_day, seed| PolicyName::Nutch.build(world, per_day, true, seed),
    },
    Peer {
        name: "StormCrawler, adaptive",
        build: |world, per_day, seed| PolicyName::Stormcrawler.build(world, per_day, true, seed),
    },
    Peer {
        name: "LambdaCrawl, learning",
        build: |world, per_day, seed| {
            Box::new(lambda::lambda_crawl(world, per_day, Times::Random, seed))
        },
    },
    Peer {
        name: "LambdaCrawl at even gaps",
        build: |world, per_day, seed| {
            Box::new(lambda::lambda_crawl(world, per_day, Times::Even, seed))
        },
    },
];

/// How a peer did on a list.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    /// Share of time that copies were fresh, from the first fetch on.
    pub freshness: f64,
    /// Fetches as a share of the budget.
    pub spent: f64,
    /// Fetches that came too soon after another one from the same host.
    pub violations: u64,
}

impl Peer {
    /// Lets it work on a list.
    pub fn score(&self, case: &Case, seed: u64) -> Score {
        let mut policy = (self.build)(&case.world, case.per_day, seed);
        let report = run(&case.world, &mut *policy, &Options::new(case.days, seed));
        Score {
            freshness: report.freshness,
            spent: report.fetches as f64 / (case.per_day * case.days),
            violations: report.politeness_violations,
        }
    }
}

/// Both tables. What it takes is measured by starting `program`, this one, once a peer: what one
/// has freed would be counted in favour of the next.
pub fn tables(seeds: u64, is_reduced: bool, program: &std::path::Path) -> Result<String> {
    let mut text = freshness_table(seeds, is_reduced);
    text.push_str("\n| | ns a decision | bytes a page |\n|---|---|---|\n");
    for peer in PEERS {
        let costs = Command::new(program)
            .args(["--cost", peer.name])
            .output()
            .with_context(|| format!("cannot measure {}", peer.name))?;
        let costs = String::from_utf8_lossy(&costs.stdout).into_owned();
        let numbers: Vec<f64> = costs
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        ensure!(numbers.len() == 2, "{} printed `{costs}`", peer.name);
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.0} |",
            peer.name, numbers[0], numbers[1]
        );
    }
    Ok(text)
}

/// A row a list, a column a peer.
pub fn freshness_table(seeds: u64, is_reduced: bool) -> String {
    let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
    let mut text = format!(
        "| list | at most | {} |\n|---|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    // One list of cases a seed: where rates are made up, they are others.
    let cases: Vec<Vec<Case>> = (1..=seeds)
        .map(|seed| worlds::cases(seed, is_reduced))
        .collect();
    for list in 0..cases[0].len() {
        let of = |peer: &Peer| -> Vec<f64> {
            (cases.iter().zip(1..))
                .map(|(cases, seed)| peer.score(&cases[list], seed).freshness)
                .collect()
        };
        let best: Vec<f64> = cases
            .iter()
            .map(|cases| cases[list].world.optimum(cases[list].per_day))
            .collect();
        let ours = of(&PEERS[0]);
        let _ = write!(
            text,
            "| {} | {:.3} | **{:.3}** |",
            cases[0][list].name,
            mean(&best),
            mean(&ours)
        );
        for peer in &PEERS[1..] {
            let theirs = of(peer);
            let less: Vec<f64> = theirs.iter().zip(&ours).map(|(a, b)| a - b).collect();
            let _ = write!(
                text,
                " {:.3} ({:+.3} ± {:.3}) |",
                mean(&theirs),
                mean(&less),
                interval(&less)
            );
        }
        text.push('\n');
    }
    text
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half the width of the 95 % interval of a mean, by Student's t.
fn interval(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // For 9 degrees of freedom and above it is at most this; below, close enough for a reduced run.
    const T: f64 = 2.262;
    T * (squares / (count - 1.0).max(1.0) / count).sqrt()
}

/// Nanoseconds a decision and bytes a page: ten rounds over 100,000 pages, from the first page on.
/// No simulator is in it.
pub fn cost(name: &str) -> Option<(f64, f64)> {
    const PAGES: usize = 100_000;
    const ROUNDS: usize = 10;
    let peer = PEERS.iter().find(|peer| peer.name == name)?;
    let page = |index: usize| SimPage {
        host: index % (PAGES / 50),
        weight: 1.0,
        mean_rate: 1.0,
        change: Change::Poisson(1.0),
    };
    let world = World {
        pages: (0..PAGES).map(page).collect(),
        hosts: vec![SimHost::new(Duration::from_millis(10)); PAGES / 50],
        ..World::default()
    };
    let per_day = PAGES as f64;
    let spacing = Duration::from_days(1.001 / per_day);
    let mut time = 0.0;
    let bytes = peak_bytes(|| {
        let mut random = Random(1);
        let mut policy = (peer.build)(&world, per_day, 1);
        let mut now = Instant::ZERO;
        let mut fetched = 0_u32;
        let all = seconds(1, || {
            for _ in 0..ROUNDS * PAGES {
                now += spacing;
                if let Step::Fetch(page) = policy.next(now) {
                    fetched += 1;
                    // Changes one visit in three, more or less.
                    let has_changed = random.next_u64().is_multiple_of(3);
                    let outcome = if has_changed {
                        Outcome::Changed { modified_ago: None }
                    } else {
                        Outcome::Unchanged
                    };
                    policy.record(page, outcome, now);
                }
            }
        });
        time = all / f64::from(fetched.max(1));
        policy
    })?;
    Some((1e9 * time, bytes / PAGES as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_polite_and_keep_to_the_budget() {
        for case in worlds::cases(1, true) {
            for peer in PEERS {
                let score = peer.score(&case, 1);
                assert_eq!(score.violations, 0, "{} on {}", peer.name, case.name);
                // A burst at the start may come on top.
                assert!(
                    score.spent < 1.02,
                    "{} on {}: {score:?}",
                    peer.name,
                    case.name
                );
                assert!(
                    score.freshness > 0.0 && score.freshness < 1.0,
                    "{} on {}: {score:?}",
                    peer.name,
                    case.name
                );
            }
        }
    }

    #[test]
    fn the_table_has_a_row_a_list_and_ours_leads_where_rates_differ() {
        let table = freshness_table(2, true);
        let row = table
            .lines()
            .find(|line| line.contains("Zipf weights"))
            .expect("a row");
        assert_eq!(table.lines().count(), 2 + worlds::cases(1, true).len());
        // Whoever gives all pages the same share is left behind.
        let fixed = row.split('|').nth(4).expect("a column");
        assert!(fixed.contains("(-"), "{row}");
    }
}
