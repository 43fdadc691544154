//! In what order: steps a second of the carousel, de Souza's experiment at full size, a million crawls assigned.

use dunlin::pace::carousel::{Carousel, Page};
use dunlin_suite::bench::Random;

use super::{Row, seconds};

/// All of the room's rows.
pub fn rows(rows: &mut Vec<Row>) {
    carousel(rows);
}

/// Steps a second with a million pages of random rates, all slots taken.
fn carousel(rows: &mut Vec<Row>) {
    for pages in [1_000, 1_000_000_u32] {
        let mut random = Random(7);
        let weights: Vec<f64> = (0..pages).map(|_| f64::from(random.unit()) + 0.01).collect();
        let sum: f64 = weights.iter().sum();
        let n = pages as usize;
        let mut carousel: Carousel<u64, u32, _, _> =
            Carousel::with_storage(vec![Page::UNUSED; n], vec![0; n], vec![0; 2 * n]);
        for (page, weight) in (0..pages).zip(&weights) {
            let _ = carousel.add(page, weight / sum);
        }
        const STEPS: usize = 3_000_000;
        carousel.slots().take(STEPS).for_each(drop);
        let time = seconds(3, || carousel.slots().take(STEPS).flatten().map(u64::from).sum::<u64>());
        rows.push(Row {
            room: "pace",
            what: format!("carousel, {pages} pages"),
            ours: STEPS as f64 / time / 1e6,
            unit: "M steps/s",
            other: None,
            limit: "≥ 1.5 at 1,000,000 pages".into(),
        });
    }
}
