//! Sessions to be resumed: one a host and port, the latest, within a limit of bytes.
//!
//! A session that is resumed takes a seventh of the work of a full handshake. rustls keeps the
//! server's chain in each, so an entry is the chain, the ticket and some 300 bytes.
//!
//! A probe visits its hosts in turn. If there are more of them than fit, forgetting the session
//! that was used least recently would always forget the one that is needed next, and none would
//! ever be resumed. So a newcomer that needs somebody else's room is the next to go, unless it
//! comes back before another one: whoever is here stays. Each eighth newcomer stays itself, instead
//! of the one that was used least recently: that is how hosts that are visited no more lose their
//! places.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use critical_section::Mutex;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use crate::caps::LONGEST_KEPT;
use crate::trust::host_text;

/// The part of the cache that one session may take.
const LARGEST_SHARE: usize = 6;
/// One newcomer of so many stays.
const STAYING: u32 = 8;

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
    /// The session takes so many bytes.
    bytes: usize,
    /// Bytes of these that are the ticket's.
    ticket: usize,
    /// It has not found its place yet.
    is_new: bool,
    /// It has changed since it was weighed.
    is_changed: bool,
}

/// Boxed: a vector that grows is copied whole, and the pool has no room for two of them.
type Entries = Vec<Box<Entry>>;

/// The sessions. The first is the first to go; who is used becomes the last.
pub struct Sessions {
    entries: Mutex<RefCell<Entries>>,
    /// Whose turn it is: rustls tells a server's name, and several may have it, each on a port of
    /// its own.
    port: Mutex<Cell<u16>>,
    /// How many sessions came when the cache was full.
    newcomers: Mutex<Cell<u32>>,
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
    /// How many sessions it holds.
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
            newcomers: Mutex::new(Cell::new(0)),
            most,
        }
    }

    /// How many sessions the cache holds, and their bytes.
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

    /// Bytes of the session with this server, and of its ticket; 0 if there is none.
    pub(crate) fn bytes_of(&self, name: &ServerName<'_>) -> (usize, usize) {
        self.find(name, |entry| Some((entry.bytes, entry.ticket)))
            .unwrap_or_default()
    }

    /// Forgets the session whose turn it is; false if there is none.
    pub(crate) fn forget_one(&self) -> bool {
        // Dropped out here: freeing takes its time.
        self.with(|entries| (!entries.is_empty()).then(|| entries.remove(0)))
            .is_some()
    }

    /// A connection to this server has processed what came: its chain and its last ticket are so
    /// long. Forgets what no longer fits.
    pub(crate) fn weigh(&self, name: &ServerName<'_>, chain: usize, ticket: usize) {
        let port = self.port();
        let bytes = size_of::<Entry>() + host_text(name).len() + chain + ticket + OVERHEAD;
        // A ticket has to be sent back.
        let is_kept = bytes <= self.most / LARGEST_SHARE && ticket <= LONGEST_KEPT as usize;
        // What is not kept, or has to find its place first, is taken out.
        let taken = self.with(|entries| {
            let found = place(entries, name, port)?;
            let entry = entries.get_mut(found)?;
            if !core::mem::take(&mut entry.is_changed) {
                return None;
            }
            let is_new = core::mem::take(&mut entry.is_new);
            entry.bytes = bytes;
            entry.ticket = ticket;
            let all: usize = entries.iter().map(|entry| entry.bytes).sum();
            let is_moved = !is_kept || is_new && all > self.most;
            is_moved.then(|| entries.remove(found))
        });
        let most = match &taken {
            Some(_) if !is_kept => return,
            Some(_) => self.most - bytes,
            None => self.most,
        };
        while self.held().bytes > most && self.forget_one() {}
        let Some(newcomer) = taken else {
            return;
        };
        let count = critical_section::with(|token| {
            let newcomers = self.newcomers.borrow(token);
            newcomers.replace(newcomers.get().wrapping_add(1))
        });
        self.with(|entries| match count % STAYING {
            0 => entries.push(newcomer),
            _ => entries.insert(0, newcomer),
        });
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
                    ticket: 0,
                    is_new: true,
                    is_changed: true,
                }),
            };
            change(&mut entry);
            entry.is_changed = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(host: usize) -> ServerName<'static> {
        ServerName::try_from(std::format!("h{host}.test")).unwrap()
    }

    /// Visits a host: was its session there?
    fn visit(sessions: &Sessions, host: usize) -> bool {
        let name = name(host);
        let is_known = sessions.bytes_of(&name).0 > 0;
        sessions.change(&name, |_| ());
        sessions.weigh(&name, 900, 200);
        is_known
    }

    fn rounds(sessions: &Sessions, hosts: core::ops::Range<usize>, rounds: usize) -> f64 {
        let visits = rounds * hosts.len();
        let known = hosts
            .cycle()
            .take(visits)
            .filter(|host| visit(sessions, *host))
            .count();
        known as f64 / visits as f64
    }

    #[test]
    fn hosts_in_turn_keep_as_many_sessions_as_fit() {
        let sessions = Sessions::new(48 * 1024);
        rounds(&sessions, 0..64, 1);
        let fit = sessions.held().sessions;
        assert!(sessions.held().bytes <= 48 * 1024);
        let known = rounds(&sessions, 0..64, 50);
        // But for one place in eight of those who find none.
        assert!(known > fit as f64 / 64.0 - 0.1, "{known} with {fit}");
    }

    #[test]
    fn hosts_that_come_no_more_lose_their_places() {
        let sessions = Sessions::new(48 * 1024);
        rounds(&sessions, 0..30, 20);
        assert_eq!(rounds(&sessions, 0..30, 1), 1.0);
        rounds(&sessions, 100..130, 20);
        let known = rounds(&sessions, 100..130, 1);
        assert!(known > 0.9, "{known}");
    }

    #[test]
    fn nobody_takes_more_than_a_share() {
        let sessions = Sessions::new(48 * 1024);
        rounds(&sessions, 0..20, 1);
        sessions.change(&name(99), |_| ());
        sessions.weigh(&name(99), 8_000, 200);
        assert_eq!(sessions.bytes_of(&name(99)), (0, 0));
        assert_eq!(sessions.held().sessions, 20);
    }
}
