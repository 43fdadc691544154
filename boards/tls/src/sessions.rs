//! Sessions to be resumed: one a host and port, the latest, within a limit of bytes.
//!
//! A session that is resumed takes a seventh of the work of a full handshake. rustls keeps the
//! server's chain in each, so an entry is the chain, the ticket and some 300 bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use critical_section::Mutex;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use crate::trust::host_text;

/// A ticket that is longer is not kept: it would have to be sent back.
const LONGEST_TICKET: usize = 1200;

#[allow(clippy::large_enum_variant)] // One of them is in a box of its own anyway.
enum Session {
    None,
    Tls12(Tls12ClientSessionValue),
    Tls13(Tls13ClientSessionValue),
}

struct Entry {
    name: ServerName<'static>,
    port: u16,
    /// What the server wanted instead of X25519.
    group: Option<NamedGroup>,
    session: Session,
    /// Bytes it takes.
    bytes: usize,
}

/// Boxed: a vector that grows is copied whole, and the pool has no room for two of them.
type Entries = Vec<Box<Entry>>;

/// The sessions. The one that was used least recently is the first to go.
pub struct Sessions {
    entries: Mutex<RefCell<Entries>>,
    /// Whose turn it is: rustls tells a server's name, and several may have it, each on a port of
    /// its own.
    port: Mutex<Cell<u16>>,
    most: usize,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// What the cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Sessions.
    pub sessions: usize,
    /// Bytes of the pool that they take.
    pub bytes: usize,
}

impl Sessions {
    /// An empty cache that may take so many bytes.
    pub const fn new(most: usize) -> Self {
        Self {
            entries: Mutex::new(RefCell::new(Vec::new())),
            port: Mutex::new(Cell::new(0)),
            most,
        }
    }

    /// What it holds.
    pub fn held(&self) -> Held {
        self.with(|entries| Held {
            sessions: entries.len(),
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
        })
    }

    /// What rustls asks for from now on is about the server on this port.
    pub(crate) fn turn_to(&self, port: u16) {
        critical_section::with(|token| self.port.borrow(token).set(port));
    }

    /// Forgets the session that was used least recently; false if there is none.
    pub(crate) fn forget_one(&self) -> bool {
        // Dropped out here: freeing takes its time.
        self.with(|entries| (!entries.is_empty()).then(|| entries.remove(0)))
            .is_some()
    }

    /// A connection to this server has processed what came: its chain and its last ticket are so
    /// long. Forgets what no longer fits.
    pub(crate) fn weigh(&self, name: &ServerName<'_>, chain: usize, ticket: usize) {
        let port = self.port();
        self.with(|entries| {
            let Some(found) = place(entries, name, port) else {
                return;
            };
            if ticket > LONGEST_TICKET {
                entries.remove(found);
            } else if let Some(entry) = entries.get_mut(found) {
                entry.bytes =
                    size_of::<Entry>() + host_text(name).len() + chain + ticket + OVERHEAD;
            }
        });
        while self.held().bytes > self.most && self.forget_one() {}
    }

    fn with<T>(&self, work: impl FnOnce(&mut Entries) -> T) -> T {
        critical_section::with(|token| work(&mut self.entries.borrow_ref_mut(token)))
    }

    /// Changes the entry of a server, which becomes the latest.
    fn change(&self, name: &ServerName<'_>, change: impl FnOnce(&mut Entry)) {
        let port = self.port();
        self.with(|entries| {
            let mut entry = match place(entries, name, port) {
                Some(found) => entries.remove(found),
                None => Box::new(Entry {
                    name: name.to_owned(),
                    port,
                    group: None,
                    session: Session::None,
                    bytes: size_of::<Entry>() + OVERHEAD,
                }),
            };
            change(&mut entry);
            entries.push(entry);
        });
    }

    fn find<T>(
        &self,
        name: &ServerName<'_>,
        find: impl FnOnce(&mut Entry) -> Option<T>,
    ) -> Option<T> {
        let port = self.port();
        self.with(|entries| {
            let found = place(entries, name, port)?;
            find(entries.get_mut(found)?)
        })
    }

    fn port(&self) -> u16 {
        critical_section::with(|token| self.port.borrow(token).get())
    }
}

fn place(entries: &Entries, name: &ServerName<'_>, port: u16) -> Option<usize> {
    entries
        .iter()
        .position(|entry| entry.port == port && entry.name == *name)
}

/// Headers of the allocations an entry is made of, and what rustls adds to chain and ticket.
const OVERHEAD: usize = 160;

impl ClientSessionStore for &'static Sessions {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        let known = self.find(&name, |entry| {
            entry.group = Some(group);
            Some(())
        });
        // X25519 is offered without a hint.
        if known.is_none() && group != NamedGroup::X25519 {
            self.change(&name, |entry| entry.group = Some(group));
        }
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.find(name, |entry| entry.group)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.change(&name, |entry| entry.session = Session::Tls12(value));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.find(name, |entry| match &entry.session {
            Session::Tls12(value) => Some(value.clone()),
            _ => None,
        })
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        self.find(name, |entry| {
            if matches!(entry.session, Session::Tls12(_)) {
                entry.session = Session::None;
            }
            Some(())
        });
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.change(&name, |entry| entry.session = Session::Tls13(value));
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.find(name, |entry| {
            match core::mem::replace(&mut entry.session, Session::None) {
                Session::Tls13(value) => Some(value),
                other => {
                    entry.session = other;
                    None
                }
            }
        })
    }
}
