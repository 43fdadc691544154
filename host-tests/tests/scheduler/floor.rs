//! Learning from nothing: in no world of the published set is the scheduler below round robin, in
//! no unit of time, and not for a host that pretends to change all the time.
//!
//! *Not below* means: the whole 95 % interval of the difference, over paired seeds, is above −0.5 %
//! of round robin's freshness. Worlds that chance treats differently need more seeds for that than
//! others, so each is given seeds until its interval is clear of −0.5 %, or until it has had as
//! many as there may be, which counts as a failure. (Looking at an interval several times makes it
//! a little too narrow; a world at −0.5 % sharp would pass once in some ten sets of seeds. The
//! seeds are fixed, so that a run says the same as the one before.)
//!
//! The ordinary run takes all worlds up to 30 visits a page, and up to 1,000 those with few pages;
//! `DUNLIN_LONG=1` takes all, and more seeds.

use std::fmt::Write;

use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{Change, Options, PolicyName, World, run};

use super::long;
use super::restart::Restarting;
use super::worlds::{WORLDS, freshness, freshness_of, log_normal, world};

/// Half a minute between visits of a page.
const GAP: f64 = 28.0 / 86_400.0;
/// How far below round robin, in per cent, is not below.
const TOLERANCE: f64 = -0.5;
/// Visits of all pages and seeds that a world is given at the most before it counts as below: where
/// pages keep to a clock, the phase that a round robin happens to have decides over a whole run.
const MOST_EFFORT: f64 = 2e7;
/// Visits of all pages in one run, above which a world waits for `DUNLIN_LONG=1`, from the longer
/// horizons on.
const MOST_VISITS: f64 = 6e3;
/// For how many visits a page each world is watched.
const HORIZONS: [f64; 5] = [3.0, 10.0, 30.0, 100.0, 1_000.0];

struct Row {
    ours: f64,
    round_robin: f64,
    known: f64,
    /// Per cent of round robin, with the half width of its 95 % interval.
    ahead: f64,
    plus_minus: f64,
    seeds: usize,
}

impl Row {
    /// Of runs under the scheduler that learns, round robin, and the scheduler that knows.
    fn of(runs: &[[f64; 3]]) -> Self {
        let mean =
            |of: &dyn Fn(&[f64; 3]) -> f64| Mean::of(&runs.iter().map(of).collect::<Vec<_>>());
        let round_robin = mean(&|run| run[1]).value;
        let difference = mean(&|run| 100.0 * (run[0] - run[1]) / round_robin);
        Self {
            ours: mean(&|run| run[0]).value,
            round_robin,
            known: mean(&|run| run[2]).value,
            ahead: difference.value,
            plus_minus: difference.plus_minus.unwrap_or(f64::INFINITY),
            seeds: runs.len(),
        }
    }

    fn is_above(&self) -> bool {
        self.ahead - self.plus_minus > TOLERANCE
    }
}

/// Paired seeds: the same changes under every policy. As many as `effort` visits allow, and then
/// twice as many again and again while chance leaves open whether the world is below.
fn compare(name: &str, visits: f64, effort: f64) -> Row {
    compare_with(name, visits, effort, |world, seed| {
        freshness(world, PolicyName::Carousel, true, GAP, visits, seed)
    })
}

/// The same for another policy than the scheduler that is never interrupted.
fn compare_with(
    name: &str,
    visits: f64,
    effort: f64,
    ours: impl Fn(&World, u64) -> f64 + Sync,
) -> Row {
    let pages = world(name, GAP, visits, 1).pages.len() as f64;
    let mut seeds = (effort / (pages * visits)).ceil().clamp(6.0, 400.0) as usize;
    let mut runs: Vec<[f64; 3]> = Vec::new();
    loop {
        let begin = runs.len();
        runs.extend(parallel(seeds - begin, |more| {
            let seed = (begin + more) as u64 + 1;
            let world = world(name, GAP, visits, seed);
            let of = |policy, learn| freshness(&world, policy, learn, GAP, visits, seed);
            [
                ours(&world, seed),
                of(PolicyName::Uniform, true),
                of(PolicyName::Carousel, false),
            ]
        }));
        let row = Row::of(&runs);
        seeds *= 2;
        if row.is_above() || pages * visits * seeds as f64 > MOST_EFFORT {
            return row;
        }
    }
}

