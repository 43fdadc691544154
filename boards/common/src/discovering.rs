//! Memory of a board for pages beyond its list.

use dunlin::boot::Boot;
use dunlin::discover::{Candidate, FrontierMemory};
use dunlin::probe::{Board, DiscoveryMemory, FoundHost, FoundPage, Probe, TextSource};
use dunlin::rank::Account;
use dunlin::store::{Partition, TextLog};
use embassy_futures::block_on;

/// What a board lends.
#[expect(missing_debug_implementations, reason = "flash has nothing to show")]
pub struct Lent {
    /// The RAM for pages that are found.
    pub memory: DiscoveryMemory<'static>,
    /// Reads the flash that URLs are in.
    pub source: &'static dyn TextSource,
}

/// Takes over which pages an earlier run has found, unless the device resets again and again: then
/// that may be why. Call it before [`persist::restore`](crate::persist::restore), and spawn a task
/// that runs [`Persistence::run_found`](dunlin::probe::Persistence::run_found).
///
/// Nothing of it waits for anything, so no task has to run meanwhile.
// A frame of its own, which ends with it: in that of `main`, it would stay on the stack for ever.
#[inline(never)]
pub fn restore<B: Board, F: Partition>(probe: &Probe<'_, B>, log: &mut TextLog<F>, boot: &Boot) {
    block_on(probe.persistence().restore_found(log, !boot.is_loop()));
}

/// RAM for a collection: put it in a `ConstStaticCell`. It begins as zeros for the greater part.
#[derive(Debug)]
pub struct FoundTables<const PLACES: usize, const HOSTS: usize, const CANDIDATES: usize> {
    accounts: [Account; PLACES],
    order: [u16; PLACES],
    candidates: [Candidate; CANDIDATES],
    doorkeeper: [u8; 4_096],
    directories: [u8; 2_048],
    pages: [FoundPage; PLACES],
    hosts: [FoundHost; HOSTS],
    queue: [u8; 4_096],
    trials: [u8; 1_024],
}

impl<const PLACES: usize, const HOSTS: usize, const CANDIDATES: usize>
    FoundTables<PLACES, HOSTS, CANDIDATES>
{
    /// Tables in which nothing is written yet.
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each use is meant to be one of its own"
    )]
    pub const NEW: Self = Self {
        accounts: [Account::FREE; PLACES],
        order: [0; PLACES],
        candidates: [Candidate::NONE; CANDIDATES],
        doorkeeper: [0; 4_096],
        directories: [0; 2_048],
        pages: [const { FoundPage::NEW }; PLACES],
        hosts: [const { FoundHost::NEW }; HOSTS],
        queue: [0; 4_096],
        trials: [0; 1_024],
    };

    /// As the probe takes it.
    pub fn lend(&'static mut self) -> DiscoveryMemory<'static> {
        DiscoveryMemory {
            frontier: FrontierMemory {
                accounts: &mut self.accounts,
                order: &mut self.order,
                candidates: &mut self.candidates,
                doorkeeper: &mut self.doorkeeper,
                directories: &mut self.directories,
            },
            pages: &self.pages,
            hosts: &self.hosts,
            queue: &mut self.queue,
            trials: &mut self.trials,
        }
    }
}

/// The log of URL texts on boards whose flash the processor reads like memory: in the part between
/// `_lists_start` and `_lists_end` of the memory map, which a fleet's lists have otherwise.
#[cfg(feature = "rp2350")]
pub mod mapped {
    use dunlin::probe::TextSource;

    use crate::partition::{ChipFlash, StoreFlash};

    /// Sectors of the log.
    pub const SECTORS: usize = 32;

    unsafe extern "C" {
        static _lists_start: u8;
        static _lists_end: u8;
    }

    /// The log's part of the flash. Takes the chip's driver.
    pub fn flash<F: ChipFlash>(flash: F) -> StoreFlash<F, SECTORS> {
        StoreFlash::at(flash, &raw const _lists_start)
    }

    /// Reads the log as memory.
    #[derive(Clone, Copy, Debug)]
    pub struct MappedTexts;

    impl TextSource for MappedTexts {
        fn read(&self, at: u32, bytes: &mut [u8]) -> bool {
            let start = &raw const _lists_start;
            let end = &raw const _lists_end;
            let room = end.addr().saturating_sub(start.addr());
            let at = at as usize;
            if at.checked_add(bytes.len()).is_none_or(|end| end > room) {
                return false;
            }
            // SAFETY: the memory map sets this part of flash apart, and it ends behind what is
            // copied. It is written by the driver alone, which lets nobody run meanwhile.
            unsafe {
                start
                    .add(at)
                    .copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len())
            };
            true
        }
    }
}
