//! Hosts that are not in the list, and that only redirects lead to: what is remembered of them, how
//! long, and what they may not take from others.

use std::collections::HashMap;

use dunlin::fetch::{HttpDate, Url};
use dunlin::image::{Teller, TellerSource};
use dunlin::probe::Event;
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::{GAP, no_robots, shortest_gap};
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

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
    let mut seen = HashMap::new();
    let names = (0_u32..).map(|number| format!("{number:x}.test"));
    let (bad, good) = names
        .filter_map(|name| {
            let other = seen.insert(digest(&name), name.clone())?;
            Some((other, name))
        })
        .next()
        .expect("two of 77,000 names");
    let at = |name: &str| format!("http://{name}/page");
    let to_bad = at(&bad);
    let to_good = at(&good);
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
fn a_stranger_that_is_closed_keeps_its_place_when_all_are_taken() {
    const CLOSED: Duration = Duration::from_secs(1_000);
    // Eight hosts lead to a stranger each, which take all places. Then one leads to a ninth, and
    // later eight more lead to the first eight.
    let first = (0..8).map(|number| (format!("first{number}.test"), number, 0));
    let ninth = [("ninth.test".to_owned(), 8, 100)];
    let later = (0..8).map(|number| (format!("later{number}.test"), number, 200));
    let leads: Vec<(String, u32, u64)> = first.chain(ninth).chain(later).collect();
    let hosts = leads.iter().map(|(host, ..)| {
        let host: &'static str = host.clone().leak();
        (host, GAP, vec!["/page"])
    });
    let setting = Setting {
        hosts: hosts.collect(),
        seconds: 1_500,
        ..Setting::default()
    };
    let (world, _) = setting.run(move |hit| {
        if hit.host.starts_with("stranger") {
            return Answer::new(503, "Retry-After: 1000\r\n", "");
        }
        let lead = leads.iter().find(|(host, ..)| *host == hit.host);
        no_robots(hit).unwrap_or_else(|| match lead {
            Some((_, number, from)) if hit.at >= Duration::from_secs(*from) => {
                Answer::moved(302, &format!("http://stranger{number}.test/x"))
            }
            _ => Answer::page("here"),
        })
    });
    let asked = |number: u32| {
        let host = format!("stranger{number}.test");
        let hits = world.hits.borrow();
        let hits = hits.iter().filter(|hit| hit.host == host);
        hits.map(|hit| hit.at).collect::<Vec<Duration>>()
    };
    for number in 0..8 {
        let times = asked(number);
        assert!(times[0] < Duration::from_secs(100), "{number}: {times:?}");
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        let shortest = gaps.min().unwrap_or(CLOSED);
        assert!(shortest >= CLOSED, "{number}: {times:?}");
    }
    let times = asked(8);
    assert!(
        times.iter().all(|time| *time >= CLOSED),
        "there is no place for a ninth: {times:?}"
    );
}

#[test]
fn a_crawl_delay_of_a_stranger_outlives_its_place() {
    // Pages that have moved for good, to more strangers than are remembered.
    let hosts: [(&'static str, &[&'static str]); 7] = [
        ("a.test", &["/0", "/1"]),
        ("b.test", &["/2", "/3"]),
        ("c.test", &["/4", "/5"]),
        ("d.test", &["/6", "/7"]),
        ("e.test", &["/8", "/9"]),
        ("f.test", &["/0", "/10"]),
        ("g.test", &["/0", "/11"]),
    ];
    let (world, _) = Setting {
        seconds: 6 * 3_600,
        ..Setting::of(GAP, &hosts)
    }
    .run(|hit| match (hit.host.as_str(), hit.target.as_str()) {
        ("s0.test", "/robots.txt") => Answer::page("User-agent: *\nCrawl-delay: 100\n"),
        (_, "/robots.txt") => Answer::none(),
        (host, _) if host.starts_with('s') => Answer::page("here"),
        (_, path) => {
            let number = path.trim_start_matches('/');
            Answer::moved(301, &format!("http://s{number}.test/x"))
        }
    });
    assert!(world.asked("s0.test", "/x").len() > 20);
    assert!(world.asked("s11.test", "/x").len() > 20);
    let gap = shortest_gap(&world, &["s0.test"]);
    assert!(gap >= Duration::from_secs(100), "{gap:?}");
}

/// A sitemap of `evil.test` and a forbidden one of `good.test` whose URLs have the same unkeyed
/// digest.
fn sitemaps_of_one_digest() -> (String, String) {
    const MANY: u32 = 200_000;
    let digest = |url: &str| Url::parse(url).expect("a URL").digest();
    let own = |number: u32| format!("http://good.test/private/{number:x}.xml");
    let good: HashMap<u32, u32> = (0..MANY)
        .map(|number| (digest(&own(number)), number))
        .collect();
    let mut evil = (0..MANY).map(|number| format!("http://evil.test/{number:x}.xml"));
    evil.find_map(|url| Some((url.clone(), own(*good.get(&digest(&url))?))))
        .expect("nine of 40 billion pairs")
}

