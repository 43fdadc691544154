//! What rustls allocates at each step at most, and why the pool is large enough.
//!
//! 1. *Nothing is allocated without room.* Before each step a connection asks for the step's [`Need`].
//!    Without room the connection ends, so running out of memory is an outcome. One free piece of
//!    that length is looked for, so it does not matter how the rest is scattered.
//! 2. *No step allocates more than its need.* What a server can send is [capped](crate::caps), and what
//!    becomes of it in the pool is in this table. `host-tests/e2e/src/tls/pool.rs` counts it on a
//!    computer, with servers that go to the limits.
//! 3. *The greediest connection fits if it is alone*, and whoever finds no room waits until others
//!    have ended. [`GREEDIEST`] is compared with [`POOL`] when this is compiled.
//!
//! | step | connection | sessions |
//! |---|---|---|
//! | hello | [`HELLO`], and the ticket of a session to be resumed [so often](TICKET_COPIES) | |
//! | messages of the handshake | their bytes: chain, TLS 1.2's ticket; [`BESIDE`]; the chain of a session that is resumed | |
//! | once the chain is known | the same | twice the chain and a ticket: a record brings two at most |
//! | a record of text or new keys, a request | [`TRAFFIC`] | the same |

use crate::caps::{LONGEST_CHAIN, LONGEST_KEPT, MOST_TICKETS};

/// Bytes of the pool that handshakes and open connections share.
pub const POOL: usize = 32 * 1024;
/// Stays free when room is asked for: what the pool itself takes for pieces, which are rounded up.
pub const RESERVE: usize = 1024;

/// What is allocated for good, when TLS is set up.
const FOR_GOOD: usize = 2 * 1024;
/// An open connection without the server's chain.
const OPEN: usize = 4 * 1024;
/// What rustls allocates to say hello without a ticket.
const HELLO: usize = 7 * 1024;
/// How often a ticket is in what it allocates: a hello is written several times, in buffers that
/// grow.
const TICKET_COPIES: usize = 16;
/// What rustls allocates for messages besides their bytes: keys, hashes, lists, what it answers.
/// Most of it are addresses and lengths: 6,656 bytes on a board, twice as much on a computer.
const BESIDE: usize = 1664 * size_of::<usize>();
/// What it allocates for a record after the handshake, or to send one.
const TRAFFIC: usize = 2 * 1024;
/// A usual handshake, from its beginning to its end.
const USUAL: usize = 14 * 1024;
/// A session without its chain and ticket.
const SESSION: usize = 512;

/// A connection whose chain is as long as the caps allow, when that chain is processed. (A ticket
/// of TLS 1.2 as long as the caps allow may find no room behind it; nobody has such tickets.)
const GREEDIEST: usize = FOR_GOOD + OPEN + LONGEST_CHAIN as usize + BESIDE;
// On boards, whose addresses are short.
const _: () = assert!(size_of::<usize>() > 4 || GREEDIEST + RESERVE <= POOL);

/// Bytes that are about to be allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Bytes that a handshake or a connection takes.
    pub connection: usize,
    /// Bytes for sessions, until those are weighed and what does not fit is forgotten.
    pub sessions: usize,
}

impl Need {
    /// The need of a handshake that needs no patience later on.
    pub(crate) const USUAL: Self = Self::of_connection(USUAL);

    /// The need of a hello with a ticket of so many bytes, or none.
    pub(crate) const fn of_hello(ticket: usize) -> Self {
        Self::of_connection(HELLO + TICKET_COPIES * ticket)
    }

    const fn of_connection(connection: usize) -> Self {
        Self {
            connection,
            sessions: 0,
        }
    }

    /// Of a step that processes so many bytes of a handshake. A session of so many bytes was
    /// offered, and the server's chain is so long, as far as it is known.
    pub(crate) const fn of_handshake(bytes: usize, offered: usize, chain: usize) -> Self {
        Self {
            connection: bytes + BESIDE + offered,
            ..Self::of_traffic(chain)
        }
    }

    /// Of a step after the handshake. Text takes nothing: it stays where it was decrypted.
    pub(crate) const fn of_traffic(chain: usize) -> Self {
        Self {
            connection: TRAFFIC,
            sessions: match chain {
                0 => 0,
                _ => MOST_TICKETS as usize * (chain + LONGEST_KEPT as usize + SESSION),
            },
        }
    }
}

/// Whether there is room for the next step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room for the next step.
    Enough,
    /// Connections have all that is for them. Some will end.
    Busy,
    /// Nothing that is free is long enough. It may be once a session is forgotten.
    Scattered,
}
