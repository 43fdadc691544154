//! Pages beyond the list, judged by what the servers saw: found, ranked, kept, replaced.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use dunlin::discover::{DiscoverySettings, Scope};
use dunlin::fetch::HttpDate;
use dunlin::image::{Teller, TellerSource};
use dunlin::probe::{Event, FoundTotals, LoggedFoundEvent};
use dunlin::rank::{Measure, Ranking};
use dunlin::store::{Store, TextKind};
use dunlin::time::Duration;
use host_tests::flash::Flash;

use crate::texts::TextFlash;
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World, WorldProbe};

/// What is kept, by URL, with its importance.
pub type Collection = BTreeMap<String, f32>;

fn collection(probe: &WorldProbe<'_, '_>) -> Collection {
    let mut all = Collection::new();
    probe.each_kept(|_, url, importance| {
        let twice = all.insert(url.to_owned(), importance);
        assert_eq!(twice, None, "{url} is kept twice");
    });
    all
}

/// A web of hosts `h0.test`, `h1.test` …, each with as many pages; links go to a few pages that
/// many link to, and to any others.
#[derive(Clone, Debug)]
pub struct Web {
    hosts: usize,
    pages: usize,
    links: Vec<Vec<usize>>,
}

impl Web {
    pub fn new(hosts: usize, pages: usize, seed: u64) -> Self {
        let all = hosts * pages;
        let mut state = seed;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize) % below
        };
        // As pages come, they link to what many link to already.
        let mut ends: Vec<usize> = (0..hosts).map(|host| host * pages).collect();
        let mut links = vec![Vec::new(); all];
        let mut order: Vec<usize> = (0..all).collect();
        for at in 0..all {
            order.swap(at, at + random(all - at));
        }
        for page in order {
            for _ in 0..7 {
                let target = match random(4) {
                    0 => random(all),
                    _ => ends[random(ends.len())],
                };
                if target != page && !links[page].contains(&target) {
                    links[page].push(target);
                    ends.push(target);
                }
            }
            // Nobody is out of reach.
            let parent = ends[random(ends.len())];
            if parent != page && !links[parent].contains(&page) {
                links[parent].push(page);
            }
        }
        Self {
            hosts,
            pages,
            links,
        }
    }

    fn url(&self, page: usize) -> String {
        match page % self.pages {
            0 => format!("http://h{}.test/", page / self.pages),
            number => format!("http://h{}.test/p{number}", page / self.pages),
        }
    }

    fn page(&self, host: &str, target: &str) -> Option<usize> {
        let host: usize = host
            .strip_prefix('h')?
            .strip_suffix(".test")?
            .parse()
            .ok()?;
        let number = match target {
            "/" => 0,
            target => target.strip_prefix("/p")?.parse().ok()?,
        };
        let good = host < self.hosts && number < self.pages && (target == "/" || number > 0);
        good.then_some(host * self.pages + number)
    }

    fn html(&self, page: usize) -> String {
        let mut text = format!("<title>{}</title>", self.url(page));
        for link in &self.links[page] {
            text += &format!("<a href=\"{}\">on</a>\n", self.url(*link));
        }
        text
    }

    pub fn answer(&self, hit: &Hit) -> Answer {
        match self.page(&hit.host, &hit.target) {
            Some(page) => Answer::page(&self.html(page)),
            None => Answer::none(),
        }
    }

    /// What only the servers know.
    fn page_rank(&self) -> Vec<f64> {
        let all = self.links.len();
        let mut rank = vec![1.0 / all as f64; all];
        for _ in 0..60 {
            let mut next = vec![0.0; all];
            let mut lost = 0.0;
            for (page, links) in self.links.iter().enumerate() {
                match links.is_empty() {
                    true => lost += rank[page],
                    false => {
                        let share = rank[page] / links.len() as f64;
                        links.iter().for_each(|link| next[*link] += share);
                    }
                }
            }
            let rain = (0.1 + 0.9 * lost) / all as f64;
            rank = next.iter().map(|own| 0.9 * own + rain).collect();
        }
        rank
    }

    /// The PageRank of what is held, over that of as many best pages.
    pub fn share(&self, held: &Collection, places: usize) -> f64 {
        let rank = self.page_rank();
        let by_url: HashMap<String, f64> = rank
            .iter()
            .enumerate()
            .map(|(page, rank)| (self.url(page), *rank))
            .collect();
        let own: f64 = held.keys().filter_map(|url| by_url.get(url)).sum();
        let mut best = rank;
        best.sort_by(|one, other| other.total_cmp(one));
        own / best.iter().take(places).sum::<f64>()
    }
}

