//! The scheduler that ships, with room for as many pages as a computer holds, and the simulator around it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::scheduler::{Core, Decision, Large, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::{Change, Options, PolicyName, SimHost, SimPage, World, run};
use dunlin_suite::bench::Random;

use super::{Row, grouped, seconds};

/// All of the room's rows.
pub fn rows(rows: &mut Vec<Row>) {
    decisions(rows);
    simulation(rows);
}

/// `next` and `record`, four fetches a page and day, on hosts of 32 pages.
fn decisions(rows: &mut Vec<Row>) {
    const STEPS: u32 = 500_000;
    for pages in [1_000, 10_000, 100_000, 1_000_000] {
        let hosts = pages / 32;
        let mut core = Core::<Large>::large(pages, hosts, Settings::DEFAULT);
        let ids: Vec<_> = (0..hosts).filter_map(|_| core.add_host(Duration::from_secs(1)).ok()).collect();
        for host in ids.iter().cycle().take(pages) {
            let _ = core.add_page(*host, &PageSettings::DEFAULT, Instant::ZERO);
        }
        let per_day = 4.0 * pages as f32;
        let _ = core.set_budget(Some(per_day), Instant::ZERO);
        let interval = Duration::from_days(1.001 / f64::from(per_day));
        let (mut random, mut now) = (Random(5), Instant::ZERO);
        let mut step = || {
            now += interval;
            if let Decision::Fetch(page) = core.next(now) {
                let changed = random.below(4) == 0;
                let outcome =
                    if changed { Outcome::Changed { modified_ago: None } } else { Outcome::Unchanged };
                let _ = core.record(page, outcome, now);
            }
        };
        (0..2 * pages).for_each(|_| step());
        let time = seconds(2, || (0..STEPS).for_each(|_| step())) / f64::from(STEPS);
        rows.push(Row {
            room: "scheduler",
            what: format!("next+record, {} pages on {} hosts", grouped(pages), grouped(hosts)),
            ours: 1e9 * time,
            unit: "ns",
            other: Some(("std's BinaryHeap by due time: no hosts, nothing learnt", 1e9 * bare_heap(pages))),
            limit: String::new(),
            grows: Some((pages as f64, "O(log n), with caches")),
        });
    }
}

/// Seconds for a pop and a push of a queue of due times.
fn bare_heap(pages: usize) -> f64 {
    const STEPS: u32 = 500_000;
    let mut random = Random(5);
    let mut queue: BinaryHeap<Reverse<(u64, u32)>> =
        (0..pages as u32).map(|page| Reverse((u64::from(random.next_u32()), page))).collect();
    let mut step = || {
        if let Some(Reverse((due, page))) = queue.pop() {
            queue.push(Reverse((due + u64::from(random.next_u32()), page)));
        }
    };
    seconds(2, || (0..STEPS).for_each(|_| step())) / f64::from(STEPS)
}

/// Events – changes, fetches and their ends – of a day of 100,000 pages.
fn simulation(rows: &mut Vec<Row>) {
    const PAGES: usize = 100_000;
    let mut random = Random(7);
    let mut page = |index: usize| {
        let rate = 24.0 * (0.01 + 0.99 * f64::from(random.unit()));
        SimPage {
            host: index % 200,
            weight: 1.0 / (index + 1) as f64,
            mean_rate: rate,
            change: Change::Poisson(rate),
        }
    };
    let pages = (0..PAGES).map(&mut page).collect();
    let world = World { pages, hosts: vec![SimHost::new(Duration::ZERO); 200] };
    let per_day = 8.64 * PAGES as f64;
    let mut events = 0;
    let time = seconds(1, || {
        let mut policy = PolicyName::Carousel.build(&world, per_day, false, 1);
        let report = run(&world, &mut *policy, &Options::new(1.0, 1));
        events = report.changes + 2 * report.fetches;
    });
    rows.push(Row {
        room: "simulate",
        what: format!("a day of {} pages, 8.64 fetches each", grouped(PAGES)),
        ours: events as f64 / time / 1e6,
        unit: "M events/s",
        other: Some(("std's BinaryHeap, a pop and a push", 1e-6 / bare_heap(PAGES))),
        limit: String::new(),
        grows: None,
    });
}
