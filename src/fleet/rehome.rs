//! Who gives hosts away, where budgets are fixed: from probes at which a fetch is dear to those at
//! which it is cheap.

use super::assign::{Group, score};

/// A probe whose budget cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// A hash of its name.
    pub key: u64,
    /// Fetches a day that its groups ask for at the common price, beyond its budget: below zero for
    /// a probe that could make more.
    pub excess: f32,
    /// Pages that it has room for besides its own.
    pub pages: u32,
    /// Hosts that it has room for besides its own.
    pub hosts: u32,
}

/// Moves groups, whose `demand` is at the common price, from probes with an excess to probes
/// without, up to so many pages in all; the number of pages that have moved. A group moves only if
/// that brings both probes nearer to balance. Groups that come first move first: large demands
/// should.
///
/// Work: one look at each group, and at each probe for every group that may move.
///
/// ```
/// use dunlin::fleet::{Balance, Group, rehome};
/// let group = Group { key: 1, pages: 3, hosts: 1, demand: 5.0 };
/// let busy = Balance { key: 1, excess: 8.0, pages: 100, hosts: 10 };
/// let idle = Balance { key: 2, excess: -6.0, ..busy };
/// let mut owners = [0, 0];
/// let moved = rehome(&[group, group], &mut [busy, idle], &mut owners, 100);
/// assert_eq!((owners, moved), ([1, 0], 3));
/// ```
pub fn rehome(
    groups: &[Group],
    probes: &mut [Balance],
    owners: &mut [u32],
    most_pages: u32,
) -> u32 {
    let mut moved = 0;
    for (group, owner) in groups.iter().zip(owners) {
        let Some(from) = probes.get(*owner as usize).copied() else {
            continue;
        };
        // More than twice its excess would leave it further from balance than before.
        if from.excess * 2.0 < group.demand || moved + group.pages > most_pages {
            continue;
        }
        let takes = |probe: &Balance| {
            -probe.excess * 2.0 >= group.demand
                && probe.pages >= group.pages
                && probe.hosts >= group.hosts
        };
        let mut best = (0, None);
        for (number, probe) in probes.iter().enumerate() {
            if takes(probe) {
                let score = score(group.key, probe.key);
                if best.1.is_none() || score > best.0 {
                    best = (score, Some(number));
                }
            }
        }
        let Some(to) = best.1 else {
            continue;
        };
        if let Some(from) = probes.get_mut(*owner as usize) {
            from.excess -= group.demand;
            from.pages += group.pages;
            from.hosts += group.hosts;
        }
        if let Some(to) = probes.get_mut(to) {
            to.excess += group.demand;
            to.pages -= group.pages;
            to.hosts -= group.hosts;
        }
        *owner = to as u32;
        moved += group.pages;
    }
    moved
}
