//! The probe and its store: what a power cut costs, when flash is erased, what a restart knows.

use std::collections::HashMap;

use dunlin::catalog::CrawlLimits;
use dunlin::probe::Event;
use dunlin::store::{PageRecord, Partition, Record, Stamp, Store};
use dunlin::time::Duration;
use dunlin_suite::bench::Random;
use futures_lite::future::block_on;

use crate::recorder::{Journal, Operation, Plain, Recorder, stamp};
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World, WorldProbe};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A store of the reference layout.
type Reference = Recorder<128, 10_000>;

/// So many pages on so many hosts.
fn list(hosts: usize, pages: usize) -> Vec<(&'static str, Duration, Vec<&'static str>)> {
    let leak = |text: String| &*Box::leak(text.into_boxed_str());
    let paths = |host| {
        (host..pages)
            .step_by(hosts)
            .map(|page| leak(format!("/{page}")))
            .collect()
    };
    (0..hosts)
        .map(|host| (leak(format!("h{host}.test")), SECOND * 3, paths(host)))
        .collect()
}

/// No robots.txt; pages that change every hour, each at a time of its own.
fn site(hit: &Hit) -> Answer {
    match hit.target.as_str() {
        "/robots.txt" => Answer::none(),
        page => Answer::page(&format!(
            "{}",
            (hit.at.as_secs() + 97 * page.len() as u64) / 3_600
        )),
    }
}

/// What was known of each page, from when on.
type History = HashMap<u64, Vec<(Duration, PageRecord)>>;

/// Puts on record what is known of a page whenever it has been answered, and dates what was written
/// meanwhile.
struct Watcher {
    journal: Journal,
    history: History,
    events: usize,
}

impl Watcher {
    fn look(&mut self, world: &World, probe: &WorldProbe<'_, '_>) {
        stamp(&self.journal, world.elapsed());
        let events = world.events.borrow();
        for (_, event) in events.get(self.events..).unwrap_or_default() {
            if let Event::End { page, .. } = *event {
                let known = probe
                    .persistence()
                    .record_of(page.into())
                    .expect("a page of the list");
                self.history
                    .entry(known.page)
                    .or_default()
                    .push((world.elapsed(), known));
            }
        }
        self.events = events.len();
    }
}

/// A run, as it went.
struct Recorded {
    journal: Vec<(Duration, Operation)>,
    history: History,
    hits: Vec<Hit>,
    end: Duration,
}

fn record<const SECTORS: usize, const CYCLES: u32>(
    setting: &Setting,
    how: Keeping,
    site: fn(&Hit) -> Answer,
) -> Recorded {
    let recorder = Recorder::<SECTORS, CYCLES>::blank();
    let mut watcher = Watcher {
        journal: recorder.journal.clone(),
        history: History::new(),
        events: 0,
    };
    let mut store = Store::new(recorder);
    let keeper = Keeper {
        store: &mut store,
        how,
    };
    let (world, _) = setting.run_keeping(Some(keeper), site, |world, probe| {
        watcher.look(world, probe)
    });
    let Watcher {
        journal, history, ..
    } = watcher;
    stamp(&journal, world.elapsed());
    let journal = journal.borrow().clone();
    Recorded {
        journal,
        history,
        hits: world.hits.take(),
        end: world.elapsed(),
    }
}

/// What a store finds in a flash: the latest record of each page.
fn recover<F: Partition>(flash: F) -> HashMap<u64, PageRecord>
where
    F::Error: std::fmt::Debug,
{
    let mut found = HashMap::new();
    let read = block_on(Store::new(flash).open(|record, _| {
        if let Record::Page(page) = record {
            found.insert(page.page, *page);
        }
    }));
    read.expect("a flash that can be read");
    found
}

