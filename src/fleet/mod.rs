//! Many probes keep one collection fresh: one planner shares out hosts, budgets and leases, over a
//! broker that may lose, repeat and delay messages.
//!
//! Whole hosts are assigned, so a host's politeness is kept by its one owner. What is hard is the
//! moment at which it changes hands: a web server cannot tell an old owner from a new one, so only
//! time can. Clocks are not synchronised; their *rates* differ by no more than [`Drift`].
//!
//! # The six rules
//! Two requests to one host are never closer than its politeness P, whoever makes them, because:
//!
//! 1. A lease ends a time L(1 − ρ) after the probe *sent* the report that the grant answers. Grants
//!    that answer another boot, or a report of which the time is forgotten, are ignored
//!    ([`Member::granted`]).
//! 2. A visit needs a lease that holds, a list that is no older than the grant's, and the host in
//!    that list ([`Member::leased_until`]).
//! 3. A list of a lower version is ignored ([`Member::wants`]).
//! 4. A host that moves is taken off the old owner's list first. The new owner has it on its list P
//!    after the old one was last able to visit it: as its report says, or else once its last lease
//!    is over ([`Departure`]).
//! 5. After it has started, a probe asks no host before P has passed ([`Member::rests_until`]).
//! 6. A planner that has started takes every lease for valid for L ([`GrantLedger::restarted`]).
//!
//! A probe that is cut off for longer than L stops; until then it crawls on. A model of all of this
//! under loss, delay, repetition, partition and reboots is in `host-tests/tests/fleet`, with every
//! rule broken in turn.
//!
//! # Sharing the budget
//! Budgets are granted, not prices broadcast: the sum holds at every step. [`share`] gives each
//! probe what it would ask for at a common price, by the price and the elasticity that it reports;
//! [`GrantLedger`] keeps in escrow what an earlier grant may still spend.
//!
//! | question | file |
//! |---|---|
//! | what goes over the wire, and by which names? | `message.rs`, `topic.rs` |
//! | may this probe visit now? | `member.rs` |
//! | what may a probe believe to hold, as far as the planner knows? | `ledger.rs` |
//! | when may a host be given to another probe? | `departure.rs` |
//! | how much may each probe fetch? | `share.rs` |
//! | who looks after which host? | `assign.rs`, and who gives hosts away for balance: `rehome.rs` |
//! | how much do clocks differ? | `drift.rs` |
//! | what can go wrong between a probe, its broker and the planner? | `link_error.rs` |
//!
//! # Example
//! A probe reports, is granted a lease, and its lease ends:
//!
//! ```
//! use dunlin::fleet::{Drift, GrantLedger, Member, Outlook};
//! use dunlin::time::{Duration, Instant};
//!
//! let mut probe = Member::new(0x5eed, 7, Instant::ZERO, Drift::DEFAULT);
//! let mut ledger = GrantLedger::new(7);
//! let report = probe.report(&Outlook::default(), Instant::ZERO);
//! ledger.reported(&report, 1);
//! let lease = Duration::HOUR;
//! let grant = ledger.grant(&report, 1, 500.0, lease, Instant::ZERO);
//! assert!(probe.granted(&grant));
//! assert_eq!(probe.budget(), 500.0);
//! let then = Instant::ZERO + Duration::from_secs(3_590);
//! assert!(probe.leased_until().is_some_and(|end| end > then));
//! assert!(probe.leased_until().is_some_and(|end| end < Instant::ZERO + lease));
//! ```

mod assign;
mod departure;
mod drift;
mod ledger;
mod link_error;
mod member;
mod message;
mod rehome;
mod share;
mod topic;

pub use assign::{Group, NOBODY, ProbeCapacity, assign, best, score};
pub use departure::Departure;
pub use drift::Drift;
pub use ledger::GrantLedger;
pub use link_error::{LinkError, ListError};
pub use member::Member;
pub use message::{
    Command, Done, Grant, LONGEST, ListNotice, MOST_VISITS, MessageError, Outlook, Presence,
    Report, VERSION, Verb, VisitReport, Visits, decode, encode, list_digest,
};
pub use rehome::{Balance, rehome};
pub use share::{Demand, ELASTICITY, share};
pub use topic::{LONGEST_NAME, LONGEST_TOPIC, ProbeTopic, TopicName, is_name, read_topic, topic};
