//! The pages that a fleet keeps fresh, in groups of hosts that share a gate: a group has one owner.

use std::collections::HashMap;

use dunlin::fetch::Url;
use dunlin::fleet::Departure;
use dunlin::image::Learnt;
use dunlin::time::{Duration, Instant};

use super::page_table::{PageTable, UrlIndex, hash, insert};
use crate::error::Error;
use crate::lists::hosts::{ListedHost, ListedHours};
use crate::lists::listing::{Gate, Listing, host_name};
use crate::lists::pages::{ListedChange, ListedPage, PageList, as_browsers_send, host_of};
use crate::lists::trust::Pin;

/// Who has a group of hosts.
#[derive(Clone, Copy, Debug)]
pub enum Holder {
    /// Nobody: it can be given to any probe, to this one if it has room.
    Nobody {
        /// For whom it was taken from its owner.
        wanted_by: Option<u32>,
    },
    /// The probe of this number has it on its list.
    Probe(u32),
    /// It is on no list any more, and may not be on another one yet.
    Leaving {
        /// Whose list it was on.
        from: u32,
        /// When that one can no longer ask it.
        departure: Departure,
        /// Who is to have it next.
        to: Option<u32>,
    },
}

impl Holder {
    /// It can be given to anybody.
    pub const FREE: Self = Self::Nobody { wanted_by: None };

    /// The probe on whose list it is.
    pub fn owner(&self) -> Option<u32> {
        match self {
            Self::Probe(number) => Some(*number),
            _ => None,
        }
    }
}

/// Hosts that share a gate, as a rule one.
#[derive(Clone, Debug)]
pub struct HostGroup {
    /// What it is called in the planner's state: `host NAME` or `group NAME`.
    pub name: Box<str>,
    /// A hash of that.
    pub key: u64,
    /// How many pages it has.
    pub pages: u32,
    /// Where these are in the collection's column of them.
    first: u32,
    /// How many hosts it has.
    pub hosts: u32,
    /// Least time between two requests.
    pub politeness: Duration,
    hours: Option<ListedHours>,
    /// The probe that has it, if one has.
    pub holder: Holder,
}

impl HostGroup {
    /// A group without hosts and pages, behind so many pages of others.
    fn new(name: String, politeness: Duration, first: usize) -> Self {
        Self {
            key: hash(&name),
            name: name.into(),
            pages: 0,
            first: first as u32,
            hosts: 0,
            politeness,
            hours: None,
            holder: Holder::FREE,
        }
    }

    /// Fetches a day that its politeness allows.
    pub fn fetches_a_day(&self) -> f32 {
        // Zero is no politeness at all: without end.
        86_400.0 / self.politeness.as_secs_f64() as f32
    }

    fn gate(&self) -> Gate {
        let name = self.name.split_once(' ').map_or("", |(_, name)| name);
        Gate {
            name: name.to_owned(),
            politeness: self.politeness,
            hours: self.hours,
            provider: Default::default(),
        }
    }
}

/// A host of the collection.
#[derive(Debug)]
struct KnownHost {
    name: Box<str>,
    group: u32,
}

/// All pages, and what is known of them, in columns: `tests/planner_memory.rs` holds how much a
/// page takes.
#[derive(Debug)]
pub struct Collection {
    table: PageTable,
    index: UrlIndex,
    hosts: Vec<KnownHost>,
    /// One for each gate of the listing, and behind them those whose pages are gone.
    groups: Vec<HostGroup>,
    /// The pages of each group, in the order of the groups.
    members: Vec<u32>,
    special: HashMap<String, ListedHost>,
    politeness: Duration,
    pins: Vec<(String, Pin)>,
}

/// What a group is called.
fn group_name(special: Option<&ListedHost>, host: &str) -> String {
    match special.and_then(|host| host.group.as_ref()) {
        Some(group) => format!("group {group}"),
        None => format!("host {host}"),
    }
}

