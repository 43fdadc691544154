//! How fresh the scheduler that ships keeps 10,000 pages, beside the best that is possible and the
//! rules it is compared with. One table, so that a change of behaviour is a visible diff.

use std::fmt::Write;

use dunlin::plan::Objective;
use dunlin::plan::optimal::optimal;
use dunlin::time::Duration;
use dunlin_host::simulate::repeat::parallel;
use dunlin_host::simulate::{Change, Options, PolicyName, Random, SimHost, SimPage, World, run};

const PAGES: usize = 10_000;
const HOSTS: usize = 200;
/// Visits a page and day.
const RATE: f64 = 0.2;

/// Of the logarithms of the rates of a host's pages, in parts of that of all.
pub const SPREAD_ON_A_HOST: f64 = 0.8;

/// Log-normal change rates with a median of 0.2 a day; pages of a host resemble each other. Up to 2
/// changes a day at a spread of 1, up to 40 at 2, in all but one page of a hundred.
pub fn world(spread: f64) -> World {
    let mut random = Random(7);
    let mut normal = || {
        (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos() * spread
    };
    let of_host: Vec<f64> = (0..HOSTS).map(|_| 0.6 * normal()).collect();
    let page = |index: usize| {
        let host = index % HOSTS;
        let rate = 0.2 * (of_host[host] + SPREAD_ON_A_HOST * normal()).exp();
        SimPage {
            host,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..PAGES).map(page).collect(),
        hosts: vec![SimHost::new(Duration::ZERO); HOSTS],
        ..World::default()
    }
}

/// The same, with every other host's gap such that it lets through half of what would be best.
fn capped() -> World {
    let mut world = world(1.0);
    let mut hosts = world.plan_hosts();
    let mut rates = vec![0.0; PAGES];
    optimal(
        &world,
        &mut hosts,
        RATE * PAGES as f64,
        Objective::Freshness,
        &mut rates,
    )
    .expect("a sound demand");
    for index in (0..HOSTS).step_by(2) {
        let wanted: f64 = rates.iter().skip(index).step_by(HOSTS).sum();
        world.hosts[index].gap = Duration::from_days(2.0 / wanted);
    }
    world
}

const POLICIES: [PolicyName; 6] = [
    PolicyName::Index,
    PolicyName::Carousel,
    PolicyName::Uniform,
    PolicyName::Proportional,
    PolicyName::Nutch,
    PolicyName::Stormcrawler,
];

/// Seeds of whoever has to learn, whom chance treats differently by half a per cent.
const SEEDS: u64 = 4;

/// Shares of the optimum, for each policy: in the first and in the second half of the time.
fn shares(world: &World, learn: bool, days: f64) -> Vec<[f64; 2]> {
    let per_day = RATE * PAGES as f64;
    let best = world.optimum(per_day);
    let seeds = if learn { SEEDS } else { 1 };
    let share = |policy: &PolicyName, seed: u64| {
        let options = Options {
            pieces: 2,
            ..Options::new(days, seed)
        };
        let mut built = policy.build(world, per_day, learn, seed);
        let report = run(world, &mut *built, &options);
        assert_eq!(report.politeness_violations, 0, "{policy:?}");
        [0, 1].map(|half| report.course[half] / best / seeds as f64)
    };
    let mean = |policy: &PolicyName| {
        let runs = parallel(seeds as usize, |index| share(policy, index as u64 + 1));
        runs.iter()
            .fold([0.0; 2], |sum, run| [sum[0] + run[0], sum[1] + run[1]])
    };
    POLICIES.iter().map(mean).collect()
}

#[test]
fn of_the_optimum() {
    let settings = [
        ("rates known, 60 days", world(1.0), 60.0, 0.998),
        ("rates known, 60 days, heavy tails", world(2.0), 60.0, 0.998),
        (
            "rates known, 60 days, half of hosts capped",
            capped(),
            60.0,
            0.995,
        ),
        ("rates unknown, 30 days", world(1.0), 30.0, 0.975),
        (
            "rates unknown, 30 days, heavy tails",
            world(2.0),
            30.0,
            0.952,
        ),
    ];
    let mut table = String::from("share of the optimum: first half of the days / second half\n");
    let names = POLICIES
        .map(|policy| format!("{:>15}", policy.name()))
        .concat();
    writeln!(table, "{:<43}{names}", "").unwrap();
    let mut missed = String::new();
    for (name, world, days, least) in settings {
        let shares = shares(&world, name.contains("unknown"), days);
        let cells: String = shares
            .iter()
            .map(|[first, last]| format!("{:>15}", format!("{first:.4}/{last:.4}")))
            .collect();
        writeln!(table, "{name:<43}{cells}").unwrap();
        if let Some(share) = shares[..2].iter().find(|share| share[1] < least) {
            writeln!(missed, "{name}: {:.4}, expected {least}", share[1]).unwrap();
        }
    }
    println!("{table}");
    assert!(missed.is_empty(), "{missed}");
    insta::assert_snapshot!(table);
}
