//! The scheduler that owns its tables.

use super::host::HostState;
use super::page::PageState;
use super::read::Read;
use super::state::{Core, State};
use super::tables::Arrays;
use super::tick::Tick;
use super::{SchedulerView, Settings};
use crate::constraints::Constraints;

/// The scheduler of up to `PAGES` pages on up to `HOSTS` hosts, in as much memory as the type says:
/// see [`Self::SIZE`]. Links are 16 bits, so there may be 65,534 of either.
///
/// Every call is worked by the one [`SchedulerView`] that all sizes share. Making it costs some 40
/// instructions of the 1,500 that a call takes; a loop that counts them takes [`Self::as_view`]
/// once.
#[derive(Debug)]
pub struct Scheduler<const PAGES: usize, const HOSTS: usize> {
    arrays: Arrays<PAGES, HOSTS>,
    state: State<u16>,
    constraints: Constraints<'static>,
}

impl<const PAGES: usize, const HOSTS: usize> Scheduler<PAGES, HOSTS> {
    /// Bytes of memory, all in all.
    pub const SIZE: usize = size_of::<Self>();

    /// A scheduler without pages.
    pub const fn new(settings: Settings) -> Self {
        Self {
            arrays: Arrays::new(),
            state: State::new(settings),
            constraints: Constraints::None,
        }
    }

    /// Tells where the constraints of pages are; see
    /// [`PageSettings::has_constraints`](super::PageSettings). Before pages are added that have
    /// some.
    pub fn set_constraints(&mut self, constraints: Constraints<'static>) {
        self.constraints = constraints;
    }

    /// This scheduler without its size in the type, for code that takes any.
    ///
    /// ```
    /// use dunlin::scheduler::{Decision, Scheduler, SchedulerView, Settings};
    /// use dunlin::time::Instant;
    ///
    /// fn is_idle(mut scheduler: SchedulerView<'_>) -> bool {
    ///     scheduler.next(Instant::ZERO) == Decision::Idle
    /// }
    /// let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
    /// assert!(is_idle(scheduler.as_view()));
    /// ```
    pub fn as_view(&mut self) -> SchedulerView<'_> {
        SchedulerView::over(self.core())
    }

    pub(super) fn core(&mut self) -> Core<'_, u16> {
        self.arrays.core(&mut self.state, self.constraints)
    }

    pub(super) fn read(&self) -> &impl Read<u16> {
        self
    }
}

impl<'a, const PAGES: usize, const HOSTS: usize> From<&'a mut Scheduler<PAGES, HOSTS>>
    for SchedulerView<'a>
{
    fn from(scheduler: &'a mut Scheduler<PAGES, HOSTS>) -> Self {
        scheduler.as_view()
    }
}

impl<const PAGES: usize, const HOSTS: usize> Default for Scheduler<PAGES, HOSTS> {
    fn default() -> Self {
        Self::new(Settings::DEFAULT)
    }
}

impl<const PAGES: usize, const HOSTS: usize> Read<u16> for Scheduler<PAGES, HOSTS> {
    fn page_table(&self) -> &[PageState<u16>] {
        &self.arrays.pages
    }

    fn host_table(&self) -> &[HostState<u16>] {
        &self.arrays.hosts
    }

    fn state(&self) -> &State<u16> {
        &self.state
    }

    fn opening_of(&self, gate: u16) -> Option<Tick> {
        self.arrays.closed.key(gate)
    }

    fn first_opening(&self) -> Option<Tick> {
        self.arrays.closed.peek().map(|entry| entry.key)
    }

    fn first_open_gate(&self) -> Option<u16> {
        self.arrays.open.peek().map(|entry| entry.id)
    }
}
