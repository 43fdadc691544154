//! What storing costs: reads, erases, years.

use dunlin::store::{Partition, Store, StoreStep};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;
use futures_lite::future::block_on;
use host_tests::flash::Flash;

use crate::truth::Truth;

/// The reference layout: 512 KiB of 4 KiB sectors, rated for 10,000 cycles.
type Reference = Flash<128, 4096, 4>;
/// The same for 4,096 pages.
type Large = Flash<254, 4096, 4>;
/// Sectors of 128 KiB and words of 32 bytes, as in an STM32H7.
type Coarse = Flash<12, 131_072, 32>;

/// The probe makes so many fetches a day.
const PER_DAY: usize = 5_000;

/// Stores after visits that favour some pages; returns the most reads of one store, and the erases.
fn visits<F: Partition + Clone>(
    blank: F,
    pages: usize,
    count: usize,
    counts: impl Fn(&mut F) -> (u64, u64),
) -> (u64, u64)
where
    F::Error: std::fmt::Debug,
{
    let mut store = Store::new(blank);
    let mut truth = Truth::new(64, pages);
    let mut random = Random(3);
    let all = 65 + pages;
    assert!(
        all <= Store::<F>::places(),
        "{all} records, {} places",
        Store::<F>::places()
    );
    (0..all).for_each(|index| truth.change(index));
    let mut most = 0;
    let mut filled = 0;
    for visit in 0..count {
        let now = Instant::ZERO + Duration::DAY / PER_DAY as u64 * visit as u64;
        let unit = random.unit();
        truth.change((unit * unit * all as f32) as usize);
        if visit == all {
            filled = counts(store.flash()).1;
        }
        loop {
            let before = counts(store.flash()).0;
            let step = block_on(store.step(&truth, true, now)).expect("a flash that works");
            most = most.max(counts(store.flash()).0 - before);
            match step {
                StoreStep::Wrote => {}
                StoreStep::Idle => break,
                other => panic!("{other:?} after {visit} visits"),
            }
        }
        // A restart now and then: the store has to find its place again.
        if visit % 1_009 == 0 {
            store = Store::new(store.flash().clone());
            truth = Truth::new(64, pages);
            truth.restore(&mut store);
        }
    }
    (most, counts(store.flash()).1 - filled)
}

macro_rules! counts {
    () => {
        |flash| (flash.count.reads, flash.count.erases)
    };
}

#[test]
fn a_store_reads_little_at_4096_pages() {
    let (most, _) = visits(Large::blank(), 4_096, 30_000, counts!());
    println!("4,096 pages, 4 KiB sectors: at most {most} reads for one store");
    assert!(most <= 1_000, "{most} reads");
    let (most, _) = visits(Coarse::blank(), 4_096, 30_000, counts!());
    println!("4,096 pages, 128 KiB sectors: at most {most} reads for one store");
    assert!(most <= 1_000, "{most} reads");
}

#[test]
fn flash_lasts_for_ten_years() {
    const DAYS: usize = 30;
    let (_, erases) = visits(Reference::blank(), 1_000, PER_DAY * DAYS, counts!());
    let a_day = erases as f64 / DAYS as f64;
    let sectors = <Reference as Partition>::SECTORS as f64;
    let years = f64::from(Reference::RATED_CYCLES) * sectors / a_day / 365.25;
    println!(
        "1,000 pages, 5,000 fetches a day: {a_day:.0} erases a day on {sectors} sectors, {years:.0} years"
    );
    assert!(years >= 10.0, "{years}");
}

#[test]
fn a_probe_in_a_hurry_does_not_wear_its_flash_out() {
    let mut store = Store::new(Reference::blank());
    let truth = Truth::new(0, 10);
    let mut now = Instant::ZERO;
    let mut spent = 0;
    let days = 3;
    while now < Instant::ZERO + Duration::DAY * days {
        now += Duration::from_millis(500);
        truth.change(1 + spent % 10);
        match block_on(store.step(&truth, true, now)).expect("a flash that works") {
            StoreStep::Spent(then) => {
                spent += 1;
                assert!(then > now, "there is budget again at some time");
            }
            _ => continue,
        }
    }
    let rated = u64::from(Reference::RATED_CYCLES) * Reference::SECTORS as u64;
    let a_day = rated / 3_653;
    println!(
        "two stores a second: {} erases in {days} days, {a_day} a day for ten years",
        store.erases()
    );
    assert!(spent > 0 && u64::from(store.erases()) <= a_day * (days + 1) + 1);
}
