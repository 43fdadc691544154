//! Two probes share one budget: each reports what a fetch is worth to it, and is granted a lease.
//!
//! `cargo run --example fleet --features std,fleet`

use dunlin::fleet::{Demand, Drift, GrantLedger, Member, Outlook, share};
use dunlin::time::{Duration, Instant};

/// The list of pages that both probes and the planner speak of.
const LIST: u32 = 7;
const LEASE: Duration = Duration::HOUR;

fn main() {
    // One more fetch is worth three times as much to the second probe.
    let prices = [0.1, 0.3];
    let demands = prices.map(|price| Demand {
        budget: 100.0,
        price,
        elasticity: 1.0,
        most: 10_000.0,
    });
    let mut shares = [0.0; 2];
    share(200.0, &demands, &mut shares);

    for (number, (price, budget)) in (1..).zip(prices.into_iter().zip(shares)) {
        let mut probe = Member::new(number, LIST, Instant::ZERO, Drift::DEFAULT);
        let mut ledger = GrantLedger::new(LIST); // what the planner knows of this probe
        let outlook = Outlook {
            price,
            ..Outlook::default()
        };
        let report = probe.report(&outlook, Instant::ZERO);
        ledger.reported(&report, 1);
        // The report took three seconds. The lease counts from when it was sent, so the probe
        // stops before the planner gives its hosts to somebody else.
        let arrived = Instant::ZERO + Duration::from_secs(3);
        let grant = ledger.grant(&report, 1, budget, LEASE, arrived);
        assert!(probe.granted(&grant));
        let until = probe.leased_until().unwrap_or(Instant::ZERO);
        let planner = ledger.leased_until(Drift::DEFAULT);
        println!(
            "probe {number}: {:.0} fetches a day, stops after {} s, its hosts are free after {} s",
            probe.budget(),
            until.as_micros() / 1_000_000,
            planner.as_micros() / 1_000_000,
        );
        assert!(until < planner);
    }
    assert!(shares[1] > 2.9 * shares[0]);
}
