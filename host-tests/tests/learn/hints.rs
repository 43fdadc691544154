//! Providers that help, and crawlers that listen: Xu's ordering, and what listening critically
//! adds.

use std::fmt::Write;

use dunlin::learn::hints::{Hint, Provider, scores};
use dunlin::learn::{Estimate, LearningSettings, Prior, Visit};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;
use host_tests::learn::providers::{Crawler, Help, IndexCrawler, Measure, Value, World, XuCrawler};
use host_tests::learn::scheduled::scheduled;
use host_tests::learn::{exponential, unit};

const PERFECT: Help = Help::Smart {
    recall: 1.0,
    precision: 1.0,
};
/// As many fetches as there are changes (Xu §3.1).
const PER_DAY: f64 = 160.0;

/// 150 pages on 15 hosts, 20 days in cycles of half a day.
fn world(kinds: &[Help], seed: u64) -> World {
    World::new(
        &kinds.iter().copied().cycle().take(15).collect::<Vec<_>>(),
        20.0,
        0.5,
        seed,
    )
}

fn xu(kind: Help) -> f64 {
    let freshness = |seed| {
        let world = world(&[kind], seed);
        world.freshness(&mut XuCrawler::new(&world, PER_DAY), PER_DAY)
    };
    (1..=3).map(freshness).sum::<f64>() / 3.0
}

#[test]
fn figure_2_super_beats_smart_beats_normal() {
    let normal = xu(Help::Normal);
    let smart = xu(PERFECT);
    let super_ = xu(Help::Super { precision: 1.0 });
    assert!(
        smart > normal && super_ > smart,
        "normal {normal:.3}, smart {smart:.3}, super {super_:.3}"
    );
}

/// Figure 4a would say nothing if accesses that come at certain times were not counted.
#[test]
fn figure_4a_the_crawler_counts_the_accesses_there_are() {
    let world = world(&[PERFECT], 1);
    let skewed = Measure::skewed(0.85, world.days, 1.0 / 48.0, 1);
    let by = |accesses: &Measure| {
        world.freshness(&mut XuCrawler::counting(&world, PER_DAY, accesses), PER_DAY)
    };
    assert_ne!(by(&skewed), by(&Measure::Fresh));
}

#[test]
fn figure_5_worse_predictions_lower_freshness() {
    let freshness = [1.0, 0.75, 0.5, 0.25].map(|precision| xu(Help::Super { precision }));
    assert!(
        freshness.is_sorted_by(|better, worse| better > worse),
        "{freshness:?}"
    );
}

/// Every kind of provider, and what each crawler makes of it with the same number of fetches. Xu's
/// crawler runs twice: in her cycles, and deciding at every slot as the others do.
#[test]
fn listening_critically_beats_the_published_scores() {
    let kinds: [(&str, &[Help]); 8] = [
        ("normal", &[Help::Normal]),
        ("smart", &[PERFECT]),
        (
            "smart, recall .8, precision .8",
            &[Help::Smart {
                recall: 0.8,
                precision: 0.8,
            }],
        ),
        (
            "smart, recall .5, precision .2",
            &[Help::Smart {
                recall: 0.5,
                precision: 0.2,
            }],
        ),
        ("super", &[Help::Super { precision: 1.0 }]),
        ("super, precision .75", &[Help::Super { precision: 0.75 }]),
        ("super, precision .25", &[Help::Super { precision: 0.25 }]),
        (
            "smart, silent and false alike",
            &[
                PERFECT,
                Help::Normal,
                Help::Smart {
                    recall: 0.8,
                    precision: 0.1,
                },
            ],
        ),
    ];
    let mut table = format!(
        "{:32} Xu     every slot  deaf   age    value  age, known  value, known\n",
        "freshness"
    );
    for (name, hosts) in kinds {
        let world = world(hosts, 7);
        let by_slot = World {
            cycle: 1.0 / PER_DAY,
            ..world.clone()
        };
        let with = |crawler: &mut dyn Crawler| world.freshness(crawler, PER_DAY);
        let xu = with(&mut XuCrawler::new(&world, PER_DAY));
        let slots = by_slot.freshness(&mut XuCrawler::new(&by_slot, PER_DAY), PER_DAY);
        let deaf = with(&mut IndexCrawler::new(&world, Value::Deaf));
        let age = with(&mut IndexCrawler::new(&world, Value::EquivalentAge));
        let value = with(&mut IndexCrawler::new(&world, Value::Exact));
        let known_age = with(&mut IndexCrawler::informed(&world, Value::EquivalentAge));
        let known_value = with(&mut IndexCrawler::informed(&world, Value::Exact));
        assert!(
            age > xu && age > slots,
            "{name}: Xu {xu}, at every slot {slots}, equivalent age {age}"
        );
        assert!(
            known_value > xu && known_value > slots,
            "{name}: Xu {xu}, {slots}, value {known_value}"
        );
        let _ = writeln!(
            table,
            "{name:32} {xu:.3}  {slots:.3}       {deaf:.3}  {age:.3}  {value:.3}  {known_age:.3}       {known_value:.3}"
        );
    }
    insta::assert_snapshot!("providers", table);
}

