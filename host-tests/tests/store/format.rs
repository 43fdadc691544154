//! What earlier firmware wrote must stay readable: an image of each version is kept.

use std::path::PathBuf;

use dunlin::store::{RECORD, RecordError, Store, VERSION};
use futures_lite::future::block_on;
use host_tests::flash::Flash;
use sequential_storage::cache::Cache;
use sequential_storage::queue::{QueueConfig, QueueStorage};

use crate::truth::{Truth, save};

type Small = Flash<3, 1024, 4>;

fn golden(version: u8) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("data/store-v{version}.bin"))
}

/// What an image holds: record `index` in version `index + 1`.
fn truth() -> Truth {
    let truth = Truth::new(2, 9);
    for index in 0..12 {
        (0..=index).for_each(|_| truth.change(index));
    }
    truth
}

/// Written by today's firmware; `DUNLIN_GOLDEN=1` keeps it as the image of a new version.
#[test]
fn today_is_written_as_it_is_kept() {
    let mut store = Store::new(Small::blank());
    let truth = truth();
    save(&mut store, &truth);
    let file = golden(VERSION);
    if std::env::var_os("DUNLIN_GOLDEN").is_some() && !file.exists() {
        std::fs::write(&file, store.flash().bytes()).expect("a place for the image");
    }
    let kept = std::fs::read(&file).expect("an image of every version");
    assert!(
        kept == store.flash().bytes(),
        "the format has changed: raise VERSION and keep the old images"
    );
}

#[test]
fn every_version_is_read() {
    for version in 1..=VERSION {
        let mut flash = Small::blank();
        let kept = std::fs::read(golden(version)).expect("an image of every version");
        flash.bytes_mut().copy_from_slice(&kept);
        let found = Truth::new(2, 9);
        let summary = found.restore(&mut Store::new(flash));
        assert_eq!(
            (summary.records, summary.refused, summary.damaged),
            (12, 0, 0),
            "version {version}"
        );
        assert_eq!(
            found.saved(),
            (1..=12).collect::<Vec<_>>(),
            "version {version}"
        );
    }
}

/// The bytes of an item of today's, with its header: version, number, record.
fn item_of_today() -> Vec<u8> {
    let mut store = Store::new(Small::blank());
    let truth = Truth::new(2, 9);
    truth.change(1);
    save(&mut store, &truth);
    let config = QueueConfig::new(0..1024);
    let flash = store.flash().clone();
    let mut queue = QueueStorage::new(flash, config, Cache::new_uncached());
    let mut buffer = [0; 96];
    let item = block_on(queue.peek(&mut buffer)).expect("a flash that can be read");
    item.expect("one record").to_vec()
}

/// What is found in a flash that holds these items alone, and the flash.
fn found_of(items: &[&[u8]]) -> (dunlin::store::Recovered, Vec<u32>, Vec<u8>) {
    let config = QueueConfig::new(0..1024);
    let mut queue = QueueStorage::new(Small::blank(), config, Cache::new_uncached());
    for item in items {
        block_on(queue.push(item, false)).expect("a blank flash");
    }
    let found = Truth::new(2, 9);
    let mut store = Store::new(queue.destroy().0);
    let summary = found.restore(&mut store);
    let bytes = store.flash().bytes().to_vec();
    (summary, found.saved(), bytes)
}

#[test]
fn newer_versions_are_left_alone() {
    let item = item_of_today();
    assert_eq!(item.len(), RECORD);
    let (today, saved, _) = found_of(&[&item]);
    assert_eq!((today.records, today.refused), (1, 0), "it makes sense");
    assert_eq!(saved[1], 1);
    // The same bytes, of a version whose meaning nobody here knows.
    for version in [VERSION + 1, 100, u8::MAX] {
        let newer = [&[version], &item[1..]].concat();
        let (found, saved, bytes) = found_of(&[&newer]);
        assert_eq!(
            (found.records, found.refused, found.damaged),
            (0, 1, 0),
            "version {version}"
        );
        assert_eq!(saved, vec![0; 12], "version {version}");
        assert_eq!(bytes[12..12 + RECORD], newer, "it is still there");
    }
    // There never was a version 0.
    let none = [&[0], &item[1..]].concat();
    assert_eq!(found_of(&[&none]).0.refused, 1);
}

/// A firmware that comes back after one with a newer format has what it wrote itself.
#[test]
fn what_was_written_before_a_newer_version_still_counts() {
    let item = item_of_today();
    let mut newer = item.clone();
    newer[0] = VERSION + 1;
    newer[1] += 1;
    let (found, saved, _) = found_of(&[&item, &newer]);
    assert_eq!((found.records, found.refused, found.lost), (1, 1, 0));
    assert_eq!(saved[1], 1);
}

#[test]
fn a_record_that_is_refused_says_why() {
    let newer = RecordError::Newer { found: 77 }.to_string();
    assert!(newer.contains("77") && newer.contains("update"), "{newer}");
    assert!(!RecordError::Nonsense.to_string().is_empty());
}
