//! The scheduler over tables that somebody else owns.

use super::read::Read;
use super::state::Core;
use crate::constraints::Constraints;

/// A scheduler of any size, over tables that somebody else owns: those of a
/// [`Scheduler`](super::Scheduler), or [`Tables`](super::Tables) in static memory.
///
/// ```
/// use dunlin::scheduler::{Decision, PageSettings, SchedulerView, Settings, Tables};
/// use dunlin::time::{Duration, Instant};
///
/// let mut tables: Tables<16, 4> = Tables::NEW;
/// let mut scheduler: SchedulerView<'_> = tables.scheduler(Settings::DEFAULT);
/// let host = scheduler.add_host(Duration::from_secs(15))?;
/// let page = scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO)?;
/// assert_eq!(scheduler.next(Instant::ZERO), Decision::Fetch(page));
/// # Ok::<(), dunlin::scheduler::Error>(())
/// ```
#[derive(Debug)]
pub struct SchedulerView<'a>(Core<'a, u16>);

impl<'a> SchedulerView<'a> {
    pub(super) const fn over(core: Core<'a, u16>) -> Self {
        Self(core)
    }

    /// Over tables that have not been used yet, or are used anew.
    pub(super) fn without_pages(mut core: Core<'a, u16>) -> Self {
        core.forget();
        Self(core)
    }

    /// Tells where the constraints of pages are; see
    /// [`PageSettings::has_constraints`](super::PageSettings). Before pages are added that have
    /// some.
    pub fn set_constraints(&mut self, constraints: Constraints<'a>) {
        self.0.constraints = constraints;
    }

    pub(super) fn core(&mut self) -> &mut Core<'a, u16> {
        &mut self.0
    }

    pub(super) fn read(&self) -> &impl Read<u16> {
        &self.0
    }
}
