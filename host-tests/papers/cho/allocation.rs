//! Section 5.5.1: equal or proportional visits to pages that change at different rates.

use dunlin::scheduler::Settings as Scheduler;
use dunlin_host::simulate::repeat::Mean;
use dunlin_host::simulate::{World, policy, rules};

use super::{SEED, simulated, world};
use crate::Settings;
use crate::page::{Section, Verdict, digits, interval};
use host_tests::learn::gamma;

/// δ², the variance of rates over their squared mean: δ = 0.25, 0.5 and 0.7.
const VARIANCES: [f64; 3] = [0.0625, 0.25, 0.49];
const RATES: [f64; 3] = [0.5, 2.0, 5.0];

/// Freshness and age by formula (Table 5.3).
struct Formula {
    uniform: (f64, f64),
    proportional: (f64, f64),
}

impl Formula {
    fn new(r: f64, variance: f64) -> Self {
        let base = 1.0 + r * variance;
        let each = (1.0 - (-r).exp()) / r;
        let rest = 1.0 - variance;
        let age = 0.5 * rest - 1.0 / r
            + (1.0 - base.powf(2.0 - 1.0 / variance)) / (r * r * (1.0 - 2.0 * variance));
        Self {
            uniform: (
                (1.0 - base.powf(1.0 - 1.0 / variance)) / (r * rest),
                age / rest,
            ),
            proportional: (each, (0.5 - 1.0 / r + each / r) / rest),
        }
    }
}

fn gamma_world(pages: usize, r: f64, variance: f64) -> World {
    let mut random = dunlin_suite::bench::Random(SEED);
    let rates = (0..pages).map(|_| r * variance * gamma(1.0 / variance, &mut random));
    world(rates.collect::<Vec<_>>())
}

fn by_uniform(world: &World) -> (Mean, Mean) {
    let per_day = world.pages.len() as f64;
    simulated(world, 20.0, SEED, |_| {
        Box::new(rules::uniform(world, per_day))
    })
}

fn by_proportion(world: &World) -> (Mean, Mean) {
    let per_day = world.pages.len() as f64;
    simulated(world, 20.0, SEED, |seed| {
        Box::new(rules::proportional(world, per_day, false, seed))
    })
}

/// Table 5.3 and Figure 5.11.
pub fn allocations(section: &mut Section, settings: &Settings) {
    table_5_3(section, settings);
    figure_5_11(section, settings);
}

fn table_5_3(section: &mut Section, settings: &Settings) {
    section.part(
        "Table 5.3: equal or proportional visits",
        "Change rates follow a gamma distribution of mean r and relative deviation δ = 0.5; as many visits a day as pages. \
         Proportional visits are never fresher than equal ones. The optimum and our scheduler are further rows. Means of eight seeds, all \
         policies on the same changes, with 95 % confidence intervals.",
    );
    let pages = settings.size(500, 5_000);
    let mut rows = Vec::new();
    let mut ordered = true;
    let mut apart = 0.0_f64;
    for r in [0.5_f64, 2.0] {
        let world = gamma_world(pages, r, 0.25);
        let per_day = pages as f64;
        let uniform = by_uniform(&world);
        let proportional = by_proportion(&world);
        let ours = simulated(&world, 20.0, SEED, |_| {
            Box::new(policy::scheduler(
                &world,
                Some(per_day as f32),
                false,
                Scheduler::DEFAULT,
            ))
        });
        let formula = Formula::new(r, 0.25);
        for (mean, formula) in [
            (uniform.0, formula.uniform.0),
            (uniform.1, formula.uniform.1),
            (proportional.0, formula.proportional.0),
            (proportional.1, formula.proportional.1),
        ] {
            apart = apart.max((mean.value - formula).abs() / formula);
        }
        for (name, formula, age_formula, (found, age)) in [
            (
                "uniform",
                digits(formula.uniform.0),
                digits(formula.uniform.1),
                uniform,
            ),
            (
                "proportional",
                digits(formula.proportional.0),
                digits(formula.proportional.1),
                proportional,
            ),
            (
                "ours (carousel)",
                format!("{:.4} (optimum)", world.optimum(per_day)),
                String::new(),
                ours,
            ),
        ] {
            rows.push(vec![
                r.to_string(),
                name.into(),
                formula,
                interval(&found),
                age_formula,
                interval(&age),
            ]);
        }
        ordered &= proportional.0.value < uniform.0.value && uniform.0.value < ours.0.value;
    }
    section.table(
        &[
            "r",
            "visits",
            "freshness, by formula",
            "simulated",
            "age, days, by formula",
            "simulated",
        ],
        &rows,
    );
    section.say(
        "Ours aims at freshness: where pages change faster than they can be visited it gives some up, which costs age (r = 2).",
    );
    section.limit("proportional < uniform < ours in freshness", ordered);
    section.limit(
        format!(
            "simulated figures are within 5 % of the formulas of Table 5.3 (worst: {:.1} %; rates are drawn, so their mean is off, too)",
            100.0 * apart
        ),
        apart < 0.05,
    );
}

