//! Two equal hosts, one of which tells when its pages changed: judged by what the servers saw.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

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

fn sitemap(changes: &[Vec<f64>], now: f64, says: Says) -> String {
    let mut text = String::from("<urlset>");
    for (page, times) in changes.iter().take(PAGES).enumerate() {
        let last = times.iter().rev().find(|at| **at <= now);
        let at = match says {
            Says::Now => now,
            _ => *last.unwrap_or(&0.0),
        };
        let _ = write!(
            text,
            "<url><loc>http://a.test/page{page}</loc><lastmod>{}</lastmod></url>",
            date(at)
        );
    }
    text + "</urlset>"
}

/// Runs a probe on both hosts, with so many visits to a page in the mean time between two changes.
fn run(says: Says, source: TellerSource, visits: f64, seed: u64) -> World {
    let changes = Rc::new(changes(seed));
    let own: Vec<&'static str> = (0..PAGES)
        .map(|page| &*format!("/page{page}").leak())
        .collect();
    let tells = matches!(says, Says::Truth | Says::Now);
    let mut first = own.clone();
    let path = match source {
        TellerSource::Given => "/news.xml",
        TellerSource::Auto => "/sitemap.xml",
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
        let head = format!("Date: {}\r\n", date(now));
        if let Some(page) = page_of(hit) {
            let version = changes[page].iter().filter(|at| **at <= now).count();
            let good = match says {
                Says::MaxAge if hit.host == HOSTS[0] => {
                    format!(
                        "{head}Cache-Control: max-age={:.0}\r\n",
                        86_400.0 / RATE / 5.0
                    )
                }
                _ => head,
            };
            return Answer::new(200, &good, &format!("version {version}"));
        }
        match hit.target.as_str() {
            "/robots.txt" if source == TellerSource::Auto => Answer::new(
                200,
                &head,
                "User-agent: *\nDisallow: /x\nSitemap: http://a.test/news.xml\n",
            ),
            "/news.xml" => {
                let text = sitemap(&changes, now, says);
                if hit.conditional && *served.borrow() == text {
                    return Answer::new(304, &head, "");
                }
                served.replace(text.clone());
                Answer::new(200, &format!("{head}ETag: \"x\"\r\n"), &text)
            }
            _ => Answer::none(),
        }
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
        let world = run(says, TellerSource::Given, visits, seed);
        let [told, silent] = freshness(&world, &changes(seed));
        sum[0] += told / SEEDS as f64;
        sum[1] += silent / SEEDS as f64;
        let asked = world.hits.borrow().len() as f64;
        let budget = 2.0 * PAGES as f64 * RATE * visits * DAYS;
        assert!(asked <= budget + 20.0, "{asked} requests of {budget}");
    }
    sum
}

#[test]
fn a_host_that_tells_is_fresher_and_costs_the_other_nothing() {
    for visits in [2.0, 1.1] {
        let [before, other_before] = mean(Says::Nothing, visits);
        let [told, silent] = mean(Says::Truth, visits);
        println!("{visits}: {before:.4} {other_before:.4} -> {told:.4} {silent:.4}");
        assert!(told > before + 0.03, "{visits}: {before:.4} to {told:.4}");
        assert!(
            silent > 0.99 * other_before,
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
    let world = run(Says::Truth, TellerSource::Auto, 2.0, 1);
    assert_eq!(world.asked("b.test", "/news.xml").len(), 0);
    let asked = world.asked("a.test", "/news.xml");
    assert!(asked.len() > 100, "{} times", asked.len());
    assert!(
        asked.iter().skip(1).all(|hit| hit.conditional),
        "it is asked for conditionally"
    );
    assert!(world.shortest_gap("a.test") >= Duration::from_secs(1));
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
