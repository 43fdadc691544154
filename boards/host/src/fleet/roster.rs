//! The probes of a fleet, by name and number.

use std::collections::HashMap;

use dunlin::time::Instant;

use super::page_table::hash;

/// Probes that are known at most: whoever invents names does not fill the memory.
pub const MOST_PROBES: usize = 16_384;

/// The list that was made for a probe.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The version, which is raised whenever the list has to be made anew.
    pub version: u32,
    /// The pages, by their place in it.
    pub pages: Vec<u32>,
    /// Bytes of the page image, which is in the planner's folder.
    pub length: u32,
    /// What tells these bytes from others.
    pub image: u32,
    /// What tells its pages from others.
    pub digest: u64,
    /// What one has to know to get it.
    pub token: u64,
}

/// A probe as the roster has it.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// The name that it reports under.
    pub name: String,
    /// A hash of that.
    pub key: u64,
    /// The boot and the number of its last report.
    pub boot: u32,
    /// The number of its last report since that boot.
    pub seq: u32,
    /// The broker says that it is connected. A hint only.
    pub online: bool,
    /// It fetches nothing until told otherwise.
    pub paused: bool,
    /// Its list, and the pages of the one before, by place.
    pub list: List,
    /// The version and the pages of the list before.
    pub earlier: (u32, Vec<u32>),
    /// The list has to be made anew; its version has been raised.
    pub stale: bool,
    /// When it was last told of its list.
    pub announced: Option<Instant>,
    /// Its last report has not been answered.
    pub pending: bool,
    /// The number that its next visit should have, in this boot.
    pub next_visit: u32,
    /// Visits that were heard of.
    pub visits: u64,
    /// How many of them found a change.
    pub changes: u64,
    /// The budget that is saved for it.
    pub saved_budget: f32,
}

/// All probes. A number is for ever.
#[derive(Debug, Default)]
pub struct Roster {
    probes: Vec<Probe>,
    by_name: HashMap<String, usize>,
}

impl Roster {
    /// The probes, by number.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The probe of this number, to be changed.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Probe> {
        self.probes.get_mut(number)
    }

    /// The probe of this number.
    pub fn get(&self, number: usize) -> Option<&Probe> {
        self.probes.get(number)
    }

    /// The number of a probe.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// A new probe, if there is room for one more; its number.
    pub fn add(&mut self, name: &str) -> Option<usize> {
        let number = self.probes.len();
        if number >= MOST_PROBES {
            return None;
        }
        self.by_name.insert(name.to_owned(), number);
        self.probes.push(Probe {
            name: name.to_owned(),
            key: hash(name),
            ..Probe::default()
        });
        Some(number)
    }
}
