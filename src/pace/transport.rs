//! Which crawler takes which crawl, and when: Wolf's transportation problem (2002, §3).
//!
//! Crawler `k` can do `S_k` crawls in the interval, in slots that start at `(l − 1) T/S_k`. A crawl
//! that was meant for `t*` costs `|t − t*|` in the slot at `t`; one that waits for an expected
//! change (quasi-deterministic) costs `t − t*` and cannot be early. Every crawl is to have a slot
//! of its own at the least total cost.
//!
//! | | [`assign`] | [`sweep`] |
//! |---|---|---|
//! | result | exact | exact in all our tests, and with a bound that proves it each time |
//! | forbidden slots | yes | no |
//! | size | thousands | millions |
//! | time | O(crawls² · slots) at worst, far less when crawls are near their slots | O(n log n) |

use core::fmt;

use crate::heap::SliceHeap;
use crate::time::{Duration, Instant};

use super::slot_price;
pub use super::slot_price::SlotPrice;

/// A moment at which a crawler can start a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TimeSlot {
    /// When the slot begins.
    pub at: Instant,
    /// The crawler whose slot it is.
    pub crawler: u32,
}

/// A crawl to be placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Crawl {
    /// When it should start.
    pub at: Instant,
    /// Is it of no use any earlier? True for quasi-deterministic pages.
    pub not_before: bool,
}

impl Crawl {
    /// What the slot would cost this crawl, in microseconds; `None` if it would be too early.
    pub(super) fn cost(&self, slot: TimeSlot) -> Option<i64> {
        (!self.not_before || slot.at >= self.at)
            .then(|| micros(self.at).abs_diff(micros(slot.at)) as i64)
    }
}

/// Microseconds as a signed number; far beyond any schedule they are all the same.
pub(super) fn micros(at: Instant) -> i64 {
    at.as_micros().min(1 << 52) as i64
}

/// No slot yet, or no crawl.
pub const NONE: u32 = u32::MAX;

/// Why crawls were not assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TransportError {
    /// There is no slot for this crawl, whatever is done about those before it.
    NoSlot {
        /// Index of the first crawl that cannot be placed.
        crawl: usize,
    },
    /// A slice is too short.
    Storage {
        /// What the slice is for.
        slice: &'static str,
        /// The length that is needed.
        needed: usize,
        /// The length that was given.
        given: usize,
    },
    /// The crawls, or the slots, are not in order of time.
    Unsorted {
        /// Index of the first that is earlier than the one before.
        index: usize,
    },
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSlot { crawl } => {
                write!(
                    f,
                    "crawl {crawl} cannot be placed: all slots it may use are needed by earlier \
                     ones"
                )
            }
            Self::Storage {
                slice,
                needed,
                given,
            } => {
                write!(f, "storage for {slice} holds {given}, expected {needed}")
            }
            Self::Unsorted { index } => {
                write!(
                    f,
                    "number {index} is earlier than the one before: sort by time"
                )
            }
        }
    }
}

impl core::error::Error for TransportError {}

/// What an assignment costs in total, and what any must cost at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cost {
    /// Sum of the distances between slots and ideal times.
    pub total: Duration,
    /// No assignment can have a smaller sum: the value of a feasible solution of the dual problem.
    pub bound: Duration,
}

/// Writes the slots of crawlers that can do so many crawls each in the interval, in order of time;
/// returns how many.
///
/// ```
/// use dunlin::pace::transport::{TimeSlot, slots};
/// use dunlin::time::Duration;
///
/// let mut room = [TimeSlot::default(); 5];
/// let all = slots(&[3, 2], Duration::from_secs(6), &mut room)?;
/// let at = all.iter().map(|slot| (slot.at.as_micros() / 1_000_000, slot.crawler));
/// assert!(at.eq([(0, 0), (0, 1), (2, 0), (3, 1), (4, 0)]));
/// # Ok::<(), dunlin::pace::transport::TransportError>(())
/// ```
///
/// # Errors
/// The slice is too short.
pub fn slots<'a>(
    speeds: &[u32],
    interval: Duration,
    room: &'a mut [TimeSlot],
) -> Result<&'a [TimeSlot], TransportError> {
    let needed = speeds
        .iter()
        .map(|count| *count as usize)
        .fold(0, usize::saturating_add);
    let given = room.len();
    let Some(room) = room.get_mut(..needed) else {
        return Err(TransportError::Storage {
            slice: "slots",
            needed,
            given,
        });
    };
    let all = (0..).zip(speeds).flat_map(|(crawler, &count)| {
        let start = move |slot: u64| {
            Instant::ZERO + super::merge::fraction(interval, slot, u64::from(count))
        };
        (0..u64::from(count)).map(move |slot| TimeSlot {
            at: start(slot),
            crawler,
        })
    });
    for (place, slot) in room.iter_mut().zip(all) {
        *place = slot;
    }
    room.sort_unstable();
    Ok(room)
}

