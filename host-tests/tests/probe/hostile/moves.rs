//! Pages that have moved for good: whoever said so once does not keep them for ever.

use dunlin::time::Duration;

use super::{GAP, no_robots, shortest_gap};
use crate::world::{Answer, Setting};

#[test]
fn a_page_that_moved_for_good_is_looked_for_where_the_list_says_now_and_then() {
    let (world, _) = Setting {
        seconds: 3_600,
        ..Setting::of(GAP, &[("a.test", &["/page"])])
    }
    .run(|hit| {
        let portal = hit.at < Duration::from_secs(30);
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/page") if portal => Answer::moved(301, "http://portal.test/login"),
            ("portal.test", _) => Answer::page("pay first"),
            _ => Answer::page("here"),
        })
    });
    let captured = world.asked("portal.test", "/login").len();
    assert!(
        (20..=32).contains(&captured),
        "visited {captured} times at the portal"
    );
    assert!(
        world.asked("a.test", "/page").len() > 100,
        "and is read at home again"
    );
}

#[test]
fn a_page_that_moved_for_good_stays_there_when_its_old_place_confirms_or_is_gone() {
    for old in [301, 404, 500] {
        let (world, _) = Setting {
            seconds: 3 * 3_600,
            back_off_ms: 1_000,
            ..Setting::of(GAP, &[("a.test", &["/page"])])
        }
        .run(move |hit| {
            let first = hit.at < Duration::from_secs(30);
            no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
                "a.test" if first || old == 301 => Answer::moved(301, "http://b.test/page"),
                "a.test" => Answer::new(old, "", ""),
                _ => Answer::page("here"),
            })
        });
        let new = world.asked("b.test", "/page").len();
        let checks = world.asked("a.test", "/page").len();
        assert!(new > 500, "{old}: read {new} times");
        assert!(
            (new / 40..=new / 20).contains(&checks),
            "{old}: {checks} checks, {new} visits"
        );
        assert!(shortest_gap(&world, &["a.test", "b.test"]) > Duration::ZERO);
    }
}

#[test]
fn a_move_for_a_while_and_then_for_good_is_one_for_a_while() {
    let setting = Setting::of(GAP, &[("a.test", &["/old"])]);
    let (world, _) = setting.run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
            "/old" => Answer::moved(302, "/between"),
            "/between" => Answer::moved(301, "/new"),
            _ => Answer::page("here"),
        })
    });
    let new = world.asked("a.test", "/new").len();
    assert!(new > 5);
    assert!(
        world.asked("a.test", "/old").len() >= new,
        "asked for at every visit"
    );
}

#[test]
fn a_page_that_waits_at_another_gate_costs_no_budget_for_that() {
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2", "/3", "/4"]), ("b.test", &["/own"])];
    let (world, _) = Setting {
        seconds: 6 * 3_600,
        per_day: Some(1_440.0),
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "a.test" => Answer::moved(302, &format!("http://b.test{}", hit.target)),
            _ => Answer::page("here"),
        })
    });
    let requests = world.hits.borrow().len();
    assert!(
        (340..=380).contains(&requests),
        "{requests} requests of 360"
    );
}
