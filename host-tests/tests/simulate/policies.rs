//! Policies on the same changes.

use dunlin::polite::Hours;
use dunlin::scheduler::{Engine, Settings};
use dunlin::time::Duration;
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::rules::{Adaptive, adaptive, proportional, random, uniform};
use dunlin_host::simulate::{Options, Policy, Report, World, run};

use super::poisson_world;

fn all(world: &World, per_day: f64, learn: bool) -> Vec<(&'static str, Box<dyn Policy>)> {
    let core = |engine| {
        Box::new(scheduler(
            world,
            Some(per_day as f32),
            learn,
            Settings::DEFAULT.with_engine(engine),
        ))
    };
    vec![
        ("index", core(Engine::Index)),
        ("carousel", core(Engine::Carousel)),
        ("random", Box::new(random(world, per_day, learn, 1))),
        ("uniform", Box::new(uniform(world, per_day))),
        (
            "proportional",
            Box::new(proportional(world, per_day, learn, 1)),
        ),
        ("nutch", Box::new(adaptive(world, per_day, Adaptive::NUTCH))),
        (
            "stormcrawler",
            Box::new(adaptive(world, per_day, Adaptive::STORMCRAWLER)),
        ),
    ]
}

fn compare(world: &World, per_day: f64, learn: bool, days: f64) -> Vec<(&'static str, Report)> {
    let options = Options {
        measured_from: days / 2.0,
        ..Options::new(days, 7)
    };
    let mut results = Vec::new();
    for (name, mut policy) in all(world, per_day, learn) {
        let report = run(world, policy.as_mut(), &options);
        assert_eq!(report.politeness_violations, 0, "{name}");
        let allowed = per_day * days / 2.0;
        assert!(
            report.fetches as f64 <= allowed + 5.0,
            "{name}: {} of {allowed} fetches",
            report.fetches
        );
        results.push((name, report));
    }
    results
}

#[test]
fn the_scheduler_is_above_every_rule_and_near_the_optimum() {
    let world = poisson_world(2_000, 50, Duration::from_secs(60), 3);
    for learn in [false, true] {
        let results = compare(&world, 2_000.0, learn, 40.0);
        let optimum = world.optimum(2_000.0);
        let (best, rest) = results.split_at(2);
        for (name, report) in best {
            assert!(
                report.freshness > optimum * if learn { 0.96 } else { 0.99 },
                "{name}: {} of {optimum}",
                report.freshness
            );
            assert!(
                report.freshness < optimum * 1.005,
                "{name}: {} of {optimum}",
                report.freshness
            );
        }
        for (name, report) in rest {
            assert!(
                report.freshness < best[0].1.freshness,
                "{name}: {}",
                report.freshness
            );
            assert!(report.freshness > 0.3, "{name}: {}", report.freshness);
        }
    }
}

#[test]
fn all_are_polite_when_politeness_binds() {
    let mut world = poisson_world(600, 6, Duration::from_secs(900), 4);
    world.hosts[2].hours = Hours::new(22, 6).expect("hours of a day");
    world.hosts[3].fails = 0.2;
    for (name, report) in compare(&world, 2_000.0, false, 12.0) {
        let allowed = [96, 96, 33, 96, 96, 96].map(|a_day| a_day * 6 + 1);
        for (host, (fetches, allowed)) in report.host_fetches.iter().zip(allowed).enumerate() {
            assert!(
                *fetches <= allowed,
                "{name}: {fetches} fetches of host {host}"
            );
        }
        assert!(
            report.host_fetches[0] > 96 * 6 * 9 / 10,
            "{name} leaves host 0 idle"
        );
        assert!(report.errors > 0, "{name} met no failure");
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let world = poisson_world(200, 10, Duration::from_secs(60), 5);
    let runs: Vec<_> = (0..2)
        .map(|_| {
            compare(&world, 400.0, true, 6.0)
                .into_iter()
                .map(|(_, report)| format!("{report:?}"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(runs[0], runs[1]);
}
