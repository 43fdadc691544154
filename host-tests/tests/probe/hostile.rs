//! Hosts that mean harm: what they may not do to other hosts, to the owner's network, and to
//! themselves.

use std::cell::Cell;
use std::net::IpAddr;

use dunlin::catalog::{Gateway, Name};
use dunlin::fetch::HttpDate;
use dunlin::probe::{Event, Failure};
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

const GAP: Duration = Duration::from_secs(10);

fn no_robots(hit: &Hit) -> Option<Answer> {
    (hit.target == "/robots.txt").then(Answer::none)
}

/// The shortest time between two requests to any of these hosts.
fn shortest_gap(world: &World, hosts: &[&str]) -> Duration {
    let hits = world.hits.borrow();
    let asked = hits.iter().filter(|hit| hosts.contains(&hit.host.as_str()));
    let times: Vec<Duration> = asked.map(|hit| hit.at).collect();
    assert!(
        times.len() > 3,
        "{hosts:?} were asked {} times",
        times.len()
    );
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.min().unwrap_or(Duration::ZERO)
}

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

/// FNV-1a as strangers were once told apart by: port and scheme, then the name.
fn digest(name: &str) -> u32 {
    let bytes = [80, 0]
        .into_iter()
        .chain(name.bytes().flat_map(|byte| [byte, 0]));
    bytes.fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[test]
fn a_stranger_is_not_taken_for_another_one_whose_name_has_the_same_hash() {
    let mut seen = std::collections::HashMap::new();
    let names = (0_u32..).map(|number| format!("{number:x}.test"));
    let (bad, good) = names
        .filter_map(|name| {
            let other = seen.insert(digest(&name), name.clone())?;
            Some((other, name))
        })
        .next()
        .expect("two of 77,000 names");
    let at = |name: &str| format!("http://{name}/page");
    let (to_bad, to_good) = (at(&bad), at(&good));
    let setting = Setting::of(GAP, &[("a.test", &["/1"]), ("b.test", &["/2"])]);
    let host = good.clone();
    let (world, _) = setting.run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
        (name, "/robots.txt") if name == host => Answer::page("User-agent: *\nDisallow: /\n"),
        (_, "/robots.txt") => Answer::none(),
        ("a.test", _) => Answer::moved(302, &to_bad),
        ("b.test", _) => Answer::moved(302, &to_good),
        _ => Answer::page("here"),
    });
    assert!(world.asked(&bad, "/page").len() > 3);
    assert_eq!(world.asked(&good, "/robots.txt").len(), 1);
    assert!(
        world.asked(&good, "/page").is_empty(),
        "its own rules forbid it"
    );
}

#[test]
fn the_rules_of_http_say_nothing_of_https() {
    let pages = &[
        "http://a.test/open",
        "https://a.test/closed",
        "https://a.test/open",
    ];
    let (world, _) = Setting {
        https: true,
        ..Setting::of(GAP, &[("a.test", pages)])
    }
    .run(|hit| match (hit.https, hit.target.as_str()) {
        (false, "/robots.txt") => Answer::none(),
        (true, "/robots.txt") => Answer::page("User-agent: *\nDisallow: /closed\n"),
        _ => Answer::page("here"),
    });
    assert!(world.asked("a.test", "/closed").is_empty());
    let open = world.asked("a.test", "/open");
    let secure = open.iter().filter(|hit| hit.https).count();
    assert!(secure > 5 && open.len() - secure > 5, "both are read");
    assert_eq!(
        world.asked("a.test", "/robots.txt").len(),
        2,
        "one file each"
    );
    assert!(shortest_gap(&world, &["a.test"]) >= GAP);
}

