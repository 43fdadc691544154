//! Freshness as the scheduler believes it, as a monitor infers it from the visits, and as it is:
//! after ten visits a page all three are the same, and so is the optimum it reports.

use dunlin::learn::Regularity;
use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::monitor::page_stats::PageStats;
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::{Options, Policy, Step, run};

use super::worlds::{WORLDS, world};

const GAP: f64 = 28.0 / 86_400.0;
/// Seconds between two looks at the figures: no multiple of anything.
const SAMPLE: f64 = 3.7;

/// A scheduler that is asked for its figures every so often, and a monitor beside it.
struct Watched {
    scheduler: LargeScheduler,
    pages: Vec<PageStats>,
    regularity: Regularity,
    from: f64,
    next: f64,
    /// Freshness by the scheduler and by the monitor, and the optimum, summed.
    sums: [f64; 3],
    samples: f64,
}

impl Policy for Watched {
    fn next(&mut self, now: Instant) -> Step {
        let seconds = now.as_micros() as f64 * 1e-6;
        // At moments of their own: just before a fetch, where the scheduler is asked, copies are
        // older than usual. Nothing has happened since then.
        while seconds >= self.next {
            let moment = self.next;
            self.next += SAMPLE;
            if moment < self.from {
                continue;
            }
            self.samples += 1.0;
            let seen = self
                .pages
                .iter()
                .map(|page| page.fresh(&self.regularity, moment));
            let monitor = seen.sum::<f64>() / self.pages.len() as f64;
            self.sums[0] += f64::from(self.scheduler.freshness().unwrap_or(0.0));
            self.sums[1] += monitor;
            self.sums[2] += f64::from(self.scheduler.optimum().unwrap_or(0.0));
        }
        Policy::next(&mut self.scheduler, now)
    }

    fn record(&mut self, page: u32, outcome: Outcome, now: Instant) {
        let changed = matches!(outcome, Outcome::Changed { .. });
        let seconds = now.as_micros() as f64 * 1e-6;
        self.pages[page as usize].visited(&mut self.regularity, None, seconds, 200, Some(changed));
        Policy::record(&mut self.scheduler, page, outcome, now);
    }

    fn late_seconds(&self) -> u64 {
        0
    }
}

/// Of pages that have changed at nearly every visit, nobody but the server knows how soon.
fn is_too_fast(world: &str) -> bool {
    ["too fast", "daily 0.95", "daily 1.05", "daily 1.3"].contains(&world)
}

/// How far the figures may be apart.
const APART: f64 = 0.03;

#[test]
fn agree_after_ten_visits_a_page() {
    let mut missed = String::new();
    for name in WORLDS.into_iter().filter(|name| !is_too_fast(name)) {
        let mut means = [0.0; 5];
        for seed in 1..=10 {
            let mut world = world(name, GAP, 30.0, seed);
            // The monitor knows weights by name, and here there are none.
            world.pages.iter_mut().for_each(|page| page.weight = 1.0);
            let per_day = world.pages.len() as f64 / GAP;
            let options = Options {
                measured_from: 10.0 * GAP,
                ..Options::new(30.0 * GAP, seed)
            };
            let mut watched = Watched {
                scheduler: scheduler(&world, Some(per_day as f32), true, Settings::DEFAULT),
                pages: vec![PageStats::default(); world.pages.len()],
                regularity: Regularity::NONE,
                from: 10.0 * GAP * 86_400.0,
                next: 0.0,
                sums: [0.0; 3],
                samples: 0.0,
            };
            let report = run(&world, &mut watched, &options);
            let [probe, monitor, optimum] = watched.sums.map(|sum| sum / watched.samples);
            let figures = [
                report.freshness,
                probe,
                monitor,
                optimum,
                world.optimum(per_day),
            ];
            for (mean, figure) in means.iter_mut().zip(figures) {
                *mean += figure / 10.0;
            }
        }
        let [server, probe, monitor, optimum, best] = means;
        println!(
            "{name}: server {server:.3}, probe {probe:.3}, monitor {monitor:.3}; optimum {optimum:.3} of {best:.3}"
        );
        for (whose, figure) in [("probe", probe), ("monitor", monitor)] {
            if (figure - server).abs() > APART {
                missed += &format!("{name}: {whose} {figure:.3}, server {server:.3}\n");
            }
        }
        // The optimum of pages that keep to a clock is one of who knows the clock.
        if !name.starts_with("daily") && (optimum - best).abs() > 0.06 {
            missed += &format!("{name}: optimum {optimum:.3}, {best:.3}\n");
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

/// Otherwise the best there is would stand far above what a probe reaches for ever.
#[test]
fn a_page_that_was_never_there_counts_for_neither_figure() {
    let mut scheduler = LargeScheduler::new(8, 1, Settings::DEFAULT);
    let mut now = Instant::ZERO;
    let set = scheduler.set_budget(Some(80.0), now);
    assert_eq!(set, Ok(()));
    let host = scheduler.add_host(Duration::from_secs(1)).expect("room");
    for _ in 0..8 {
        let settings = PageSettings::DEFAULT.with_rate(Some(1.0));
        let added = scheduler.add_page(host, &settings, now);
        added.expect("room");
    }
    let end = now + Duration::from_days(20.0);
    let mut visits = 0;
    while now < end {
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                visits += 1;
                // Twenty visits a day to a page that is there.
                let outcome = match (page.index() % 2, visits % 20) {
                    (0, _) => Outcome::Gone,
                    (_, 0) => Outcome::Changed { modified_ago: None },
                    _ => Outcome::Unchanged,
                };
                assert_eq!(scheduler.record(page, outcome, now), Ok(()));
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => break,
        }
    }
    let fresh = scheduler.freshness().expect("a round has ended");
    let optimum = scheduler.optimum().expect("a round has ended");
    println!("{fresh:.3} of {optimum:.3}");
    assert!((0.4..0.5).contains(&fresh), "half of the pages: {fresh}");
    assert!((optimum - fresh).abs() < 0.05, "{fresh} of {optimum}");
}
