//! What holds whatever the servers do: robots first, gaps kept, hours obeyed, a watchdog that is
//! fed, no two runs apart.

use dunlin::fetch::Ignore;
use dunlin::probe::{Event, Failure, Flags};
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Setting};

const GAP: Duration = Duration::from_secs(5);

fn site(hit: &Hit) -> Answer {
    match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\nDisallow: /private\n"),
        hangs if hangs.starts_with("/hangs") => Answer {
            after: Duration::HOUR,
            ..Answer::page("")
        },
        "/busy" => Answer::new(429, "Retry-After: 120\r\n", ""),
        "/changing" => Answer::page(&format!("{}", hit.at.as_secs() / 60)),
        _ if hit.conditional => Answer::new(304, "", ""),
        _ => Answer::new(200, "ETag: \"one\"\r\n", "here"),
    }
}

fn setting() -> Setting {
    let hosts: [(&'static str, &[&'static str]); 4] = [
        ("a.test", &["/still", "/changing", "/private/x"]),
        ("b.test", &["/hangs", "/hangs/2", "/hangs/3"]),
        ("c.test", &["/busy"]),
        ("d.invalid", &["/x"]),
    ];
    Setting {
        seconds: 1_200,
        ..Setting::of(GAP, &hosts)
    }
}

#[test]
fn a_bad_host_blocks_only_itself() {
    let (world, totals) = setting().run(site);
    assert_eq!(
        world.hits.borrow().first().map(|hit| hit.target.clone()),
        Some("/robots.txt".into())
    );
    let good = world.asked("a.test", "/still").len() + world.asked("a.test", "/changing").len();
    // Were every slot to wait for the host that hangs, there would be 40.
    assert!(good > 120, "{good}");
    assert!(world.asked("a.test", "/private/x").is_empty() && totals.denied > 0);
    assert!(world.shortest_gap("a.test") >= GAP);
    assert!(!world.asked("b.test", "/hangs").is_empty());
    let busy = world.asked("c.test", "/busy");
    assert!(busy.len() > 3);
    assert!(
        busy.windows(2)
            .all(|pair| pair[1].at - pair[0].at >= Duration::from_secs(120))
    );
    // All but the last, perhaps, which may still be under way.
    let still = world.asked("a.test", "/still");
    let asked_whether = still.iter().filter(|hit| hit.conditional).count() as u32;
    assert!((asked_whether - 1..=asked_whether).contains(&totals.not_modified));
    assert!(
        totals.not_modified > 50 && totals.changed > 10 && totals.errors > 3,
        "{totals:?}"
    );
    assert!(
        world.watchdog.get() >= 1_199,
        "fed {} times in 1,200 s",
        world.watchdog.get()
    );
}

#[test]
fn the_watchdog_starves_when_nothing_goes_on() {
    // At a page that takes an hour; and between two pages, as if an alarm had been lost.
    for path in ["/hangs", "/still"] {
        let hosts: [(&'static str, &[&'static str]); 1] = [("a.test", &[path])];
        let setting = Setting {
            seconds: 1_200,
            stuck_from: Some(300),
            ..Setting::of(GAP, &hosts)
        };
        let (world, _) = setting.run(site);
        // Twice the deadline of a fetch, and what the next one was still away: minutes, for a host
        // that fails.
        let fed = world.watchdog.get();
        assert!((300..=600).contains(&fed), "{path}: fed {fed} times");
    }
}

#[test]
fn two_runs_are_the_same() {
    let first = setting().run(site);
    let second = setting().run(site);
    assert_eq!(*first.0.hits.borrow(), *second.0.hits.borrow());
    assert_eq!(*first.0.events.borrow(), *second.0.events.borrow());
    assert_eq!(first.1, second.1);
}

#[test]
fn nobody_is_asked_or_blamed_while_the_network_is_away() {
    let setting = Setting {
        away: Some((100, 200)),
        ..Setting::of(GAP, &[("a.test", &["/still", "/changing"])])
    };
    let (world, totals) = setting.run(site);
    let hits = world.hits.borrow();
    assert!(
        !hits
            .iter()
            .any(|hit| (101..200).contains(&hit.at.as_secs()))
    );
    assert!(
        hits.iter()
            .any(|hit| hit.at.as_secs() < 210 && hit.at.as_secs() >= 200)
    );
    assert_eq!(totals.errors, 0);
    assert!(
        !world
            .events
            .borrow()
            .iter()
            .any(|(_, event)| matches!(event, Event::BackOff { .. }))
    );
}