#[test]
fn one_server_has_one_gate_however_it_is_spelled() {
    let hosts: [(&'static str, &[&'static str]); 2] = [
        ("https://a.test", &["/1", "/2"]),
        ("b.test", &["/3", "/4", "/5"]),
    ];
    let (world, _) = Setting {
        https: true,
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("b.test", "/3") => Answer::moved(302, "http://a.test/x"),
            ("b.test", "/4") => Answer::moved(302, "http://a.test./x"),
            ("b.test", "/5") => Answer::moved(302, "https://A.TEST/x"),
            _ => Answer::page("here"),
        })
    });
    for name in ["a.test", "a.test.", "A.TEST"] {
        assert!(
            !world.asked(name, "/x").is_empty(),
            "{name} was never reached"
        );
    }
    let gap = shortest_gap(&world, &["a.test", "a.test.", "A.TEST"]);
    assert!(gap >= GAP, "{gap:?}");
}

#[test]
fn strangers_have_one_gate_however_they_are_spelled() {
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2"]), ("b.test", &["/3", "/4"])];
    let (world, _) = Setting {
        https: true,
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.target.as_str() {
            "/1" => Answer::moved(302, "http://s.test/x"),
            "/2" => Answer::moved(302, "https://s.test/x"),
            "/3" => Answer::moved(302, "http://S.test./x"),
            "/4" => Answer::moved(302, "https://s.test./x"),
            _ => Answer::page("here"),
        })
    });
    let gap = shortest_gap(&world, &["s.test", "S.test.", "s.test."]);
    assert!(gap >= GAP, "{gap:?}");
}

#[test]
fn a_request_that_met_a_dead_connection_waits_its_gap() {
    let gap = Duration::from_secs(2);
    let last = std::cell::Cell::new(usize::MAX);
    let (world, _) = Setting::of(gap, &[("a.test", &["/1", "/2"])]).run(move |hit| {
        // The second request on a connection is seen, and not answered.
        if last.replace(hit.connection) == hit.connection {
            return Answer::silence();
        }
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(world.asked("a.test", "/1").len() > 20);
    assert!(shortest_gap(&world, &["a.test"]) >= gap);
}

#[test]
fn a_stranger_waits_for_a_day_at_most() {
    let (world, _) = Setting {
        seconds: 3 * 86_400,
        per_day: Some(2_000.0),
        ..Setting::of(Duration::from_secs(60), &[("a.test", &["/1"])])
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "a.test" => Answer::moved(302, "http://s.test/x"),
            _ => Answer::new(503, "Retry-After: 4294967295\r\n", ""),
        })
    });
    let asked = world.asked("s.test", "/x").len();
    assert!(
        (2..=4).contains(&asked),
        "asked {asked} times in three days"
    );
}

#[test]
fn one_host_does_not_end_the_redirects_of_others() {
    const PATHS: [&str; 20] = [
        "/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/12", "/13",
        "/14", "/15", "/16", "/17", "/18", "/19",
    ];
    let (world, _) = Setting {
        seconds: 3_600,
        ..Setting::of(GAP, &[("bad.test", &PATHS), ("good.test", &["/page"])])
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "bad.test" => {
                let name = hit.target.trim_start_matches('/');
                Answer::moved(302, &format!("http://s{name}.test/x"))
            }
            "good.test" => Answer::moved(302, "http://friend.test/x"),
            "friend.test" => Answer::page("here"),
            _ => Answer::new(503, "Retry-After: 4294967295\r\n", ""),
        })
    });
    let late = Duration::from_secs(1_800);
    let asked = world.asked("friend.test", "/x");
    let asked = asked.iter().filter(|hit| hit.at > late).count();
    assert!(
        asked > 20,
        "the honest page was read {asked} times in the last half hour"
    );
}

#[test]
fn a_robots_txt_that_says_not_now_for_no_time_backs_off_its_host() {
    for (status, headers) in [
        (503, "Retry-After: 0\r\n"),
        (200, "Content-Encoding: gzip\r\n"),
    ] {
        let setting = Setting::of(Duration::from_secs(1), &[("a.test", &["/1", "/2"])]);
        let (world, _) = setting.run(move |hit| match hit.target.as_str() {
            "/robots.txt" => Answer::new(status, headers, "User-agent: *\nAllow: /\n"),
            _ => Answer::page("here"),
        });
        let asked = world.hits.borrow().len();
        assert!(
            (1..=2).contains(&asked),
            "{status}: asked {asked} times in ten minutes"
        );
        assert!(world.asked("a.test", "/1").is_empty(), "{status}");
    }
}