#[test]
fn recall_and_precision_are_learnt() {
    for (recall, precision) in [(0.9, 0.9), (0.5, 0.2), (0.8, 0.1), (0.0, 0.0)] {
        let mut random = Random(11);
        let mut host = Provider::new();
        let mut page = Estimate::new(&Prior::DEFAULT);
        let wrong = if precision > 0.0 {
            recall * (1.0 - precision) / precision
        } else {
            0.0
        };
        for _ in 0..3_000 {
            // Visits at random: half a day apart, one change a day.
            let days = 0.5 * exponential(&mut random);
            let mut count = |rate: f64| {
                let mut at = exponential(&mut random) / rate;
                let mut events = 0;
                while at < days {
                    events += 1;
                    at += exponential(&mut random) / rate;
                }
                events
            };
            let told = count(recall);
            let quiet = count(1.0 - recall);
            let wrong = count(wrong);
            let visit = Visit::new(Duration::from_days(days), told + quiet > 0);
            page.update_signalled(&visit, told + wrong, &host, &LearningSettings::DEFAULT);
            host.update(&visit, told + wrong, page.rate());
        }
        let case = format!(
            "recall {recall}, precision {precision}: {host:?}, rate {}",
            page.rate()
        );
        assert!(
            (f64::from(host.recall()) - recall).abs() < 0.2,
            "{case}, recall {}",
            host.recall()
        );
        if precision > 0.0 {
            assert!(
                (f64::from(host.precision()) - precision).abs() < 0.15,
                "{case}, precision {}",
                host.precision()
            );
        }
        assert!((page.rate() - 1.0).abs() < 0.2, "{case}");
    }
}

/// A crawler that comes running at every signal finds a change at every visit. Taken at face value
/// that is a page that changes all the time.
#[test]
fn prompt_visits_do_not_inflate_the_rate() {
    let mut random = Random(5);
    let mut host = Provider::new();
    let mut page = Estimate::new(&Prior::DEFAULT);
    let mut naive = Estimate::new(&Prior::DEFAULT);
    for _ in 0..500 {
        let gap = exponential(&mut random) / 0.5;
        // Now and then it looks in on its own.
        let early = unit(&mut random) < 0.2;
        let visits = if early {
            vec![(0.5 * gap, 0), (0.5 * gap, 1)]
        } else {
            vec![(gap, 1)]
        };
        for (days, signals) in visits {
            let visit = Visit::new(Duration::from_days(days), signals == 1);
            page.update_signalled(&visit, signals, &host, &LearningSettings::DEFAULT);
            naive.update(&visit, &LearningSettings::DEFAULT);
            host.update(&visit, signals, page.rate());
        }
    }
    assert!((page.rate() / 0.5 - 1.0).abs() < 0.25, "{}", page.rate());
    assert!(naive.rate() > 1.0, "{}", naive.rate());
    assert!(host.precision() > 0.9 && host.recall() > 0.9, "{host:?}");
}

#[test]
fn scores_as_published_with_their_repairs() {
    // Equation 5: two days, ten accesses, c = 1.
    assert_eq!(scores::normal(2.0, 10.0, 1.0), 11.0);
    // Equation 4 for one missed change: stale accesses since it happened, not nothing.
    let mut page = scores::Missed::crawled(1.0);
    assert_eq!(page.score(5.0, 0.0), 0.0);
    page.change(3.0, 0.0);
    assert_eq!(page.score(5.0, 8.0), 16.0);
    // Equation 6 with α = 0.8 and equal cycles, s = 5: P (0.8 + 0.2 × 4)/5.
    let future = scores::Future {
        probability: 0.5,
        last_cycle: 10.0,
        earlier_cycles: 40.0,
    };
    assert!((future.score() - 0.16_f64).abs() < 1e-12);
    // Equation 7 after normalising by all accesses.
    assert!((scores::unified(16.0, 100.0, 0.16_f64) - (0.8 * 0.16 + 0.2 * 0.16)).abs() < 1e-12);
    // Equation 3: fresh, clipped, and 1/(1 × 3 + 2 × 1).
    assert_eq!(scores::freshness(std::iter::empty::<f64>()), 1.0);
    assert_eq!(scores::freshness([0.1].into_iter()), 1.0);
    assert_eq!(scores::freshness([3.0, 1.0].into_iter()), 0.2);
}

#[test]
fn sources_in_the_wild_become_signals() {
    let at = |hours| Instant::ZERO + Duration::HOUR * hours;
    let hour = Duration::HOUR;
    assert_eq!(Hint::push(at(7)), Hint::Changed(at(7)));
    assert_eq!(
        Hint::sitemap(at(5), at(3), at(6)),
        Some(Hint::Changed(at(5)))
    );
    assert_eq!(Hint::sitemap(at(3), at(3), at(6)), None, "fetched since");
    assert_eq!(Hint::sitemap(at(7), at(3), at(6)), None, "from the future");
    assert_eq!(Hint::feed(hour * 2, at(3)), Some(Hint::Expected(at(5))));
    assert_eq!(Hint::feed(Duration::ZERO, at(3)), None);
    assert_eq!(
        Hint::max_age(hour * 4, hour, at(3)),
        Some(Hint::Expected(at(6))),
        "less its age"
    );
    assert_eq!(Hint::max_age(hour, hour, at(3)), None, "ask every time");
    assert_eq!(Hint::expires(at(9), at(3)), Some(Hint::Expected(at(9))));
    assert_eq!(Hint::expires(at(0), at(3)), None, "caches switched off");
    assert_eq!(
        Hint::max_age(Duration::MAX, Duration::ZERO, at(3)).map(Hint::at),
        Some(Instant::MAX)
    );
}

#[test]
fn the_scheduler_that_ships_is_fresher_when_it_listens() {
    let world = World::new(&[PERFECT; 6], 40.0, 0.3, 3);
    let changes: usize = world.pages.iter().map(|page| page.changes.len()).sum();
    let per_day = changes as f64 / world.days;
    let [deaf] = scheduled(&world, per_day, false, &[Measure::Fresh]);
    let [told] = scheduled(&world, per_day, true, &[Measure::Fresh]);
    println!("{told:.4} beside {deaf:.4}");
    assert!(told > deaf + 0.02, "{told} beside {deaf}");
    assert!((0.5..1.0).contains(&deaf) && told < 1.0, "{deaf} {told}");
}
