//! Who gets which hosts, and who has to give some away.

use dunlin::fleet::{
    Balance, ELASTICITY, Group, NOBODY, ProbeCapacity, assign, best, rehome, score,
};
use dunlin::time::{Duration, Instant};

use super::collection::{Holder, HostGroup};
use super::coordinator::{Coordinator, MANY};

/// Probes that come together are given hosts together.
const SETTLE: Duration = Duration::from_millis(1_500);
/// Where there are many pages, hosts that become free within this are given away together: each time
/// looks at every host, and saves megabytes.
const EVERY_OF_MANY: Duration = Duration::from_secs(10);
/// A probe has at most so many times the mean number of pages, where others have room.
const FAIR: f64 = 1.25;
/// The share of all pages that may move for balance at a time.
const MOST_MOVED: f64 = 0.08;
/// A probe that asks for less beyond its link than this share of it is not worth moving hosts for.
const WORTH_MOVING: f32 = 0.1;

/// What a probe has, in the terms of what it has room for.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    pages: u32,
    hosts: u32,
    demand: f32,
}

impl Load {
    fn add(&mut self, group: &Group) {
        self.pages += group.pages;
        self.hosts += group.hosts;
        self.demand += group.demand;
    }

    /// What a probe with this load has room for, within its fair share.
    fn left(&self, room: &ProbeCapacity) -> ProbeCapacity {
        let pages = room.pages.min(room.fair).saturating_sub(self.pages);
        ProbeCapacity {
            pages,
            hosts: room.hosts.saturating_sub(self.hosts),
            link: room.link - self.demand,
            fair: pages,
            ..*room
        }
    }
}

/// The place of a probe among those that are here, which are in order, by its number.
fn places_of(here: &[usize]) -> impl Fn(u32) -> Option<usize> {
    move |number| here.binary_search(&(number as usize)).ok()
}

impl Coordinator {
    /// Takes hosts from probes whose lease is over everywhere, and frees those that nobody can ask
    /// any more.
    pub(super) fn settle(&mut self, now: Instant) {
        let drift = self.settings.drift;
        let gone: Vec<bool> = self
            .planner
            .entries()
            .iter()
            .zip(self.roster.probes())
            .map(|(entry, probe)| {
                let over = now > entry.ledger.leased_until(drift) && !probe.pending;
                over && !probe.list.pages.is_empty()
            })
            .collect();
        if gone.contains(&true) {
            for group in 0..self.collection.groups().len() {
                let owner = self.collection.groups()[group].holder.owner();
                let is_gone = |owner: &u32| gone.get(*owner as usize) == Some(&true);
                if let Some(owner) = owner.filter(is_gone) {
                    // Whoever comes back first: it knows its pages.
                    self.take_away(group, Some(owner));
                }
            }
        }
        let groups = self.collection.groups_mut();
        self.leaving.retain(|_, leaving| {
            if leaving.free_at > now {
                return true;
            }
            leaving.free_at = Instant::MAX;
            leaving.groups.retain(|number| {
                let Some(group) = groups.get_mut(*number as usize) else {
                    return false;
                };
                let Holder::Leaving { departure, to, .. } = group.holder else {
                    return false;
                };
                if departure.free_at() > now {
                    leaving.free_at = leaving.free_at.min(departure.free_at());
                    return true;
                }
                group.holder = Holder::Nobody { wanted_by: to };
                self.unplaced = true;
                false
            });
            !leaving.groups.is_empty()
        });
    }

    /// Gives hosts that nobody has to probes that have room, and some to probes that have come.
    pub(super) fn place(&mut self, now: Instant) {
        if now >= self.balanced_at + self.settings.lease {
            self.balanced_at = now;
            self.balance_by_price(now);
        }
        if !self.unplaced || !self.may_place(now) {
            return;
        }
        self.unplaced = false;
        self.placed_at = Some(now);
        // Not when hosts become free: a planner that starts before this only waits once more.
        self.touch();
        let here: Vec<usize> = (0..self.roster.probes().len())
            .filter(|number| self.is_here(*number, now))
            .collect();
        if here.is_empty() {
            return;
        }
        if std::mem::take(&mut self.joined) {
            self.make_room(&here);
        }
        self.assign(&here);
    }

    /// Are those here that are to be expected?
    fn may_place(&self, now: Instant) -> bool {
        let probes = self.roster.probes().iter().enumerate();
        let mut online = probes.filter(|(_, probe)| probe.online);
        let all_here = online.all(|(number, _)| self.is_here(number, now));
        let gathered = now >= self.gather_until || all_here;
        let is_many = self.collection.pages() >= MANY;
        let last = self.placed_at.filter(|_| is_many);
        let is_due = last.is_none_or(|last| now >= last + EVERY_OF_MANY);
        let is_settled = now >= self.last_join + SETTLE && !self.is_listing;
        now >= self.hold_until && is_settled && gathered && is_due
    }

