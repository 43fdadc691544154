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

/// `next`, and `record` of what it asks for.
fn step(scheduler: &mut SchedulerView<'_>, random: &mut Random, now: Instant) -> bool {
    let Decision::Fetch(page) = scheduler.next(now) else {
        return false;
    };
    let changed = random.below(4) == 0;
    let outcome = if changed {
        Outcome::Changed { modified_ago: None }
    } else {
        Outcome::Unchanged
    };
    scheduler.record(page, outcome, now).is_ok()
}

#[inline(never)]
fn fetches<const PAGES: usize>(meter: &mut dyn Meter) {
    const STEPS: u32 = 64;
    let mut scheduler: Scheduler<PAGES, 32> = filled(Duration::from_secs(1));
    // As a probe does it: one view for all calls.
    let mut scheduler = scheduler.as_view();
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
}

/// The clock is set back, a round ends, and all gates open, in one call.
#[inline(never)]
fn worst<const PAGES: usize, const HOSTS: usize>(meter: &mut dyn Meter) {
    let mut scheduler: Scheduler<PAGES, HOSTS> = filled(Duration::DAY);
    let mut scheduler = scheduler.as_view();
    let mut random = Random(6);
    let now = Instant::ZERO + Duration::HOUR;
    while step(&mut scheduler, &mut random, now) {}
    let _ = scheduler.set_budget(Some(RATE * PAGES as f32), now);
    // Up to the last pages of a round, at the 24 of a call that is in a hurry.
    while scheduler.next_page_to_review() + 24 <= PAGES {
        let _ = black_box(scheduler.next(now));
    }
    let later = now + Duration::DAY * 102;
    meter.measure("scheduler, the dearest call", PAGES as u32, 1, &mut || {
        let _ = black_box(scheduler.next(black_box(later)));
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
