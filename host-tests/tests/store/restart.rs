//! After a restart the scheduler goes on as if nothing had happened.

use std::fmt::Write as _;

use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

const PAGES: usize = 4_000;
const HOSTS: usize = 100;
/// The probe may make so many fetches a day.
const BUDGET: f32 = 4_000.0;
const GAP: Duration = Duration::from_secs(15);
/// Days until the power goes, and days that are watched after it.
const BEFORE: u64 = 15;
const AFTER: u64 = 1;
/// How long the device is off.
const OFF: Duration = Duration::from_secs(300);

/// When each page changes.
fn world() -> Vec<Vec<Instant>> {
    let mut random = Random(5);
    let mut unit = || f64::from(random.unit()).max(1e-9);
    (0..PAGES)
        .map(|_| {
            let normal = (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
            let rate = 0.5 * (1.2 * normal).exp();
            let mut changes = Vec::new();
            let mut days = 0.0;
            while days < (BEFORE + AFTER) as f64 {
                days += -unit().ln() / rate;
                changes.push(Instant::ZERO + Duration::from_days(days));
            }
            changes
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Power {
    /// The power never goes.
    Stays,
    /// It goes, and the device knows the date soon after.
    GoesWithClock,
    /// It goes, and the device never learns for how long.
    GoesWithout,
    /// It goes, and nothing was kept.
    GoesWithAll,
}

fn empty(now: Instant) -> LargeScheduler {
    let mut scheduler = LargeScheduler::new(PAGES, HOSTS, Settings::DEFAULT);
    scheduler.set_budget(Some(BUDGET), now).expect("a budget");
    let hosts = [(); HOSTS].map(|()| scheduler.add_host(GAP).expect("room"));
    for host in hosts.iter().cycle().take(PAGES) {
        scheduler
            .add_page(*host, &PageSettings::DEFAULT, now)
            .expect("room");
    }
    scheduler
}

/// A scheduler that is told what another one knew, by a clock that starts again at zero.
fn restarted(before: &LargeScheduler, cut: Instant, power: Power) -> LargeScheduler {
    let now = Instant::ZERO;
    let mut scheduler = empty(now);
    for host in (0..HOSTS).filter_map(|index| before.host_id(index)) {
        if power != Power::GoesWithAll {
            let memo = before.host_memo(host).expect("a host");
            scheduler.restore_host(host, &memo, now).expect("a host");
        }
        scheduler.close_until(host, now + GAP).expect("a host");
    }
    if power == Power::GoesWithAll {
        return scheduler;
    }
    scheduler.restore_price(before.price());
    scheduler.restore_trust(before.trust());
    for page in (0..PAGES).filter_map(|index| before.page_id(index)) {
        let Some(last) = before.last_fetch(page) else {
            continue;
        };
        let estimate = before.page_memo(page).expect("a page");
        // Without a clock, at least as long ago as when the power went.
        let certain = power == Power::GoesWithClock;
        let ago = cut - last + if certain { OFF } else { Duration::ZERO };
        scheduler
            .restore_page(page, estimate, ago, certain, now)
            .expect("a page");
    }
    scheduler
}

/// Mean freshness of each hour after the power went.
fn hours(world: &[Vec<Instant>], power: Power) -> Vec<f64> {
    let cut = Instant::ZERO + Duration::DAY * BEFORE;
    let mut scheduler = empty(Instant::ZERO);
    let mut fetched = vec![None; PAGES];
    crawl(
        &mut scheduler,
        world,
        &mut fetched,
        Duration::ZERO,
        Instant::ZERO,
        cut,
    );
    let mut offset = Duration::ZERO;
    let mut now = cut;
    if power != Power::Stays {
        scheduler = restarted(&scheduler, cut, power);
        now = cut + OFF;
        offset = now - Instant::ZERO;
    }
    let mut hours = Vec::new();
    for hour in 1..=24 * AFTER {
        let mut fresh = 0.0;
        for look in 1..=6 {
            let until = cut + Duration::HOUR * (hour - 1) + Duration::from_secs(600 * look);
            crawl(&mut scheduler, world, &mut fetched, offset, now, until);
            now = until;
            fresh += freshness(world, &fetched, now) / 6.0;
        }
        hours.push(fresh);
    }
    hours
}

/// The scheduler's clock is `offset` behind the world's.
fn crawl(
    scheduler: &mut LargeScheduler,
    world: &[Vec<Instant>],
    fetched: &mut [Option<Instant>],
    offset: Duration,
    from: Instant,
    until: Instant,
) {
    let mut now = from;
    while now < until {
        match scheduler.next(now - offset) {
            Decision::Fetch(page) => {
                let index = page.index();
                let changed = fetched[index].is_none_or(|last| changes(&world[index], last, now));
                fetched[index] = Some(now);
                let outcome = if changed {
                    Outcome::Changed { modified_ago: None }
                } else {
                    Outcome::Unchanged
                };
                scheduler
                    .record(page, outcome, now - offset)
                    .expect("in flight");
            }
            Decision::WaitUntil(then) => now = then + offset,
            Decision::Idle => now = until,
        }
    }
}

fn changes(changes: &[Instant], after: Instant, until: Instant) -> bool {
    let next = changes.partition_point(|change| *change <= after);
    changes.get(next).is_some_and(|change| *change <= until)
}

fn freshness(world: &[Vec<Instant>], fetched: &[Option<Instant>], now: Instant) -> f64 {
    let fresh = |(page, last): (&Vec<Instant>, &Option<Instant>)| {
        last.is_some_and(|last| !changes(page, last, now))
    };
    world
        .iter()
        .zip(fetched)
        .filter(|pair| fresh(*pair))
        .count() as f64
        / PAGES as f64
}

#[test]
fn freshness_is_back_within_an_hour() {
    let world = world();
    let whole = hours(&world, Power::Stays);
    let mut table = String::new();
    let mut least = |power: Power| {
        let shares: Vec<f64> = hours(&world, power)
            .iter()
            .zip(&whole)
            .map(|(after, whole)| after / whole)
            .collect();
        let least = shares[1..].iter().copied().fold(f64::INFINITY, f64::min);
        let mean = shares[1..].iter().sum::<f64>() / (shares.len() - 1) as f64;
        writeln!(
            table,
            "{power:?}: first hour {:.4}, then at least {least:.4}, {mean:.4} on average",
            shares[0]
        )
        .expect("text");
        least
    };
    let with = least(Power::GoesWithClock);
    let without = least(Power::GoesWithout);
    let nothing = least(Power::GoesWithAll);
    print!("freshness beside that of the same days without a power cut\n{table}");
    assert!(with >= 0.99 && without >= 0.99, "{table}");
    assert!(
        nothing < 0.99,
        "the test sees no difference between knowing and not knowing:\n{table}"
    );
}