#[test]
fn names_are_asked_for_every_ten_minutes_and_one_that_fails_every_minute() {
    let asked = |host: &'static str, seconds: u64| {
        let (world, totals) = Setting {
            seconds,
            back_off_ms: 1_000,
            ..Setting::of(GAP, &[(host, &["/still"])])
        }
        .run(site);
        (world.resolved.borrow().len(), totals)
    };
    let (names, totals) = asked("a.test", 3_599);
    assert!(
        names == 6 && totals.fetches > 600,
        "{names} queries for {} fetches in an hour",
        totals.fetches
    );
    let (names, totals) = asked("d.invalid", 59);
    assert!(
        names == 1 && totals.errors > 3,
        "{names} queries for {} failures in a minute",
        totals.errors
    );
    let (names, _) = asked("d.invalid", 3_599);
    assert!((2..=60).contains(&names), "{names} queries in an hour");
}

#[test]
fn a_host_is_left_alone_for_a_reason_that_is_told() {
    let (world, _) = setting().run(site);
    let reasons = |wanted: u16| {
        let events = world.events.borrow();
        let reasons = events.iter().filter_map(|(_, event)| match event {
            Event::BackOff { host, why, .. } if *host == wanted => Some(*why),
            _ => None,
        });
        reasons.collect::<Vec<_>>()
    };
    assert!(reasons(0).is_empty());
    for (host, reason) in [
        (1, Failure::Deadline),
        (2, Failure::Busy),
        (3, Failure::Name),
    ] {
        assert!(
            !reasons(host).is_empty() && reasons(host).iter().all(|why| *why == reason),
            "{:?}",
            reasons(host)
        );
    }
}

#[test]
fn hours_are_local_and_known_from_the_servers_clocks() {
    // a.test may be asked from 10 to 12 local time, which is universal time and 90 minutes. Boot is
    // at 6:00 UTC.
    let setting = Setting {
        hours: Some((10, 12)),
        utc_offset_minutes: 90,
        seconds: 2 * 86_400,
        ..Setting::of(
            Duration::from_secs(300),
            &[("a.test", &["/still"]), ("b.test", &["/still"])],
        )
    };
    let (world, _) = setting.run(|hit| {
        let clock = 6 * 3_600 + hit.at.as_secs();
        let day = 16 + clock / 86_400;
        let hour = clock / 3_600 % 24;
        let minute = clock / 60 % 60;
        let second = clock % 60;
        let name = ["Mon", "Tue", "Wed", "Thu"][(clock / 86_400) as usize % 4];
        let date =
            format!("Date: {name}, {day} Nov 2026 {hour:02}:{minute:02}:{second:02} GMT\r\n");
        match hit.target.as_str() {
            "/robots.txt" => Answer::new(404, &date, ""),
            _ => Answer::new(200, &date, "here"),
        }
    });
    let asked = world
        .hits
        .borrow()
        .iter()
        .filter(|hit| hit.host == "a.test")
        .cloned()
        .collect::<Vec<_>>();
    assert!(asked.len() > 20, "asked {} times", asked.len());
    for hit in &asked {
        let local = (6 * 60 + hit.at.as_secs() / 60 + 90) % (24 * 60);
        assert!(
            (600..720).contains(&local),
            "asked at minute {local} of the local day"
        );
    }
}

#[test]
fn hours_are_known_from_the_boards_own_clock() {
    // Noon, and nobody says so but the board.
    let host = |hours| Setting {
        hours: Some(hours),
        unix_time: Some(1_793_966_400),
        ..Setting::of(GAP, &[("a.test", &["/still"])])
    };
    assert!(
        !host((11, 13)).run(site).0.hits.borrow().is_empty(),
        "not asked within its hours"
    );
    assert!(
        host((13, 15)).run(site).0.hits.borrow().is_empty(),
        "asked outside its hours"
    );
}