/// Scratch memory of [`assign`]: one for each slot.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    price: i64,
    distance: i64,
    crawl: u32,
    via: u32,
    settled: bool,
}

impl Column {
    /// What the slice is filled with.
    pub const UNUSED: Self = Self {
        price: 0,
        distance: i64::MAX,
        crawl: NONE,
        via: NONE,
        settled: false,
    };
}

/// The least total cost exactly, by shortest augmenting paths (Jonker and Volgenant 1987), for any
/// crawls and slots and any pairs forbidden: `allowed(crawl, slot)` by index. Writes the slot of
/// each crawl to `slot_of`.
///
/// `columns` has one place for each slot, `gains` one for each crawl.
///
/// # Errors
/// A crawl that cannot be placed together with all before it, or slices that are too short.
pub fn assign(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    allowed: impl Fn(usize, usize) -> bool,
    columns: &mut [Column],
    gains: &mut [i64],
    slot_of: &mut [u32],
) -> Result<Cost, TransportError> {
    let columns = cut(columns, "columns", slots.len())?;
    let gains = cut(gains, "gains", crawls.len())?;
    let slot_of = cut(slot_of, "slot_of", crawls.len())?;
    columns.fill(Column::UNUSED);
    gains.fill(0);
    let cost = |crawl: usize, slot: usize| {
        let wanted = crawls.get(crawl)?;
        let offered = slots.get(slot)?;
        wanted.cost(*offered).filter(|_| allowed(crawl, slot))
    };
    for crawl in 0..crawls.len() {
        let end =
            shortest_path(crawl, columns, gains, &cost).ok_or(TransportError::NoSlot { crawl })?;
        augment(crawl, end, columns, gains);
    }
    let mut total = 0_u64;
    for (slot, column) in columns.iter().enumerate() {
        let crawl = column.crawl as usize;
        if let (Some(place), Some(cost)) = (slot_of.get_mut(crawl), cost(crawl, slot)) {
            *place = slot as u32;
            total = total.saturating_add(cost.unsigned_abs());
        }
    }
    // Gains and prices are a dual solution of the same value: that is what the method ends with.
    let total = Duration::from_micros(total);
    Ok(Cost {
        total,
        bound: total,
    })
}

fn cut<'a, T>(
    slice: &'a mut [T],
    name: &'static str,
    needed: usize,
) -> Result<&'a mut [T], TransportError> {
    let given = slice.len();
    slice.get_mut(..needed).ok_or(TransportError::Storage {
        slice: name,
        needed,
        given,
    })
}

/// The free slot that is nearest to a crawl when others may be moved on (Dijkstra on reduced
/// costs).
fn shortest_path(
    crawl: usize,
    columns: &mut [Column],
    gains: &[i64],
    cost: &impl Fn(usize, usize) -> Option<i64>,
) -> Option<usize> {
    for column in columns.iter_mut() {
        column.distance = i64::MAX;
        column.via = NONE;
        column.settled = false;
    }
    let mut row = crawl;
    let mut via = NONE;
    let mut base = 0;
    loop {
        let gain = *gains.get(row)?;
        let mut nearest: Option<(i64, usize)> = None;
        for (slot, column) in columns
            .iter_mut()
            .enumerate()
            .filter(|(_, column)| !column.settled)
        {
            if let Some(cost) = cost(row, slot) {
                let distance = base + cost - gain - column.price;
                if distance < column.distance {
                    column.distance = distance;
                    column.via = via;
                }
            }
            if column.distance < nearest.map_or(i64::MAX, |nearest| nearest.0) {
                nearest = Some((column.distance, slot));
            }
        }
        let (distance, slot) = nearest?;
        let column = columns.get_mut(slot)?;
        column.settled = true;
        if column.crawl == NONE {
            return Some(slot);
        }
        row = column.crawl as usize;
        via = slot as u32;
        base = distance;
    }
}

/// Moves crawls along the path that ends in a free slot, and the prices with them.
fn augment(crawl: usize, end: usize, columns: &mut [Column], gains: &mut [i64]) {
    let length = columns.get(end).map_or(0, |column| column.distance);
    for column in columns
        .iter_mut()
        .filter(|column| column.settled && column.crawl != NONE)
    {
        column.price += column.distance - length;
        if let Some(gain) = gains.get_mut(column.crawl as usize) {
            *gain += length - column.distance;
        }
    }
    if let Some(gain) = gains.get_mut(crawl) {
        *gain += length;
    }
    let mut slot = end;
    while let Some(via) = columns.get(slot).map(|column| column.via) {
        let mover = columns
            .get(via as usize)
            .map_or(crawl as u32, |column| column.crawl);
        if let Some(column) = columns.get_mut(slot) {
            column.crawl = mover;
        }
        slot = via as usize;
    }
}

