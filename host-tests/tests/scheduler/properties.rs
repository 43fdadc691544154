//! Millions of random operations, each checked by the model.

use dunlin::polite::GateSettings;
use dunlin::scheduler::{Engine, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_suite::bench::Random;

use crate::long;
use crate::model::{Checked, HOSTS, PAGES};

const OPERATIONS: u32 = 4_000;

fn case(seed: u64) {
    let mut random = Random(seed);
    let engine = if seed.is_multiple_of(2) {
        Engine::Index
    } else {
        Engine::Carousel
    };
    let settings = Settings::DEFAULT
        .with_engine(engine)
        .with_burst(random.below(5) as u16)
        .with_gate(GateSettings::DEFAULT.with_gap_from_end(random.below(3) == 0))
        .with_fetch_without_clock(random.below(3) == 0)
        .with_seed(random.next_u32());
    let mut checked = Checked::new(settings);
    // Half the cases start with a full house, the others grow.
    if seed % 4 < 2 {
        (0..HOSTS).for_each(|_| checked.add_host(Duration::from_secs(5)));
        (0..PAGES)
            .for_each(|page| checked.add_page(page % HOSTS, &Default::default(), Instant::ZERO));
    }
    (0..OPERATIONS).for_each(|_| checked.operate(&mut random));
    checked.drain();
}

#[test]
fn polite_within_budget_and_nothing_lost() {
    let cases = if long() { 10_000 } else { 400 };
    for seed in 0..cases {
        // The seed of a failure is what reproduces it.
        if let Err(panic) = std::panic::catch_unwind(|| case(seed)) {
            eprintln!("case {seed} of {cases} failed; `case({seed})` alone reproduces it");
            std::panic::resume_unwind(panic);
        }
    }
}