    /// Fetches a day that a group is likely to ask for: its share, as far as politeness allows.
    fn demand(&self, group: &HostGroup) -> f32 {
        let share = group.pages as f32 / self.collection.pages().max(1) as f32;
        (self.settings.budget * share).min(group.fetches_a_day())
    }

    fn group(&self, group: &HostGroup) -> Group {
        Group {
            key: group.key,
            pages: group.pages,
            hosts: group.hosts,
            demand: self.demand(group),
        }
    }

    /// Pages that a probe should have at most.
    fn fair(&self, here: usize) -> u32 {
        let mean = self.collection.pages() as f64 / here.max(1) as f64;
        (mean * FAIR).ceil() as u32
    }

    /// The room that a probe says it has. It gets no more than its fair share, whatever it says.
    fn room(&self, number: usize, fair: u32) -> ProbeCapacity {
        let report = self.planner.entries().get(number);
        let report = report.and_then(|entry| entry.report);
        let probe = self.roster.get(number);
        let link = report.map_or(0.0, |report| report.outlook.link);
        ProbeCapacity {
            key: probe.map_or(0, |probe| probe.key),
            pages: report.map_or(0, |report| report.outlook.pages.into()),
            hosts: report.map_or(0, |report| report.outlook.hosts.into()),
            link: if link > 0.0 { link } else { 0.0 },
            fair,
        }
    }

    /// Gives away what is free. Who has something keeps it as long as it has room.
    fn assign(&mut self, here: &[usize]) {
        let fair = self.fair(here.len());
        let mut places: Vec<ProbeCapacity> =
            here.iter().map(|number| self.room(*number, fair)).collect();
        let place_of = places_of(here);
        let mut wanted: Vec<(usize, u32)> = Vec::new();
        for (number, group) in self.collection.groups().iter().enumerate() {
            if group.pages == 0 {
                continue;
            }
            let owner = match group.holder {
                Holder::Nobody { wanted_by } => wanted_by.and_then(&place_of),
                Holder::Probe(owner) => match place_of(owner) {
                    Some(place) => Some(place),
                    // It may come back: its lease decides.
                    None => continue,
                },
                Holder::Leaving { .. } => continue,
            };
            wanted.push((number, owner.map_or(NOBODY, |place| place as u32)));
        }
        let pages = |number: &usize| self.collection.groups()[*number].pages;
        wanted.sort_by_key(|(number, _)| std::cmp::Reverse(pages(number)));
        let groups: Vec<Group> = wanted
            .iter()
            .map(|(number, _)| self.group(&self.collection.groups()[*number]))
            .collect();
        let had: Vec<u32> = wanted.iter().map(|(_, owner)| *owner).collect();
        let mut owners = had.clone();
        if assign(&groups, &mut places, &mut owners) > 0 {
            // A link that is too small makes visits rare. Without a probe there are none: what fits
            // no link goes to who has room for it, as a rule to who has it.
            for (owner, had) in owners.iter_mut().zip(&had) {
                if *owner == NOBODY {
                    *owner = *had;
                }
            }
            for (place, number) in places.iter_mut().zip(here) {
                *place = ProbeCapacity {
                    link: f32::MAX,
                    ..self.room(*number, fair)
                };
            }
            assign(&groups, &mut places, &mut owners);
        }
        for ((number, _), owner) in wanted.iter().zip(owners) {
            let to = here.get(owner as usize).map(|number| *number as u32);
            match (self.collection.groups()[*number].holder, to) {
                (Holder::Probe(from), Some(to)) if from == to => {}
                (Holder::Probe(_), to) => self.take_away(*number, to),
                (Holder::Nobody { .. }, Some(to)) => {
                    self.make_stale(to as usize);
                    if let Some(group) = self.collection.groups_mut().get_mut(*number) {
                        group.holder = Holder::Probe(to);
                    }
                }
                _ => {}
            }
        }
    }

    /// What each of these probes has, with what is promised to it.
    fn loads(&self, here: &[usize]) -> Vec<Load> {
        let mut loads = vec![Load::default(); here.len()];
        let place_of = places_of(here);
        for group in self.collection.groups() {
            let holder = match group.holder {
                Holder::Probe(owner) => Some(owner),
                Holder::Leaving { to, .. } => to,
                Holder::Nobody { wanted_by } => wanted_by,
            };
            let load = holder.and_then(&place_of).and_then(|at| loads.get_mut(at));
            if let Some(load) = load.filter(|_| group.pages > 0) {
                load.add(&self.group(group));
            }
        }
        loads
    }

