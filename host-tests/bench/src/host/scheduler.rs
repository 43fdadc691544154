//! The scheduler that ships, with room for as many pages as a computer holds, and the simulator
//! around it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};
use dunlin_host::simulate::{Change, Options, PolicyName, SimHost, SimPage, World, run};
use dunlin_suite::bench::Random;

use super::{Row, grouped, peak_bytes, seconds};

/// `next` and `record`, four fetches a page and day, on hosts of 32 pages.
pub fn decisions(rows: &mut Vec<Row>) {
    const STEPS: u32 = 500_000;
    for pages in [1_000, 10_000, 100_000, 1_000_000] {
        let hosts = pages / 32;
        let mut scheduler = LargeScheduler::new(pages, hosts, Settings::DEFAULT);
        let ids: Vec<_> = (0..hosts)
            .filter_map(|_| scheduler.add_host(Duration::from_secs(1)).ok())
            .collect();
        for host in ids.iter().cycle().take(pages) {
            let _ = scheduler.add_page(*host, &PageSettings::DEFAULT, Instant::ZERO);
        }
        let per_day = 4.0 * pages as f32;
        let _ = scheduler.set_budget(Some(per_day), Instant::ZERO);
        let interval = Duration::from_days(1.001 / f64::from(per_day));
        let mut random = Random(5);
        let mut now = Instant::ZERO;
        let mut step = || {
            now += interval;
            if let Decision::Fetch(page) = scheduler.next(now) {
                let changed = random.below(4) == 0;
                let outcome = if changed {
                    Outcome::Changed { modified_ago: None }
                } else {
                    Outcome::Unchanged
                };
                let _ = scheduler.record(page, outcome, now);
            }
        };
        (0..2 * pages).for_each(|_| step());
        let time = seconds(2, || (0..STEPS).for_each(|_| step())) / f64::from(STEPS);
        rows.push(Row {
            room: "scheduler",
            what: format!(
                "next+record, {} pages on {} hosts",
                grouped(pages),
                grouped(hosts)
            ),
            ours: 1e9 * time,
            unit: "ns",
            other: Some((
                "std's BinaryHeap by due time: no hosts, nothing learnt",
                1e9 * bare_heap(pages),
            )),
            limit: String::new(),
            grows: Some((pages as f64, "O(log n), with caches")),
        });
    }
}

/// Seconds for a pop and a push of a queue of due times.
fn bare_heap(pages: usize) -> f64 {
    const STEPS: u32 = 500_000;
    let mut random = Random(5);
    let mut queue: BinaryHeap<Reverse<(u64, u32)>> = (0..pages as u32)
        .map(|page| Reverse((u64::from(random.next_u32()), page)))
        .collect();
    let mut step = || {
        if let Some(Reverse((due, page))) = queue.pop() {
            queue.push(Reverse((due + u64::from(random.next_u32()), page)));
        }
    };
    seconds(2, || (0..STEPS).for_each(|_| step())) / f64::from(STEPS)
}

/// A day of up to a million pages, 8.64 fetches each. Events are changes, fetches and their ends.
pub fn simulation(rows: &mut Vec<Row>) {
    for pages in [1_000, 10_000, 100_000, LARGEST_WORLD] {
        simulate(rows, pages);
    }
}

const LARGEST_WORLD: usize = 1_000_000;

fn simulate(rows: &mut Vec<Row>, count: usize) {
    let hosts = (count / 500).max(1);
    let mut events = 0;
    let mut time = 0.0;
    let work = || {
        let mut random = Random(7);
        let page = |index: usize| {
            let rate = 24.0 * (0.01 + 0.99 * f64::from(random.unit()));
            SimPage {
                host: index % hosts,
                weight: 1.0 / (index + 1) as f64,
                mean_rate: rate,
                change: Change::Poisson(rate),
            }
        };
        let pages = (0..count).map(page).collect();
        let world = World {
            pages,
            hosts: vec![SimHost::new(Duration::ZERO); hosts],
            ..World::default()
        };
        time = seconds(1, || {
            let mut policy = PolicyName::Carousel.build(&world, 8.64 * count as f64, false, 1);
            let report = run(&world, &mut *policy, &Options::new(1.0, 1));
            events = report.changes + 2 * report.fetches;
        });
    };
    let bytes = peak_bytes(work);
    let size = format!("{} pages", grouped(count));
    let row = |what: &str, ours, unit, other, limit: &str, grows| Row {
        room: "simulate",
        what: format!("{what}, {size}"),
        ours,
        unit,
        other,
        limit: limit.into(),
        grows,
    };
    let heap = ("std's BinaryHeap, a pop and a push", 1e9 * bare_heap(count));
    let grows = Some((count as f64, "O(log n), with caches"));
    rows.push(row(
        "a simulated event",
        1e9 * time / events as f64,
        "ns",
        Some(heap),
        "",
        grows,
    ));
    if count == LARGEST_WORLD {
        rows.push(row(
            "events",
            events as f64 / time / 1e6,
            "M events/s",
            None,
            "",
            None,
        ));
        rows.push(row(
            "a day of 8.64 fetches a page",
            time,
            "s",
            None,
            "<= 60",
            None,
        ));
        let each = bytes.map(|bytes| bytes / count as f64);
        rows.extend(each.map(|bytes| row("memory a page", bytes, "bytes", None, "<= 300", None)));
    }
}
