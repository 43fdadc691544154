//! Every law against its definition, integrated numerically; quasi-deterministic pages against all
//! choices.

use dunlin::model::quasi::{
    Update, choose, choose_for_long_run, choose_greedily, costs, long_run_costs,
};
use dunlin::model::{ChangeModel, Objective, Pareto, Poisson, Weibull};
use dunlin::weight::{click_chances, embarrassment};
use dunlin_suite::bench::Random;

const OBJECTIVES: [Objective; 3] = [Objective::Freshness, Objective::Age, Objective::Harmonic];

/// `∫₀ᴸ f` by Simpson's rule in √t, where every law here is smooth enough.
fn integral(to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: i32 = 4_000;
    let width = to.sqrt() / f64::from(STEPS);
    let term = |k: i32| {
        let root = width * f64::from(k);
        2.0 * root
            * f(root * root)
            * if k == 0 || k == STEPS {
                1.0
            } else if k % 2 == 1 {
                4.0
            } else {
                2.0
            }
    };
    (0..=STEPS).map(term).sum::<f64>() * width / 3.0
}

fn check(name: &str, law: &dyn ChangeModel<f64>, tail: &dyn Fn(f64) -> f64) {
    let rate = law.rate();
    for gap in [0.003, 0.04, 0.3, 1.0, 4.0] {
        let near = |what: &str, found: f64, expected: f64| {
            assert!(
                (found - expected).abs() < 1e-5 * expected + 1e-12,
                "{name}, gap {gap}: {what} {found}, expected {expected}"
            );
        };
        near("stale", law.stale(gap), rate * integral(gap, tail));
        near("density", law.density(gap), rate * tail(gap));
        near(
            "value",
            law.value(Objective::Freshness, gap),
            integral(gap, |t| t * rate * tail(t)),
        );
        near(
            "value of harmonic",
            law.value(Objective::Harmonic, gap),
            integral(gap, |t| law.stale(t)),
        );
        near(
            "value of age",
            law.value(Objective::Age, gap),
            integral(gap, |t| t * law.stale(t)),
        );
        let staleness = integral(gap, |t| law.stale(t)) / gap;
        near("staleness", law.cost(Objective::Freshness, gap), staleness);
        near(
            "age",
            law.cost(Objective::Age, gap),
            integral(gap, |t| (gap - t) * law.stale(t)) / gap,
        );
        // ∫₀ᴸ (1 − S(u))/u du is smooth in ln u.
        near(
            "harmonic",
            law.harmonic(gap),
            integral(gap, |t| if t > 0.0 { law.stale(t) / t } else { rate }),
        );
        for objective in OBJECTIVES {
            let price = law.value(objective, gap);
            if law.value_slope(objective, gap) * gap > 1e-6 * price {
                near("gap of its price", law.gap(objective, price), gap);
            }
        }
    }
    for objective in OBJECTIVES {
        for crawls in [0, 1, 5, 50] {
            let cost = |crawls: u32| law.cost(objective, 1.0 / f64::from(crawls + 1));
            let found = law.drop(objective, crawls);
            let expected = cost(crawls) - cost(crawls + 1);
            assert!(
                (found - expected).abs() < 1e-7 * cost(0),
                "{name}, {objective:?}, {crawls}: {found} {expected}"
            );
            assert!(
                law.drop(objective, crawls + 1) <= found,
                "{name}: gains must not rise"
            );
        }
    }
}

#[test]
fn laws_meet_their_definitions() {
    for rate in [0.2, 1.0, 7.0] {
        check("poisson", &Poisson::new(rate), &|t: f64| (-rate * t).exp());
        for shape in [0.5, 0.8, 1.0, 1.7, 3.0] {
            let gamma = [
                (0.5, 2.0),
                (0.8, 1.133_003_096),
                (1.0, 1.0),
                (1.7, 0.892_244_411),
                (3.0, 0.892_979_512),
            ];
            let mean: f64 = gamma.iter().find(|(at, _)| *at == shape).unwrap().1;
            check(
                &format!("weibull {shape}"),
                &Weibull::new(rate, shape),
                &|t: f64| (-(rate * mean * t).powf(shape)).exp(),
            );
        }
        for shape in [1.05, 1.2, 1.5, 2.0, 3.0, 8.0, 20.0] {
            let scale = (shape - 1.0) / rate;
            check(
                &format!("pareto {shape}"),
                &Pareto::new(rate, shape),
                &|t: f64| (scale / (scale + t)).powf(shape),
            );
        }
    }
}

