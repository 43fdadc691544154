//! A published set of worlds in which the scheduler learns from nothing, beside round robin.
//!
//! | world | pages, hosts | changes in a mean gap between visits |
//! |---|---|---|
//! | two pages | 2, 1 | log-normal, median 0.7, spread 1.5 |
//! | few | 5, 5 | log-normal, median 0.7, spread 1 |
//! | first case | 28, 1 | every 5 to 300 s at a request a second |
//! | many | 300, 1 | log-normal, median 1, spread 1 |
//! | heavy tails | 300, 20 | log-normal, median 1, spread 2 |
//! | equal | 100, 1 | 1 |
//! | many hosts | 120, 60 | log-normal, median 0.3, spread 1 |
//! | clockwork | 60, 4 | Weibull, shape 5, median 0.5, spread 1 |
//! | daily 0.1 … daily 1.3 | 60, 4 | one a day, each page at its own time; the mean gap is so many days |
//! | daily, few | 6, 2 | the same, with a mean gap of 0.6 days |
//! | some days | 60, 4 | the same, but a page changes on half to all of the days |
//! | some hours | 60, 4 | one to four times of the day, with chances of ½ to 1; the mean gap is 0.3 days |
//! | bursty | 60, 4 | Weibull, shape ½, median 1, spread 1 |
//! | long gaps | 60, 4 | Pareto, shape 1.5, median 1, spread 1 |
//! | jumping | 60, 4 | a new rate every 40 mean gaps, median 0.7, spread 1.2 |
//! | too fast | 40, 4 | log-normal, median 20, spread 1 |
//! | weights | 100, 10 | as "many", weights from 1 to 10,000 |
//!
//! Nobody says at what time of the day a page changes. (There is no mean gap of exactly a day: every
//! visit of a round robin then comes as long after a change as the first one did, and the luck of
//! the first round decides over all of the run.)

use dunlin::time::Duration;
use dunlin_host::simulate::change::Quasi;
use dunlin_host::simulate::{
    Change, Options, Policy, PolicyName, Random, SimHost, SimPage, World, run,
};

/// Names of the worlds.
pub const WORLDS: [&str; 22] = [
    "two pages",
    "few",
    "first case",
    "many",
    "heavy tails",
    "equal",
    "many hosts",
    "clockwork",
    "daily 0.1",
    "daily 0.3",
    "daily 0.6",
    "daily 0.95",
    "daily 1.05",
    "daily 1.3",
    "daily, few",
    "some days",
    "some hours",
    "bursty",
    "long gaps",
    "jumping",
    "too fast",
    "weights",
];

fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// Log-normal change rates; pages of a host resemble each other.
pub fn log_normal(pages: usize, hosts: usize, spread: f64, median: f64, seed: u64) -> World {
    let mut random = Random(seed);
    let of_host: Vec<f64> = (0..hosts)
        .map(|_| 0.6 * spread * normal(&mut random))
        .collect();
    let page = |index: usize| {
        let host = index % hosts;
        let rate = median * (of_host[host] + 0.8 * spread * normal(&mut random)).exp();
        SimPage {
            host,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..pages).map(page).collect(),
        hosts: vec![SimHost::new(Duration::ZERO); hosts],
        ..World::default()
    }
}

