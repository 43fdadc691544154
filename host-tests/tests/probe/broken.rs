//! One broken page is not a broken host: who waits for whom, and what is said about it.

use dunlin::fetch::TlsError;
use dunlin::probe::{Event, Failure};
use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting, World};

const GAP: Duration = Duration::from_secs(2);
const BROKEN: &str = "/page7";

/// Thirty pages of one host, for five minutes.
fn thirty() -> Setting {
    let paths: Vec<&'static str> = (0..30)
        .map(|page| &*format!("/page{page}").leak())
        .collect();
    Setting {
        hosts: vec![("a.test", GAP, paths)],
        seconds: 300,
        ..Setting::default()
    }
}

fn served(hit: &Hit) -> Answer {
    match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        _ => Answer::page("here"),
    }
}

/// Visits of the pages that are not broken.
fn innocent(world: &World) -> usize {
    let hits = world.hits.borrow();
    let innocent = |hit: &&Hit| hit.target.starts_with("/page") && hit.target != BROKEN;
    hits.iter().filter(innocent).count()
}

fn back_offs(world: &World) -> usize {
    let events = world.events.borrow();
    let is = |event: &Event| matches!(event, Event::BackOff { .. });
    events.iter().filter(|(_, event)| is(event)).count()
}

#[test]
fn the_others_lose_nothing_by_one_page_that_answers_500() {
    let (healthy, _) = thirty().run(served);
    for how in ["500", "nonsense", "silence"] {
        let (world, _) = thirty().run(move |hit| match (hit.target.as_str(), how) {
            (BROKEN, "500") => Answer::new(500, "", ""),
            (BROKEN, "nonsense") => Answer {
                text: "no HTTP at all\r\n\r\n".into(),
                ..Answer::page("")
            },
            (BROKEN, _) => Answer::silence(),
            _ => served(hit),
        });
        // A kept connection that is lost is given a second chance, which takes a turn.
        let chances = usize::from(how == "silence");
        assert!(
            innocent(&world) + chances >= innocent(&healthy),
            "{how}: {} visits, {} without the broken page",
            innocent(&world),
            innocent(&healthy)
        );
        assert_eq!(back_offs(&world), 0, "{how}");
        // After one, two and four minutes, instead of as often as the others.
        let tries = world.asked("a.test", BROKEN).len();
        assert!((2..=4).contains(&tries), "{how}: asked {tries} times");
    }
}

#[test]
fn a_host_of_which_several_pages_fail_is_left_alone() {
    let (world, _) = thirty().run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        _ => Answer::new(500, "", ""),
    });
    assert!(back_offs(&world) >= 2, "{} times", back_offs(&world));
    let asked = world.hits.borrow().len();
    assert!(asked < 10, "asked {asked} times in five minutes");
}

#[test]
fn patience_that_is_asked_for_is_the_hosts() {
    for status in [429, 503] {
        let (world, _) = thirty().run(move |hit| match hit.target.as_str() {
            BROKEN => Answer::new(status, "", ""),
            _ => served(hit),
        });
        assert!(back_offs(&world) >= 1, "{status}");
    }
}

#[test]
fn a_page_that_recovers_is_said_once_and_by_name() {
    let (world, _) = thirty().run(|hit| match hit.target.as_str() {
        BROKEN if hit.at < Duration::from_secs(120) => Answer::new(500, "", ""),
        "/page8" if hit.at < Duration::from_secs(60) => Answer::none(),
        _ => served(hit),
    });
    let events = world.events.borrow();
    let recovered: Vec<u16> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Recovered { page } => Some(*page),
            _ => None,
        })
        .collect();
    // A page that is gone is looked for again tomorrow.
    assert_eq!(recovered, [7]);
    let failed = events.iter().filter(|(_, event)| {
        matches!(
            event,
            Event::Failed {
                page: 7,
                why: Failure::Server,
                ..
            }
        )
    });
    assert!(failed.count() >= 2);
}

/// Each answer ends its connection, so that every page needs one of its own.
fn alone(hit: &Hit) -> Answer {
    Answer {
        closes: Some(Duration::ZERO),
        ..served(hit)
    }
}

#[test]
fn one_connection_that_fails_is_no_host_that_is_down() {
    let (healthy, _) = thirty().run(alone);
    let once = Setting {
        refused: |number| number == 10,
        ..thirty()
    };
    let (world, totals) = once.run(alone);
    assert_eq!(totals.errors, 1);
    assert_eq!(back_offs(&world), 0);
    let visits = |world: &World| world.hits.borrow().len();
    assert!(
        visits(&world) + 1 >= visits(&healthy),
        "{} visits, {} without the failure",
        visits(&world),
        visits(&healthy)
    );
}

#[test]
fn a_host_to_which_several_connections_fail_is_left_alone() {
    let down = Setting {
        refused: |number| number >= 10,
        ..thirty()
    };
    let (world, totals) = down.run(alone);
    assert!(back_offs(&world) >= 1, "{} times", back_offs(&world));
    assert!(
        totals.errors <= 6,
        "{} tries in five minutes",
        totals.errors
    );
}

#[test]
fn nobody_is_blamed_for_memory_that_the_device_does_not_have() {
    let (world, _) = thirty().run(|hit| match (hit.target.as_str(), hit.at.as_secs()) {
        ("/robots.txt", _) => Answer::none(),
        (_, 60..120) => Answer::too_much(),
        _ => Answer::page("here"),
    });
    let events = world.events.borrow();
    let failed = events.iter().filter_map(|(_, event)| match event {
        Event::Failed { why, .. } => Some(*why),
        _ => None,
    });
    let failed: Vec<Failure> = failed.collect();
    assert!(failed.len() > 5, "{failed:?}");
    let is_memory = |why: &Failure| *why == Failure::Tls(TlsError::Memory);
    assert!(failed.iter().all(is_memory), "{failed:?}");
    assert_eq!(back_offs(&world), 0);
}
