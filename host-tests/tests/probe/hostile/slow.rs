//! Hosts and rules that take their time: others keep theirs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dunlin::probe::{Event, Failure};
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use host_tests::flash::Flash;
use host_tests::learn::exponential;

use super::{GAP, no_robots};
use crate::world::{Answer, Hit, Keeper, Setting};

#[test]
fn rules_made_to_be_slow_forbid_their_pages_and_nobody_elses() {
    let slow = format!("Disallow: /*{}b\n", "a".repeat(90));
    let file = format!("User-agent: *\n{}", slow.repeat(2_000));
    let path: &'static str = format!("/{}", "a".repeat(190)).leak();
    let setting = Setting::of(GAP, &[("slow.test", &[path]), ("good.test", &["/page"])]);
    let (world, _) = setting.run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("slow.test", "/robots.txt") => Answer::page(&file),
        (_, "/robots.txt") => Answer::none(),
        _ => Answer::page("here"),
    });
    assert!(world.asked("slow.test", path).is_empty());
    assert!(world.asked("good.test", "/page").len() > 50);
    let events = world.events.borrow();
    let said = |event: &Event| matches!(event, Event::Costly { host: 0 });
    assert!(events.iter().any(|(_, event)| said(event)), "it is said");
}

#[test]
fn a_deadline_ends_rules_that_are_still_being_compared() {
    // Each rule takes 3,000 steps, which is just not too many; all of them take 50,000 turns.
    let rule = format!("Disallow: /*{}b\n", "a".repeat(18));
    let file = format!("User-agent: *\n{}", rule.repeat(6_000));
    let path: &'static str = format!("/{}", "a".repeat(190)).leak();
    let (world, _) = Setting {
        // 90,000 instructions of a processor at 90 MHz.
        round: Duration::from_millis(1),
        seconds: 200,
        ..Setting::of(GAP, &[("slow.test", &[path]), ("good.test", &["/page"])])
    }
    .run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("slow.test", "/robots.txt") => Answer::page(&file),
        (_, "/robots.txt") => Answer::none(),
        _ => Answer::page("here"),
    });
    let asked = world.asked("slow.test", "/robots.txt");
    let first = asked.first().map(|hit| hit.at);
    let first = first.expect("its robots.txt is asked for");
    let events = world.events.borrow();
    let failed = events.iter().find_map(|(at, event)| match event {
        Event::Failed { page: 0, why, .. } => Some((*at, *why)),
        _ => None,
    });
    let (at, why) = failed.expect("nobody waits for the last rule");
    assert_eq!(why, Failure::Deadline);
    let took = (at - first).as_secs();
    assert!((29..=31).contains(&took), "given up after {took} s");
    let asked = world.asked("good.test", "/page");
    let meanwhile = |hit: &&Hit| hit.at > first && hit.at < at;
    assert!(
        asked.iter().filter(meanwhile).count() >= 2,
        "others are asked meanwhile"
    );
}

/// When a slow host takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slow {
    Always,
    /// At every other request.
    NowAndThen,
}

/// Visits of honest hosts after the first minute, and of slow ones, with so many of either.
fn visits_beside(slow: usize, how: Slow, slots: usize) -> (usize, usize) {
    const HONEST: [&str; 4] = ["a.test", "b.test", "c.test", "d.test"];
    const SLOW: [&str; 6] = [
        "slow0.test",
        "slow1.test",
        "slow2.test",
        "slow3.test",
        "slow4.test",
        "slow5.test",
    ];
    let hosts: Vec<(&'static str, &[&'static str])> = SLOW[..slow]
        .iter()
        .chain(&HONEST)
        .map(|host| (*host, &["/1", "/2"][..]))
        .collect();
    let answered = Cell::new(0);
    let (world, _) = Setting {
        slots,
        seconds: 1_800,
        ..Setting::of(Duration::from_secs(2), &hosts)
    }
    .run(move |hit| {
        let answer = no_robots(hit).unwrap_or_else(|| Answer::page("here"));
        answered.set(answered.get() + 1);
        let after = match hit.host.starts_with("slow") {
            true if how == Slow::Always || answered.get() % 2 == 0 => Duration::from_secs(27),
            _ => answer.after,
        };
        Answer { after, ..answer }
    });
    let hits = world.hits.borrow();
    let late = hits.iter().filter(|hit| hit.at >= Duration::from_secs(60));
    let (slow, honest): (Vec<&Hit>, Vec<&Hit>) = late.partition(|hit| hit.host.starts_with("slow"));
    (honest.len(), slow.len())
}

