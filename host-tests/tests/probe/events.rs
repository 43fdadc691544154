//! What a probe says: each line is written, logged and read back as the table of events has it, and
//! the end of a fetch is short on the wire.

use std::fmt::{Debug, Display};
use std::sync::Mutex;

use dunlin::catalog::LogLevel;
use dunlin::probe::{
    BoardEvent, Event, Flags, FleetEvent, FoundEvent, LoggedBoardEvent, LoggedEvent,
    LoggedFleetEvent, LoggedFoundEvent, Totals,
};
use proptest::prelude::*;

use crate::event_lines::{BOARD_EVENTS, EVENTS, FLEET_EVENTS, FOUND_EVENTS};

/// The variant's name, as its `Debug` begins.
fn name_of(event: &impl Debug) -> String {
    let text = format!("{event:?}");
    text.chars().take_while(char::is_ascii_alphabetic).collect()
}

/// Every event of a table is here, and is written and read back as its line.
fn hold<E: Display + Debug, L: Debug + PartialEq>(
    rows: &[(E, &'static str, L)],
    table: &[(&str, LogLevel, &str)],
    level: fn(&E) -> LogLevel,
    read: fn(&'static str) -> Option<L>,
) {
    let names: Vec<_> = rows.iter().map(|(event, ..)| name_of(event)).collect();
    let expected: Vec<_> = table.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, expected, "an event is missing from event_lines.rs");
    for ((event, line, logged), (name, expected, _)) in rows.iter().zip(table) {
        assert_eq!(event.to_string(), *line);
        assert_eq!(level(event), *expected, "{name}");
        assert_eq!(read(line).as_ref(), Some(logged));
    }
}

#[test]
fn every_event_is_written_and_read_back_as_its_line() {
    hold(EVENTS, Event::TABLE, Event::level, LoggedEvent::read);
}

#[test]
fn every_event_of_a_found_url_is_written_and_read_back_as_its_line() {
    let table = FoundEvent::TABLE;
    let read = LoggedFoundEvent::read;
    hold(FOUND_EVENTS, table, FoundEvent::level, read);
}

#[test]
fn every_event_of_a_board_is_written_and_read_back_as_its_line() {
    let table = BoardEvent::TABLE;
    let read = LoggedBoardEvent::read;
    hold(BOARD_EVENTS, table, BoardEvent::level, read);
}

#[test]
fn every_event_of_a_fleet_is_written_and_read_back_as_its_line() {
    let table = FleetEvent::TABLE;
    let read = LoggedFleetEvent::read;
    hold(FLEET_EVENTS, table, FleetEvent::level, read);
}

#[test]
fn a_line_is_of_one_table() {
    let lines = EVENTS.iter().map(|(_, line, _)| line);
    let lines = lines.chain(FOUND_EVENTS.iter().map(|(_, line, _)| line));
    let lines = lines.chain(BOARD_EVENTS.iter().map(|(_, line, _)| line));
    let lines = lines.chain(FLEET_EVENTS.iter().map(|(_, line, _)| line));
    for line in lines {
        let tables = [
            LoggedEvent::read(line).is_some(),
            LoggedFoundEvent::read(line).is_some(),
            LoggedBoardEvent::read(line).is_some(),
            LoggedFleetEvent::read(line).is_some(),
        ];
        let readers = tables.iter().filter(|reads| **reads).count();
        assert_eq!(readers, 1, "{line}");
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
    for (event, line, _) in FLEET_EVENTS {
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
