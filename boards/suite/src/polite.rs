//! Gates wait as long as they have to, no longer, and forgive.

use dunlin::polite::{
    Answer, FORGIVEN_AFTER, Gate, GateSettings, Hours, MAX_CRAWL_DELAY, MAX_RETRY_AFTER, SEVERAL,
    gap,
};
use dunlin::time::{Duration, Instant};

use crate::{Case, cases};

pub const CASES: &[Case] = cases![polite:
    gaps_count_from_the_start_or_the_end, retry_after_is_obeyed_up_to_a_day, back_off_doubles_to_its_ceiling,
    back_off_is_spread, several_broken_pages_are_a_broken_host, failures_are_forgiven, crawl_delay_slows_but_never_excludes, hours_wrap_around_midnight,
];

const SETTINGS: GateSettings = GateSettings::DEFAULT;
/// In the middle of the range: the spread is zero to one part in 65,536.
const MIDDLE: u32 = 1 << 31;

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

/// How long the gate stays closed after a failure at `now`.
fn failed(gate: &mut Gate, now: Instant, random: u32) -> Duration {
    let earliest = gate.earliest_after(now);
    gate.opens(earliest, now, Answer::Failed, &SETTINGS, random) - now
}

fn gaps_count_from_the_start_or_the_end() {
    let mut gate = Gate::new(Duration::from_micros(14_999_001));
    assert_eq!(
        gate.gap(),
        Duration::from_secs(15),
        "rounded up to milliseconds"
    );
    gate.begin();
    assert!(gate.is_busy());
    let earliest = gate.earliest_after(at(100));
    assert_eq!(
        gate.opens(earliest, at(104), Answer::Served, &SETTINGS, 0),
        at(115)
    );
    assert!(!gate.is_busy());
    assert_eq!(
        gate.opens(earliest, at(120), Answer::Served, &SETTINGS, 0),
        at(120),
        "a slow fetch"
    );
    let from_end = SETTINGS.with_gap_from_end(true);
    assert_eq!(
        gate.opens(earliest, at(104), Answer::Served, &from_end, 0),
        at(119)
    );
    assert_eq!(
        gate.opens(earliest, at(104), Answer::NotAsked, &SETTINGS, 0),
        at(104),
        "no request, no gap"
    );
}

fn retry_after_is_obeyed_up_to_a_day() {
    let mut gate = Gate::new(Duration::from_secs(15));
    let earliest = gate.earliest_after(at(0));
    let mut ask = |secs| {
        let answer = Answer::Refused {
            retry_after: Some(Duration::from_secs(secs)),
        };
        gate.opens(earliest, at(2), answer, &SETTINGS, 7)
    };
    assert_eq!(ask(120), at(122));
    assert_eq!(ask(1), at(15), "never sooner than politeness");
    assert_eq!(ask(10_000_000), at(2) + MAX_RETRY_AFTER);
}

fn back_off_doubles_to_its_ceiling() {
    let mut gate = Gate::new(Duration::from_secs(1));
    let mut expected = SETTINGS.back_off;
    for _ in 0..20 {
        let wait = failed(&mut gate, at(0), MIDDLE);
        let error = wait.as_micros().abs_diff(expected.as_micros());
        assert!(
            error <= expected.as_micros() / 10_000 + 65_536,
            "{wait:?}, not {expected:?}"
        );
        expected = (expected * 2).min(SETTINGS.back_off_ceiling);
    }
    assert_eq!(expected, SETTINGS.back_off_ceiling);
}

fn back_off_is_spread() {
    let wait = |random| failed(&mut Gate::new(Duration::ZERO), at(0), random);
    assert_eq!(wait(0), SETTINGS.back_off / 4 * 3);
    assert!(
        wait(u32::MAX) > SETTINGS.back_off * 6 / 5 && wait(u32::MAX) <= SETTINGS.back_off * 5 / 4
    );
}

fn several_broken_pages_are_a_broken_host() {
    let polite = Duration::from_secs(1);
    let mut gate = Gate::new(polite);
    let mut wait = |answer| gate.opens(at(0) + polite, at(0), answer, &SETTINGS, 0) - at(0);
    let again = Answer::Broken { again: true };
    let new = Answer::Broken { again: false };
    for _ in 1..SEVERAL {
        assert_eq!(wait(new), polite);
        (0..20).for_each(|_| assert_eq!(wait(again), polite, "one page, however often"));
    }
    assert!(wait(new) > polite, "several pages");
    assert!(wait(again) > SETTINGS.back_off, "and it goes on");
    wait(Answer::Served);
    assert_eq!(wait(new), polite, "counted anew once a page is served");
}

fn failures_are_forgiven() {
    let mut gate = Gate::new(Duration::from_secs(1));
    (0..8).for_each(|_| _ = failed(&mut gate, at(0), 0));
    assert_eq!(gate.failures(), 8);
    let _ = gate.opens(at(1), at(2), Answer::Served, &SETTINGS, 0);
    assert_eq!(gate.failures(), 4, "a success halves them");
    failed(&mut gate, at(3), 0);
    assert_eq!(gate.failures(), 5);
    failed(&mut gate, at(3) + FORGIVEN_AFTER * 2, 0);
    assert_eq!(
        gate.failures(),
        2,
        "so does time, here twice; and one more failure"
    );
    let _ = gate.opens(
        at(0),
        Instant::ZERO + Duration::DAY * 30,
        Answer::Served,
        &SETTINGS,
        0,
    );
    assert_eq!(gate.failures(), 0);
}

fn crawl_delay_slows_but_never_excludes() {
    let politeness = Duration::from_secs(15);
    assert_eq!(gap(politeness, None), politeness);
    assert_eq!(
        gap(politeness, Some(Duration::from_secs(30))),
        Duration::from_secs(30)
    );
    assert_eq!(gap(politeness, Some(Duration::MAX)), MAX_CRAWL_DELAY);
    assert_eq!(
        gap(Duration::DAY, Some(Duration::MAX)),
        Duration::DAY,
        "one's own politeness has no ceiling"
    );
}

fn hours_wrap_around_midnight() {
    let night = Hours::new(22, 6).unwrap();
    for hour in 0..24 {
        let wait = if (6..22).contains(&hour) {
            22 - hour
        } else {
            0
        };
        assert_eq!(
            night.wait(Duration::HOUR * hour),
            Duration::HOUR * wait,
            "at {hour}"
        );
    }
    assert_eq!(
        night.wait(Duration::HOUR * 30),
        Duration::HOUR * 16,
        "tomorrow is another day"
    );
    assert_eq!(
        Hours::new(7, 24).unwrap().wait(Duration::HOUR * 23),
        Duration::ZERO
    );
    assert!(
        Hours::new(5, 5).is_none() && Hours::new(24, 3).is_none() && Hours::new(3, 25).is_none()
    );
}
