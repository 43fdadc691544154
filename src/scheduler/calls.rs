//! The calls of a scheduler, written down once for all that have them.
//!
//! `calls!` lists them with their documentation, as a trait would. It is no trait, so that nobody
//! has to import one, and so that no signature names the types behind it. A call that changes
//! something borrows the tables as a [`Core`](super::state::Core); what is done there is in the file
//! of its subject: `hosts`, `pages`, `next`, `record`, `restore`, `replan`. One that only looks is
//! in [`read`](super::read).

#[cfg(doc)]
use super::Counter;
#[cfg(feature = "std")]
use super::LargeScheduler;
use super::read::Read;
use super::{
    Counters, Decision, Error, HostId, HostMemo, Outcome, PageId, PageSettings, Scheduler,
    SchedulerView, Settings,
};
use crate::learn::Estimate;
use crate::learn::hints::Hint;
use crate::polite::Hours;
use crate::time::{Duration, Instant};

/// The public calls of a type that has `core` and `read`: `documented` in full, or `brief`, with a
/// link to [`Scheduler`](super::Scheduler)'s.
macro_rules! calls {
    ($form:ident) => {
        $form! {
            changing:
            /// Other settings than those it was made with: before the first host is added, for a
            /// scheduler that has to be in static memory before its settings are known.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// scheduler.set_settings(Settings::DEFAULT.with_burst(1));
            /// ```
            fn set_settings(settings: Settings);

            /// Adds a host with the least time between two fetches from it.
            ///
            /// # Errors
            /// [`Error::HostsFull`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// let host = scheduler.add_host(Duration::from_secs(15))?;
            /// assert_eq!(scheduler.gap(host), Some(Duration::from_secs(15)));
            /// # Ok::<(), Error>(())
            /// ```
            fn add_host(gap: Duration) -> Result<HostId, Error>;

            /// Makes `host` wait at the gate of `with`: both are one server. Its pages move over,
            /// its own gap is forgotten unless it is the longer one; allowed hours are those of
            /// `with`.
            ///
            /// # Errors
            /// Unknown hosts, and [`Error::HostBusy`] while a page of either is being fetched.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// let other_name = scheduler.add_host(Duration::from_secs(60))?;
            /// scheduler.share_gate(other_name, host)?;
            /// assert_eq!(scheduler.gap(host), Some(Duration::from_secs(60)));
            /// # Ok::<(), Error>(())
            /// ```
            fn share_gate(host: HostId, with: HostId) -> Result<(), Error>;

            /// Another least gap, as when robots rules with a Crawl-delay were read; see
            /// [`crate::polite::gap`]. Counts from the next fetch.
            ///
            /// # Errors
            /// [`Error::UnknownHost`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// let crawl_delay = Some(Duration::from_secs(30));
            /// scheduler.set_gap(host, dunlin::polite::gap(Duration::from_secs(15), crawl_delay))?;
            /// assert_eq!(scheduler.gap(host), crawl_delay);
            /// # Ok::<(), Error>(())
            /// ```
            fn set_gap(host: HostId, gap: Duration) -> Result<(), Error>;

            /// Restricts a host to local hours. While the time of day is not known (see
            /// [`Self::set_clock`]) it is not fetched from at all, unless
            /// [`Settings::fetch_without_clock`] says otherwise; [`Counter::SkippedByClock`] counts
            /// how often that held a page back, once an hour at most.
            ///
            /// # Errors
            /// [`Error::UnknownHost`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// use dunlin::polite::Hours;
            ///
            /// let night = Hours::new(22, 6).expect("hours of a day");
            /// scheduler.set_hours(host, night)?;
            /// scheduler.set_clock(Duration::HOUR * 12, now);
            /// assert!(!matches!(scheduler.next(now), Decision::Fetch(_)));
            /// let evening = now + Duration::HOUR * 10 + Duration::from_secs(1);
            /// assert_eq!(scheduler.next(evening), Decision::Fetch(page));
            /// # Ok::<(), Error>(())
            /// ```
            fn set_hours(host: HostId, hours: Hours) -> Result<(), Error>;

            /// Tells the local time of day, once it is known and whenever it is known better; see
            /// [`Self::set_hours`].
            fn set_clock(time_of_day: Duration, now: Instant);

            /// Fetches a day, over all hosts; `None` for what politeness allows. May change at any
            /// time; what was saved up under the old budget does not become a burst. Less than one
            /// in two years counts as that.
            ///
            /// # Errors
            /// [`Error::Budget`] unless it is a number above 0.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// scheduler.set_budget(Some(2_000.0), now)?;
            /// assert_eq!(scheduler.set_budget(Some(-1.0), now), Err(Error::Budget));
            /// # Ok::<(), Error>(())
            /// ```
            fn set_budget(per_day: Option<f32>, now: Instant) -> Result<(), Error>;

            /// Adds a page that has not been fetched yet. It is fetched as soon as budget and
            /// politeness allow, heavier pages first.
            ///
            /// # Errors
            /// [`Error::PagesFull`], [`Error::UnknownHost`], or a weight or rate that is none.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// let light = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// let important = PageSettings::DEFAULT.with_weight(10.0);
            /// let heavy = scheduler.add_page(host, &important, now)?;
            /// assert_eq!(scheduler.next(now), Decision::Fetch(heavy));
            /// # Ok::<(), Error>(())
            /// ```
            fn add_page(host: HostId, page: &PageSettings, now: Instant) -> Result<PageId, Error>;

            /// Removes a page and forgets it. Its id may soon be another page's.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], also while it is being fetched: record its outcome first.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.remove_page(page)?;
            /// assert_eq!(scheduler.next(now), Decision::Idle);
            /// # Ok::<(), Error>(())
            /// ```
            fn remove_page(page: PageId) -> Result<(), Error>;

            /// Changes a page's importance.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], [`Error::Weight`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.set_weight(page, 3.0)?;
            /// assert_eq!(scheduler.set_weight(page, 0.0), Err(Error::Weight));
            /// # Ok::<(), Error>(())
            /// ```
            fn set_weight(page: PageId, weight: f32) -> Result<(), Error>;

            /// What a source says about a page: it has changed, or it is expected to. How much that
            /// counts is learnt for each of the first eight hosts that send hints, and for the
            /// others together: one that cries wolf is soon ignored. What is expected later than
            /// the page's next fetch counts for nothing: that fetch will bring a newer hint.
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
            /// use dunlin::learn::hints::Hint;
            ///
            /// scheduler.hint(page, Hint::Changed(now), now)?;
            /// assert_eq!(scheduler.counters().get(Counter::Hint), 1);
            /// # Ok::<(), Error>(())
            /// ```
            fn hint(page: PageId, hint: Hint, now: Instant) -> Result<(), Error>;

            /// What to do now.
            ///
            /// A page that it asks for is in flight until [`Self::record`] or [`Self::hand_over`]
            /// is told what became of it; nothing else is fetched from its host meanwhile.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// assert_eq!(scheduler.next(now), Decision::Idle, "until its outcome is recorded");
            /// scheduler.record(page, Outcome::Unchanged, now)?;
            /// assert!(matches!(scheduler.next(now), Decision::WaitUntil(_)));
            /// # Ok::<(), Error>(())
            /// ```
            fn next(now: Instant) -> Decision;

            /// Tells what became of a fetch.
            ///
            /// # Errors
            /// [`Error::NotInFlight`]: [`Self::next`] did not ask for this page, or its outcome has
            /// been recorded already.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// if let Decision::Fetch(page) = scheduler.next(now) {
            ///     scheduler.record(page, Outcome::Changed { modified_ago: None }, now)?;
            ///     let twice = scheduler.record(page, Outcome::Unchanged, now);
            ///     assert_eq!(twice, Err(Error::NotInFlight));
            /// }
            /// # Ok::<(), Error>(())
            /// ```
            fn record(page: PageId, outcome: Outcome, now: Instant) -> Result<(), Error>;

            /// Instead of [`record`](Self::record): the page has to be asked for at another host,
            /// and was not asked for at this one. It is still due, and waits at the gate of that
            /// host from now on.
            ///
            /// # Errors
            /// [`Error::NotInFlight`], [`Error::UnknownHost`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// let moved_to = scheduler.add_host(Duration::from_secs(15))?;
            /// assert_eq!(scheduler.next(now), Decision::Fetch(page));
            /// scheduler.hand_over(page, moved_to, now)?;
            /// assert_eq!(scheduler.host_of(page), Ok(moved_to));
            /// # Ok::<(), Error>(())
            /// ```
            fn hand_over(page: PageId, to: HostId, now: Instant) -> Result<(), Error>;

            /// Tells what had been learnt of a page before a restart, and how long ago it was last
            /// fetched. It is then due when it would have been; nothing is made up for.
            ///
            /// Where nobody knows how long the device was off, `fetched_ago` is what is known,
            /// `certain` is false, and the page's next fetch teaches nothing: an interval that
            /// nobody knows is not guessed.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], also while it is being fetched.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// use dunlin::learn::{Estimate, Prior};
            ///
            /// let once_a_day = Estimate::new(&Prior::new(1.0, 20.0));
            /// scheduler.restore_page(page, once_a_day, Duration::HOUR, true, now)?;
            /// assert_eq!(scheduler.estimate(page), Ok(once_a_day));
            /// # Ok::<(), Error>(())
            /// ```
            fn restore_page(
                page: PageId,
                estimate: Estimate,
                fetched_ago: Duration,
                certain: bool,
                now: Instant
            ) -> Result<(), Error>;

            /// Believes something else of a page, and changes nothing besides: for reading several
            /// versions of a belief, of which only the last counts. [`Self::restore_page`] comes
            /// next.
            ///
            /// # Errors
            /// [`Error::UnknownPage`]
            fn believe(page: PageId, estimate: Estimate) -> Result<(), Error>;

            /// Tells when a page was last fetched, once that is known: [`Self::restore_page`] could
            /// not be told. A page that has been fetched since stays as it is.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], also while it is being fetched.
            fn date_page(page: PageId, fetched_ago: Duration, now: Instant) -> Result<(), Error>;

            /// Tells what was kept of a host. Its gate stays as open as it is; see
            /// [`Self::close_until`].
            ///
            /// # Errors
            /// [`Error::UnknownHost`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// let memo = scheduler.host_memo(host)?; // into flash, and back after a restart
            /// scheduler.restore_host(host, &memo, now)?;
            /// # Ok::<(), Error>(())
            /// ```
            fn restore_host(host: HostId, memo: &HostMemo, now: Instant) -> Result<(), Error>;

            /// Leaves a host alone until then, at least: after a restart, for nobody knows when it
            /// was last asked.
            ///
            /// # Errors
            /// [`Error::UnknownHost`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// let then = now + Duration::from_secs(15);
            /// scheduler.close_until(host, then)?;
            /// assert!(!matches!(scheduler.next(now), Decision::Fetch(_)));
            /// assert!(scheduler.opens(host) >= Some(then));
            /// # Ok::<(), Error>(())
            /// ```
            fn close_until(host: HostId, then: Instant) -> Result<(), Error>;

            /// Tells what a fetch cost before a restart, so that prices need not be found again.
            fn restore_price(price: f32);

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
            fn opens(host: HostId) -> Option<Instant>;

            /// The least time between two fetches from a host; `None` if there is no such host.
            fn gap(host: HostId) -> Option<Duration>;

            /// When the first of the pages is due that wait at the gate of a host; `None` if none
            /// does. Those that are being fetched do not wait.
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

            /// When a page was last fetched with an answer, as far as this run knows.
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
            fn next_due() -> Option<Instant>;

            /// What a fetch costs now, in weight × days of freshness.
            fn price() -> f32;

            /// Weighted mean freshness of all pages, as the last round of re-planning found it;
            /// `None` before that.
            fn freshness() -> Option<f32>;

            /// The freshness that present prices are heading for: the best there is, as far as
            /// rates are known.
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

macro_rules! documented {
    (
        changing: $($(#[$doc:meta])* fn $change:ident($($given:ident: $of:ty),*) $(-> $gives:ty)?;)*
        reading: $($(#[$about:meta])* fn $read:ident($($key:ident: $kind:ty),*) -> $found:ty;)*
    ) => {
        $(
            $(#[$doc])*
            pub fn $change(&mut self, $($given: $of),*) $(-> $gives)? {
                self.core().$change($($given),*)
            }
        )*
        $(
            $(#[$about])*
            pub fn $read(&self, $($key: $kind),*) -> $found {
                Read::$read(self.read(), $($key),*)
            }
        )*
    };
}

macro_rules! brief {
    (
        changing: $($(#[$doc:meta])* fn $change:ident($($given:ident: $of:ty),*) $(-> $gives:ty)?;)*
        reading: $($(#[$about:meta])* fn $read:ident($($key:ident: $kind:ty),*) -> $found:ty;)*
    ) => {
        $(
            #[doc = concat!("See [`Scheduler::", stringify!($change), "`].")]
            pub fn $change(&mut self, $($given: $of),*) $(-> $gives)? {
                self.core().$change($($given),*)
            }
        )*
        $(
            #[doc = concat!("See [`Scheduler::", stringify!($read), "`].")]
            pub fn $read(&self, $($key: $kind),*) -> $found {
                Read::$read(self.read(), $($key),*)
            }
        )*
    };
}

impl<const PAGES: usize, const HOSTS: usize> Scheduler<PAGES, HOSTS> {
    calls!(documented);
}

impl SchedulerView<'_> {
    calls!(brief);
}

#[cfg(feature = "std")]
impl LargeScheduler {
    calls!(brief);
}
