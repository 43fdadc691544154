//! The bias table: every estimator on the same visits, kept as a snapshot so that a change of
//! behaviour is a diff.

use std::fmt::Write;

use dunlin::learn::{
    Estimate, IntervalSummary, LearningSettings, Prior, Visit, irregular, naive, regular,
};
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use host_tests::learn::{PoissonPage, Spacing};

use crate::spread;

const RATIOS: [f64; 7] = [0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0];
const VISITS: [usize; 4] = [10, 50, 200, 1_000];

struct Cell {
    spacing: Spacing,
    ratio: f64,
    visits: usize,
    /// Mean and standard deviation, as multiples of the truth.
    naive: (f64, f64),
    regular: (f64, f64),
    /// Over the histories for which it is finite, and the share of those.
    irregular: (f64, f64),
    finite: f64,
    online: (f64, f64),
}

fn histories(spacing: Spacing, ratio: f64, visits: usize, runs: u64) -> Vec<Vec<Visit>> {
    let history = |run: u64| {
        let mut page = PoissonPage {
            rate: ratio,
            random: Random(run),
        };
        let mut random = Random(run ^ 0xb1a5);
        let visit = |_| Visit {
            modified_ago: None,
            ..page.visit(spacing.interval(1.0, &mut random))
        };
        (0..visits).map(visit).collect()
    };
    (0..runs).map(history).collect()
}

fn cell(spacing: Spacing, ratio: f64, visits: usize) -> Cell {
    let runs = if std::env::var_os("DUNLIN_LONG").is_some() {
        2_000
    } else {
        400
    };
    let histories = histories(spacing, ratio, visits, runs);
    let changes = |history: &[Visit]| history.iter().filter(|visit| visit.changed).count() as u32;
    let days = |history: &[Visit]| {
        history
            .iter()
            .map(|visit| visit.interval.as_days::<f64>())
            .sum::<f64>()
    };
    let of = |estimate: &dyn Fn(&[Visit]) -> Option<f64>| {
        spread(
            histories
                .iter()
                .filter_map(|history| Some(estimate(history)? / ratio)),
        )
    };
    let most_likely = |history: &[Visit]| irregular(history.iter().copied());
    Cell {
        spacing,
        ratio,
        visits,
        naive: of(&|history| naive(changes(history), days(history))),
        regular: of(&|history| {
            regular(
                visits as u32,
                changes(history),
                days(history) / visits as f64,
            )
        }),
        irregular: of(&most_likely),
        finite: histories
            .iter()
            .filter(|history| most_likely(history).is_some())
            .count() as f64
            / runs as f64,
        online: of(&|history| {
            let mut page = Estimate::new(&Prior::DEFAULT);
            history
                .iter()
                .for_each(|visit| page.update(visit, &LearningSettings::DEFAULT));
            Some(page.rate().into())
        }),
    }
}

fn cells() -> Vec<Cell> {
    let all = [Spacing::Even, Spacing::Random]
        .into_iter()
        .flat_map(|spacing| {
            RATIOS.into_iter().flat_map(move |ratio| {
                VISITS
                    .into_iter()
                    .map(move |visits| (spacing, ratio, visits))
            })
        });
    all.map(|(spacing, ratio, visits)| cell(spacing, ratio, visits))
        .collect()
}

#[test]
fn the_online_estimator_keeps_up_with_maximum_likelihood() {
    let cells = cells();
    for cell in &cells {
        let place = format!(
            "{:?} spacing, λ/f = {}, {} visits",
            cell.spacing, cell.ratio, cell.visits
        );
        let unbiased = |(mean, _): (f64, f64)| (mean - 1.0).abs() <= 0.05;
        if cell.visits == 200 && cell.finite == 1.0 && unbiased(cell.irregular) {
            assert!(unbiased(cell.online), "{place}: {:?}", cell.online);
        }
        if cell.finite == 1.0 {
            assert!(
                cell.online.1 <= 2.0 * cell.irregular.1,
                "{place}: {:?} {:?}",
                cell.online,
                cell.irregular
            );
        }
    }
    if std::env::var_os("DUNLIN_LONG").is_none() {
        insta::assert_snapshot!("bias", table(&cells));
    }
}

fn table(cells: &[Cell]) -> String {
    let mut text = String::from(
        "estimate / truth, mean ± standard deviation, daily visits on average, no dates\n\
         spacing  λ/f  visits  naive          regular        irregular MLE (finite)  online, default settings\n",
    );
    for cell in cells {
        let show = |(mean, deviation): (f64, f64)| format!("{mean:.2} ± {deviation:.2}");
        let _ = writeln!(
            text,
            "{:7}  {:3}  {:6}  {:13}  {:13}  {:14} ({:3.0} %)  {}",
            format!("{:?}", cell.spacing).to_lowercase(),
            cell.ratio,
            cell.visits,
            show(cell.naive),
            show(cell.regular),
            show(cell.irregular),
            100.0 * cell.finite,
            show(cell.online),
        );
    }
    text
}

/// Documented: within 3 % when intervals spread over several octaves.
#[test]
fn the_interval_summary_matches_maximum_likelihood() {
    for ratio in RATIOS {
        for history in histories(Spacing::Random, ratio, 200, 50) {
            let mut summary = IntervalSummary::new();
            history.iter().for_each(|visit| summary.update(visit));
            match (summary.rate(), irregular::<f64>(history.iter().copied())) {
                (Some(ours), Some(exact)) if exact > 0.0 => {
                    let error = f64::from(ours) / exact - 1.0;
                    assert!(error.abs() < 0.03, "λ/f = {ratio}: {ours} not {exact}");
                }
                (ours, exact) => assert_eq!(ours.map(f64::from), exact),
            }
        }
    }
}

/// Whatever the unit: visits a thousand times as often, started from their usual interval, learn a
/// thousand times the rate just as well.
#[test]
fn the_prior_from_the_interval_has_no_unit() {
    for interval in [Duration::from_secs(86), Duration::HOUR, Duration::DAY * 7] {
        for ratio in [0.1, 0.5, 1.0, 3.0] {
            let days: f64 = interval.as_days();
            let rates = histories(Spacing::Random, ratio, 200, 200)
                .into_iter()
                .map(|history| {
                    let mut page = Estimate::new(&Prior::from_interval(interval));
                    for visit in history {
                        let interval = Duration::from_days(visit.interval.as_days::<f64>() * days);
                        page.update(&Visit { interval, ..visit }, &LearningSettings::STEADY);
                    }
                    f64::from(page.rate()) * days / ratio
                });
            let (mean, _) = spread(rates);
            assert!(
                (mean - 1.0).abs() < 0.05,
                "every {interval:?}, λ/f = {ratio}: {mean}"
            );
        }
    }
}