#[test]
fn a_broken_server_is_left_alone_for_as_long_as_it_asks() {
    let setting = Setting::of(Duration::from_secs(1), &[("a.test", &["/1"])]);
    let (world, _) = setting
        .run(|hit| no_robots(hit).unwrap_or_else(|| Answer::new(500, "Retry-After: 250\r\n", "")));
    let asked = world.asked("a.test", "/1");
    assert!(asked.len() > 1 && world.shortest_gap("a.test") >= Duration::from_secs(1));
    let gaps = asked.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min() >= Some(Duration::from_secs(250)));
}

fn private(hit: &Hit) -> bool {
    !dunlin::fetch::is_public(hit.address)
}

#[test]
fn a_redirect_leads_into_the_private_network_by_no_name_of_the_list() {
    // The owner listed both names; only the first hop is the owner's own word.
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2"]), ("inside.test", &["/own"])];
    let (world, _) = Setting::of(GAP, &hosts).run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/1") => Answer::moved(302, "http://inside.test/admin"),
            ("a.test", _) => Answer::moved(302, "http://b.test/"),
            ("b.test", _) => Answer::moved(302, "http://[::1]/admin"),
            _ => Answer::page("here"),
        })
    });
    assert!(world.asked("inside.test", "/admin").is_empty());
    assert!(
        world.asked("[::1]", "/admin").is_empty(),
        "at the second hop, too"
    );
    assert!(
        world.asked("inside.test", "/own").len() > 5,
        "the owner listed it"
    );
    let hits = world.hits.borrow();
    assert!(
        hits.iter()
            .filter(|hit| private(hit))
            .all(|hit| hit.host == "inside.test")
    );
    let events = world.events.borrow();
    let refused = |(_, event): &&(Duration, Event)| {
        matches!(
            event,
            Event::Failed {
                why: Failure::PrivateAddress,
                ..
            }
        )
    };
    assert!(events.iter().filter(refused).count() > 1);
}

#[test]
fn a_redirect_leads_into_the_private_network_where_the_owner_named_it() {
    let names = vec![Name {
        host: "named.test",
        address: [10, 0, 0, 9],
    }];
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/1", "/2"]), ("10.0.0.8", &["/own"])];
    let (world, _) = Setting {
        names,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match (hit.host.as_str(), hit.target.as_str()) {
            ("a.test", "/1") => Answer::moved(302, "http://named.test/x"),
            ("a.test", _) => Answer::moved(302, "http://10.0.0.8/x"),
            _ => Answer::page("here"),
        })
    });
    assert!(
        !world.asked("named.test", "/x").is_empty(),
        "in the owner's table"
    );
    assert!(
        !world.asked("10.0.0.8", "/x").is_empty(),
        "an address of the list"
    );
}

#[test]
fn a_name_that_was_public_never_leads_into_the_private_network() {
    let (world, _) = Setting {
        seconds: 4 * 3_600,
        back_off_ms: 1_000,
        whereabouts: |name, at| match name {
            "turns.test" if at > Duration::from_secs(900) => Some([192, 168, 0, 1]),
            _ => None,
        },
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    }
    .run(|hit| no_robots(hit).unwrap_or_else(|| Answer::page("here")));
    let hits = world.hits.borrow();
    let to_router = IpAddr::from([192, 168, 0, 1]);
    assert!(hits.iter().all(|hit| hit.address != to_router));
    assert!(world.asked("turns.test", "/x").len() > 50);
    assert!(
        world.asked("inside.test", "/y").len() > 500,
        "private from the first"
    );
}

