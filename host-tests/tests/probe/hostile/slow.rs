//! Hosts and rules that take their time: others keep theirs.

use std::cell::Cell;

use dunlin::probe::Event;
use dunlin::time::Duration;

use super::{GAP, no_robots};
use crate::world::{Answer, Hit, Setting};

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
