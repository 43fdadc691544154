//! The estimator a probe carries: exact where it claims to be, quick to follow, and small.

use dunlin::learn::{Estimate, HostPrior, LearningSettings, Prior, Visit};
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use host_tests::learn::{PoissonPage, exponential};

use crate::spread;

/// Mean and variance of the posterior after "changed within t", from the textbook form of the
/// difference of two Gammas, which f64 can afford.
fn posterior(a: f64, b: f64, t: f64) -> (f64, f64) {
    let q = (b / (b + t)).powf(a);
    let first = (a / b - q * a / (b + t)) / (1.0 - q);
    let second = (a * (a + 1.0) / (b * b) - q * a * (a + 1.0) / ((b + t) * (b + t))) / (1.0 - q);
    (first, second - first * first)
}

#[test]
fn an_undated_change_keeps_mean_and_variance_of_the_true_posterior() {
    for shape in [0.5_f32, 1.0, 3.0, 30.0, 300.0] {
        for rate in [0.01_f32, 0.5, 20.0] {
            for expected in [0.05, 0.3, 1.0, 3.0, 6.0] {
                let days = expected / f64::from(rate);
                let mut page = Estimate::new(&Prior::new(rate, shape));
                let (mean, variance) = posterior(shape.into(), f64::from(shape / rate), days);
                page.update(
                    &Visit::new(Duration::from_days(days), true),
                    &LearningSettings::STEADY,
                );
                let case = format!("shape {shape}, rate {rate}, {expected} changes expected");
                assert!(
                    (f64::from(page.rate()) / mean - 1.0).abs() < 1e-5,
                    "{case}: {} not {mean}",
                    page.rate()
                );
                let ours = f64::from(page.variance());
                assert!(
                    (ours / variance - 1.0).abs() < 1e-3,
                    "{case}: variance {ours} not {variance}"
                );
            }
        }
    }
}

#[test]
fn dates_teach_more_than_their_absence() {
    let deviation = |dated: bool| {
        let rates = (0..200).map(|run| {
            let mut page = PoissonPage {
                rate: 3.0,
                random: Random(run),
            };
            let mut estimate = Estimate::new(&Prior::DEFAULT);
            for _ in 0..300 {
                let visit = page.visit(1.0);
                let modified_ago = visit.modified_ago.filter(|_| dated);
                estimate.update(
                    &Visit {
                        modified_ago,
                        ..visit
                    },
                    &LearningSettings::STEADY,
                );
            }
            f64::from(estimate.rate())
        });
        let (mean, deviation) = spread(rates);
        assert!((mean / 3.0 - 1.0).abs() < 0.05, "{mean}");
        deviation
    };
    assert!(deviation(true) < 0.8 * deviation(false));
}

#[test]
fn its_uncertainty_is_honest() {
    // Of many pages, the truth lies within two reported standard deviations for about 95 %.
    let runs = 400;
    let within = (0..runs).filter(|run| {
        let mut page = PoissonPage {
            rate: 0.7,
            random: Random(*run),
        };
        let mut estimate = Estimate::new(&Prior::DEFAULT);
        (0..100).for_each(|_| {
            estimate.update(
                &Visit {
                    modified_ago: None,
                    ..page.visit(1.0)
                },
                &LearningSettings::STEADY,
            )
        });
        (f64::from(estimate.rate()) - 0.7).abs() < 2.0 * f64::from(estimate.standard_deviation())
    });
    let share = within.count() as f64 / runs as f64;
    assert!((0.91..0.99).contains(&share), "{share}");
}

/// Visits until the rate is within a factor of two of the new one, for 200 pages, sorted.
fn visits_to_follow(from: f64, to: f64, settings: &LearningSettings) -> Vec<u32> {
    let mut visits: Vec<u32> = (0..200)
        .map(|run| {
            let mut page = PoissonPage {
                rate: from,
                random: Random(run),
            };
            let mut estimate = Estimate::new(&Prior::DEFAULT);
            let visit = |page: &mut PoissonPage, estimate: &mut Estimate| {
                estimate.update(
                    &Visit {
                        modified_ago: None,
                        ..page.visit(1.0)
                    },
                    settings,
                );
            };
            (0..300).for_each(|_| visit(&mut page, &mut estimate));
            page.rate = to;
            let close =
                |estimate: &Estimate| (0.5..2.0).contains(&(f64::from(estimate.rate()) / to));
            (0..2_000)
                .find(|_| {
                    let done = close(&estimate);
                    visit(&mut page, &mut estimate);
                    done
                })
                .unwrap_or(2_000)
        })
        .collect();
    visits.sort_unstable();
    visits
}

