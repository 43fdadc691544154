//! Cho's chapter 6: examples, biases and figures, computed rather than read off the plots.

use dunlin::learn::{Classes, LastModified, Visit, irregular, naive, regular};
use dunlin::math::Real;
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use host_tests::learn::gamma;

fn hours(intervals: &[(u64, bool)]) -> Vec<Visit> {
    intervals
        .iter()
        .map(|(hours, changed)| Visit::new(Duration::HOUR * *hours, *changed))
        .collect()
}

#[test]
fn example_6_1_six_changes_in_ten_days() {
    assert_eq!(naive(6, 10.0_f64), Some(0.6));
    let rate = regular(10, 6, 1.0_f64).unwrap();
    assert!((rate - 0.847).abs() < 5e-4, "{rate}");
}

#[test]
fn example_6_5_irregular_visits() {
    let visits = hours(&[(6, true), (4, false), (3, true), (7, false)]);
    let per_20_hours = irregular::<f64>(visits.into_iter()).unwrap() * 20.0 / 24.0;
    assert!((per_20_hours - 2.666).abs() < 5e-4, "{per_20_hours}");
}

#[test]
fn irregular_reduces_to_the_uncorrected_regular_one_at_equal_intervals() {
    for (changed, unchanged) in [(1, 9), (6, 4), (9, 1), (999, 1)] {
        let day = |changed| Visit::new(Duration::DAY, changed);
        let visits = std::iter::repeat_n(day(true), changed)
            .chain(std::iter::repeat_n(day(false), unchanged));
        let expected = ((changed + unchanged) as f64 / unchanged as f64).ln();
        let rate = irregular::<f64>(visits).unwrap();
        assert!(
            (rate / expected - 1.0).abs() < 1e-9,
            "{changed} of {}: {rate} not {expected}",
            changed + unchanged
        );
    }
}

#[test]
fn bayesian_steps_of_section_6_6() {
    let rates = [1.0 / 7.0, 1.0 / 30.0];
    let mut weights = [0.0_f64; 2];
    let mut page = Classes::new(&rates, &mut weights).unwrap();
    for (weekly, monthly) in [(0.77, 0.23), (0.92, 0.08)] {
        page.update(&Visit::new(Duration::DAY * 5, true));
        assert!((page.probability(0) - weekly).abs() < 5e-3);
        assert!((page.probability(1) - monthly).abs() < 5e-3);
    }
}

/// The probability of `x` of `n` visits finding a change of a page that changes `r` times a visit.
fn binomial(n: u32, x: u32, r: f64) -> f64 {
    let ln_factorial = |k: u32| Real::ln_gamma(f64::from(k) + 1.0);
    let changed = -(-r).exp_m1();
    (ln_factorial(n) - ln_factorial(x) - ln_factorial(n - x) + f64::from(x) * changed.ln()
        - f64::from(n - x) * r)
        .exp()
}

fn expected_ratio(n: u32, r: f64, estimate: impl Fn(u32) -> f64) -> f64 {
    (0..=n)
        .map(|x| binomial(n, x, r) * estimate(x))
        .sum::<f64>()
        / r
}

#[test]
fn figure_6_2_bias_of_the_naive_estimator() {
    for n in [3, 10, 50] {
        for r in [0.01, 0.1, 0.21, 0.5, 1.0, 2.0, 5.0, 10.0] {
            let ratio = expected_ratio(n, r, |x| naive(x, f64::from(n)).unwrap());
            assert!(
                (ratio - (1.0 - (-r).exp()) / r).abs() < 1e-9,
                "n = {n}, r = {r}: {ratio}"
            );
        }
    }
    // "smaller than 10 % when the frequency ratio is smaller than 0.21"
    assert!(expected_ratio(10, 0.21, |x| naive(x, 10.0).unwrap()) > 0.9);
}