#[test]
fn a_name_that_was_public_never_leads_into_the_private_network_after_a_restart_either() {
    let setting = Setting {
        unix_time: Some(1_794_000_000),
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    };
    let turned = Setting {
        whereabouts: |name, _| (name == "turns.test").then_some([192, 168, 0, 1]),
        ..Setting::of(GAP, &[("turns.test", &["/x"]), ("inside.test", &["/y"])])
    };
    let world = second(&setting, &turned, |hit| {
        no_robots(hit).unwrap_or_else(|| Answer::page("here"))
    });
    assert!(
        world
            .resolved
            .borrow()
            .iter()
            .any(|name| name == "turns.test")
    );
    assert!(world.asked("turns.test", "/x").is_empty());
    assert!(!world.asked("inside.test", "/y").is_empty());
}

/// `liar.test` says that it is the end of the year 9999, three hosts what time it is.
fn dated(hit: &Hit) -> Answer {
    let unix = match hit.host.as_str() {
        "liar.test" => Some(253_402_300_799),
        "silent.test" => None,
        _ => Some(1_794_000_000 + hit.at.as_secs()),
    };
    let date = unix.and_then(HttpDate::from_unix);
    let date = date.map_or(String::new(), |date| {
        format!("Date: {}\r\n", String::from_utf8_lossy(&date.format()))
    });
    match hit.target.as_str() {
        "/robots.txt" => Answer::new(200, &date, "User-agent: *\nDisallow: /private\n"),
        _ => Answer::new(200, &date, "here"),
    }
}

#[test]
fn an_absurd_date_of_an_earlier_run_does_not_last() {
    const LONG: Duration = Duration::from_secs(300);
    let few = Setting {
        seconds: 1_200,
        ..Setting::of(LONG, &[("liar.test", &["/1"]), ("silent.test", &["/2"])])
    };
    let many = Setting {
        seconds: 30 * 3_600,
        hours: None,
        ..Setting::of(
            LONG,
            &[
                ("liar.test", &["/1"]),
                ("silent.test", &["/2"]),
                ("a.test", &["/3"]),
                ("b.test", &["/4"]),
                ("c.test", &["/5"]),
            ],
        )
    };
    let world = second(&few, &many, dated);
    let events = world.events.borrow();
    let clock = events.iter().find_map(|(at, event)| match event {
        Event::Clock { unix, .. } => Some(u64::from(*unix).abs_diff(1_794_000_000 + at.as_secs())),
        _ => None,
    });
    assert!(clock.is_some_and(|off| off < 60), "{clock:?} seconds off");
    let asked = world.asked("silent.test", "/robots.txt").len();
    assert!(asked > 0, "its rules were to hold for eighty years");
}

#[test]
fn a_gateway_is_asked_for_nothing_private_that_the_owner_did_not_name() {
    let (world, _) = Setting {
        gateway: Some(Gateway {
            host: "10.0.0.1",
            port: 3128,
        }),
        ..Setting::of(
            GAP,
            &[
                ("https://a.test", &["/1", "/2", "/3", "/4"]),
                ("b.test", &["/5"]),
            ],
        )
    }
    .run(|hit| match hit.target.as_str() {
        target if target.ends_with("/robots.txt") => Answer::none(),
        "https://a.test/1" => Answer::moved(302, "https://127.0.0.1/admin"),
        "https://a.test/2" => Answer::moved(302, "https://inside.test/admin"),
        "https://a.test/3" => Answer::moved(302, "https://[fe80::1]/admin"),
        "/5" => Answer::moved(302, "https://192.168.0.1/admin"),
        "https://a.test/4" => Answer::moved(302, "https://public.test/here"),
        _ => Answer::page("here"),
    });
    let hits = world.hits.borrow();
    let inside = |hit: &&Hit| hit.target.ends_with("/admin");
    assert_eq!(hits.iter().find(inside), None);
    let public = hits
        .iter()
        .filter(|hit| hit.target == "https://public.test/here");
    assert!(public.count() > 3, "where a redirect may lead");
}

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

/// Two hosts of the list whose pages are one stranger's.
fn with_stranger(seconds: u64, stranger: impl Fn(&Hit) -> Answer + 'static) -> World {
    let hosts: [(&'static str, &[&'static str]); 2] = [("a.test", &["/1"]), ("b.test", &["/2"])];
    let setting = Setting {
        seconds,
        ..Setting::of(GAP, &hosts)
    };
    let (world, _) = setting.run(move |hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("s.test", _) => stranger(hit),
        (_, "/robots.txt") => Answer::none(),
        _ => Answer::moved(302, "http://s.test/x"),
    });
    world
}