/// How much learning is lost with the power at `now`: the age of the oldest outcome that is not in
/// what was found.
fn loss(history: &History, found: &HashMap<u64, PageRecord>, now: Duration) -> Duration {
    let same = |one: &PageRecord, other: &PageRecord| {
        (one.fetched, one.estimate, one.fingerprint)
            == (other.fetched, other.estimate, other.fingerprint)
    };
    let lost = history.iter().map(|(page, known)| {
        let known = known
            .get(..known.partition_point(|(time, _)| *time <= now))
            .unwrap_or_default();
        // A page that has been held against robots.txt is kept before its first fetch.
        let kept = match found
            .get(page)
            .filter(|found| found.fetched != Stamp::NEVER)
        {
            None => 0,
            Some(found) => {
                let place = known.iter().rposition(|(_, known)| same(known, found));
                1 + place.unwrap_or_else(|| {
                    panic!("page {page:016x} is known as it never was: {found:?}")
                })
            }
        };
        known
            .get(kept)
            .map_or(Duration::ZERO, |(time, _)| now - *time)
    });
    lost.max().unwrap_or(Duration::ZERO)
}

/// Lets the power go at random moments, and in the middle of random writes and erases; the dearest
/// cut.
fn dearest_cut<const SECTORS: usize>(recorded: &Recorded, cuts: usize) -> Duration {
    let journal = &recorded.journal;
    let mut random = Random(41);
    // The operation during which the power goes, the byte of it, and when that is.
    let mut places: Vec<(usize, u64, Duration)> = (0..cuts)
        .map(|cut| {
            if cut % 2 == 0 {
                let time = SECOND * (random.unit() * recorded.end.as_secs() as f32) as u64;
                return (journal.partition_point(|(then, _)| *then <= time), 0, time);
            }
            let index = random.next_u32() as usize % journal.len();
            let (time, operation) = &journal[index];
            (
                index,
                u64::from(random.next_u32()) % operation.bytes(),
                *time,
            )
        })
        .collect();
    places.sort_by_key(|(index, byte, _)| (*index, *byte));
    let mut flash = Plain::<SECTORS>::blank();
    let mut done = 0;
    let mut dearest = Duration::ZERO;
    for (index, byte, now) in places {
        for (_, operation) in &journal[done..index] {
            operation.repeat(&mut flash).expect("power until then");
        }
        done = index;
        let mut cut = flash.clone();
        cut.power = Some(byte);
        if let Some((_, operation)) = journal.get(index) {
            operation.repeat(&mut cut).expect_err("the power goes");
        }
        dearest = dearest.max(loss(&recorded.history, &recover(cut.switched_on()), now));
    }
    dearest
}

#[test]
fn losing_power_costs_at_most_the_last_minute_of_learning() {
    const CUTS: usize = 400;
    let setting = Setting {
        hosts: list(50, 1_000),
        per_day: Some(5_000.0),
        seconds: 6 * 3_600,
        ..Setting::default()
    };
    let recorded = record::<128, 10_000>(&setting, Keeping::AsItShould, site);
    let erases = recorded
        .journal
        .iter()
        .filter(|(_, done)| matches!(done, Operation::Erase(..)))
        .count();
    let dearest = dearest_cut::<128>(&recorded, CUTS);
    let fetches: usize = recorded.history.values().map(Vec::len).sum();
    println!(
        "{CUTS} power cuts in 6 hours with {fetches} answers and {erases} erases: at most {:.1} s of learning lost",
        dearest.as_secs_f64()
    );
    assert!(
        fetches > 1_000 && erases > 20,
        "{fetches} answers, {erases} erases: too quiet"
    );
    assert!(dearest <= MINUTE, "{dearest:?} of learning lost");
    // What the same test says of a probe that stores too rarely, and of one whose flash must not be
    // erased.
    let rarely = record::<128, 10_000>(&setting, Keeping::Every(MINUTE * 2), site);
    assert!(dearest_cut::<128>(&rarely, CUTS) > MINUTE);
    // A hundred cycles: three erases a day.
    let starved = record::<128, 100>(&setting, Keeping::AsItShould, site);
    assert!(dearest_cut::<128>(&starved, CUTS) > MINUTE * 30);
}

