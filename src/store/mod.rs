//! State that survives a power cut: a log in flash of what a probe has learnt.
//!
//! RAM holds the truth; flash holds the newest version of every record, written incrementally. The
//! flash is a ring of sectors. Records of one size are appended to the current sector; when it is
//! full the next one is erased. So that nothing is lost by that, records whose newest version is in
//! the next sector are written again *from RAM* while there still is room for all of them. There is
//! no garbage to collect, nothing to look up, and no cache but the position in the current sector:
//! a store reads a dozen words, and after a boot the headers of one sector.
//!
//! Each sector is a queue of `sequential-storage`, which makes an item of a write that was cut at
//! any byte either whole or absent. Sectors know nothing of each other: damage to one is no damage
//! to the others.
//!
//! ```text
//! partition   sector 0 | sector 1 | … | sector N − 1          a ring
//! sector      marker · item · item · …                        of sequential-storage
//! item        length, checksums · version u8 · number u32 · record, filled up to 84 bytes
//! record      postcard; where a page has moved to, as it is
//! ```
//!
//! # Wear
//! Sectors are used in turn, so all wear alike. [`Partition::RATED_CYCLES`] over ten years is the
//! day's budget of erases; once it is spent, records wait in RAM until there is budget again.
//! (Nobody counts across restarts: each of them begins with a day's budget.) Erasing stops a chip's
//! processor for up to [`Partition::LONGEST_STALL`], so a probe erases only while it fetches
//! nothing.
//!
//! # Versions
//! Every record begins with the version of its format: the first that has its kind. A firmware
//! reads all versions up to its own [`VERSION`], and leaves newer ones alone. An image of each
//! version is kept in `host-tests/data`, and read by a test.
//!
//! A firmware on trial that is rolled back leaves what it wrote: the old one goes on with the newest
//! record of each page that it can read, as long as its sector was not used again. So whoever raises
//! a version releases a firmware that reads it first, and one that writes it later, as pages are
//! still written as version 1.
//!
//! # Example
//! A probe has its store by `Probe::persistence`. Whoever keeps records of the same kinds without
//! one is a [`Ledger`] of them; here, of a single page that has moved:
//!
//! ```
//! use core::cell::Cell;
//! use dunlin::store::{Ledger, MoveRecord, NOWHERE, Record, RecordKey, Store, StoreStep, identity};
//! use dunlin::time::Instant;
//! # use core::convert::Infallible;
//! # use core::future::Future;
//! # use core::task::{Context, Poll, Waker};
//! # use dunlin::store::Partition;
//! # use dunlin::time::Duration;
//! # use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash};
//! # use embedded_storage_async::nor_flash::{NorFlash, ReadNorFlash};
//! # struct Flash(Vec<u8>);
//! # impl ErrorType for Flash { type Error = Infallible; }
//! # impl ReadNorFlash for Flash {
//! #     const READ_SIZE: usize = 1;
//! #     async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
//! #         bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
//! #         Ok(())
//! #     }
//! #     fn capacity(&self) -> usize { self.0.len() }
//! # }
//! # impl NorFlash for Flash {
//! #     const WRITE_SIZE: usize = 4;
//! #     const ERASE_SIZE: usize = 4096;
//! #     async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
//! #         self.0[from as usize..to as usize].fill(0xFF);
//! #         Ok(())
//! #     }
//! #     async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
//! #         let place = self.0.iter_mut().skip(offset as usize);
//! #         place.zip(bytes).for_each(|(old, new)| *old &= new);
//! #         Ok(())
//! #     }
//! # }
//! # impl MultiwriteNorFlash for Flash {}
//! # impl Partition for Flash {
//! #     const SECTORS: usize = 3;
//! #     const RATED_CYCLES: u32 = 100_000;
//! #     const LONGEST_STALL: Duration = Duration::ZERO;
//! # }
//! # fn wait<T>(work: impl Future<Output = T>) -> T {
//! #     match core::pin::pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
//! #         Poll::Ready(done) => done,
//! #         Poll::Pending => unreachable!("memory never waits"),
//! #     }
//! # }
//!
//! /// Where the newest version is, and whether there is a newer one in RAM.
//! struct Moved { record: MoveRecord, sector: Cell<u8>, unsaved: Cell<bool> }
//!
//! impl Ledger for Moved {
//!     fn unsaved(&self) -> Option<RecordKey> {
//!         self.unsaved.get().then_some(RecordKey::Move(0))
//!     }
//!     fn any_in(&self, sector: u8) -> Option<RecordKey> {
//!         (self.sector.get() == sector).then_some(RecordKey::Move(0))
//!     }
//!     fn count_in(&self, sector: u8) -> usize {
//!         usize::from(self.sector.get() == sector)
//!     }
//!     fn read(&self, _: RecordKey) -> Record {
//!         self.unsaved.set(false);
//!         Record::Move(self.record)
//!     }
//!     fn saved(&self, _: RecordKey, sector: u8) {
//!         self.sector.set(sector);
//!         self.unsaved.set(sector == NOWHERE);
//!     }
//! }
//!
//! let page = identity(&[0; 16], "http://example.org/old");
//! let moved = Moved {
//!     record: MoveRecord::new(page, "http://example.org/old", "http://example.org/new"),
//!     sector: Cell::new(NOWHERE),
//!     unsaved: Cell::new(true),
//! };
//! let mut store = Store::new(Flash(vec![0xFF; 3 * 4096]));
//! while wait(store.step(&moved, true, Instant::ZERO)).unwrap() != StoreStep::Idle {}
//!
//! // After a power cut: another store over the same flash.
//! let mut store = Store::new(store.flash());
//! let mut found = None;
//! wait(store.open(|record, _| found = Some(*record))).unwrap();
//! assert_eq!(found, Some(Record::Move(moved.record)));
//! ```

