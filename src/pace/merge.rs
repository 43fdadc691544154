//! Polite times for one host's crawls: de Souza's MERGE (2007, §2.2), and a spread that stays
//! closer to the ideal.
//!
//! The ideal times of a page crawled `x` times in an interval `T` are `j T/(x+1)`. The pages of one
//! host want the same moments, and a polite crawler has to keep a gap between any two. MERGE keeps
//! only the order of the ideal times and puts the crawl of rank `q` at `q T/(1 + Σx)`. On a host
//! that is crawled as often as politeness allows, that is a hair less than the gap; both functions
//! here then space crawls by the gap itself.
//!
//! [`spread`] improves on it in two steps. Crawls move no further from their ideal times than the
//! gap makes necessary, which alone closes most of the distance to the bound on hosts with time to
//! spare. Then crawls of different pages exchange their moments as long as that lowers the cost: on
//! a full host nearly all pages want the middle of the interval, and it should go to those that
//! lose most at its ends.

use core::fmt;

use crate::math::Real;
use crate::time::{Duration, Instant};

/// One crawl: a moment, counted from the start of the interval, and the index of the page among its
/// host's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlannedCrawl {
    /// When it should start.
    pub at: Instant,
    /// The page, by its index.
    pub page: u32,
}

/// Scratch memory of [`spread`]: the crawls of the same page before and after, and all crawls page
/// by page.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpreadScratch {
    before: u32,
    after: u32,
    by_page: u32,
}

/// Which moments [`spread`] hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moments {
    /// As near to the ideal times as the gap allows. Best where crawlers have time to spare.
    Ideal,
    /// Evenly over the interval, as MERGE does. For crawlers that are busy all the time: hosts that
    /// all prefer the middle of the interval would leave them idle at its ends and late in between.
    Even,
}

/// No crawl of the same page before or after.
const NONE: u32 = u32::MAX;

/// How often [`spread`] looks for exchanges over all distances. A second round gains a tenth of
/// what the first did.
const ROUNDS: u32 = 1;

/// Why no times were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MergeError {
    /// The interval has no room for that many crawls at the given gap: plan fewer, or allow a
    /// smaller gap.
    TooMany {
        /// Crawls of all pages.
        crawls: u64,
        /// How many the interval has room for.
        room: u64,
    },
    /// The slices given are too short for the crawls.
    Storage {
        /// Crawls of all pages.
        needed: u64,
        /// Length of the shorter slice.
        given: u64,
    },
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { crawls, room } => {
                write!(
                    f,
                    "{crawls} crawls of one host, but the politeness gap leaves room for {room}"
                )
            }
            Self::Storage { needed, given } => {
                write!(f, "{needed} crawls do not fit storage for {given}")
            }
        }
    }
}

impl core::error::Error for MergeError {}

/// de Souza's MERGE for the pages of one host: `crawls[page]` times for each, in order of time,
/// ties by page.
///
/// O(Σx log Σx); the times written are at least `gap` apart.
///
/// ```
/// use dunlin::pace::merge::{PlannedCrawl, merge};
/// use dunlin::time::Duration;
///
/// // Figure 1 of the paper: one crawl of the first page, three of the second, at T/5 … 4T/5.
/// let mut updates = [PlannedCrawl::default(); 4];
/// let times = merge(&[1, 3], Duration::from_secs(5), Duration::ZERO, &mut updates)?;
/// assert_eq!(times.iter().map(|update| update.page).collect::<Vec<_>>(), [1, 0, 1, 1]);
/// assert_eq!(times[2].at.as_micros(), 3_000_000);
/// # Ok::<(), dunlin::pace::merge::MergeError>(())
/// ```
///
/// # Errors
/// Too many crawls for the gap, or too little storage; then nothing is written.
pub fn merge<'a>(
    crawls: &[u32],
    interval: Duration,
    gap: Duration,
    updates: &'a mut [PlannedCrawl],
) -> Result<&'a mut [PlannedCrawl], MergeError> {
    let updates = ideal(crawls, interval, gap, updates)?;
    space_evenly(updates, interval, gap);
    Ok(updates)
}

