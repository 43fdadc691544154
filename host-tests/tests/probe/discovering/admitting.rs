//! Which of the pages that were found have a place, and which give way to others.

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::probe::LoggedFoundEvent;
use dunlin::rank::{Measure, Ranking};
use dunlin::time::Duration;
use host_tests::flash::Flash;

use super::web::Web;
use super::{HOSTS, run, setting};
use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Setting, World};

#[test]
fn the_most_important_pages_are_found_and_kept() {
    let web = Web::new(5, 60, 7);
    let texts = TextFlash::blank();
    let places = 40;
    let setting = Setting {
        seconds: 1_600,
        ..setting(5, places, Scope::Hosts, &texts)
    };
    let site = web.clone();
    let (world, held, totals) = run(&setting, move |hit| site.answer(hit));
    let share = web.share(&held, places.into());
    let visits = world.hits.borrow().len();
    println!("{share:.3} of the best {places} after {visits} requests, {totals:?}");
    assert_eq!(held.len(), usize::from(places), "places that are taken");
    assert!(share >= 0.8, "{share:.3} of the best pages' rank is held");
    assert!(totals.found > 100 && totals.admitted >= 35, "{totals:?}");
    for host in HOSTS {
        assert!(world.shortest_gap(host) >= Duration::from_secs(2), "{host}");
    }
}

#[test]
fn traps_hold_few_places_and_cost_few_visits() {
    let web = Web::new(4, 60, 3);
    let texts = TextFlash::blank();
    let places = 40;
    let setting = Setting {
        seconds: 2_000,
        ..setting(5, places, Scope::Hosts, &texts)
    };
    let site = web.clone();
    let (world, held, totals) = run(&setting, move |hit| {
        let (path, _) = hit.target.split_once('?').unwrap_or((&hit.target, ""));
        // An endless calendar, from which nothing leads out.
        if let Some(day) = path.strip_prefix("/calendar/") {
            let day: u64 = day.parse().unwrap_or(0);
            let days = [day + 1, day + 2, day + 30];
            let days = days.map(|day| format!("<a href=/calendar/{day}>x</a>"));
            return Answer::page(&format!("<h1>{day} at {}</h1>{}", hit.host, days.concat()));
        }
        // The fifth host is a copy of the first.
        let host = match hit.host.as_str() {
            "h4.test" => "h0.test",
            host => host,
        };
        let Some(page) = site.page(host, path) else {
            return Answer::none();
        };
        let links = site.links[page].iter().map(|link| {
            let url = site.url(*link);
            let own = format!("http://{host}");
            format!(
                "<a href=\"{}\">on</a>",
                url.strip_prefix(&own).unwrap_or(&url)
            )
        });
        let links: String = links.collect();
        let visit = hit.at.as_millis();
        let trap = match page % 20 {
            0 => "<a href=/calendar/1>calendar</a>".to_owned(),
            // A session in a parameter that nobody knows, and one that everybody does.
            5 => format!(
                "<a href=\"{path}?x={visit}\">s</a><a href=\"{path}?PHPSESSID={visit}\">t</a>"
            ),
            _ => String::new(),
        };
        Answer::page(&format!("<title>{}</title>{links}{trap}", site.url(page)))
    });
    let hits = world.hits.borrow();
    let visits = hits
        .iter()
        .filter(|hit| hit.target != "/robots.txt")
        .count();
    let is_trap = |host: &str, target: &str| {
        target.contains("/calendar/") || target.contains('?') || host == "h4.test" && target != "/"
    };
    let trapped = hits
        .iter()
        .filter(|hit| is_trap(&hit.host, &hit.target))
        .count();
    let kept = held.keys().filter(|url| {
        is_trap(
            url.split('/').nth(2).unwrap_or_default(),
            &url[url.rfind(".test").unwrap_or(0) + 5..],
        )
    });
    let kept: Vec<_> = kept.collect();
    println!(
        "{trapped} of {visits} visits and {} of {places} places in traps, {totals:?}",
        kept.len()
    );
    assert!(!hits.iter().any(|hit| hit.target.contains("PHPSESSID")));
    assert!(20 * kept.len() <= places.into(), "{kept:?}");
    assert!(20 * trapped <= visits, "{trapped} of {visits}");
    assert!(visits > 2_000, "{visits}");
}

