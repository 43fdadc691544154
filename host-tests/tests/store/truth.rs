//! A probe's memory, reduced to numbers: record `index` in its `version`.

use std::cell::RefCell;

use dunlin::learn::Estimate;
use dunlin::store::{
    HostRecord, Ledger, MoveRecord, NOWHERE, PageRecord, Partition, Record, RecordKey, Root, Stamp,
    Store, StoreStep,
};
use dunlin::time::Instant;
use futures_lite::future::block_on;

/// Every eighth page has a record of where it has moved to instead of one of itself.
const MOVED: usize = 8;
/// Where it is in the list.
const OWN: &str = "http://example.org/some/path";

/// Records: one of the device, some of hosts, the rest of pages.
#[derive(Clone, Debug)]
pub struct Truth {
    hosts: usize,
    entries: RefCell<Vec<Entry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    version: u32,
    /// The version in flash.
    saved: u32,
    sector: u8,
}

impl Truth {
    pub fn new(hosts: usize, pages: usize) -> Self {
        let entry = Entry {
            version: 0,
            saved: 0,
            sector: NOWHERE,
        };
        Self {
            hosts,
            entries: RefCell::new(vec![entry; 1 + hosts + pages]),
        }
    }

    /// Something new is known.
    pub fn change(&self, index: usize) {
        self.entries.borrow_mut()[index].version += 1;
    }

    /// Versions in flash, 0 for none.
    pub fn saved(&self) -> Vec<u32> {
        self.entries
            .borrow()
            .iter()
            .map(|entry| entry.saved)
            .collect()
    }

    pub fn key(&self, index: usize) -> RecordKey {
        match index.checked_sub(1) {
            None => RecordKey::Root,
            Some(host) if host < self.hosts => RecordKey::Host(host as u16),
            Some(page) if (page - self.hosts) % MOVED == MOVED - 1 => {
                RecordKey::Move((page - self.hosts) as u16)
            }
            Some(page) => RecordKey::Page((page - self.hosts) as u16),
        }
    }

    fn index(&self, key: RecordKey) -> usize {
        match key {
            RecordKey::Root => 0,
            RecordKey::Host(host) => 1 + usize::from(host),
            RecordKey::Page(page) | RecordKey::Move(page) => 1 + self.hosts + usize::from(page),
        }
    }

    /// Takes over what is in flash.
    pub fn restore<F: Partition>(&self, store: &mut Store<F>) -> dunlin::store::Recovered
    where
        F::Error: std::fmt::Debug,
    {
        let found = block_on(store.open(|record, sector| {
            let (key, version) = meaning(record);
            if let Some(entry) = self.entries.borrow_mut().get_mut(self.index(key)) {
                *entry = Entry {
                    version,
                    saved: version,
                    sector,
                };
            }
        }));
        found.expect("a flash that can be read")
    }
}

/// Which record, in which version: each is spelt so that a mix of two versions would be seen.
pub fn meaning(record: &Record) -> (RecordKey, u32) {
    match *record {
        Record::Root(root) => {
            let version = version_of(root.time);
            assert_eq!(
                (root.device, root.list),
                (u64::from(version), u64::from(version)),
                "a mix"
            );
            (RecordKey::Root, version)
        }
        Record::Host(host) => {
            let version = version_of(host.time);
            let copies = [version_of(host.robots_until), host.gap_ms, host.wait_s];
            assert_eq!(copies, [version; 3], "a mix");
            (RecordKey::Host(host.host as u16), version)
        }
        Record::Page(page) => {
            let version = version_of(page.fetched);
            let copies = [
                page.last_modified,
                page.fingerprint as u32,
                (page.fingerprint >> 32) as u32,
            ];
            assert_eq!(copies, [version; 3], "a mix");
            let tag = page.etag.map(|tag| tag.as_bytes().to_vec());
            assert_eq!(
                tag,
                tag_of(version).map(|tag| tag.as_bytes().to_vec()),
                "a mix"
            );
            (RecordKey::Page(page.page as u16), version)
        }
        Record::Move(record) => {
            let page = record.page as u16;
            let version = (record.page >> 32) as u32;
            assert_eq!(
                record.target::<256>(OWN).map(|text| text.to_string()),
                target(version),
                "a mix"
            );
            (RecordKey::Move(page), version)
        }
    }
}

