//! Freshness as the scheduler believes it, as a monitor infers it from the visits, and as it is:
//! after ten visits a page all three are the same, and so is the optimum it reports.

use dunlin::scheduler::{LargeScheduler, Outcome, Settings};
use dunlin::time::Instant;
use dunlin_host::monitor::page_stats::PageStats;
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::{Options, Policy, Step, run};

use super::worlds::world;

const GAP: f64 = 28.0 / 86_400.0;

/// A scheduler that is asked for its figures every so often, and a monitor beside it.
struct Watched {
    scheduler: LargeScheduler,
    pages: Vec<PageStats>,
    from: f64,
    next: f64,
    /// Freshness by the scheduler and by the monitor, and the optimum, summed.
    sums: [f64; 3],
    samples: f64,
}

impl Policy for Watched {
    fn next(&mut self, now: Instant) -> Step {
        let seconds = now.as_micros() as f64 * 1e-6;
        if seconds >= self.next.max(self.from) {
            self.next = seconds + 5.0;
            self.samples += 1.0;
            let seen = self.pages.iter().map(|page| page.fresh(seconds));
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
        self.pages[page as usize].visited(None, seconds, 200, Some(changed));
        Policy::record(&mut self.scheduler, page, outcome, now);
    }

    fn late_seconds(&self) -> u64 {
        0
    }
}

#[test]
fn agree_after_ten_visits_a_page() {
    for name in ["first case", "heavy tails", "equal", "clockwork", "weights"] {
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
        // Clockwork pages are fresher than Poisson pages that look the same, and only their law
        // would tell. And a monitor does not know what pages that always change have in common.
        let allowed = match name {
            "clockwork" | "heavy tails" => 0.05,
            _ => 0.03,
        };
        for (whose, figure) in [("probe", probe), ("monitor", monitor)] {
            assert!(
                (figure - server).abs() <= allowed,
                "{name}: the {whose} says {figure:.3}, the server {server:.3}"
            );
        }
        assert!(
            (optimum - best).abs() <= 0.06,
            "{name}: {optimum:.3}, {best:.3}"
        );
    }
}
