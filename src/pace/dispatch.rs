//! Who is next when a crawler falls idle: de Souza's phase 3 (2007, §2.3).
//!
//! Every host has a queue of crawls with the times they should start at. A crawl may start once its
//! time has come and its host's last one lies the politeness gap behind, in the hours in which the
//! host may be fetched from; of those that may, the most delayed is next, and of equally delayed
//! ones that of the smaller host number.

use core::fmt;

use crate::heap::{Id, SliceHeap};
use crate::time::{Duration, Hours, Instant};

use super::merge::PlannedCrawl;

/// A host's part of the updates, and its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Queue {
    /// Index of its next update.
    pub next: u32,
    /// Index behind its last update.
    pub end: u32,
    /// The least time between the starts of two of its crawls.
    pub gap: Duration,
    /// When its crawls may start; time 0 is midnight.
    pub hours: Hours,
}

impl Queue {
    /// `at`, or when its hours begin.
    fn opens(&self, at: Instant) -> Instant {
        at + self.hours.wait(at - Instant::ZERO)
    }
}

/// What to start, and for which host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Start<I> {
    /// The host that is asked.
    pub host: I,
    /// The page as the update names it, and the time it was to start at.
    pub update: PlannedCrawl,
}

/// The heaps given have no room for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NoRoom {
    /// Number of the first host that did not fit.
    pub host: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "host {} does not fit the heaps: give both room for every host",
            self.host
        )
    }
}

impl core::error::Error for NoRoom {}

/// Hands out updates to crawlers that fall idle.
///
/// A call costs O(log m) for m hosts, plus O(log m) for each host whose gap or hours ended since
/// the call before; over a whole schedule that is O(log m) an update.
///
/// ```
/// use dunlin::heap::{Entry, SliceHeap};
/// use dunlin::pace::dispatch::{Dispatch, Queue};
/// use dunlin::pace::merge::PlannedCrawl;
/// use dunlin::time::{Duration, Instant};
///
/// let second = |n| Instant::ZERO + Duration::from_secs(n);
/// let crawl = |at, page| PlannedCrawl { at: second(at), page };
/// let updates = [crawl(1, 7), crawl(2, 8)];
/// let mut queues = [Queue { next: 0, end: 2, gap: Duration::from_secs(15), ..Queue::default() }];
/// let (mut entries, mut places) = ([[Entry::UNUSED]; 2], [[0_u16]; 2]);
/// let [first, second_entries] = &mut entries;
/// let [place, second_place] = &mut places;
/// let mut dispatch = Dispatch::new(
///     &updates,
///     &mut queues,
///     SliceHeap::with_storage(first, place),
///     SliceHeap::with_storage(second_entries, second_place),
/// )?;
/// assert_eq!(dispatch.next(second(0)), None);
/// assert_eq!(dispatch.next(second(3)).map(|start| start.update.page), Some(7));
/// assert_eq!(dispatch.next(second(3)), None);
/// assert_eq!(dispatch.wake(), Some(second(18)));
/// assert_eq!(dispatch.next(second(18)).map(|start| start.update.page), Some(8));
/// # Ok::<(), dunlin::pace::dispatch::NoRoom>(())
/// ```
#[derive(Debug)]
pub struct Dispatch<'a, I> {
    updates: &'a [PlannedCrawl],
    queues: &'a mut [Queue],
    /// Hosts with nothing to start yet, by when they will have.
    waiting: SliceHeap<'a, Instant, I>,
    /// Hosts that may be fetched from, by the time their next update was meant for.
    free: SliceHeap<'a, Instant, I>,
    /// The latest moment seen.
    now: Instant,
}

impl<'a, I: Id> Dispatch<'a, I> {
    /// Over the queues of all hosts, each a range of `updates` in order of time; the heaps are
    /// emptied.
    ///
    /// # Errors
    /// [`NoRoom`] if a heap is too small.
    pub fn new(
        updates: &'a [PlannedCrawl],
        queues: &'a mut [Queue],
        mut waiting: SliceHeap<'a, Instant, I>,
        mut free: SliceHeap<'a, Instant, I>,
    ) -> Result<Self, NoRoom> {
        waiting.clear();
        free.clear();
        for (host, queue) in queues.iter().enumerate() {
            let id = I::from_index(host).ok_or(NoRoom { host })?;
            // Tried on both: whatever fits each of them alone will also fit when hosts move over.
            free.push(id, Instant::ZERO).map_err(|_| NoRoom { host })?;
            if let Some(update) = pending(updates, queue) {
                waiting
                    .push(id, queue.opens(update.at))
                    .map_err(|_| NoRoom { host })?;
            }
        }
        free.clear();
        Ok(Self {
            updates,
            queues,
            waiting,
            free,
            now: Instant::ZERO,
        })
    }

    /// The most delayed update that may start now, if there is one. It counts as started. A moment
    /// before that of an earlier call counts as that one: several crawlers may not have asked in
    /// order.
    pub fn next(&mut self, now: Instant) -> Option<Start<I>> {
        self.now = self.now.max(now);
        let now = self.now;
        while let Some(entry) = self
            .waiting
            .peek()
            .copied()
            .filter(|entry| entry.key <= now)
        {
            self.waiting.pop();
            if let Some(update) = self
                .queues
                .get(entry.id.index())
                .and_then(|queue| pending(self.updates, queue))
            {
                let _ = self.free.push(entry.id, update.at);
            }
        }
        loop {
            let host = self.free.pop()?.id;
            let queue = self.queues.get_mut(host.index())?;
            let opens = queue.opens(now);
            if opens > now {
                // Its hours ended while all crawlers were busy.
                let _ = self.waiting.push(host, opens);
                continue;
            }
            let update = *pending(self.updates, queue)?;
            queue.next += 1;
            if let Some(following) = pending(self.updates, queue) {
                let _ = self
                    .waiting
                    .push(host, queue.opens(following.at.max(now + queue.gap)));
            }
            return Some(Start { host, update });
        }
    }

    /// From when on [`Self::next`] will have something: a moment that may have passed, or `None`
    /// when all is done.
    pub fn wake(&self) -> Option<Instant> {
        match self.free.peek() {
            Some(entry) => Some(entry.key),
            None => self.waiting.peek().map(|entry| entry.key),
        }
    }
}

fn pending<'a>(updates: &'a [PlannedCrawl], queue: &Queue) -> Option<&'a PlannedCrawl> {
    updates
        .get(queue.next as usize)
        .filter(|_| queue.next < queue.end)
}