/// A URL that differs from the list's by more or less; every fourth version is back there.
fn target(version: u32) -> Option<String> {
    let number = format!("{version:020}").repeat(version as usize % 4);
    (!number.is_empty()).then(|| format!("http://example.org/{number}/some/path"))
}

fn stamp(version: u32) -> Stamp {
    Stamp::new(2 * version, version.is_multiple_of(3))
}

fn version_of(stamp: Stamp) -> u32 {
    stamp.seconds() / 2
}

/// From none to the longest.
fn tag_of(version: u32) -> Option<dunlin::fetch::Etag> {
    let length = version as usize * 7 % (dunlin::fetch::Etag::LONGEST + 1);
    dunlin::fetch::Etag::new(
        format!("{version:040}")
            .get(..length)
            .unwrap_or_default()
            .as_bytes(),
    )
}

impl Ledger for Truth {
    fn unsaved(&self) -> Option<RecordKey> {
        let entries = self.entries.borrow();
        entries
            .iter()
            .position(|entry| entry.version != entry.saved)
            .map(|index| self.key(index))
    }

    fn any_in(&self, sector: u8) -> Option<RecordKey> {
        let entries = self.entries.borrow();
        entries
            .iter()
            .position(|entry| entry.sector == sector)
            .map(|index| self.key(index))
    }

    fn count_in(&self, sector: u8) -> usize {
        self.entries
            .borrow()
            .iter()
            .filter(|entry| entry.sector == sector)
            .count()
    }

    fn read(&self, key: RecordKey) -> Record {
        let version = {
            let entry = &mut self.entries.borrow_mut()[self.index(key)];
            // From here on it counts as saved, as the trait says: a store that does not take it
            // back when writing fails would lose it.
            entry.saved = entry.version;
            entry.version
        };
        let wide = u64::from(version);
        match key {
            RecordKey::Root => Record::Root(Root {
                device: wide,
                list: wide,
                firm: true,
                time: stamp(version),
                price: 1.0,
                trust: None,
            }),
            RecordKey::Host(host) => Record::Host(HostRecord {
                scheme: Some(dunlin::fetch::Scheme::Http),
                host: host.into(),
                access: dunlin::fetch::robots::Access::Rules,
                public: false,
                robots_until: stamp(version),
                gap_ms: version,
                failures: 1,
                wait_s: version,
                time: stamp(version),
                price: 0.0,
            }),
            RecordKey::Page(page) => Record::Page(PageRecord {
                page: page.into(),
                estimate: Estimate::UNKNOWN,
                fetched: stamp(version),
                fingerprint: wide << 32 | wide,
                last_modified: version,
                allowed: Some(true),
                etag: tag_of(version),
            }),
            RecordKey::Move(page) => {
                // No page is known by such an identity: the version is in it, so that a mix would
                // be seen.
                let page = wide << 32 | u64::from(page);
                let to = target(version);
                Record::Move(
                    to.map_or(MoveRecord::home(page), |to| MoveRecord::new(page, OWN, &to)),
                )
            }
        }
    }

    fn saved(&self, key: RecordKey, sector: u8) {
        let entry = &mut self.entries.borrow_mut()[self.index(key)];
        entry.sector = sector;
        if sector == NOWHERE {
            entry.saved = 0;
        }
    }
}

/// So late that there always is budget for another erase.
pub const LATE: Instant = Instant::MAX;

/// Writes until everything is saved. A sector that does not take a record costs one try.
pub fn save<F: Partition>(store: &mut Store<F>, truth: &Truth)
where
    F::Error: std::fmt::Debug,
{
    let mut failed = 0;
    loop {
        match block_on(store.step(truth, true, LATE)) {
            Ok(StoreStep::Wrote) => {}
            Ok(StoreStep::Idle) => return,
            Err(_) if failed < 2 => failed += 1,
            other => panic!("{other:?}"),
        }
    }
}
