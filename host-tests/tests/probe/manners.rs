//! How often pages are visited where the list or its owner says so.

use dunlin::catalog::CrawlLimits;
use dunlin::model::Objective;
use dunlin::probe::Event;
use dunlin::time::Duration;

use crate::world::{Answer, Hit, Setting};

const GAP: Duration = Duration::from_secs(15);

fn site(hit: &Hit) -> Answer {
    match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        _ => Answer::page("here"),
    }
}

/// Thirty pages of one host, 24 visits each a day.
fn thirty(seconds: u64) -> Setting {
    let paths: Vec<&'static str> = (0..30)
        .map(|page| &*format!("/page{page}").leak())
        .collect();
    Setting {
        hosts: vec![("a.test", GAP, paths)],
        per_day: Some(720.0),
        seconds,
        rate: 5.0,
        ..Setting::default()
    }
}

#[test]
fn a_robots_txt_is_held_against_all_pages_of_its_host() {
    let hosts: [(&str, &[&'static str]); 1] = [("a.test", &["/one", "/two", "/secret"])];
    let (world, _) = Setting::of(GAP, &hosts).run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\nDisallow: /secret\n"),
        _ => Answer::page("here"),
    });
    let events = world.events.borrow();
    let told = events.iter().find_map(|(_, event)| match event {
        Event::Robots { judged, denied, .. } => Some((*judged, *denied)),
        _ => None,
    });
    assert_eq!(told, Some((3, 1)), "pages that were judged, and denied");
}

#[test]
fn the_first_round_goes_at_politeness_pace_and_counts() {
    let (world, _) = thirty(86_400).run(site);
    let hits = world.hits.borrow();
    let round: Vec<&Hit> = hits.iter().take(31).collect();
    let pages: std::collections::BTreeSet<&str> =
        round.iter().map(|hit| hit.target.as_str()).collect();
    assert_eq!(pages.len(), 31, "robots.txt, and every page once");
    let end = round.last().map(|hit| hit.at.as_secs());
    assert!(
        end.is_some_and(|end| (449..=455).contains(&end)),
        "7.5 min, not {end:?} s"
    );
    // What was fetched ahead of the budget is made up for: the second round is an hour later.
    let second = hits.get(31).map(|hit| hit.at.as_secs() / 60);
    assert!(
        second.is_some_and(|minute| (50..=65).contains(&minute)),
        "minute {second:?}"
    );
    assert!(hits.len() <= 723, "{} requests in a day", hits.len());
    assert!(hits.len() > 650, "{} requests in a day", hits.len());
}

#[test]
fn a_first_round_takes_no_more_than_a_days_budget() {
    let (world, _) = Setting {
        per_day: Some(10.0),
        ..thirty(86_400)
    }
    .run(site);
    let asked = world.hits.borrow().len();
    // Robots.txt counts, and three slots may each be one ahead.
    assert!((9..=14).contains(&asked), "{asked} requests in a day");
}

#[test]
fn a_page_that_never_answers_does_not_eat_the_first_round() {
    let (world, _) = thirty(3_000).run(|hit| match hit.target.as_str() {
        "/page3" => Answer::new(500, "", ""),
        _ => site(hit),
    });
    for page in 0..30 {
        let asked = world.asked("a.test", &format!("/page{page}"));
        let first = asked.first().map(|hit| hit.at.as_secs());
        assert!(first.is_some_and(|first| first < 600), "/page{page}");
    }
}

#[test]
fn a_page_is_visited_as_often_as_its_list_says() {
    let ten_minutes = Duration::from_secs(600);
    let setting = || Setting {
        limits: vec![
            (4, CrawlLimits::every(ten_minutes)),
            (9, CrawlLimits::every(Duration::HOUR * 6)),
        ],
        per_day: Some(28.0 * 24.0 + 144.0 + 4.0),
        ..thirty(86_400)
    };
    let (world, _) = setting().run(site);
    let often = world.asked("a.test", "/page4").len();
    // An hour of the day goes to making up for the first round.
    assert!((115..=145).contains(&often), "{often} times in a day");
    let seldom = world.asked("a.test", "/page9").len();
    assert!((4..=5).contains(&seldom), "{seldom} times in a day");
    let usual = world.asked("a.test", "/page5").len();
    assert!((15..=30).contains(&usual), "{usual} times in a day");
}

#[test]
fn politeness_comes_before_what_a_list_says() {
    let (world, _) = Setting {
        limits: vec![(0, CrawlLimits::every(Duration::from_secs(1)))],
        per_day: None,
        ..thirty(3_600)
    }
    .run(site);
    assert!(world.shortest_gap("a.test") >= GAP);
    let others = world.asked("a.test", "/page5").len();
    assert!(others > 0, "the others are visited, too");
}

#[test]
fn a_page_is_asked_for_no_more_often_than_its_list_allows_whatever_it_answers() {
    let max = CrawlLimits {
        max: Some(12),
        ..CrawlLimits::NONE
    };
    let setting = Setting {
        limits: (0..30).map(|page| (page, max)).collect(),
        per_day: None,
        ..thirty(2 * 86_400)
    };
    let (world, _) = setting.run(|hit| {
        let number: String = hit.target.chars().filter(char::is_ascii_digit).collect();
        match number.parse().unwrap_or(99) {
            99 => Answer::none(),
            number if number % 5 == 1 => Answer::new(500, "", ""),
            number if number % 5 == 2 => Answer::silence(),
            number if number % 5 == 3 => Answer::moved(302, "/elsewhere"),
            _ => Answer::page(&format!("{}", hit.at.as_secs())),
        }
    });
    for page in 0..30 {
        let asked = world.asked("a.test", &format!("/page{page}"));
        assert!(
            (2..=24).contains(&asked.len()),
            "/page{page}: {}",
            asked.len()
        );
        for pair in asked.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(gap >= Duration::HOUR * 2, "/page{page}: {gap:?}");
        }
    }
    let often = world.asked("a.test", "/page0").len();
    assert!(often >= 22, "{often} times in two days, 24 are allowed");
}

