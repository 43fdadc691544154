//! Where pages are looked for: links, sitemaps and tellers, as far as scope and robots let.

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::fetch::HttpDate;
use dunlin::image::{Teller, TellerSource};
use dunlin::probe::Event;
use dunlin::time::Duration;

use super::web::Web;
use super::{run, setting};
use crate::texts::TextFlash;
use crate::world::{Answer, Setting};

#[test]
fn what_robots_rules_forbid_is_never_asked_for_however_many_link_there() {
    let web = Web::new(3, 40, 9);
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 900,
        ..setting(3, 30, Scope::Hosts, &texts)
    };
    let site = web.clone();
    let (world, held, _) = run(&setting, move |hit| match hit.target.as_str() {
        "/robots.txt" => {
            Answer::page("User-agent: *\nDisallow: /p1\nAllow: /p11$\nDisallow: /*7$\n")
        }
        _ => site.answer(hit),
    });
    let denied = |path: &str| path.starts_with("/p1") && path != "/p11" || path.ends_with('7');
    let hits = world.hits.borrow();
    let against: Vec<_> = hits.iter().filter(|hit| denied(&hit.target)).collect();
    assert!(against.is_empty(), "{against:?}");
    assert!(held.len() >= 28, "{} pages are kept", held.len());
    let robots = hits
        .iter()
        .filter(|hit| hit.target == "/robots.txt")
        .count();
    println!("{robots} of {} requests for robots.txt", hits.len());
    assert!(robots * 8 < hits.len(), "{robots} of {}", hits.len());
}

#[test]
fn sitemaps_and_their_indexes_are_read_and_believed_of_their_own_host_only() {
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 300,
        ..setting(2, 20, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| {
        match (hit.host.as_str(), hit.target.as_str()) {
            ("h0.test", "/robots.txt") => Answer::page("Sitemap: http://h0.test/index.xml\n"),
            ("h0.test", "/index.xml") => Answer::page(
                "<sitemapindex><sitemap><loc>http://h0.test/one.xml</loc></sitemap>\
             <sitemap><loc>http://h1.test/two.xml</loc></sitemap></sitemapindex>",
            ),
            ("h0.test", "/one.xml") => Answer::page(
                "<urlset><url><loc>http://h0.test/a</loc></url><url><loc>http://h1.test/no</loc></url></urlset>",
            ),
            ("h1.test", "/sitemap.xml") => Answer::page("http://h1.test/b\nhttp://h1.test/c\n"),
            (_, "/" | "/a" | "/b" | "/c" | "/no") => {
                Answer::page(&format!("<h1>{}{}</h1>", hit.host, hit.target))
            }
            _ => Answer::none(),
        }
    });
    let urls: Vec<&str> = held.keys().map(String::as_str).collect();
    let expected = [
        "http://h0.test/",
        "http://h0.test/a",
        "http://h1.test/",
        "http://h1.test/b",
        "http://h1.test/c",
    ];
    assert_eq!(urls, expected);
    assert_eq!(world.asked("h0.test", "/index.xml").len(), 1);
    assert!(world.asked("h1.test", "/two.xml").is_empty());
}

/// Ten parts of an index, each with a page that nobody links to.
#[test]
fn every_part_of_an_index_is_read_in_time() {
    const PARTS: usize = 10;
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 1_200,
        ..setting(1, 20, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| {
        let number = |path: &str| {
            let rest = hit.target.strip_prefix(path)?;
            let number = rest.trim_end_matches(".xml").parse::<usize>().ok()?;
            (number < PARTS).then_some(number)
        };
        if let Some(part) = number("/part") {
            let page = format!("<url><loc>http://h0.test/page{part}</loc></url>");
            return Answer::page(&format!("<urlset>{page}</urlset>"));
        }
        if let Some(page) = number("/page") {
            return Answer::page(&format!("<h1>{page}</h1>"));
        }
        match hit.target.as_str() {
            "/" => Answer::page("front"),
            "/robots.txt" => Answer::page("Sitemap: /index.xml\n"),
            "/index.xml" => {
                let part = |part| format!("<sitemap><loc>/part{part}.xml</loc></sitemap>");
                let parts: String = (0..PARTS).map(part).collect();
                Answer::page(&format!("<sitemapindex>{parts}</sitemapindex>"))
            }
            _ => Answer::none(),
        }
    });
    for part in 0..PARTS {
        let asked = world.asked("h0.test", &format!("/part{part}.xml")).len();
        assert_eq!(asked, 1, "requests for part {part}");
        let page = format!("http://h0.test/page{part}");
        assert!(held.contains_key(&page), "{page} is not kept");
    }
    let asked = world.asked("h0.test", "/index.xml");
    let most = PARTS / 2;
    assert!((2..=most).contains(&asked.len()), "{} times", asked.len());
    // Pages have their visits meanwhile.
    let hits = world.hits.borrow();
    let between = hits
        .iter()
        .filter(|hit| hit.at > asked[0].at && hit.at < asked[1].at)
        .count();
    assert!(between >= 16, "{between} requests between two of the index");
}