/// All places are taken by pages that link to each other; what one of them links to besides is
/// never worth a place.
#[test]
fn a_part_of_a_host_whose_pages_never_win_is_explored_no_more() {
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 2_000,
        ..setting(1, 10, Scope::Hosts, &texts)
    };
    let (world, held, totals) = run(&setting, |hit| {
        let links = |part: &str, count: usize| -> String {
            let link = |page| format!("<a href=/{part}/{page}>x</a>");
            (0..count).map(link).collect()
        };
        match hit.target.as_str() {
            "/robots.txt" | "/sitemap.xml" => Answer::none(),
            "/good/0" => Answer::page(&(links("good", 9) + &links("bad", 200))),
            bad if bad.starts_with("/bad/") => Answer::page(&format!("<h1>{bad}</h1>")),
            page => Answer::page(&format!("<h1>{page}</h1>{}", links("good", 9))),
        }
    });
    let bad = |url: &String| url.contains("/bad/");
    let hits = world.hits.borrow();
    let visits = hits.iter().filter(|hit| bad(&hit.target)).count();
    println!("{visits} of {} visits were in vain, {totals:?}", hits.len());
    assert_eq!(held.keys().filter(|url| bad(url)).count(), 0);
    assert!((8..=10).contains(&visits), "{visits} of {}", hits.len());
}

#[test]
fn pinned_pages_stay_and_others_give_way() {
    let web = Web::new(1, 60, 7);
    let texts = TextFlash::blank();
    // Pages that nobody links to.
    let lonely = ["/", "/lonely1", "/lonely2", "/lonely3"];
    let section: Vec<u8> = DiscoverySettings::new(Scope::Hosts, 8, 1_000)
        .header()
        .into_iter()
        .chain(2_u16.to_le_bytes())
        .collect();
    let setting = Setting {
        discover: Some((section, texts.clone())),
        seconds: 600,
        ..Setting::of(Duration::from_secs(1), &[("h0.test", &lonely)])
    };
    let site = web.clone();
    let (world, held, totals) = run(&setting, move |hit| match hit.target.as_str() {
        lonely if lonely.starts_with("/lonely") => Answer::page(lonely),
        _ => site.answer(hit),
    });
    assert!(held.contains_key("http://h0.test/lonely2"), "{held:?}");
    assert!(!held.contains_key("http://h0.test/lonely1"), "{held:?}");
    assert!(!held.contains_key("http://h0.test/lonely3"), "{held:?}");
    assert_eq!(held.len(), 8);
    assert!(totals.replaced >= 2, "{totals:?}");
    let lines = world.found.borrow();
    let replaced = lines.iter().find(|(_, line)| line.ends_with("/lonely1"));
    let line = &replaced.expect("a line").1;
    let read = LoggedFoundEvent::read(line);
    assert!(
        matches!(read, Some(LoggedFoundEvent::Replaced { page: 1, .. })),
        "{line}"
    );
}

