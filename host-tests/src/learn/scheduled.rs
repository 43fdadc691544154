//! The scheduler that ships on a world of providers: it knows no rates, has the budget that others
//! have, and listens or does not.

use dunlin::learn::hints::Hint;
use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};

use super::providers::{Measure, World};

/// What a host says, in the order of time: when, of which page, and what.
fn words(world: &World) -> Vec<(f64, usize, Hint)> {
    let mut words = Vec::new();
    for (index, page) in world.pages.iter().enumerate() {
        // The world lets an announcement that was wrong count as a signal when its time comes. Here
        // it is what it is: no word of a change.
        let is_news = |at: &&f64| !page.announced.contains(at) || page.changes.contains(at);
        let signals = page.signals.iter().filter(is_news);
        words.extend(signals.map(|at| (*at, index, Hint::Changed(instant(*at)))));
        // An announcement is made at the beginning of its cycle, as it is to Xu's crawler, but not
        // before the one before has come true.
        let mut before = 0.0;
        for at in &page.announced {
            let cycle = (at / world.cycle).floor() * world.cycle;
            words.push((cycle.max(before), index, Hint::Expected(instant(*at))));
            before = *at;
        }
    }
    words.sort_by(|a, b| a.0.total_cmp(&b.0));
    words
}

/// Rounded up: what is told of a change must not come before it.
fn instant(day: f64) -> Instant {
    Instant::from_micros((day * 86_400e6).ceil() as u64 + 1)
}

/// The quality of copies under the scheduler by each measure, with `per_day` fetches a day after a
/// first round that is free; it `listens` to what hosts say or does not.
pub fn scheduled<const N: usize>(
    world: &World,
    per_day: f64,
    listens: bool,
    measures: &[Measure; N],
) -> [f64; N] {
    let settings = Settings::DEFAULT.with_seed(1);
    let mut scheduler = LargeScheduler::new(world.pages.len(), world.hosts.len(), settings);
    let start = Instant::ZERO;
    let _ = scheduler.set_budget(Some(per_day as f32), start);
    let hosts: Vec<_> = (world.hosts.iter())
        .filter_map(|_| scheduler.add_host(Duration::ZERO).ok())
        .collect();
    for page in &world.pages {
        // Shares of accesses are small numbers: only their proportions count.
        let weight = (page.weight * world.pages.len() as f64) as f32;
        let settings = PageSettings::DEFAULT.with_weight(weight).with_rate(None);
        let added = scheduler.add_page(hosts[page.host], &settings, start);
        debug_assert!(added.is_ok(), "{added:?}");
    }
    scheduler.begin_ahead(world.pages.len() as u32);
    let words = if listens { words(world) } else { Vec::new() };
    let mut words = words.into_iter().peekable();
    let mut changes = vec![0; world.pages.len()];
    let mut stale = [0.0; N];
    let lose = |stale: &mut [f64; N], weight: f64, missed: &[f64], until: f64| {
        let lost = stale.iter_mut().zip(measures);
        lost.for_each(|(lost, measure)| *lost += weight * measure.loss(missed, until));
    };
    let mut now = start;
    let end = instant(world.days);
    while now < end {
        while let Some((_, page, hint)) = words.next_if(|(at, ..)| instant(*at) <= now) {
            if let Some(page) = scheduler.page_id(page) {
                let _ = scheduler.hint(page, hint, now);
            }
        }
        let heard = words.peek().map_or(end, |(at, ..)| instant(*at));
        match scheduler.next(now) {
            Decision::Fetch(id) => {
                let page = &world.pages[id.index()];
                let day: f64 = now.since(start).as_days();
                let missed = &page.changes[changes[id.index()]..];
                let missed = &missed[..missed.partition_point(|at| *at <= day)];
                lose(&mut stale, page.weight, missed, day);
                changes[id.index()] += missed.len();
                let outcome = match missed.is_empty() {
                    true => Outcome::Unchanged,
                    false => Outcome::Changed { modified_ago: None },
                };
                let _ = scheduler.record(id, outcome, now);
            }
            Decision::WaitUntil(then) => now = then.min(heard),
            Decision::Idle => now = heard,
        }
    }
    for (page, seen) in world.pages.iter().zip(changes) {
        lose(&mut stale, page.weight, &page.changes[seen..], world.days);
    }
    stale.map(|stale| 1.0 - stale / world.days)
}