#[test]
fn single_precision_follows_for_every_law() {
    for rate in [0.01_f32, 1.0, 300.0] {
        for shape in [1.3_f32, 2.5] {
            let pairs: [(&dyn ChangeModel<f32>, &dyn ChangeModel<f64>); 3] = [
                (&Poisson::new(rate), &Poisson::new(f64::from(rate))),
                (
                    &Weibull::new(rate, shape),
                    &Weibull::new(f64::from(rate), f64::from(shape)),
                ),
                (
                    &Pareto::new(rate, shape),
                    &Pareto::new(f64::from(rate), f64::from(shape)),
                ),
            ];
            for (single, double) in pairs {
                for objective in OBJECTIVES {
                    for crawls in [0, 3, 100, 10_000] {
                        let found = f64::from(single.drop(objective, crawls));
                        let expected = double.drop(objective, crawls);
                        assert!(
                            found > 0.0 && (found / expected - 1.0).abs() < 2e-4,
                            "{rate} {shape} {objective:?} {crawls}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

fn random_updates(random: &mut Random) -> Vec<Update<f64>> {
    let mut updates: Vec<_> = (0..1 + random.below(9))
        .map(|_| Update {
            offset: f64::from(random.unit()),
            probability: f64::from(random.unit()),
        })
        .collect();
    updates.sort_by(|a, b| a.offset.total_cmp(&b.offset));
    updates
}

/// Staleness by Eq. 18 with the width of the interval, for crawls on a set of updates.
fn staleness(updates: &[Update<f64>], crawled: u32) -> f64 {
    let mut fresh = 1.0;
    let mut sum = 0.0;
    for (j, update) in updates.iter().enumerate() {
        fresh = if crawled >> j & 1 == 1 {
            1.0
        } else {
            fresh * (1.0 - update.probability)
        };
        let next = updates.get(j + 1).map_or(1.0, |next| next.offset);
        sum += (next - update.offset) * (1.0 - fresh);
    }
    sum
}

#[test]
fn quasi_costs_are_exact_and_convex() {
    let mut random = Random(21);
    for _ in 0..400 {
        let updates = random_updates(&mut random);
        let count = updates.len();
        let mut best = vec![f64::INFINITY; count + 1];
        for crawled in 0..1_u32 << count {
            let place = &mut best[crawled.count_ones() as usize];
            *place = place.min(staleness(&updates, crawled));
        }
        let mut found = vec![0.0; count + 1];
        let mut scratch = vec![0.0; count];
        assert_eq!(
            costs(&updates, Objective::Freshness, &mut found, &mut scratch),
            count + 1
        );
        for (found, best) in found.iter().zip(&best) {
            assert!((found - best).abs() < 1e-12, "{found} {best}");
        }
        for objective in [Objective::Freshness, Objective::Age] {
            costs(&updates, objective, &mut found, &mut scratch);
            for three in found.windows(3) {
                assert!(
                    three[0] - three[1] >= three[1] - three[2] - 1e-12,
                    "{found:?}"
                );
            }
        }
        // The times that go with a cost, and Wolf's greedy ones.
        for crawls in 1..=count {
            let mut times = vec![0; crawls];
            let mut rows = vec![0.0; crawls * count];
            assert_eq!(
                choose(&updates, Objective::Freshness, &mut times, &mut rows),
                crawls
            );
            let mask = |times: &[u16]| times.iter().fold(0, |mask, j| mask | 1 << j);
            assert!((staleness(&updates, mask(&times)) - best[crawls]).abs() < 1e-12);
            let greedy = choose_greedily(&updates, Objective::Freshness, &mut times);
            assert!((staleness(&updates, mask(&times)) - greedy).abs() < 1e-12);
            // Of what crawls can save, greed gets 1 − 1/e at least.
            assert!(
                best[0] - greedy >= (1.0 - (-1.0_f64).exp()) * (best[0] - best[crawls]) - 1e-12
            );
        }
    }
}

/// The same where every interval has these crawls: the second interval of two.
fn long_run_staleness(updates: &[Update<f64>], crawled: u32) -> f64 {
    let mut fresh = 0.0;
    let mut sum = 0.0;
    for round in 0..2 {
        for (j, update) in updates.iter().enumerate() {
            fresh = if crawled >> j & 1 == 1 {
                1.0
            } else {
                fresh * (1.0 - update.probability)
            };
            let next = updates
                .get(j + 1)
                .map_or(1.0 + updates[0].offset, |next| next.offset);
            sum += f64::from(round) * (next - update.offset) * (1.0 - fresh);
        }
    }
    sum
}

#[test]
fn long_run_costs_know_the_night_and_are_the_lowest_mix() {
    let mut random = Random(22);
    let mut beyond_one_interval = 0;
    for _ in 0..400 {
        let updates = random_updates(&mut random);
        let count = updates.len();
        let mut best = vec![f64::INFINITY; count + 1];
        best[0] = 1.0;
        for crawled in 1..1_u32 << count {
            let place = &mut best[crawled.count_ones() as usize];
            *place = place.min(long_run_staleness(&updates, crawled));
        }
        // Below every line between two of them.
        let mixed = |at: usize| {
            let below = (0..=at).flat_map(|low| (at..=count).map(move |high| (low, high)));
            below.fold(best[at], |least, (low, high)| {
                let share = (at - low) as f64 / (high - low).max(1) as f64;
                least.min(best[low] + share * (best[high] - best[low]))
            })
        };
        let mut found = vec![0.0; count + 1];
        let mut rotated = updates.clone();
        let mut scratch = vec![0.0; 2 * count + 1];
        let freshness = Objective::Freshness;
        let filled = long_run_costs(&updates, freshness, &mut found, &mut rotated, &mut scratch);
        assert_eq!(filled, count + 1);
        for (crawls, found) in found.iter().enumerate() {
            let expected = mixed(crawls);
            assert!(
                (found - expected).abs() < 1e-12,
                "{crawls}: {found} {expected}"
            );
        }
        for (crawls, best) in best.iter().enumerate().skip(1) {
            let mut times = vec![0; crawls];
            let mut rows = vec![0.0; crawls * (count + 1)];
            let chosen =
                choose_for_long_run(&updates, freshness, &mut times, &mut rotated, &mut rows);
            assert_eq!(chosen, crawls);
            assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
            let mask = |times: &[u16]| times.iter().fold(0, |mask, j| mask | 1 << j);
            assert!((long_run_staleness(&updates, mask(&times)) - best).abs() < 1e-12);
            let mut rows = vec![0.0; crawls * count];
            choose(&updates, freshness, &mut times, &mut rows);
            let of_one_interval = long_run_staleness(&updates, mask(&times));
            beyond_one_interval += usize::from(of_one_interval > best + 0.01);
        }
        long_run_costs(
            &updates,
            Objective::Age,
            &mut found,
            &mut rotated,
            &mut scratch,
        );
        for three in found.windows(3) {
            assert!(
                three[0] - three[1] >= three[1] - three[2] - 1e-12,
                "{found:?}"
            );
        }
    }
    // Otherwise the choice of one interval would do.
    assert!(beyond_one_interval > 100, "{beyond_one_interval}");
}

#[test]
fn a_day_of_many_updates_loses_little_by_where_its_crawls_begin() {
    let mut random = Random(23);
    for count in [24, 40] {
        let mut worst: f64 = 0.0;
        for _ in 0..30 {
            let mut updates: Vec<_> = (0..count)
                .map(|_| Update {
                    offset: f64::from(random.unit()),
                    probability: f64::from(random.unit()),
                })
                .collect();
            updates.sort_by(|a, b| a.offset.total_cmp(&b.offset));
            // Every update as the first.
            let mut exact = vec![f64::INFINITY; count];
            let mut scratch = vec![0.0; 2 * count + 1];
            for first in 0..count {
                let start = updates[first].offset;
                let others = updates[first + 1..].iter().chain(&updates[..first]);
                let seen = |update: &Update<f64>| Update {
                    offset: (update.offset - start).rem_euclid(1.0),
                    ..*update
                };
                let others: Vec<_> = others.map(seen).collect();
                let mut row = vec![0.0; count];
                costs(&others, Objective::Freshness, &mut row, &mut scratch);
                for (exact, found) in exact.iter_mut().zip(&row) {
                    *exact = exact.min(*found);
                }
            }
            let mut found = vec![0.0; count + 1];
            let mut rotated = updates.clone();
            let freshness = Objective::Freshness;
            long_run_costs(&updates, freshness, &mut found, &mut rotated, &mut scratch);
            for (found, exact) in found[1..].iter().zip(&exact) {
                worst = worst.max(found - exact);
            }
        }
        assert!(worst < 0.02, "{count}: {worst}");
    }
}

#[test]
fn scratch_that_is_too_short_is_refused() {
    let updates = [Update {
        offset: 0.5,
        probability: 1.0,
    }; 2];
    assert_eq!(
        costs(&updates, Objective::Freshness, &mut [0.0; 3], &mut [0.0]),
        0
    );
    assert_eq!(
        choose(&updates, Objective::Freshness, &mut [0; 2], &mut [0.0; 3]),
        0
    );
    let mut rotated = updates;
    let mut scratch = [0.0; 5];
    let freshness = Objective::Freshness;
    let (scratch, short) = scratch.split_at_mut(4);
    assert_eq!(
        long_run_costs(&updates, freshness, &mut [0.0; 3], &mut rotated, scratch),
        0
    );
    assert_eq!(
        long_run_costs(&updates, freshness, &mut [0.0; 3], &mut [], scratch),
        0
    );
    assert_eq!(
        choose_for_long_run(&updates, freshness, &mut [0; 2], &mut rotated, short),
        0
    );
}

/// Wolf §5: 5 result pages of 10, Zipf (θ = 0), 0.8 to go on.
#[test]
fn embarrassment_follows_wolf() {
    let mut clicks = [0.0; 50];
    click_chances(10, 0.0, 0.8, &mut clicks);
    let harmonic: f64 = (1..=50).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, click) in clicks.iter().enumerate() {
        let expected = 0.8_f64.powi(rank as i32 / 10) / (rank as f64 + 1.0) / harmonic;
        assert!((click - expected).abs() < 1e-12);
    }
    let mut shown = [0.0; 50];
    shown[3] = 0.5;
    shown[20] = 0.25;
    let expected = 0.7 * (0.5 * clicks[3] + 0.25 * clicks[20]);
    assert!((embarrassment(0.7, &clicks, &shown) - expected).abs() < 1e-15);
    let mut flat = [0.0_f64; 10];
    click_chances(10, 1.0, 0.8, &mut flat);
    assert!(flat.iter().all(|click| (click - 0.1).abs() < 1e-15));
}
