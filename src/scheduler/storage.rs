//! Where the tables are: in a `static` on a device, on the heap of a computer.

use core::fmt::Debug;
use core::marker::PhantomData;

use super::tick::Tick;
use super::{HostState, PageState};
use crate::heap::{Entry, Id, Key as _};

/// A kind of storage. Sealed: there are three, and their contents are the scheduler's own affair.
pub trait Storage {
    /// What pages and hosts are known by.
    type Id: Id;
    /// The page table.
    type Pages: AsRef<[PageState<Self::Id>]> + AsMut<[PageState<Self::Id>]> + Debug;
    /// The host table.
    type Hosts: AsRef<[HostState<Self::Id>]> + AsMut<[HostState<Self::Id>]> + Debug;
    /// The entries of a heap of hosts.
    type Entries: AsRef<[Entry<Tick, Self::Id>]> + AsMut<[Entry<Tick, Self::Id>]> + Debug;
    /// The positions of a heap of hosts.
    type Positions: AsRef<[Self::Id]> + AsMut<[Self::Id]> + Debug;
}

/// Arrays of a fixed size, with 16-bit ids.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<const PAGES: usize, const HOSTS: usize>;

impl<const PAGES: usize, const HOSTS: usize> Storage for Fixed<PAGES, HOSTS> {
    type Id = u16;
    type Pages = [PageState<u16>; PAGES];
    type Hosts = [HostState<u16>; HOSTS];
    type Entries = [Entry<Tick, u16>; HOSTS];
    type Positions = [u16; HOSTS];
}

/// Tables that somebody lends, with 16-bit ids; see [`Room`].
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a>(PhantomData<&'a ()>);

impl<'a> Storage for Lent<'a> {
    type Id = u16;
    type Pages = &'a mut [PageState<u16>];
    type Hosts = &'a mut [HostState<u16>];
    type Entries = &'a mut [Entry<Tick, u16>];
    type Positions = &'a mut [u16];
}

/// Room for a scheduler's tables. It begins as zeros, which cost a device no flash; a
/// [`Scheduler`](super::Scheduler) in a `static` costs as much flash as RAM.
#[derive(Debug)]
pub struct Room<const PAGES: usize, const HOSTS: usize> {
    pub(super) pages: [PageState<u16>; PAGES],
    pub(super) hosts: [HostState<u16>; HOSTS],
    pub(super) entries: [[Entry<Tick, u16>; HOSTS]; 2],
    pub(super) positions: [[u16; HOSTS]; 2],
}

impl<const PAGES: usize, const HOSTS: usize> Room<PAGES, HOSTS> {
    /// Empty.
    pub const NEW: Self = {
        assert!(
            PAGES < u16::MAX as usize && HOSTS < u16::MAX as usize,
            "ids are 16 bits"
        );
        Self {
            pages: [PageState::ZERO; PAGES],
            hosts: [HostState::ZERO; HOSTS],
            entries: [[Entry {
                key: Tick::FILLER,
                id: 0,
            }; HOSTS]; 2],
            positions: [[0; HOSTS]; 2],
        }
    };
}

/// Vectors, with 32-bit ids: for simulations of millions of pages with the very code that runs on
/// the device.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct Large;

#[cfg(feature = "std")]
impl Storage for Large {
    type Id = u32;
    type Pages = std::vec::Vec<PageState<u32>>;
    type Hosts = std::vec::Vec<HostState<u32>>;
    type Entries = std::vec::Vec<Entry<Tick, u32>>;
    type Positions = std::vec::Vec<u32>;
}
