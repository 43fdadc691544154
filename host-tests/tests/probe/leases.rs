//! A probe of a fleet asks nobody without a lease.

use dunlin::catalog::{Config, Host, Page, TimeServer};
use dunlin::fleet::{Drift, GrantLedger, Member, Outlook, Visits};
use dunlin::image::{Builder, Image, Learnt};
use dunlin::probe::{Board, Event, HostMemory, Memory, PageMemory, Probe};
use dunlin::scheduler::{DynTables, Settings};
use dunlin::time::{Duration, Instant};
use host_tests::flash::Flash;

use crate::world::{Answer, Hit, Keeper, Setting, World, WorldProbe};

const GAP: Duration = Duration::from_secs(2);
type NoStore = Keeper<'static, Flash<3, 1024, 4>>;

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn setting() -> Setting {
    Setting {
        seconds: 400,
        fleet: true,
        ..Setting::of(
            GAP,
            &[("a.test", &["/one", "/two"]), ("b.test", &["/three"])],
        )
    }
}

fn served(hit: &Hit) -> Answer {
    Answer::page(&hit.target)
}

/// A member with a lease of so many seconds that was asked for at a moment.
fn leased(member: &mut Member, ledger: &mut GrantLedger, now: Instant, seconds: u64) {
    let report = member.report(&Outlook::default(), now);
    let lease = Duration::from_secs(seconds);
    let grant = ledger.grant(&report, 1, 86_400.0, lease, now);
    assert!(member.granted(&grant));
}

#[test]
fn nobody_is_asked_before_after_and_between_leases() {
    let mut member = Member::new(7, 1, at(0), Drift::DEFAULT);
    let mut ledger = GrantLedger::new(1);
    let mut leases = [50, 300].into_iter().peekable();
    let look = |world: &World, probe: &WorldProbe<'_, '_>| {
        let now = at(0) + world.elapsed();
        if leases.next_if(|then| now >= at(*then)).is_some() {
            leased(&mut member, &mut ledger, now, 50);
            probe.membership().obey(&member);
        }
    };
    let (world, totals) = setting().run_keeping(None::<NoStore>, served, look);
    let seconds: Vec<_> = world
        .hits
        .borrow()
        .iter()
        .map(|hit| hit.at.as_secs())
        .collect();
    assert!(seconds.len() > 30, "{seconds:?}");
    let allowed = |second: &u64| (50..=100).contains(second) || (300..=350).contains(second);
    assert!(seconds.iter().all(allowed), "{seconds:?}");
    assert!(seconds.iter().any(|second| *second > 300), "{seconds:?}");
    assert_eq!(totals.errors, 0, "the end of a lease is nobody's fault");
    assert!(world.watchdog.get() > 300, "a probe that waits is well");
}

#[test]
fn a_probe_that_has_just_started_lets_politeness_pass() {
    let mut member = Member::new(7, 1, at(0), Drift::DEFAULT);
    let mut ledger = GrantLedger::new(1);
    leased(&mut member, &mut ledger, at(0), 300);
    let mut begun = false;
    let look = |_: &World, probe: &WorldProbe<'_, '_>| {
        if !begun {
            begun = true;
            probe.membership().obey(&member);
        }
    };
    let (world, _) = setting().run_keeping(None::<NoStore>, served, look);
    let first = world.hits.borrow().first().map(|hit| hit.at);
    assert!(first.is_some_and(|first| first >= GAP), "{first:?}");
}

const SHARED: [&str; 10] = ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"];
/// All pages change alike: there is a fetch in five seconds, so each of twenty has one in a hundred.
const EVERY: u64 = 100;

/// What a probe does with these pages in so many seconds with a lease: the requests, and what a fetch
/// is worth to it in the end.
fn shared(seen: (f32, Vec<Option<u32>>), seconds: u64) -> (Vec<Hit>, f32) {
    let per_day = (20 * 86_400 / EVERY) as f32;
    let setting = Setting {
        seconds,
        fleet: true,
        seen,
        per_day: Some(per_day),
        rate: 200.0,
        confidence: 1_000.0,
        ..Setting::of(GAP, &[("a.test", &SHARED), ("b.test", &SHARED)])
    };
    let mut member = Member::new(7, 1, at(0), Drift::DEFAULT);
    let report = member.report(&Outlook::default(), at(0));
    let lease = Duration::from_secs(100_000);
    let grant = GrantLedger::new(1).grant(&report, 1, per_day, lease, at(0));
    assert!(member.granted(&grant));
    let mut begun = false;
    let mut price = 0.0;
    let look = |_: &World, probe: &WorldProbe<'_, '_>| {
        if !std::mem::replace(&mut begun, true) {
            probe.membership().obey(&member);
        }
        price = probe.membership().outlook((100, 100, 1e6)).price;
    };
    let (world, _) = setting.run_keeping(None::<NoStore>, served, look);
    let hits = world.hits.borrow();
    let pages = hits.iter().filter(|hit| hit.target != "/robots.txt");
    (pages.cloned().collect(), price)
}