mod budget;
mod format;
mod moved;
mod record;
mod sector;
#[cfg(feature = "discover")]
mod texts;

pub use moved::MoveRecord;
pub use record::{
    HostRecord, PageRecord, RECORD, Record, RecordError, Root, Stamp, VERSION, identity,
};

#[cfg(feature = "discover")]
pub use texts::{
    LONGEST_TEXT, TEXT_BYTES, Text, TextKind, TextLedger, TextLog, text_sector_number,
};

use core::fmt;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::Error;
use sequential_storage::cache::page_pointers::ArrayPagePointers;
use sequential_storage::cache::page_states::ArrayPageStates;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::queue::{QueueConfig, QueueStorage};

use crate::time::{Duration, Instant};
use budget::Budget;
use sector::Sector;

/// Flash that a board sets apart for the store: addresses start at 0.
///
/// At least three sectors and at most [`MOST_SECTORS`]; at least twice as many places as there are
/// records, see [`Store::places`].
pub trait Partition: NorFlash {
    /// How many sectors of [`NorFlash::ERASE_SIZE`] bytes there are.
    const SECTORS: usize;
    /// How often its maker promises that each can be erased.
    const RATED_CYCLES: u32;
    /// For how long an erase stops everything else, interrupts included: a watchdog must wait
    /// longer.
    const LONGEST_STALL: Duration;
}

impl<P: Partition> Partition for &mut P {
    const SECTORS: usize = P::SECTORS;
    const RATED_CYCLES: u32 = P::RATED_CYCLES;
    const LONGEST_STALL: Duration = P::LONGEST_STALL;
}

/// Sectors are numbered with a byte, and [`NOWHERE`] is none.
pub const MOST_SECTORS: usize = 254;
/// The sector of a record that is not in flash.
pub const NOWHERE: u8 = u8::MAX;
/// Room that is kept for what a power cut leaves behind of a record: so many cuts in one sector
/// cost nothing.
const MARGIN: usize = 4;
/// A boot reads the headers of one sector, so very large sectors are not filled.
const MOST_ITEMS: usize = 900;
/// How long flash has to last.
const LIFETIME_DAYS: u64 = 3_653;

