//! Hosts and pages that links led to: what they may not take from hosts of the list, and whose rules
//! and gates they keep.

use std::collections::BTreeSet;

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::time::Duration;

use super::clock::{clocks, dated, keeping_time};
use super::{GAP, no_robots};
use crate::discovering;
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Setting, World};

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

/// Hosts that links lead to, with two pages each.
const FOUND: usize = 8;
/// From then on, the honest page is a redirect.
const LATE: Duration = Duration::from_secs(2_000);

/// A probe of `a.test`, whose front page links to pages of other hosts, and of `good.test`, whose
/// page is a redirect after a while; with so many bytes for redirects. What the others do is for
/// `site` to say.
fn beside_found(
    good: &'static str,
    redirect_bytes: usize,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> World {
    let hosts: [(&'static str, &[&'static str]); 2] =
        [("a.test", &["/", "/2"]), ("good.test", &["/page"])];
    let setting = Setting {
        redirect_bytes,
        ..Setting::of(GAP, &hosts)
    };
    crawl((Scope::Any, 7_200), setting, move |hit| {
        let page = |page: usize| format!("http://f{}.test/{}", page / 2, page % 2);
        match (hit.host.as_str(), hit.target.as_str()) {
            (_, "/robots.txt" | "/sitemap.xml") => Answer::none(),
            ("a.test", _) => links(hit, (0..2 * FOUND).map(page)),
            ("good.test", "/page") if hit.at > LATE => Answer::moved(302, good),
            ("good.test" | "friend.test", _) => Answer::page(&hit.target),
            _ => site(hit),
        }
    })
}

/// How often the honest page was read in the end, after this time.
fn read_late(world: &World, host: &str, target: &str) -> usize {
    let late = Duration::from_secs(4_000);
    let asked = world.asked(host, target);
    asked.iter().filter(|hit| hit.at > late).count()
}

#[test]
fn hosts_that_were_found_take_a_quarter_of_the_places_of_strangers_together() {
    let world = beside_found("http://friend.test/x", 4_096, |hit| {
        match hit.host.strip_prefix('f') {
            Some(number) => {
                let page = hit.target.trim_start_matches('/');
                Answer::moved(302, &format!("http://s{page}{number}/x"))
            }
            None => Answer::new(503, "Retry-After: 4294967295\r\n", ""),
        }
    });
    let hits = world.hits.borrow();
    // Whoever was asked for its page keeps its place for a day.
    let closed = hits
        .iter()
        .filter(|hit| hit.host.starts_with('s') && hit.target == "/x");
    let closed: BTreeSet<&str> = closed.map(|hit| &*hit.host).collect();
    assert_eq!(closed.len(), 2, "a quarter of eight: {closed:?}");
    let leads = hits.iter().filter(|hit| hit.host.starts_with('f'));
    let leads: BTreeSet<&str> = leads.map(|hit| &*hit.target).collect();
    assert!(leads.len() > 1, "{leads:?}");
    let read = read_late(&world, "friend.test", "/x");
    assert!(read > 20, "the honest page was read {read} times");
}

#[test]
fn hosts_that_were_found_take_a_quarter_of_the_room_for_redirects_together() {
    let long: &'static str = format!("/{}", "long".repeat(50)).leak();
    // A record of 230 bytes.
    let world = beside_found(long, 1_024, move |hit| match hit.target.as_str() {
        // Pages that are kept, and move later.
        "/0" | "/1" if hit.at < LATE => Answer::page(&format!("{}{}", hit.host, hit.target)),
        "/0" | "/1" => Answer::moved(302, long),
        // It goes on, and comes no further.
        _ => Answer::new(503, "Retry-After: 20\r\n", ""),
    });
    let hits = world.hits.borrow();
    let led = hits
        .iter()
        .filter(|hit| hit.host.starts_with('f') && hit.target == long);
    let led = led.count();
    assert!(led > 10, "their redirects were followed {led} times");
    let read = read_late(&world, "good.test", long);
    assert!(read > 100, "the honest page was read {read} times");
}
