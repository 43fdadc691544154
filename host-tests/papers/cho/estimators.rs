//! Chapter 6: what estimators make of few visits.

use dunlin::learn::{LastModified, naive, regular};
use dunlin_host::output::plot::{Line, lines};
use dunlin_suite::bench::Random;
use host_tests::learn::PoissonPage;

use super::SEED;
use crate::Settings;
use crate::page::{Printed, Section, Verdict, digits};

/// Mean and standard deviation of an estimator, as multiples of the true rate.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Of values with probabilities that add up to 1.
    fn of(values: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mean, squares) = values.fold((0.0, 0.0), |(mean, squares), (value, chance)| {
            (mean + chance * value, squares + chance * value * value)
        });
        Self {
            mean,
            deviation: (squares - mean * mean).max(0.0).sqrt(),
        }
    }
}

/// An estimator: visits, changes, and the days between two visits.
type Estimator = fn(u32, u32) -> f64;

fn by_naive(visits: u32, changes: u32) -> f64 {
    naive(changes, f64::from(visits)).unwrap_or(0.0)
}

fn by_regular(visits: u32, changes: u32) -> f64 {
    regular(visits, changes, 1.0).unwrap_or(0.0)
}

/// The chance of each number of changes seen, 0 to `visits`, at r changes a visit.
pub fn seen(visits: u32, r: f64) -> Vec<f64> {
    let changed = 1.0 - (-r).exp();
    let mut chances = vec![0.0; visits as usize + 1];
    chances[0] = 1.0;
    for visit in 1..=visits as usize {
        for count in (0..=visit).rev() {
            let fewer = if count > 0 { chances[count - 1] } else { 0.0 };
            chances[count] = chances[count] * (1.0 - changed) + fewer * changed;
        }
    }
    chances
}

/// By summing over all outcomes.
fn exact(estimator: Estimator, visits: u32, r: f64) -> Spread {
    let chances = seen(visits, r);
    let values = (0..).zip(&chances);
    Spread::of(values.map(|(changes, chance)| (estimator(visits, changes) / r, *chance)))
}

/// By visiting simulated pages once a day that change `r` times a day.
fn simulated(
    visits: u32,
    r: f64,
    trials: usize,
    estimate: impl Fn(&mut PoissonPage) -> f64,
) -> Spread {
    let mut page = PoissonPage {
        rate: r,
        random: Random(SEED ^ u64::from(visits) << 32 ^ r.to_bits()),
    };
    let each = 1.0 / trials as f64;
    Spread::of((0..trials).map(|_| (estimate(&mut page) / r, each)))
}

fn counted(estimator: Estimator, visits: u32) -> impl Fn(&mut PoissonPage) -> f64 {
    move |page| {
        let changes = (0..visits).filter(|_| page.visit(1.0).changed).count();
        estimator(visits, changes as u32)
    }
}

fn dated(visits: u32) -> impl Fn(&mut PoissonPage) -> f64 {
    move |page| {
        let mut dates = LastModified::<f64>::new();
        for _ in 0..visits {
            dates.update(&page.visit(1.0));
        }
        dates.rate().unwrap_or(0.0)
    }
}

/// Figures 6.2, 6.3, 6.5, 6.6, 6.7 and 6.8, Examples 6.3 and 6.4.
pub fn from_counts(section: &mut Section, settings: &Settings) {
    section.part(
        "Figures 6.2–6.8: estimates from counts of changes",
        "Pages visited n times that change r times between two visits. Mean of the estimate and its standard deviation σ, both as multiples of \
         the true rate: of the naive X/n and of −ln((X̄ + ½)/(n + ½)), over all outcomes, and beside it what simulated pages gave.",
    );
    let trials = settings.size(20_000, 100_000);
    let mut rows = Vec::new();
    let mut apart = 0.0_f64;
    for (r, visits) in [0.3, 1.0, 1.5, 2.0, 3.0]
        .iter()
        .flat_map(|r| [3, 10, 20, 40].map(|visits| (*r, visits)))
    {
        let mut row = vec![format!("{r}"), visits.to_string()];
        for estimator in [by_naive as Estimator, by_regular] {
            let exact = exact(estimator, visits, r);
            let found = simulated(visits, r, trials, counted(estimator, visits));
            apart = apart
                .max((found.mean - exact.mean).abs())
                .max((found.deviation - exact.deviation).abs());
            row.push(format!("{:.3} ({:.3})", exact.mean, found.mean));
            row.push(format!("{:.3} ({:.3})", exact.deviation, found.deviation));
        }
        rows.push(row);
    }
    section.table(
        &[
            "r",
            "n",
            "naive: mean (simulated)",
            "σ/r",
            "Cho's: mean (simulated)",
            "σ/r",
        ],
        &rows,
    );
    section.limit(
        format!("simulated means and deviations of estimates are within 0.03 of the sums (worst: {apart:.4})"),
        apart < 0.03,
    );
    naive_claims(section);
    regular_claims(section);
    plots(section);
}

