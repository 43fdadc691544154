//! Two equal hosts, one of which tells when its pages changed: judged by what the servers saw.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::Range;
use std::rc::Rc;

use dunlin::feed::FeedError;
use dunlin::fetch::HttpDate;
use dunlin::image::{Teller, TellerSource};
use dunlin::probe::Event;
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use host_tests::learn::exponential;

use crate::world::{Answer, Hit, Setting, World};

/// Pages of each host.
const PAGES: usize = 20;
/// When the world begins, in seconds after 1970.
const START: u64 = 1_800_000_000;
const DAYS: f64 = 6.0;
/// The first days are for learning.
const LEARNT: f64 = 1.0;
/// Changes a day of every page.
const RATE: f64 = 24.0;
const HOSTS: [&str; 2] = ["a.test", "b.test"];

/// What the first host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Nothing,
    /// A sitemap with true dates.
    Truth,
    /// A sitemap in which every page has just changed.
    Now,
    /// `Cache-Control: max-age` of a fifth of the time between two changes, on every page.
    MaxAge,
}

/// Where the first host says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Where the list says.
    Listed,
    /// Where its robots.txt says.
    Robots,
    /// In an RSS feed, where the `Link` of its pages says.
    Link,
    /// In two sitemaps of an index, beside others that lead nowhere; the index changes with them.
    Index,
}

/// When pages change, in days, by host.
fn changes(seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random(seed);
    let mut page = || {
        let mut times = Vec::new();
        let mut now = 0.0;
        while now < DAYS {
            now += exponential(&mut random) / RATE;
            times.push(now);
        }
        times
    };
    (0..2 * PAGES).map(|_| page()).collect()
}

fn days(at: Duration) -> f64 {
    at.as_days()
}

fn date(at: f64) -> String {
    let seconds = START + (at * 86_400.0) as u64;
    let date = HttpDate::from_unix(seconds).expect("a date").format();
    String::from_utf8(date.to_vec()).expect("ASCII")
}

/// The page that is asked for: `/page3` of the second host is 23.
fn page_of(hit: &Hit) -> Option<usize> {
    let host = HOSTS.iter().position(|host| *host == hit.host)?;
    let page: usize = hit.target.strip_prefix("/page")?.parse().ok()?;
    Some(host * PAGES + page)
}

/// The date that the first host says of a page.
fn said(changes: &[Vec<f64>], page: usize, now: f64, says: Says) -> f64 {
    let last = changes[page].iter().rev().find(|at| **at <= now);
    match says {
        Says::Now => now,
        _ => *last.unwrap_or(&0.0),
    }
}

fn sitemap(changes: &[Vec<f64>], pages: Range<usize>, now: f64, says: Says) -> String {
    let mut text = String::from("<urlset>");
    for page in pages {
        let date = date(said(changes, page, now, says));
        let _ = write!(
            text,
            "<url><loc>http://a.test/page{page}</loc><lastmod>{date}</lastmod></url>"
        );
    }
    text + "</urlset>"
}

fn feed(changes: &[Vec<f64>], now: f64, says: Says) -> String {
    let mut text = String::from("<rss version='2.0'><channel>");
    for page in 0..PAGES {
        let date = date(said(changes, page, now, says));
        let _ = write!(
            text,
            "<item><link>/page{page}</link><pubDate>{date}</pubDate></item>"
        );
    }
    text + "</channel></rss>"
}

/// An index of the two halves of the sitemap, of one on another host, of itself and of another
/// index.
fn index(changes: &[Vec<f64>], now: f64, says: Says) -> String {
    let mut text = String::from("<sitemapindex>");
    for (name, pages) in [("/one.xml", 0..PAGES / 2), ("/two.xml", PAGES / 2..PAGES)] {
        let dates = pages.map(|page| said(changes, page, now, says));
        let date = date(dates.fold(0.0, f64::max));
        let _ = write!(
            text,
            "<sitemap><loc>http://a.test{name}</loc><lastmod>{date}</lastmod></sitemap>"
        );
    }
    for other in [
        "http://b.test/three.xml",
        "/sitemap.xml",
        "http://",
        "/index.xml",
    ] {
        let _ = write!(text, "<sitemap><loc>{other}</loc>");
        let _ = write!(text, "<lastmod>{}</lastmod></sitemap>", date(0.01));
    }
    text + "</sitemapindex>"
}

