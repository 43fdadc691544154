//! Hosts and pages that links led to: what they may not take from hosts of the list, and whose rules
//! and gates they keep.

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::fetch::HttpDate;
use dunlin::probe::Event;
use dunlin::store::Store;
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::{GAP, no_robots};
use crate::discovering;
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

/// A probe of these hosts that looks for pages, in so many seconds.
fn crawl(
    (scope, seconds): (Scope, u64),
    setting: Setting,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> World {
    let gap = GAP.as_millis() as u32;
    let section = DiscoverySettings::new(scope, 40, gap).header();
    let setting = Setting {
        discover: Some((section.to_vec(), TextFlash::blank())),
        seconds,
        ..setting
    };
    discovering::run(&setting, site).0
}

fn link(url: &str) -> String {
    format!("<a href=\"{url}\">on</a>\n")
}

/// Links to these URLs, on two pages that differ.
fn links(hit: &Hit, urls: impl Iterator<Item = String>) -> Answer {
    let urls: String = urls.map(|url| link(&url)).collect();
    Answer::page(&format!("<h1>{}</h1>{urls}", hit.target))
}

#[test]
fn the_rules_of_http_say_nothing_of_https_pages_that_were_found() {
    let pages = &["http://a.test/", "https://a.test/"];
    let setting = Setting {
        https: true,
        ..Setting::of(GAP, &[("a.test", pages)])
    };
    // The file that is read by http is renewed every hour, the other one every five.
    let world = crawl((Scope::Hosts, 4 * 3_600), setting, |hit| {
        match (hit.https, hit.target.as_str()) {
            (false, "/robots.txt") => Answer::new(404, "Cache-Control: max-age=3600\r\n", ""),
            (true, "/robots.txt") => Answer::new(
                200,
                "Cache-Control: max-age=18000\r\n",
                "User-agent: *\nDisallow: /closed\n",
            ),
            (_, "/") => {
                Answer::page(&(link("https://a.test/closed") + &link("https://a.test/open")))
            }
            (_, "/open" | "/closed") => Answer::page(&hit.target),
            _ => Answer::none(),
        }
    });
    assert!(!world.asked("a.test", "/open").is_empty());
    let robots = world.asked("a.test", "/robots.txt");
    let renewed = robots.iter().filter(|hit| !hit.https).count();
    assert!(renewed > 3, "by http it was read {renewed} times");
    let closed = world.asked("a.test", "/closed");
    assert!(closed.is_empty(), "its own rules forbid it: {closed:?}");
}

#[test]
fn a_stranger_that_links_lead_to_later_keeps_its_gate() {
    const CLOSED: Duration = Duration::from_secs(1_500);
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/", "/2"]), ("b.test", &["/page"])];
    let world = crawl((Scope::Any, 7_200), Setting::of(GAP, &hosts), |hit| {
        let early = hit.at < Duration::from_secs(300);
        let others = ["http://s.test/", "http://t.test/"].map(str::to_owned);
        match (hit.host.as_str(), hit.target.as_str()) {
            ("s.test", _) => Answer::new(503, "Retry-After: 1500\r\n", ""),
            (_, "/robots.txt") => Answer::none(),
            ("b.test", "/page") => Answer::moved(302, "http://s.test/x"),
            ("a.test", "/" | "/2") if early => Answer::page(&hit.target),
            ("a.test", "/" | "/2") => links(hit, others.into_iter()),
            _ => Answer::page(&format!("{}{}", hit.host, hit.target)),
        }
    });
    assert!(!world.asked("t.test", "/").is_empty(), "links are followed");
    let hits = world.hits.borrow();
    let times = hits.iter().filter(|hit| hit.host == "s.test");
    let times: Vec<Duration> = times.map(|hit| hit.at).collect();
    assert!(times.len() > 2, "{times:?}");
    let shortest = times.windows(2).map(|pair| pair[1] - pair[0]).min();
    assert!(shortest >= Some(CLOSED), "{times:?}");
}

#[test]
fn a_host_whose_name_is_too_long_does_not_end_the_search_for_others() {
    let hosts: [(&'static str, &[&'static str]); 1] = [("a.test", &["/", "/2"])];
    let world = crawl((Scope::Any, 3_600), Setting::of(GAP, &hosts), |hit| {
        let long = format!("http://{0}.{0}.test/", "x".repeat(50));
        let others = [long, "http://later.test/".to_owned()];
        match (hit.host.as_str(), hit.target.as_str()) {
            (_, "/robots.txt" | "/sitemap.xml") => Answer::none(),
            ("a.test", _) => links(hit, others.into_iter()),
            _ => Answer::page(&hit.host),
        }
    });
    assert!(!world.asked("later.test", "/").is_empty());
}