fn figure_5_11(section: &mut Section, settings: &Settings) {
    section.part(
        "Figure 5.11: proportional against equal visits",
        "Both ratios are below 1 where equal visits are better. Simulated as above; proportional ages hang on pages that are visited once \
         in weeks, so they are simulated up to δ = 0.5 only.",
    );
    let pages = settings.size(300, 3_000);
    let mut rows = Vec::new();
    let mut below = true;
    let mut falls = true;
    let mut apart = 0.0_f64;
    let mut by_rate = Vec::new();
    for r in RATES {
        let mut before = 1.0;
        for variance in VARIANCES {
            let world = gamma_world(pages, r, variance);
            let uniform = by_uniform(&world);
            let proportional = by_proportion(&world);
            let formula = Formula::new(r, variance);
            let fresh = proportional.0.value / uniform.0.value;
            let fresh_formula = formula.proportional.0 / formula.uniform.0;
            let old_formula = formula.uniform.1 / formula.proportional.1;
            let old = (variance <= 0.25).then(|| uniform.1.value / proportional.1.value);
            below &= fresh < 1.0 && old.is_none_or(|old| old < 1.0);
            falls &= fresh < before;
            before = fresh;
            apart = apart.max((fresh / fresh_formula - 1.0).abs());
            if variance == 0.25 {
                by_rate.push((fresh, old.unwrap_or(0.0)));
            }
            rows.push(vec![
                r.to_string(),
                format!("{}", variance.sqrt()),
                digits(fresh_formula),
                digits(fresh),
                digits(old_formula),
                old.map_or_else(String::new, digits),
            ]);
        }
    }
    section.table(
        &[
            "r",
            "δ",
            "F proportional / F uniform, by formula",
            "simulated",
            "A uniform / A proportional, by formula",
            "simulated",
        ],
        &rows,
    );
    section.claim(
        "Figure 5.11",
        "equal visits are better by both measures for any r and δ",
        "ratios < 1",
        format!("largest simulated ratio {}", largest(&rows)),
        Verdict::of(below),
    );
    section.claim(
        "Figure 5.11",
        "the more rates differ (δ), the more equal visits gain",
        "the ratio of freshness falls with δ",
        if falls {
            "so at every r"
        } else {
            "not at every r"
        }
        .into(),
        Verdict::of(falls),
    );
    let change = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = by_rate.iter().map(of).collect();
        let high = values.iter().copied().fold(0.0, f64::max);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        100.0 * (high / low - 1.0)
    };
    let fresh = change(|row| row.0);
    let old = change(|row| row.1);
    section.claim(
        "Figure 5.11",
        "over r the ratio of ages changes little, that of freshness much",
        "ages < freshness",
        format!("from r = 0.5 to 5 at δ = 0.5: ages {old:.1} %, freshness {fresh:.1} %"),
        Verdict::of(old < fresh),
    );
    section.limit(
        format!(
            "ratios of simulated freshness are within 3 % of the formula (worst: {:.1} %)",
            100.0 * apart
        ),
        apart < 0.03,
    );
}

fn largest(rows: &[Vec<String>]) -> String {
    let simulated = rows.iter().flat_map(|row| [&row[3], &row[5]]);
    simulated.max().cloned().unwrap_or_default()
}
