//! Slot assignment against an oracle that tries every assignment, and the sweep against the exact
//! method.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::transport::{
    self, Column, Cost, Crawl, NONE, SlotPrice, TimeSlot, TransportError,
};
use dunlin::time::{Duration, Instant};
use proptest::prelude::*;

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn assign(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    allowed: impl Fn(usize, usize) -> bool,
) -> Result<(Cost, Vec<u32>), TransportError> {
    let mut slot_of = vec![NONE; crawls.len()];
    let mut columns = vec![Column::UNUSED; slots.len()];
    let cost = transport::assign(
        crawls,
        slots,
        allowed,
        &mut columns,
        &mut vec![0; crawls.len()],
        &mut slot_of,
    )?;
    Ok((cost, slot_of))
}

fn sweep(crawls: &[Crawl], slots: &[TimeSlot]) -> Result<(Cost, Vec<u32>), TransportError> {
    let mut slot_of = vec![NONE; crawls.len()];
    let mut prices = vec![SlotPrice::UNUSED; slots.len()];
    let mut first = vec![Entry::UNUSED; crawls.len()];
    let mut second = vec![Entry::UNUSED; slots.len()];
    let mut places = vec![0; crawls.len()];
    let mut more = vec![0; slots.len()];
    let mut by_gain = SliceHeap::with_storage(&mut first[..], &mut places[..]);
    let mut by_cost = SliceHeap::with_storage(&mut second[..], &mut more[..]);
    let cost = transport::sweep(
        crawls,
        slots,
        &mut by_gain,
        &mut by_cost,
        &mut prices,
        &mut slot_of,
    )?;
    Ok((cost, slot_of))
}

/// Tries everything: the least total cost of all crawls, or the first that cannot be placed with
/// those before it.
fn exhaustive(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    allowed: &dyn Fn(usize, usize) -> bool,
) -> Result<u64, usize> {
    fn least(
        crawls: &[Crawl],
        slots: &[TimeSlot],
        allowed: &dyn Fn(usize, usize) -> bool,
        next: usize,
        taken: u32,
    ) -> Option<u64> {
        let Some(crawl) = crawls.get(next) else {
            return Some(0);
        };
        (0..slots.len())
            .filter(|slot| taken >> slot & 1 == 0 && allowed(next, *slot))
            .filter(|slot| !crawl.not_before || slots[*slot].at >= crawl.at)
            .filter_map(|slot| {
                let cost = crawl.at.as_micros().abs_diff(slots[slot].at.as_micros());
                Some(cost + least(crawls, slots, allowed, next + 1, taken | 1 << slot)?)
            })
            .min()
    }
    least(crawls, slots, allowed, 0, 0).ok_or_else(|| {
        (0..crawls.len())
            .find(|last| least(&crawls[..=*last], slots, allowed, 0, 0).is_none())
            .unwrap()
    })
}

/// The assignment is one: every crawl a slot of its own that it may use, at the cost stated.
fn check(
    crawls: &[Crawl],
    slots: &[TimeSlot],
    cost: Cost,
    slot_of: &[u32],
) -> Result<(), TestCaseError> {
    let mut taken = vec![false; slots.len()];
    let mut total = 0;
    for (crawl, slot) in crawls.iter().zip(slot_of) {
        let slot = *slot as usize;
        prop_assert!(
            !std::mem::replace(&mut taken[slot], true),
            "slot {slot} is taken twice"
        );
        prop_assert!(!crawl.not_before || slots[slot].at >= crawl.at, "too early");
        total += crawl.at.as_micros().abs_diff(slots[slot].at.as_micros());
    }
    prop_assert_eq!(cost.total.as_micros(), total);
    prop_assert!(cost.bound <= cost.total);
    Ok(())
}

fn crawls(
    count: impl Into<prop::collection::SizeRange>,
    end: u64,
) -> impl Strategy<Value = Vec<Crawl>> {
    prop::collection::vec((0..end, prop::bool::weighted(0.35)), count).prop_map(|mut crawls| {
        crawls.sort_unstable();
        crawls
            .into_iter()
            .map(|(time, not_before)| Crawl {
                at: at(time),
                not_before,
            })
            .collect()
    })
}

fn slots(
    count: impl Into<prop::collection::SizeRange>,
    end: u64,
) -> impl Strategy<Value = Vec<TimeSlot>> {
    prop::collection::vec((0..end, 0..3_u32), count).prop_map(|mut slots| {
        slots.sort_unstable();
        slots
            .into_iter()
            .map(|(time, crawler)| TimeSlot {
                at: at(time),
                crawler,
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// With releases and forbidden slots, the exact method finds what trying everything finds.
    #[test]
    fn equals_trying_everything(crawls in crawls(1..=6, 30), slots in slots(1..=7, 30), forbidden: u64) {
        let allowed = |crawl: usize, slot: usize| forbidden.rotate_right((crawl * 7 + slot) as u32) & 3 != 0;
        match (assign(&crawls, &slots, allowed), exhaustive(&crawls, &slots, &allowed)) {
            (Ok((cost, slot_of)), Ok(least)) => {
                check(&crawls, &slots, cost, &slot_of)?;
                prop_assert!(slot_of.iter().enumerate().all(|(crawl, slot)| allowed(crawl, *slot as usize)));
                prop_assert_eq!(cost.total.as_micros(), least);
            }
            (Err(TransportError::NoSlot { crawl }), Err(first)) => prop_assert_eq!(crawl, first),
            (ours, theirs) => prop_assert!(false, "{:?} but {:?}", ours, theirs),
        }
    }

    /// The sweep costs what the exact method costs, proves it, and refuses the same crawl.
    #[test]
    fn sweep_is_exact_and_proves_it(crawls in crawls(1..=40, 200), slots in slots(1..=80, 260)) {
        match (sweep(&crawls, &slots), assign(&crawls, &slots, |_, _| true)) {
            (Ok((cost, slot_of)), Ok((exact, _))) => {
                check(&crawls, &slots, cost, &slot_of)?;
                prop_assert_eq!(cost.total, exact.total);
                prop_assert_eq!(cost.bound, exact.total);
            }
            (ours, theirs) => prop_assert_eq!(ours.map(|_| ()), theirs.map(|_| ())),
        }
    }
}

#[test]
fn refuses_what_it_cannot_place_or_read() {
    let one = [TimeSlot {
        at: at(5),
        crawler: 0,
    }];
    let crawl = |time, not_before| Crawl {
        at: at(time),
        not_before,
    };
    let no_slot = |crawl| TransportError::NoSlot { crawl };
    assert_eq!(sweep(&[crawl(6, true)], &one).unwrap_err(), no_slot(0));
    assert_eq!(
        assign(&[crawl(6, true)], &one, |_, _| true).unwrap_err(),
        no_slot(0)
    );
    assert_eq!(
        sweep(&[crawl(1, false), crawl(2, false)], &one).unwrap_err(),
        no_slot(1)
    );
    assert_eq!(
        assign(&[crawl(1, false)], &one, |_, _| false).unwrap_err(),
        no_slot(0)
    );
    assert_eq!(
        sweep(&[crawl(2, false), crawl(1, false)], &one).unwrap_err(),
        TransportError::Unsorted { index: 1 }
    );
    let mut room = [TimeSlot::default(); 2];
    assert!(matches!(
        transport::slots(&[2, 1], Duration::from_secs(1), &mut room),
        Err(TransportError::Storage {
            slice: "slots",
            needed: 3,
            given: 2
        })
    ));
}
