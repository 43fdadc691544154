//! What a probe says: the table of events is complete and true, and the end of a fetch is short on
//! the wire.

use dunlin::catalog::LogLevel;
use dunlin::image::ImageError;
use dunlin::probe::{Event, Failure, Flags, Resumed, TimeSource, Totals};
use dunlin::sntp::NoTime;
use proptest::prelude::*;

const SOURCE: &str = include_str!("../../../src/probe/event.rs");

/// One of each, with its name in the code.
fn all() -> [(&'static str, Event); 19] {
    let why = Failure::Busy;
    [
        ("Loaded", Event::Loaded { pages: 1, hosts: 1 }),
        ("Refused", Event::Refused(ImageError::Missing)),
        ("Resumed", Event::Resumed(Resumed::default())),
        ("NotStored", Event::NotStored),
        (
            "Clock",
            Event::Clock {
                unix: 1,
                from: TimeSource::Hosts,
            },
        ),
        (
            "NoTime",
            Event::NoTime {
                why: NoTime::Silence,
            },
        ),
        (
            "Up",
            Event::Up {
                address: [10, 0, 2, 15],
            },
        ),
        ("Down", Event::Down),
        ("Start", Event::Start { page: 1 }),
        (
            "End",
            Event::End {
                page: 1,
                status: 200,
                bytes: 1,
                millis: 1,
                changed: true,
                flags: Flags::default(),
            },
        ),
        (
            "Failed",
            Event::Failed {
                page: 1,
                millis: 1,
                why,
            },
        ),
        (
            "Robots",
            Event::Robots {
                host: 1,
                status: 200,
                judged: 1,
                denied: 1,
            },
        ),
        ("Gap", Event::Gap { host: 1, millis: 1 }),
        ("Denied", Event::Denied { page: 1 }),
        (
            "Moved",
            Event::Moved {
                page: 1,
                status: 301,
            },
        ),
        (
            "Astray",
            Event::Astray {
                page: 1,
                status: 301,
                why: None,
            },
        ),
        (
            "BackOff",
            Event::BackOff {
                host: 1,
                seconds: 1,
                why,
            },
        ),
        (
            "Plan",
            Event::Plan {
                price: 1.0,
                freshness: None,
                optimum: None,
            },
        ),
        ("Totals", Event::Totals(Totals::default())),
    ]
}

/// Name and level of each row of the table in this file.
fn table() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    SOURCE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("//! | [`Event::")?.split(" | ");
        let (name, level) = (cells.next()?.strip_suffix("`]")?, cells.next()?);
        Some((name, level, cells.next()?.trim_matches('`')))
    })
}

#[test]
fn the_table_has_every_event_and_its_level() {
    for (name, event) in all() {
        let row = table().find(|row| row.0 == name);
        let told = match event.level() {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        };
        assert_eq!(row.map(|row| row.1), Some(told), "{name}");
    }
    assert_eq!(
        table().count(),
        all().len(),
        "an event is missing from this test"
    );
}

#[test]
fn the_table_has_every_line_as_it_is_logged() {
    // Up to the first value, a line stands in the source as it stands in the table.
    for (name, _, line) in table() {
        let start = line.split(['=', '…']).next().unwrap_or_default();
        assert!(SOURCE.contains(&["\"", start].concat()), "{name}: {line}");
        let keys = line.split(' ').filter_map(|word| word.strip_suffix('='));
        for key in keys {
            assert!(
                SOURCE.contains(&[key, "={"].concat()),
                "{name}: no value is logged for {key}"
            );
        }
    }
}

proptest! {
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
