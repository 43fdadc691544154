//! Simulated figures against formulas.

use dunlin::model::{ChangeModel, Objective, Pareto, Weibull};
use dunlin::time::Duration;
use dunlin_host::simulate::change::Quasi;
use dunlin_host::simulate::{Change, Options, Random, Report, SimHost, SimPage, World, rules, run};

/// Equal pages, each fetched once a day by round robin, for `days` after two of warming up.
fn once_a_day(change: &Change, days: f64, seed: u64) -> Report {
    let page = SimPage {
        host: 0,
        weight: 1.0,
        mean_rate: 1.0,
        change: change.clone(),
    };
    let world = World {
        pages: vec![page; 1_000],
        hosts: vec![SimHost::new(Duration::ZERO)],
        ..World::default()
    };
    let options = Options {
        measured_from: 2.0,
        ..Options::new(days + 2.0, seed)
    };
    run(&world, &mut rules::uniform(&world, 1_000.0), &options)
}

/// Checks mean freshness, age in days and harmonic staleness over eight seeds, to four standard
/// errors.
fn agrees(change: &Change, freshness: f64, age: f64, harmonic: f64) {
    let reports: Vec<_> = (1..=8).map(|seed| once_a_day(change, 20.0, seed)).collect();
    let near = |name: &str, of: fn(&Report) -> f64, expected: f64| {
        let values: Vec<f64> = reports.iter().map(of).collect();
        let mean = values.iter().sum::<f64>() / 8.0;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 7.0;
        let error = (variance / 8.0).sqrt();
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{change:?} {name}: {mean} ± {error}, expected {expected}"
        );
        assert!(
            error < 0.01 * expected,
            "{change:?} {name}: too noisy to tell, ± {error}"
        );
    };
    near("freshness", |report| report.freshness, freshness);
    near("age", |report| report.age_s / 86_400.0, age);
    near("harmonic staleness", |report| report.harmonic, harmonic);
    assert!(
        reports
            .iter()
            .all(|report| report.politeness_violations == 0)
    );
}

/// What the crate's law says of a page visited once a day; the harmonic objective counts H_k only
/// for Poisson pages.
fn law(model: &dyn ChangeModel<f64>) -> [f64; 2] {
    [
        1.0 - model.cost(Objective::Freshness, 1.0),
        model.cost(Objective::Age, 1.0),
    ]
}

#[test]
fn poisson_pages_agree_with_cho() {
    for rate in [0.3_f64, 2.0] {
        let freshness = (1.0 - (-rate).exp()) / rate;
        let age = 0.5 - 1.0 / rate + (1.0 - (-rate).exp()) / rate.powi(2);
        let harmonic = dunlin::model::Poisson::new(rate).cost(Objective::Harmonic, 1.0);
        agrees(&Change::Poisson(rate), freshness, age, harmonic);
    }
}

#[test]
fn renewal_pages_agree_with_their_laws() {
    for (change, [freshness, age]) in [
        (Change::weibull(1.0, 0.7), law(&Weibull::new(1.0, 0.7))),
        (Change::weibull(1.0, 2.0), law(&Weibull::new(1.0, 2.0))),
        (Change::pareto(1.0, 3.0), law(&Pareto::new(1.0, 3.0))),
    ] {
        let reports: Vec<_> = (1..=8)
            .map(|seed| once_a_day(&change, 20.0, seed))
            .collect();
        for (of, expected) in [
            (
                reports.iter().map(|report| report.freshness).sum::<f64>() / 8.0,
                freshness,
            ),
            (
                reports
                    .iter()
                    .map(|report| report.age_s / 86_400.0)
                    .sum::<f64>()
                    / 8.0,
                age,
            ),
        ] {
            assert!(
                (of - expected).abs() < 0.01 * expected,
                "{change:?}: {of}, expected {expected}"
            );
        }
    }
}

#[test]
fn mean_rates_are_as_asked_for() {
    let quasi = Quasi {
        period: 1.0,
        updates: vec![(0.25, 0.5), (0.75, 0.1)],
    };
    for (change, rate) in [
        (Change::Poisson(2.0), 2.0),
        (Change::weibull(2.0, 0.7), 2.0),
        (Change::pareto(2.0, 3.0), 2.0),
        (Change::Quasi(Box::new(quasi)), 0.6),
    ] {
        let days = 400.0;
        let report = once_a_day(&change, days, 5);
        let seen = report.changes as f64 / 1_000.0 / days;
        assert!(
            (seen - rate).abs() < 0.02 * rate,
            "{change:?}: {seen} a day, expected {rate}"
        );
    }
}

#[test]
fn quasi_deterministic_changes_come_at_their_times_only() {
    let quasi = Quasi {
        period: 2.0,
        updates: vec![(0.0, 0.2), (0.5, 0.0), (1.5, 0.01)],
    };
    let change = Change::Quasi(Box::new(quasi));
    let mut random = Random(3);
    let mut time = change.first(&mut random);
    let mut counts = [0, 0];
    while time < 200_000.0 {
        let phase = time % 2.0;
        assert!(phase == 0.0 || phase == 1.5, "a change at {phase}");
        counts[usize::from(phase == 1.5)] += 1;
        let next = change.after(time, &mut random);
        assert!(next > time);
        time = next;
    }
    assert!(
        (19_000..21_000).contains(&counts[0]) && (850..1_150).contains(&counts[1]),
        "{counts:?}"
    );
    let never = Change::Quasi(Box::new(Quasi {
        period: 1.0,
        updates: vec![(0.5, 0.0)],
    }));
    assert_eq!(never.first(&mut random), f64::INFINITY);
}

#[test]
fn a_trace_is_followed_to_the_moment() {
    // Fetched at 0, 1, 2 and 3 (10 s late at most); changed at 0.5, at 0.75 and at 2.25.
    let page = SimPage {
        host: 0,
        weight: 1.0,
        mean_rate: 1.0,
        change: Change::Trace(vec![0.5, 0.75, 2.25]),
    };
    let world = World {
        pages: vec![page],
        hosts: vec![SimHost::new(Duration::ZERO)],
        ..World::default()
    };
    let report = run(
        &world,
        &mut rules::uniform(&world, 1.0),
        &Options {
            pieces: 4,
            ..Options::new(4.0, 1)
        },
    );
    assert_eq!(
        (report.changes, report.fetches, report.changes_seen),
        (3, 4, 3)
    );
    let expected = [0.5, 1.0, 0.25, 1.0];
    for (found, expected) in report.course.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3, "{:?}", report.course);
    }
    assert!((report.freshness - 2.75 / 4.0).abs() < 1e-3);
    assert!((report.age_s / 86_400.0 - (0.125 + 0.5 * 0.75 * 0.75) / 4.0).abs() < 1e-3);
    assert!((report.harmonic - (0.5 + 0.25 / 2.0 + 0.75) / 4.0).abs() < 1e-3);
}