    /// Takes hosts from probes that have more than their fair share, for those that have less: the
    /// ones first that go least well with their owner.
    fn make_room(&mut self, here: &[usize]) {
        let fair = self.fair(here.len());
        let loads = self.loads(here);
        let has_less = |place: &usize| loads[*place].pages < fair;
        let takers: Vec<usize> = (0..here.len()).filter(has_less).collect();
        let left = |place: &usize| loads[*place].left(&self.room(here[*place], fair));
        let mut left: Vec<ProbeCapacity> = takers.iter().map(left).collect();
        let place_of = places_of(here);
        let mut own: Vec<Vec<usize>> = vec![Vec::new(); here.len()];
        for (number, group) in self.collection.groups().iter().enumerate() {
            let place = group.holder.owner().and_then(&place_of);
            if let Some(place) = place.filter(|place| loads[*place].pages > fair) {
                own[place].push(number);
            }
        }
        let mut moves = Vec::new();
        for (place, mut groups) in own.into_iter().enumerate() {
            let key = self.roster.get(here[place]).map_or(0, |probe| probe.key);
            let group = |number: &usize| self.group(&self.collection.groups()[*number]);
            groups.sort_by_cached_key(|number| score(group(number).key, key));
            let mut pages = loads[place].pages;
            for number in groups {
                if pages <= fair {
                    break;
                }
                let group = group(&number);
                // Where it would find no room it would come back, after a pause for nothing.
                if let Some(taker) = best(&group, &left) {
                    left[taker].take(&group);
                    pages = pages.saturating_sub(group.pages);
                    moves.push((number, here[takers[taker]] as u32));
                }
            }
        }
        for (group, to) in moves {
            self.take_away(group, Some(to));
        }
    }

    /// Moves hosts from probes whose link is too small for what their pages are worth to others.
    fn balance_by_price(&mut self, now: Instant) {
        let here: Vec<usize> = (0..self.roster.probes().len())
            .filter(|number| self.is_here(*number, now))
            .collect();
        let Some(common) = self.common_price(&here) else {
            return;
        };
        let fair = self.fair(here.len());
        let mut wish = Vec::new();
        let mut balances = Vec::new();
        for (number, load) in here.iter().zip(self.loads(&here)) {
            let entry = self.planner.entries().get(*number);
            let report = entry.and_then(|entry| entry.report);
            let room = self.room(*number, fair);
            let pages = self.roster.get(*number);
            let pages = pages.map_or(0, |probe| probe.list.pages.len() as u32);
            let wished = report.map_or(0.0, |report| {
                let (least, most) = ELASTICITY;
                let elasticity = if report.outlook.elasticity > least {
                    report.outlook.elasticity.min(most)
                } else {
                    least
                };
                let budget = entry.map_or(0.0, |entry| entry.ledger.budget());
                budget * (report.outlook.price / common).powf(elasticity)
            });
            let wished = if wished.is_finite() { wished } else { 0.0 };
            let excess = wished - room.link;
            let excess = if excess > 0.0 && excess < WORTH_MOVING * room.link {
                0.0
            } else {
                excess
            };
            wish.push((wished, pages));
            balances.push(Balance {
                key: room.key,
                excess,
                pages: room.pages.saturating_sub(load.pages),
                hosts: room.hosts.saturating_sub(load.hosts),
            });
        }
        let place_of = places_of(&here);
        let mut wanted: Vec<(usize, Group)> = Vec::new();
        let mut owners = Vec::new();
        for (number, group) in self.collection.groups().iter().enumerate() {
            let owner = group.holder.owner();
            let place = owner.and_then(&place_of);
            if let Some(place) = place.filter(|_| group.pages > 0) {
                let (wished, pages) = wish[place];
                let demand = wished * group.pages as f32 / pages.max(1) as f32;
                let group = Group {
                    demand,
                    ..self.group(group)
                };
                wanted.push((number, group));
                owners.push(place as u32);
            }
        }
        let before = owners.clone();
        let groups: Vec<Group> = wanted.iter().map(|(_, group)| *group).collect();
        let most = (self.collection.pages() as f64 * MOST_MOVED) as u32;
        rehome(&groups, &mut balances, &mut owners, most);
        for (((group, _), from), to) in wanted.iter().zip(before).zip(owners) {
            if from != to {
                self.take_away(*group, here.get(to as usize).map(|to| *to as u32));
            }
        }
    }

    /// The mean of what a fetch is worth to those that are not held back by their link.
    fn common_price(&self, here: &[usize]) -> Option<f32> {
        let mut logs = 0.0;
        let mut count = 0;
        for number in here {
            let entry = self.planner.entries().get(*number)?;
            let Some(report) = entry.report else { continue };
            let is_free = entry.ledger.budget() < 0.99 * report.outlook.link;
            if is_free && report.outlook.price > 0.0 && report.outlook.price.is_finite() {
                logs += f64::from(report.outlook.price).ln();
                count += 1;
            }
        }
        (count > 0).then(|| (logs / f64::from(count)).exp() as f32)
    }
}
