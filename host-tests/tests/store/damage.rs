//! Flash that has been written by somebody else: bits that fell, whole sectors of noise.

use dunlin::store::Store;
use dunlin_suite::bench::Random;
use host_tests::flash::Flash;
use proptest::prelude::*;

use crate::truth::{LATE, Truth, save};

type Small = Flash<14, 1024, 4>;

const HOSTS: usize = 4;
const PAGES: usize = 40;

fn a_day() -> (Small, Truth) {
    let mut store = Store::new(Small::blank());
    let truth = Truth::new(HOSTS, PAGES);
    let mut random = Random(11);
    (0..=HOSTS + PAGES).for_each(|index| truth.change(index));
    for _ in 0..400 {
        truth.change(random.next_u32() as usize % (1 + HOSTS + PAGES));
        save(&mut store, &truth);
    }
    (store.flash().switched_on(), truth)
}

/// Reads it, whatever it holds, and stores on top of it.
fn survive(flash: Small) -> Truth {
    let mut store = Store::new(flash);
    let truth = Truth::new(HOSTS, PAGES);
    truth.restore(&mut store);
    let reads = store.flash().count.reads;
    // Every word as the header of an item, twice for each try, in two passes.
    assert!(reads <= 14 * 1024 / 4 * 8, "{reads} reads");
    let found = truth.clone();
    (0..=HOSTS + PAGES).for_each(|index| truth.change(index));
    save(&mut store, &truth);
    let again = Truth::new(HOSTS, PAGES);
    again.restore(&mut Store::new(store.flash().switched_on()));
    assert_eq!(
        again.saved(),
        truth.saved(),
        "what is stored after damage is kept"
    );
    found
}

/// The flash refuses a write at every byte of a record; the record is written when it does not.
#[test]
fn a_write_that_is_refused_is_made_again() {
    for byte in 0..100 {
        let (flash, truth) = a_day();
        let mut store = Store::new(flash);
        let found = Truth::new(HOSTS, PAGES);
        found.restore(&mut store);
        found.change(7);
        store.flash().power = Some(byte);
        let refused = futures_lite::future::block_on(store.step(&found, true, LATE));
        store.flash().power = None;
        save(&mut store, &found);
        let again = Truth::new(HOSTS, PAGES);
        again.restore(&mut Store::new(store.flash().switched_on()));
        let mut expected = truth.saved();
        expected[7] += 1;
        assert_eq!(
            again.saved(),
            expected,
            "refused at byte {byte}: {refused:?}"
        );
        assert_eq!(refused.is_err(), byte < 92, "a record is so long: {byte}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_few_wrong_bytes_cost_the_records_they_hit(
        hits in proptest::collection::vec((0..14 * 1024usize, any::<u8>()), 1..6)
    ) {
        let (mut flash, truth) = a_day();
        let mut changed = 0;
        for (place, byte) in hits {
            changed += usize::from(flash.bytes()[place] != byte);
            flash.bytes_mut()[place] = byte;
        }
        let found = survive(flash).saved();
        let lost = found.iter().zip(truth.saved()).filter(|(found, saved)| *found != saved).count();
        prop_assert!(lost <= changed, "{lost} records lost by {changed} wrong bytes");
    }

    #[test]
    fn noise_is_survived(from in 0..14 * 1024usize, length in 1..4_096usize, seed: u64) {
        let (mut flash, _) = a_day();
        let mut random = Random(seed);
        for byte in flash.bytes_mut().iter_mut().skip(from).take(length) {
            *byte = random.next_u32() as u8;
        }
        survive(flash);
    }

    #[test]
    fn so_is_a_flash_of_nothing_but_noise(seed: u64) {
        let mut flash = Small::blank();
        let mut random = Random(seed);
        flash.bytes_mut().iter_mut().for_each(|byte| *byte = random.next_u32() as u8);
        let found = survive(flash);
        prop_assert!(found.saved().iter().all(|version| *version == 0));
    }
}