/// Compressed sitemaps and what is none are left unread, and a line says so.
#[test]
fn sitemaps_that_cannot_be_read_are_refused_with_a_line() {
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 300,
        ..setting(3, 20, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| {
        match (hit.host.as_str(), hit.target.as_str()) {
            (_, "/") => Answer::page(&hit.host),
            ("h0.test", "/sitemap.xml") => Answer::page("\u{1f}\u{b}\u{8}packed"),
            ("h1.test", "/sitemap.xml") => Answer::page("<html><a href=/x>not here</a></html>"),
            ("h2.test", "/sitemap.xml") => {
                let body = "http://h2.test/no\n";
                Answer::new(200, "Content-Encoding: br\r\n", body)
            }
            _ => Answer::none(),
        }
    });
    assert_eq!(held.len(), 3);
    let lines = world.found.borrow();
    for line in [
        "unread why=Gzip url=http://h0.test/sitemap.xml",
        "unread why=Root url=http://h1.test/sitemap.xml",
        "unread why=Gzip url=http://h2.test/sitemap.xml",
    ] {
        let said = lines.iter().filter(|(_, other)| other == line).count();
        assert_eq!(said, 1, "{line}: {lines:?}");
    }
}

/// A page's `link` element names the feed of its host, among others that name none.
#[test]
fn a_link_element_says_where_the_teller_is() {
    const ELSE: &str = "<link rel=alternate hreflang=de href=/de>\
                        <link rel=stylesheet type=application/rss+xml href=/no.rss>\
                        <link rel=alternate type=application/json href=/no.json>";
    const FEED: &str = "<rss><channel><item><link>/page</link>\
                        <pubDate>Wed, 01 Jan 2020 00:00:00 GMT</pubDate></item></channel></rss>";
    let asked = |elements: &'static str, source: TellerSource| {
        let section = DiscoverySettings::new(Scope::Hosts, 5, 1_000).header();
        let setting = Setting {
            discover: Some((section.to_vec(), TextFlash::blank())),
            tellers: vec![Teller { page: 1, source }],
            unix_time: Some(1_800_000_000),
            ..Setting::of(
                Duration::from_secs(1),
                &[("h0.test", &["/page", "/sitemap.xml"])],
            )
        };
        let (world, ..) = run(&setting, move |hit| match hit.target.as_str() {
            "/page" => Answer::page(&format!("<base href=/f/><p>{ELSE}{elements}")),
            "/f/news.rss" => Answer::page(FEED),
            _ => Answer::none(),
        });
        for other in ["/no.rss", "/no.json", "/f/other.rss"] {
            assert_eq!(world.asked("h0.test", other).len(), 0, "{other}");
        }
        let events = world.events.borrow();
        let told = |event: &Event| {
            matches!(
                event,
                Event::Told {
                    page: 1,
                    entries: 1,
                    ..
                }
            )
        };
        let told = events.iter().filter(|(_, event)| told(event)).count();
        let asked = world.asked("h0.test", "/f/news.rss").len();
        assert_eq!(asked, told, "what is asked for is listened to");
        asked
    };
    let first = "<link type=application/rss+xml rel='home Alternate' href=news.rss>\
                 <link rel=alternate type=application/atom+xml href=other.rss>";
    assert!(asked(first, TellerSource::Auto) > 1);
    let of_other_types = "<LINK rel=alternate type=APPLICATION/FEED+JSON href=news.rss>";
    assert!(asked(of_other_types, TellerSource::Auto) > 1);
    assert_eq!(
        asked(first, TellerSource::Given),
        0,
        "the list knows better"
    );
    assert_eq!(asked("", TellerSource::Auto), 0);
}