/// A crawl or a slot, in order of time. A crawl comes before a slot of the same time, so that it
/// can take it.
pub(super) enum CrawlOrSlot {
    Crawl(usize, Crawl),
    Slot(usize, TimeSlot),
}

/// Both lists as one, in order of time.
pub(super) fn events<'a>(
    crawls: &'a [Crawl],
    slots: &'a [TimeSlot],
) -> impl Iterator<Item = CrawlOrSlot> + use<'a> {
    let mut crawl = 0;
    let mut slot = 0;
    core::iter::from_fn(move || match (crawls.get(crawl), slots.get(slot)) {
        (Some(next), other) if other.is_none_or(|slot| next.at <= slot.at) => {
            crawl += 1;
            Some(CrawlOrSlot::Crawl(crawl - 1, *next))
        }
        (_, Some(next)) => {
            slot += 1;
            Some(CrawlOrSlot::Slot(slot - 1, *next))
        }
        _ => None,
    })
}

/// The same from the end, a slot before a crawl of the same time.
pub(super) fn events_backwards<'a>(
    crawls: &'a [Crawl],
    slots: &'a [TimeSlot],
) -> impl Iterator<Item = CrawlOrSlot> + use<'a> {
    let mut crawls_left = crawls;
    let mut slots_left = slots;
    core::iter::from_fn(
        move || match (crawls_left.split_last(), slots_left.split_last()) {
            (next, Some((slot, rest))) if next.is_none_or(|(crawl, _)| crawl.at <= slot.at) => {
                slots_left = rest;
                Some(CrawlOrSlot::Slot(rest.len(), *slot))
            }
            (Some((crawl, rest)), _) => {
                crawls_left = rest;
                Some(CrawlOrSlot::Crawl(rest.len(), *crawl))
            }
            _ => None,
        },
    )
}

/// More than any distance: what it is worth to have a slot at all.
const MUST: i64 = 1 << 56;

/// The least total cost for crawls and slots sorted by time, in one sweep over both, with a proof.
///
/// Two heaps hold what could still be improved: for each crawl what it would gain by moving on to a
/// later slot, for each slot what it would cost a later crawl to get it, moving others on where
/// necessary. Which slots are used settles the rest: left to right, a crawl that may be early fills
/// the oldest slot still empty, and a slot takes the oldest crawl still waiting. The bound comes
/// from slot prices that the result itself suggests.
///
/// `by_gain` has room for every crawl, `by_cost` for every slot, `prices` one place for each slot.
///
/// # Errors
/// Lists out of order, a crawl that cannot be placed together with all before it, slices that are
/// too short.
pub fn sweep(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    by_gain: &mut SliceHeap<'_, i64, u32>,
    by_cost: &mut SliceHeap<'_, i64, u32>,
    prices: &mut [SlotPrice],
    slot_of: &mut [u32],
) -> Result<Cost, TransportError> {
    sorted(crawls.iter().map(|crawl| crawl.at))?;
    sorted(slots.iter().map(|slot| slot.at))?;
    if let Some(crawl) = first_left_over(crawls, slots) {
        return Err(TransportError::NoSlot { crawl });
    }
    let prices = cut(prices, "prices", slots.len())?;
    let slot_of = cut(slot_of, "slot_of", crawls.len())?;
    choose_slots(crawls, slots, by_gain, by_cost, prices, slot_of)?;
    let total = fill_slots(crawls, slots, prices, slot_of);
    let bound = slot_price::bound(crawls, slots, prices, slot_of).clamp(0, total);
    Ok(Cost {
        total: Duration::from_micros(total.unsigned_abs()),
        bound: Duration::from_micros(bound.unsigned_abs()),
    })
}

fn sorted(times: impl Iterator<Item = Instant>) -> Result<(), TransportError> {
    let mut last = Instant::ZERO;
    for (index, time) in times.enumerate() {
        if time < last {
            return Err(TransportError::Unsorted { index });
        }
        last = time;
    }
    Ok(())
}

