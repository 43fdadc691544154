//! What a probe says: each line is written, logged and read back as the table of events has it, and
//! the end of a fetch is short on the wire.

use std::sync::Mutex;

use dunlin::boot::Reset;
use dunlin::catalog::LogLevel;
use dunlin::collect::Uncollected;
use dunlin::discover::UrlRefusal;
use dunlin::fetch::RedirectError;
use dunlin::image::{ImageError, Tag};
use dunlin::probe::{
    BoardEvent, Event, Failure, Flags, FoundEvent, LoggedBoardEvent, LoggedEvent, LoggedFoundEvent,
    Resumed, TimeSource, Totals,
};
use dunlin::sntp::NoTime;
use proptest::prelude::*;

const RESUMED: Resumed = {
    let mut resumed = Resumed::NOTHING;
    resumed.pages = 1;
    resumed.hosts = 2;
    resumed.strange = 3;
    resumed.refused = 4;
    resumed.foreign = true;
    resumed
};

const TOTALS: Totals = {
    let mut totals = Totals::ZERO;
    totals.fetches = 1;
    totals.not_modified = 2;
    totals.changed = 3;
    totals.errors = 4;
    totals.denied = 5;
    totals.bytes = 6;
    totals.late_seconds = 7;
    totals
};

/// One of each event in the table's order, its line, and what is read back.
const EVENTS: &[(Event, &str, LoggedEvent<'static>)] = &[
    (
        Event::Loaded { pages: 7, hosts: 3 },
        "loaded pages=7 hosts=3",
        LoggedEvent::Loaded { pages: 7, hosts: 3 },
    ),
    (
        Event::Refused {
            why: ImageError::Record {
                section: Tag::PAGES,
                index: 4,
            },
        },
        "image refused: page image whose record 4 of section PAGE is missing or makes no sense: make it again",
        LoggedEvent::Refused {
            why: "page image whose record 4 of section PAGE is missing or makes no sense: make it again",
        },
    ),
    (
        Event::Resumed(RESUMED),
        "resumed pages=1 hosts=2 strange=3 refused=4 foreign=true other_list=false",
        LoggedEvent::Resumed(RESUMED),
    ),
    (Event::NotStored, "store failed", LoggedEvent::NotStored),
    (
        Event::Clock {
            unix: 1_794_000_000,
            from: TimeSource::Hosts,
        },
        "clock unix=1794000000 from=Hosts",
        LoggedEvent::Clock {
            unix: 1_794_000_000,
            from: Some("Hosts"),
        },
    ),
    (
        Event::NoTime {
            why: NoTime::Silence,
        },
        "no time why=Silence",
        LoggedEvent::NoTime { why: "Silence" },
    ),
    (
        Event::Up {
            address: [10, 0, 2, 15],
        },
        "network up address=10.0.2.15",
        LoggedEvent::Up {
            address: "10.0.2.15",
        },
    ),
    (Event::Down, "network down", LoggedEvent::Down),
    (
        Event::Start { page: 9 },
        "start page=9",
        LoggedEvent::Start { page: 9 },
    ),
    (
        Event::First { page: 5 },
        "first page=5",
        LoggedEvent::First { page: 5 },
    ),
    (
        Event::End {
            page: 1,
            status: 200,
            bytes: 3,
            millis: 4,
            changed: true,
            flags: Flags {
                first: true,
                encoded: false,
                cut: false,
            },
        },
        "end page=1 status=200 bytes=3 ms=4 changed=true",
        LoggedEvent::End {
            page: 1,
            status: 200,
            bytes: 3,
            millis: 4,
            changed: true,
        },
    ),
    (
        Event::Flagged {
            page: 1,
            encoded: true,
            cut: false,
        },
        "flagged page=1 encoded=true cut=false",
        LoggedEvent::Flagged {
            page: 1,
            encoded: true,
            cut: false,
        },
    ),
    (
        Event::Failed {
            page: 1,
            millis: 2,
            why: Failure::PrivateAddress,
        },
        "failed page=1 ms=2 why=PrivateAddress",
        LoggedEvent::Failed {
            page: 1,
            millis: 2,
            why: "PrivateAddress",
        },
    ),
    (
        Event::Recovered { page: 5 },
        "recovered page=5",
        LoggedEvent::Recovered { page: 5 },
    ),
    (
        Event::Robots {
            host: 1,
            status: 404,
            judged: 3,
            denied: 4,
        },
        "robots host=1 status=404 judged=3 denied=4",
        LoggedEvent::Robots {
            host: 1,
            status: 404,
            judged: 3,
            denied: 4,
        },
    ),
    (
        Event::Costly { host: 1 },
        "robots too costly host=1",
        LoggedEvent::Costly { host: 1 },
    ),
    (
        Event::Gap { host: 1, millis: 2 },
        "gap host=1 ms=2",
        LoggedEvent::Gap { host: 1, millis: 2 },
    ),
    (
        Event::Denied { page: 5 },
        "denied page=5",
        LoggedEvent::Denied { page: 5 },
    ),
    (
        Event::Moved {
            page: 1,
            status: 301,
        },
        "moved page=1 status=301",
        LoggedEvent::Moved {
            page: 1,
            status: 301,
        },
    ),
    (
        Event::Astray {
            page: 1,
            status: 302,
            why: Some(RedirectError::PrivateAddress),
        },
        "astray page=1 status=302 why=Some(PrivateAddress)",
        LoggedEvent::Astray {
            page: 1,
            status: 302,
            why: "Some(PrivateAddress)",
        },
    ),
    (
        Event::Collected {
            page: 5,
            millis: 70,
        },
        "collected page=5 ms=70",
        LoggedEvent::Collected {
            page: 5,
            millis: 70,
        },
    ),
    (
        Event::Uncollected {
            page: 5,
            why: Uncollected::Refused(507),
        },
        "not collected page=5 why=Refused(507)",
        LoggedEvent::Uncollected {
            page: 5,
            why: "Refused(507)",
        },
    ),
    (
        Event::Collection {
            pages: 1,
            places: 2,
            candidates: 3,
            found: 4,
            admitted: 5,
            replaced: 6,
            refused: 7,
        },
        "collection pages=1 places=2 candidates=3 found=4 admitted=5 replaced=6 refused=7",
        LoggedEvent::Collection {
            pages: 1,
            places: 2,
            candidates: 3,
            found: 4,
            admitted: 5,
            replaced: 6,
            refused: 7,
        },
    ),
    (
        Event::Told {
            page: 5,
            entries: 20,
            news: 3,
            seconds: 61,
            precision: 0.75,
            recall: 0.5,
            saves: -2.5,
        },
        "told page=5 entries=20 news=3 delay_s=61 precision=0.75 recall=0.5 saves=-2.5",
        LoggedEvent::Told {
            page: 5,
            entries: 20,
            news: 3,
            seconds: 61,
            precision: 0.75,
            recall: 0.5,
            saves: -2.5,
        },
    ),
    (
        Event::BackOff {
            host: 1,
            seconds: 120,
            why: Failure::Busy,
        },
        "backoff host=1 s=120 why=Busy",
        LoggedEvent::BackOff {
            host: 1,
            seconds: 120,
            why: Some("Busy"),
        },
    ),
    (
        Event::Plan {
            price: 1.5,
            freshness: None,
            optimum: Some(0.75),
        },
        "plan price=1.5 freshness=NaN optimum=0.75",
        LoggedEvent::Plan {
            price: 1.5,
            freshness: None,
            optimum: Some(0.75),
        },
    ),
    (
        Event::Totals(TOTALS),
        "totals fetches=1 same=2 changed=3 errors=4 denied=5 bytes=6 late_s=7",
        LoggedEvent::Totals(TOTALS),
    ),
];

/// The same of URLs beyond the list.
const FOUND_EVENTS: &[(FoundEvent<'static>, &str, LoggedFoundEvent<'static>)] = &[
    (
        FoundEvent::Found { url: URL },
        "found url=http://a.test/b",
        LoggedFoundEvent::Found { url: URL },
    ),
    (
        FoundEvent::Kept { page: 3, url: URL },
        "kept page=3 url=http://a.test/b",
        LoggedFoundEvent::Kept { page: 3, url: URL },
    ),
    (
        FoundEvent::Admitted {
            page: 3,
            importance: 1.5,
            url: URL,
        },
        "admitted page=3 importance=1.5 url=http://a.test/b",
        LoggedFoundEvent::Admitted {
            page: 3,
            importance: 1.5,
            url: URL,
        },
    ),
    (
        FoundEvent::Replaced {
            page: 3,
            importance: 0.5,
            url: URL,
        },
        "replaced page=3 importance=0.5 url=http://a.test/b",
        LoggedFoundEvent::Replaced {
            page: 3,
            importance: 0.5,
            url: URL,
        },
    ),
    (
        FoundEvent::Refused {
            why: UrlRefusal::Depth,
            url: URL,
        },
        "refused why=Depth url=http://a.test/b",
        LoggedFoundEvent::Refused {
            why: "Depth",
            url: URL,
        },
    ),
];
const URL: &str = "http://a.test/b";

/// The same of what a board says.
const BOARD_EVENTS: &[(BoardEvent<'static>, &str, LoggedBoardEvent<'static>)] = &[
    (
        BoardEvent::Memory {
            flash: 1,
            ram: 2,
            stack: 3,
        },
        "memory: 1 B flash, 2 B static RAM, 3 B left for the stack",
        LoggedBoardEvent::Memory {
            flash: 1,
            ram: 2,
            stack: 3,
        },
    ),
    (
        BoardEvent::Boot {
            reset: Reset::PowerOn,
            uptime_seconds: 60,
            fast_resets: 2,
        },
        "boot reset=PowerOn after_s=60 fast=2",
        LoggedBoardEvent::Boot {
            reset: "PowerOn",
            uptime_seconds: 60,
            fast_resets: 2,
        },
    ),
    (
        BoardEvent::LastWords {
            message: "panicked: last words: 1 B, build 2",
        },
        "last words: panicked: last words: 1 B, build 2",
        LoggedBoardEvent::LastWords {
            message: "panicked: last words: 1 B, build 2",
        },
    ),
    (
        BoardEvent::Power { awake_millis: 12 },
        "power awake_ms=12",
        LoggedBoardEvent::Power { awake_millis: 12 },
    ),
    (
        BoardEvent::Tls {
            full: 4,
            resumed: 24,
            sessions: 4,
            session_bytes: 3_152,
            pool: 19_300,
        },
        "tls full=4 resumed=24 sessions=4 session_bytes=3152 pool=19300",
        LoggedBoardEvent::Tls {
            full: 4,
            resumed: 24,
            sessions: 4,
            session_bytes: 3_152,
            pool: 19_300,
        },
    ),
    (
        BoardEvent::Updates {
            state: "trial",
            attempt: 2,
            sequence: 7,
            counter: 1,
            list: 9,
            half: 1,
            refused: 6,
            why: "digest",
        },
        "updates slot=active state=trial attempt=2 sequence=7 counter=1 list=9 half=1 refused=6 why=digest",
        LoggedBoardEvent::Updates {
            state: "trial",
            attempt: 2,
            sequence: 7,
            counter: 1,
            list: 9,
            half: 1,
            refused: 6,
            why: "digest",
        },
    ),
    (
        BoardEvent::UpdateRefused {
            kind: "list",
            sequence: 3,
            why: "signature",
        },
        "update refused kind=list sequence=3 why=signature",
        LoggedBoardEvent::UpdateRefused {
            kind: "list",
            sequence: 3,
            why: "signature",
        },
    ),
    (
        BoardEvent::UpdateReady {
            kind: "firmware",
            sequence: 3,
            bytes: 4,
        },
        "update ready kind=firmware sequence=3 bytes=4",
        LoggedBoardEvent::UpdateReady {
            kind: "firmware",
            sequence: 3,
            bytes: 4,
        },
    ),
    (
        BoardEvent::UpdateConfirmed { sequence: 3 },
        "update confirmed sequence=3",
        LoggedBoardEvent::UpdateConfirmed { sequence: 3 },
    ),
    (
        BoardEvent::UpdateRolledBack {
            sequence: 3,
            attempt: 1,
            why: "hang",
        },
        "update rolled back sequence=3 attempt=1 why=hang",
        LoggedBoardEvent::UpdateRolledBack {
            sequence: 3,
            attempt: 1,
            why: "hang",
        },
    ),
    (
        BoardEvent::Awake { micros: 34 },
        "awake us=34",
        LoggedBoardEvent::Awake { micros: 34 },
    ),
    (
        BoardEvent::Done {
            millis: 5,
            stack: 6,
        },
        "done after 5 ms, stack high-water mark 6 B",
        LoggedBoardEvent::Done {
            millis: 5,
            stack: 6,
        },
    ),
    (
        BoardEvent::Here {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: 0xff,
        },
        "here dunlin on qemu-mps2 0.1.0, build 00000000000000ff",
        LoggedBoardEvent::Here {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: "00000000000000ff",
        },
    ),
    (
        BoardEvent::Banner {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: 0xff,
        },
        "dunlin on qemu-mps2 0.1.0, build 00000000000000ff",
        LoggedBoardEvent::Banner {
            name: "dunlin on qemu-mps2",
            version: "0.1.0",
            build: "00000000000000ff",
        },
    ),
];

/// The variant's name, as its `Debug` begins.
fn name_of(event: &impl std::fmt::Debug) -> String {
    let text = format!("{event:?}");
    text.chars().take_while(char::is_ascii_alphabetic).collect()
}

#[test]
fn every_event_is_written_and_read_back_as_its_line() {
    let names: Vec<_> = EVENTS.iter().map(|(event, ..)| name_of(event)).collect();
    let table: Vec<_> = Event::TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, table, "an event is missing from this test");
    for ((event, line, logged), (name, level, _)) in EVENTS.iter().zip(Event::TABLE) {
        assert_eq!(event.to_string(), *line);
        assert_eq!(event.level(), *level, "{name}");
        assert_eq!(LoggedEvent::read(line).as_ref(), Some(logged));
        assert_eq!(LoggedBoardEvent::read(line), None, "{line}");
    }
}

