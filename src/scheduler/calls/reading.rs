//! The calls that only look. They are in [`read`](super::super::read).

macro_rules! reading {
    ($form:ident) => {
        $form! {
            reading:
            /// The page at this place of the page table; `None` if there is none. Pages that are
            /// added one after the other count from 0, so this is how a table of one's own and the
            /// scheduler's find each other.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.page_id(0), Some(page));
            /// assert_eq!(scheduler.page_id(1), None);
            /// # Ok::<(), Error>(())
            /// ```
            fn page_id(index: usize) -> Option<PageId>;

            /// The host at this place of the host table; `None` if there is none. Hosts count from
            /// 0.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// assert_eq!(scheduler.host_id(host.index()), Some(host));
            /// # Ok::<(), Error>(())
            /// ```
            fn host_id(index: usize) -> Option<HostId>;

            /// The host whose gate a page waits at.
            ///
            /// # Errors
            /// [`Error::UnknownPage`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.host_of(page), Ok(host));
            /// # Ok::<(), Error>(())
            /// ```
            fn host_of(page: PageId) -> Result<HostId, Error>;

            /// When the gate of a host opens; `None` if it is open, or if a fetch is under way.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.opens(host), None);
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// scheduler.record(page, Outcome::Unchanged, now)?;
            /// assert!(scheduler.opens(host) >= Some(now + Duration::from_secs(15)));
            /// # Ok::<(), Error>(())
            /// ```
            fn opens(host: HostId) -> Option<Instant>;

            /// The least time between two fetches from a host; `None` if there is no such host.
            fn gap(host: HostId) -> Option<Duration>;

            /// When the first of the pages is due that wait at the gate of a host; `None` if none
            /// does. Those that are being fetched do not wait.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert!(scheduler.first_due(host) <= Some(now), "a new page is due at once");
            /// # Ok::<(), Error>(())
            /// ```
            fn first_due(host: HostId) -> Option<Instant>;

            /// What is believed about a page's change rate.
            ///
            /// # Errors
            /// [`Error::UnknownPage`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// let settings = PageSettings::DEFAULT.with_rate(2.0);
            /// let page = scheduler.add_page(host, &settings, now)?;
            /// assert_eq!(scheduler.estimate(page)?.rate(), 2.0);
            /// # Ok::<(), Error>(())
            /// ```
            fn estimate(page: PageId) -> Result<Estimate, Error>;

            /// What is worth keeping of what a page has shown; see [`Self::restore_page`]. All of
            /// it counts here, where [`Self::estimate`] counts it as far as such records are
            /// trusted at present.
            ///
            /// # Errors
            /// [`Error::UnknownPage`]
            fn page_memo(page: PageId) -> Result<Estimate, Error>;

            /// How far what single pages have shown is trusted; see [`Self::restore_trust`].
            fn trust() -> Trust;

            /// When a page was last fetched with an answer, as far as this run knows.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.last_fetch(page), None);
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// scheduler.record(page, Outcome::Unchanged, now)?;
            /// assert_eq!(scheduler.last_fetch(page), Some(now));
            /// # Ok::<(), Error>(())
            /// ```
            fn last_fetch(page: PageId) -> Option<Instant>;

            /// What is worth keeping of a host; see [`Self::restore_host`].
            ///
            /// # Errors
            /// [`Error::UnknownHost`]
            fn host_memo(host: HostId) -> Result<HostMemo, Error>;

            /// What has happened so far.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// assert_eq!(scheduler.counters().get(Counter::Fetch), 1);
            /// # Ok::<(), Error>(())
            /// ```
            fn counters() -> &Counters;

            /// When the next fetch is due, for whoever wants to switch the radio off until then;
            /// `None` for never.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// scheduler.record(page, Outcome::Unchanged, now)?;
            /// assert!(scheduler.next_due() > Some(now));
            /// # Ok::<(), Error>(())
            /// ```
            fn next_due() -> Option<Instant>;

            /// What a fetch costs now, in weight × days of freshness.
            fn price() -> f32;

            /// Weighted mean freshness of all pages, as the last round of re-planning found it;
            /// `None` before that.
            fn freshness() -> Option<f32>;

            /// The freshness that present prices are heading for: the best there is, as far as
            /// rates are known. A page of which there is no copy, because it was asked for in vain or
            /// robots rules forbid it, counts as stale here, too.
            fn optimum() -> Option<f32>;

            /// Where re-planning is in the page table: what it has not come to yet follows old
            /// prices.
            fn next_page_to_review() -> usize;

            /// How many pages there are.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.pages(), 1);
            /// # Ok::<(), Error>(())
            /// ```
            fn pages() -> usize;
        }
    };
}

pub(super) use reading;
