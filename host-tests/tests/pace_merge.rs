//! Polite moments: gaps are kept whatever is asked, and de Souza's experiment comes out as printed.

use dunlin::heap::{Entry, SliceHeap};
use dunlin::pace::dispatch::{Dispatch, Queue};
use dunlin::pace::merge::{Moments, PlannedCrawl, SpreadScratch, merge, spread};
use dunlin::time::{Duration, Instant};
use host_tests::desouza::{Setup, run};
use proptest::prelude::*;

/// Crawl counts that fit the interval, which is a random number of microseconds.
fn demand() -> impl Strategy<Value = (Vec<u32>, Duration, Duration)> {
    (
        prop::collection::vec(0_u32..12, 1..30),
        1_u64..40_000_000,
        0.0..1.0_f64,
        prop::bool::weighted(0.3),
    )
        .prop_map(|(crawls, gap, spare, full)| {
            let total = u64::from(crawls.iter().sum::<u32>()).max(1);
            // A full host has room for exactly its crawls and a fraction of a gap.
            let room = if full {
                total
            } else {
                total + (spare * 3.0 * total as f64) as u64
            };
            let interval = gap * room + (spare * gap as f64) as u64;
            (
                crawls,
                Duration::from_micros(interval),
                Duration::from_micros(gap),
            )
        })
}

fn check(
    crawls: &[u32],
    interval: Duration,
    gap: Duration,
    times: &[PlannedCrawl],
) -> Result<(), TestCaseError> {
    let mut counts = vec![0; crawls.len()];
    times
        .iter()
        .for_each(|update| counts[update.page as usize] += 1);
    prop_assert_eq!(&counts, crawls);
    for pair in times.windows(2) {
        prop_assert!(pair[1].at - pair[0].at >= gap, "{:?}", pair);
    }
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        let end = Instant::ZERO + interval;
        prop_assert!(last.at <= end);
        // Politely repeated, too.
        prop_assert!((first.at - Instant::ZERO) + (end - last.at) >= gap);
    }
    Ok(())
}

/// The sum of the squares of all gaps, page by page.
fn squares(crawls: &[u32], interval: Duration, times: &[PlannedCrawl]) -> f64 {
    let mut last = vec![Instant::ZERO; crawls.len()];
    let mut sum = 0.0;
    for update in times {
        let page = &mut last[update.page as usize];
        sum += (update.at - *page).as_secs_f64().powi(2);
        *page = update.at;
    }
    sum + last
        .iter()
        .map(|last| (Instant::ZERO + interval - *last).as_secs_f64().powi(2))
        .sum::<f64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Never closer than the gap, every crawl placed, and the spread is at least as even as MERGE.
    #[test]
    fn gaps_are_kept((crawls, interval, gap) in demand()) {
        let total = crawls.iter().sum::<u32>() as usize;
        let mut room = vec![PlannedCrawl::default(); total];
        let mut links = vec![SpreadScratch::default(); total];
        let cost = |_: u32, gap: Duration| gap.as_secs_f64().powi(2);
        let merged = merge(&crawls, interval, gap, &mut room).unwrap();
        check(&crawls, interval, gap, merged)?;
        let before = squares(&crawls, interval, merged);
        let even = spread(Moments::Even, &crawls, interval, gap, &mut room, &mut links, cost).unwrap();
        check(&crawls, interval, gap, even)?;
        prop_assert!(squares(&crawls, interval, even) <= before * (1.0 + 1e-12));
        let ideal = spread(Moments::Ideal, &crawls, interval, gap, &mut room, &mut links, cost).unwrap();
        check(&crawls, interval, gap, ideal)?;
    }

    /// Dispatch keeps gaps and never starts early, whatever the queues and however many crawlers
    /// ask when.
    #[test]
    fn dispatch_is_polite(
        times in prop::collection::vec(prop::collection::vec(0_u64..2_000, 0..12), 1..8),
        gaps in prop::collection::vec(0_u64..200, 8),
        steps in prop::collection::vec(0_u64..60, 300),
    ) {
        let mut updates = Vec::new();
        let mut queues = Vec::new();
        for (mut times, gap) in times.into_iter().zip(gaps) {
            times.sort_unstable();
            let next = updates.len() as u32;
            let planned = |at| PlannedCrawl { at: Instant::from_micros(at), page: 0 };
            updates.extend(times.into_iter().map(planned));
            queues.push(Queue { next, end: updates.len() as u32, gap: Duration::from_micros(gap), ..Queue::default() });
        }
        let hosts = queues.len();
        let limits = queues.clone();
        let mut waiting = vec![Entry::UNUSED; hosts];
        let mut places = vec![0_u16; hosts];
        let mut free = vec![Entry::UNUSED; hosts];
        let mut more = vec![0_u16; hosts];
        let waiting = SliceHeap::with_storage(&mut waiting[..], &mut places[..]);
        let free = SliceHeap::with_storage(&mut free[..], &mut more[..]);
        let mut dispatch = Dispatch::new(&updates, &mut queues, waiting, free).unwrap();
        // A plain model: each host's next update and when the host is free again.
        let mut next: Vec<u32> = limits.iter().map(|queue| queue.next).collect();
        let mut free_at = vec![Instant::ZERO; hosts];
        let mut now = Instant::ZERO;
        for step in steps {
            now += Duration::from_micros(step);
            let expected = (0..hosts)
                .filter(|host| next[*host] < limits[*host].end && free_at[*host] <= now)
                .map(|host| (updates[next[host] as usize].at, host))
                .filter(|(at, _)| *at <= now)
                .min();
            let start = dispatch.next(now);
            prop_assert_eq!(start.map(|start| (start.update.at, usize::from(start.host))), expected);
            if let Some((_, host)) = expected {
                next[host] += 1;
                free_at[host] = now + limits[host].gap;
            }
        }
    }
}