/// The first crawl that cannot be placed with all before it: more crawls than slots, or more that
/// cannot be early than slots from some moment on (these sets are nested, so counting is enough).
fn first_left_over(crawls: &[Crawl], slots: &[TimeSlot]) -> Option<usize> {
    let mut passed = 0;
    let mut spare = usize::MAX;
    for (index, crawl) in crawls.iter().enumerate() {
        if index >= slots.len() {
            return Some(index);
        }
        if crawl.not_before {
            passed += slots
                .iter()
                .skip(passed)
                .take_while(|slot| slot.at < crawl.at)
                .count();
            match spare.min(slots.len() - passed).checked_sub(1) {
                Some(less) => spare = less,
                None => return Some(index),
            }
        }
    }
    None
}

/// Marks the slots to use in `prices`.
fn choose_slots(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    by_gain: &mut SliceHeap<'_, i64, u32>,
    by_cost: &mut SliceHeap<'_, i64, u32>,
    prices: &mut [SlotPrice],
    freed: &mut [u32],
) -> Result<(), TransportError> {
    by_gain.clear();
    by_cost.clear();
    prices.fill(SlotPrice::UNUSED);
    let short = |slice, needed, given| TransportError::Storage {
        slice,
        needed,
        given,
    };
    for event in events(crawls, slots) {
        match event {
            CrawlOrSlot::Crawl(index, crawl) => {
                let at = micros(crawl.at);
                // The slot behind that costs least; a crawl that cannot be early has to move on.
                let slot = if crawl.not_before {
                    None
                } else {
                    by_cost.pop()
                };
                let (behind, cost) = slot.map_or((NONE, MUST), |entry| (entry.id, entry.key));
                mark(prices, behind, true);
                if let Some(place) = freed.get_mut(index) {
                    *place = behind;
                }
                let held = by_gain.len();
                by_gain
                    .push(index as u32, -cost - 2 * at)
                    .map_err(|_| short("by_gain", crawls.len(), held))?;
            }
            CrawlOrSlot::Slot(index, slot) => {
                let at = micros(slot.at);
                let held = by_cost.len();
                let mut offer = (index as u32, -at);
                if let Some(entry) = by_gain.peek().copied().filter(|entry| entry.key + at < 0) {
                    by_gain.pop();
                    mark(prices, offer.0, true);
                    // What it leaves can be had again, by one that pays for its way back.
                    let behind = freed.get(entry.id as usize).copied().unwrap_or(NONE);
                    mark(prices, behind, false);
                    offer = (behind, -entry.key - 2 * at);
                }
                if offer.0 != NONE {
                    by_cost
                        .push(offer.0, offer.1)
                        .map_err(|_| short("by_cost", slots.len(), held))?;
                }
            }
        }
    }
    Ok(())
}

fn mark(prices: &mut [SlotPrice], slot: u32, used: bool) {
    if let Some(price) = prices.get_mut(slot as usize) {
        price.used = used;
    }
}

/// Fills the slots marked and returns the total cost.
fn fill_slots(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    prices: &mut [SlotPrice],
    slot_of: &mut [u32],
) -> i64 {
    slot_of.fill(NONE);
    let mut waiting = 0_usize;
    let mut empty = 0_usize;
    let mut oldest_crawl = 0;
    let mut oldest_slot = 0;
    let mut total = 0_i64;
    let mut pair = |crawl: usize, slot: usize, slot_of: &mut [u32], prices: &mut [SlotPrice]| {
        if let (Some(place), Some(price)) = (slot_of.get_mut(crawl), prices.get_mut(slot)) {
            *place = slot as u32;
            price.filled = true;
        }
        let cost = crawls
            .get(crawl)
            .zip(slots.get(slot))
            .and_then(|(crawl, slot)| crawl.cost(*slot));
        total = total.saturating_add(cost.unwrap_or(MUST));
    };
    let mut seen = 0;
    for event in events(crawls, slots) {
        match event {
            CrawlOrSlot::Crawl(index, crawl) => {
                seen = index + 1;
                if crawl.not_before || empty == 0 {
                    waiting += 1;
                } else {
                    while prices
                        .get(oldest_slot)
                        .is_some_and(|price| !price.used || price.filled)
                    {
                        oldest_slot += 1;
                    }
                    empty -= 1;
                    pair(index, oldest_slot, slot_of, prices);
                }
            }
            CrawlOrSlot::Slot(index, _) if prices.get(index).is_some_and(|price| price.used) => {
                if waiting == 0 {
                    empty += 1;
                } else {
                    while oldest_crawl < seen
                        && slot_of.get(oldest_crawl).is_some_and(|slot| *slot != NONE)
                    {
                        oldest_crawl += 1;
                    }
                    waiting -= 1;
                    pair(oldest_crawl, index, slot_of, prices);
                }
            }
            CrawlOrSlot::Slot(..) => {}
        }
    }
    total
}