#[test]
fn figure_6_6_where_the_regular_estimator_is_within_ten_percent() {
    for (n, largest) in [(20, 3.5), (80, 5.0)] {
        for step in 1..50 {
            let r = largest * f64::from(step) / 50.0;
            let ratio = expected_ratio(n, r, |x| regular(n, x, 1.0).unwrap());
            assert!((ratio - 1.0).abs() < 0.1, "n = {n}, r = {r}: {ratio}");
        }
    }
}

/// E[r̂]/r of an estimator that uses dates, after two visits, by integrating over when the changes
/// happened.
fn two_dated_visits(r: f64, estimate: impl Fn(&[Visit; 2]) -> f64) -> f64 {
    const STEPS: u32 = 300;
    let unchanged = (-r).exp();
    let dated = |u: f64| {
        let ago = -Real::ln_1p(-u * (1.0 - unchanged)) / r;
        Visit::new(Duration::DAY, true).modified(Duration::from_days(ago))
    };
    let quiet = Visit::new(Duration::DAY, false);
    let middle = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
    let mut sum = unchanged * unchanged * estimate(&[quiet, quiet]);
    for first in 0..STEPS {
        let change = dated(middle(first));
        sum += 2.0 * unchanged * (1.0 - unchanged) * estimate(&[quiet, change]) / f64::from(STEPS);
        for second in 0..STEPS {
            let share = (1.0 - unchanged) * (1.0 - unchanged) / f64::from(STEPS * STEPS);
            sum += share * estimate(&[change, dated(middle(second))]);
        }
    }
    sum / r
}

#[test]
fn figure_6_13_two_dated_visits_are_within_two_percent() {
    let corrected = |visits: &[Visit; 2]| {
        let mut page = LastModified::<f64>::new();
        visits.iter().for_each(|visit| assert!(page.update(visit)));
        page.rate().unwrap()
    };
    for r in [0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0] {
        let ratio = two_dated_visits(r, corrected);
        assert!((ratio - 1.0).abs() < 0.02, "r = {r}: {ratio}");
    }
    // Figure 6.12: without the correction, twice the truth for pages that change often.
    let uncorrected = |visits: &[Visit; 2]| {
        let changes = visits.iter().filter(|visit| visit.changed).count() as f64;
        changes
            / visits
                .iter()
                .map(|visit| {
                    visit
                        .modified_ago
                        .unwrap_or(visit.interval)
                        .as_days::<f64>()
                })
                .sum::<f64>()
    };
    assert!(two_dated_visits(8.0, uncorrected) > 1.9);
}

#[test]
fn figure_6_16_three_visits_classify_four_pages_in_five() {
    let rates = [1.0 / 7.0, 1.0 / 30.0];
    for (class, rate) in rates.iter().enumerate() {
        let mut right = 0.0;
        for outcome in 0_u32..8 {
            let mut weights = [0.0_f64; 2];
            let mut page = Classes::new(&rates, &mut weights).unwrap();
            for visit in 0..3 {
                page.update(&Visit::new(Duration::DAY * 10, outcome >> visit & 1 == 1));
            }
            if page.likeliest() == class {
                let changed = 1.0 - (-rate * 10.0_f64).exp();
                let changes = outcome.count_ones() as i32;
                right += changed.powi(changes) * (1.0 - changed).powi(3 - changes);
            }
        }
        assert!(right > 0.8, "class {class}: {right}");
    }
}

#[test]
fn figure_6_18_less_biased_than_naive_for_gamma_distributed_gaps() {
    const VISITS: u32 = 40_000;
    for shape in [0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8] {
        let mut random = Random(618);
        // One change and one visit a day on average; visits are at whole days.
        let mut at = 0.0;
        let mut last_day = -1.0;
        let mut changes = 0;
        while at < f64::from(VISITS) {
            at += gamma(shape, &mut random) / shape;
            if at.floor() > last_day && at < f64::from(VISITS) {
                last_day = at.floor();
                changes += 1;
            }
        }
        let naive = naive(changes, f64::from(VISITS)).unwrap();
        let ours = regular(VISITS, changes, 1.0).unwrap();
        assert!(
            (ours - 1.0).abs() < (naive - 1.0).abs(),
            "shape {shape}: ours {ours}, naive {naive}"
        );
    }
}