#[test]
fn never_below_round_robin() {
    let effort = if long() { 2e5 } else { 2e4 };
    let mut table = format!(
        "{:<13}{:>7}{:>8}{:>13}{:>8}{:>9}{:>7}{:>7}\n",
        "world", "visits", "ours", "round robin", "known", "ahead %", "±", "seeds"
    );
    let mut missed = String::new();
    let mut means = String::new();
    for visits in HORIZONS {
        let mut sum = 0.0;
        let mut worlds = 0.0;
        for name in WORLDS {
            let pages = world(name, GAP, visits, 1).pages.len() as f64;
            if visits >= 100.0 && pages * visits > MOST_VISITS && !long() {
                continue;
            }
            worlds += 1.0;
            let row = compare(name, visits, effort);
            writeln!(
                table,
                "{name:<13}{visits:>7}{:>8.4}{:>13.4}{:>8.4}{:>9.2}{:>7.2}{:>7}",
                row.ours, row.round_robin, row.known, row.ahead, row.plus_minus, row.seeds
            )
            .unwrap();
            sum += row.ahead;
            if !row.is_above() {
                let Row {
                    ahead, plus_minus, ..
                } = row;
                writeln!(
                    missed,
                    "{name}, {visits} visits: {ahead:.2} ± {plus_minus:.2} %"
                )
                .unwrap();
            }
        }
        let mean = sum / worlds;
        writeln!(
            means,
            "{visits:>5} visits a page: ahead by {mean:.2} % on average"
        )
        .unwrap();
        if visits >= 10.0 && mean <= 0.0 {
            writeln!(missed, "{visits} visits: {mean:.2} % on average").unwrap();
        }
    }
    table += &means;
    println!("{table}");
    assert!(missed.is_empty(), "{missed}");
    if !long() {
        insta::assert_snapshot!(table);
    }
}

/// They say nothing of how much faster they change than they are visited: beliefs that climbed for
/// ever would drift apart in the end.
#[test]
fn pages_that_have_always_changed_go_on_sharing_evenly() {
    for seed in [5, 9, 13] {
        const VISITS: f64 = 1_000.0;
        let world = world("daily 1.3", GAP, VISITS, seed);
        let per_day = world.pages.len() as f64 / GAP;
        let mut policy = PolicyName::Carousel.build(&world, per_day, true, seed);
        let options = Options {
            fetch_time: Duration::from_micros(1),
            ..Options::new(VISITS * GAP, seed)
        };
        let report = run(&world, &mut *policy, &options);
        let even = VISITS * world.pages.len() as f64 / world.hosts.len() as f64;
        for fetches in report.host_fetches {
            let share = f64::from(fetches) / even;
            assert!((0.97..1.03).contains(&share), "{share:.3}, seed {seed}");
        }
    }
}