#[test]
fn a_page_that_changes_by_the_clock_is_asked_for_just_after() {
    const MIDNIGHT: u64 = 1_794_009_600;
    let six = Duration::HOUR * 6;
    let setting = Setting {
        updates: vec![(3, six), (4, Duration::HOUR * 18)],
        per_day: Some(60.0),
        unix_time: Some(MIDNIGHT),
        ..thirty(4 * 86_400)
    };
    let (world, _) = setting.run(site);
    let times = |path| -> Vec<u64> {
        let asked = world.asked("a.test", path);
        asked.iter().map(|hit| hit.at.as_secs()).collect()
    };
    for (path, hour) in [("/page3", 6), ("/page4", 18)] {
        let asked = times(path);
        // The first round, and then once a day; the first of these may wait until the budget has
        // made up for the first round.
        assert_eq!(asked.len(), 5, "{path}: {asked:?}");
        for (day, at) in asked[1..].iter().enumerate().skip(1) {
            let after = at - (24 * day as u64 + hour) * 3_600;
            // Where the budget is tight, pages that are late already come first: one or two.
            assert!((2..3_000).contains(&after), "{path}: {asked:?}");
        }
    }
}

/// One robots.txt a host and day does not take the budget that visits need.
#[test]
fn forty_hosts_with_a_page_each_are_visited_after_every_update() {
    const MIDNIGHT: u64 = 1_794_009_600;
    const DAYS: u64 = 4;
    let update = |page: u64| 300 + 2_160 * page;
    let hosts = (0..40).map(|host| (&*format!("host{host}.test").leak(), GAP, vec!["/page"]));
    let setting = Setting {
        hosts: hosts.collect(),
        updates: (0..40)
            .map(|page| (page, Duration::from_secs(update(page.into()))))
            .collect(),
        per_day: Some(40.0),
        unix_time: Some(MIDNIGHT),
        seconds: DAYS * 86_400,
        ..Setting::default()
    };
    let (world, _) = setting.run(site);
    let mut stale = 0;
    for page in 0..40 {
        let asked = world.asked(&format!("host{page}.test"), "/page");
        for day in 1..DAYS {
            let changed = 86_400 * day + update(page);
            let end = (changed + 86_400).min(DAYS * 86_400);
            let seen = asked.iter().map(|hit| hit.at.as_secs());
            stale += seen
                .filter(|at| *at >= changed)
                .min()
                .unwrap_or(end)
                .min(end)
                - changed;
        }
    }
    let fresh = 1.0 - stale as f64 / (40 * 86_400 * (DAYS - 1)) as f64;
    assert!(fresh >= 0.99, "{fresh}");
    // The budget is one of visits; each host's robots.txt comes on top once a day.
    let hits = world.hits.borrow();
    let rules = hits
        .iter()
        .filter(|hit| hit.target == "/robots.txt")
        .count() as u64;
    let visits = hits.len() as u64 - rules;
    assert!(rules <= 40 * DAYS, "{rules}");
    assert!(visits <= 40 + 40 * DAYS, "{visits}");
}

#[test]
fn a_page_that_is_too_fast_is_given_up_unless_young_copies_are_wanted() {
    let visits = |objective| {
        let (world, _) = Setting {
            rates: (0..15).map(|page| (page, 2_000.0)).collect(),
            rate: 2.0,
            confidence: 1e6,
            per_day: Some(150.0),
            objective,
            ..thirty(4 * 86_400)
        }
        .run(site);
        (0..15)
            .map(|page| world.asked("a.test", &format!("/page{page}")).len())
            .sum::<usize>()
    };
    // The first round, and that is all.
    assert_eq!(visits(Objective::Freshness), 15);
    let young = visits(Objective::Age);
    assert!(young > 200, "{young}");
}
