//! Whose certificates this computer believes besides its own authorities: the owner's, and pinned
//! keys. How they are checked is the same as on a board (`dunlin_tls::Verifier`).

use std::collections::{HashMap, HashSet};

use dunlin_tls::Owner;

use crate::lists::trust::Pin;

/// What the owner says about hosts.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Certificates of the owner's own authorities, in DER.
    pub authorities: Vec<Vec<u8>>,
    /// The hosts that these may vouch for: those of the list.
    pub own: HashSet<String>,
    /// Keys that hosts must have.
    pub pins: HashMap<String, Pin>,
}

impl Owner for Trust {
    fn is_own(&self, host: &str) -> bool {
        self.own.contains(&host.to_ascii_lowercase())
    }

    fn authority(&self, index: usize) -> Option<&[u8]> {
        self.authorities.get(index).map(Vec::as_slice)
    }

    fn pin(&self, host: &str) -> Option<Pin> {
        self.pins.get(&host.to_ascii_lowercase()).copied()
    }
}