#[test]
fn a_crawl_delay_of_a_stranger_is_obeyed() {
    let world = with_stranger(3_600, |hit| match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\nCrawl-delay: 60\n"),
        _ => Answer::page("here"),
    });
    let asked = world.asked("s.test", "/x");
    assert!(asked.len() > 5, "asked {} times", asked.len());
    let gaps = asked.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min() >= Some(Duration::from_secs(60)));
}

#[test]
fn a_retry_after_of_a_stranger_is_obeyed() {
    let world = with_stranger(3_600, |hit| {
        no_robots(hit).unwrap_or_else(|| Answer::new(503, "Retry-After: 300\r\n", ""))
    });
    let asked = world.asked("s.test", "/x");
    assert!(asked.len() > 3, "asked {} times", asked.len());
    let gaps = asked.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min() >= Some(Duration::from_secs(300)));
}

#[test]
fn a_stranger_that_wants_to_be_left_alone_is_not_forgotten_for_others() {
    let hosts: [(&'static str, &[&'static str]); 6] = [
        ("a.test", &["/0", "/1"]),
        ("b.test", &["/2", "/3"]),
        ("c.test", &["/4", "/5"]),
        ("d.test", &["/6", "/7"]),
        ("e.test", &["/8", "/9"]),
        ("f.test", &["/0"]),
    ];
    let (world, _) = Setting {
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| {
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "s0.test" => Answer::new(503, "Retry-After: 1000\r\n", ""),
            host if host.starts_with('s') => Answer::page("here"),
            _ => {
                let number = hit.target.trim_start_matches('/');
                Answer::moved(302, &format!("http://s{number}.test/x"))
            }
        })
    });
    let asked = world.asked("s0.test", "/x");
    assert!(asked.len() > 1, "asked {} times", asked.len());
    let gaps = asked.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min() >= Some(Duration::from_secs(1_000)));
    assert!(
        world.asked("s9.test", "/x").len() > 10,
        "others come meanwhile"
    );
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

/// Two runs on the same flash: the second one's world.
fn second(
    before: &Setting,
    after: &Setting,
    site: impl Fn(&Hit) -> Answer + Copy + 'static,
) -> World {
    let keeping = |setting: &Setting, flash: Flash<14, 1024, 4>| {
        let mut store = Store::new(flash);
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        let (world, _) = setting.run_keeping(Some(keeper), site, |_, _| ());
        (world, store.flash().switched_on())
    };
    let (_, flash) = keeping(before, Flash::blank());
    keeping(after, flash).0
}

#[test]
fn a_host_that_shares_a_gate_does_not_shorten_its_wait_after_a_restart() {
    let setting = |seconds| Setting {
        seconds,
        one_gate: true,
        unix_time: Some(1_794_000_000),
        ..Setting::of(GAP, &[("a.test", &["/1"]), ("b.test", &["/2"])])
    };
    let world = second(&setting(100), &setting(600), |hit| {
        Answer::new(503, "Retry-After: 2000\r\n", hit.target.as_str())
    });
    assert_eq!(
        world.hits.borrow().first(),
        None,
        "both are to be left alone"
    );
}

#[test]
fn a_gap_that_the_owner_has_raised_wins_over_a_stored_one() {
    let setting = |gap| Setting {
        unix_time: Some(1_794_000_000),
        ..Setting::of(Duration::from_secs(gap), &[("a.test", &["/1", "/2"])])
    };
    let world = second(&setting(10), &setting(60), |hit| {
        match hit.target.as_str() {
            "/robots.txt" => Answer::page("User-agent: *\nCrawl-delay: 30\n"),
            _ => Answer::page("here"),
        }
    });
    assert!(
        world.asked("a.test", "/robots.txt").is_empty(),
        "its rules are known"
    );
    assert!(shortest_gap(&world, &["a.test"]) >= Duration::from_secs(60));
}
