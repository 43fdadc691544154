//! The transportation problem: every crawl at its ideal time, moved to a slot of a crawler by as
//! little as possible in total (Wolf §3).

use std::collections::HashMap;

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::transport::{self, Column, Cost, Crawl, SlotPrice, TimeSlot, TransportError};
use dunlin::plan::PlanPage;
use dunlin::time::{Duration, Instant};

use super::{Args, Visit, at_updates, whole_crawls};
use crate::error::Error;
use crate::lists::last;
use crate::lists::listing::Listing;
use crate::output;
use crate::planning::gate_hours;

/// Crawls times slots up to which forbidden slots are minded exactly: seconds of work.
const EXACT: usize = 25_000_000;
/// The fraction whose multiples stay farthest apart.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Crawls in their slots.
pub struct Assigned {
    /// One for each crawl.
    pub visits: Vec<Visit>,
    /// Whether all are in slots that hours and closed times allow; else they are yet to be moved.
    pub open: bool,
}

/// Whole crawls at their ideal times, assigned to slots.
pub fn assign(
    args: &Args,
    listing: &Listing,
    pages: &[PlanPage<'_, f64>],
    speeds: &[u32],
) -> Result<Assigned, Error> {
    let counts = whole_crawls(args, listing, pages)?;
    let mut wanted = wanted(args, listing, &counts)?;
    wanted.sort_unstable();
    let crawls: Vec<Crawl> = wanted.iter().map(|(crawl, _)| *crawl).collect();
    let mut slots = vec![TimeSlot::default(); speeds.iter().map(|speed| *speed as usize).sum()];
    let failed = |error: TransportError| match error {
        TransportError::NoSlot { crawl } => {
            let url = &listing.list.pages[wanted[crawl].1 as usize].url;
            let time = crawls[crawl].at.as_micros() as f64 / 1e6;
            Error::Usage(format!(
                "{url}: found no slot for the crawl at {time} s, expected one at or after it"
            ))
        }
        error => Error::Usage(error.to_string()),
    };
    transport::slots(speeds, args.interval, &mut slots).map_err(failed)?;
    let mut slot_of = vec![0; crawls.len()];
    let restricted =
        !args.closed.is_empty() || listing.gates.iter().any(|gate| gate.hours.is_some());
    let exact = crawls.len().saturating_mul(slots.len()) <= EXACT;
    let minded = (restricted && exact).then(|| {
        let allowed = |crawl: usize, slot: usize| {
            let at = slots[slot].at;
            let gate = &listing.gates[listing.gate_of_page(wanted[crawl].1 as usize)];
            gate_hours(gate).wait(at - Instant::ZERO).is_zero()
                && !args.closed.iter().any(|closed| closed.holds(at))
        };
        let mut columns = vec![Column::UNUSED; slots.len()];
        let mut gains = vec![0; crawls.len()];
        transport::assign(
            &crawls,
            &slots,
            allowed,
            &mut columns,
            &mut gains,
            &mut slot_of,
        )
    });
    // Where open slots do not suffice, crawls wait for later ones; so they do where there are too
    // many to be exact.
    let (cost, open) = match minded {
        Some(Ok(cost)) => (cost, true),
        _ => {
            let cost = sweep(&crawls, &slots, &mut slot_of).map_err(failed)?;
            (cost, !restricted)
        }
    };
    let total = cost.total.as_secs_f64();
    let bound = cost.bound.as_secs_f64();
    output::say(format_args!(
        "crawls are {total:.3} s from their ideal times in total; no assignment can do with less than {bound:.3} s"
    ));
    if !open {
        let why = if exact {
            "open slots do not suffice"
        } else {
            "there are too many crawls to mind hours and closed times exactly"
        };
        output::say(format_args!("{why}: crawls wait until their time is open"));
    }
    let visit = |(slot, page): (&u32, u32)| Visit {
        at: slots[*slot as usize].at,
        crawler: slots[*slot as usize].crawler,
        page,
    };
    Ok(Assigned {
        visits: slot_of
            .iter()
            .zip(wanted.iter().map(|wanted| wanted.1))
            .map(visit)
            .collect(),
        open,
    })
}

/// Where no slot is forbidden: one sweep over time.
fn sweep(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    slot_of: &mut [u32],
) -> Result<Cost, TransportError> {
    let mut entries = vec![Entry::UNUSED; crawls.len()];
    let mut places = vec![0; crawls.len()];
    let mut more_entries = vec![Entry::UNUSED; slots.len()];
    let mut more_places = vec![0; slots.len()];
    let mut by_gain = SliceHeap::with_storage(&mut entries[..], &mut places[..]);
    let mut by_cost = SliceHeap::with_storage(&mut more_entries[..], &mut more_places[..]);
    let mut prices = vec![SlotPrice::UNUSED; slots.len()];
    transport::sweep(
        crawls,
        slots,
        &mut by_gain,
        &mut by_cost,
        &mut prices,
        slot_of,
    )
}

/// Each page's crawls at their ideal times, with the page.
fn wanted(args: &Args, listing: &Listing, counts: &[u32]) -> Result<Vec<(Crawl, u32)>, Error> {
    let last = match &args.last {
        Some(path) => last::read(path, &listing.list)?,
        None => vec![None; counts.len()],
    };
    let mut wanted: Vec<(Crawl, u32)> = Vec::new();
    let mut phases = Phases::default();
    for (page, &count) in counts.iter().enumerate() {
        let listed = &listing.list.pages[page];
        let crawl = |at, not_before| (Crawl { at, not_before }, page as u32);
        if let Some(moments) = at_updates(args, listed, count)? {
            wanted.extend(moments.into_iter().map(|at| crawl(at, true)));
        } else if count > 0 {
            let gap = args.interval / u64::from(count);
            let first = match last[page] {
                Some(last_s) => after(last_s, gap, args.interval),
                None => phases.next(count, gap),
            };
            let even = (0..u64::from(count)).map(|rank| Instant::ZERO + first + gap * rank);
            wanted.extend(even.map(|at| crawl(at, false)));
        }
    }
    Ok(wanted)
}

/// The first ideal time of a page: a gap after its last crawl, which was so many seconds into the
/// interval before. At once if that is over already, and never later than a gap from now.
fn after(last_s: f64, gap: Duration, interval: Duration) -> Duration {
    let seconds = last_s + gap.as_secs_f64() - interval.as_secs_f64();
    Duration::from_secs_f64(seconds.max(0.0)).min(gap)
}

/// First ideal times of pages whose last crawl is not known: among pages of the same count each
/// where the others leave most room.
#[derive(Default)]
struct Phases(HashMap<u32, f64>);

impl Phases {
    fn next(&mut self, count: u32, gap: Duration) -> Duration {
        // Counts start apart from each other, too.
        let start = (f64::from(count) * GOLDEN).fract();
        let phase = self.0.entry(count).or_insert(start);
        *phase = (*phase + GOLDEN).fract();
        Duration::from_secs_f64(*phase * gap.as_secs_f64())
    }
}