/// The number of a page in the list.
fn number(hit: &Hit) -> usize {
    let host = usize::from(hit.host == "b.test");
    let page: usize = hit.target[1..].parse().expect("a number");
    10 * host + page
}

#[test]
fn the_next_owner_goes_on_where_the_one_before_was_and_keeps_to_its_budget() {
    const LONG: u64 = 2_000;
    let (before, price) = shared((0.0, Vec::new()), LONG);
    let mut last = vec![None; 20];
    for hit in &before {
        last[number(hit)] = Some(hit.at);
    }
    // The one before is gone, and its pages have waited a little.
    let gone = 20;
    let ages: Vec<Option<u32>> = last
        .iter()
        .map(|at| at.map(|at| (LONG + gone - at.as_secs()) as u32))
        .collect();
    assert!(ages.iter().all(Option::is_some), "{ages:?}");
    let (after, _) = shared((price, ages.clone()), 4 * EVERY);
    let early = |hits: &[Hit]| {
        let early = hits.iter().filter(|hit| hit.at.as_secs() < EVERY / 2);
        early.count() as u64
    };
    // Those that came due meanwhile, and half a round. Who is told nothing begins with all of them.
    let most = (gone + EVERY / 2) * 20 / EVERY + 3;
    let [early, untold] = [early(&after), early(&before)];
    assert!(
        early <= most && untold > most,
        "{early}, {untold}, expected {most}"
    );
    for (page, age) in ages.iter().enumerate() {
        let first = after.iter().find(|hit| number(hit) == page);
        let first = first.map(|hit| hit.at.as_secs());
        let age = u64::from(age.unwrap_or(0));
        // A round, what it was late by already, and rules of robots that come first.
        let late = first.is_none_or(|first| first + age > EVERY + gone + EVERY / 4);
        assert!(
            !late,
            "page {page}, visited {age} s before, is visited at {first:?}"
        );
    }
}

/// A batch with nothing in it.
fn no_visits() -> Visits {
    Visits {
        boot: 7,
        list: 1,
        first: 0,
        visits: Default::default(),
    }
}

/// A probe with a lease from the start on, looked at again and again.
fn always_leased(
    site: impl Fn(&Hit) -> Answer + 'static,
    mut look: impl FnMut(&World, &WorldProbe<'_, '_>),
) -> World {
    let mut member = Member::new(7, 1, at(0), Drift::DEFAULT);
    leased(&mut member, &mut GrantLedger::new(1), at(0), 3_600);
    let mut begun = false;
    let look = |world: &World, probe: &WorldProbe<'_, '_>| {
        if !begun {
            begun = true;
            probe.membership().obey(&member);
        }
        look(world, probe);
    };
    setting().run_keeping(None::<NoStore>, site, look).0
}

#[test]
fn a_redirect_out_of_the_list_is_not_followed_and_one_within_it_is() {
    let site = |hit: &Hit| match (hit.host.as_str(), hit.target.as_str()) {
        (_, "/one") => Answer::moved(302, "http://stranger.test/"),
        (_, "/two") => Answer::moved(301, "http://b.test/two"),
        _ => served(hit),
    };
    let world = always_leased(site, |_, _| {});
    let hosts: Vec<String> = world
        .hits
        .borrow()
        .iter()
        .map(|hit| hit.host.clone())
        .collect();
    assert!(
        !hosts.iter().any(|host| host == "stranger.test"),
        "{hosts:?}"
    );
    assert!(!world.asked("b.test", "/two").is_empty(), "{hosts:?}");
}

#[test]
fn visits_are_told_once_in_their_order_with_what_is_believed_after_them() {
    let mut told = Vec::new();
    let mut lost = 0;
    let world = always_leased(served, |_, probe| {
        let mut batch = no_visits().visits;
        lost += probe.membership().take_visits(&mut batch);
        for (index, visit) in batch.iter().enumerate() {
            let is_last = batch[index + 1..]
                .iter()
                .all(|later| later.page != visit.page);
            let belief = probe
                .membership()
                .learnt(visit.page)
                .expect("a page")
                .parts();
            let same = belief == (visit.shape, visit.time, visit.watch);
            assert!(same || !is_last, "{visit:?}, believed is {belief:?}");
        }
        told.extend(batch);
    });
    let fetches = world.hits.borrow();
    let pages = fetches.iter().filter(|hit| hit.target != "/robots.txt");
    // The last ones are still on their way when time is over.
    let asked = pages.count();
    assert!(
        (asked - 3..=asked).contains(&told.len()),
        "{} of {asked}",
        told.len()
    );
    assert_eq!(lost, 0);
    assert!(told.len() > 20 && told.iter().any(|visit| !visit.changed));
}

