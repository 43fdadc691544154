//! What exploring costs. A visit is exploration if what is believed of its page does not make it
//! worth its price: a short look at a page that seems to change too fast, a visit that such a page
//! is given for want of evidence, or one that renews an old belief. What it costs is its price, for
//! which the visit would have gone to another page, less what it was worth by the page's true rate.

use std::fmt::Write;

use dunlin::math::h;
use dunlin::plan::worth::Belief;
use dunlin::scheduler::{LargeScheduler, Outcome, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::repeat::parallel;
use dunlin_host::simulate::{Options, Policy, Step, World, run};

use super::worlds::world;

const GAP: f64 = 28.0 / 86_400.0;
const VISITS: f64 = 100.0;
const SEEDS: usize = 6;
/// A visit is fetched up to a sixteenth of a gap early, and its value grows with the square of the
/// gap.
const WORTH_IT: f64 = 0.8;
/// Even gaps up to which a visit is a look, and from which on it renews a belief.
const LOOK: f64 = 0.75;
const RENEWAL: f64 = 4.0;

const LOOKS: usize = 0;
const DOUBTS: usize = 1;
const RENEWALS: usize = 2;

/// A scheduler whose visits are judged by the true rates.
struct Judged<'a> {
    scheduler: LargeScheduler,
    world: &'a World,
    last: Vec<Option<Instant>>,
    visits: f64,
    /// Visits of each kind, and what they cost in weight × days.
    explored: [[f64; 2]; 3],
}

impl Judged<'_> {
    fn judge(&mut self, page: u32, now: Instant) {
        self.visits += 1.0;
        let before = self.last[page as usize].replace(now);
        let id = self.scheduler.page_id(page as usize).expect("a page");
        let belief = self.scheduler.estimate(id).expect("a page");
        let Some(before) = before else { return };
        let days: f64 = (now - before).as_days();
        let truth = &self.world.pages[page as usize];
        let price = f64::from(self.scheduler.price());
        let believed = Belief {
            shape: belief.shape(),
            time: belief.time(),
        };
        let value = f64::from(believed.value(truth.weight as f32, days as f32));
        if value >= WORTH_IT * price {
            return;
        }
        let kind = if days <= LOOK * GAP {
            LOOKS
        } else if days < RENEWAL * GAP {
            DOUBTS
        } else {
            RENEWALS
        };
        let worth = truth.weight / truth.mean_rate * h(truth.mean_rate * days);
        let [visits, cost] = &mut self.explored[kind];
        *visits += 1.0;
        *cost += price - worth;
    }
}

impl Policy for Judged<'_> {
    fn next(&mut self, now: Instant) -> Step {
        Policy::next(&mut self.scheduler, now)
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        self.judge(page, now);
        Policy::record(&mut self.scheduler, page, outcome, now);
    }

    fn late_seconds(&self) -> u64 {
        0
    }
}

/// Per cent of the visits of each kind, and what they cost, in per cent of the freshness.
fn explored(name: &str, seed: u64) -> [[f64; 2]; 3] {
    let world = world(name, GAP, VISITS, seed);
    let per_day = world.pages.len() as f64 / GAP;
    let mut judged = Judged {
        scheduler: scheduler(&world, Some(per_day as f32), true, Settings::DEFAULT),
        world: &world,
        last: vec![None; world.pages.len()],
        visits: 0.0,
        explored: [[0.0; 2]; 3],
    };
    let days = VISITS * GAP;
    let options = Options {
        fetch_time: Duration::from_micros(1),
        ..Options::new(days, seed)
    };
    let fresh = run(&world, &mut judged, &options).freshness;
    let weight: f64 = world.pages.iter().map(|page| page.weight).sum();
    judged.explored.map(|[visits, cost]| {
        [
            100.0 * visits / judged.visits,
            100.0 * cost / (weight * days * fresh),
        ]
    })
}

#[test]
fn costs_little_freshness() {
    // The worlds whose pages change by chance, so that a visit's true worth is known; and how much
    // of its freshness each may cost at the most, in per cent.
    let worlds = [
        ("two pages", 1.5),
        ("few", 1.5),
        ("first case", 1.5),
        ("many", 1.5),
        ("heavy tails", 2.0),
        ("equal", 1.0),
        ("many hosts", 1.0),
        ("weights", 1.0),
    ];
    let mut table = format!(
        "{:<13}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "world", "looks %", "cost %", "doubts %", "cost %", "old %", "cost %", "all %"
    );
    let mut missed = String::new();
    for (name, most) in worlds {
        let runs = parallel(SEEDS, |index| explored(name, index as u64 + 1));
        let mean = |kind: usize, what: usize| {
            runs.iter().map(|run| run[kind][what]).sum::<f64>() / SEEDS as f64
        };
        write!(table, "{name:<13}").unwrap();
        for kind in [LOOKS, DOUBTS, RENEWALS] {
            write!(table, "{:>9.2}{:>9.2}", mean(kind, 0), mean(kind, 1)).unwrap();
        }
        let all: f64 = [LOOKS, DOUBTS, RENEWALS]
            .map(|kind| mean(kind, 1))
            .iter()
            .sum();
        writeln!(table, "{all:>9.2}").unwrap();
        if all > most {
            writeln!(missed, "{name}: {all:.2} %").unwrap();
        }
    }
    println!("{table}");
    assert!(missed.is_empty(), "{missed}");
    insta::assert_snapshot!(table);
}
