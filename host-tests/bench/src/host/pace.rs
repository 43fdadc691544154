//! In what order: steps a second of the carousel, de Souza's experiment at full size, a million
//! crawls assigned.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::carousel::{Carousel, Seat};
use dunlin::pace::transport::{self, Crawl, SlotPrice, TimeSlot};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;
use dunlin_suite::bench::pace::Listing;
use host_tests::desouza::{Setup, run};

use super::{Row, grouped, seconds};

/// All of the room's rows.
pub fn rows(rows: &mut Vec<Row>) {
    carousel(rows);
    assignment(rows);
    desouza(rows);
}

/// de Souza's experiment at full size, the greedy plan and all policies included.
fn desouza(rows: &mut Vec<Row>) {
    let mut found = None;
    let time = seconds(1, || found = Some(run(Setup::PAPER)));
    let Some(found) = found else { return };
    let above = |staleness: f64| (staleness / found.bound - 1.0) * 100.0;
    let row = |what: &str, ours, unit, other, limit: &str| Row {
        room: "pace",
        what: format!("de Souza, 1,000,000 pages, θ = 1: {what}"),
        ours,
        unit,
        other,
        limit: limit.into(),
        grows: None,
    };
    rows.push(row("all policies", time, "s", None, "<= 60"));
    let merge = above(found.merge);
    rows.push(row("MERGE above the bound", merge, "%", None, "1.5 to 4"));
    let mut ours = |what, ours, merge| {
        rows.push(row(
            what,
            ours,
            "%",
            Some(("MERGE", merge)),
            &format!("<= {merge}"),
        ));
    };
    ours("spread above the bound", above(found.spread), merge);
    ours(
        "the same, dispatched to 10 crawlers",
        above(found.spread_dispatched),
        above(found.merge_dispatched),
    );
}

/// Wolf's set-up: 10 crawlers, a million crawls that fill every slot, 20 % of them
/// quasi-deterministic. No smaller ones beside it: of a few crawls that fill every slot, some are
/// released after the last slot that is left.
fn assignment(rows: &mut Vec<Row>) {
    let count = 1_000_000;
    let mut random = Random(5);
    let mut slots = vec![TimeSlot::default(); count];
    let _ = transport::slots(&[count as u32 / 10; 10], Duration::DAY, &mut slots);
    let day = Duration::DAY.as_micros();
    let mut crawls: Vec<Crawl> = (0..count)
        .map(|_| {
            // Expected changes come at whole minutes.
            let not_before = random.below(5) == 0;
            let at = if not_before {
                u64::from(random.below(24 * 60)) * 60_000_000
            } else {
                random.next_u64() % day
            };
            Crawl {
                at: Instant::from_micros(at),
                not_before,
            }
        })
        .collect();
    crawls.sort_unstable();
    let mut entries = vec![Entry::UNUSED; count];
    let mut places = vec![0; count];
    let mut more_entries = vec![Entry::UNUSED; count];
    let mut more_places = vec![0; count];
    let mut prices = vec![SlotPrice::UNUSED; count];
    let mut slot_of = vec![0; count];
    let mut found = None;
    let time = seconds(1, || {
        let mut by_gain = SliceHeap::with_storage(&mut entries[..], &mut places[..]);
        let mut by_cost = SliceHeap::with_storage(&mut more_entries[..], &mut more_places[..]);
        found = transport::sweep(
            &crawls,
            &slots,
            &mut by_gain,
            &mut by_cost,
            &mut prices,
            &mut slot_of,
        )
        .ok();
    });
    let Some(cost) = found else { return };
    let total = cost.total.as_secs_f64();
    let bound = cost.bound.as_secs_f64();
    let row = |what: &str, ours, unit, limit: &str| Row {
        room: "pace",
        what: format!(
            "slots for {} crawls, 10 crawlers, 20 % quasi: {what}",
            grouped(count)
        ),
        ours,
        unit,
        other: None,
        limit: limit.into(),
        grows: None,
    };
    rows.push(row("time", time, "s", "near-linear"));
    rows.push(row(
        "mean distance from the ideal time",
        total / count as f64,
        "s",
        "",
    ));
    rows.push(row(
        "proven distance from the optimum",
        (total / bound - 1.0) * 100.0,
        "%",
        "<= 0.5",
    ));
}

/// Slots of pages of random rates, all of them taken.
fn carousel(rows: &mut Vec<Row>) {
    for pages in [1_000, 10_000, 100_000, 1_000_000_u32] {
        let mut random = Random(7);
        let weights: Vec<f64> = (0..pages)
            .map(|_| f64::from(random.unit()) + 0.01)
            .collect();
        let sum: f64 = weights.iter().sum();
        let n = pages as usize;
        let mut carousel: Carousel<u64, u32, _, _, _> = Carousel::with_storage(
            vec![Seat::UNUSED; n],
            vec![Entry::UNUSED; n],
            vec![0; 2 * n],
        );
        for (page, weight) in (0..pages).zip(&weights) {
            let _ = carousel.add(page, weight / sum);
        }
        const STEPS: usize = 3_000_000;
        carousel.slots().take(STEPS).for_each(drop);
        let time = seconds(3, || {
            carousel
                .slots()
                .take(STEPS)
                .flatten()
                .map(u64::from)
                .sum::<u64>()
        });
        let promise = if pages == 1_000_000 { ">= 1.5" } else { "" };
        rows.push(Row {
            room: "pace",
            what: format!("carousel, {} pages", grouped(n)),
            ours: STEPS as f64 / time / 1e6,
            unit: "M slots/s",
            other: Some(("the paper's O(n) listing", listing(&weights, sum) / 1e6)),
            limit: promise.into(),
            grows: None,
        });
        rows.push(Row {
            room: "pace",
            what: format!("a carousel slot, {} pages", grouped(n)),
            ours: 1e9 * time / STEPS as f64,
            unit: "ns",
            other: None,
            limit: String::new(),
            grows: Some((f64::from(pages), "O(log n), with caches")),
        });
    }
}

/// Slots a second of the paper's listing.
fn listing(weights: &[f64], sum: f64) -> f64 {
    let rates: Vec<f32> = weights.iter().map(|weight| (weight / sum) as f32).collect();
    let mut credit = vec![0.0; rates.len()];
    let mut listing = Listing {
        rates: &rates,
        credit: &mut credit,
    };
    let slots = (20_000_000 / rates.len()).max(10);
    let time = seconds(1, || {
        (0..slots)
            .map(|_| listing.next_slot().unwrap_or(0))
            .sum::<usize>()
    });
    slots as f64 / time
}
