//! What a scheduler makes of what it is told: hints that are news and hints that are not, pages
//! whose host is known, and fetches that may go ahead.

use dunlin::learn::hints::Hint;
use dunlin::scheduler::{
    Counter, Decision, HostId, Outcome, PageId, PageSettings, Scheduler, Settings,
};
use dunlin::time::{Duration, Instant};

const DAYS: u64 = 30;

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// A scheduler with a host, and so many pages of unknown rate.
fn with_pages(count: usize) -> (Box<Scheduler<8, 2>>, HostId, Vec<PageId>) {
    let mut scheduler: Box<Scheduler<8, 2>> = Box::new(Scheduler::new(Settings::DEFAULT));
    let host = scheduler.add_host(Duration::from_secs(1)).expect("room");
    let pages = (0..count).map(|_| {
        let page = scheduler.add_page(host, &PageSettings::DEFAULT, at(0));
        page.expect("room")
    });
    let pages = pages.collect();
    (scheduler, host, pages)
}

#[test]
fn a_hint_of_what_was_fetched_since_is_no_news() {
    let (mut scheduler, _, pages) = with_pages(1);
    assert_eq!(scheduler.next(at(100)), Decision::Fetch(pages[0]));
    let recorded = scheduler.record(pages[0], Outcome::Unchanged, at(100));
    assert_eq!(recorded, Ok(()));
    for old in [0, 50, 98] {
        let hint = scheduler.hint(pages[0], Hint::Changed(at(old)), at(200));
        assert_eq!(hint, Ok(()));
        assert_eq!(scheduler.counters().get(Counter::Hint), 0, "{old}");
    }
    let hint = scheduler.hint(pages[0], Hint::Changed(at(150)), at(200));
    assert_eq!(hint, Ok(()));
    assert_eq!(scheduler.counters().get(Counter::Hint), 1);
}

#[test]
fn a_new_page_is_believed_to_be_like_the_others_of_its_host() {
    let believed = |outcome: Outcome| {
        let (mut scheduler, host, pages) = with_pages(4);
        for day in 0..DAYS {
            let now = at(86_400 * day);
            for second in 0..10 * pages.len() as u64 {
                let now = now + Duration::from_secs(second);
                if let Decision::Fetch(page) = scheduler.next(now) {
                    let recorded = scheduler.record(page, outcome, now);
                    assert_eq!(recorded, Ok(()));
                }
            }
        }
        let new = scheduler.add_page(host, &PageSettings::DEFAULT, at(86_400 * DAYS));
        let new = scheduler.estimate(new.expect("room"));
        new.expect("it is there").rate()
    };
    let restless = believed(Outcome::Changed { modified_ago: None });
    let calm = believed(Outcome::Unchanged);
    assert!(
        restless > 5.0 * calm,
        "{restless} changes a day beside pages that change, {calm} beside pages that do not"
    );
}

#[test]
fn what_may_go_ahead_does_not_wait_for_the_budget() {
    let fetched = |ahead: u32| {
        let (mut scheduler, _, pages) = with_pages(6);
        assert_eq!(scheduler.set_budget(Some(1.0), at(0)), Ok(()));
        scheduler.begin_ahead(ahead);
        let mut count = 0;
        for second in 0..10 * pages.len() as u64 {
            if let Decision::Fetch(page) = scheduler.next(at(second)) {
                let recorded = scheduler.record(page, Outcome::Unchanged, at(second));
                assert_eq!(recorded, Ok(()));
                count += 1;
            }
        }
        count
    };
    assert_eq!(fetched(6), 6, "each page once, in the first minute");
    assert!(fetched(0) < 6, "one a day");
}

/// A page whose siblings change before every second of so many visits. How much of the time that is
/// left to its next visit one more of them saves.
fn told_by_siblings(visits: u32, changed: impl Fn(u32) -> bool) -> f64 {
    let (mut scheduler, host, pages) = with_pages(1);
    assert_eq!(scheduler.set_budget(Some(1.0), at(0)), Ok(()));
    let due = |scheduler: &Scheduler<8, 2>| scheduler.first_due(host).expect("a page waits");
    let mut now = at(0);
    for visit in 0..visits {
        now = now.max(due(&scheduler));
        while scheduler.next(now) != Decision::Fetch(pages[0]) {
            now += Duration::from_secs(60);
        }
        let outcome = match changed(visit) {
            true => Outcome::Changed { modified_ago: None },
            false => Outcome::Unchanged,
        };
        assert_eq!(scheduler.record(pages[0], outcome, now), Ok(()));
        // The next visit is the one that is told of.
        if visit % 2 == 0 {
            now += Duration::from_secs(3_600);
            assert_eq!(scheduler.hint_sibling(pages[0], now), Ok(()));
        }
    }
    now += Duration::from_secs(3_600);
    let before = due(&scheduler);
    assert!(!scheduler.is_told(pages[0]) && before > now);
    assert_eq!(scheduler.hint_sibling(pages[0], now), Ok(()));
    let saved = before.since(due(&scheduler).max(now));
    let left = before.since(now);
    saved.as_secs_f64() / left.as_secs_f64()
}

#[test]
fn siblings_are_heard_only_where_they_help() {
    // Told of before odd visits.
    let saved = told_by_siblings(400, |visit| visit % 2 == 1);
    assert!(saved > 0.5, "{saved}");
    // As often with a hint as without.
    assert_eq!(told_by_siblings(400, |visit| visit % 4 < 2), 0.0);
    // Nobody knows yet.
    assert_eq!(told_by_siblings(2, |visit| visit % 2 == 1), 0.0);
}
