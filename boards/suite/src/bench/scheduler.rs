//! The scheduler: what a fetch costs, and what the dearest call does.

use core::hint::black_box;

use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, SchedulerView, Settings};
use dunlin::time::{Duration, Instant};

use super::{Meter, Random};

/// Fetches a page and day.
const RATE: f32 = 4.0;

/// A scheduler with pages spread over all hosts, of which it knows nothing yet.
fn filled<const PAGES: usize, const HOSTS: usize>(gap: Duration) -> Scheduler<PAGES, HOSTS> {
    let mut scheduler = Scheduler::new(Settings::DEFAULT);
    let hosts: [_; HOSTS] = core::array::from_fn(|_| scheduler.add_host(gap));
    for host in hosts.iter().cycle().take(PAGES).flatten() {
        let _ = scheduler.add_page(*host, &PageSettings::DEFAULT, Instant::ZERO);
    }
    scheduler
}

/// `next`, and `record` of what it asks for, by the owner of the tables or by a view of them.
macro_rules! step {
    ($scheduler:expr, $random:expr, $now:expr) => {{
        match $scheduler.next($now) {
            Decision::Fetch(page) => {
                let outcome = if $random.below(4) == 0 {
                    Outcome::Changed { modified_ago: None }
                } else {
                    Outcome::Unchanged
                };
                $scheduler.record(page, outcome, $now).is_ok()
            }
            _ => false,
        }
    }};
}

/// As a probe does it: one view for all calls.
fn step(scheduler: &mut SchedulerView<'_>, random: &mut Random, now: Instant) -> bool {
    step!(scheduler, random, now)
}

#[inline(never)]
fn fetches<const PAGES: usize>(meter: &mut dyn Meter) {
    const STEPS: u32 = 64;
    let mut owner: Scheduler<PAGES, 32> = filled(Duration::from_secs(1));
    let mut scheduler = owner.as_view();
    let mut random = Random(5);
    let mut now = Instant::ZERO;
    let per_day = RATE * PAGES as f32;
    let _ = scheduler.set_budget(Some(per_day), now);
    let interval = Duration::from_days(1.001 / per_day);
    for _ in 0..4 * PAGES {
        now += interval;
        step(&mut scheduler, &mut random, now);
    }
    let mut fetched = 0;
    meter.measure(
        "scheduler next+record, 32 hosts",
        PAGES as u32,
        STEPS,
        &mut || {
            for _ in 0..STEPS {
                now += interval;
                fetched += u32::from(step(&mut scheduler, &mut random, now));
            }
        },
    );
    assert!(fetched > STEPS / 2, "{fetched} of {STEPS}");
    // What a scheduler without queues would do for `next` alone.
    let due: [u32; PAGES] = core::array::from_fn(|_| random.next_u32());
    meter.measure(
        "a scan for the page due first",
        PAGES as u32,
        1,
        &mut || {
            black_box(
                black_box(&due)
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, due)| **due),
            );
        },
    );
    meter.measure(
        "scheduler next with nothing to do",
        PAGES as u32,
        STEPS,
        &mut || {
            for _ in 0..STEPS {
                let _ = black_box(scheduler.next(now));
            }
        },
    );
    // The same by calls of the owner, which makes a view for each.
    meter.measure(
        "scheduler next+record by its owner",
        PAGES as u32,
        STEPS,
        &mut || {
            for _ in 0..STEPS {
                now += interval;
                fetched += u32::from(step!(owner, random, now));
            }
        },
    );
    assert!(fetched > STEPS, "{fetched} of {}", 2 * STEPS);
}

/// What comes up for all pages or hosts at once: the clock is set back, all gates open, a round
/// ends, the time of day is told. Each is spread over calls, or the only work of its call.
#[inline(never)]
fn worst<const PAGES: usize, const HOSTS: usize>(meter: &mut dyn Meter) {
    let mut scheduler: Scheduler<PAGES, HOSTS> = filled(Duration::DAY);
    let mut scheduler = scheduler.as_view();
    let size = PAGES as u32;
    let mut random = Random(6);
    let mut now = Instant::ZERO + Duration::HOUR;
    while step(&mut scheduler, &mut random, now) {}
    let _ = scheduler.set_budget(Some(RATE * PAGES as f32), now);
    // Up to the last pages of a round, at the 24 of a call that is in a hurry.
    while scheduler.next_page_to_review() + 24 <= PAGES {
        let _ = black_box(scheduler.next(now));
    }
    now += Duration::DAY * 102;
    let mut next = |name, now| {
        meter.measure(name, size, 1, &mut || {
            let _ = black_box(scheduler.next(black_box(now)));
        });
    };
    next("scheduler, the dearest call: the clock is set back", now);
    next("scheduler, the dearest call: all gates open", now);
    // A page of a gate that has opened is fetched. With its outcome the last pages of the round are
    // reviewed, and the first of its hosts.
    let Decision::Fetch(page) = scheduler.next(now) else {
        return;
    };
    let name = "scheduler, the dearest call: a round ends";
    meter.measure(name, size, 1, &mut || {
        let _ = black_box(scheduler.record(page, Outcome::Unchanged, black_box(now)));
    });
}

pub fn scheduler(meter: &mut dyn Meter) {
    fetches::<64>(meter);
    fetches::<256>(meter);
    fetches::<1024>(meter);
    fetches::<4096>(meter);
    worst::<1024, 32>(meter);
    worst::<4096, 512>(meter);
}