/// Rank `q` at `q T/(1 + Σx)`, or as near to that as the gap allows.
fn space_evenly(updates: &mut [PlannedCrawl], interval: Duration, gap: Duration) {
    let count = updates.len() as u64;
    let even = interval / (count + 1);
    if even >= gap {
        // Multiplied first: the even spacing itself is not a whole number of microseconds.
        for (rank, update) in (1..).zip(updates.iter_mut()) {
            update.at = Instant::ZERO + fraction(interval, rank, count + 1);
        }
    } else {
        let first = (interval - gap * count.saturating_sub(1)) / 2;
        for (rank, update) in (0..).zip(updates.iter_mut()) {
            update.at = Instant::ZERO + first + gap * rank;
        }
    }
}

/// The improved spread: as [`merge`], but each crawl as near to its ideal time as politeness
/// permits.
///
/// `cost(page, gap)` is what a gap of that length between crawls of the page costs: for freshness
/// the weight times the integral of staleness over it. It must be convex in the gap. `links` is
/// scratch of the length of `updates`.
///
/// O(Σx log Σx), with 8 calls of `cost` for each crawl and each power of two below Σx.
///
/// # Errors
/// As for [`merge`].
pub fn spread<'a, F: Real>(
    moments: Moments,
    crawls: &[u32],
    interval: Duration,
    gap: Duration,
    updates: &'a mut [PlannedCrawl],
    links: &mut [SpreadScratch],
    cost: impl Fn(u32, Duration) -> F,
) -> Result<&'a mut [PlannedCrawl], MergeError> {
    let room = updates.len().min(links.len());
    let updates = ideal(
        crawls,
        interval,
        gap,
        updates.get_mut(..room).unwrap_or_default(),
    )?;
    let links = links.get_mut(..updates.len()).unwrap_or_default();
    match moments {
        Moments::Even => space_evenly(updates, interval, gap),
        Moments::Ideal => keep_apart(updates, links, interval, gap),
    }
    link_pages(updates, links);
    for _ in 0..ROUNDS {
        let mut distance = (updates.len() / 2).next_power_of_two();
        while distance > 0 {
            for first in 0..updates.len().saturating_sub(distance) {
                exchange(updates, links, (first, first + distance), interval, &cost);
            }
            distance /= 2;
        }
    }
    Ok(updates)
}

/// Writes the ideal times, sorted.
fn ideal<'a>(
    crawls: &[u32],
    interval: Duration,
    gap: Duration,
    updates: &'a mut [PlannedCrawl],
) -> Result<&'a mut [PlannedCrawl], MergeError> {
    let needed = crawls.iter().map(|count| u64::from(*count)).sum();
    let room = interval.as_micros().div_ceil(gap.as_micros().max(1));
    if needed > room && !gap.is_zero() {
        return Err(MergeError::TooMany {
            crawls: needed,
            room,
        });
    }
    let given = updates.len();
    let fit = usize::try_from(needed)
        .ok()
        .and_then(|needed| updates.get_mut(..needed));
    let Some(updates) = fit else {
        return Err(MergeError::Storage {
            needed,
            given: given as u64,
        });
    };
    let all = (0..).zip(crawls).flat_map(|(page, &count)| {
        (1..=u64::from(count))
            .map(move |crawl| (page, fraction(interval, crawl, u64::from(count) + 1)))
    });
    for (update, (page, time)) in updates.iter_mut().zip(all) {
        *update = PlannedCrawl {
            at: Instant::ZERO + time,
            page,
        };
    }
    updates.sort_unstable();
    Ok(updates)
}

/// `interval · part / whole`, rounded down, without overflow.
pub(super) fn fraction(interval: Duration, part: u64, whole: u64) -> Duration {
    let whole = whole.max(1);
    let each = interval.as_micros() / whole;
    let rest = interval.as_micros() % whole;
    Duration::from_micros(
        each.saturating_mul(part)
            .saturating_add(rest.saturating_mul(part) / whole),
    )
}

