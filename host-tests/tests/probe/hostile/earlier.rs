//! What an earlier run has stored, at the word of hosts that lied or wanted to be left alone.

use std::cell::Cell;

use dunlin::fetch::HttpDate;
use dunlin::probe::Event;
use dunlin::store::{HostRecord, Ledger, Record, RecordKey, Store, StoreStep};
use dunlin::time::{Duration, Instant};
use futures_lite::future::block_on;
use host_tests::flash::Flash;

use super::{GAP, no_robots, shortest_gap};
use crate::world::{Answer, Hit, Keeper, Keeping, Setting, World};

/// Two runs on the same flash: the second one's world.
pub fn second(
    before: &Setting,
    after: &Setting,
    site: impl Fn(&Hit) -> Answer + Copy + 'static,
) -> World {
    let keeping = |setting: &Setting, flash: Flash<14, 1024, 4>| {
        let mut store = Store::new(flash);
        let keeper = Keeper {
            store: &mut store,
            how: Keeping::AsItShould,
        };
        let (world, _) = setting.run_keeping(Some(keeper), site, |_, _| ());
        (world, store.flash().switched_on())
    };
    let (_, flash) = keeping(before, Flash::blank());
    keeping(after, flash).0
}

/// `liar.test` says that it is the end of the year 9999, three hosts what time it is.
fn dated(hit: &Hit) -> Answer {
    let unix = match hit.host.as_str() {
        "liar.test" => Some(253_402_300_799),
        "silent.test" => None,
        _ => Some(1_794_000_000 + hit.at.as_secs()),
    };
    let date = unix.and_then(HttpDate::from_unix);
    let date = date.map_or(String::new(), |date| {
        format!("Date: {}\r\n", String::from_utf8_lossy(&date.format()))
    });
    match hit.target.as_str() {
        "/robots.txt" => Answer::new(200, &date, "User-agent: *\nDisallow: /private\n"),
        _ => Answer::new(200, &date, "here"),
    }
}

#[test]
fn an_absurd_date_of_an_earlier_run_does_not_last() {
    const LONG: Duration = Duration::from_secs(300);
    let few = Setting {
        seconds: 1_200,
        ..Setting::of(LONG, &[("liar.test", &["/1"]), ("silent.test", &["/2"])])
    };
    let many = Setting {
        seconds: 30 * 3_600,
        hours: None,
        ..Setting::of(
            LONG,
            &[
                ("liar.test", &["/1"]),
                ("silent.test", &["/2"]),
                ("a.test", &["/3"]),
                ("b.test", &["/4"]),
                ("c.test", &["/5"]),
            ],
        )
    };
    let world = second(&few, &many, dated);
    let events = world.events.borrow();
    let clock = events.iter().find_map(|(at, event)| match event {
        Event::Clock { unix, .. } => Some(u64::from(*unix).abs_diff(1_794_000_000 + at.as_secs())),
        _ => None,
    });
    assert!(clock.is_some_and(|off| off < 60), "{clock:?} seconds off");
}

#[test]
fn rules_that_were_to_hold_for_eighty_years_are_asked_for_anew() {
    for (other, asked_anew) in [("honest.test", false), ("liar.test", true)] {
        let hosts: [(&'static str, &[&'static str]); 2] =
            [(other, &["/1"]), ("silent.test", &["/2"])];
        let before = Setting {
            seconds: 1_200,
            ..Setting::of(Duration::from_secs(30), &hosts)
        };
        // The second run knows the date from its first moment on, and so what it may rely on.
        let after = Setting {
            unix_time: Some(1_794_003_600),
            seconds: 3_600,
            ..Setting::of(Duration::from_secs(300), &hosts)
        };
        let world = second(&before, &after, |hit| {
            // Its rules come when the date is certain, and are stored under it.
            let early = hit.at < Duration::from_secs(200);
            match (hit.host.as_str(), hit.target.as_str()) {
                ("silent.test", "/robots.txt") if early => {
                    Answer::new(503, "Retry-After: 200\r\n", "")
                }
                _ => dated(hit),
            }
        });
        let read = world.asked("silent.test", "/2").len();
        assert!(read > 0, "beside {other}: {:?}", world.hits.borrow());
        let asked = world.asked("silent.test", "/robots.txt");
        assert_eq!(!asked.is_empty(), asked_anew, "beside {other}: {asked:?}");
    }
}

