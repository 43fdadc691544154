//! What the list says of single pages, the scheduler obeys: limits, clocks, and what is to be kept
//! small.

use dunlin::constraints::{
    ClockUpdate, Constraints, CrawlLimits, ListedConstraints, PageConstraints,
};
use dunlin::model::Objective;
use dunlin::polite::GateSettings;
use dunlin::scheduler::{
    Decision, Engine, LargeScheduler, Outcome, PageSettings, Scheduler, Settings,
};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::change::Quasi;
use dunlin_host::simulate::policy::scheduler;
use dunlin_host::simulate::{Change, Options, Report, SimHost, SimPage, World, run};

const ENGINES: [Engine; 2] = [Engine::Carousel, Engine::Index];

fn page(rate: f64, change: Change) -> SimPage {
    SimPage {
        host: 0,
        weight: 1.0,
        mean_rate: rate,
        change,
    }
}

fn one_host(pages: Vec<SimPage>, gap: Duration) -> World {
    World {
        pages,
        hosts: vec![SimHost::new(gap)],
        ..World::default()
    }
}

fn measured(world: &World, per_day: f32, settings: Settings, days: f64) -> Report {
    let mut policy = scheduler(world, Some(per_day), false, settings);
    let options = Options {
        measured_from: 5.0,
        ..Options::new(days, 7)
    };
    run(world, &mut policy, &options)
}

/// So many pages with one certain update a day, each at a time of its own.
fn clockwork(count: usize) -> World {
    let page = |index: usize| {
        let updates = vec![(index as f64 / count as f64, 1.0)];
        page(
            1.0,
            Change::Quasi(Box::new(Quasi {
                period: 1.0,
                updates,
            })),
        )
    };
    one_host((0..count).map(page).collect(), Duration::from_secs(15))
}

#[test]
fn a_page_that_changes_by_the_clock_is_visited_just_after() {
    for engine in ENGINES {
        let report = measured(
            &clockwork(40),
            40.0,
            Settings::DEFAULT.with_engine(engine),
            35.0,
        );
        assert!(
            report.freshness >= 0.99,
            "{engine:?}: {:.4}",
            report.freshness
        );
        assert_eq!(report.politeness_violations, 0);
    }
}

#[test]
fn pages_that_change_at_the_same_time_are_visited_together() {
    let mut world = clockwork(40);
    for page in &mut world.pages {
        if let Change::Quasi(quasi) = &mut page.change {
            quasi.updates = vec![(0.25, 1.0)];
        }
    }
    // Ten minutes, which is how long politeness takes.
    let report = measured(&world, 40.0, Settings::DEFAULT, 35.0);
    assert!(report.freshness >= 0.99, "{:.4}", report.freshness);
    let a_day = report.fetches as f64 / 30.0;
    assert!(a_day < 41.4, "{a_day}");
}

#[test]
fn of_the_updates_of_a_day_those_are_chosen_that_last() {
    // At 0:00 and 1:00, both for sure: one visit a day is best at 1:00.
    let updates = vec![(0.0, 1.0), (1.0 / 24.0, 1.0)];
    let pages = (0..20).map(|_| {
        let updates = updates.clone();
        page(
            2.0,
            Change::Quasi(Box::new(Quasi {
                period: 1.0,
                updates,
            })),
        )
    });
    let world = one_host(pages.collect(), Duration::from_secs(1));
    // What is left of the budget buys visits at 0:00, each worth an hour of a page.
    for (budget, possible) in [(20.0, 0.9583), (22.0, 0.9625), (30.0, 0.9792), (45.0, 1.0)] {
        let report = measured(&world, budget, Settings::DEFAULT, 35.0);
        let fresh = report.freshness;
        assert!(fresh > possible - 0.004, "{budget} a day: {fresh:.4}");
    }
}

