//! The lists that all are compared on. Nobody is told a rate.

use std::collections::BTreeMap;

use dunlin::time::Duration;
use dunlin_host::simulate::{Change, Random, SimHost, SimPage, World};

/// Changes of terms and policies on the web; its notice is in its file.
const REAL: &str = include_str!("../../../data/open-terms-archive-excerpt.tsv");
/// 2020, in Unix time: from then on the archive is dense.
const REAL_FROM: f64 = 1_577_836_800.0;

/// A list, a budget and a time.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub world: World,
    pub per_day: f64,
    pub days: f64,
}

/// All lists, made up with a seed. Reduced ones have fewer pages.
pub fn cases(seed: u64, is_reduced: bool) -> Vec<Case> {
    let pages = if is_reduced { 200 } else { 1_000 };
    let case = |name, world: World, visits: f64, days| Case {
        name,
        per_day: visits * world.pages.len() as f64,
        world,
        days,
    };
    vec![
        case(
            "rates alike, 0.2 visits a day, 30 days",
            made_up(seed, pages, 1.0, false),
            0.2,
            30.0,
        ),
        case(
            "heavy tails, 0.2 visits a day, 30 days",
            made_up(seed, pages, 2.0, false),
            0.2,
            30.0,
        ),
        case(
            "heavy tails, Zipf weights, a visit a day, 100 days",
            made_up(seed, pages, 2.0, true),
            1.0,
            if is_reduced { 30.0 } else { 100.0 },
        ),
        case(
            "28 pages that change every 5 to 300 s, a fetch a second, 30 min",
            seconds(seed),
            86_400.0 / 28.0,
            1_800.0 / 86_400.0,
        ),
        {
            let (world, days) = real();
            case("real changes, a visit in 10 days", world, 0.1, days)
        },
    ]
}

/// Log-normal change rates with a median of 0.2 a day; pages of a host resemble each other.
fn made_up(seed: u64, pages: usize, spread: f64, zipf: bool) -> World {
    let hosts = pages / 20;
    let mut random = Random(seed);
    let mut normal = || {
        let radius = (-2.0 * random.unit().ln()).sqrt();
        spread * radius * (std::f64::consts::TAU * random.unit()).cos()
    };
    let of_host: Vec<f64> = (0..hosts).map(|_| 0.6 * normal()).collect();
    let mut page = |index: usize| {
        let host = index % hosts;
        let rate = 0.2 * (of_host[host] + 0.8 * normal()).exp();
        SimPage {
            host,
            weight: if zipf { 1.0 / (index + 1) as f64 } else { 1.0 },
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..pages).map(&mut page).collect(),
        hosts: vec![SimHost::new(Duration::from_secs(1)); hosts],
        ..World::default()
    }
}

/// Seven hosts of four pages, which change by seconds.
fn seconds(seed: u64) -> World {
    let mut random = Random(seed);
    let mut page = |index: usize| {
        let gap = 5.0 * 60_f64.powf(random.unit());
        let rate = 86_400.0 / gap;
        SimPage {
            host: index % 7,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..28).map(&mut page).collect(),
        hosts: vec![SimHost::new(Duration::from_millis(500)); 7],
        ..World::default()
    }
}

/// Real changes, and how many days they span.
fn real() -> (World, f64) {
    let mut changes: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for line in REAL.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [service, page, time, ..] = fields[..] else {
            continue;
        };
        let day = (time.parse::<f64>().unwrap_or(0.0) - REAL_FROM) / 86_400.0;
        let is_change = fields.get(3).is_none_or(|kind| *kind == "change");
        let changes = changes.entry((service, page)).or_default();
        if day > 0.0 && is_change {
            changes.push(day);
        }
    }
    let days = changes.values().flatten().copied().fold(0.0, f64::max);
    let mut services: Vec<&str> = changes.keys().map(|(service, _)| *service).collect();
    services.dedup();
    let page = |((service, _), mut times): ((&str, &str), Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        SimPage {
            host: services.binary_search(&service).unwrap_or(0),
            weight: 1.0,
            mean_rate: times.len() as f64 / days,
            change: Change::Trace(times),
        }
    };
    let world = World {
        pages: changes.into_iter().map(page).collect(),
        hosts: vec![SimHost::new(Duration::from_secs(15)); services.len()],
        ..World::default()
    };
    (world, days)
}