#[test]
fn a_probe_without_enough_erases_stores_its_pages_in_turn() {
    // A day has budget for 43 erases, or about a thousand stores; and about 14,000 answers.
    let setting = Setting {
        hosts: list(20, 100),
        per_day: Some(14_400.0),
        ..Setting::default()
    };
    let setting = Setting {
        seconds: 12 * 3_600,
        ..setting
    };
    let recorded = record::<8, 20_000>(&setting, Keeping::AsItShould, site);
    let mut flash = Plain::<8>::blank();
    for (_, operation) in &recorded.journal {
        operation.repeat(&mut flash).expect("power all day");
    }
    let end = Duration::from_secs(setting.seconds);
    let found = recover(flash);
    let dearest = loss(&recorded.history, &found, end);
    println!(
        "12 hours on eight sectors: {} pages stored, the oldest unsaved outcome {dearest:?} old",
        found.len()
    );
    assert_eq!(found.len(), 100);
    assert!(dearest > MINUTE, "there was budget enough");
    assert!(
        dearest < Duration::HOUR * 6,
        "a page has waited for {dearest:?}"
    );
}

/// Erases while the answer to a request was under way, as the servers saw it; and how many erases
/// there were.
fn erases_in_flight(recorded: &Recorded) -> (usize, usize) {
    let takes = slow(&recorded.hits[0]).after;
    let in_flight = |time: Duration| {
        recorded
            .hits
            .iter()
            .any(|hit| hit.at < time && time < hit.at + takes)
    };
    let erases: Vec<Duration> = recorded
        .journal
        .iter()
        .filter(|(_, done)| matches!(done, Operation::Erase(..)))
        .map(|(time, _)| *time)
        .collect();
    (
        erases.iter().filter(|time| in_flight(**time)).count(),
        erases.len(),
    )
}

/// Every answer takes its time.
fn slow(hit: &Hit) -> Answer {
    Answer {
        after: Duration::from_millis(2_500),
        ..site(hit)
    }
}

#[test]
fn flash_is_erased_only_while_nothing_is_fetched() {
    // More hosts than slots: without a pause, some answer is always under way.
    let setting = Setting {
        hosts: list(12, 60),
        seconds: 3_600,
        ..Setting::default()
    };
    let recorded = record::<8, 10_000_000>(&setting, Keeping::AsItShould, slow);
    let (in_flight, erases) = erases_in_flight(&recorded);
    println!(
        "{} requests, {erases} erases, {in_flight} of them while something was fetched",
        recorded.hits.len()
    );
    assert!(
        recorded.hits.len() > 2_000 && erases > 50,
        "{} requests, {erases} erases",
        recorded.hits.len()
    );
    assert_eq!(in_flight, 0);
    let careless = record::<8, 10_000_000>(&setting, Keeping::Carelessly(SECOND * 5), slow);
    let (in_flight, erases) = erases_in_flight(&careless);
    assert!(
        2 * in_flight > erases,
        "the test sees no difference: {in_flight} of {erases}"
    );
}

/// Two runs on the same flash: the second one starts when the first has ended, and `off` later by
/// the clock.
fn restarted(first: &Setting, second: &Setting, site: fn(&Hit) -> Answer) -> (World, World) {
    let mut store = Store::new(Reference::blank());
    let keeper = Keeper {
        store: &mut store,
        how: Keeping::AsItShould,
    };
    let (before, _) = first.run_keeping(Some(keeper), site, |_, _| ());
    let mut store = Store::new(store.flash().clone());
    let keeper = Keeper {
        store: &mut store,
        how: Keeping::AsItShould,
    };
    let (after, _) = second.run_keeping(Some(keeper), site, |_, _| ());
    (before, after)
}

const NOON: u64 = 1_794_000_000;

