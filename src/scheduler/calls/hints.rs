//! The calls about what hosts say of their pages. They are in `hint` and in
//! [`read`](super::super::read).

/// The calls that change something.
macro_rules! hinting {
    ($form:ident) => {
        $form! {
            changing:
            /// What a source says about a page: it has changed, or it is expected to. How much that
            /// counts is learnt for each of the first eight hosts that send hints (on a computer,
            /// 256), and for the others together: one that cries wolf is soon ignored. Until it is
            /// clear that a host tells the truth, it has no more visits than it would have if it
            /// said nothing, so that one that always lies costs other hosts next to nothing. What is
            /// expected later than the page's next fetch counts for nothing: that fetch will bring a
            /// newer hint.
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

            /// A page beside this one, of the same host and directory, was found changed: this one
            /// may have changed, too (Cho §8.1, sampling). How often that turns out to be so,
            /// beyond what the page's own rate explains, is learnt for each host; until it is
            /// clearly more than chance, no visit is moved. Nothing is learnt for a host that sends
            /// hints itself, or for which no record is left.
            ///
            /// Whether it pays depends on the pages. Where documents come in four languages that
            /// change together, more than 15 % less of the time is stale; on 598 documents of 260
            /// services as they are, freshness changed by −0.0013 to +0.0002, at 6 to 180 visits a
            /// page and year. So no probe keeps which pages are beside each other: only `dunlin
            /// simulate` calls this, and its `--compare` shows what it would bring on a list.
            ///
            /// # Errors
            /// [`Error::UnknownPage`]
            ///
            /// ```
            /// # use dunlin::scheduler::*;
            /// # use dunlin::time::{Duration, Instant};
            /// # let now = Instant::ZERO;
            /// # let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
            /// # let host = scheduler.add_host(Duration::ZERO)?;
            /// # let page = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// # let sibling = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
            /// scheduler.hint_sibling(sibling, now)?;
            /// assert!(scheduler.is_told(sibling) && !scheduler.is_told(page));
            /// # Ok::<(), Error>(())
            /// ```
            fn hint_sibling(page: PageId, now: Instant) -> Result<(), Error>;

            /// Plans when a page is fetched again that says when others of its host changed, and
            /// has just been fetched: the more there is to be told, and the truer that turns out to
            /// be, the sooner; but at most a quarter of the visits that its host has goes to it.
            /// What a fetch of it found has to be recorded as
            /// [`Outcome::Redirected`](crate::scheduler::Outcome::Redirected), which says nothing
            /// of its rate.
            ///
            /// # Errors
            /// [`Error::UnknownPage`], also while it is being fetched.
            fn pace_teller(page: PageId, now: Instant) -> Result<(), Error>;
        }
    };
}

/// The calls that only look.
macro_rules! told {
    ($form:ident) => {
        $form! {
            reading:
            /// Has something been said about a page since its last fetch?
            fn is_told(page: PageId) -> bool;

            /// What the signals of a page's host have turned out to be worth; `None` if it has sent
            /// none, or has no record of its own.
            fn provider_of(page: PageId) -> Option<Provider>;

            /// Visits a day that the signals of a page's host save: what its pages would ask for
            /// without them, less what they do ask for, tellers included. Below 0, it cannot have
            /// what it asks for, unless it has proven to tell the truth.
            fn saved_by_hints(page: PageId) -> f32;
        }
    };
}

pub(super) use {hinting, told};