#[test]
fn nor_after_restarts() {
    let mut missed = String::new();
    // Worlds where trust in pages' records has to stay low, and two where it has to stay high.
    let worlds = [
        "daily 0.1",
        "daily 0.3",
        "daily 0.6",
        "some days",
        "first case",
        "heavy tails",
    ];
    // One restart after ten visits a page; one after each two visits.
    for every in [10.0_f64, 2.0] {
        let visits = 3.0 * every.max(5.0);
        for name in worlds {
            let row = compare_with(name, visits, 1e5, |world, seed| {
                let mut policy = Restarting::new(world, GAP, every, every < 5.0);
                freshness_of(world, &mut policy, GAP, visits, seed)
            });
            let whole = compare(name, visits, 1e5);
            println!(
                "{name}, {visits} visits, a restart after {every}: {:.4}, round robin {:.4}, ahead by {:.2} ± {:.2} % \
                 ({:.2} % without a restart)",
                row.ours, row.round_robin, row.ahead, row.plus_minus, whole.ahead
            );
            if !row.is_above() {
                writeln!(
                    missed,
                    "{name}, restart after {every}: {:.2} ± {:.2} %",
                    row.ahead, row.plus_minus
                )
                .unwrap();
            }
            if row.ahead < whole.ahead - 1.0 - row.plus_minus {
                writeln!(
                    missed,
                    "{name}, restart after {every}: {:.2} %, and {:.2} % without",
                    row.ahead, whole.ahead
                )
                .unwrap();
            }
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn the_same_world_in_seconds_and_in_days_is_the_same() {
    // Mean gaps of half a minute to three weeks: the clock's steps are 8 ms, its memory 203 days.
    let seconds = [28.0, 300.0, 3_600.0, 36_000.0, 200_000.0, 2_000_000.0];
    // Few pages are seen more often, to be as sure of them.
    for (name, seeds) in [("first case", 40_u64), ("heavy tails", 6)] {
        let runs: Vec<Vec<f64>> = seconds
            .iter()
            .map(|seconds| {
                let gap = seconds / 86_400.0;
                (1..=seeds)
                    .map(|seed| {
                        let world = world(name, gap, 60.0, seed);
                        freshness(&world, PolicyName::Carousel, true, gap, 60.0, seed)
                    })
                    .collect()
            })
            .collect();
        for (seconds, run) in seconds.iter().zip(&runs) {
            let differences: Vec<f64> = run.iter().zip(&runs[0]).map(|(a, b)| a - b).collect();
            let difference = Mean::of(&differences);
            println!(
                "{name}, a visit every {seconds} s: {:+.4} beside seconds",
                difference.value
            );
            // Visits stop on whole steps of the clock, so that runs part soon; means stay.
            assert!(
                difference.value.abs() < 0.003,
                "{name}, {seconds} s: {difference:?}"
            );
        }
    }
}

/// For how many fetches' time a scheduler has nothing to do once its budget is 64 times as large,
/// so that it allows a fetch every so many seconds.
fn idle(seconds: f64) -> f64 {
    const PAGES: usize = 200;
    const MORE: f64 = 64.0;
    let mut scheduler = LargeScheduler::new(PAGES, 1, Settings::DEFAULT.with_burst(1));
    let mut now = Instant::ZERO;
    let per_day = 86_400.0 / seconds;
    let set = scheduler.set_budget(Some((per_day / MORE) as f32), now);
    assert_eq!(set, Ok(()));
    let host = scheduler.add_host(Duration::ZERO).expect("room");
    for _ in 0..PAGES {
        let added = scheduler.add_page(host, &PageSettings::DEFAULT, now);
        added.expect("room");
    }
    let mut fetches = 0;
    let mut begin: Option<Instant> = None;
    loop {
        match scheduler.next(now) {
            Decision::Fetch(_) if let Some(begin) = begin => {
                let waited: f64 = (now - begin).as_days();
                return waited * per_day;
            }
            Decision::Fetch(page) => {
                let outcome = if page.index() % 2 == 0 {
                    Outcome::Changed { modified_ago: None }
                } else {
                    Outcome::Unchanged
                };
                assert_eq!(scheduler.record(page, outcome, now), Ok(()));
                fetches += 1;
                if fetches == 4 * PAGES {
                    let set = scheduler.set_budget(Some(per_day as f32), now);
                    assert_eq!(set, Ok(()));
                    begin = Some(now);
                }
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => panic!("there is always a page"),
        }
    }
}

#[test]
fn prices_are_corrected_as_fast_in_any_unit_of_time() {
    for seconds in [0.5, 60.0, 18_000.0, 180_000.0] {
        let idle = idle(seconds);
        println!("a fetch every {seconds} s: idle for {idle:.2} of them");
        assert!(idle < 5.0, "{seconds} s: {idle}");
    }
}

#[test]
fn the_first_case_is_above_round_robin_and_near_the_optimum() {
    // Minutes 5 to 15 of 28 pages that change every 5 to 300 s, at a request a second.
    let runs: Vec<[f64; 2]> = (1..=20)
        .map(|seed| {
            let world = world("first case", GAP, 33.0, seed);
            let options = Options {
                measured_from: 300.0 / 86_400.0,
                fetch_time: Duration::from_millis(10),
                ..Options::new(900.0 / 86_400.0, seed)
            };
            let best = world.optimum(86_400.0);
            [PolicyName::Carousel, PolicyName::Uniform].map(|policy| {
                let mut policy = policy.build(&world, 86_400.0, true, seed);
                run(&world, &mut *policy, &options).freshness / best
            })
        })
        .collect();
    let mean = |of: usize| runs.iter().map(|run| run[of]).sum::<f64>() / runs.len() as f64;
    println!("{:.4} of the optimum, round robin {:.4}", mean(0), mean(1));
    assert!(mean(0) >= mean(1), "{} against {}", mean(0), mean(1));
    assert!(mean(0) >= 0.98, "{}", mean(0));
}

#[test]
fn pages_that_change_at_every_visit_cost_the_others_nothing() {
    let gap = 10.0 / 86_400.0;
    let runs: Vec<[f64; 2]> = (1..=20)
        .map(|seed| {
            // 32 pages on four hosts, of which one is never the same.
            let mut world = log_normal(32, 4, 1.0, 0.3 / gap, seed);
            for page in world.pages.iter_mut().filter(|page| page.host == 0) {
                page.mean_rate = 1e3 / gap;
                page.change = Change::Poisson(page.mean_rate);
            }
            let options = Options {
                measured_from: 10.0 * gap,
                fetch_time: Duration::from_micros(1),
                ..Options::new(42.0 * gap, seed)
            };
            let [ours, theirs] = [PolicyName::Carousel, PolicyName::Uniform].map(|policy| {
                let mut policy = policy.build(&world, 32.0 / gap, true, seed);
                run(&world, &mut *policy, &options)
            });
            let share = f64::from(ours.host_fetches[0]) / ours.fetches as f64;
            // A quarter of the pages is never fresh.
            [share, (ours.freshness - theirs.freshness) / 0.75]
        })
        .collect();
    let mean = |of: usize| runs.iter().map(|run| run[of]).sum::<f64>() / runs.len() as f64;
    println!(
        "a quarter of the pages takes {:.3} of the requests, the others gain {:+.4}",
        mean(0),
        mean(1)
    );
    assert!(mean(0) <= 0.25, "{}", mean(0));
    assert!(mean(1) >= -0.01, "{}", mean(1));
}

#[test]
fn a_host_takes_no_more_than_the_share_it_is_allowed() {
    let gap = 10.0 / 86_400.0;
    let share = |allowed: f32| {
        // The pages of one host change at a good pace, the others hardly ever.
        let mut world = log_normal(32, 4, 0.5, 0.01 / gap, 3);
        for page in world.pages.iter_mut().filter(|page| page.host == 0) {
            page.mean_rate = 1.0 / gap;
            page.change = Change::Poisson(page.mean_rate);
        }
        let options = Options {
            measured_from: 50.0 * gap,
            fetch_time: Duration::from_micros(1),
            ..Options::new(200.0 * gap, 1)
        };
        let settings = Settings::DEFAULT.with_host_share(allowed);
        let mut policy = scheduler(&world, Some((32.0 / gap) as f32), true, settings);
        let report = run(&world, &mut policy, &options);
        f64::from(report.host_fetches[0]) / report.fetches as f64
    };
    let free = share(1.0);
    let held = share(0.3);
    println!("{free:.3} of the fetches, {held:.3} with a cap of 0.3");
    assert!(free > 0.5, "the cap would not be felt: {free}");
    assert!(held < 0.33, "{held}");
}