#[test]
fn of_pages_that_change_alike_as_many_are_kept_fresh_as_the_budget_allows() {
    for budget in [20.0, 30.0, 38.0] {
        let report = measured(&clockwork(40), budget, Settings::DEFAULT, 35.0);
        let fresh = report.freshness;
        let possible = f64::from(budget) / 40.0;
        assert!(fresh > possible - 0.04, "{budget} a day: {fresh:.4}");
    }
}

#[test]
fn no_page_is_asked_for_more_often_than_its_list_allows() {
    for engine in ENGINES {
        for (fails, objective) in [(0.0, Objective::Freshness), (0.3, Objective::Age)] {
            let pages = (0..20).map(|_| page(5.0, Change::Poisson(5.0)));
            let mut world = one_host(pages.collect(), Duration::from_secs(15));
            world.hosts[0].fails = fails;
            let max = |max| CrawlLimits {
                max: Some(max),
                ..CrawlLimits::NONE
            };
            world.limits = (0..20).map(|page| max(1 + page % 3)).collect();
            let settings = Settings::DEFAULT
                .with_engine(engine)
                .with_objective(objective);
            let report = measured(&world, 100.0, settings, 35.0);
            assert_eq!(report.limit_violations, 0, "{engine:?}, {fails}");
            let a_day = report.fetches as f64 / 30.0;
            assert!(a_day <= 39.0, "{engine:?}, {fails}: {a_day} a day");
            assert!(a_day > 33.0, "{engine:?}, {fails}: {a_day} a day");
        }
    }
}

#[test]
fn a_page_is_visited_as_often_as_its_list_demands() {
    let mut pages: Vec<SimPage> = (0..20).map(|_| page(2.0, Change::Poisson(2.0))).collect();
    pages[0].weight = 1e-6;
    let mut world = one_host(pages, Duration::from_secs(15));
    world.hosts.push(SimHost::new(Duration::ZERO));
    world.pages[0].host = 1;
    world.limits = vec![CrawlLimits::NONE; 20];
    world.limits[0].min = 6;
    let report = measured(&world, 60.0, Settings::DEFAULT, 35.0);
    let a_day = f64::from(report.host_fetches[1]) / 30.0;
    assert!((5.7..6.6).contains(&a_day), "{a_day}");
}

#[test]
fn neither_hints_nor_weights_nor_failures_get_around_a_limit() {
    fn read(_: &[u8], _: usize) -> PageConstraints<'_> {
        let limits = CrawlLimits {
            max: Some(24),
            ..CrawlLimits::NONE
        };
        PageConstraints::new(&limits, Default::default())
    }
    let gate = GateSettings::DEFAULT.with_back_off(Duration::from_secs(1));
    let mut scheduler: Scheduler<4, 2> = Scheduler::new(Settings::DEFAULT.with_gate(gate));
    scheduler.set_constraints(Constraints::Encoded { bytes: &[], read });
    let host = scheduler.add_host(Duration::from_secs(1)).expect("room");
    let settings = PageSettings::DEFAULT.with_rate(1e4).with_constraints(true);
    let mut now = Instant::ZERO;
    let page = scheduler.add_page(host, &settings, now).expect("room");
    let outcomes = [
        Outcome::Changed { modified_ago: None },
        Outcome::Failed,
        Outcome::Broken { times: 1 },
        Outcome::Redirected,
        Outcome::Gone,
        Outcome::Refused { retry_after: None },
        Outcome::Unchanged,
    ];
    let mut last: Option<Instant> = None;
    let mut asked = 0;
    for _ in 0..200_000 {
        if asked == 40 {
            break;
        }
        let hint = dunlin::learn::hints::Hint::push(now);
        assert_eq!(scheduler.hint(page, hint, now), Ok(()));
        let weight = 1.0 + asked as f32;
        assert_eq!(scheduler.set_weight(page, weight), Ok(()));
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                if let Some(before) = last {
                    assert!(now - before >= Duration::HOUR, "{:?}", now - before);
                }
                // What has to come before the page is no request for it.
                if asked % 5 == 4 {
                    let postponed = scheduler.record(page, Outcome::Postponed, now);
                    assert_eq!(postponed, Ok(()));
                    now += Duration::from_secs(2);
                    assert!(matches!(scheduler.next(now), Decision::Fetch(_)));
                }
                last = Some(now);
                let outcome = outcomes[asked % outcomes.len()];
                asked += 1;
                assert_eq!(scheduler.record(page, outcome, now), Ok(()));
            }
            Decision::WaitUntil(then) => now = then.min(now + Duration::from_secs(600)),
            Decision::Idle => panic!("there is a page"),
        }
    }
    assert_eq!(asked, 40, "it is visited all the same");
}

