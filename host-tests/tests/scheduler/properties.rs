//! Millions of random operations, each checked by the model.

use dunlin::polite::GateSettings;
use dunlin::scheduler::{Decision, Engine, Outcome, PageSettings, Scheduler, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

use crate::long;
use crate::model::{Checked, HOSTS, PAGES};

const OPERATIONS: u32 = 4_000;

fn case(seed: u64) {
    let mut random = Random(seed);
    let engine = if seed.is_multiple_of(2) {
        Engine::Index
    } else {
        Engine::Carousel
    };
    let settings = Settings::DEFAULT
        .with_engine(engine)
        .with_burst(random.below(5) as u16)
        .with_gate(GateSettings::DEFAULT.with_gap_from_end(random.below(3) == 0))
        .with_fetch_without_clock(random.below(3) == 0)
        .with_seed(random.next_u32());
    let mut checked = Checked::new(settings);
    // Half the cases start with a full house, the others grow.
    if seed % 4 < 2 {
        (0..HOSTS).for_each(|_| checked.add_host(Duration::from_secs(5)));
        (0..PAGES)
            .for_each(|page| checked.add_page(page % HOSTS, &Default::default(), Instant::ZERO));
    }
    (0..OPERATIONS).for_each(|_| checked.operate(&mut random));
    checked.drain();
}

#[test]
fn polite_within_budget_and_nothing_lost() {
    let cases = if long() { 10_000 } else { 400 };
    for seed in 0..cases {
        // The seed of a failure is what reproduces it.
        if let Err(panic) = std::panic::catch_unwind(|| case(seed)) {
            eprintln!("case {seed} of {cases} failed; `case({seed})` alone reproduces it");
            std::panic::resume_unwind(panic);
        }
    }
}

/// One request a day: one that was handed over before it was made is made at the other host at
/// once, however often that happens, and the next one a day later.
#[test]
fn what_is_handed_over_costs_the_budget_nothing() {
    /// Times are kept in ticks, which are shorter than this.
    const TICK: Duration = Duration::from_millis(10);
    let mut scheduler: Scheduler<1, 2> = Scheduler::new(Settings::DEFAULT.with_burst(1));
    let start = Instant::ZERO;
    let hosts = [1, 2].map(|seconds| {
        let added = scheduler.add_host(Duration::from_secs(seconds));
        added.expect("there is room")
    });
    let added = scheduler.add_page(hosts[0], &PageSettings::DEFAULT, start);
    let page = added.expect("there is room");
    scheduler.set_budget(Some(1.0), start).expect("a budget");
    let mut now = start;
    for to in [hosts[1], hosts[0], hosts[1]] {
        assert_eq!(scheduler.next(now), Decision::Fetch(page));
        scheduler.hand_over(page, to, now).expect("in flight");
        now += TICK;
    }
    assert_eq!(scheduler.next(now), Decision::Fetch(page));
    let changed = Outcome::Changed { modified_ago: None };
    scheduler.record(page, changed, now).expect("in flight");
    let almost = now + Duration::DAY - Duration::HOUR;
    assert!(!matches!(scheduler.next(almost), Decision::Fetch(_)));
}
