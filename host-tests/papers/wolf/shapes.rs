//! Wolf's Figure 9: pages whose changes follow a Pareto law, by its shape.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::model::{Change, ChangeModel, Objective, Pareto};
use dunlin::plan::PlanPage;
use dunlin::time::Duration;
use dunlin_host::output::plot::lines;
use dunlin_host::simulate::repeat::parallel;
use dunlin_host::simulate::{
    Change as Process, Options, SimHost, SimPage, World, rules, run as simulate,
};

use super::{MEAN, SEED, by_optimum, by_share, curves, table};
use crate::Settings;
use crate::page::{Section, Verdict};

/// Adds Figure 9: equal pages, and then the schemes.
pub fn figure_9(section: &mut Section, settings: &Settings) {
    equal_pages(section, settings);
    schemes(section, settings);
}

fn equal_pages(section: &mut Section, settings: &Settings) {
    section.part(
        "Figure 9: Pareto pages by shape",
        "Pages that change 1.5 times a day with a Pareto law of shape α, crawled 2.5 times. In print staleness *rises* as tails become \
         heavier. With the stationary law that the paper derives in §2 it *falls*: heavy tails mean bursts, and a copy that \
         misses a burst is stale only once. The printed trend comes out if a copy is taken to be stale with probability 1 − Ḡ(t), \
         as if a change came with every crawl. Simulated pages side with the stationary law.",
    );
    let shapes = [1.2, 1.5, 2.0, 2.5, 3.0, 4.0];
    let gap = 1.0 / 2.5;
    let stationary = |shape: f64| Pareto::new(MEAN, shape).cost(Objective::Freshness, gap);
    // 1 − (1/L) ∫₀ᴸ Ḡ, with Ḡ(t) = (β/(β+t))^α.
    let ordinary = |shape: f64| {
        let scale = (shape - 1.0) / MEAN;
        1.0 - scale / (gap * (shape - 1.0)) * (1.0 - (scale / (scale + gap)).powf(shape - 1.0))
    };
    let pages = settings.size(1_000, 10_000);
    let simulated = parallel(shapes.len(), |job| {
        let page = SimPage {
            host: 0,
            weight: 1.0,
            mean_rate: MEAN,
            change: Process::pareto(MEAN, shapes[job]),
        };
        let world = World {
            pages: vec![page; pages],
            hosts: vec![SimHost::new(Duration::ZERO)],
            ..World::default()
        };
        let options = Options {
            measured_from: 2.0,
            ..Options::new(22.0, SEED)
        };
        1.0 - simulate(
            &world,
            &mut rules::uniform(&world, 2.5 * pages as f64),
            &options,
        )
        .freshness
    });
    let names = ["stationary law (ours)", "simulated", "1 − Ḡ(t)"];
    let columns = vec![
        shapes.map(stationary).to_vec(),
        simulated,
        shapes.map(ordinary).to_vec(),
    ];
    table(section, "α", &names, &shapes, &columns);
    section.plot(
        "wolf-9",
        "Figure 9: staleness of Pareto pages by shape, both readings",
        lines(
            "Figure 9: Pareto pages",
            "α",
            "staleness",
            &curves(&names, &shapes, &columns),
        ),
    );
    section.limit(
        "equal pages: the stationary law falls towards heavy tails, the other reading rises",
        columns[0].is_sorted() && columns[2].is_sorted_by(|a, b| a > b),
    );
    let apart = columns[0]
        .iter()
        .zip(&columns[1])
        .map(|(law, found)| (law - found).abs() / law)
        .fold(0.0, f64::max);
    section.limit(
        format!(
            "simulation agrees with the stationary law to 3 % at every α (worst: {:.1} %)",
            100.0 * apart
        ),
        apart < 0.03,
    );
}

const SHAPES: [f64; 7] = [1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0];
const NAMES: [&str; 3] = ["optimal", "uniform", "proportional"];

/// Optimal, uniform and proportional crawls of pages with Zipf's rates, by both readings.
fn schemes(section: &mut Section, settings: &Settings) {
    let pages = settings.size(2_000, 20_000);
    section.say(&format!(
        "The paper's three schemes on {pages} Pareto pages with rates by Zipf's law, R/N = 2.5, computed. In print α goes on towards 0; at 1 and below a Pareto law has \
         no mean, so that there is no rate. The range of the other axis is not in the text. First with the stationary law:"
    ));
    let mut rates: Vec<f64> = (1..=pages).map(|rank| 1.0 / rank as f64).collect();
    let scale = MEAN * pages as f64 / rates.iter().sum::<f64>();
    rates.iter_mut().for_each(|rate| *rate *= scale);
    let stationary = parallel(SHAPES.len(), |job| {
        let shape = SHAPES[job];
        let page = |rate: &f64| PlanPage::new(1.0, Change::Pareto { rate: *rate, shape });
        let list: Vec<PlanPage<'_, f64>> = rates.iter().map(page).collect();
        [
            by_optimum(&list, &list, 2.5),
            by_share(&list, |_| 1.0, 2.5),
            by_share(&list, |page| rates[page], 2.5),
        ]
    });
    let printed = parallel(SHAPES.len(), |job| Renewed(SHAPES[job]).schemes(&rates));
    let columns = |rows: &[[f64; 3]]| -> Vec<Vec<f64>> {
        [0, 1, 2]
            .map(|scheme| rows.iter().map(|row| row[scheme]).collect())
            .to_vec()
    };
    let ours = columns(&stationary);
    let theirs = columns(&printed);
    table(section, "α", &NAMES, &SHAPES, &ours);
    section.say("And with 1 − Ḡ(t) in its place:");
    table(section, "α", &NAMES, &SHAPES, &theirs);
    for (file, title, columns) in [
        (
            "wolf-9-schemes",
            "Figure 9: three schemes, stationary law",
            &ours,
        ),
        (
            "wolf-9-renewed",
            "Figure 9: three schemes, 1 − Ḡ(t)",
            &theirs,
        ),
    ] {
        section.plot(
            file,
            title,
            lines(title, "α", "staleness", &curves(&NAMES, &SHAPES, columns)),
        );
    }
    claims(section, "stationary law", &ours);
    claims(section, "1 − Ḡ(t)", &theirs);
    let ordered = |columns: &[Vec<f64>]| {
        columns[0]
            .iter()
            .zip(&columns[1])
            .zip(&columns[2])
            .all(|((a, b), c)| a < b && b < c)
    };
    section.limit(
        "Figure 9: optimal < uniform < proportional at every α with the stationary law",
        ordered(&ours),
    );
}

