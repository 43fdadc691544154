//! What a board finds in its flash: a page image, and what an earlier run has stored.

use std::cell::Cell;
use std::task::{Context, Poll, Waker};

use dunlin::fetch::Ignore;
use dunlin::image::Image;
use dunlin::store::{Ledger, NOWHERE, RECORD, Record, RecordKey, Root, Stamp, Store, StoreStep};
use dunlin::time::Instant;
use sequential_storage::cache::Cache;
use sequential_storage::queue::{QueueConfig, QueueStorage};

use crate::flash::Flash;

/// A page image, with the length and the checksum that somebody would give it who wants to deceive
/// the reader: it is refused, or whatever it says can be read and refers to what is there.
pub fn image(data: &[u8]) {
    let _ = Image::parse(data);
    if data.len() < 20 {
        return;
    }
    let mut bytes = data.to_vec();
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(b"dnln");
    bytes[12..16].copy_from_slice(&length.to_le_bytes());
    let crc = crc32(bytes[4..12].iter().chain(&bytes[20..]));
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    let Ok(image) = Image::parse(&bytes) else {
        return;
    };
    image.config().expect("a configuration that was checked");
    for index in 0..image.hosts() {
        let host = image.host(index).expect("a host that was checked");
        let end = usize::from(host.first_page) + usize::from(host.pages);
        assert!(end <= image.pages() && usize::from(host.gate) < image.hosts());
    }
    for index in 0..image.pages() {
        let page = image.page(index).expect("a page that was checked");
        assert!(usize::from(page.host) < image.hosts() && page.weight > 0.0);
        // They may be refused, but not more.
        let _ = image.limits(index);
        let _ = image.law(index);
    }
    assert!(image.host(image.hosts()).is_err() && image.page(image.pages()).is_err());
    assert!(image.ignores().len() <= Ignore::MOST);
    let _ = image.named("a.test");
}

/// The checksum of an image, bit by bit.
fn crc32<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 0 { 0 } else { 0xedb8_8320 };
        }
    }
    !crc
}

/// Sectors of the flash that [`state`] fills.
type SmallFlash = Flash<4, 1024, 4>;

/// A probe's flash of these bytes, or with items of these bytes whose checksums are right: whatever
/// is in it, it can be opened, what is stored on top of it is found again, and records that are
/// read mean the same when they are written.
pub fn state(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let mut flash = SmallFlash::blank();
    if kind.is_multiple_of(2) {
        flash
            .bytes_mut()
            .iter_mut()
            .zip(data)
            .for_each(|(to, from)| *to = *from);
    } else {
        let config = const { QueueConfig::new(0..1024) };
        let mut queue = QueueStorage::new(flash, config, Cache::new_uncached());
        for item in data.chunks(RECORD).take(8) {
            let mut bytes = [0; RECORD];
            bytes[..item.len()].copy_from_slice(item);
            // Numbers that no device comes to would leave none for what it writes next.
            bytes[4] &= 0x7f;
            if ready(queue.push(&bytes, false)).is_err() {
                break;
            }
        }
        flash = queue.destroy().0;
    }
    let mut store = Store::new(flash);
    let mut records = 0;
    let found = ready(store.open(|record, sector| {
        assert!(usize::from(sector) < 4);
        if let Record::Move(record) = record {
            // Whatever it says, it is a text of this length at most, or none.
            let _ = record.target::<64>("http://a.test/some/path");
        }
        records += 1;
    }));
    let found = found.expect("a flash that can be read");
    assert_eq!(found.records, records);
    let books = OneRecord(Cell::new(false), Cell::new(NOWHERE));
    for _ in 0..4 {
        match ready(store.step(&books, true, Instant::MAX)) {
            Ok(StoreStep::Idle) => break,
            // A sector that is worn costs a try.
            Ok(StoreStep::Wrote) | Err(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(books.0.get(), "nothing can be stored on top of it");
    let mut roots = Vec::new();
    let mut again = Store::new(store.flash().switched_on());
    ready(again.open(|record, _| {
        if let Record::Root(root) = record {
            roots.push(*root);
        }
    }))
    .expect("a flash that can be read");
    assert!(roots.contains(&ROOT), "what was stored is not there");
    let forged = !kind.is_multiple_of(2);
    assert!(
        !forged || roots.last() == Some(&ROOT),
        "what was stored last does not count: {roots:?}"
    );
}

const ROOT: Root = Root {
    device: 1,
    list: 2,
    firm: true,
    time: Stamp::new(4, true),
    price: 1.0,
    trust: None,
};

/// Whether the one record is saved, and where.
struct OneRecord(Cell<bool>, Cell<u8>);

impl Ledger for OneRecord {
    fn unsaved(&self) -> Option<RecordKey> {
        (!self.0.get()).then_some(RecordKey::Root)
    }

    fn any_in(&self, sector: u8) -> Option<RecordKey> {
        (self.1.get() == sector).then_some(RecordKey::Root)
    }

    fn count_in(&self, sector: u8) -> usize {
        usize::from(self.1.get() == sector)
    }

    fn read(&self, _: RecordKey) -> Record {
        self.0.set(true);
        Record::Root(ROOT)
    }

    fn saved(&self, _: RecordKey, sector: u8) {
        self.1.set(sector);
        if sector == NOWHERE {
            self.0.set(false);
        }
    }
}

/// What a future comes to that waits for nothing.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a flash in RAM has nothing to wait for"),
    }
}
