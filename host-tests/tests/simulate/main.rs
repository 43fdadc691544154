//! The simulator against what can be computed, and its policies against each other.

mod exact;
mod policies;

use dunlin::time::Duration;
use dunlin_host::simulate::{Change, Random, SimHost, SimPage, World};

/// `count` Poisson pages on `hosts` hosts, rates spread evenly over the logarithm from 1/20 to 5 a
/// day, weights from 1 to 4.
fn poisson_world(count: usize, hosts: usize, gap: Duration, seed: u64) -> World {
    let mut random = Random(seed);
    let pages = (0..count)
        .map(|index| {
            let rate = 0.05 * 100_f64.powf(random.unit());
            let weight = (4.0 * random.unit()).ceil();
            SimPage {
                host: index % hosts,
                weight,
                mean_rate: rate,
                change: Change::Poisson(rate),
            }
        })
        .collect();
    World {
        pages,
        hosts: vec![SimHost::new(gap); hosts],
        ..World::default()
    }
}