/// Runs a probe on both hosts, with so many visits to a page in the mean time between two changes.
fn run(says: Says, place: Place, visits: f64, seed: u64) -> World {
    let changes = Rc::new(changes(seed));
    let own: Vec<&'static str> = (0..PAGES)
        .map(|page| &*format!("/page{page}").leak())
        .collect();
    let tells = matches!(says, Says::Truth | Says::Now);
    let mut first = own.clone();
    let (path, source) = match place {
        Place::Listed => ("/news.xml", TellerSource::Given),
        Place::Robots | Place::Link | Place::Index => ("/sitemap.xml", TellerSource::Auto),
    };
    first.extend(tells.then_some(path));
    let setting = Setting {
        hosts: vec![
            (HOSTS[0], Duration::from_secs(1), first),
            (HOSTS[1], Duration::from_secs(1), own),
        ],
        per_day: Some((2.0 * PAGES as f64 * RATE * visits) as f32),
        rate: RATE as f32,
        confidence: 0.0,
        seconds: (DAYS * 86_400.0) as u64,
        tellers: match tells {
            true => vec![Teller {
                page: PAGES as u16,
                source,
            }],
            false => vec![],
        },
        ..Setting::default()
    };
    let served = RefCell::new(String::new());
    let (world, _) = setting.run(move |hit| {
        let now = days(hit.at);
        let mut head = format!("Date: {}\r\n", date(now));
        if let Some(page) = page_of(hit) {
            let version = changes[page].iter().filter(|at| **at <= now).count();
            if says == Says::MaxAge && hit.host == HOSTS[0] {
                let _ = write!(
                    head,
                    "Cache-Control: max-age={:.0}\r\n",
                    86_400.0 / RATE / 5.0
                );
            }
            if place == Place::Link && hit.host == HOSTS[0] {
                head += "Link: </de>; rel=alternate; hreflang=de, \
                         </news.rss>; rel=\"alternate\"; type=\"application/rss+xml\"\r\n";
            }
            return Answer::new(200, &head, &format!("version {version}"));
        }
        let text = match (hit.target.as_str(), place) {
            ("/robots.txt", Place::Robots) => {
                "User-agent: *\nDisallow: /x\nSitemap: http://a.test/news.xml\n".to_owned()
            }
            ("/robots.txt", Place::Index) => "User-agent: *\nDisallow: /x\n".to_owned(),
            ("/news.xml", Place::Listed | Place::Robots) => sitemap(&changes, 0..PAGES, now, says),
            ("/news.rss", Place::Link) => feed(&changes, now, says),
            ("/sitemap.xml", Place::Index) => index(&changes, now, says),
            ("/one.xml", Place::Index) => sitemap(&changes, 0..PAGES / 2, now, says),
            ("/two.xml", Place::Index) => sitemap(&changes, PAGES / 2..PAGES, now, says),
            ("/index.xml", Place::Index) => index(&changes, now, says).replace("/one", "/deep"),
            _ => return Answer::none(),
        };
        if hit.conditional && *served.borrow() == text {
            return Answer::new(304, &head, "");
        }
        let is_part = place == Place::Index && hit.target != "/sitemap.xml";
        if hit.target != "/robots.txt" && !is_part {
            served.replace(text.clone());
            head += "ETag: \"x\"\r\n";
        }
        Answer::new(200, &head, &text)
    });
    world
}

/// The share of time after the first days in which copies were current, of each host.
fn freshness(world: &World, changes: &[Vec<f64>]) -> [f64; 2] {
    let hits = world.hits.borrow();
    let mut visits = vec![Vec::new(); changes.len()];
    for hit in hits.iter() {
        if let Some(page) = page_of(hit) {
            visits[page].push(days(hit.at));
        }
    }
    let fresh = |page: usize| {
        let mut fresh = 0.0;
        let ends = visits[page].iter().skip(1).copied().chain([DAYS]);
        for (visit, end) in visits[page].iter().zip(ends) {
            let stale = changes[page].iter().find(|at| **at > *visit);
            let until = stale.copied().unwrap_or(DAYS).min(end);
            fresh += (until - visit.max(LEARNT)).max(0.0);
        }
        fresh / (DAYS - LEARNT)
    };
    [0, 1].map(|host| {
        (0..PAGES)
            .map(|page| fresh(host * PAGES + page))
            .sum::<f64>()
            / PAGES as f64
    })
}