/// Names a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RecordKey {
    /// The record of the device.
    Root,
    /// The record of a host, by its place in the image.
    Host(u16),
    /// The record of a page, by its place in the image.
    Page(u16),
    /// The record of where that page has moved to.
    Move(u16),
}

/// The truth in RAM, of which flash keeps a copy. Methods take `&self`: the store writes while the
/// truth goes on changing.
pub trait Ledger {
    /// A record that has changed since it was last written.
    fn unsaved(&self) -> Option<RecordKey>;
    /// A record whose newest version in flash is in this sector.
    fn any_in(&self, sector: u8) -> Option<RecordKey>;
    /// How many of them there are.
    fn count_in(&self, sector: u8) -> usize;
    /// The record as it is now. From here on it counts as saved, unless it changes again.
    fn read(&self, key: RecordKey) -> Record;
    /// Its newest version in flash is in this sector; [`NOWHERE`] if writing failed or it was
    /// erased, and then it is unsaved again.
    fn saved(&self, key: RecordKey, sector: u8);
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StoreStep {
    /// Everything is saved.
    Idle,
    /// One record was written.
    Wrote,
    /// A sector has to be erased first: call again when nothing is in flight.
    NeedsErase,
    /// The same, but the budget of erases is spent until then.
    Spent(Instant),
}

/// What was found in flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Recovered {
    /// Records that could be read, old versions included.
    pub records: u32,
    /// Records that could not: of a newer version, or made of nonsense.
    pub refused: u32,
    /// Sectors that could not be read to their end.
    pub damaged: u32,
    /// Records that were written and are no longer there: gaps in the others' numbers.
    pub lost: u32,
}

/// Why nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum StoreError<E> {
    /// The flash could not be read, written or erased.
    Flash(E),
    /// The flash does not hold what was written.
    Damaged,
}

impl<E: fmt::Debug> fmt::Display for StoreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(why) => {
                write!(
                    f,
                    "the flash refused ({why:?}): nothing is kept until it works again"
                )
            }
            Self::Damaged => f.write_str("the flash does not keep what is written: replace it"),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for StoreError<E> {}

type Position = Cache<ArrayPageStates<1>, ArrayPagePointers<1>, Uncached>;

/// The log of records in flash.
#[derive(Debug)]
pub struct Store<F> {
    flash: F,
    /// The current sector …
    sector: u8,
    /// … how many more records fit into it …
    free: usize,
    /// … and where the next one goes; `None` when that has to be looked up.
    position: Option<Position>,
    /// The number of the next record.
    number: u32,
    budget: Budget,
}

impl<F: Partition> Store<F> {
    /// What can be read and written at once.
    const WORD: usize = if F::WRITE_SIZE > F::READ_SIZE {
        F::WRITE_SIZE
    } else {
        F::READ_SIZE
    };
    /// Bytes of an item, its header and the padding to whole words included.
    const ITEM: usize = QueueStorage::<F, Position>::item_overhead_size() as usize
        + RECORD.next_multiple_of(Self::WORD);

    /// Items that a sector has room for.
    const ROOM: usize = {
        let fit = (F::ERASE_SIZE - 2 * Self::WORD) / Self::ITEM;
        if fit < MOST_ITEMS { fit } else { MOST_ITEMS }
    };

    /// Over this partition. Read it with [`Self::open`] before anything is written.
    pub const fn new(flash: F) -> Self {
        const {
            assert!(
                F::SECTORS >= 3 && F::SECTORS <= MOST_SECTORS,
                "a store has 3 to 254 sectors"
            );
            assert!(Self::WORD <= 32, "words are too long");
            assert!(Self::ROOM > 2 * MARGIN, "sectors are too small");
        }
        let per_day = F::RATED_CYCLES as u64 * F::SECTORS as u64 / LIFETIME_DAYS;
        // Nothing is known of any sector, so the first write begins at sector 0, and erases it.
        let sector = (F::SECTORS - 1) as u8;
        Self {
            flash,
            sector,
            free: 0,
            position: None,
            number: 0,
            budget: Budget::new(per_day),
        }
    }

