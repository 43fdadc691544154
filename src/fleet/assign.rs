//! Who looks after which host: rendezvous hashing, within what each probe has room for.

/// No probe has this number.
pub const NOBODY: u32 = u32::MAX;

/// Hosts that have to stay together, because they share a gate; one host as a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// A hash of its name.
    pub key: u64,
    /// How many pages are in it.
    pub pages: u32,
    /// How many hosts are in it.
    pub hosts: u32,
    /// Fetches a day that it is likely to ask for.
    pub demand: f32,
}

/// A probe, and the room it has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeCapacity {
    /// A hash of its name.
    pub key: u64,
    /// Pages that it has room for.
    pub pages: u32,
    /// Hosts that it has room for.
    pub hosts: u32,
    /// Fetches a day that its link can make.
    pub link: f32,
    /// Pages that it should have at most, for balance: more only where all others are full.
    pub fair: u32,
}

impl ProbeCapacity {
    fn holds(&self, group: &Group) -> bool {
        self.pages >= group.pages && self.hosts >= group.hosts && self.link >= group.demand
    }

    /// Has this group from now on, too.
    pub fn take(&mut self, group: &Group) {
        self.pages = self.pages.saturating_sub(group.pages);
        self.hosts = self.hosts.saturating_sub(group.hosts);
        self.link = (self.link - group.demand).max(0.0);
        self.fair = self.fair.saturating_sub(group.pages);
    }
}

/// How well a group and a probe go together: the highest score wins. It depends on nobody else, so
/// that a probe that leaves moves only what was its own.
pub fn score(group: u64, probe: u64) -> u64 {
    let mixed = (group ^ probe).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 29)
}

/// Gives every group an owner: the one it has, if that probe is there and has room, otherwise the
/// probe with the highest [`score`] among those that have. `owners` holds a probe's number for each
/// group, or [`NOBODY`], which is also the answer where no probe has room; the number of such
/// groups is returned. The room that is left is in `probes` afterwards.
///
/// Large groups should come first. Work: a score for each probe and group that is to be placed.
///
/// ```
/// use dunlin::fleet::{Group, NOBODY, ProbeCapacity, assign};
/// let host = Group { key: 1, pages: 10, hosts: 1, demand: 5.0 };
/// let probe = ProbeCapacity { key: 2, pages: 15, hosts: 4, link: 100.0, fair: 15 };
/// let mut owners = [NOBODY; 2];
/// let left = assign(&[host, host], &mut [probe], &mut owners);
/// assert_eq!((owners, left), ([0, NOBODY], 1));
/// ```
pub fn assign(groups: &[Group], probes: &mut [ProbeCapacity], owners: &mut [u32]) -> usize {
    for (group, owner) in groups.iter().zip(owners.iter_mut()) {
        match probes.get_mut(*owner as usize) {
            Some(probe) if probe.holds(group) => probe.take(group),
            _ => *owner = NOBODY,
        }
    }
    let mut left = 0;
    for (group, owner) in groups.iter().zip(owners) {
        if *owner != NOBODY {
            continue;
        }
        match best(group, probes) {
            Some(number) => {
                *owner = number as u32;
                if let Some(probe) = probes.get_mut(number) {
                    probe.take(group);
                }
            }
            None => left += 1,
        }
    }
    left
}

/// The probe for a group, by its place among these: the highest [`score`] among those that are below
/// their fair share, else among those that have room at all. Work: a score for each probe.
pub fn best(group: &Group, probes: &[ProbeCapacity]) -> Option<usize> {
    let mut fair = (0, None);
    let mut any = (0, None);
    for (number, probe) in probes.iter().enumerate() {
        let score = score(group.key, probe.key);
        // Most are out of the question by that: their room is not looked at.
        if (fair.1.is_some() && score <= fair.0) || !probe.holds(group) {
            continue;
        }
        if any.1.is_none() || score > any.0 {
            any = (score, Some(number));
        }
        if probe.fair >= group.pages && (fair.1.is_none() || score > fair.0) {
            fair = (score, Some(number));
        }
    }
    fair.1.or(any.1)
}
