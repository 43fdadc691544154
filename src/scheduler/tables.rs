//! Tables in arrays: in a `static` on a device.

use core::mem::MaybeUninit;

use super::host::HostState;
use super::page::PageState;
use super::state::{Core, State};
use super::tick::Tick;
use super::{SchedulerView, Settings};
use crate::constraints::Constraints;
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

    pub(super) fn core<'a>(
        &'a mut self,
        state: &'a mut State<u16>,
        constraints: Constraints<'a>,
    ) -> Core<'a, u16> {
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
        let state = self.state.write(State::new(settings));
        SchedulerView::without_pages(self.arrays.core(state, Constraints::None))
    }
}

impl<const PAGES: usize, const HOSTS: usize> Default for Tables<PAGES, HOSTS> {
    fn default() -> Self {
        Self::NEW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{Decision, PageSettings};
    use crate::time::{Duration, Instant};

    #[test]
    fn memory_that_is_used_again_holds_nothing() {
        let mut tables: Tables<4, 2> = Tables::NEW;
        for _ in 0..2 {
            let mut scheduler = tables.scheduler(Settings::DEFAULT);
            assert_eq!(scheduler.page_id(0), None);
            assert_eq!(scheduler.host_id(0), None);
            assert_eq!(scheduler.next(Instant::ZERO), Decision::Idle);
            let host = scheduler.add_host(Duration::ZERO).expect("room");
            let page = scheduler
                .add_page(host, &PageSettings::DEFAULT, Instant::ZERO)
                .expect("room");
            assert_eq!(scheduler.page_id(0), Some(page));
            assert_eq!(scheduler.next(Instant::ZERO), Decision::Fetch(page));
        }
    }
}
