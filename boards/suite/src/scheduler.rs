//! The scheduler behaves as documented, and the same on every machine.

use dunlin::learn::{self, Estimate, Prior};
use dunlin::polite::Hours;
use dunlin::scheduler::{Counter, Decision, HostId, Outcome, PageSettings, Scheduler, Settings};
use dunlin::time::{Duration, Instant};

use crate::bench::Random;
use crate::{Case, cases};

pub const CASES: &[Case] = cases![scheduler:
    memory_is_as_documented, hours_wait_for_the_clock, hours_may_do_without_the_clock, no_burst_after_a_restart,
    no_burst_after_a_day_without_network, overload_is_shared_by_value, one_slow_host_delays_no_other,
    a_shared_gate_is_one_gate, every_machine_decides_the_same,
];

const SECOND: Duration = Duration::from_secs(1);

fn at(secs: u64) -> Instant {
    Instant::ZERO + SECOND * secs
}

/// Runs for so long, at one fetch a time and all pages unchanged, and counts the fetches of each
/// page.
fn run<const PAGES: usize, const HOSTS: usize>(
    scheduler: &mut Scheduler<PAGES, HOSTS>,
    mut now: Instant,
    until: Instant,
) -> [u32; PAGES] {
    let mut fetches = [0; PAGES];
    while now < until {
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                fetches[page.index()] += 1;
                scheduler.record(page, Outcome::Unchanged, now).unwrap();
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => break,
        }
    }
    fetches
}

/// A scheduler with pages on one host each, as far as there are hosts.
fn filled<const PAGES: usize, const HOSTS: usize>(
    gap: Duration,
    per_day: f32,
) -> Scheduler<PAGES, HOSTS> {
    filled_with(Settings::DEFAULT, &PageSettings::DEFAULT, gap, per_day)
}

/// The same with pages that are known to change twice a minute: what gates do is seen best where
/// nothing is learnt.
fn known<const PAGES: usize, const HOSTS: usize>(
    gap: Duration,
    per_day: f32,
) -> Scheduler<PAGES, HOSTS> {
    let settings = Settings::DEFAULT.with_learn(learn::LearningSettings::STEADY);
    let page = PageSettings::DEFAULT
        .with_rate(2_880.0)
        .with_confidence(1e6);
    filled_with(settings, &page, gap, per_day)
}

fn filled_with<const PAGES: usize, const HOSTS: usize>(
    settings: Settings,
    page: &PageSettings,
    gap: Duration,
    per_day: f32,
) -> Scheduler<PAGES, HOSTS> {
    let mut scheduler = Scheduler::new(settings);
    scheduler.set_budget(Some(per_day), Instant::ZERO).unwrap();
    let hosts: [_; HOSTS] = core::array::from_fn(|_| scheduler.add_host(gap).unwrap());
    for host in hosts.iter().cycle().take(PAGES) {
        scheduler.add_page(*host, page, Instant::ZERO).unwrap();
    }
    scheduler
}

/// The table in the scheduler's documentation.
fn memory_is_as_documented() {
    // Everything together, heaps included: whatever is added for a page or a host.
    let page = (Scheduler::<1024, 32>::SIZE - Scheduler::<256, 32>::SIZE) / 768;
    let host = (Scheduler::<256, 96>::SIZE - Scheduler::<256, 32>::SIZE) / 64;
    assert_eq!((page, host), (36, 56));
}

fn hours_wait_for_the_clock() {
    let mut scheduler: Scheduler<2, 2> = filled(SECOND, 10_000.0);
    scheduler
        .set_hours(host(&scheduler, 0), Hours::new(22, 6).unwrap())
        .unwrap();
    let fetches = run(&mut scheduler, at(0), at(7_200));
    assert!(fetches[0] == 0 && fetches[1] > 0, "{fetches:?}");
    assert!(
        (1..=3).contains(&scheduler.counters().get(Counter::SkippedByClock)),
        "once an hour"
    );
    // Noon: not yet. What is known of the clock counts at once, not at the next check.
    scheduler.set_clock(Duration::HOUR * 12, at(7_200));
    assert_eq!(run(&mut scheduler, at(7_200), at(7_200 + 9 * 3_600))[0], 0);
    scheduler.set_clock(Duration::HOUR * 23, at(7_200 + 9 * 3_600));
    assert!(
        run(
            &mut scheduler,
            at(7_200 + 9 * 3_600),
            at(7_200 + 10 * 3_600)
        )[0] > 0
    );
}

fn hours_may_do_without_the_clock() {
    let settings = Settings::DEFAULT.with_fetch_without_clock(true);
    let mut scheduler: Scheduler<1, 1> = Scheduler::new(settings);
    let host = scheduler.add_host(SECOND).unwrap();
    scheduler
        .set_hours(host, Hours::new(22, 6).unwrap())
        .unwrap();
    let page = scheduler
        .add_page(host, &PageSettings::DEFAULT, at(0))
        .unwrap();
    assert_eq!(scheduler.next(at(0)), Decision::Fetch(page));
}