/// A list with a teller: what that names is found, pages that were found are told of, and the
/// teller itself is no page of the collection.
#[test]
fn a_teller_is_heard_beside_discovery_and_never_replaced() {
    const START: u64 = 1_800_000_000;
    let web = Web::new(1, 40, 3);
    let texts = TextFlash::blank();
    let places = 10;
    let section = DiscoverySettings::new(Scope::Hosts, places, 1_000).header();
    // Two pages that nobody links to, and the teller behind them.
    let listed = ["/lonely0", "/", "/news.xml"];
    let setting = Setting {
        discover: Some((section.to_vec(), texts.clone())),
        tellers: vec![Teller {
            page: 2,
            source: TellerSource::Given,
        }],
        unix_time: Some(START),
        per_day: Some(20_000.0),
        seconds: 9_000,
        ..Setting::of(Duration::from_secs(1), &[("h0.test", &listed)])
    };
    let site = web.clone();
    let told = |at: Duration| {
        let seconds = START + at.as_secs();
        let date = HttpDate::from_unix(seconds).expect("a date").format();
        String::from_utf8(date.to_vec()).expect("ASCII")
    };
    let (world, held, totals) = run(&setting, move |hit| {
        let date = format!("Date: {}\r\n", told(hit.at));
        let body = match hit.target.as_str() {
            "/news.xml" => {
                // All pages, whoever is kept, and one that nobody links to.
                let page = |page: usize| {
                    let url = site.url(page);
                    let date = told(hit.at);
                    format!("<url><loc>{url}</loc><lastmod>{date}</lastmod></url>")
                };
                let pages: String = (0..40).map(page).collect();
                let hidden = "<url><loc>http://h0.test/hidden</loc></url>";
                format!("<urlset>{pages}{hidden}</urlset>")
            }
            "/lonely0" | "/hidden" => hit.target.clone(),
            target => match site.page("h0.test", target) {
                Some(page) => site.html(page),
                None => return Answer::none(),
            },
        };
        Answer::new(200, &date, &body)
    });
    let hidden = world.asked("h0.test", "/hidden").len();
    assert!(hidden > 0, "what only the teller names is looked at");
    let asked = world.asked("h0.test", "/news.xml").len();
    assert!(asked >= 3, "the teller was asked for {asked} times");
    assert_eq!(held.len(), usize::from(places), "{held:?}");
    assert_eq!((totals.pages, totals.places), (places, places));
    assert!(!held.contains_key("http://h0.test/news.xml"), "{held:?}");
    assert!(totals.replaced > 0, "{totals:?}");
    // More of them are news than the list has pages.
    let events = world.events.borrow();
    let news = events.iter().filter_map(|(_, event)| match event {
        Event::Told { page: 2, news, .. } => Some(*news),
        _ => None,
    });
    assert!(news.max() > Some(2), "found pages are told of");
}

#[test]
fn what_the_head_of_an_answer_asks_of_robots_is_heeded() {
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 400,
        ..setting(1, 20, Scope::Hosts, &texts)
    };
    let tagged = |tag: &str, body: &str| {
        let headers = format!("X-Robots-Tag: noarchive\r\nx-robots-tag: {tag}\r\n");
        Answer::new(200, &headers, body)
    };
    let (world, held, _) = run(&setting, move |hit| match hit.target.as_str() {
        "/" => Answer::page(
            "<a href=/out>1</a><a href=/none>2</a><a href=/blind>3</a><a href=/named>4</a>\
             <a href=/other>5</a><a href=/late>6</a><a href=/same>7</a><a href=/file>8</a>",
        ),
        // What links from there lead to is found, but it is not kept itself.
        "/out" => tagged("noindex", "<a href=/behind>b</a>"),
        "/none" => tagged("None", "<a href=/no1>n</a>"),
        "/blind" => tagged("nofollow", "blind<a href=/no2>n</a>"),
        "/named" => tagged("Dunlin: noindex, nofollow", "named<a href=/no3>n</a>"),
        "/other" => tagged("otherbot: none", "other<a href=/beyond>b</a>"),
        // It changes its mind.
        "/late" if hit.at >= Duration::from_secs(200) => tagged("noindex", "late"),
        "/late" => Answer::page("late"),
        // The same, where the page itself has not changed.
        "/same" if hit.conditional && hit.at >= Duration::from_secs(200) => {
            Answer::new(304, "X-Robots-Tag: noindex\r\n", "")
        }
        "/same" => Answer::new(200, "ETag: \"one\"\r\n", "same"),
        "/file" => tagged("noindex", "%PDF"),
        "/behind" | "/beyond" | "/no1" | "/no2" | "/no3" => Answer::page(&hit.target),
        _ => Answer::none(),
    });
    let urls: Vec<&str> = held.keys().map(String::as_str).collect();
    let expected = ["", "behind", "beyond", "blind", "other"];
    let expected = expected.map(|path| format!("http://h0.test/{path}"));
    assert_eq!(urls, expected);
    for never in ["/no1", "/no2", "/no3"] {
        assert!(world.asked("h0.test", never).is_empty(), "{never}");
    }
    let lines = world.found.borrow();
    let unwilling = lines.iter().filter(|(_, line)| line.contains("Unwilling"));
    assert_eq!(unwilling.count(), 4, "each was looked at once: {lines:?}");
}