#[test]
fn visits_that_nobody_takes_make_room_for_later_ones_and_are_counted() {
    let mut seen = (0, 0);
    let world = always_leased(served, |world, probe| {
        if world.elapsed() >= Duration::from_secs(390) && seen == (0, 0) {
            let mut batch = no_visits().visits;
            let lost = probe.membership().take_visits(&mut batch);
            seen = (lost as usize, batch.len() + probe.membership().untold());
        }
    });
    let hits = world.hits.borrow();
    let in_time = |hit: &&Hit| hit.target != "/robots.txt" && hit.at < Duration::from_secs(389);
    let (lost, kept) = seen;
    assert_eq!(kept, 32);
    assert!(
        lost + kept >= hits.iter().filter(in_time).count(),
        "{seen:?}"
    );
}

#[test]
fn who_is_told_to_pause_asks_nobody_until_it_obeys_again() {
    let world = always_leased(served, |world, probe| {
        if world.elapsed() >= Duration::from_secs(100) {
            probe.membership().pause();
        }
    });
    let last = world.hits.borrow().last().map(|hit| hit.at);
    assert!(
        last.is_some_and(|last| last <= Duration::from_secs(101)),
        "{last:?}"
    );
}

#[test]
fn a_report_says_what_a_fetch_is_worth() {
    let mut outlook = None;
    let look = |world: &World, probe: &WorldProbe<'_, '_>| {
        if world.elapsed() > Duration::from_secs(300) {
            outlook = Some(probe.membership().outlook((3_000, 512, 20_000.0)));
            assert!(
                probe.membership().learnt(0).is_some() && probe.membership().learnt(99).is_none()
            );
        }
    };
    let alone = Setting {
        fleet: false,
        ..setting()
    };
    alone.run_keeping(None::<NoStore>, served, look);
    let outlook = outlook.expect("a look");
    assert!(outlook.price > 0.0 && outlook.fetches > 10, "{outlook:?}");
    assert!((0.05..=3.0).contains(&outlook.elasticity), "{outlook:?}");
}

/// Visits a day that pages with these rates and weights ask for at a price, in the best plan: those
/// after which one more is worth the price (Cho, section 5.3).
fn demand(pages: &[(f32, f32)], price: f64) -> f64 {
    let visits = |(rate, weight): &(f32, f32)| {
        let rate = f64::from(*rate);
        let wanted = price * rate / f64::from(*weight);
        // Changes between two visits at which 1 − (1 + x)e^−x is that.
        let mut low = 0.0_f64;
        let mut high = 50.0_f64;
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            match 1.0 - (1.0 + middle) * (-middle).exp() < wanted {
                true => low = middle,
                false => high = middle,
            }
        }
        if wanted < 1.0 { rate / low } else { 0.0 }
    };
    pages.iter().map(visits).sum()
}

#[test]
fn the_elasticity_of_a_report_is_that_of_all_its_pages_together() {
    // Fewer than are looked at, with rates that are certain.
    let paths = ["/1", "/2", "/3", "/4"];
    let known: Vec<(f32, f32)> = (0..12)
        .map(|number| (10.0 * 1.6_f32.powi(number), 1.0))
        .collect();
    let mut seen = Vec::new();
    for budget in [500.0, 5_000.0, 20_000.0] {
        let setting = Setting {
            // Before it doubts what it was told, for nothing changes here.
            seconds: 300,
            per_day: Some(budget),
            rates: known.iter().map(|(rate, _)| *rate).enumerate().collect(),
            confidence: 1e6,
            ..Setting::of(
                GAP,
                &[("a.test", &paths), ("b.test", &paths), ("c.test", &paths)],
            )
        };
        let mut outlook = Outlook::default();
        let look = |_: &World, probe: &WorldProbe<'_, '_>| {
            outlook = probe.membership().outlook((100, 100, 1e6));
        };
        setting.run_keeping(None::<NoStore>, served, look);
        let price = f64::from(outlook.price);
        let half = 0.5_f64.exp();
        let expected = (demand(&known, price / half) / demand(&known, price * half)).ln();
        let elasticity = f64::from(outlook.elasticity);
        println!("budget {budget}: price {price}, elasticity {elasticity}, expected {expected}");
        assert!((elasticity / expected - 1.0).abs() < 0.02, "of {expected}");
        seen.push(elasticity);
    }
    // Neither end of the range that is allowed, and not the same everywhere.
    assert!(seen.iter().all(|one| (0.06..2.9).contains(one)), "{seen:?}");
    assert!(seen[0] > seen[2] * 1.1, "{seen:?}");
}

