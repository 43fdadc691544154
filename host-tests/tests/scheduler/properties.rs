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

/// How long after a visit that came half a gap late the next one is due, in gaps.
fn wait_after_a_late_visit(engine: Engine) -> f64 {
    let settings = Settings::DEFAULT.with_engine(engine).with_burst(1);
    let mut scheduler: Scheduler<1, 1> = Scheduler::new(settings);
    let host = scheduler.add_host(Duration::from_secs(1));
    let host = host.expect("there is room");
    let known = PageSettings::DEFAULT
        .with_rate(Some(1.0))
        .with_confidence(PageSettings::CERTAIN);
    let page = scheduler.add_page(host, &known, Instant::ZERO);
    let page = page.expect("there is room");
    scheduler
        .set_budget(Some(1.0), Instant::ZERO)
        .expect("a budget");
    let mut now = Instant::ZERO;
    let visit = |from: Instant, scheduler: &mut Scheduler<1, 1>| {
        let mut now = from;
        loop {
            match scheduler.next(now) {
                Decision::Fetch(_) => break,
                Decision::WaitUntil(then) => now = then,
                Decision::Idle => unreachable!("there is a page"),
            }
        }
        let recorded = scheduler.record(page, Outcome::Unchanged, now);
        recorded.expect("in flight");
        now
    };
    // Until prices have settled.
    for _ in 0..60 {
        now = visit(now, &mut scheduler);
    }
    let due = scheduler.first_due(host).expect("it is due again");
    let gap = due - now;
    let late = visit(due + gap / 2, &mut scheduler);
    assert!(late - due < gap / 2 + Duration::from_secs(60), "{gap:?}");
    let next = scheduler.first_due(host).expect("it is due again");
    (next - late).as_days::<f64>() / gap.as_days::<f64>()
}

/// The rhythm of a carousel counts from when a visit was due; an index counts from the visit.
#[test]
fn what_a_late_visit_took_away_the_next_one_gives_back() {
    let carousel = wait_after_a_late_visit(Engine::Carousel);
    assert!((0.4..0.6).contains(&carousel), "{carousel:.3} gaps");
    let index = wait_after_a_late_visit(Engine::Index);
    assert!((0.9..1.1).contains(&index), "{index:.3} gaps");
}