/// One of [`WORLDS`], whose pages are visited every `gap` days on average, so many times.
pub fn world(name: &str, gap: f64, visits: f64, seed: u64) -> World {
    let mut random = Random(seed ^ 0x5eed);
    match name {
        "two pages" => log_normal(2, 1, 1.5, 0.7 / gap, seed),
        "few" => log_normal(5, 5, 1.0, 0.7 / gap, seed),
        "first case" => first_case(gap, &mut random),
        "many" => log_normal(300, 1, 1.0, 1.0 / gap, seed),
        "heavy tails" => log_normal(300, 20, 2.0, 1.0 / gap, seed),
        "equal" => log_normal(100, 1, 0.0, 1.0 / gap, seed),
        "many hosts" => log_normal(120, 60, 1.0, 0.3 / gap, seed),
        "clockwork" => with(log_normal(60, 4, 1.0, 0.5 / gap, seed), |page| {
            page.change = Change::weibull(page.mean_rate, 5.0);
        }),
        "daily, few" => by_clock(6, 2, gap / 0.6, 1, 1.0, &mut random),
        "some days" => by_clock(60, 4, gap / 0.6, 1, 0.5, &mut random),
        "some hours" => by_clock(60, 4, gap / 0.3, 4, 0.5, &mut random),
        "bursty" => with(log_normal(60, 4, 1.0, 1.0 / gap, seed), |page| {
            page.change = Change::weibull(page.mean_rate, 0.5);
        }),
        "long gaps" => with(log_normal(60, 4, 1.0, 1.0 / gap, seed), |page| {
            page.change = Change::pareto(page.mean_rate, 1.5);
        }),
        "jumping" => with(log_normal(60, 4, 1.0, 0.7 / gap, seed), |page| {
            jump(page, gap, visits, &mut random);
        }),
        "too fast" => log_normal(40, 4, 1.0, 20.0 / gap, seed),
        "weights" => with(log_normal(100, 10, 1.0, 1.0 / gap, seed), |page| {
            page.weight = 1e4_f64.powf(random.unit());
        }),
        _ => match name.strip_prefix("daily ").map(str::parse::<f64>) {
            Some(Ok(days)) => by_clock(60, 4, gap / days, 1, 1.0, &mut random),
            _ => panic!("no world is called {name}"),
        },
    }
}

fn with(mut world: World, change: impl FnMut(&mut SimPage)) -> World {
    world.pages.iter_mut().for_each(change);
    world
}

/// Pages that change at one to `most` moments of every `day`, each with a chance from `least` to 1.
fn by_clock(
    pages: usize,
    hosts: usize,
    day: f64,
    most: u64,
    least: f64,
    random: &mut Random,
) -> World {
    with(log_normal(pages, hosts, 0.0, 1.0, 1), |page| {
        let moments = 1 + random.next_u64() % most;
        let mut update = || {
            let time = day * (1.0 - random.unit());
            (time, least + (1.0 - least) * random.unit())
        };
        let mut updates: Vec<(f64, f64)> = (0..moments).map(|_| update()).collect();
        updates.sort_by(|a, b| a.0.total_cmp(&b.0));
        page.mean_rate = updates.iter().map(|update| update.1).sum::<f64>() / day;
        page.change = Change::Quasi(Box::new(Quasi {
            period: day,
            updates,
        }));
    })
}

/// 28 pages that change every 5 to 300 s, where the mean gap is 28 s.
fn first_case(gap: f64, random: &mut Random) -> World {
    let mut page = || {
        let rate = 28.0 / (5.0 * 60_f64.powf(random.unit())) / gap;
        SimPage {
            host: 0,
            weight: 1.0,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    World {
        pages: (0..28).map(|_| page()).collect(),
        hosts: vec![SimHost::new(Duration::ZERO)],
        ..World::default()
    }
}

/// A page that takes another rate every 40 gaps or so.
fn jump(page: &mut SimPage, gap: f64, visits: f64, random: &mut Random) {
    let end = visits * gap;
    let mut times = Vec::new();
    let mut now = 0.0;
    let mut rate = page.mean_rate;
    let mut until = 40.0 * gap * random.exponential();
    while now < end {
        let next = now + random.exponential() / rate;
        if next > until {
            now = until;
            until += 40.0 * gap * random.exponential();
            rate = 0.7 / gap * (1.2 * normal(random)).exp();
        } else {
            now = next;
            times.push(now);
        }
    }
    page.mean_rate = times.len() as f64 / end;
    page.change = Change::Trace(times);
}

/// Freshness over the whole run, from the first request on.
pub fn freshness(
    world: &World,
    policy: PolicyName,
    learn: bool,
    gap: f64,
    visits: f64,
    seed: u64,
) -> f64 {
    let per_day = world.pages.len() as f64 / gap;
    let mut policy = policy.build(world, per_day, learn, seed);
    freshness_of(world, &mut *policy, gap, visits, seed)
}

/// The same under a policy that is there already.
pub fn freshness_of(
    world: &World,
    policy: &mut dyn Policy,
    gap: f64,
    visits: f64,
    seed: u64,
) -> f64 {
    let options = Options {
        fetch_time: Duration::from_micros(1),
        ..Options::new(visits * gap, seed)
    };
    run(world, policy, &options).freshness
}
