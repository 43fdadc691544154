//! Where the tables are: in a `static` on a device, in vectors on a computer.

use core::mem::MaybeUninit;

use super::host::HostState;
use super::page::PageState;
use super::state::{Core, State};
use super::tick::Tick;
use super::{SchedulerView, Settings};
use crate::heap::ArrayHeap;

/// The tables in arrays.
#[derive(Debug)]
pub(super) struct Arrays<const PAGES: usize, const HOSTS: usize> {
    pub(super) pages: [PageState<u16>; PAGES],
    pub(super) hosts: [HostState<u16>; HOSTS],
    pub(super) closed: ArrayHeap<Tick, u16, HOSTS>,
    pub(super) open: ArrayHeap<Tick, u16, HOSTS>,
}

impl<const PAGES: usize, const HOSTS: usize> Arrays<PAGES, HOSTS> {
    const FITS: () = assert!(
        PAGES < u16::MAX as usize && HOSTS < u16::MAX as usize,
        "links between pages and hosts are 16 bits: up to 65,534 of either"
    );

    /// Tables without pages and hosts.
    pub(super) const fn new() -> Self {
        let () = Self::FITS;
        Self {
            pages: [PageState::FREE; PAGES],
            hosts: [HostState::UNUSED; HOSTS],
            closed: ArrayHeap::new(),
            open: ArrayHeap::new(),
        }
    }

    pub(super) fn core<'a>(&'a mut self, state: &'a mut State<u16>) -> Core<'a, u16> {
        Core {
            pages: &mut self.pages,
            hosts: &mut self.hosts,
            closed: self.closed.as_view(),
            open: self.open.as_view(),
            state,
        }
    }
}

/// Static memory for a scheduler of `PAGES` pages on `HOSTS` hosts. It begins as zeros, which cost
/// a device no flash; a [`Scheduler`](super::Scheduler) in a `static` costs as much flash as RAM.
///
/// ```
/// use dunlin::scheduler::{Decision, SchedulerView, Settings, Tables};
/// use dunlin::time::Instant;
///
/// // On a device in a `static`, such as a `ConstStaticCell` of crate static_cell.
/// let mut tables: Tables<256, 32> = Tables::NEW;
/// let mut scheduler: SchedulerView<'_> = tables.scheduler(Settings::DEFAULT);
/// assert_eq!(scheduler.next(Instant::ZERO), Decision::Idle);
/// ```
#[derive(Debug)]
pub struct Tables<const PAGES: usize, const HOSTS: usize> {
    arrays: Arrays<PAGES, HOSTS>,
    /// Written by [`Self::scheduler`], read only through the view that returns.
    state: MaybeUninit<State<u16>>,
}

impl<const PAGES: usize, const HOSTS: usize> Tables<PAGES, HOSTS> {
    /// Memory that nobody has used yet: all zeros.
    pub const NEW: Self = {
        let () = Arrays::<PAGES, HOSTS>::FITS;
        Self {
            arrays: Arrays {
                pages: [PageState::ZERO; PAGES],
                hosts: [HostState::ZERO; HOSTS],
                closed: ArrayHeap::ZERO,
                open: ArrayHeap::ZERO,
            },
            state: MaybeUninit::zeroed(),
        }
    };

    /// A scheduler without pages in this memory; whatever it held is forgotten.
    pub fn scheduler(&mut self, settings: Settings) -> SchedulerView<'_> {
        // Pages and hosts are overwritten as they are added, and not looked at before.
        self.arrays.closed.clear();
        self.arrays.open.clear();
        let state = self.state.write(State::new(settings));
        SchedulerView::over(self.arrays.core(state))
    }
}

impl<const PAGES: usize, const HOSTS: usize> Default for Tables<PAGES, HOSTS> {
    fn default() -> Self {
        Self::NEW
    }
}

#[cfg(feature = "std")]
pub use in_vectors::DynTables;
#[cfg(feature = "std")]
pub(super) use in_vectors::Vectors;

#[cfg(feature = "std")]
mod in_vectors {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::heap::{Entry, Heap, Id};

    type VecHeap<I> = Heap<Tick, I, Vec<Entry<Tick, I>>, Vec<I>>;

    /// The tables in vectors.
    #[derive(Debug)]
    pub(in crate::scheduler) struct Vectors<I> {
        pub(in crate::scheduler) pages: Vec<PageState<I>>,
        pub(in crate::scheduler) hosts: Vec<HostState<I>>,
        pub(in crate::scheduler) closed: VecHeap<I>,
        pub(in crate::scheduler) open: VecHeap<I>,
    }

    impl<I: Id> Vectors<I> {
        pub(in crate::scheduler) fn new(pages: usize, hosts: usize) -> Self {
            let heap = || Heap::with_storage(vec![Entry::UNUSED; hosts], vec![I::NONE; hosts]);
            Self {
                pages: vec![PageState::FREE; pages],
                hosts: vec![HostState::UNUSED; hosts],
                closed: heap(),
                open: heap(),
            }
        }

        pub(in crate::scheduler) fn core<'a>(&'a mut self, state: &'a mut State<I>) -> Core<'a, I> {
            Core {
                pages: &mut self.pages,
                hosts: &mut self.hosts,
                closed: self.closed.as_view(),
                open: self.open.as_view(),
                state,
            }
        }
    }

    /// [`Tables`] whose sizes are known only when the program runs: for computers.
    ///
    /// ```
    /// use dunlin::scheduler::{DynTables, Settings};
    /// use dunlin::time::Duration;
    ///
    /// let mut tables = DynTables::new(10_000, 500);
    /// let mut scheduler = tables.scheduler(Settings::DEFAULT);
    /// scheduler.add_host(Duration::from_secs(15))?;
    /// # Ok::<(), dunlin::scheduler::Error>(())
    /// ```
    #[derive(Debug)]
    pub struct DynTables {
        vectors: Vectors<u16>,
        state: Option<State<u16>>,
    }

    impl DynTables {
        /// Memory for so many pages and hosts, at most 65,534 of either: of more, that many.
        /// [`LargeScheduler`](crate::scheduler::LargeScheduler) holds more.
        pub fn new(pages: usize, hosts: usize) -> Self {
            const MOST: usize = u16::MAX as usize - 1;
            Self {
                vectors: Vectors::new(pages.min(MOST), hosts.min(MOST)),
                state: None,
            }
        }

        /// A scheduler without pages in this memory; whatever it held is forgotten.
        pub fn scheduler(&mut self, settings: Settings) -> SchedulerView<'_> {
            self.vectors.closed.clear();
            self.vectors.open.clear();
            let state = self.state.insert(State::new(settings));
            SchedulerView::over(self.vectors.core(state))
        }
    }
}
