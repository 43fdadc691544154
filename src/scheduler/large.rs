//! The scheduler of millions of pages.

use std::vec::Vec;

use super::Settings;
use super::host::HostState;
use super::page::PageState;
use super::read::Read;
use super::state::{Core, State};
use super::tick::Tick;
use super::vectors::Vectors;
use crate::constraints::{Constraints, ListedConstraints};

/// The scheduler of as many pages and hosts as a computer holds: for simulations with the very code
/// that runs on the device. Links are 32 bits, in vectors; everything else is as in
/// [`Scheduler`](super::Scheduler).
///
/// ```
/// use dunlin::scheduler::{LargeScheduler, PageSettings, Settings};
/// use dunlin::time::{Duration, Instant};
///
/// let mut scheduler = LargeScheduler::new(100_000, 1, Settings::DEFAULT);
/// let host = scheduler.add_host(Duration::from_millis(1))?;
/// for _ in 0..100_000 {
///     scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO)?;
/// }
/// # Ok::<(), dunlin::scheduler::Error>(())
/// ```
#[derive(Debug)]
pub struct LargeScheduler {
    vectors: Vectors<u32>,
    state: State<u32>,
    constraints: Vec<ListedConstraints>,
}

impl LargeScheduler {
    /// A scheduler without pages, for up to so many pages and hosts.
    pub fn new(pages: usize, hosts: usize, settings: Settings) -> Self {
        Self {
            vectors: Vectors::new(pages, hosts),
            state: State::new(settings),
            constraints: Vec::new(),
        }
    }

    /// Tells the constraints of pages, by their index; see
    /// [`PageSettings::has_constraints`](super::PageSettings). Call it before pages are added that
    /// have some.
    pub fn set_constraints(&mut self, constraints: Vec<ListedConstraints>) {
        self.constraints = constraints;
    }

    pub(super) fn core(&mut self) -> Core<'_, u32> {
        self.vectors
            .core(&mut self.state, Constraints::Listed(&self.constraints))
    }

    pub(super) fn read(&self) -> &impl Read<u32> {
        self
    }
}

impl Read<u32> for LargeScheduler {
    fn page_table(&self) -> &[PageState<u32>] {
        &self.vectors.pages
    }

    fn host_table(&self) -> &[HostState<u32>] {
        &self.vectors.hosts
    }

    fn state(&self) -> &State<u32> {
        &self.state
    }

    fn opening_of(&self, gate: u32) -> Option<Tick> {
        self.vectors.closed.key(gate)
    }

    fn first_opening(&self) -> Option<Tick> {
        self.vectors.closed.peek().map(|entry| entry.key)
    }

    fn first_open_gate(&self) -> Option<u32> {
        self.vectors.open.peek().map(|entry| entry.id)
    }
}
