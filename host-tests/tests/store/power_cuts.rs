//! The power goes at every byte that is written or erased.

use dunlin::store::{Store, StoreError, StoreStep};
use dunlin_suite::bench::Random;
use futures_lite::future::block_on;
use host_tests::flash::{Fault, Flash};

use crate::truth::{LATE, Truth, save};

/// Small sectors, so that a short day erases many.
type Small = Flash<14, 1024, 4>;

const HOSTS: usize = 4;
const PAGES: usize = 40;

/// A day: pages are fetched, some much more often than others, and what is learnt is stored at
/// once. Before every step, the flash and the truth are put on record.
fn recorded_day(steps: usize) -> Vec<(Small, Truth)> {
    let mut store = Store::new(Small::blank());
    let truth = Truth::new(HOSTS, PAGES);
    (0..=HOSTS + PAGES).for_each(|index| truth.change(index));
    let mut random = Random(2_026);
    let mut record = Vec::new();
    while record.len() < steps {
        record.push((store.flash().clone(), truth.clone()));
        match block_on(store.step(&truth, true, LATE)).expect("power all day") {
            StoreStep::Wrote => {}
            StoreStep::Idle => {
                record.pop();
                let skewed = random.unit() * random.unit() * random.unit();
                truth.change((skewed * (1 + HOSTS + PAGES) as f32) as usize);
            }
            other => panic!("{other:?}"),
        }
    }
    record
}

#[test]
fn leave_the_state_before_or_after() {
    let steps = if std::env::var_os("DUNLIN_LONG").is_some() {
        2_000
    } else {
        300
    };
    let mut cuts = 0;
    let mut erases = 0;
    for (number, (flash, before)) in recorded_day(steps).into_iter().enumerate() {
        // As the running store did it: opened once, its position known.
        let boot = |flash: Small| {
            let mut store = Store::new(flash);
            let truth = before.clone();
            block_on(store.open(|_, _| ())).expect("power");
            (store, truth)
        };
        let (mut store, truth) = boot(flash.switched_on());
        block_on(store.step(&truth, true, LATE)).expect("power");
        let bytes = store.flash().count.bytes;
        let after = truth.saved();
        erases += store.flash().count.erases;
        for byte in 0..bytes {
            let (mut store, truth) = boot(flash.switched_on());
            store.flash().power = Some(byte);
            let cut = block_on(store.step(&truth, true, LATE));
            assert_eq!(
                cut,
                Err(StoreError::Flash(Fault::PowerCut)),
                "step {number}, byte {byte}"
            );
            cuts += 1;
            recover(
                store.flash().switched_on(),
                &before.saved(),
                &after,
                (number, byte),
            );
        }
    }
    println!(
        "{cuts} power cuts in {steps} stores and {erases} erases: the state before or after each, never a mix"
    );
    assert!(
        cuts > 10_000 && erases > 20,
        "the day was too quiet: {cuts} cuts, {erases} erases"
    );
}

fn recover(flash: Small, before: &[u32], after: &[u32], place: (usize, u64)) {
    let mut store = Store::new(flash);
    let truth = Truth::new(HOSTS, PAGES);
    let found = truth.restore(&mut store);
    assert_eq!(
        (found.refused, found.damaged, found.lost),
        (0, 0, 0),
        "{place:?}"
    );
    let now = truth.saved();
    assert!(
        now == before || now == after,
        "{place:?}:\n{before:?}\n{now:?}\n{after:?}"
    );
    // And it goes on: what is learnt next is kept, and nothing else is lost.
    if place.1.is_multiple_of(13) {
        let page = place.0 % now.len();
        truth.change(page);
        save(&mut store, &truth);
        let again = Truth::new(HOSTS, PAGES);
        again.restore(&mut Store::new(store.flash().switched_on()));
        assert_eq!(again.saved(), truth.saved(), "{place:?}");
    }
}

/// Power that comes and goes: every boot gets a little further.
#[test]
fn again_and_again_lose_nothing_that_was_stored() {
    let mut random = Random(7);
    let mut flash = Small::blank();
    let mut kept = vec![0; 1 + HOSTS + PAGES];
    let mut boots = 0;
    while boots < 2_000 {
        boots += 1;
        let mut store = Store::new(flash.switched_on());
        let truth = Truth::new(HOSTS, PAGES);
        truth.restore(&mut store);
        for (index, (now, before)) in truth.saved().iter().zip(&kept).enumerate() {
            assert!(
                now >= before,
                "boot {boots}: record {index} fell from version {before} to {now}"
            );
        }
        store.flash().power = Some(u64::from(random.next_u32() % 3_000));
        loop {
            truth.change(random.next_u32() as usize % (1 + HOSTS + PAGES));
            match block_on(store.step(&truth, true, LATE)) {
                Ok(_) => kept = truth.saved(),
                Err(StoreError::Flash(Fault::PowerCut)) => break,
                Err(other) => panic!("boot {boots}: {other:?}"),
            }
        }
        flash = store.flash().clone();
    }
}
