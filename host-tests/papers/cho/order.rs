//! Section 5.4: in which order to visit pages that change alike.

use dunlin::time::{Duration, Instant};
use dunlin_host::output::plot::{Line, lines};
use dunlin_host::simulate::repeat::Mean;
use dunlin_host::simulate::{Fetched, Gated, Random, Rule, rules};

use super::{SEED, SEEDS, simulated, world};
use crate::page::{Printed, Section, Verdict, digits, interval};

/// Every page once a round, in another order each round (Cho §5.4.2).
#[derive(Debug)]
struct Shuffled(Random);

impl Rule for Shuffled {
    fn first(&mut self, _: usize) -> Instant {
        Instant::ZERO + Duration::from_days(self.0.unit())
    }
    fn again(&mut self, fetched: &Fetched) -> Option<Instant> {
        let round = (fetched.due - Instant::ZERO).as_micros() / Duration::DAY.as_micros();
        Some(Instant::ZERO + Duration::DAY * (round + 1) + Duration::from_days(self.0.unit()))
    }
}

/// Table 5.2, Figure 5.10 and what the thesis reads off them.
pub fn orders(section: &mut Section) {
    section.part(
        "Table 5.2: in which order to visit",
        "Pages that all change at the rate r, each visited once a day: in a fixed order, in another order each round, and \
         purely at random. Formulas as printed beside the mean of eight simulations, with 95 % confidence intervals.",
    );
    // Not fewer in the tests: with 300 pages chance alone moves ages by more than 2 %.
    let pages = 3_000;
    let mut rows = Vec::new();
    let mut apart: f64 = 0.0;
    let mut held = 0;
    let mut at_one = Vec::new();
    for (group, r) in (0..).zip([0.5_f64, 1.0, 2.0, 5.0]) {
        let world = world(vec![r; pages]);
        let per_day = pages as f64;
        let e = (-r).exp();
        let once = (1.0 - e) / r;
        // Changes of their own for every row: with the same ones all rows would be off in the same
        // direction.
        let seed = |row: u64| SEED + SEEDS * (3 * group + row);
        let fixed = simulated(&world, 20.0, seed(0), |_| {
            Box::new(rules::uniform(&world, per_day))
        });
        let shuffled = simulated(&world, 20.0, seed(1), |seed| {
            Box::new(Gated::new(&world, per_day, Shuffled(Random(seed))))
        });
        let random = simulated(&world, 20.0, seed(2), |seed| {
            Box::new(rules::random(&world, per_day, false, seed))
        });
        let second = (1.0 - e) / (r * r);
        for (name, freshness, age, found) in [
            ("fixed", once, 0.5 - 1.0 / r + second, fixed),
            (
                "random order",
                (1.0 - once * once) / r,
                1.0 / 3.0 + (0.5 - 1.0 / r).powi(2) - second * second,
                shuffled,
            ),
            ("purely random", 1.0 / (1.0 + r), r / (1.0 + r), random),
        ] {
            let distance = |mean: Mean, formula: f64| (mean.value - formula).abs() / formula;
            apart = apart
                .max(distance(found.0, freshness))
                .max(distance(found.1, age));
            let holds = |mean: Mean, formula: f64| {
                u32::from((mean.value - formula).abs() <= mean.plus_minus.unwrap_or(0.0))
            };
            held += holds(found.0, freshness) + holds(found.1, age);
            if r == 1.0 {
                at_one.push((found.0.value, found.1.value));
            }
            rows.push(vec![
                r.to_string(),
                name.into(),
                digits(freshness),
                interval(&found.0),
                digits(age),
                interval(&found.1),
            ]);
        }
    }
    section.table(
        &[
            "r",
            "order",
            "freshness",
            "simulated",
            "age, days",
            "simulated",
        ],
        &rows,
    );
    section.limit(
        format!(
            "every simulated figure is within 2 % of its formula (worst: {:.2} %)",
            100.0 * apart
        ),
        apart < 0.02,
    );
    // Of 24 intervals of 95 %, fewer than 20 hold one time in 150.
    section.limit(
        format!("the confidence intervals hold what they should: {held} of 24 contain the formula's value"),
        held >= 20,
    );
    let best = rows
        .chunks(3)
        .all(|row| row[0][3] > row[1][3] && row[1][3] > row[2][3]);
    section.claim(
        "Table 5.2",
        "a fixed order is the freshest, random visits the stalest, at every r",
        "fixed > random order > purely random",
        format!("so in all {} simulated rows", rows.len() / 3),
        Verdict::of(best),
    );
    read_off(section, &at_one);
    plot(section);
}

/// Section 5.4.4, from simulated freshness and age at r = 1 in the order of Table 5.2.
fn read_off(section: &mut Section, at_one: &[(f64, f64)]) {
    const PLACE: &str = "§5.4.4";
    section.figure(
        PLACE,
        "freshness at r = 1 in a fixed order",
        Printed::new(0.63, 2),
        at_one[0].0,
    );
    section.figure(
        PLACE,
        "a fixed order is so much fresher than random visits at r = 1",
        Printed::percent(30.0),
        100.0 * (at_one[0].0 / at_one[2].0 - 1.0),
    );
    section.figure(
        PLACE,
        "age in a fixed order, as a share of the age in a random order, at r = 1",
        Printed::new(0.25, 2),
        at_one[0].1 / at_one[1].1,
    );
    // By the thesis' own Table 5.2 it is 0.72; a quarter is what the formulas make of visits that
    // are purely random.
    section.figure(
        PLACE,
        "the same, if purely random visits are meant",
        Printed::new(0.25, 2),
        at_one[0].1 / at_one[2].1,
    );
    let pages = 3_000;
    let fresh = |r: f64| {
        let world = world(vec![r; pages]);
        let build = |_| Box::new(rules::uniform(&world, pages as f64)) as _;
        simulated(&world, 20.0, SEED, build).0.value
    };
    // Freshness falls with r: halve the range where it crosses 0.8, on the same random numbers.
    let mut low = 0.3;
    let mut high = 0.7;
    for _ in 0..8 {
        let middle = 0.5 * (low + high);
        if fresh(middle) > 0.8 {
            low = middle;
        } else {
            high = middle;
        }
    }
    section.figure(
        PLACE,
        "r up to which a fixed order keeps freshness 0.8, by simulation",
        Printed::new(0.46, 2),
        low,
    );
    section.limit(
        format!("freshness 0.8 is reached at r = 0.464 ± 0.01 by simulation ({low:.4})"),
        (low - 0.464).abs() < 0.01,
    );
}

fn plot(section: &mut Section) {
    let mean = |r: f64| (1.0 - (-r).exp()) / r;
    let curve = |name: &str, of: &dyn Fn(f64) -> f64| Line {
        name: name.into(),
        points: (1..=100)
            .map(|step| (f64::from(step) * 0.05, of(f64::from(step) * 0.05)))
            .collect(),
    };
    let orders = [
        curve("fixed", &mean),
        curve("random order", &|r| (1.0 - mean(r) * mean(r)) / r),
        curve("purely random", &|r| 1.0 / (1.0 + r)),
    ];
    section.plot(
        "cho-orders",
        "Figure 5.10: freshness by order of visits, over r = changes for each visit",
        lines(
            "Figure 5.10: freshness by order of visits",
            "r = λ/f",
            "freshness",
            &orders,
        ),
    );
}
