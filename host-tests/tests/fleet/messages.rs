//! What goes over the wire stays readable: each message as it was first written.

use dunlin::fleet::{
    Command, Done, Grant, LONGEST, ListNotice, MOST_VISITS, MessageError, Outlook, Presence,
    Report, VERSION, Verb, VisitReport, Visits, decode, encode,
};

const REPORT: Report = Report {
    boot: 0x89ab_cdef,
    seq: 300,
    list: 1_794_000_000,
    list_for_ms: 86_400_000,
    epoch: 3,
    grant: 1_200,
    budget: 1_250.0,
    outlook: Outlook {
        price: 0.0123,
        elasticity: 0.7,
        freshness: 0.91,
        pages: 3_000,
        hosts: 512,
        link: 20_000.0,
        fetches: 123_456,
        errors: 78,
    },
};

const VISIT: VisitReport = VisitReport {
    page: 2_999,
    ago_s: 899,
    changed: true,
    shape: 7.5,
    time: 12.25,
    watch: [1_000, 0],
};

fn visits(count: usize) -> Visits {
    Visits {
        boot: 0x89ab_cdef,
        list: 1_794_000_000,
        first: 5_000,
        visits: std::iter::repeat_n(VISIT, count).collect(),
    }
}

/// Writes a message if its file is missing, and compares it with that; the bytes of the file.
fn written<T: serde::Serialize>(name: &str, message: &T) -> Vec<u8> {
    let mut buffer = [0; LONGEST];
    let bytes = encode(message, &mut buffer).expect("room for a message");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/fleet");
    let file = format!("{folder}/{name}-{VERSION}.bin");
    let kept = std::fs::read(&file).unwrap_or_else(|_| {
        std::fs::write(&file, bytes).expect("a new file");
        panic!("{file} was missing and has been written: look at it, and keep it")
    });
    assert_eq!(bytes, kept, "{name} is written as it was");
    kept
}

/// A message is written as it was, and read from the file.
fn golden<T>(name: &str, message: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let kept = written(name, message);
    assert_eq!(decode::<T>(&kept).as_ref(), Ok(message), "{name}");
    for length in 0..kept.len() {
        assert!(decode::<T>(&kept[..length]).is_err(), "{name} cut off");
    }
}

#[test]
fn every_message_is_written_as_it_first_was() {
    golden(
        "presence",
        &Presence {
            boot: 7,
            online: true,
        },
    );
    golden("report", &REPORT);
    let grant = Grant {
        boot: REPORT.boot,
        seq: 300,
        epoch: 3,
        number: 1_201,
        list: REPORT.list,
        lease_ms: 3_600_000,
        budget: 1_300.0,
    };
    golden("grant", &grant);
    golden("visits", &visits(3));
    let pull = Verb::Pull { page: 17, list: 9 };
    golden("pull", &Command { id: 1, verb: pull });
    golden(
        "pause",
        &Command {
            id: 2,
            verb: Verb::Pause(true),
        },
    );
    golden(
        "done",
        &Done {
            boot: 7,
            id: 1,
            done: true,
        },
    );
}

#[test]
fn a_list_is_announced_with_its_address() {
    let notice = ListNotice {
        version: 1_794_000_001,
        digest: 0xdead_beef,
        length: 120_000,
        url: "http://192.0.2.1:7007/list/p1/1794000001",
    };
    let kept = written("list", &notice);
    assert_eq!(decode::<ListNotice<'_>>(&kept), Ok(notice));
    for length in 0..kept.len() {
        assert!(decode::<ListNotice<'_>>(&kept[..length]).is_err());
    }
}

#[test]
fn the_longest_messages_fit_and_reports_are_short() {
    let mut buffer = [0; LONGEST];
    let worst = VisitReport {
        ago_s: u32::MAX,
        watch: [u16::MAX; 2],
        page: u16::MAX,
        ..VISIT
    };
    let mut full = visits(0);
    full.visits = std::iter::repeat_n(worst, MOST_VISITS).collect();
    assert!(encode(&full, &mut buffer).is_some());
    let report = encode(&REPORT, &mut buffer).expect("room").len();
    assert!(report <= 64, "{report} bytes");
}

#[test]
fn another_version_is_named_and_nonsense_refused() {
    let mut buffer = [0; LONGEST];
    let length = encode(&REPORT, &mut buffer).expect("room").len();
    buffer[0] = VERSION + 1;
    let newer = decode::<Report>(&buffer[..length]);
    assert_eq!(newer, Err(MessageError::Version { found: VERSION + 1 }));
    buffer[0] = VERSION;
    let longer = decode::<Report>(&buffer[..=length]);
    assert_eq!(longer, Err(MessageError::Nonsense));
    assert_eq!(decode::<Report>(&[]), Err(MessageError::Nonsense));
}

#[test]
fn a_list_is_known_by_its_checksum() {
    assert_eq!(dunlin::fleet::list_digest(b"123456789"), 0xcbf4_3926);
    assert_eq!(dunlin::fleet::list_digest(b""), 0);
}