/// A page that is new at every visit, but for what the owner does not count.
#[test]
fn what_the_owner_ignores_is_no_change() {
    let ignore = vec![Ignore {
        from: b"<time>",
        to: b"</time>",
    }];
    let setting = Setting {
        ignore,
        ..Setting::of(GAP, &[("a.test", &["/clock", "/clock/and/more"])])
    };
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        "/clock" => Answer::page(&format!("<time>{}</time> and text", hit.at.as_micros())),
        _ => Answer::page(&format!("<time>{0}</time> and {0}", hit.at.as_micros())),
    });
    let changes = |wanted: u16| {
        let events = world.events.borrow();
        let is = |event: &Event| matches!(event, Event::End { page, changed: true, .. } if *page == wanted);
        events.iter().filter(|(_, event)| is(event)).count()
    };
    assert_eq!(changes(0), 1, "its first version");
    assert!(changes(1) > 5, "{}", changes(1));
}

#[test]
fn what_is_compressed_unasked_or_too_long_is_flagged() {
    let hosts: [(&'static str, &[&'static str]); 1] = [("a.test", &["/plain", "/packed", "/long"])];
    let (world, _) = Setting {
        seconds: 60,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        "/packed" => Answer::new(200, "Content-Encoding: gzip\r\n", "?"),
        "/long" => Answer::page(&"x".repeat(1 << 20 | 1)),
        _ => Answer::page("here"),
    });
    let mut flags = std::collections::BTreeSet::new();
    for (_, event) in world.events.borrow().iter() {
        if let Event::End {
            page,
            changed,
            flags:
                Flags {
                    first,
                    encoded,
                    cut,
                },
            ..
        } = *event
        {
            assert_eq!(
                first, changed,
                "nothing changes here but from nothing to something"
            );
            flags.insert((page, encoded, cut));
        }
    }
    assert_eq!(
        Vec::from_iter(flags),
        [(0, false, false), (1, true, false), (2, false, true)]
    );
}

#[test]
fn a_date_is_sent_back_where_a_server_tells_no_tag() {
    for (headers, conditional) in [
        ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true),
        ("", false),
    ] {
        let setting = Setting::of(Duration::from_secs(10), &[("a.test", &["/1"])]);
        let (world, _) = setting.run(move |hit| match hit.target.as_str() {
            "/robots.txt" => Answer::none(),
            _ => Answer::new(200, headers, "here"),
        });
        let asked = world.asked("a.test", "/1");
        assert!(asked.len() > 3 && !asked[0].conditional, "{headers}");
        let later = asked.iter().skip(1);
        assert!(
            later.clone().all(|hit| hit.conditional == conditional),
            "{headers}"
        );
    }
}

#[test]
fn freshness_is_told_once_something_was_fetched() {
    let setting = Setting::of(Duration::from_secs(10), &[("a.test", &["/1", "/2"])]);
    let seen = std::cell::RefCell::new(Vec::new());
    let site = |hit: &Hit| match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        _ => Answer::page("here"),
    };
    setting.run_keeping(None::<Keeper<'_, Flash<3, 1024, 4>>>, site, |_, probe| {
        seen.borrow_mut().push(probe.freshness());
    });
    let seen = seen.into_inner();
    let is_share = |share: Option<f32>| share.is_some_and(|share| (0.0..=1.0).contains(&share));
    let last = seen.last().copied().unwrap_or_default();
    assert!(is_share(last.0) && is_share(last.1), "{last:?}");
    assert!(last.0 > Some(0.5), "two pages that hardly change: {last:?}");
}

#[test]
fn rules_for_everybody_do_not_hold_where_others_are_for_us() {
    let setting = Setting {
        seconds: 60,
        ..Setting::of(GAP, &[("a.test", &["/open", "/private"])])
    };
    let (world, _) = setting.run(|hit| match hit.target.as_str() {
        "/robots.txt" => {
            Answer::page("User-agent: *\nDisallow: /\n\nUser-agent: dunlin\nDisallow: /private\n")
        }
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/open").len() > 3);
    assert!(world.asked("a.test", "/private").is_empty());
}

#[test]
fn the_totals_say_by_how_much_visits_were_late() {
    let late = |away| {
        let setting = Setting {
            away,
            seconds: 400,
            ..Setting::of(GAP, &[("a.test", &["/one"])])
        };
        let (_, totals) = setting.run(|_| Answer::page("here"));
        totals.late_seconds
    };
    let [usual, without_network] = [None, Some((100, 300))].map(late);
    // Its one page came due soon after the network had gone.
    let least = usual + 150;
    assert!(without_network >= least, "{without_network} s, {usual} s");
}