/// The mean of both hosts' freshness over some seeds.
fn mean(says: Says, visits: f64) -> [f64; 2] {
    const SEEDS: u64 = 3;
    let mut sum = [0.0; 2];
    for seed in 1..=SEEDS {
        let world = run(says, Place::Listed, visits, seed);
        let [told, silent] = freshness(&world, &changes(seed));
        sum[0] += told / SEEDS as f64;
        sum[1] += silent / SEEDS as f64;
        let asked = world.hits.borrow().len() as f64;
        let budget = 2.0 * PAGES as f64 * RATE * visits * DAYS;
        assert!(asked <= budget + 20.0, "{asked} requests of {budget}");
    }
    sum
}

/// Who has proven itself has the visits that its words are worth: both together are much fresher,
/// and the other loses a little where there is hardly a visit for each change.
#[test]
fn a_host_that_tells_is_much_fresher_and_costs_the_other_little() {
    for visits in [2.0, 1.1] {
        let [before, other_before] = mean(Says::Nothing, visits);
        let [told, silent] = mean(Says::Truth, visits);
        println!("{visits}: {before:.4} {other_before:.4} -> {told:.4} {silent:.4}");
        assert!(told > before + 0.1, "{visits}: {before:.4} to {told:.4}");
        assert!(
            silent > 0.98 * other_before,
            "{visits}: the silent host fell from {other_before:.4} to {silent:.4}"
        );
    }
}

#[test]
fn a_host_that_cries_wolf_gains_nothing_and_costs_the_other_nothing() {
    for visits in [2.0, 1.1] {
        let [before, other_before] = mean(Says::Nothing, visits);
        let [liar, silent] = mean(Says::Now, visits);
        println!("{visits}: {before:.4} {other_before:.4} -> {liar:.4} {silent:.4}");
        assert!(liar < before + 0.01, "{visits}: {before:.4} to {liar:.4}");
        assert!(
            silent > 0.99 * other_before,
            "{visits}: the silent host fell from {other_before:.4} to {silent:.4}"
        );
    }
}

#[test]
fn a_lifetime_that_means_nothing_costs_next_to_nothing() {
    let [before, other_before] = mean(Says::Nothing, 2.0);
    let [promised, silent] = mean(Says::MaxAge, 2.0);
    println!("{before:.4} {other_before:.4} -> {promised:.4} {silent:.4}");
    assert!(promised > 0.99 * before, "{before:.4} to {promised:.4}");
    assert!(
        silent > 0.99 * other_before,
        "{other_before:.4} to {silent:.4}"
    );
}

#[test]
fn a_robots_txt_says_where_the_teller_is() {
    let world = run(Says::Truth, Place::Robots, 2.0, 1);
    assert_eq!(world.asked("b.test", "/news.xml").len(), 0);
    let asked = world.asked("a.test", "/news.xml");
    assert!(asked.len() > 100, "{} times", asked.len());
    assert!(
        asked.iter().skip(1).all(|hit| hit.conditional),
        "it is asked for conditionally"
    );
    assert!(world.shortest_gap("a.test") >= Duration::from_secs(1));
    assert_told(&world);
}

/// The teller was believed in the end, and was no news itself.
fn assert_told(world: &World) {
    let events = world.events.borrow();
    let told = |event: &&(Duration, Event)| matches!(event.1, Event::Told { .. });
    let last = events.iter().rfind(told);
    let precise =
        |event: &Event| matches!(event, Event::Told { precision, .. } if *precision > 0.8);
    assert!(last.is_some_and(|(_, event)| precise(event)), "{last:?}");
    let news = |event: &Event| matches!(event, Event::End { page, changed: true, .. } if usize::from(*page) == PAGES);
    assert!(
        !events.iter().any(|(_, event)| news(event)),
        "a teller is no news"
    );
}

/// A host with one page and a teller, for so many seconds.
fn beside_one_page(seconds: u64) -> Setting {
    Setting {
        seconds,
        tellers: vec![Teller {
            page: 1,
            source: TellerSource::Given,
        }],
        ..Setting::of(
            Duration::from_secs(1),
            &[(HOSTS[0], &["/page0", "/news.xml"])],
        )
    }
}