const HOSTS: [&str; 5] = ["h0.test", "h1.test", "h2.test", "h3.test", "h4.test"];

/// The front pages of so many hosts, and a collection of so many places.
fn setting(hosts: usize, places: u16, scope: Scope, texts: &TextFlash) -> Setting {
    let listed: Vec<(&str, &[&str])> = HOSTS
        .iter()
        .take(hosts)
        .map(|host| (*host, &["/"][..]))
        .collect();
    let section = DiscoverySettings::new(scope, places, 2_000)
        .header()
        .to_vec();
    Setting {
        discover: Some((section, texts.clone())),
        ..Setting::of(Duration::from_secs(2), &listed)
    }
}

pub fn run(
    setting: &Setting,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> (World, Collection, FoundTotals) {
    let seen = Rc::new(RefCell::new((Collection::new(), FoundTotals::default())));
    let last = Rc::clone(&seen);
    let end = Duration::from_secs(setting.seconds - 2);
    let (world, _) = setting.run_keeping(
        None::<Keeper<'_, Flash<3, 1024, 4>>>,
        site,
        move |world, probe| {
            if world.elapsed() >= end {
                *last.borrow_mut() = (collection(probe), probe.found_totals().expect("on"));
            }
        },
    );
    let (held, totals) = seen.borrow().clone();
    (world, held, totals)
}

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

/// The collection at each moment, until the run ends.
fn watch(
    setting: &Setting,
    store: &mut Store<Flash<128, 4096, 4>>,
    site: impl Fn(&Hit) -> Answer + 'static,
) -> (World, Collection, Collection) {
    let seen = Rc::new(RefCell::new((None, Collection::new())));
    let last = Rc::clone(&seen);
    let keeper = Keeper {
        store,
        how: Keeping::AsItShould,
    };
    let (world, _) = setting.run_keeping(Some(keeper), site, move |_, probe| {
        let now = collection(probe);
        let mut seen = last.borrow_mut();
        seen.0.get_or_insert_with(|| now.clone());
        seen.1 = now;
    });
    let (first, last) = seen.borrow().clone();
    (world, first.unwrap_or_default(), last)
}

#[test]
fn a_restart_keeps_the_whole_collection_and_what_was_learnt_of_it() {
    let web = Web::new(5, 60, 7);
    let texts = TextFlash::blank();
    let mut store = Store::new(Flash::<128, 4096, 4>::blank());
    let base = Setting {
        seconds: 900,
        ..setting(5, 40, Scope::Hosts, &texts)
    };
    let site = web.clone();
    let (_, _, before) = watch(&base, &mut store, move |hit| site.answer(hit));
    assert_eq!(before.len(), 40);
    let again = Setting {
        discover: base
            .discover
            .as_ref()
            .map(|(section, texts)| (section.clone(), texts.switched_on())),
        seconds: 60,
        ..setting(5, 40, Scope::Hosts, &texts)
    };
    let mut store = Store::new(store.flash().switched_on());
    let site = web.clone();
    let (world, first, after) = watch(&again, &mut store, move |hit| site.answer(hit));
    let urls = |all: &Collection| all.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(first.len(), 40, "at the start");
    // A page that was admitted in the last quarter of a second is not in flash yet.
    let lost: Vec<_> = urls(&before).difference(&urls(&first)).cloned().collect();
    assert!(lost.len() <= 1, "{lost:?} are lost");
    // What pages have earned is kept roughly, so that a few of the least change places: 4 or 5 here.
    let stayed = urls(&after).intersection(&urls(&before)).count();
    assert!(stayed >= 34, "{stayed} of 40 stayed for a minute");
    let resumed = world
        .events
        .borrow()
        .iter()
        .find_map(|(_, event)| match event {
            dunlin::probe::Event::Resumed(resumed) => Some(resumed.pages),
            _ => None,
        });
    assert!(
        resumed >= Some(39),
        "{resumed:?} pages are known by the store"
    );
}

/// What the log has confirmed, as a restart should see it.
#[derive(Debug, Default)]
struct Confirmed {
    pages: BTreeMap<u16, String>,
    retired: BTreeSet<String>,
    known: BTreeSet<String>,
}

impl Confirmed {
    fn take(&mut self, kind: TextKind, url: &str) {
        match kind {
            TextKind::Candidate => {}
            TextKind::Retired => _ = self.retired.insert(url.to_owned()),
            TextKind::Free(place) => _ = self.pages.remove(&place),
            TextKind::Page(place) => {
                self.pages.retain(|_, page| page != url);
                self.pages.insert(place, url.to_owned());
            }
        }
        if !url.is_empty() {
            self.known.insert(url.to_owned());
        }
    }

    /// Pages that should be held: those of the list that have not given way, and the others.
    fn held(&self, listed: &[String]) -> BTreeSet<String> {
        let stays = |(place, url): &(usize, &String)| {
            let taken = self.pages.contains_key(&(*place as u16));
            !taken && !self.retired.contains(*url)
        };
        let listed = listed.iter().enumerate().filter(stays);
        let listed = listed.map(|(_, url)| url.clone());
        listed.chain(self.pages.values().cloned()).collect()
    }
}

/// A run on this flash, until the power goes or for so long; what it holds when it starts.
fn life(web: &Web, texts: &TextFlash, seconds: u64) -> (BTreeSet<String>, FoundTotals) {
    let setting = Setting {
        seconds,
        ..setting(2, PLACES, Scope::Hosts, texts)
    };
    let site = web.clone();
    let first = Rc::new(RefCell::new(None));
    let seen = Rc::clone(&first);
    setting.run_keeping(
        None::<Keeper<'_, Flash<3, 1024, 4>>>,
        move |hit| site.answer(hit),
        move |_, probe| {
            let now = || (collection(probe), probe.found_totals().expect("on"));
            seen.borrow_mut().get_or_insert_with(now);
        },
    );
    let (held, totals) = first.take().expect("it ran");
    (held.into_keys().collect(), totals)
}

/// Room for so many pages while the power goes.
const PLACES: u16 = 10;

/// At the first boot, where sectors are begun; and later, when the oldest sector is emptied, which
/// holds pages and candidates. The power goes before each write and erase, and in the middle of it.
#[test]
fn a_power_cut_at_every_flash_operation_loses_nothing_and_doubles_nothing() {
    let web = Web::new(2, 30, 5);
    let listed = ["http://h0.test/".to_owned(), "http://h1.test/".to_owned()];
    let worn = TextFlash::blank();
    // Not for so long that it knows everything.
    life(&web, &worn, 12);
    worn.wear();
    let mut cuts = 0;
    let mut copied = false;
    for start in [TextFlash::blank(), worn] {
        let whole = start.switched_on();
        life(&web, &whole, 45);
        let operations = whole.1.borrow().operations.clone();
        let earlier = start.texts();
        let mut written = earlier.iter().filter(|(_, url)| !url.is_empty());
        copied |= written.any(|text| whole.1.borrow().texts.contains(text));
        for (before, bytes) in operations {
            for cut in [before, before + bytes / 2] {
                cuts += 1;
                let texts = start.switched_on();
                texts.0.borrow_mut().power = Some(cut);
                life(&web, &texts, 45);
                let mut confirmed = Confirmed::default();
                let done = texts.1.borrow();
                for (kind, url) in earlier.iter().chain(&done.texts) {
                    confirmed.take(*kind, url);
                }
                let (held, totals) = life(&web, &texts.switched_on(), 3);
                let expected = confirmed.held(&listed);
                if expected.len() <= PLACES.into() {
                    assert_eq!(held, expected, "after a cut at byte {cut}");
                } else {
                    // Who came last, and whom it should have replaced.
                    assert_eq!(held.len(), PLACES.into(), "after a cut at byte {cut}");
                    assert!(held.is_subset(&expected), "after a cut at byte {cut}");
                }
                let candidates = confirmed.known.difference(&held).count();
                assert!(
                    usize::from(totals.candidates) >= candidates,
                    "{} of {candidates} candidates after a cut at byte {cut}",
                    totals.candidates
                );
            }
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts > 100 && copied, "{cuts}, texts copied: {copied}");
}

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
        seconds: 3_000,
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
                    let (url, date) = (site.url(page), told(hit.at));
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