#[test]
fn a_host_that_shares_a_gate_does_not_shorten_its_wait_after_a_restart() {
    let setting = |seconds| Setting {
        seconds,
        one_gate: true,
        unix_time: Some(1_794_000_000),
        ..Setting::of(GAP, &[("a.test", &["/1"]), ("b.test", &["/2"])])
    };
    let world = second(&setting(100), &setting(600), |hit| {
        Answer::new(503, "Retry-After: 2000\r\n", hit.target.as_str())
    });
    assert_eq!(
        world.hits.borrow().first(),
        None,
        "both are to be left alone"
    );
}

#[test]
fn a_gap_that_the_owner_has_raised_wins_over_a_stored_one() {
    let setting = |gap| Setting {
        unix_time: Some(1_794_000_000),
        ..Setting::of(Duration::from_secs(gap), &[("a.test", &["/1", "/2"])])
    };
    let world = second(&setting(10), &setting(60), |hit| {
        match hit.target.as_str() {
            "/robots.txt" => Answer::page("User-agent: *\nCrawl-delay: 30\n"),
            _ => Answer::page("here"),
        }
    });
    assert!(
        world.asked("a.test", "/robots.txt").is_empty(),
        "its rules are known"
    );
    assert!(shortest_gap(&world, &["a.test"]) >= Duration::from_secs(60));
}

#[test]
fn no_host_is_asked_before_its_gap_after_a_restart() {
    // Whether the date is known or not: nobody knows what else has asked it meanwhile.
    for unix_time in [None, Some(1_794_000_000)] {
        let setting = Setting {
            unix_time,
            ..Setting::of(GAP, &[("a.test", &["/1"]), ("b.test", &["/2", "/3"])])
        };
        let world = second(&setting, &setting, |hit| {
            no_robots(hit).unwrap_or_else(|| Answer::page("here"))
        });
        for host in ["a.test", "b.test"] {
            let hits = world.hits.borrow();
            let first = hits.iter().find(|hit| hit.host == host);
            let first = first.map(|hit| hit.at);
            assert!(first >= Some(GAP), "{host} was asked after {first:?}");
        }
    }
}

/// Records that are written to flash one after the other, and no more.
struct Written {
    records: Vec<Record>,
    count: Cell<u16>,
}

impl Ledger for Written {
    fn unsaved(&self) -> Option<RecordKey> {
        let count = self.count.get();
        (usize::from(count) < self.records.len()).then_some(RecordKey::Page(count))
    }

    fn any_in(&self, _: u8) -> Option<RecordKey> {
        None
    }

    fn count_in(&self, _: u8) -> usize {
        0
    }

    fn read(&self, _: RecordKey) -> Record {
        let count = self.count.get();
        self.count.set(count + 1);
        self.records[usize::from(count)]
    }

    fn saved(&self, _: RecordKey, _: u8) {}
}

#[test]
fn rules_of_which_earlier_firmware_did_not_say_whose_they_were_are_asked_for_anew() {
    let setting = |unix_time| Setting {
        unix_time: Some(unix_time),
        ..Setting::of(GAP, &[("a.test", &["/1"])])
    };
    let keeping = |setting: &Setting, store: &mut Store<Flash<14, 1024, 4>>| {
        let keeper = Keeper {
            store,
            how: Keeping::AsItShould,
        };
        setting.run_keeping(Some(keeper), dated, |_, _| ()).0
    };
    let mut first = Store::new(Flash::<14, 1024, 4>::blank());
    keeping(&setting(1_794_000_000), &mut first);
    for is_told in [true, false] {
        let mut records = Vec::new();
        let mut kept = Store::new(first.flash().switched_on());
        let found = block_on(kept.open(|record, _| {
            records.push(match record {
                Record::Host(host) if !is_told => Record::Host(HostRecord {
                    scheme: None,
                    ..*host
                }),
                other => *other,
            });
        }));
        found.expect("a flash that can be read");
        assert!(
            records
                .iter()
                .any(|record| matches!(record, Record::Host(_)))
        );
        let written = Written {
            records,
            count: Cell::new(0),
        };
        let mut store = Store::new(Flash::<14, 1024, 4>::blank());
        let mut step = || {
            let step = block_on(store.step(&written, true, Instant::ZERO));
            step.expect("a flash that can be written")
        };
        while step() != StoreStep::Idle {}
        let mut store = Store::new(store.flash().switched_on());
        let world = keeping(&setting(1_794_003_600), &mut store);
        let asked = world.hits.borrow().first().map(|hit| hit.target.clone());
        let expected = if is_told { "/1" } else { "/robots.txt" };
        assert_eq!(asked.as_deref(), Some(expected), "told whose: {is_told}");
        assert!(!world.asked("a.test", "/1").is_empty());
    }
}