fn with_a_busy_host(hit: &Hit) -> Answer {
    match (hit.host.as_str(), hit.target.as_str()) {
        (_, "/robots.txt") => Answer::page("User-agent: *\nDisallow: /private\nCrawl-delay: 40\n"),
        ("busy.test", _) => Answer::new(503, "Retry-After: 7200\r\n", ""),
        _ => Answer::page("here"),
    }
}

fn two_hosts() -> Setting {
    Setting::of(
        SECOND * 5,
        &[("a.test", &["/a", "/private/x"]), ("busy.test", &["/b"])],
    )
}

#[test]
fn a_restart_knows_robots_rules_delays_and_back_offs() {
    let first = Setting {
        unix_time: Some(NOON),
        ..two_hosts()
    };
    // An hour after the power went, which was ten minutes after the start.
    let second = Setting {
        unix_time: Some(NOON + 600 + 3_600),
        seconds: 7_200,
        ..two_hosts()
    };
    let (before, after) = restarted(&first, &second, with_a_busy_host);
    assert_eq!(before.asked("a.test", "/robots.txt").len(), 1);
    assert_eq!(
        after.asked("a.test", "/robots.txt").len(),
        0,
        "its rules hold for a day"
    );
    assert!(
        !after.asked("a.test", "/a").is_empty(),
        "a page that may be fetched"
    );
    assert_eq!(
        after.asked("a.test", "/private/x").len(),
        0,
        "the rules were forgotten"
    );
    assert!(
        after.shortest_gap("a.test") >= SECOND * 40,
        "the delay was forgotten"
    );
    let busy = before.asked("busy.test", "/b")[0].at;
    let again = after.asked("busy.test", "/b").first().map(|hit| hit.at);
    let then = busy + SECOND * 7_200 - SECOND * (600 + 3_600);
    // Times are kept by every other second, and back-offs get a little jitter.
    let again = again.expect("asked again, in time");
    assert!(
        again + SECOND * 4 >= then && again <= then + SECOND * 1_500,
        "{again:?}, expected {then:?}"
    );
}

#[test]
fn a_restart_without_a_clock_trusts_no_expiry_and_shortens_no_back_off() {
    let second = Setting {
        seconds: 8_400,
        ..two_hosts()
    };
    let (_, after) = restarted(&two_hosts(), &second, with_a_busy_host);
    assert_eq!(
        after.asked("a.test", "/robots.txt").len(),
        1,
        "nobody knows whether its rules still hold"
    );
    assert_eq!(after.asked("a.test", "/private/x").len(), 0);
    let again = after
        .asked("busy.test", "/b")
        .first()
        .map(|hit| hit.at)
        .expect("asked again, in time");
    assert!(
        again >= SECOND * (7_200 - 600),
        "{again:?}: nobody knows how long the device was off"
    );
}

/// What the first fetch after a restart teaches about a page: nothing, unless it is known how long
/// ago the last one was.
#[test]
fn an_interval_across_a_restart_teaches_only_by_the_clock() {
    for clock in [None, Some(NOON)] {
        let setting = |late: u64| Setting {
            unix_time: clock.map(|clock| clock + late),
            ..Setting::of(SECOND * 300, &[("a.test", &["/a"])])
        };
        let mut store = Store::new(Reference::blank());
        let mut known = Vec::new();
        let mut taught = Vec::new();
        for (start, records) in [(0, &mut known), (10_000, &mut taught)] {
            let keeper = Keeper {
                store: &mut store,
                how: Keeping::AsItShould,
            };
            let long = Setting {
                seconds: 2_000,
                ..setting(start)
            };
            long.run_keeping(Some(keeper), site, |_, probe| {
                let now = probe.persistence().record_of(0).expect("a page").estimate;
                if records.last() != Some(&now) {
                    records.push(now);
                }
            });
            store = Store::new(store.flash().clone());
        }
        let last = known.last().expect("learnt");
        let mut after = taught.iter();
        assert!(known.len() > 2, "{known:?}");
        assert_eq!(after.next(), Some(last), "what was known is known again");
        let answers = taught.len() - 1;
        // Six fetches of 300 s each; the first of them tells something only if its interval is
        // known.
        assert!(answers >= 4, "{answers} lessons");
        println!("clock {clock:?}: {answers} lessons after the restart");
        match clock {
            None => assert!(answers < 6, "a guessed interval has taught something"),
            Some(_) => assert!(
                answers >= 6,
                "the interval across the restart has taught nothing"
            ),
        }
    }
}