/// Figure 3 at 3 % of its size (full size with DUNLIN_LONG): MERGE 1.5 to 4 % above the bound up to
/// θ = 1, our spread closer at every θ, with unlimited crawlers and with those there are. (MERGE
/// comes closest where nearly all pages are on full hosts.)
#[test]
fn spread_is_closer_to_the_bound_than_merge() {
    let long = std::env::var_os("DUNLIN_LONG").is_some();
    let small = Setup {
        pages: 30_000,
        servers: 60,
        crawlers: 3,
        fetch: Duration::from_millis(1_000),
        theta: 0.0,
        ..Setup::PAPER
    };
    let setup = if long { Setup::PAPER } else { small };
    let mut table = String::from(
        "theta   bound    merge  dispatched  ours  dispatched   mp2   (% above the bound)\n",
    );
    for theta in [0.0, 0.5, 1.0, 1.5] {
        let found = run(Setup { theta, ..setup });
        let above = |staleness: f64| (staleness / found.bound - 1.0) * 100.0;
        let ours = [above(found.spread), above(found.spread_dispatched)];
        let theirs = [
            above(found.merge),
            above(found.merge_dispatched),
            above(found.mp2),
        ];
        // Beyond Zipf nearly all pages are on full hosts, where MERGE comes closer the more pages
        // there are: at full size 0.8 % at 1.5.
        assert!(
            theta > 1.0 || (1.5..4.0).contains(&theirs[0]),
            "{theta}: {theirs:?}"
        );
        assert!(
            ours[0] < theirs[0] && ours[1] < theirs[1],
            "{theta}: {ours:?} {theirs:?}"
        );
        assert!(theirs[1] < theirs[2], "{theta}: {theirs:?}");
        table += &format!(
            "{theta:>5}  {:.4}  {:>6.2}  {:>10.2}  {:>4.2}  {:>10.2}  {:>4.2}\n",
            found.bound, theirs[0], theirs[1], ours[0], ours[1], theirs[2]
        );
    }
    if !long {
        insta::assert_snapshot!("desouza_figure_3", table);
    }
}