#[test]
fn every_event_of_a_found_url_is_written_and_read_back_as_its_line() {
    let names: Vec<_> = FOUND_EVENTS
        .iter()
        .map(|(event, ..)| name_of(event))
        .collect();
    let table: Vec<_> = FoundEvent::TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, table, "an event is missing from this test");
    for ((event, line, logged), (name, level, _)) in FOUND_EVENTS.iter().zip(FoundEvent::TABLE) {
        assert_eq!(event.to_string(), *line);
        assert_eq!(event.level(), *level, "{name}");
        assert_eq!(LoggedFoundEvent::read(line).as_ref(), Some(logged));
        assert_eq!(LoggedEvent::read(line), None, "{line}");
        assert_eq!(LoggedBoardEvent::read(line), None, "{line}");
    }
}

#[test]
fn every_event_of_a_board_is_written_and_read_back_as_its_line() {
    let names: Vec<_> = BOARD_EVENTS
        .iter()
        .map(|(event, ..)| name_of(event))
        .collect();
    let table: Vec<_> = BoardEvent::TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, table, "an event is missing from this test");
    for ((event, line, logged), (name, level, _)) in BOARD_EVENTS.iter().zip(BoardEvent::TABLE) {
        assert_eq!(event.to_string(), *line);
        assert_eq!(event.level(), *level, "{name}");
        assert_eq!(LoggedBoardEvent::read(line).as_ref(), Some(logged));
        assert_eq!(LoggedEvent::read(line), None, "{line}");
    }
}

