//! The calls that change a scheduler. They are in the files of their subjects: `hosts`, `pages`,
//! `next`, `record`, `restore`.

macro_rules! changing {
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

            /// Tells the local time, once it is known and whenever it is known better: as the time
            /// since a midnight before the first fetch. Hours ([`Self::set_hours`]) go by its time
            /// of day; a clock of pages with an interval of its own begins at that midnight.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.set_clock(Duration::HOUR * 9, now); // it is nine in the morning
            /// # Ok::<(), Error>(())
            /// ```
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

            /// Lets so many pages be fetched for the first time before the budget allows it, as
            /// soon as politeness does: for the first round of a new list. They count: what comes
            /// after them waits until the budget has caught up.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let settings = Settings::DEFAULT.with_burst(1);
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(settings);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// scheduler.set_budget(Some(24.0), now)?;
            /// let first = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// let second = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.begin_ahead(2);
            /// assert_eq!(scheduler.next(now), Decision::Fetch(first));
            /// scheduler.record(first, Outcome::Unchanged, now)?;
            /// let soon = now + Duration::from_secs(16);
            /// assert_eq!(scheduler.next(soon), Decision::Fetch(second), "and not an hour later");
            /// # Ok::<(), Error>(())
            /// ```
            fn begin_ahead(fetches: u32);

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

            /// Fetches a page so long after its last fetch, whatever that is worth, as far as
            /// budget and politeness allow: for one whose owner wants it so. What came late is made
            /// up for as the [`Engine`](super::Engine) does. It holds for one fetch, and says
            /// nothing to a page that was never fetched.
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
            /// if let Decision::Fetch(page) = scheduler.next(now) {
            ///     scheduler.record(page, Outcome::Unchanged, now)?;
            ///     scheduler.fetch_after(page, Duration::HOUR)?;
            /// }
            /// let early = now + Duration::from_secs(3_500);
            /// assert!(!matches!(scheduler.next(early), Decision::Fetch(_)));
            /// let then = now + Duration::from_secs(3_601);
            /// assert_eq!(scheduler.next(then), Decision::Fetch(page));
            /// # Ok::<(), Error>(())
            /// ```
            fn fetch_after(page: PageId, gap: Duration) -> Result<(), Error>;

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

            /// The page has to be asked for at another host, and waits at the gate of that one from
            /// now on. Instead of [`record`](Self::record), it was not asked for where it was, and
            /// is still due; after it, it is due when it was.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], [`Error::UnknownHost`]
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
            /// What it had shown counts as far as such records are trusted, as before; see
            /// [`Self::restore_trust`]. A rate that its owner named is no more than the beginning
            /// of such a record; [`Self::believe`] it again for it to count in full.
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
            /// assert!((scheduler.estimate(page)?.rate() - 1.0).abs() < 0.01);
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

            /// Tells that somebody else has fetched a page so long ago, of which there is no copy here:
            /// it is due when it would be there, at the present price, and its next fetch teaches
            /// nothing.
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
            /// let daily = PageSettings::DEFAULT.with_rate(Some(1.0));
            /// let page = scheduler.add_page(host, &daily, now)?;
            /// scheduler.restore_price(0.1);
            /// scheduler.expect_page(page, Duration::HOUR, now)?;
            /// assert!(scheduler.next_due() > Some(now));
            /// # Ok::<(), Error>(())
            /// ```
            fn expect_page(page: PageId, fetched_ago: Duration, now: Instant) -> Result<(), Error>;

            /// Tells when a page was last fetched, once that is known: [`Self::restore_page`] could
            /// not be told. A page that has been fetched since stays as it is.
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
            /// let daily = Estimate::new(&Prior::new(1.0, 20.0));
            /// // Nobody knows the date yet, nor how long ago the page was fetched.
            /// scheduler.restore_page(page, daily, Duration::ZERO, false, now)?;
            /// // Now the date is known.
            /// scheduler.date_page(page, Duration::HOUR, now)?;
            /// assert!(scheduler.next_due() > Some(now));
            /// # Ok::<(), Error>(())
            /// ```
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

            /// Tells how far records of pages were trusted before a restart, before
            /// [`Self::restore_page`] brings them back. Without, they are believed in full until
            /// visits have put them to the test.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # let before: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// use dunlin::learn::Trust;
            ///
            /// let parts = before.trust().parts(); // into flash, and back after a restart
            /// if let Some(trust) = Trust::from_parts(parts) {
            ///     scheduler.restore_trust(trust);
            /// }
            /// ```
            fn restore_trust(trust: Trust);

            /// Tells what a fetch cost before a restart, so that prices need not be found again.
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::from_secs(15))?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.restore_price(0.02);
            /// assert_eq!(scheduler.price(), 0.02);
            /// # Ok::<(), Error>(())
            /// ```
            fn restore_price(price: f32);
        }
    };
}

pub(super) use changing;
