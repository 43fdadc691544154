#![no_std]
#![forbid(unsafe_code)]
//! A probe's link to its fleet: MQTT 5 to a broker that people already run, lists by HTTP from the
//! planner. The same on a microcontroller and on a computer: a board brings connections, names, a
//! clock (the probe's [`Board`](dunlin::probe::Board)) and a place for lists ([`Device`]).
//!
//! What messages mean is decided in [`dunlin::fleet`]. This crate carries them: it connects with
//! the probe's own credentials, reports, obeys what is granted, answers commands, and fetches
//! lists. It tries again for ever, with pauses that grow and differ between probes. The crawl never
//! waits for it: while the broker is away or stalls, the probe goes on within its lease.
//!
//! Nothing that a broker sends makes it panic, loop or grow: messages that do not fit, make no
//! sense or belong to somebody else are passed over, and a broker that sends more than
//! [`MOST_A_SECOND`] is left alone for a while.
//!
//! | question | file |
//! |---|---|
//! | when to connect, when to fetch a list, what then? | `link.rs` |
//! | what happens on one connection? | `attend.rs` |
//! | what does a message change? | `duty.rs` |
//! | how is a list fetched, and when is it good? | `list.rs` |
//! | how does a list lie in flash, and whose is it? | `kept.rs` |
//! | how often is reported, how long is waited? | `pace.rs` |

#[cfg(test)]
extern crate std;

mod attend;
mod duty;
pub mod kept;
mod link;
mod list;
mod pace;

pub use attend::MOST_A_SECOND;
pub use link::{Broker, Link, Memory, Room};
pub use list::Device;
pub use pace::{Pace, REPORT};

/// The longest URL of a list.
pub const LONGEST_URL: usize = 192;
