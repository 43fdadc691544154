//! Pages that have moved for good: whoever said so once does not keep them for ever.

use dunlin::catalog::CrawlLimits;
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::{GAP, no_robots, shortest_gap};
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

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

/// Where a page is, but for what a portal says once.
fn at_home(hit: &Hit) -> Answer {
    no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
        "portal.test" => Answer::page("pay first"),
        _ => Answer::page("here"),
    })
}

/// What a portal says of a page.
fn captured(hit: &Hit) -> Answer {
    match (hit.host.as_str(), hit.target.as_str()) {
        ("a.test", "/page") => Answer::moved(301, "http://portal.test/login"),
        _ => at_home(hit),
    }
}

#[test]
fn a_page_that_is_hardly_visited_is_looked_for_where_the_list_says_after_a_week() {
    const DAY: f64 = 86_400.0;
    let (world, _) = Setting {
        seconds: 12 * 86_400,
        limits: vec![(
            0,
            CrawlLimits {
                max: Some(2),
                ..CrawlLimits::NONE
            },
        )],
        ..Setting::of(GAP, &[("a.test", &["/page"])])
    }
    .run(|hit| match hit.at < Duration::HOUR {
        true => captured(hit),
        false => at_home(hit),
    });
    let days = |hit: &Hit| hit.at.as_secs() as f64 / DAY;
    let away = world.asked("portal.test", "/login");
    assert!(
        (10..=16).contains(&away.len()),
        "visited {} times at the portal, too few for a check by their number",
        away.len()
    );
    let last = away.last().map_or(0.0, days);
    assert!((6.0..=7.0).contains(&last), "last on day {last:.1}");
    let home = world.asked("a.test", "/page");
    let back = home.get(1).map_or(f64::MAX, days);
    assert!((7.0..=7.6).contains(&back), "checked on day {back:.1}");
    assert!(home.len() > 8, "and read at home again");
}

/// Runs of so many seconds on the same flash, one after the other, until one of them is enough.
fn restarts(
    runs: usize,
    seconds: u64,
    site: impl Fn(&Hit) -> Answer + Copy + 'static,
    mut is_enough: impl FnMut(&World) -> bool,
) {
    let mut flash = Flash::<14, 1024, 4>::blank();
    let setting = Setting {
        seconds,
        ..Setting::of(GAP, &[("a.test", &["/page"])])
    };
    for run in 0..runs {
        let mut store = Store::new(flash);
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        let (world, _) = match run {
            0 => setting.run_keeping(Some(keeper), captured, |_, _| ()),
            _ => setting.run_keeping(Some(keeper), site, |_, _| ()),
        };
        flash = store.flash().switched_on();
        if run > 0 && is_enough(&world) {
            return;
        }
    }
}

#[test]
fn a_page_that_moved_for_good_comes_home_on_a_device_that_starts_again_and_again() {
    let mut away = 0;
    // Some are lucky, and look where the list says at their first visit.
    for seconds in [100, 120, 140, 160] {
        let mut home = 0;
        restarts(60, seconds, at_home, |world| {
            away += world.asked("portal.test", "/login").len();
            home += world.asked("a.test", "/page").len();
            home > 20
        });
        assert!(home > 20, "after {seconds} s each: visited {home} times");
    }
    assert!(
        away > 20,
        "visited {away} times at the portal: it was kept over restarts"
    );
}

#[test]
fn a_move_is_checked_as_often_by_a_device_that_starts_again_and_again() {
    let mut away = 0;
    let mut checks = 0;
    restarts(120, 120, captured, |world| {
        away += world.asked("portal.test", "/login").len();
        checks += world.asked("a.test", "/page").len();
        false
    });
    assert!(away > 600, "visited {away} times");
    assert!(
        (away / 48..=away / 22).contains(&checks),
        "{checks} checks, {away} visits"
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
