//! Tables in vectors: where sizes are known only when the program runs, and where there are
//! millions of pages.

use std::vec;
use std::vec::Vec;

use super::host::HostState;
use super::page::PageState;
use super::state::{Core, State};
use super::tick::Tick;
use super::{SchedulerView, Settings};
use crate::constraints::Constraints;
use crate::heap::{Entry, Heap, Id};

type VecHeap<I> = Heap<Tick, I, Vec<Entry<Tick, I>>, Vec<I>>;

/// The tables in vectors.
#[derive(Debug)]
pub(super) struct Vectors<I> {
    pub(super) pages: Vec<PageState<I>>,
    pub(super) hosts: Vec<HostState<I>>,
    pub(super) closed: VecHeap<I>,
    pub(super) open: VecHeap<I>,
}

impl<I: Id> Vectors<I> {
    pub(super) fn new(pages: usize, hosts: usize) -> Self {
        let heap = || Heap::with_storage(vec![Entry::UNUSED; hosts], vec![I::NONE; hosts]);
        Self {
            pages: vec![PageState::FREE; pages],
            hosts: vec![HostState::UNUSED; hosts],
            closed: heap(),
            open: heap(),
        }
    }

    pub(super) fn core<'a>(
        &'a mut self,
        state: &'a mut State<I>,
        constraints: Constraints<'a>,
    ) -> Core<'a, I> {
        Core {
            pages: &mut self.pages,
            hosts: &mut self.hosts,
            closed: self.closed.as_view(),
            open: self.open.as_view(),
            state,
            constraints,
        }
    }
}

/// [`Tables`](super::Tables) whose sizes are known only when the program runs: for computers.
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
        let state = self.state.insert(State::new(settings));
        SchedulerView::without_pages(self.vectors.core(state, Constraints::None))
    }
}