/// `max` across a restart: to the second by the clock; where nobody knows how long the device was
/// off, one request for each page may come too soon, and no more.
#[test]
fn a_restart_keeps_to_what_a_list_allows() {
    const FIRST: u64 = 3 * 3_600;
    let max = CrawlLimits {
        max: Some(4),
        ..CrawlLimits::NONE
    };
    let paths = ["/a", "/b", "/c"];
    let setting = |unix_time: Option<u64>, seconds: u64| Setting {
        limits: (0..3).map(|page| (page, max)).collect(),
        per_day: None,
        rate: 20.0,
        unix_time,
        seconds,
        ..Setting::of(SECOND * 15, &[("a.test", &paths)])
    };
    for (clock, off) in [(Some(NOON), 3_600), (None, 0), (None, 5 * 3_600)] {
        let second = setting(clock.map(|clock| clock + FIRST + off), 86_400);
        let (before, after) = restarted(&setting(clock, FIRST), &second, site);
        for path in paths {
            let times = |world: &World, late: u64| -> Vec<Duration> {
                let asked = world.asked("a.test", path);
                asked.iter().map(|hit| hit.at + SECOND * late).collect()
            };
            let [before, after] = [times(&before, 0), times(&after, FIRST + off)];
            let soon = |times: &[Duration]| {
                // Times are kept by every other second.
                let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
                gaps.filter(|gap| *gap + SECOND * 2 < Duration::HOUR * 6)
                    .count()
            };
            let case = format!("{path}, {clock:?}, off for {off} s: {before:?} {after:?}");
            assert_eq!(before.len(), 1, "{case}");
            assert!(after.len() >= 4, "{case}");
            assert_eq!(soon(&after), 0, "{case}");
            let more = if clock.is_some() { 0 } else { 1 };
            assert!(soon(&[before, after].concat()) <= more, "{case}");
        }
    }
}

#[test]
fn damaged_state_is_refused_and_said() {
    let setting = Setting {
        hosts: list(4, 60),
        seconds: 600,
        ..Setting::default()
    };
    let mut store = Store::new(Reference::blank());
    setting.run_keeping(
        Some(Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        }),
        site,
        |_, _| (),
    );
    let whole = store.flash().flash.clone();
    let resumed = |flash: Plain<128>| {
        let mut store = Store::new(Recorder::<128, 10_000> {
            flash,
            journal: Journal::default(),
        });
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        let (world, _) = Setting {
            hosts: list(4, 60),
            seconds: 1,
            ..Setting::default()
        }
        .run_keeping(Some(keeper), site, |_, _| ());
        let said = |(_, event): &(Duration, Event)| match event {
            Event::Resumed(resumed) => Some(*resumed),
            _ => None,
        };
        world
            .events
            .borrow()
            .iter()
            .find_map(said)
            .expect("a probe says what it has found")
    };
    let good = resumed(whole.clone());
    assert_eq!((good.pages, good.refused), (60, 0), "{good:?}");
    // A byte of every other record of the first sectors is another one.
    let mut damaged = whole;
    damaged.bytes_mut()[..3 * 4096]
        .iter_mut()
        .skip(40)
        .step_by(192)
        .for_each(|byte| *byte ^= 0x55);
    let found = resumed(damaged);
    println!("{good:?} before, {found:?} after");
    assert!(found.refused > 10 && found.pages > 0, "{found:?}");
}