/// A board on which nothing happens.
struct Still;

impl Board for Still {
    fn now(&self) -> Instant {
        at(1)
    }

    async fn sleep_until(&self, _: Instant) {}

    fn log(&self, _: &Event) {}
}

#[test]
fn what_others_have_learnt_is_believed_bit_by_bit_but_for_what_is_certain_or_nonsense() {
    let learnt = Learnt {
        shape: 12.3,
        time: 3.1,
        watch: [1, 2],
    };
    let nonsense = Learnt {
        shape: f32::NAN,
        ..learnt
    };
    let host = Host {
        pages: 4,
        ..Host::new("a.test", 0)
    };
    let page = |url| Page::new(0, url);
    let certain = Page {
        rate: Some(2.0),
        confidence: 1_000.0,
        ..page("http://a.test/certain")
    };
    let pages = [
        page("http://a.test/"),
        certain,
        page("http://a.test/nonsense"),
        page("http://a.test/new"),
    ];
    let bytes = Builder::new(&Config::new("dunlin/0.1"))
        .hosts(&[host])
        .pages(&pages)
        .learnt(&[(0, learnt), (1, learnt), (2, nonsense)])
        .build()
        .expect("a list");
    let image = Image::parse(&bytes).expect("a list");
    let mut tables = DynTables::new(image.pages(), image.hosts());
    let mut pages = vec![PageMemory::NEW; image.pages()];
    let mut hosts = vec![HostMemory::NEW; image.hosts()];
    let mut redirects = vec![0; 1_000];
    let memory = Memory {
        scheduler: tables.scheduler(Settings::DEFAULT),
        pages: &mut pages,
        hosts: &mut hosts,
        redirects: &mut redirects,
    };
    let probe = Probe::new(image, memory, 1, Still).expect("a probe");
    let before = [1, 2, 3].map(|page| probe.membership().learnt(page).map(|found| found.parts()));
    assert_eq!(probe.membership().seed(), 1);
    let parts = probe.membership().learnt(0).map(|found| found.parts());
    assert_eq!(parts, Some((learnt.shape, learnt.time, learnt.watch)));
    let after = [1, 2, 3].map(|page| probe.membership().learnt(page).map(|found| found.parts()));
    assert_eq!(after, before);
}

#[test]
fn a_device_keeps_its_own_time_server_whichever_list_came() {
    const OWN: TimeServer<'_> = TimeServer {
        host: "own.test",
        port: 123,
    };
    const OTHER: TimeServer<'_> = TimeServer {
        host: "other.test",
        port: 1_123,
    };
    let image = |sntp| {
        let mut config = Config::new("dunlin/0.1");
        config.sntp = sntp;
        Builder::new(&config).build().expect("an image")
    };
    for (own, listed, asked) in [
        (Some(OWN), None, Some(OWN)),
        (Some(OWN), Some(OTHER), Some(OWN)),
        (None, Some(OTHER), Some(OTHER)),
        (None, None, None),
    ] {
        let [device, list] = [own, listed].map(image);
        let device = Image::parse(&device).expect("an image");
        let list = Image::parse(&list).expect("a list");
        let mut tables = DynTables::new(0, 0);
        let memory = Memory {
            scheduler: tables.scheduler(Settings::DEFAULT),
            pages: &mut [],
            hosts: &mut [],
            redirects: &mut [],
        };
        let probe = Probe::new(list, memory, 1, Still).expect("a probe");
        assert_eq!(probe.in_fleet(Some(device)).config().sntp, asked);
    }
}

#[test]
fn visits_that_are_told_late_say_how_long_ago_they_were() {
    let mut told = None;
    let world = always_leased(served, |world, probe| {
        if told.is_none() && world.elapsed() >= Duration::from_secs(30) {
            let mut batch = no_visits().visits;
            let lost = probe.membership().take_visits(&mut batch);
            told = Some((world.elapsed().as_secs(), batch, lost));
        }
    });
    let (now, batch, lost) = told.expect("a look");
    assert_eq!(lost, 0);
    assert!(batch.len() > 10, "{batch:?}");
    // Nothing is lost: the first that is told of a page is its first visit.
    let mut visits = [("a.test", "/one"), ("a.test", "/two"), ("b.test", "/three")]
        .map(|(host, path)| world.asked(host, path).into_iter());
    for visit in &batch {
        let hit = visits[usize::from(visit.page)].next().expect("a request");
        let ago = now - hit.at.as_secs();
        let said = u64::from(visit.ago_s);
        assert!(said.abs_diff(ago) <= 1, "{visit:?}, it was {ago} s ago");
    }
}
