//! What can go wrong with one message or one probe, and what comes of it.

use dunlin::fleet::{Demand, Departure, Drift, Grant, GrantLedger, Member, Outlook, share};
use dunlin::time::{Duration, Instant};

const LEASE: Duration = Duration::HOUR;
const DRIFT: Drift = Drift::DEFAULT;

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// A probe with a list and a lease, and the grant that gave it.
fn leased() -> (Member, GrantLedger, Grant) {
    let mut probe = Member::new(7, 3, at(0), DRIFT);
    let mut ledger = GrantLedger::new(3);
    let report = probe.report(&Outlook::default(), at(10));
    let grant = ledger.grant(&report, 1, 100.0, LEASE, at(11));
    assert!(probe.granted(&grant));
    (probe, ledger, grant)
}

#[test]
fn a_stale_grant_does_not_prolong_a_lease() {
    let (mut probe, mut ledger, first) = leased();
    let until = probe.leased_until();
    for second in 1..=4 {
        probe.report(&Outlook::default(), at(second * 900));
    }
    // It answers a report whose time is forgotten: nobody knows when that lease would end.
    let late = Grant { number: 2, ..first };
    assert!(!probe.granted(&late));
    assert_eq!(probe.leased_until(), until);
    // One of an earlier boot, too.
    let report = probe.report(&Outlook::default(), at(4_000));
    let mut grant = ledger.grant(&report, 1, 100.0, LEASE, at(4_001));
    grant.boot = 6;
    assert!(!probe.granted(&grant));
    assert_eq!(probe.leased_until(), until);
}

/// Otherwise a probe whose reports are lost would take what it is given meanwhile for their answer,
/// and not repeat them until its lease has run out.
#[test]
fn a_raise_after_a_lost_report_is_no_answer_to_it() {
    let (mut probe, mut ledger, first) = leased();
    assert!(probe.is_answered_by(&first));
    let heard = probe.report(&Outlook::default(), at(900));
    let lost = probe.report(&Outlook::default(), at(1_800));
    let raise = ledger.grant(&heard, 1, 120.0, LEASE, at(901));
    assert!(probe.granted(&raise) && !probe.is_answered_by(&raise));
    let answer = ledger.grant(&lost, 1, 120.0, LEASE, at(1_817));
    assert!(probe.granted(&answer) && probe.is_answered_by(&answer));
}

#[test]
fn a_budget_counts_until_its_lease_is_over_everywhere() {
    let (_, mut ledger, _) = leased();
    let until = ledger.leased_until(DRIFT);
    let after = until + Duration::from_micros(1);
    for (now, expected) in [(at(12), 100.0), (until, 100.0), (after, 0.0)] {
        assert_eq!(ledger.committed(DRIFT, now), expected, "at {now:?}");
        ledger.lapse(DRIFT, now);
        assert_eq!(ledger.budget(), expected, "at {now:?}");
    }
    // Nothing is left of it that could come back.
    assert_eq!(ledger.committed(DRIFT, at(12)), 0.0);
}

#[test]
fn a_grant_that_comes_twice_counts_once() {
    let (mut probe, _, grant) = leased();
    let until = probe.leased_until();
    assert!(!probe.granted(&grant));
    assert_eq!(probe.leased_until(), until);
}

#[test]
fn a_planner_of_an_earlier_epoch_is_not_obeyed() {
    let (mut probe, _, _) = leased();
    let report = probe.report(&Outlook::default(), at(20));
    let new = GrantLedger::new(3).grant(&report, 2, 50.0, LEASE, at(21));
    assert!(probe.granted(&new));
    let old = Grant {
        epoch: 1,
        number: 99,
        budget: 1e6,
        ..new
    };
    assert!(!probe.granted(&old));
    assert_eq!(probe.budget(), 50.0);
}

