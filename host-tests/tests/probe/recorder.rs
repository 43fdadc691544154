//! A flash that remembers everything that was done to it, and when: so the power can go at any
//! moment afterwards.

use std::cell::RefCell;
use std::rc::Rc;

use dunlin::store::Partition;
use dunlin::time::Duration;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use futures_lite::future::block_on;
use host_tests::flash::{Fault, Flash};

const SECTOR: usize = 4096;
const WORD: usize = 4;

/// The flash that it records.
pub type Plain<const SECTORS: usize> = Flash<SECTORS, SECTOR, WORD>;

#[derive(Clone, Debug)]
pub enum Operation {
    Write(u32, Vec<u8>),
    Erase(u32, u32),
}

impl Operation {
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Write(_, bytes) => bytes.len() as u64,
            Self::Erase(from, to) => u64::from(to - from),
        }
    }

    /// Does it again, until the power goes.
    pub fn repeat<const SECTORS: usize>(&self, flash: &mut Plain<SECTORS>) -> Result<(), Fault> {
        match self {
            Self::Write(place, bytes) => block_on(flash.write(*place, bytes)),
            Self::Erase(from, to) => block_on(flash.erase(*from, *to)),
        }
    }
}

/// What was done, and when.
pub type Journal = Rc<RefCell<Vec<(Duration, Operation)>>>;

/// Flash of so many sectors that its maker promises so many cycles of.
#[derive(Clone, Debug)]
pub struct Recorder<const SECTORS: usize, const CYCLES: u32> {
    pub flash: Plain<SECTORS>,
    /// What has no time yet gets it from whoever has a clock: see [`Self::stamp`].
    pub journal: Journal,
}

/// The time of what has none yet.
const NOT_YET: Duration = Duration::MAX;

impl<const SECTORS: usize, const CYCLES: u32> Recorder<SECTORS, CYCLES> {
    pub fn blank() -> Self {
        Self {
            flash: Plain::blank(),
            journal: Journal::default(),
        }
    }
}

/// It is so late: all that was done since the last call was done now.
pub fn stamp(journal: &Journal, now: Duration) {
    let mut journal = journal.borrow_mut();
    journal
        .iter_mut()
        .rev()
        .take_while(|(time, _)| *time == NOT_YET)
        .for_each(|(time, _)| *time = now);
}

impl<const SECTORS: usize, const CYCLES: u32> ErrorType for Recorder<SECTORS, CYCLES> {
    type Error = Fault;
}

impl<const SECTORS: usize, const CYCLES: u32> ReadNorFlash for Recorder<SECTORS, CYCLES> {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Fault> {
        self.flash.read(offset, bytes).await
    }

    fn capacity(&self) -> usize {
        self.flash.capacity()
    }
}

impl<const SECTORS: usize, const CYCLES: u32> NorFlash for Recorder<SECTORS, CYCLES> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = SECTOR;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Fault> {
        self.journal
            .borrow_mut()
            .push((NOT_YET, Operation::Erase(from, to)));
        self.flash.erase(from, to).await
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Fault> {
        self.journal
            .borrow_mut()
            .push((NOT_YET, Operation::Write(offset, bytes.to_vec())));
        self.flash.write(offset, bytes).await
    }
}

impl<const SECTORS: usize, const CYCLES: u32> Partition for Recorder<SECTORS, CYCLES> {
    const SECTORS: usize = SECTORS;
    const RATED_CYCLES: u32 = CYCLES;
    const LONGEST_STALL: Duration = Duration::from_millis(400);
}