impl Collection {
    /// The pages of a list, with what is special about hosts, and the politeness of all others.
    pub fn new(mut listing: Listing, special: Vec<ListedHost>, politeness: Duration) -> Self {
        let pages = std::mem::take(&mut listing.list.pages);
        let bytes = pages.iter().map(|page| page.url.len()).sum();
        let room = (pages.len(), bytes);
        Self::of_pages(listing, special, politeness, room, pages)
    }

    /// The same of pages that come one after the other, on the list's hosts: how many there are, and
    /// how many bytes their URLs have, is known.
    pub fn of_pages(
        listing: Listing,
        special: Vec<ListedHost>,
        politeness: Duration,
        (count, bytes): (usize, usize),
        pages: impl IntoIterator<Item = ListedPage>,
    ) -> Self {
        let special = special.into_iter().map(|host| (host.name.clone(), host));
        let mut collection = Self {
            table: PageTable::default(),
            index: UrlIndex::default(),
            hosts: Vec::with_capacity(listing.list.hosts.len()),
            groups: Vec::with_capacity(listing.gates.len()),
            members: Vec::new(),
            special: special.collect(),
            politeness,
            pins: listing.pins,
        };
        for (name, group) in listing.list.hosts.into_iter().zip(listing.gate_of_host) {
            if group == collection.groups.len() {
                let full = group_name(collection.special.get(&name), &name);
                let gate = &listing.gates[group];
                collection.groups.push(HostGroup {
                    hours: gate.hours,
                    ..HostGroup::new(full, gate.politeness, 0)
                });
            }
            collection.groups[group].hosts += 1;
            collection.hosts.push(KnownHost {
                name: name.into(),
                group: group as u32,
            });
        }
        collection.table.reserve(count, bytes);
        collection.take(pages);
        collection
    }

    /// Takes the pages of a list.
    fn take(&mut self, pages: impl IntoIterator<Item = ListedPage>) {
        for page in pages {
            let page = self.table.take(page);
            let group = self.group_of(page);
            self.groups[group].pages += 1;
        }
        let mut first = 0;
        for group in &mut self.groups {
            group.first = first;
            first += group.pages;
        }
        self.members = vec![0; self.table.len()];
        let mut next: Vec<u32> = self.groups.iter().map(|group| group.first).collect();
        for page in 0..self.table.len() as u32 {
            let next = &mut next[self.group_of(page)];
            self.members[*next as usize] = page;
            *next += 1;
        }
        self.index = UrlIndex::new(&self.table);
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.members.len()
    }

    /// All groups of hosts that have pages.
    pub fn groups(&self) -> &[HostGroup] {
        &self.groups
    }

    /// All groups of hosts, to be changed.
    pub fn groups_mut(&mut self) -> &mut [HostGroup] {
        &mut self.groups
    }

