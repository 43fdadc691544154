//! Memory of a board for pages beyond its list.

use dunlin::discover::{Candidate, FrontierMemory};
use dunlin::probe::{DiscoveryMemory, FoundHost, FoundPage, TextSource};
use dunlin::rank::Account;

/// What a board lends.
#[expect(missing_debug_implementations, reason = "flash has nothing to show")]
pub struct Lent {
    /// The RAM for pages that are found.
    pub memory: DiscoveryMemory<'static>,
    /// Reads the flash that URLs are in.
    pub source: &'static dyn TextSource,
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