/// A front page that links to forty others, all alike by PageRank: which of them are held in half
/// as many places, by this ranking.
fn ranked(measure: Measure, words: &str, site: fn(&Hit) -> Answer) -> (World, Vec<String>) {
    let texts = TextFlash::blank();
    let mut ranking = Ranking::header(measure).to_vec();
    ranking.extend(words.bytes());
    let setting = Setting {
        seconds: 1_500,
        ranking,
        ..setting(1, 21, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, site);
    (world, held.into_keys().collect())
}

/// Every second page says something about waders: in its title, its text, or in the links to it.
fn waders(hit: &Hit) -> Answer {
    // Only the front page's links say what they lead to: those of others would be text about it.
    let anchor = |page: usize| match (hit.target.as_str(), page % 8) {
        ("/", 6) => "the <b>Wader</b>",
        _ => "on",
    };
    let link = |page: usize| {
        let name = if page % 8 == 4 { "wader" } else { "x" };
        format!("<a href=\"/{name}-{page}\">{}</a>", anchor(page))
    };
    let links: String = (0..40).map(link).collect();
    let page = hit.target.rsplit('-').next().map(str::parse::<usize>);
    match (hit.target.as_str(), page) {
        ("/", _) => Answer::page(&links),
        (_, Some(Ok(page))) => Answer::page(&match page % 8 {
            0 => format!("<title>{page} Wader</title>{links}"),
            2 => format!("{page}<p>on</p>waders,<p>a wader</p>x{links}"),
            6 => format!("{page} wader{links}"),
            _ => format!("{page} nothing of that{links}"),
        }),
        _ => Answer::none(),
    }
}

#[test]
fn pages_about_a_topic_are_kept_rather_than_others() {
    let (world, held) = ranked(Measure::DEFAULT, "estuary wader", waders);
    let is_about = |url: &String| {
        let page: Option<usize> = url.rsplit('-').next().and_then(|page| page.parse().ok());
        page.is_some_and(|page| page % 2 == 0)
    };
    let about = held.iter().filter(|url| is_about(url)).count();
    println!("{about} of {} pages are about waders", held.len());
    assert!(about >= 18, "{held:?}");
    // What links and URLs say counts before a page was seen: those are looked at first.
    let hits = world.hits.borrow();
    let of = |hit: &&Hit| hit.target.rsplit('-').next()?.parse::<usize>().ok();
    let mut first: Vec<usize> = Vec::new();
    for page in hits.iter().filter_map(|hit| of(&hit)) {
        if !first.contains(&page) {
            first.push(page);
        }
    }
    let early = first
        .iter()
        .take(10)
        .filter(|page| matches!(**page % 8, 4 | 6))
        .count();
    assert!(early >= 8, "{first:?}");
    let (_, held) = ranked(Measure::DEFAULT, "", waders);
    let about = held.iter().filter(|url| is_about(url)).count();
    assert!((5..=16).contains(&about), "by PageRank alone: {held:?}");
}

#[test]
fn short_paths_are_kept_rather_than_others_if_location_counts() {
    let site = |hit: &Hit| {
        let link = |page: usize| match page % 2 {
            0 => format!("<a href=\"/{page}\">on</a>"),
            _ => format!("<a href=\"/a/b/c/d/{page}\">on</a>"),
        };
        let links: String = (0..40).map(link).collect();
        match hit.target.as_str() {
            "/robots.txt" | "/sitemap.xml" => Answer::none(),
            target => Answer::page(&format!("{target}{links}")),
        }
    };
    let measure = Measure {
        location: true,
        ..Measure::DEFAULT
    };
    let (_, held) = ranked(measure, "", site);
    let short = held.iter().filter(|url| !url.contains("/a/")).count();
    assert!(short >= 20, "{held:?}");
}

#[test]
fn the_section_for_ranking_keeps_its_format() {
    let mut section = Ranking::header(Measure::DEFAULT).to_vec();
    section.extend(b"wader estuary");
    assert_eq!(section, b"\x01\x02wader estuary", "images are out there");
    let read = Ranking::read(&section).expect("it is good");
    assert!(read.measure.page_rank && read.measure.topic && !read.measure.location);
    assert!(Ranking::read(b"\x02\x02wader").is_none(), "a newer version");
    assert!(Ranking::read(b"\x01").is_none(), "one that was cut short");
    let many = format!("\x01\x02{}", "word ".repeat(17));
    assert!(Ranking::read(many.as_bytes()).is_none(), "too many words");
    assert!(Ranking::read(b"\x01\x02\xff").is_none(), "no text");
}

/// A page of the list, about which the list is quite sure.
#[test]
fn what_is_believed_of_a_page_is_said_once_it_has_a_version() {
    let texts = TextFlash::blank();
    let section = DiscoverySettings::new(Scope::Hosts, 4, 1_000).header();
    let setting = Setting {
        discover: Some((section.to_vec(), texts)),
        rate: 50.0,
        confidence: 1e6,
        seconds: 60,
        ..Setting::of(Duration::from_secs(1), &[("h0.test", &["/", "/gone"])])
    };
    let mut beliefs = Vec::new();
    setting.run_keeping(
        None::<Keeper<'_, Flash<3, 1024, 4>>>,
        |hit| match hit.target.as_str() {
            "/" => Answer::page("here"),
            _ => Answer::none(),
        },
        |_, probe| beliefs.push([0, 1].map(|page| probe.found().belief(page))),
    );
    assert_eq!(beliefs.first(), Some(&[(1.0, None); 2]), "at the start");
    let Some([(weight, Some(rate)), gone]) = beliefs.last() else {
        panic!("{:?}", beliefs.last());
    };
    assert_eq!((*weight, *gone), (1.0, (1.0, None)));
    assert!((rate / 50.0 - 1.0).abs() < 0.01, "{rate} changes a day");
}
