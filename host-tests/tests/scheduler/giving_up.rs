//! A page is given up for a reason: it was found changed after a short gap, too, or it dates its
//! changes. Visits at one and the same gap that all find a change say only that it changes at least
//! about as often as it is visited.

use dunlin::scheduler::{Decision, LargeScheduler, Outcome, PageSettings, Settings};
use dunlin::time::{Duration, Instant};

/// One page that is never the same, and others that change every minute and a half.
const PAGES: usize = 20;
/// The budget visits each page once a minute.
const EVEN: Duration = Duration::from_secs(60);
const OTHERS: u64 = 90;
/// No page that is worth its visits waits for so many even gaps.
const GIVEN_UP: f64 = 3.0;

/// The gaps between visits of the page that is never the same, in even gaps. If `dated`, it says
/// that it changed six seconds ago.
fn gaps(dated: bool) -> Vec<f64> {
    let mut scheduler = LargeScheduler::new(PAGES, 2, Settings::DEFAULT);
    let per_day = PAGES as f32 / EVEN.as_days::<f32>();
    scheduler
        .set_budget(Some(per_day), Instant::ZERO)
        .expect("a budget");
    // A page that dates its changes has a host of its own, lest it be taken for one of the others.
    let hosts = [0, 1].map(|_| scheduler.add_host(Duration::ZERO).expect("room"));
    for index in 0..PAGES {
        let host = hosts[usize::from(dated && index == 0)];
        scheduler
            .add_page(host, &PageSettings::DEFAULT, Instant::ZERO)
            .expect("room");
    }
    let mut now = Instant::ZERO;
    let mut last = [None; PAGES];
    let mut gaps = Vec::new();
    while now < Instant::ZERO + EVEN * 500 {
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                let index = page.index();
                let before: Option<Instant> = last[index].replace(now);
                // Others change one after the other.
                let version =
                    |at: Instant| (at.as_micros() / 1_000_000 + 7 * index as u64) / OTHERS;
                let changed =
                    index == 0 || before.is_none_or(|before| version(before) < version(now));
                if let Some(before) = before.filter(|_| index == 0) {
                    gaps.push((now - before).as_days::<f64>() / EVEN.as_days::<f64>());
                }
                let modified_ago = (dated && index == 0).then_some(Duration::from_secs(6));
                let outcome = if changed {
                    Outcome::Changed { modified_ago }
                } else {
                    Outcome::Unchanged
                };
                scheduler.record(page, outcome, now).expect("in flight");
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => panic!("there is always a page"),
        }
    }
    gaps
}

#[test]
fn only_after_a_short_look() {
    let gaps = gaps(false);
    let given_up = gaps.iter().position(|gap| *gap > GIVEN_UP);
    let given_up = given_up.unwrap_or_else(|| panic!("never given up: {gaps:.2?}"));
    assert!(
        gaps[..given_up].iter().any(|gap| *gap <= 0.75),
        "given up after visits at {:.2?} even gaps",
        &gaps[..given_up]
    );
}

#[test]
fn or_by_its_own_dates() {
    let gaps = gaps(true);
    assert!(
        gaps.iter().any(|gap| *gap > GIVEN_UP),
        "never given up: {gaps:.2?}"
    );
}