/// Keeps what is logged.
struct Records(Mutex<Vec<(log::Level, String)>>);

static RECORDS: Records = Records(Mutex::new(Vec::new()));

impl log::Log for Records {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "dunlin"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = (record.level(), record.args().to_string());
            self.0.lock().expect("no test panics here").push(line);
        }
    }

    fn flush(&self) {}
}

/// One test, because a process has one logger.
#[test]
fn what_is_logged_is_the_line_at_its_level() {
    log::set_logger(&RECORDS).expect("no other test logs");
    log::set_max_level(log::LevelFilter::Trace);
    let logged = |emit: &dyn Fn()| {
        emit();
        std::mem::take(&mut *RECORDS.0.lock().expect("no test panics here"))
    };
    let level = |level: LogLevel| match level {
        LogLevel::Error => log::Level::Error,
        LogLevel::Warn => log::Level::Warn,
        LogLevel::Info => log::Level::Info,
        LogLevel::Debug => log::Level::Debug,
    };
    for (event, line, _) in EVENTS {
        let mut expected = vec![(level(event.level()), (*line).to_owned())];
        if let Event::End { page, flags, .. } = event
            && flags.first
        {
            let first = Event::First { page: *page };
            expected.insert(0, (log::Level::Info, first.to_string()));
        }
        assert_eq!(logged(&|| event.emit()), expected);
    }
    for (event, line, _) in BOARD_EVENTS {
        let expected = (level(event.level()), (*line).to_owned());
        assert_eq!(logged(&|| event.emit()), [expected]);
    }
    let flagged = Event::End {
        page: 6,
        status: 200,
        bytes: 9,
        millis: 1,
        changed: false,
        flags: Flags {
            first: false,
            encoded: false,
            cut: true,
        },
    };
    let expected = [
        (
            log::Level::Info,
            "end page=6 status=200 bytes=9 ms=1 changed=false".to_owned(),
        ),
        (
            log::Level::Warn,
            "flagged page=6 encoded=false cut=true".to_owned(),
        ),
    ];
    assert_eq!(logged(&|| flagged.emit()), expected);
}

