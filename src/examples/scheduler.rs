//! The scheduler alone, with a clock and an HTTP client of one's own: a day of two pages, one of
//! which changes every hour and one never.
//!
//! `cargo run --example scheduler`

use dunlin::scheduler::{Counter, Decision, Error, Outcome, PageSettings, Scheduler, Settings};
use dunlin::time::{Duration, Instant};

fn main() -> Result<(), Error> {
    let mut scheduler: Scheduler<16, 4> = Scheduler::new(Settings::DEFAULT);
    let mut now = Instant::ZERO;
    scheduler.set_budget(Some(48.0), now)?;
    let host = scheduler.add_host(Duration::from_secs(15))?;
    let news = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
    let imprint = scheduler.add_page(host, &PageSettings::DEFAULT, now)?;
    let end = now + Duration::DAY;
    while now < end {
        match scheduler.next(now) {
            Decision::Fetch(page) => {
                // Here your HTTP client fetches the page and compares it with the last version.
                let outcome = if page == news {
                    Outcome::Changed { modified_ago: None }
                } else {
                    Outcome::Unchanged
                };
                scheduler.record(page, outcome, now)?;
            }
            Decision::WaitUntil(then) => now = then,
            Decision::Idle => break,
        }
    }
    for (name, page) in [("news", news), ("imprint", imprint)] {
        let rate = scheduler.estimate(page)?.rate();
        println!("{name}: believed to change {rate:.2} times a day");
    }
    let fetches = scheduler.counters().get(Counter::Fetch);
    println!("{fetches} fetches in a day with a budget of 48");
    assert!(scheduler.estimate(news)?.rate() > scheduler.estimate(imprint)?.rate());
    assert!(fetches <= 48 + 4);
    Ok(())
}