/// The largest r up to which an estimator is biased by less than a tenth.
fn unbiased_up_to(estimator: Estimator, visits: u32, step: f64) -> f64 {
    let rates = (1..).map(|place| step * f64::from(place));
    let is_near = |r: &f64| (exact(estimator, visits, *r).mean - 1.0).abs() < 0.1;
    rates.take_while(is_near).last().unwrap_or(0.0)
}

fn naive_claims(section: &mut Section) {
    section.figure(
        "Figure 6.2",
        "r up to which the naive estimator is less than 10 % biased",
        Printed::new(0.21, 2),
        unbiased_up_to(by_naive, 10, 0.001),
    );
    let spread = |visits, r| exact(by_naive, visits, r);
    let least = |r: f64, limit: f64| {
        (1..100)
            .find(|visits| spread(*visits, r).deviation <= limit)
            .unwrap_or(0)
    };
    for (r, printed) in [(1.0, 1.0), (0.3, 9.0)] {
        section.figure(
            "Figure 6.3",
            &format!("visits for σ/r = 0.5 of the naive estimator at r = {r}"),
            Printed::new(printed, 0),
            f64::from(least(r, 0.5)),
        );
    }
    section.figure(
        "Example 6.3",
        "naive: mean of the estimate over r, at r = 2",
        Printed::new(0.43, 2),
        spread(10, 2.0).mean,
    );
    section.figure(
        "Example 6.3",
        "naive: 2σ/r of ten visits at r = 1/7",
        Printed::new(1.5, 1),
        2.0 * spread(10, 1.0 / 7.0).deviation,
    );
}

fn regular_claims(section: &mut Section) {
    for (visits, printed) in [(20, Printed::new(3.5, 1)), (80, Printed::new(5.0, 0))] {
        section.figure(
            "Figure 6.6",
            &format!("r up to which {visits} visits are less than 10 % biased"),
            printed,
            unbiased_up_to(by_regular, visits, 0.01),
        );
    }
    let spread = |visits, r| exact(by_regular, visits, r);
    for (visits, printed) in [(10, 0.4), (40, 0.2)] {
        section.figure(
            "Figure 6.7",
            &format!("σ/r at r = 1.5 after {visits} visits"),
            Printed::new(printed, 1),
            spread(visits, 1.5).deviation,
        );
    }
    let grid = (10..=200).map(|step| 0.01 * f64::from(step));
    let flattest = grid
        .clone()
        .min_by(|a, b| {
            spread(20, *a)
                .deviation
                .total_cmp(&spread(20, *b).deviation)
        })
        .unwrap_or(0.0);
    section.figure(
        "Figure 6.7",
        "r < 2 at which σ/r is least after 20 visits",
        Printed::new(1.35, 2),
        flattest,
    );
    let bias = grid.fold(0.0_f64, |worst, r| {
        worst.max((spread(20, r).mean - 1.0).abs())
    });
    section.claim(
        "Figure 6.7",
        "bias of 20 visits for r < 2",
        "< 0.1 %",
        format!("{:.2} %", 100.0 * bias),
        Verdict::of(bias < 1e-3),
    );
    let ten = spread(10, 1.5);
    section.claim(
        "Example 6.4",
        "bias of ten visits at r = 1.5",
        "< 0.3 %",
        format!("{:.3} %", 100.0 * (ten.mean - 1.0).abs()),
        Verdict::of((ten.mean - 1.0).abs() < 3e-3),
    );
    let within: f64 = (0..)
        .zip(seen(10, 1.5))
        .filter(|(changes, _)| (by_regular(10, *changes) / 1.5 - 1.0).abs() <= 0.35)
        .map(|(_, chance)| chance)
        .sum();
    section.figure(
        "Example 6.4",
        "chance that ten visits at r = 1.5 are within 35 %",
        Printed::percent(75.0),
        100.0 * within,
    );
    let series = [2, 5, 10, 20, 50, 100].map(|visits| spread(visits, 1.0));
    let consistent = series
        .windows(2)
        .all(|pair| pair[1].deviation < pair[0].deviation)
        && (series[5].mean - 1.0).abs() < 5e-3;
    section.claim(
        "Figure 6.8",
        "at r = 1 the mean goes to 1 and the variance to 0 with n",
        "1 and 0",
        format!(
            "after 100 visits {:.4} and {:.4}",
            series[5].mean,
            series[5].deviation.powi(2)
        ),
        Verdict::of(consistent),
    );
    section.limit(
        format!(
            "σ/r at r = 1.5 is 0.40 and 0.20 after 10 and 40 visits, to 0.03 ({:.3}, {:.3})",
            ten.deviation,
            spread(40, 1.5).deviation
        ),
        (ten.deviation - 0.40).abs() < 0.03 && (spread(40, 1.5).deviation - 0.20).abs() < 0.03,
    );
}