#[test]
fn slow_hosts_do_not_take_all_slots() {
    for slots in [1, 2, 3] {
        let (alone, _) = visits_beside(0, Slow::Always, slots);
        assert!(alone > 1_500, "{alone} visits");
        for (slow, how) in [
            (slots, Slow::Always),
            (2 * slots, Slow::Always),
            (2 * slots, Slow::NowAndThen),
        ] {
            let (honest, visits) = visits_beside(slow, how, slots);
            println!("{slots} slots, {slow} hosts slow {how:?}: {honest} of {alone}, {visits}");
            assert!(
                honest * 10 >= alone * 8,
                "{slots} slots, {slow} hosts slow {how:?}: {honest} visits of {alone}"
            );
            assert!(visits > 8, "{slots} slots: {visits} visits of slow hosts");
        }
    }
}

/// Weighted mean freshness as the probe reported it, and as it was, in the second half of an hour
/// beside so many slow hosts.
fn freshness_beside(slow: usize, slots: usize) -> (f64, f64) {
    const SECONDS: u64 = 3_600;
    const FROM: f64 = SECONDS as f64 / 2.0;
    /// Seconds between two changes of a page, on average.
    const CHANGES_EVERY: f64 = 180.0;
    const PATHS: [&str; 2] = ["/1", "/2"];
    let names = (0..slow).map(|number| format!("slow{number}.test"));
    let names = names.chain((0..4).map(|number| format!("good{number}.test")));
    let names: Vec<&'static str> = names.map(|name| &*name.leak()).collect();
    let mut random = Random(7);
    let changes: Vec<Vec<f64>> = (0..2 * names.len())
        .map(|_| {
            let mut now = 0.0;
            let next = || {
                now += exponential(&mut random) * CHANGES_EVERY;
                (now < SECONDS as f64).then_some(now)
            };
            std::iter::from_fn(next).collect()
        })
        .collect();
    let changes = Rc::new(changes);
    // Of each page: when its copies came.
    let copies = Rc::new(RefCell::new(vec![Vec::new(); changes.len()]));
    let hosts: Vec<(&'static str, &[&'static str])> =
        names.iter().map(|name| (*name, &PATHS[..])).collect();
    let setting = Setting {
        slots,
        seconds: SECONDS,
        rate: (86_400.0 / CHANGES_EVERY) as f32,
        ..Setting::of(Duration::from_secs(2), &hosts)
    };
    let site = {
        let changes = Rc::clone(&changes);
        let copies = Rc::clone(&copies);
        move |hit: &Hit| {
            let after = match hit.host.starts_with("slow") {
                true => Duration::from_secs(27),
                false => Duration::from_millis(20),
            };
            let host = names.iter().position(|name| *name == hit.host);
            let path = PATHS.iter().position(|path| *path == hit.target);
            let answer = match host.zip(path) {
                Some((host, path)) => {
                    // The server sends what it has when it answers.
                    let then = (hit.at + after).as_secs() as f64;
                    let page = 2 * host + path;
                    copies.borrow_mut()[page].push(then);
                    let version = changes[page].iter().filter(|at| **at <= then).count();
                    Answer::page(&format!("version {version}"))
                }
                None => Answer::none(),
            };
            Answer { after, ..answer }
        }
    };
    let mut reported = 0.0;
    let mut before = FROM;
    let nobody = None::<Keeper<'_, Flash<3, 1024, 4>>>;
    setting.run_keeping(nobody, site, |world, probe| {
        let now = world.elapsed().as_millis() as f64 / 1e3;
        if let (Some(freshness), true) = (probe.freshness().0, now > before) {
            reported += f64::from(freshness) * (now - before);
            before = now;
        }
    });
    let fresh = |page: usize| {
        let copies = &copies.borrow()[page];
        let ends = copies.iter().skip(1).copied().chain([SECONDS as f64]);
        let stretches = copies.iter().zip(ends).map(|(copy, end)| {
            let stale = changes[page].iter().find(|at| **at > *copy);
            let until = stale.map_or(end, |stale| stale.min(end));
            (until - copy.max(FROM)).max(0.0)
        });
        stretches.sum::<f64>() / (SECONDS as f64 - FROM)
    };
    let measured = (0..changes.len()).map(fresh).sum::<f64>() / changes.len() as f64;
    (reported / (before - FROM), measured)
}

#[test]
fn freshness_is_reported_as_it_is_beside_slow_hosts() {
    for (slow, slots) in [(0, 3), (3, 3), (6, 3), (2, 1)] {
        let (reported, measured) = freshness_beside(slow, slots);
        println!(
            "{slow} slow hosts, {slots} slots: {reported:.3} reported, {measured:.3} measured"
        );
        assert!(
            (reported - measured).abs() < 0.05,
            "{slow} slow hosts, {slots} slots: {reported:.3} reported, {measured:.3} measured"
        );
    }
}
