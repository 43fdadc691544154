//! The scheduler of millions of pages.

use super::Settings;
use super::state::{Core, Glance, State};
use super::tables::Vectors;

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
}

impl LargeScheduler {
    /// A scheduler without pages, for up to so many pages and hosts.
    pub fn new(pages: usize, hosts: usize, settings: Settings) -> Self {
        Self {
            vectors: Vectors::new(pages, hosts),
            state: State::new(settings),
        }
    }

    pub(super) fn core(&mut self) -> Core<'_, u32> {
        self.vectors.core(&mut self.state)
    }

    pub(super) fn glance(&self) -> Glance<'_, u32> {
        self.vectors.glance(&self.state)
    }
}
