//! The first minute of `cargo xtask demo`, in virtual time: 60 pages of 8 hosts that change every
//! two seconds to every ten minutes, six requests a second, rates unknown. (The demo itself is one
//! run of that, which chance moves by two per cent either way, and takes a minute.)

use dunlin::time::Duration;
use dunlin_host::simulate::repeat::{Mean, parallel};
use dunlin_host::simulate::{Change, Options, PolicyName, SimHost, SimPage, World, run};

const PAGES: usize = 60;
const HOSTS: usize = 8;
/// In seconds, of the busiest page and of the quietest.
const CHANGES: [f64; 2] = [2.0, 600.0];
const PER_SECOND: f64 = 6.0;
const POLITENESS: Duration = Duration::from_millis(500);
/// The first round, before which nothing can be fresh, is not measured.
const MEASURED: [f64; 2] = [15.0, 60.0];
const DAY: f64 = 86_400.0;
const SEEDS: usize = 100;

fn world() -> World {
    let page = |index: usize| {
        // Spread evenly over the logarithm, in an order that mixes hosts.
        let share = (index * 37 % PAGES) as f64 / PAGES as f64;
        let rate = (CHANGES[0] / CHANGES[1]).powf(share) / CHANGES[0] * DAY;
        SimPage {
            host: index % HOSTS,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..PAGES).map(page).collect(),
        hosts: vec![SimHost::new(POLITENESS); HOSTS],
        ..World::default()
    }
}

#[test]
fn the_first_minute_is_within_three_per_cent_of_the_optimum() {
    let world = world();
    let per_day = PER_SECOND * DAY;
    let best = world.optimum(per_day);
    let [ours, round_robin] = [PolicyName::default(), PolicyName::Uniform].map(|policy| {
        let runs = parallel(SEEDS, |index| {
            let seed = index as u64 + 1;
            let options = Options {
                measured_from: MEASURED[0] / DAY,
                fetch_time: Duration::from_millis(10),
                ..Options::new(MEASURED[1] / DAY, seed)
            };
            let mut policy = policy.build(&world, per_day, true, seed);
            run(&world, &mut *policy, &options).freshness / best
        });
        Mean::of(&runs)
    });
    let chance = ours.plus_minus.unwrap_or(f64::INFINITY);
    println!(
        "{:.4} ± {chance:.4} of the optimum {best:.3}, round robin {:.4}",
        ours.value, round_robin.value
    );
    assert!(ours.value >= 0.97, "{ours:?}");
    assert!(ours.value - chance > round_robin.value, "{ours:?}");
}