fn no_burst_after_a_restart() {
    let mut scheduler: Scheduler<24, 24> = filled(SECOND, 240.0);
    for index in 0..24 {
        let page = scheduler.page_id(index).unwrap();
        let estimate = Estimate::new(&Prior::new(1.0, 4.0));
        scheduler
            .restore_page(page, estimate, Duration::DAY * 30, true, at(0))
            .unwrap();
        let rate = scheduler.estimate(page).unwrap().rate();
        assert!((rate - 1.0).abs() < 0.05, "{rate}");
    }
    let fetches: u32 = run(&mut scheduler, at(0), at(3_600)).iter().sum();
    assert!(
        (9..=11).contains(&fetches),
        "ten an hour, as ever: {fetches}"
    );
}

fn no_burst_after_a_day_without_network() {
    let mut scheduler: Scheduler<24, 24> = filled(SECOND, 240.0);
    run(&mut scheduler, at(0), at(86_400));
    // Every fetch fails for a day.
    let mut now = at(86_400);
    while now < at(2 * 86_400) {
        match scheduler.next(now) {
            Decision::Fetch(page) => scheduler.record(page, Outcome::Failed, now).unwrap(),
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => break,
        }
    }
    let fetches: u32 = run(&mut scheduler, now, now + Duration::HOUR).iter().sum();
    assert!(
        fetches <= 10 + u32::from(Settings::DEFAULT.burst),
        "{fetches}"
    );
}

fn overload_is_shared_by_value() {
    // One host that lets 288 fetches a day through, and pages that would want more.
    let mut scheduler: Scheduler<20, 1> = Scheduler::new(Settings::DEFAULT);
    let host = scheduler.add_host(SECOND * 300).unwrap();
    for page in 0..20 {
        let weight = if page < 4 { 25.0 } else { 1.0 };
        let page = PageSettings::DEFAULT.with_weight(weight).with_rate(40.0);
        scheduler.add_page(host, &page, at(0)).unwrap();
    }
    run(&mut scheduler, at(0), at(86_400));
    let fetches = run(&mut scheduler, at(86_400), at(4 * 86_400));
    let heavy = fetches[..4].iter().sum::<u32>() / 4;
    let light = fetches[4..].iter().sum::<u32>() / 16;
    assert!(heavy > 2 * light && light > 0, "{fetches:?}");
    let counters = scheduler.counters();
    assert!(
        counters.get(Counter::SkippedByGate) > 500 && counters.late_seconds() > 0,
        "{counters:?}"
    );
}

fn one_slow_host_delays_no_other() {
    let mut scheduler: Scheduler<2, 2> = known(SECOND, 100_000.0);
    let slow = match scheduler.next(at(0)) {
        Decision::Fetch(page) => page,
        other => panic!("{other:?}"),
    };
    let fetches = run(&mut scheduler, at(0), at(600));
    assert_eq!(fetches[slow.index()], 0, "in flight all the time");
    assert!(fetches.iter().sum::<u32>() > 100, "{fetches:?}");
    let wait = Outcome::Refused {
        retry_after: Some(Duration::HOUR),
    };
    scheduler.record(slow, wait, at(600)).unwrap();
    let fetches = run(&mut scheduler, at(600), at(1_200));
    assert!(
        fetches[slow.index()] == 0 && fetches.iter().sum::<u32>() > 100,
        "{fetches:?}"
    );
}

fn a_shared_gate_is_one_gate() {
    let mut scheduler: Scheduler<2, 2> = known(SECOND * 100, 100_000.0);
    share(&mut scheduler);
    assert!(matches!(scheduler.next(at(0)), Decision::Fetch(_)));
    assert!(!matches!(scheduler.next(at(50)), Decision::Fetch(_)));
    let fetches: u32 = run(&mut filled_and_shared(), at(0), at(1_000)).iter().sum();
    assert_eq!(fetches, 10, "one in a hundred seconds, together");
}

fn filled_and_shared() -> Scheduler<2, 2> {
    let mut scheduler = known(SECOND * 100, 100_000.0);
    share(&mut scheduler);
    scheduler
}

fn host<const PAGES: usize, const HOSTS: usize>(
    scheduler: &Scheduler<PAGES, HOSTS>,
    index: usize,
) -> HostId {
    scheduler.host_id(index).unwrap()
}

fn share(scheduler: &mut Scheduler<2, 2>) {
    let first = host(scheduler, 0);
    let second = host(scheduler, 1);
    scheduler.share_gate(second, first).unwrap();
}

/// Ten thousand decisions, folded into one number.
fn every_machine_decides_the_same() {
    let mut scheduler: Scheduler<100, 10> = filled(SECOND * 2, 5_000.0);
    let mut random = Random(9);
    let mut now = at(0);
    let mut folded = 0_u32;
    for _ in 0..10_000 {
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                folded = folded.wrapping_mul(31).wrapping_add(page.index() as u32);
                let outcome = match random.below(40) {
                    0 => Outcome::Failed,
                    1 => Outcome::Refused { retry_after: None },
                    2 => Outcome::Gone,
                    roll if roll < 12 + page.index() as u32 / 10 => {
                        Outcome::Changed { modified_ago: None }
                    }
                    _ => Outcome::Unchanged,
                };
                scheduler.record(page, outcome, now).unwrap();
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => break,
        }
    }
    assert_eq!(
        (folded, scheduler.price()),
        (2_129_358_106, 0.002_116_483_9)
    );
}