/// What the clock of a probe was set to, in seconds since 1970.
fn clocks(world: &World) -> Vec<(Duration, u32)> {
    let events = world.events.borrow();
    let clocks = events.iter().filter_map(|(at, event)| match event {
        Event::Clock { unix, .. } => Some((*at, *unix)),
        _ => None,
    });
    clocks.collect()
}

/// A run with a store, which has to know the time.
fn keeping_time(setting: &Setting, site: impl Fn(&Hit) -> Answer + 'static) -> World {
    let mut store = Store::new(Flash::<16, 4096, 4>::blank());
    let keeper = Keeper {
        store: &mut store,
        how: Keeping::AsItShould,
    };
    setting.run_keeping(Some(keeper), site, |_, _| ()).0
}

fn dated(body: &str, at: Duration) -> Answer {
    let date = HttpDate::from_unix(1_794_000_000 + at.as_secs()).expect("a date");
    let date = String::from_utf8_lossy(&date.format()).into_owned();
    Answer::new(200, &format!("Date: {date}\r\n"), body)
}

#[test]
fn hosts_that_were_found_do_not_set_the_clock() {
    let hosts: [(&'static str, &[&'static str]); 1] = [("a.test", &["/", "/2"])];
    let section = DiscoverySettings::new(Scope::Any, 40, GAP.as_millis() as u32).header();
    let setting = Setting {
        discover: Some((section.to_vec(), TextFlash::blank())),
        seconds: 3_600,
        ..Setting::of(GAP, &hosts)
    };
    let world = keeping_time(&setting, |hit| {
        let others = (0..4).map(|host| format!("http://f{host}.test/"));
        no_robots(hit).unwrap_or_else(|| match hit.host.as_str() {
            "a.test" => links(hit, others),
            _ => dated(&hit.host, hit.at),
        })
    });
    let found = world.asked("f3.test", "/").len();
    assert!(found > 0, "f3.test was asked {found} times");
    assert_eq!(clocks(&world), [], "nobody of the list has said a date");
}

#[test]
fn one_of_ten_hosts_does_not_set_the_clock_before_an_hour() {
    const NAMES: [&str; 10] = [
        "0.test", "1.test", "2.test", "3.test", "4.test", "5.test", "6.test", "7.test", "8.test",
        "9.test",
    ];
    for (speakers, earliest, latest) in [(1, 3_600, 3_700), (2, 3_600, 3_700), (3, 0, 100)] {
        let hosts = NAMES.map(|host| (host, &["/page"][..]));
        let setting = Setting {
            seconds: 7_200,
            ..Setting::of(GAP, &hosts)
        };
        let world = keeping_time(&setting, move |hit| {
            let speaks = NAMES.iter().take(speakers).any(|host| *host == hit.host);
            no_robots(hit).unwrap_or_else(|| match speaks {
                true => dated("here", hit.at),
                false => Answer::page("here"),
            })
        });
        let first = clocks(&world).first().map(|(at, _)| at.as_secs());
        assert!(
            first.is_some_and(|at| (earliest..latest).contains(&at)),
            "{speakers} of ten have set it at {first:?}"
        );
    }
}