    /// How many records the partition can keep: half of its places, so that records are moved only
    /// now and then.
    pub const fn places() -> usize {
        F::SECTORS * (Self::ROOM - MARGIN) / 2
    }

    /// Reads everything, oldest first: of two versions of a record, the later one counts. Work:
    /// every sector twice.
    ///
    /// # Errors
    /// [`StoreError::Flash`]; damage is no error.
    ///
    /// *Cancellation*: open it again.
    pub async fn open(
        &mut self,
        mut each: impl FnMut(&Record, u8),
    ) -> Result<Recovered, StoreError<F::Error>> {
        let mut newest = None;
        for sector in 0..F::SECTORS as u8 {
            let mut first = None;
            self.read_sector(sector, |number, _| {
                first.get_or_insert(number);
            })
            .await?;
            newest = newest.max(first.map(|number| (number, sector)));
        }
        let mut found = Recovered::default();
        let Some((_, current)) = newest else {
            return Ok(found);
        };
        self.sector = current;
        let mut expected = None;
        for step in 1..=F::SECTORS {
            let sector = ((usize::from(current) + step) % F::SECTORS) as u8;
            let mut highest = 0;
            let whole = self
                .read_sector(sector, |number, bytes| {
                    // Not the last one's: whatever numbers there are, the next record's is higher.
                    highest = number.max(highest);
                    // Not in the first sector: the power may have gone while it was erased, and
                    // nothing is lost by that.
                    if let Some(expected) = expected
                        .replace(number.saturating_add(1))
                        .filter(|_| step > 1)
                    {
                        found.lost = found.lost.saturating_add(number.saturating_sub(expected));
                    }
                    match Record::decode(bytes) {
                        Ok(record) => {
                            found.records += 1;
                            each(&record, sector);
                        }
                        Err(_) => found.refused += 1,
                    }
                })
                .await?;
            found.damaged += u32::from(!whole);
            self.number = self.number.max(highest.saturating_add(1));
        }
        let mut queue = queue(&mut self.flash, current, new_position());
        // A sector that cannot tell how much room it has gets no more.
        let left = queue.space_left().await.unwrap_or(0) as usize;
        self.free = (left / Self::ITEM).min(Self::ROOM);
        Ok(found)
    }

