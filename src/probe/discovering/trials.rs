//! Which parts of hosts are worth exploring, and which pages do not want to be kept.

use super::SCOUTS;
use crate::discover::{Doorkeeper, branch_digest, part_of};
use crate::fetch::Url;

/// Exploring visits to one part of a host that may be in vain, lately, and so many more for each
/// that was not: traps are parts whose pages never replace another.
const VAIN: u8 = 8;

/// Visits to scouts, counted by parts of hosts.
#[derive(Debug)]
pub(super) struct Trials<'a> {
    /// Those that came to nothing …
    vain: Doorkeeper<&'a mut [u8]>,
    /// … and those that replaced another page.
    won: Doorkeeper<&'a mut [u8]>,
}

impl<'a> Trials<'a> {
    /// No visit is counted yet, in this memory.
    pub(super) fn new(memory: &'a mut [u8]) -> Self {
        let half = memory.len() / 2;
        let (vain, won) = memory.split_at_mut(half);
        Self {
            vain: Doorkeeper::new(vain),
            won: Doorkeeper::new(won),
        }
    }

    /// A visit to this URL has replaced another page, or was in vain.
    pub(super) fn note(&mut self, url: &str, key: &[u8; 16], won: bool) {
        let Ok(url) = Url::parse(url) else {
            return;
        };
        let branch = branch_digest(&url, key);
        let _ = match won {
            true => self.won.see(branch),
            false => self.vain.see(branch),
        };
    }

    /// Is an exploring visit there likely to be worth it? At the top of a host it always is.
    pub(super) fn is_worth_a_visit(&self, url: &str, key: &[u8; 16]) -> bool {
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        if part_of(&url).is_none() {
            return true;
        }
        let branch = branch_digest(&url, key);
        let won = self.won.count(branch).saturating_add(1);
        self.vain.count(branch) < won.saturating_mul(VAIN)
    }
}

/// Pages that were visited and do not want to be kept: the last ones that said so.
#[derive(Debug, Default)]
pub(super) struct Unwilling(heapless::Vec<u16, SCOUTS>);

impl Unwilling {
    /// Notes whether a page does not want to be kept.
    pub(super) fn set(&mut self, place: u16, unwilling: bool) {
        let _ = self.take(place);
        if unwilling {
            if self.0.is_full() {
                self.0.remove(0);
            }
            let _ = self.0.push(place);
        }
    }

    /// Has a page said so? It is forgotten then.
    pub(super) fn take(&mut self, place: u16) -> bool {
        let at = self.0.iter().position(|other| *other == place);
        at.map(|at| self.0.swap_remove(at)).is_some()
    }
}