#[test]
fn what_is_not_of_the_table_is_nothing() {
    for line in [
        "",
        " ",
        "end",
        "end page=",
        "ended page=7 status=304 bytes=0 ms=12 changed=false",
        "end page=7 status=304 bytes=0 ms=12",
        "end page=70000 status=1 bytes=1 ms=1 changed=true",
        "end page=7 status=304 bytes=0 ms=12 changed=perhaps",
        "network",
        "network downstairs",
        "memory: 5 B",
        "done after 5 ms",
    ] {
        assert_eq!(LoggedEvent::read(line), None, "{line}");
        assert_eq!(LoggedBoardEvent::read(line), None, "{line}");
    }
}

#[test]
fn words_that_newer_firmware_adds_are_passed_over() {
    for line in [
        "backoff host=3 failures=2 s=120 why=Busy",
        "backoff seen=1 host=3 s=120 why=Busy",
        "backoff host=3 s=120 why=Busy until=9",
    ] {
        let expected = LoggedEvent::BackOff {
            host: 3,
            seconds: 120,
            why: Some("Busy"),
        };
        assert_eq!(LoggedEvent::read(line), Some(expected), "{line}");
    }
}

#[test]
fn lines_of_older_firmware_are_read() {
    assert_eq!(
        LoggedEvent::read("backoff host=3 s=120"),
        Some(LoggedEvent::BackOff {
            host: 3,
            seconds: 120,
            why: None,
        })
    );
    assert_eq!(
        LoggedEvent::read("clock unix=5"),
        Some(LoggedEvent::Clock {
            unix: 5,
            from: None,
        })
    );
}