    /// Hands out the items of a sector, with their numbers; false if it could not be read to its
    /// end.
    ///
    /// *Cancellation*: safe, it only reads.
    async fn read_sector(
        &mut self,
        sector: u8,
        mut each: impl FnMut(u32, &[u8]),
    ) -> Result<bool, StoreError<F::Error>> {
        let mut queue = queue(&mut self.flash, sector, new_position());
        let mut items = match queue.iter().await {
            Ok(items) => items,
            Err(Error::Storage { value, .. }) => return Err(StoreError::Flash(value)),
            Err(_) => return Ok(false),
        };
        // Aligned by its type to what the widest flash asks for.
        let mut buffer = Buffer([0; BUFFER]);
        // Each item takes room, so there are no more than this.
        for _ in 0..F::ERASE_SIZE / Self::WORD {
            match items.next(&mut buffer.0).await {
                Ok(Some(item)) => {
                    if let Some(number) = format::number(&item) {
                        each(number, &item);
                    }
                }
                Ok(None) => return Ok(true),
                Err(Error::Storage { value, .. }) => return Err(StoreError::Flash(value)),
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Writes one record, if one has to be. Work: one write, at most one erase, and reads of the
    /// current sector's headers after a boot.
    ///
    /// # Errors
    /// [`StoreError`]; the record counts as unsaved then.
    ///
    /// *Cancellation*: the record may be whole or absent in flash, and counts as saved where it
    /// was: write it again.
    pub async fn step(
        &mut self,
        ledger: &impl Ledger,
        may_erase: bool,
        now: Instant,
    ) -> Result<StoreStep, StoreError<F::Error>> {
        let mut next = self.next_sector();
        let held = ledger.count_in(next);
        // What the next sector holds must be written again while there is room for all of it.
        let presses = self.free <= held + MARGIN;
        let moved = ledger.any_in(next).filter(|_| presses && self.free > 0);
        let Some(mut key) = moved.or_else(|| ledger.unsaved()) else {
            return Ok(StoreStep::Idle);
        };
        if presses && moved.is_none() {
            if let Some(then) = self.budget.spent_until(now) {
                return Ok(StoreStep::Spent(then));
            }
            if !may_erase {
                return Ok(StoreStep::NeedsErase);
            }
            // Only after more power cuts in one sector than there is margin for: what is left is in
            // RAM.
            while let Some(key) = ledger.any_in(next) {
                ledger.saved(key, NOWHERE);
            }
            self.advance(next, now).await?;
            // The sector behind it may be so full of what has to be moved that nothing else has
            // room.
            next = self.next_sector();
            let presses = self.free <= ledger.count_in(next) + MARGIN;
            key = ledger.any_in(next).filter(|_| presses).unwrap_or(key);
        }
        match self.append(ledger, key).await {
            Ok(()) => ledger.saved(key, self.sector),
            Err(why) => {
                // Whatever is wrong with this sector, the next one may be better.
                self.free = 0;
                self.position = None;
                ledger.saved(key, NOWHERE);
                return Err(why);
            }
        }
        Ok(StoreStep::Wrote)
    }

    /// Erases the next sector and makes it the current one. Whatever it looked like: what looks
    /// blank may be the rest of an erase that was cut short.
    ///
    /// *Cancellation*: the old sector stays the current one, and the erase is made again.
    async fn advance(&mut self, next: u8, now: Instant) -> Result<(), StoreError<F::Error>> {
        self.position = None;
        self.budget.spend(now);
        queue(&mut self.flash, next, new_position())
            .erase_all()
            .await
            .map_err(error)?;
        self.sector = next;
        self.free = Self::ROOM;
        Ok(())
    }

    /// Writes a record behind the others. *Cancellation*: as for [`Self::step`].
    async fn append(
        &mut self,
        ledger: &impl Ledger,
        key: RecordKey,
    ) -> Result<(), StoreError<F::Error>> {
        let mut buffer = Buffer([0; BUFFER]);
        let bytes = format::encode(&ledger.read(key), self.number, &mut buffer.0);
        let position = self.position.take().unwrap_or_else(new_position);
        let mut queue = queue(&mut self.flash, self.sector, position);
        queue.push(bytes, false).await.map_err(error)?;
        self.position = Some(queue.destroy().1);
        self.number = self.number.saturating_add(1);
        self.free -= 1;
        Ok(())
    }

    fn next_sector(&self) -> u8 {
        ((usize::from(self.sector) + 1) % F::SECTORS) as u8
    }

    /// Erases since the store was made.
    pub fn erases(&self) -> u32 {
        self.budget.count()
    }

    /// The partition that the log is in.
    pub fn flash(&mut self) -> &mut F {
        &mut self.flash
    }
}

/// The longest item there can be: a record and the padding to the widest word.
const BUFFER: usize = 96;

/// Flash drivers that copy by words want their buffers aligned.
#[repr(align(8))]
struct Buffer([u8; BUFFER]);

fn new_position() -> Position {
    Cache::new(ArrayPageStates::new(), ArrayPagePointers::new(), Uncached)
}

/// One sector as a queue of its own.
fn queue<F: Partition>(
    flash: &mut F,
    sector: u8,
    position: Position,
) -> QueueStorage<Sector<'_, F>, Position> {
    let start = u32::from(sector) * F::ERASE_SIZE as u32;
    let config = const { QueueConfig::new(0..F::ERASE_SIZE as u32) };
    QueueStorage::new(Sector { flash, start }, config, position)
}

fn error<E>(why: Error<E>) -> StoreError<E> {
    match why {
        Error::Storage { value, .. } => StoreError::Flash(value),
        _ => StoreError::Damaged,
    }
}
