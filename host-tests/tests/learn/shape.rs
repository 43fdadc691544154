//! The law behind the gaps is found again, and Poisson pages are left in peace.

use dunlin::learn::{Clock, Gaps, Law, fit};
use dunlin::math::Real;
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;
use host_tests::learn::{exponential, unit};

use crate::spread;

fn gaps(count: usize, seed: u64, law: impl Fn(&mut Random) -> f64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..count).map(|_| law(&mut random)).collect()
}

fn weibull(shape: f64) -> impl Fn(&mut Random) -> f64 {
    move |random| Real::powf(exponential(random), 1.0 / shape)
}

fn pareto(shape: f64) -> impl Fn(&mut Random) -> f64 {
    move |random| Real::powf(unit(random), -1.0 / shape) - 1.0
}

fn folded(gaps: &[f64]) -> Gaps<f32> {
    let mut all = Gaps::new();
    gaps.iter().for_each(|gap| all.add(*gap as f32));
    all
}

#[test]
fn one_poisson_page_in_a_hundred_is_suspected() {
    for count in [10, 40, 200] {
        let pages = 1_000;
        let histories = (0..pages).map(|seed| gaps(count, seed, weibull(1.0)));
        let (streaming, whole) = histories.fold((0, 0), |(streaming, whole), gaps| {
            let suspected = !matches!(fit(&gaps), Some(Law::Poisson { .. }));
            (
                streaming + usize::from(!folded(&gaps).poisson_suffices()),
                whole + usize::from(suspected),
            )
        });
        // Binomial(1000, 0.01) stays below 20; two alternatives are tried on the host.
        assert!(
            streaming < 20,
            "{count} gaps: {streaming} of {pages} by the streaming test"
        );
        assert!(whole < 30, "{count} gaps: {whole} of {pages} by the fits");
    }
}

#[test]
fn weibull_shapes_are_found() {
    for shape in [0.4, 0.7, 2.0] {
        let fits: Vec<_> = (0..100)
            .map(|seed| gaps(200, seed, weibull(shape)))
            .collect();
        let whole = fits.iter().filter_map(|gaps| match fit(gaps) {
            Some(Law::Weibull { shape, .. }) => Some(shape),
            _ => None,
        });
        let (mean, deviation) = spread(whole.clone());
        assert!(
            whole.count() >= 80,
            "shape {shape} taken for another law too often"
        );
        assert!(
            (mean / shape - 1.0).abs() < 0.05 && deviation < 0.1 * shape,
            "{shape}: {mean} ± {deviation}"
        );
        let (mean, _) = spread(
            fits.iter()
                .map(|gaps| folded(gaps).weibull().unwrap().into()),
        );
        assert!(
            (mean / shape - 1.0).abs() < 0.05,
            "streaming, {shape}: {mean}"
        );
        assert!(
            fits.iter()
                .filter(|gaps| folded(gaps).poisson_suffices())
                .count()
                < 5,
            "{shape}"
        );
    }
}

#[test]
fn pareto_shapes_are_found() {
    for shape in [1.3, 2.0] {
        let fits: Vec<_> = (0..100)
            .map(|seed| gaps(400, seed, pareto(shape)))
            .collect();
        let whole = fits.iter().filter_map(|gaps| match fit(gaps) {
            Some(Law::Pareto { shape, .. }) => Some(shape),
            _ => None,
        });
        assert!(
            whole.clone().count() >= 80,
            "shape {shape} taken for another law too often"
        );
        let (mean, _) = spread(whole);
        assert!((mean / shape - 1.0).abs() < 0.1, "{shape}: {mean}");
        let streaming = fits
            .iter()
            .filter_map(|gaps| folded(gaps).pareto())
            .map(f64::from);
        let mut streaming: Vec<f64> = streaming.collect();
        streaming.sort_by(f64::total_cmp);
        let median = streaming[streaming.len() / 2];
        assert!(
            (median / shape - 1.0).abs() < 0.25,
            "streaming median, {shape}: {median}"
        );
    }
    assert_eq!(
        folded(&gaps(400, 1, pareto(0.5))).pareto(),
        None,
        "no mean, no schedule"
    );
}

#[test]
fn clock_patterns_are_found_and_chance_is_not() {
    let day = Duration::DAY.as_days::<f64>();
    let random_page = |seed| {
        let mut random = Random(seed);
        let mut clock = Clock::new();
        (0..60).for_each(|_| {
            clock.add(Instant::ZERO + Duration::from_days(60.0 * day * unit(&mut random)))
        });
        clock
    };
    let suspected = (0..1_000)
        .filter(|seed| random_page(*seed).is_pattern())
        .count();
    assert!(
        suspected <= 12,
        "{suspected} of 1,000 pages without a pattern"
    );

    let mut random = Random(4);
    let mut clock = Clock::new();
    for day in 0..60_u64 {
        let midnight = Instant::ZERO + Duration::DAY * day;
        for (hour, probability) in [(6, 0.9), (18, 0.5)] {
            if unit(&mut random) < probability {
                let minutes = Duration::from_secs(60 * u64::from(random.below(20)));
                clock.add(midnight + Duration::HOUR * hour + minutes);
            }
        }
    }
    assert!(clock.is_pattern());
    let updates: Vec<_> = clock.updates(60.0).collect();
    assert_eq!(
        updates
            .iter()
            .map(|(at, _)| at.as_secs() / 3_600)
            .collect::<Vec<_>>(),
        [6, 18]
    );
    assert!(
        (updates[0].1 - 0.9).abs() < 0.1 && (updates[1].1 - 0.5).abs() < 0.15,
        "{updates:?}"
    );
}
