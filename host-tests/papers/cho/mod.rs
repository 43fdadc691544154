//! Cho's thesis (2001): freshness and age by formula and by simulation, optimal frequencies,
//! estimators at work, collections.

mod allocation;
mod classes;
mod collections;
mod detected;
mod estimators;
mod frequencies;
mod order;
mod two_pages;

use dunlin::time::Duration;
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{
    Change, Options, Policy, Report, SimHost, SimPage, World, run as simulate,
};

use super::Settings;
use super::page::Section;

const SEED: u64 = 1;

/// Runs the experiments, and makes the page.
pub fn run(settings: &Settings) -> Section {
    let mut section = Section::new("cho", "Cho: Crawling the Web (2001)", SEED, settings);
    order::orders(&mut section);
    allocation::allocations(&mut section, settings);
    two_pages::benefits(&mut section, settings);
    two_pages::shares(&mut section, settings);
    frequencies::frequencies(&mut section);
    frequencies::improvement(&mut section);
    estimators::from_counts(&mut section, settings);
    estimators::from_dates(&mut section, settings);
    classes::accuracy(&mut section);
    detected::not_poisson(&mut section, settings);
    detected::real_pages(&mut section, settings);
    detected::changes(&mut section, settings);
    collections::collections(&mut section, settings);
    section
}

fn world(rates: impl IntoIterator<Item = f64>) -> World {
    let page = |rate| SimPage {
        host: 0,
        weight: 1.0,
        mean_rate: rate,
        change: Change::Poisson(rate),
    };
    World {
        pages: rates.into_iter().map(page).collect(),
        hosts: vec![SimHost::new(Duration::ZERO)],
        ..World::default()
    }
}

const SEEDS: u64 = 8;
/// Days before anything counts: visits at random leave one page in 3,000 without any for so long.
const WARM_UP: f64 = 8.0;

/// Freshness and age in days over eight seeds from `seed` on, each page visited once a day on
/// average.
fn simulated(
    world: &World,
    days: f64,
    seed: u64,
    build: impl Fn(u64) -> Box<dyn Policy> + Sync,
) -> (Mean, Mean) {
    let reports: Vec<Report> = parallel(SEEDS as usize, |job| {
        let seed = seed + job as u64;
        let options = Options {
            measured_from: WARM_UP,
            ..Options::new(days + WARM_UP, seed)
        };
        simulate(world, build(seed).as_mut(), &options)
    });
    let mean = |of: fn(&Report) -> f64| Mean::of(&reports.iter().map(of).collect::<Vec<_>>());
    (
        mean(|report| report.freshness),
        mean(|report| report.age_s / 86_400.0),
    )
}