    /// All pages, those of a group together.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// A group that an earlier run knew, and of which no page is left.
    pub fn add_empty(&mut self, name: &str) -> usize {
        let group = HostGroup::new(name.to_owned(), self.politeness, self.members.len());
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// The URL of a page.
    pub fn url(&self, page: u32) -> &str {
        self.table.url(page)
    }

    /// The page of this URL, if it is in the collection.
    pub fn find(&self, url: &str) -> Option<u32> {
        let mut found = self.index.candidates(hash(url));
        found.find(|page| self.url(*page) == url)
    }

    /// The group that a page is in.
    pub fn group_of(&self, page: u32) -> usize {
        self.hosts[self.table.host(page)].group as usize
    }

    /// What has been learnt about a page.
    pub fn learnt(&self, page: u32) -> Option<Learnt> {
        self.table.learnt(page)
    }

    /// This is believed of a page now.
    pub fn learn(&mut self, page: u32, learnt: Learnt) {
        self.table.learn(page, learnt);
    }

    /// The moment of the last visit to a page that is known of, to the second.
    pub fn visited(&self, page: u32) -> Option<Instant> {
        self.table.visited(page)
    }

    /// A page was visited at this moment.
    pub fn visit(&mut self, page: u32, then: Instant) {
        self.table.visit(page, then);
    }

    /// The pages of which something has been learnt, by the hashes of their URLs.
    pub fn all_learnt(&self) -> impl Iterator<Item = (u64, Learnt)> {
        let all = self.index.pages();
        all.filter_map(|page| Some((hash(self.url(page)), self.learnt(page)?)))
    }

    /// Takes over what an earlier run knew.
    pub fn recall(&mut self, url: u64, learnt: Learnt) {
        let is_same = |page: &u32| hash(self.url(*page)) == url;
        let found = self.index.candidates(url).find(is_same);
        if let Some(page) = found {
            self.learn(page, learnt);
        }
    }

    /// Adds a page; its number, and whether it is new.
    ///
    /// # Errors
    /// The URL is none.
    pub fn add(&mut self, url: &str, weight: f64) -> Result<(u32, bool), Error> {
        let url = as_browsers_send(url).into_owned();
        if let Some(page) = self.find(&url) {
            return Ok((page, false));
        }
        let parsed = Url::parse(&url);
        let parsed = parsed.map_err(|why| {
            let expected = "expected a URL such as http://example.org/page";
            Error::Usage(format!("found {url:?} ({why:?}), {expected}"))
        })?;
        let name = host_of(&parsed);
        let host = match self.hosts.iter().position(|host| *host.name == *name) {
            Some(host) => host,
            None => self.add_host(name),
        };
        let page = self.table.take(ListedPage {
            url,
            name: None,
            host,
            weight,
            change: ListedChange::Poisson { rate: None },
            min: 0,
            max: None,
            every: None,
            filter: None,
        });
        self.index.enter(hash(self.url(page)), page);
        let group = self.group_of(page);
        let end = self.groups[group].first + self.groups[group].pages;
        insert(&mut self.members, end as usize, page);
        self.groups[group].pages += 1;
        let behind = &mut self.groups[group + 1..];
        behind.iter_mut().for_each(|group| group.first += 1);
        Ok((page, true))
    }

    /// A host that no page was on before.
    fn add_host(&mut self, name: String) -> usize {
        let special = self.special.get(&name);
        let politeness = special.and_then(|host| host.politeness);
        let politeness = politeness.unwrap_or(self.politeness);
        let hours = special.and_then(|host| host.hours);
        let full = group_name(special, &name);
        let known = self.groups.iter().position(|group| *group.name == *full);
        let number = known.unwrap_or_else(|| {
            let group = HostGroup::new(full, politeness, self.members.len());
            self.groups.push(group);
            self.groups.len() - 1
        });
        let group = &mut self.groups[number];
        group.politeness = group.politeness.max(politeness);
        group.hours = group.hours.or(hours);
        group.hosts += 1;
        self.hosts.push(KnownHost {
            name: name.into(),
            group: number as u32,
        });
        self.hosts.len() - 1
    }

    /// Removes a page; the group that it was in. Its number is nobody's from now on.
    pub fn remove(&mut self, page: u32) -> Option<usize> {
        if !self.index.forget(hash(self.url(page)), page) {
            return None;
        }
        let group = self.group_of(page);
        let first = self.groups[group].first as usize;
        let place = self.pages_in(group).iter().position(|of| *of == page)?;
        self.members.remove(first + place);
        self.groups[group].pages -= 1;
        let behind = &mut self.groups[group + 1..];
        behind.iter_mut().for_each(|group| group.first -= 1);
        Some(group)
    }

    /// The pages of a group.
    pub fn pages_in(&self, group: usize) -> &[u32] {
        let pages = self.groups.get(group).and_then(|group| {
            let first = group.first as usize;
            self.members.get(first..first + group.pages as usize)
        });
        pages.unwrap_or_default()
    }

    /// The groups of each of so many probes.
    pub fn groups_by_probe(&self, probes: usize) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); probes];
        for (number, group) in self.groups.iter().enumerate() {
            let owner = group.holder.owner();
            if let Some(list) = owner.and_then(|owner| lists.get_mut(owner as usize)) {
                list.push(number as u32);
            }
        }
        lists
    }

    /// The pages of groups, in their order.
    pub fn pages_of(&self, groups: &[u32]) -> Vec<u32> {
        let pages = groups.iter().map(|group| self.pages_in(*group as usize));
        let mut pages: Vec<u32> = pages.flatten().copied().collect();
        pages.sort_unstable();
        pages
    }

    /// The list of these pages alone, with their hosts and gates in the order of the whole.
    pub fn part(&self, pages: &[u32]) -> Listing {
        let host_of = |page: &u32| self.table.host(*page);
        let hosts = distinct(pages.iter().map(host_of));
        let group_of = |host: &usize| self.hosts[*host].group;
        let gates = distinct(hosts.iter().map(group_of));
        let place_of = |page: &u32| hosts.binary_search(&host_of(page)).unwrap_or_default();
        let gate_of = |host: &usize| gates.binary_search(&group_of(host)).unwrap_or_default();
        let page = |page: &u32| self.table.listed(*page, place_of(page));
        let name = |host: &usize| self.hosts[*host].name.clone().into();
        let names: Vec<String> = hosts.iter().map(name).collect();
        let pins = self.pins.iter();
        let has_pin = |name: &str| names.iter().any(|host| host_name(host) == name);
        let gate = |group: &u32| self.groups[*group as usize].gate();
        Listing {
            gates: gates.iter().map(gate).collect(),
            gate_of_host: hosts.iter().map(gate_of).collect(),
            pins: pins.filter(|(host, _)| has_pin(host)).cloned().collect(),
            headers: Vec::new(),
            tellers: Vec::new(),
            list: PageList {
                pages: pages.iter().map(page).collect(),
                hosts: names,
                ..PageList::default()
            },
        }
    }
}