#[test]
fn a_tenfold_jump_is_followed_within_the_documented_number_of_visits() {
    for (from, to) in [(0.1, 1.0), (1.0, 0.1), (0.3, 3.0), (3.0, 0.3)] {
        let visits = visits_to_follow(from, to, &LearningSettings::DEFAULT);
        assert!(
            visits[100] <= 17 && visits[190] <= 30,
            "{from} to {to}: {} {}",
            visits[100],
            visits[190]
        );
        let fading_only = visits_to_follow(
            from,
            to,
            &LearningSettings::DEFAULT.with_surprise(f32::INFINITY),
        );
        assert!(
            fading_only[100] >= 100,
            "{from} to {to} by fading alone: {}",
            fading_only[100]
        );
    }
}

#[test]
fn old_evidence_fades_with_the_half_life() {
    let settings = LearningSettings::DEFAULT
        .with_half_life(Duration::DAY * 30)
        .with_surprise(f32::INFINITY);
    let mut page = Estimate::new(&Prior::new(10.0, 1_000.0));
    let before = page.shape();
    for _ in 0..300 {
        let visit = Visit::new(Duration::HOUR * 2 + Duration::from_secs(24 * 60), true)
            .modified(Duration::from_secs(4_320));
        page.update(&visit, &settings);
    }
    // Thirty days at ten changes a day, each seen and dated: half the old shape, and what 300
    // changes add.
    let added: f32 = (0..300)
        .map(|visit| 0.5_f32.powf(visit as f32 / 300.0))
        .sum();
    assert!(
        (page.shape() / (0.5 * before + added) - 1.0).abs() < 0.02,
        "{}",
        page.shape()
    );
}

#[test]
fn a_page_that_never_changes_can_still_be_heard() {
    let mut page = Estimate::new(&Prior::DEFAULT);
    (0..3_650).for_each(|_| {
        page.update(
            &Visit::new(Duration::DAY, false),
            &LearningSettings::DEFAULT,
        )
    });
    assert!(page.rate() < 0.003, "ten quiet years: {}", page.rate());
    let visits = (0..100).find(|_| {
        page.update(&Visit::new(Duration::DAY, true), &LearningSettings::DEFAULT);
        page.rate() > 0.5
    });
    assert!(visits.is_some_and(|visits| visits < 20), "{visits:?}");
}

#[test]
fn pages_of_a_busy_host_start_busy() {
    let mut random = Random(73);
    let guess = HostPrior::of_gap(0.2);
    let mut host = HostPrior::new();
    (0..20).for_each(|_| host.add_page());
    let rate = |random: &mut Random| 4.0 * (0.5 * (exponential(random) - 1.0)).exp();
    for _ in 0..20 {
        let mut truth = PoissonPage {
            rate: rate(&mut random),
            random: Random(random.next_u64()),
        };
        let mut page = Estimate::new(&host.prior(&guess));
        for _ in 0..60 {
            let visit = truth.visit(0.2);
            page.update(&visit, &LearningSettings::DEFAULT);
            host.update(&page, 1.0);
        }
    }
    let error = |prior: &Prior, random: &mut Random| {
        let errors = (0..200).map(|_| {
            let mut truth = PoissonPage {
                rate: rate(random),
                random: Random(random.next_u64()),
            };
            let mut page = Estimate::new(prior);
            (0..4).for_each(|_| page.update(&truth.visit(0.2), &LearningSettings::DEFAULT));
            (f64::from(page.rate()) / truth.rate).ln().abs()
        });
        spread(errors).0
    };
    let alone = error(&Prior::DEFAULT, &mut Random(1));
    let together = error(&host.prior(&guess), &mut Random(1));
    assert!(
        together < 0.6 * alone,
        "mean log error after four visits: {together} with the host, {alone} without"
    );
}

#[test]
fn the_first_visit_counts_its_date() {
    let mut page = Estimate::new(&Prior::DEFAULT);
    page.first_visit(Duration::DAY * 100);
    assert!(page.rate() < 0.02);
    let mut generated = Estimate::new(&Prior::DEFAULT);
    generated.first_visit(Duration::from_secs(1));
    assert_eq!(
        generated,
        Estimate::new(&Prior::DEFAULT),
        "generated for this request"
    );
}

#[test]
fn a_change_that_is_dated_to_the_request_is_not_dated() {
    let settings = LearningSettings::DEFAULT;
    let learnt = |modified_ago: Option<Duration>| {
        let mut page = Estimate::new(&Prior::DEFAULT);
        let visit = Visit {
            interval: Duration::DAY,
            changed: true,
            modified_ago,
        };
        page.update(&visit, &settings);
        page
    };
    for seconds in [0, 1, 4] {
        let generated = learnt(Some(Duration::from_secs(seconds)));
        assert_eq!(generated, learnt(None), "{seconds} s ago");
    }
    assert_ne!(learnt(Some(Duration::from_secs(5))), learnt(None));
    assert_ne!(learnt(Some(Duration::HOUR)), learnt(None));
}