#[test]
fn a_sitemap_is_read_to_its_end_in_small_pieces() {
    // Room for so many pages that a few entries are looked up at a time, and then others have a
    // turn: the same is heard, nothing twice.
    let heard = |additions: usize| {
        let setting = Setting {
            additions,
            ..beside_one_page(300)
        };
        let (world, _) = setting.run(|hit| {
            let text = match hit.target.as_str() {
                "/news.xml" => sitemap(&changes(1), 0..2 * PAGES, 0.5, Says::Truth),
                "/page0" => "hello".into(),
                _ => return Answer::none(),
            };
            Answer::new(200, &format!("Date: {}\r\n", date(0.6)), &text)
        });
        let events = world.events.take();
        let told = events.into_iter().find_map(|(_, event)| match event {
            Event::Told { entries, .. } => Some(entries),
            _ => None,
        });
        told.expect("a sitemap that was read")
    };
    assert_eq!(heard(0), 2 * PAGES as u16);
    assert_eq!(heard(3_000), 2 * PAGES as u16);
}

#[test]
fn a_teller_that_cannot_be_read_is_refused_with_a_line() {
    for (body, why) in [
        ("\u{1f}\u{b}\u{8}packed", FeedError::Gzip),
        ("<html>not here</html>", FeedError::Root),
    ] {
        let (world, _) = beside_one_page(60).run(move |hit| match hit.target.as_str() {
            "/news.xml" => Answer::page(body),
            "/page0" => Answer::page("hello"),
            _ => Answer::none(),
        });
        let asked = world.asked(HOSTS[0], "/news.xml").len();
        let events = world.events.borrow();
        let expected = Event::Untold { page: 1, why };
        let said = events.iter().filter(|(_, event)| *event == expected);
        assert_eq!(said.count(), asked, "each time, of {asked}: {why}");
        assert!(asked > 0);
    }
}

#[test]
fn pages_say_where_the_feed_is() {
    let world = run(Says::Truth, Place::Link, 2.0, 1);
    let asked = world.asked("a.test", "/news.rss");
    assert!(asked.len() > 100, "{} times", asked.len());
    assert!(asked.iter().skip(1).all(|hit| hit.conditional));
    for elsewhere in ["/de", "/news.xml"] {
        assert_eq!(world.asked("a.test", elsewhere).len(), 0, "{elsewhere}");
    }
    // Where it would be as a rule is looked at from time to time.
    let usual = world.asked("a.test", "/sitemap.xml").len();
    assert!(usual < asked.len() / 10, "{usual} of {}", asked.len());
    assert!(world.shortest_gap("a.test") >= Duration::from_secs(1));
    assert_told(&world);
    let [told, silent] = freshness(&world, &changes(1));
    assert!(told > silent + 0.03, "{told:.4} beside {silent:.4}");
}

#[test]
fn an_index_of_sitemaps_is_followed_one_at_a_time() {
    const VISITS: f64 = 2.0;
    let world = run(Says::Truth, Place::Index, VISITS, 1);
    let [index, one, two] =
        ["/sitemap.xml", "/one.xml", "/two.xml"].map(|path| world.asked("a.test", path).len());
    println!("index {index}, parts {one} and {two}");
    assert!(one > 50 && two > 50, "{one} and {two} times");
    assert!(one + two <= index, "at most one for each time");
    assert!(one.abs_diff(two) < index / 4, "{one} and {two}");
    assert_eq!(world.asked("b.test", "/three.xml").len(), 0, "another host");
    assert_eq!(world.asked("a.test", "/deep.xml").len(), 0, "too deep");
    assert!(world.shortest_gap("a.test") >= Duration::from_secs(1));
    let budget = 2.0 * PAGES as f64 * RATE * VISITS * DAYS;
    let rules = world.asked("a.test", "/robots.txt").len();
    assert!(rules < 40, "robots.txt was asked for {rules} times");
    let asked = (world.hits.borrow().len() - rules) as f64;
    assert!(asked <= budget + 20.0, "{asked} requests of {budget}");
    assert_told(&world);
    let [told, silent] = freshness(&world, &changes(1));
    let untold = run(Says::Nothing, Place::Index, VISITS, 1);
    let [before, other_before] = freshness(&untold, &changes(1));
    println!("{before:.4} {other_before:.4} -> {told:.4} {silent:.4}");
    // Two requests for each look, and half of twenty pages in each: that brings what it costs, no
    // more.
    assert!(told > before - 0.01, "{before:.4} to {told:.4}");
    assert!(
        silent > 0.99 * other_before,
        "{other_before:.4} to {silent:.4}"
    );
}