/// The times with the given gaps that are nearest to the ideal ones in the sum of squares.
///
/// With `q` gaps taken off the time of rank `q` that is an isotonic regression: neighbours out of
/// order are pooled at their mean. A pool is noted at its first crawl: its mean as the time there,
/// the pool before and its size in the links.
fn keep_apart(
    updates: &mut [PlannedCrawl],
    links: &mut [SpreadScratch],
    interval: Duration,
    gap: Duration,
) {
    let count = updates.len() as u64;
    let mut last = NONE;
    for index in 0..updates.len() {
        // One gap for each crawl that follows, instead of one less for each before: never below
        // zero.
        let own = gap * (count - 1 - index as u64);
        let Some(update) = updates.get_mut(index) else {
            return;
        };
        update.at += own;
        let mut pool = (update.at, 1);
        let mut start = index as u32;
        while let (Some(above), Some(link)) = (updates.get(last as usize), links.get(last as usize))
        {
            if above.at < pool.0 {
                break;
            }
            let size = link.after + pool.1;
            let shift = fraction(above.at - pool.0, u64::from(pool.1), u64::from(size));
            pool = (above.at - shift, size);
            start = last;
            last = link.before;
        }
        if let (Some(update), Some(link)) = (
            updates.get_mut(start as usize),
            links.get_mut(start as usize),
        ) {
            update.at = pool.0;
            link.before = last;
            link.after = pool.1;
        }
        last = start;
    }
    // Half a gap at both ends, if there is room: then the times can be repeated interval after
    // interval.
    let length = gap * count.saturating_sub(1);
    let margin = gap.min(interval - length) / 2;
    let earliest = Instant::ZERO + length + margin;
    let latest = Instant::ZERO + (interval - margin);
    let mut index = 0;
    while let (Some(update), Some(link)) = (updates.get(index), links.get(index)) {
        let mean = update.at.min(latest).max(earliest);
        let size = link.after as usize;
        for (rank, update) in (index as u64..).zip(updates.iter_mut().skip(index).take(size)) {
            update.at = mean - gap * (count - 1 - rank);
        }
        index += size.max(1);
    }
}

/// Links each crawl with those of the same page before and after.
fn link_pages(updates: &[PlannedCrawl], links: &mut [SpreadScratch]) {
    for (index, link) in (0..).zip(links.iter_mut()) {
        *link = SpreadScratch {
            before: NONE,
            after: NONE,
            by_page: index,
        };
    }
    links.sort_unstable_by_key(|link| {
        (
            updates.get(link.by_page as usize).map(|update| update.page),
            link.by_page,
        )
    });
    for rank in 1..links.len() {
        let at = |rank: usize| links.get(rank).map_or(NONE, |link| link.by_page);
        let first = at(rank - 1);
        let second = at(rank);
        let page = |index: u32| updates.get(index as usize).map(|update| update.page);
        if page(first) == page(second) {
            join(links, first, second);
        }
    }
}

/// Notes that two crawls of a page follow each other; either may be missing.
fn join(links: &mut [SpreadScratch], before: u32, after: u32) {
    if let Some(link) = links.get_mut(before as usize) {
        link.after = after;
    }
    if let Some(link) = links.get_mut(after as usize) {
        link.before = before;
    }
}

/// Lets two crawls of different pages exchange their moments if that lowers the cost of the gaps
/// around them.
fn exchange<F: Real>(
    updates: &mut [PlannedCrawl],
    links: &mut [SpreadScratch],
    (first, second): (usize, usize),
    interval: Duration,
    cost: &impl Fn(u32, Duration) -> F,
) -> Option<()> {
    let early = *updates.get(first)?;
    let late = *updates.get(second)?;
    let around_early = *links.get(first)?;
    let around_late = *links.get(second)?;
    // Neither may jump over another crawl of its own page (nor are two crawls of one page worth
    // exchanging).
    if around_early.after <= second as u32
        || (around_late.before != NONE && around_late.before >= first as u32)
    {
        return None;
    }
    let end = Instant::ZERO + interval;
    let around = |page: u32, at: Instant, link: SpreadScratch| {
        let before = updates
            .get(link.before as usize)
            .map_or(Instant::ZERO, |update| update.at);
        let after = updates
            .get(link.after as usize)
            .map_or(end, |update| update.at);
        cost(page, at - before) + cost(page, after - at)
    };
    let now = around(early.page, early.at, around_early) + around(late.page, late.at, around_late);
    let then = around(early.page, late.at, around_early) + around(late.page, early.at, around_late);
    // Not for rounding errors: an exchange that gains nothing could be undone for nothing.
    if then < now * (F::ONE - F::EPSILON * F::from_u32(8)) {
        updates.get_mut(first)?.page = late.page;
        updates.get_mut(second)?.page = early.page;
        for (index, link) in [(first, around_late), (second, around_early)] {
            join(links, link.before, index as u32);
            join(links, index as u32, link.after);
        }
    }
    Some(())
}