#[test]
fn a_planner_that_starts_with_a_shorter_lease_waits_for_the_longer_one() {
    let (mut probe, ..) = leased();
    let longest = probe.leased_until();
    // It has just been killed, and starts again.
    let mut ledger = GrantLedger::restarted(3, 100.0, LEASE, at(12));
    let over = ledger.leased_until(DRIFT);
    for minute in 1..70 {
        let now = at(12 + minute * 60);
        let report = probe.report(&Outlook::default(), now);
        let grant = ledger.grant(&report, 2, 50.0, Duration::from_secs(61), now);
        assert!(probe.granted(&grant));
        assert!(probe.leased_until() >= longest, "the probe keeps it");
        let until = ledger.leased_until(DRIFT);
        assert!(until >= over, "given away at {until:?}, before {over:?}");
    }
}

#[test]
fn a_wrong_clock_has_no_part_in_a_lease() {
    // The probe believes to be in another century; only lengths of time count.
    let then = Instant::from_micros(u64::MAX / 2);
    let mut probe = Member::new(7, 3, then, DRIFT);
    let report = probe.report(&Outlook::default(), then);
    let grant = GrantLedger::new(3).grant(&report, 1, 1.0, LEASE, at(5));
    assert!(probe.granted(&grant));
    let length = probe.leased_until().expect("a lease") - then;
    assert_eq!(length, DRIFT.shorten(LEASE));
}

#[test]
fn nonsense_in_a_grant_is_refused() {
    let (mut probe, _, grant) = leased();
    let report = probe.report(&Outlook::default(), at(30));
    for budget in [f32::NAN, -1.0] {
        let bad = Grant {
            seq: report.seq,
            number: 2,
            budget,
            ..grant
        };
        assert!(!probe.granted(&bad), "{budget}");
    }
}

#[test]
fn an_older_list_is_refused_and_a_newer_grant_waits_for_its_list() {
    let (mut probe, mut ledger, _) = leased();
    assert!(!probe.take_list(2, at(40)) && !probe.take_list(3, at(40)));
    let version = ledger.next_list(0);
    let report = probe.report(&Outlook::default(), at(50));
    assert!(probe.granted(&ledger.grant(&report, 1, 1.0, LEASE, at(51))));
    assert_eq!(probe.leased_until(), None, "its list is too old");
    assert!(probe.take_list(version, at(60)));
    assert!(probe.leased_until().is_some());
}

#[test]
fn a_host_of_a_silent_probe_is_given_away_after_its_lease_and_politeness() {
    let (_, mut ledger, _) = leased();
    ledger.next_list(0);
    let politeness = Duration::from_secs(15);
    let departure = Departure::new(&ledger, politeness, DRIFT);
    let expected = at(11) + DRIFT.lengthen(LEASE) + DRIFT.lengthen(politeness);
    assert_eq!(departure.free_at(), expected);
}

#[test]
fn a_host_that_was_released_is_given_away_after_the_rest_of_its_politeness() {
    let (mut probe, mut ledger, _) = leased();
    let version = ledger.next_list(0);
    let mut departure = Departure::new(&ledger, Duration::from_secs(15), DRIFT);
    let before = probe.report(&Outlook::default(), at(99));
    departure.reported(&before, DRIFT, at(99));
    assert!(departure.free_at() > at(3_000), "it still has the old list");
    assert!(probe.take_list(version, at(100)));
    let report = probe.report(&Outlook::default(), at(110));
    departure.reported(&report, DRIFT, at(111));
    let free = departure.free_at();
    assert!(free >= at(116) && free < at(117), "{free:?}");
}

#[test]
fn liars_hold_no_more_than_the_cap_of_a_share() {
    let mean = 100.0;
    let honest = Demand {
        budget: mean,
        price: 0.1,
        elasticity: 0.8,
        most: 3.0 * mean,
    };
    let mut demands = vec![honest; 1_000];
    for liar in demands.iter_mut().take(9) {
        liar.price *= 1_100.0;
    }
    let mut shares = vec![0.0; 1_000];
    let total = 1_000.0 * mean;
    share(total, &demands, &mut shares);
    let held: f32 = shares.iter().take(9).sum();
    assert!(held / total <= 0.03, "{}", held / total);
    assert!(shares.iter().sum::<f32>() <= total * 1.0001);
}