#[test]
fn what_a_restart_is_told_counts_for_limits() {
    let limits = CrawlLimits {
        max: Some(2),
        ..CrawlLimits::NONE
    };
    let scheduled = |certain: bool| {
        let mut scheduler = LargeScheduler::new(1, 1, Settings::DEFAULT);
        scheduler.set_constraints(vec![ListedConstraints {
            limits,
            clock: None,
        }]);
        let host = scheduler.add_host(Duration::ZERO).expect("room");
        let settings = PageSettings::DEFAULT.with_rate(50.0).with_constraints(true);
        let now = Instant::ZERO;
        let page = scheduler.add_page(host, &settings, now).expect("room");
        let belief = scheduler.estimate(page).expect("a page");
        let told = scheduler.restore_page(page, belief, Duration::HOUR, certain, now);
        assert_eq!(told, Ok(()));
        let mut now = Instant::ZERO;
        let mut fetches = Vec::new();
        for _ in 0..10_000 {
            match scheduler.next(now) {
                Decision::Fetch(page) => {
                    fetches.push(now - Instant::ZERO);
                    let failed = Outcome::Failed;
                    assert_eq!(scheduler.record(page, failed, now), Ok(()));
                }
                Decision::WaitUntil(then) => now = then,
                Decision::Idle => panic!("there is a page"),
            }
            if fetches.len() == 3 {
                break;
            }
        }
        fetches
    };
    let apart = |fetches: &[Duration]| {
        assert_eq!(fetches.len(), 3, "{fetches:?}");
        for pair in fetches.windows(2) {
            assert!(pair[1] - pair[0] >= Duration::HOUR * 12, "{fetches:?}");
        }
    };
    let known = scheduled(true);
    assert!(known[0] >= Duration::HOUR * 11, "an hour has passed");
    apart(&known);
    // Nobody knows how long it was off: one request more may come, but not a burst.
    let unknown = scheduled(false);
    assert!(unknown[0] <= Duration::HOUR * 11);
    apart(&unknown);
}

#[test]
fn who_wants_copies_young_gets_them_younger() {
    let rates = (0..60).map(|index| 0.05 * 1.12_f64.powi(index));
    let pages = rates.map(|rate| page(rate, Change::Poisson(rate)));
    let world = one_host(pages.collect(), Duration::ZERO);
    let reached = |objective| {
        let settings = Settings::DEFAULT.with_objective(objective);
        measured(&world, 120.0, settings, 65.0)
    };
    let fresh = reached(Objective::Freshness);
    let young = reached(Objective::Age);
    assert!(
        young.age_s < 0.8 * fresh.age_s && young.freshness < fresh.freshness,
        "{:.0} s and {:.4}, not {:.0} s and {:.4}",
        young.age_s,
        young.freshness,
        fresh.age_s,
        fresh.freshness
    );
}

#[test]
fn updates_that_are_read_from_flash_are_those_of_the_world() {
    let noon = ClockUpdate {
        offset: Duration::HOUR * 12,
        probability: 0.5,
    };
    let constraints = [ListedConstraints {
        limits: CrawlLimits::NONE,
        clock: Some((Duration::DAY, noon.to_bytes().to_vec())),
    }];
    let clock = Constraints::Listed(&constraints).of(0).clock;
    assert_eq!(clock.at_or_after(0.25, 0.0), 0.25);
    assert_eq!(clock.at_or_after(0.75, 1.0), 1.75);
    assert!(Constraints::Listed(&constraints).of(1).clock.is_none());
}
