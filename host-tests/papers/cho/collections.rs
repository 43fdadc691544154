//! Section 7.2: steady or in batches, in place or shadowed.

use dunlin_host::collect::publish::{Publish, Publishing};
use dunlin_host::simulate::repeat::Mean;
use dunlin_suite::bench::Random;
use host_tests::learn::{exponential, unit};

use super::SEED;
use crate::Settings;
use crate::page::{Printed, Section, Verdict, interval};

/// How far a simulated figure may be from the printed one.
const FROM_PRINT: f64 = 0.015;

/// How a collection is kept: the part of the month in which it is crawled, and whether copies are
/// shown only when all are there.
#[derive(Clone, Copy)]
struct Scheme {
    crawling: f64,
    shadowed: bool,
}

impl Scheme {
    /// Simulated mean freshness of pages that change `rate` times a month, after the first month.
    fn simulate(self, rate: f64, pages: usize, seed: u64) -> f64 {
        const MONTHS: u32 = 25;
        let how = match self.shadowed {
            true => Publish::Shadow,
            false => Publish::InPlace,
        };
        // The collector's own rule, once a month, when the last page has been crawled.
        let publishing = Publishing::new(how, 1.0, self.crawling);
        let mut random = Random(seed);
        let mut fresh = 0.0;
        for _ in 0..pages {
            let place = self.crawling * unit(&mut random);
            let mut change = exponential(&mut random) / rate;
            for month in 0..MONTHS {
                let taken = f64::from(month) + place;
                let shown = publishing.shown(taken);
                // The copy is up to date from when it was taken to the next change, and shown for
                // a month.
                while change <= taken {
                    change += exponential(&mut random) / rate;
                }
                if month > 0 {
                    fresh += (change - shown).clamp(0.0, 1.0);
                }
            }
        }
        fresh / (pages as f64 * f64::from(MONTHS - 1))
    }

    /// The same by formula.
    fn formula(self, rate: f64) -> f64 {
        let mean = |r: f64| (1.0 - (-r).exp()) / r;
        mean(rate)
            * if self.shadowed {
                mean(rate * self.crawling)
            } else {
                1.0
            }
    }
}

/// Table 7.1 and the second case in the text below it.
pub fn collections(section: &mut Section, settings: &Settings) {
    section.part(
        "Table 7.1: steady or batch, in place or shadowed",
        "Every page is crawled once a month: all month long, or in a batch in its first part; copies are shown at once, or all together when the \
         last is there. Each cell is simulated (Poisson changes of each page, eight seeds, with 95 % confidence intervals).",
    );
    const WEEK: f64 = 7.0 / 30.0;
    let cases = [
        ("steady, in place", 0.25, 1.0, false, 0.88),
        ("batch of a week, in place", 0.25, WEEK, false, 0.88),
        ("steady, shadowed", 0.25, 1.0, true, 0.77),
        ("batch of a week, shadowed", 0.25, WEEK, true, 0.86),
        (
            "monthly changes, batch of two weeks, in place",
            1.0,
            0.5,
            false,
            0.63,
        ),
        (
            "monthly changes, batch of two weeks, shadowed",
            1.0,
            0.5,
            true,
            0.50,
        ),
    ];
    let pages = settings.size(2_000, 100_000);
    let mut rows = Vec::new();
    let mut apart = 0.0_f64;
    let mut from_print = 0.0_f64;
    for (name, rate, crawling, shadowed, printed) in cases {
        let scheme = Scheme { crawling, shadowed };
        let seeds = (SEED..SEED + 8).map(|seed| scheme.simulate(rate, pages, seed));
        let found = Mean::of(&seeds.collect::<Vec<_>>());
        apart = apart.max((found.value - scheme.formula(rate)).abs());
        from_print = from_print.max((found.value - printed).abs());
        let printed = Printed::new(printed, 2);
        rows.push(vec![
            name.into(),
            printed.to_string(),
            format!("{:.4}", scheme.formula(rate)),
            interval(&found),
        ]);
        let place = if rate == 1.0 { "§7.2" } else { "Table 7.1" };
        section.figure(place, &format!("freshness: {name}"), printed, found.value);
    }
    section.claim(
        "§7.2",
        "all six of these, to 0.015",
        "as printed",
        format!("worst difference {from_print:.3}"),
        Verdict::of(from_print <= FROM_PRINT),
    );
    section.table(&["collection", "printed", "by formula", "simulated"], &rows);
    section.say(
        "The printed 0.77 is the square of the rounded 0.88; that of the exact 0.8848 is 0.783, which is what is simulated.",
    );
    section.limit(
        format!("simulated collections are within 0.005 of the formulas (worst: {apart:.4})"),
        apart < 0.005,
    );
    section.limit(
        format!(
            "simulated collections are within {FROM_PRINT} of the printed figures (worst: {from_print:.3})"
        ),
        from_print <= FROM_PRINT,
    );
}
