//! Memory that ends at any step: always an outcome, never a panic.

use std::sync::atomic::{AtomicU32, Ordering};

use dunlin::fetch::TlsError;
use dunlin_tls::{Memory, Need, Room};

use crate::client::{Fetch, fetch_patiently, machine};
use crate::peers::{Authority, Leaf, Server, Versions};

/// Has room so often, and then none.
#[derive(Debug)]
struct Ending {
    left: AtomicU32,
    then: Room,
}

impl Memory for Ending {
    fn room(&self, _: Need, _: usize) -> Room {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 { Room::Enough } else { self.then }
    }
}

#[test]
fn memory_that_ends_at_any_step_is_an_outcome() {
    let authority = Authority::new("our own");
    let identity = authority.leaf(&Leaf::named("a.test"));
    for versions in [Versions::Tls13, Versions::Tls12] {
        let server = Server::start(identity.clone(), versions);
        for then in [Room::Busy, Room::Scattered] {
            let mut steps = 0;
            loop {
                let left = AtomicU32::new(steps);
                let memory = Box::leak(Box::new(Ending { left, then }));
                let tls = machine(Some(&authority)).client_in(memory);
                let mut ask = Fetch::of(&server, "a.test");
                ask.client = Some(tls);
                let got = fetch_patiently(&ask);
                if got.result.is_ok() {
                    break;
                }
                let why = got.error();
                assert_eq!(why, TlsError::Memory, "{steps} steps of {versions:?}");
                steps += 1;
            }
            // At least to say hello, for the server's hello, its proof, a request and an answer.
            assert!(steps >= 5, "{steps} steps of {versions:?}, then {then:?}");
        }
    }
}