fn claims(section: &mut Section, reading: &str, columns: &[Vec<f64>]) {
    const PLACE: &str = "Figure 9";
    let rising = columns
        .iter()
        .filter(|column| column.is_sorted_by(|a, b| a > b))
        .count();
    section.claim(
        PLACE,
        &format!("staleness rises as α falls, for all three schemes ({reading})"),
        "exponentially below 2",
        format!(
            "for {rising} of 3; the optimum is {:.4} at 4, {:.4} at 2, {:.4} at 1.1",
            columns[0][6], columns[0][3], columns[0][0]
        ),
        Verdict::of(rising == 3),
    );
    let change = |from: usize, to: usize| columns[0][to] / columns[0][from] - 1.0;
    let flat = change(6, 3).abs() < 0.1;
    let rises = change(3, 0) > change(6, 3).abs();
    section.claim(
        PLACE,
        &format!("from 4 to 2 the optimum is rather flat, below 2 it rises ({reading})"),
        "\"rather flat\", taken as a tenth; then more",
        format!(
            "{:+.0} % from 4 to 2, {:+.0} % from 2 to 1.1",
            100.0 * change(6, 3),
            100.0 * change(3, 0)
        ),
        match (flat, rises) {
            (true, true) => Verdict::Holds,
            (false, false) => Verdict::Fails,
            _ => Verdict::Near,
        },
    );
    let ahead = columns[0]
        .iter()
        .zip(&columns[1])
        .zip(&columns[2])
        .all(|((a, b), c)| a < b && b < c);
    section.claim(
        PLACE,
        &format!("optimal is ahead of uniform, and uniform of proportional ({reading})"),
        "at every α",
        if ahead {
            "at all seven"
        } else {
            "not at all seven"
        }
        .into(),
        Verdict::of(ahead),
    );
}

/// Pareto pages of this shape, read as if a change came with every crawl.
struct Renewed(f64);

impl Renewed {
    /// Staleness after `crawls` at even gaps of a day that begins with a fresh copy.
    fn staleness(&self, rate: f64, crawls: f64) -> f64 {
        let gap = 1.0 / (crawls + 1.0);
        let shape = self.0;
        let scale = (shape - 1.0) / rate;
        1.0 - scale / (gap * (shape - 1.0)) * (1.0 - (scale / (scale + gap)).powf(shape - 1.0))
    }

    fn schemes(&self, rates: &[f64]) -> [f64; 3] {
        let count = rates.len() as f64;
        let sum: f64 = rates.iter().sum();
        let mean = |crawls: &dyn Fn(f64) -> f64| {
            let stale = rates
                .iter()
                .map(|rate| self.staleness(*rate, crawls(*rate)));
            stale.sum::<f64>() / count
        };
        [
            self.optimum(rates),
            mean(&|_| 2.5),
            mean(&|rate| 2.5 * count * rate / sum),
        ]
    }

    /// Crawl by crawl to where the next one gains most; gains fall, so that this is the optimum.
    fn optimum(&self, rates: &[f64]) -> f64 {
        let gain = |page: usize, crawls: u32| {
            let crawls = f64::from(crawls);
            self.staleness(rates[page], crawls) - self.staleness(rates[page], crawls + 1.0)
        };
        // Ordered by bits: the gains are positive numbers, for which that is their order.
        let entry =
            |page: usize, crawls: u32| (gain(page, crawls).to_bits(), Reverse(page), crawls);
        let mut heap: BinaryHeap<_> = (0..rates.len()).map(|page| entry(page, 0)).collect();
        let mut counts = vec![0; rates.len()];
        for _ in 0..(2.5 * rates.len() as f64) as u32 {
            let Some((_, Reverse(page), crawls)) = heap.pop() else {
                break;
            };
            counts[page] = crawls + 1;
            heap.push(entry(page, crawls + 1));
        }
        let stale = rates
            .iter()
            .zip(&counts)
            .map(|(rate, crawls)| self.staleness(*rate, f64::from(*crawls)));
        stale.sum::<f64>() / rates.len() as f64
    }
}
