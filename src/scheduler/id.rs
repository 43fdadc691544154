//! What pages and hosts are known by.

/// A page of a scheduler. [`Scheduler::add_page`] and [`Scheduler::page_id`] hand it out; it means
/// nothing to another scheduler.
///
/// [`Scheduler::add_page`]: super::Scheduler::add_page
/// [`Scheduler::page_id`]: super::Scheduler::page_id
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageId(u32);

/// A host of a scheduler. [`Scheduler::add_host`] and [`Scheduler::host_id`] hand it out; it means
/// nothing to another scheduler.
///
/// [`Scheduler::add_host`]: super::Scheduler::add_host
/// [`Scheduler::host_id`]: super::Scheduler::host_id
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HostId(u32);

impl PageId {
    /// The caller has checked that the page exists: indices are below 2^32 then.
    pub(super) const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Its place in the page table: pages that are added one after the other count from 0.
    ///
    /// ```
    /// use dunlin::scheduler::{PageSettings, Scheduler, Settings};
    /// use dunlin::time::{Duration, Instant};
    ///
    /// const URLS: [&str; 2] = ["http://example.org/", "http://example.org/news"];
    /// let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
    /// let host = scheduler.add_host(Duration::from_secs(15))?;
    /// scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO)?;
    /// let news = scheduler.add_page(host, &PageSettings::DEFAULT, Instant::ZERO)?;
    /// assert_eq!(URLS[news.index()], "http://example.org/news");
    /// # Ok::<(), dunlin::scheduler::Error>(())
    /// ```
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl HostId {
    /// The caller has checked that the host exists: indices are below 2^32 then.
    pub(super) const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Its place in the host table: hosts count from 0 in the order in which they were added.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
