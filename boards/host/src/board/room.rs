//! Memory of a computer for pages beyond the list.

use dunlin::discover::{Candidate, FrontierMemory};
use dunlin::probe::{DiscoveryMemory, FoundHost, FoundPage, SCOUTS};
use dunlin::rank::Account;

use crate::lists::discovery::Wanted;

/// Candidates for each place, and at least so many.
const CANDIDATES: usize = 8;
const LEAST_CANDIDATES: usize = 4_096;
/// Hosts beyond those of the list, where the scope lets them in.
const HOSTS: usize = 1_024;

/// As much as a collection needs.
#[derive(Debug)]
pub struct Room {
    accounts: Vec<Account>,
    order: Vec<u16>,
    candidates: Vec<Candidate>,
    doorkeeper: Vec<u8>,
    directories: Vec<u8>,
    pages: Vec<FoundPage>,
    hosts: Vec<FoundHost>,
    queue: Vec<u8>,
    trials: Vec<u8>,
}

/// Pages that a probe holds at most beside its scouts.
pub const MOST_PLACES: usize = 65_534 - SCOUTS;

impl Room {
    /// Makes room for this collection, beside so many tellers.
    pub fn new(wanted: &Wanted, tellers: usize) -> Self {
        use dunlin::discover::Scope;
        let places = usize::from(wanted.places) + tellers + SCOUTS;
        let candidates = (CANDIDATES * places).max(LEAST_CANDIDATES);
        let hosts = match wanted.scope {
            Scope::Hosts | Scope::Prefix => 0,
            Scope::Site | Scope::Any => HOSTS,
        };
        Self {
            accounts: vec![Account::FREE; places],
            order: vec![0; places],
            candidates: vec![Candidate::default(); candidates.next_multiple_of(8)],
            doorkeeper: vec![0; 4 * candidates],
            directories: vec![0; 4 * candidates],
            pages: (0..places).map(|_| FoundPage::NEW).collect(),
            hosts: (0..hosts).map(|_| FoundHost::NEW).collect(),
            queue: vec![0; 65_536],
            trials: vec![0; 4_096],
        }
    }

    /// Places, those of scouts included.
    pub fn places(&self) -> usize {
        self.pages.len()
    }

    /// Hosts beyond those of the list.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Lent to a probe.
    pub fn lend(&mut self) -> DiscoveryMemory<'_> {
        DiscoveryMemory {
            frontier: FrontierMemory {
                accounts: &mut self.accounts,
                order: &mut self.order,
                candidates: &mut self.candidates,
                doorkeeper: &mut self.doorkeeper,
                directories: &mut self.directories,
            },
            pages: &self.pages,
            hosts: &self.hosts,
            queue: &mut self.queue,
            trials: &mut self.trials,
        }
    }
}