/// Each of these numbers once, in order.
fn distinct<T: Ord>(numbers: impl Iterator<Item = T>) -> Vec<T> {
    let mut numbers: Vec<T> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(urls: &[&str]) -> Collection {
        let politeness = Duration::from_secs(15);
        let mut collection = Collection::new(Listing::default(), Vec::new(), politeness);
        for url in urls {
            collection.add(url, 1.0).expect("a URL");
        }
        collection
    }

    #[test]
    fn pages_of_one_host_stay_together_and_a_part_has_only_its_own_hosts() {
        let urls = ["http://a.test/1", "http://b.test/", "http://a.test/2"];
        let mut all = collection(&urls);
        assert_eq!((all.pages(), all.groups().len()), (3, 2));
        all.groups_mut()[0].holder = Holder::Probe(7);
        assert_eq!(all.groups_by_probe(8)[7], [0]);
        assert_eq!(all.pages_of(&[0]), [0, 2]);
        assert_eq!(all.members(), [0, 2, 1]);
        let part = all.part(&[1]);
        assert_eq!(part.list.hosts, ["b.test"]);
        assert_eq!((part.gates.len(), part.gate_of_host), (1, vec![0]));
        assert_eq!(part.list.pages[0].url, "http://b.test/");
    }

    #[test]
    fn adding_and_removing_twice_is_once_and_a_group_outlives_its_pages() {
        let mut all = collection(&["http://a.test/1"]);
        assert_eq!(all.add("http://a.test/1", 2.0).expect("a URL"), (0, false));
        assert_eq!(all.remove(0), Some(0));
        assert_eq!((all.remove(0), all.pages()), (None, 0));
        assert_eq!(all.groups().len(), 1);
        assert_eq!(all.add("http://a.test/1", 1.0).expect("a URL"), (1, true));
        assert_eq!((all.pages_in(0), all.url(1)), (&[1][..], "http://a.test/1"));
        assert!(all.add("ftp://a.test/", 1.0).is_err());
    }
}