#[test]
fn a_sitemap_is_not_allowed_because_another_host_has_one_of_the_same_hash() {
    const START: u64 = 1_800_000_000;
    let (evil, good) = sitemaps_of_one_digest();
    let path = |url: &str| url.split_at("http://good.test".len()).1.to_owned();
    let evil_path = path(&evil);
    let good_path = path(&good);
    let teller = |page| Teller {
        page,
        source: TellerSource::Given,
    };
    let hosts: [(&'static str, &[&'static str]); 2] = [
        ("evil.test", &["/page", "/index.xml"]),
        ("good.test", &["/page", "/index.xml"]),
    ];
    let (world, _) = Setting {
        seconds: 6 * 3_600,
        tellers: vec![teller(1), teller(3)],
        ..Setting::of(GAP, &hosts)
    }
    .run(move |hit| {
        let date = HttpDate::from_unix(START + hit.at.as_secs()).expect("a date");
        let date = format!("Date: {}\r\n", String::from_utf8_lossy(&date.format()));
        // The honest host speaks when the other one's sitemap has been allowed and read.
        let part = match hit.host.as_str() {
            "evil.test" => Some(&evil),
            _ => Some(&good).filter(|_| hit.at > Duration::from_secs(2 * 3_600)),
        };
        let text = match (hit.host.as_str(), hit.target.as_str(), part) {
            ("evil.test", "/robots.txt", _) => "User-agent: *\nDisallow: /x\n".to_owned(),
            (_, "/robots.txt", _) => "User-agent: *\nDisallow: /private\n".to_owned(),
            (_, "/index.xml", Some(part)) => {
                format!("<sitemapindex><sitemap><loc>{part}</loc></sitemap></sitemapindex>")
            }
            (_, "/index.xml", None) => "<sitemapindex></sitemapindex>".to_owned(),
            _ => "<urlset></urlset>".to_owned(),
        };
        Answer::new(200, &date, &text)
    });
    let read = world.asked("evil.test", &evil_path).len();
    assert!(read > 3, "its own sitemap was read {read} times");
    let asked = world.asked("good.test", "/index.xml");
    let late = asked.last().map(|hit| hit.at);
    assert!(
        late > Some(Duration::from_secs(2 * 3_600)),
        "the honest index was read last at {late:?}"
    );
    let robots = world.asked("good.test", "/robots.txt").len();
    assert!(
        robots > 1,
        "asked for {robots} times: for pages, and for the sitemap"
    );
    let forbidden = world.asked("good.test", &good_path);
    assert!(forbidden.is_empty(), "its rules forbid it: {forbidden:?}");
}

#[test]
fn a_stranger_behind_several_hosts_does_not_set_the_clock() {
    const NOW: u64 = 1_794_000_000;
    let hosts: [(&'static str, &[&'static str]); 4] = [
        ("a.test", &["/1"]),
        ("b.test", &["/2"]),
        ("c.test", &["/3"]),
        ("honest.test", &["/4"]),
    ];
    for status in [302, 301] {
        let mut store = Store::new(Flash::<16, 4096, 4>::blank());
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        // Three of four hosts say nothing: the fourth alone is believed after an hour.
        let setting = Setting {
            seconds: 2 * 3_600,
            ..Setting::of(GAP, &hosts)
        };
        let site = move |hit: &Hit| {
            let is_robots = hit.target == "/robots.txt";
            let off = match hit.host.as_str() {
                "s.test" => 86_400 * 365,
                "honest.test" => 0,
                _ if is_robots => return Answer::none(),
                _ => return Answer::moved(status, "http://s.test/x"),
            };
            let date = HttpDate::from_unix(NOW + off + hit.at.as_secs()).expect("a date");
            let date = format!("Date: {}\r\n", String::from_utf8_lossy(&date.format()));
            Answer::new(if is_robots { 404 } else { 200 }, &date, "here")
        };
        let (world, _) = setting.run_keeping(Some(keeper), site, |_, _| ());
        assert!(world.asked("s.test", "/x").len() > 10);
        let events = world.events.borrow();
        let clocks = events.iter().filter_map(|(at, event)| match event {
            Event::Clock { unix, .. } => Some(i64::from(*unix) - (NOW + at.as_secs()) as i64),
            _ => None,
        });
        let off: Vec<i64> = clocks.collect();
        assert!(!off.is_empty(), "the honest host was not believed");
        assert!(off.iter().all(|off| off.abs() < 60), "{off:?} s off");
    }
}