proptest! {
    /// Whatever a line holds, reading it ends without a panic.
    #[test]
    fn any_text_can_be_read(text in ".*", at in any::<prop::sample::Index>()) {
        let _ = (LoggedEvent::read(&text), LoggedBoardEvent::read(&text));
        // Lines that begin well, and others' text in the middle of lines.
        for (_, line, _) in EVENTS {
            let place = at.index(line.len());
            let damaged = [&line[..place], &text, &line[place..]].concat();
            let _ = (LoggedEvent::read(&damaged), LoggedBoardEvent::read(&damaged));
        }
    }

    /// Any numbers come back as they were.
    #[test]
    fn numbers_read_back(counts in any::<[u32; 5]>(), sums in any::<[u64; 2]>(), price in any::<f32>()) {
        let [fetches, not_modified, changed, errors, denied] = counts;
        let [bytes, late_seconds] = sums;
        let mut totals = Totals::ZERO;
        totals.fetches = fetches;
        totals.not_modified = not_modified;
        totals.changed = changed;
        totals.errors = errors;
        totals.denied = denied;
        totals.bytes = bytes;
        totals.late_seconds = late_seconds;
        let line = Event::Totals(totals).to_string();
        prop_assert_eq!(LoggedEvent::read(&line), Some(LoggedEvent::Totals(totals)));
        let event = Event::Plan { price, freshness: None, optimum: Some(0.5) };
        let line = event.to_string();
        let Some(LoggedEvent::Plan { price: read, .. }) = LoggedEvent::read(&line) else {
            return Err(TestCaseError::fail(line));
        };
        prop_assert!(read as f32 == price || price.is_nan());
    }

    /// A frame as defmt makes it of `Event::End`: string, time in µs, page, status, bytes, ms,
    /// changed. What real ones take is measured end to end; here are those that no test would wait
    /// for: up to the twelfth day after boot, pages of a mebibyte, deadlines of a minute.
    #[test]
    fn the_end_of_a_fetch_takes_24_bytes_at_most(
        string in any::<u16>(),
        micros in 0..1_u64 << 40,
        page in any::<u16>(),
        status in 100..600_u16,
        bytes in 0..=1_u32 << 20,
        millis in 0..=60_000_u32,
        changed in any::<bool>(),
    ) {
        let frame = [
            &string.to_le_bytes()[..],
            &micros.to_le_bytes(),
            &page.to_le_bytes(),
            &status.to_le_bytes(),
            &bytes.to_le_bytes(),
            &millis.to_le_bytes(),
            &[u8::from(changed)],
        ];
        // And a zero, which ends every frame.
        let length = rzcobs::encode(&frame.concat()).len() + 1;
        prop_assert!(length <= 24, "{length} bytes");
    }
}
