//! Where the tables are: in a `static` on a device, on the heap of a computer.

use core::fmt::Debug;

use super::tick::Tick;
use super::{HostState, PageState};
use crate::heap::{Entry, Id};

/// A kind of storage. Sealed: there are two, and their contents are the scheduler's own affair.
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

/// Vectors, with 32-bit ids: for simulations of millions of pages with the very code that runs on the device.
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