fn plots(section: &mut Section) {
    let curve = |name: String, points: Vec<(f64, f64)>| Line { name, points };
    let over_visits = |r: f64| {
        let points =
            (1..=50).map(|visits| (f64::from(visits), exact(by_naive, visits, r).deviation));
        curve(format!("r = {r}"), points.collect())
    };
    section.plot(
        "cho-naive-spread",
        "Figure 6.3: σ/r of X/n over n",
        lines(
            "Figure 6.3: spread of X/n",
            "visits",
            "σ/r",
            &[0.3, 1.0, 3.0].map(over_visits),
        ),
    );
    let over_rates = |visits: u32| {
        let grid = (2..=50).map(|step| 0.1 * f64::from(step));
        let points = grid.map(|r| (r, exact(by_regular, visits, r).deviation));
        curve(format!("n = {visits}"), points.collect())
    };
    section.plot(
        "cho-regular-spread",
        "Figure 6.7: σ/r of Cho's estimator over r",
        lines(
            "Figure 6.7: spread of Cho's estimator",
            "r",
            "σ/r",
            &[3, 10, 20, 40].map(over_rates),
        ),
    );
    let of = |name: &str, value: fn(Spread) -> f64| {
        let points =
            (1..=50).map(|visits| (f64::from(visits), value(exact(by_regular, visits, 1.0))));
        curve(name.into(), points.collect())
    };
    section.plot(
        "cho-consistent",
        "Figure 6.8: mean and variance over n at r = 1",
        lines(
            "Figure 6.8: Cho's estimator at r = 1",
            "visits",
            "",
            &[
                of("mean", |spread| spread.mean),
                of("variance", |spread| spread.deviation.powi(2)),
            ],
        ),
    );
}

/// Figures 6.13 and 6.15, Example 6.6.
pub fn from_dates(section: &mut Section, settings: &Settings) {
    section.part(
        "Figures 6.13 and 6.15: estimates from Last-Modified dates",
        "Simulated pages, visited n times; mean of the estimate and its standard deviation as multiples of the true rate.",
    );
    const VISITS: [u32; 4] = [2, 5, 10, 40];
    let trials = settings.size(20_000, 500_000);
    let rates = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0];
    let found: Vec<Vec<Spread>> = (rates.iter())
        .map(|r| {
            VISITS
                .iter()
                .map(|visits| simulated(*visits, *r, trials, dated(*visits)))
                .collect()
        })
        .collect();
    let rows: Vec<Vec<String>> = (rates.iter().zip(&found))
        .map(|(r, found)| {
            let cells = found
                .iter()
                .map(|spread| format!("{:.3}, {:.3}", spread.mean, spread.deviation));
            [r.to_string()].into_iter().chain(cells).collect()
        })
        .collect();
    section.table(
        &["r", "n = 2: mean, σ/r", "n = 5", "n = 10", "n = 40"],
        &rows,
    );
    let curve = |place: usize| Line {
        name: format!("n = {}", VISITS[place]),
        points: rates
            .iter()
            .zip(&found)
            .map(|(r, found)| (*r, found[place].deviation))
            .collect(),
    };
    section.plot(
        "cho-dated-spread",
        "Figure 6.15: σ/r of estimates from dates, over r",
        lines(
            "Figure 6.15: spread of estimates from dates",
            "r",
            "σ/r",
            &[0, 1, 2, 3].map(curve),
        ),
    );
    let bias = found
        .iter()
        .map(|row| (row[0].mean - 1.0).abs())
        .fold(0.0, f64::max);
    section.claim(
        "Figure 6.13",
        "bias of two visits at any r",
        "< 2 %",
        format!("worst {:.1} %", 100.0 * bias),
        Verdict::of(bias < 0.02),
    );
    let falls = found
        .iter()
        .all(|row| row.is_sorted_by(|a, b| a.deviation > b.deviation));
    section.claim(
        "Figure 6.15",
        "σ/r falls as visits are added",
        "at every r",
        if falls {
            "at all six"
        } else {
            "not at all six"
        }
        .into(),
        Verdict::of(falls),
    );
    let r = 30.0 / 7.0;
    section.figure(
        "Example 6.6",
        "five monthly visits to a weekly page without dates: mean over r",
        Printed::new(0.57, 2),
        exact(by_regular, 5, r).mean,
    );
    let with = simulated(5, r, 4 * trials, dated(5));
    section.claim(
        "Example 6.6",
        "the same with dates: bias",
        "< 0.1 %",
        format!("{:.2} %", 100.0 * (with.mean - 1.0).abs()),
        Verdict::of((with.mean - 1.0).abs() < 1e-3),
    );
    section.limit(
        format!(
            "estimates from five dates are within 3 % of the truth on average ({})",
            digits(with.mean)
        ),
        (with.mean - 1.0).abs() < 0.03,
    );
}