#[test]
fn a_scope_says_where_pages_may_be() {
    let held = |scope| {
        let texts = TextFlash::blank();
        let section = DiscoverySettings::new(scope, 20, 1_000).header().to_vec();
        let setting = Setting {
            discover: Some((section, texts)),
            seconds: 300,
            ..Setting::of(Duration::from_secs(1), &[("www.a.test", &["/d/"])])
        };
        let (world, held, _) = run(&setting, |hit| match hit.target.as_str() {
            "/d/" | "/d/one" | "/two" | "/" => Answer::page(&format!(
                "<h1>{}{}</h1><a href=/d/one>1</a><a href=/two>2</a>\
                 <a href=http://sub.a.test/>3</a><a href=http://b.test/>4</a>",
                hit.host, hit.target
            )),
            _ => Answer::none(),
        });
        let hits = world.hits.borrow();
        for host in ["www.a.test", "sub.a.test", "b.test"] {
            let times: Vec<_> = hits
                .iter()
                .filter(|hit| hit.host == host)
                .map(|hit| hit.at)
                .collect();
            let least = times.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(
                least.is_none_or(|gap| gap >= Duration::from_secs(1)),
                "{host} {least:?}"
            );
        }
        held.into_keys().collect::<Vec<_>>()
    };
    let d = ["http://www.a.test/d/", "http://www.a.test/d/one"];
    assert_eq!(held(Scope::Prefix), d);
    let hosts = [&d[..], &["http://www.a.test/two"]].concat();
    assert_eq!(held(Scope::Hosts), hosts);
    let site = held(Scope::Site);
    assert!(
        site.iter().any(|url| url.starts_with("http://sub.a.test/")),
        "{site:?}"
    );
    assert!(
        !site.iter().any(|url| url.starts_with("http://b.test/")),
        "{site:?}"
    );
    let any = held(Scope::Any);
    assert!(
        any.iter().any(|url| url.starts_with("http://b.test/")),
        "{any:?}"
    );
}

#[test]
fn the_section_of_an_image_keeps_its_format() {
    let section: Vec<u8> = DiscoverySettings::new(Scope::Site, 0x1234, 15_000)
        .header()
        .into_iter()
        .chain(7_u16.to_le_bytes())
        .collect();
    let written = [1, 1, 0x34, 0x12, 64, 1, 0x98, 0x3a, 0, 0, 7, 0];
    assert_eq!(section, written, "images of version 1 are out there");
    let mut limited = DiscoverySettings::new(Scope::Site, 0x1234, 15_000);
    limited.per_host = Some(0x0102);
    let second = [2, 1, 0x34, 0x12, 64, 1, 0x98, 0x3a, 0, 0, 2, 1];
    assert_eq!(limited.header(), second, "version 2 has a limit of a host");
    assert_eq!(DiscoverySettings::read(&second), Some(limited));
    assert_eq!(
        DiscoverySettings::read(&[3; 14]),
        None,
        "one of a newer version"
    );
    assert_eq!(
        DiscoverySettings::read(&written[..9]),
        None,
        "one that was cut short"
    );
}
