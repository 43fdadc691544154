#![no_std]
#![forbid(unsafe_code)]
//! https for dunlin's boards: TLS 1.3 and 1.2 by rustls, in a fixed pool of memory.
//!
//! | file | what is decided there |
//! |---|---|
//! | `connection.rs` | how a connection goes on: what is processed, sent, waited for |
//! | `failure.rs` | how a failure is called |
//! | `caps.rs` | what a server can make the probe allocate |
//! | `need.rs` | how much a step can take, and why the pool is large enough |
//! | `records.rs` | who has the buffer that records pass through |
//! | `incoming.rs`, `text.rs` | what came into it, and where in it the text is |
//! | `sessions.rs` | which sessions are kept to be resumed |
//! | `trust.rs`, `roots.rs`, `validity.rs` | whose certificates are believed |
//! | `provider/` | the cryptography |
//! | `rehearsal.rs` | connections that are always the same, to be counted |
//! | `computer.rs` | how tests and benches use all this (feature `computer`) |
//!
//! rustls allocates, so a board that wants this brings a global allocator over a pool of its own,
//! and says by [`Memory`] how much is left of it. Whatever is about to be processed is weighed
//! first: if there is no room for it, sessions are forgotten, and if that does not help, the
//! connection ends with [`TlsError::Memory`](dunlin::fetch::TlsError::Memory).
//!
//! Not done, on purpose: revocation, client certificates, 0-RTT.

extern crate alloc;
#[cfg(any(test, feature = "computer"))]
extern crate std;

mod caps;
#[cfg(feature = "computer")]
pub mod computer;
mod connection;
mod failure;
mod incoming;
mod need;
mod provider;
mod records;
pub mod rehearsal;
mod roots;
mod sessions;
mod text;
mod trust;
mod validity;

pub use caps::{LONGEST_CHAIN, MOST_CERTIFICATES};
pub use connection::TlsConnection;
pub use failure::{StreamError, reason};
pub use need::{Need, POOL, RESERVE, Room};
pub use provider::seed;
pub use records::{RecordBuffer, Records};
pub use roots::{PUBLIC_ROOTS, Roots};
pub use sessions::{Held, Sessions};
pub use trust::{MOST_AUTHORITIES, NoOwner, Owner, Verifier};

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use rustls::client::{ClientConfig, Resumption, Tls12Resumption};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The date, as far as it is known.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Seconds since 1970, if that is certain.
    fn unix_time(&self) -> Option<u64>;
}

/// The pool that rustls allocates from: a part for handshakes and connections, and as much as
/// sessions may take.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Is one piece free that is long enough? Then whatever is allocated, that many bytes of it
    /// fit. Of what is in use, `kept` bytes are sessions.
    fn room(&self, need: Need, kept: usize) -> Room;
}

/// What all connections share.
#[allow(missing_debug_implementations)] // See Records.
pub struct Tls {
    config: Arc<ClientConfig>,
    records: &'static Records,
    sessions: &'static Sessions,
    memory: &'static dyn Memory,
    clock: &'static dyn Clock,
    full: AtomicU32,
    resumed: AtomicU32,
}

/// How many handshakes there were so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// How many were made with certificates.
    pub full: u32,
    /// How many resumed a session.
    pub resumed: u32,
}

impl Tls {
    /// Sets everything up; [`seed`] has to be called, too. Allocates about a kilobyte for good.
    pub fn new(
        records: &'static Records,
        sessions: &'static Sessions,
        memory: &'static dyn Memory,
        clock: &'static dyn Clock,
        owner: &'static dyn Owner,
    ) -> Option<Self> {
        let builder =
            ClientConfig::builder_with_details(provider::provider(), Arc::new(Now(clock)));
        let verifier = Verifier {
            owner,
            roots: Roots::Packed(PUBLIC_ROOTS),
            algorithms: provider::ALGORITHMS,
        };
        let mut config = builder
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .ok()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.resumption = Resumption::store(Arc::new(sessions))
            .tls12_resumption(Tls12Resumption::SessionIdOrTickets);
        Some(Self {
            config: Arc::new(config),
            records,
            sessions,
            memory,
            clock,
            full: AtomicU32::new(0),
            resumed: AtomicU32::new(0),
        })
    }

    /// Handshakes that were completed so far.
    pub fn handshakes(&self) -> Handshakes {
        Handshakes {
            full: self.full.load(Ordering::Relaxed),
            resumed: self.resumed.load(Ordering::Relaxed),
        }
    }

    /// The sessions that are kept.
    pub fn sessions(&self) -> &'static Sessions {
        self.sessions
    }

    fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    fn records(&self) -> &'static Records {
        self.records
    }

    /// Is the date known? Without it, no connection can be opened.
    pub fn knows_time(&self) -> bool {
        self.clock.unix_time().is_some()
    }

    /// Is there room for so many bytes? Forgets sessions where that helps.
    fn make_room(&self, need: Need) -> bool {
        loop {
            match self.memory.room(need, self.sessions.held().bytes) {
                Room::Enough => return true,
                Room::Busy => return false,
                Room::Scattered if !self.sessions.forget_one() => return false,
                Room::Scattered => {}
            }
        }
    }

    fn count(&self, resumed: bool) {
        let counter = if resumed { &self.resumed } else { &self.full };
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }
}

/// The clock, as rustls asks for it.
#[derive(Debug)]
struct Now(&'static dyn Clock);

impl TimeProvider for Now {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = self.0.unix_time()?;
        Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(
            seconds,
        )))
    }
}
