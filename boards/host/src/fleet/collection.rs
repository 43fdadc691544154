//! The pages that a fleet keeps fresh, in groups of hosts that share a gate: a group has one owner.

use std::collections::{BTreeMap, HashMap};

use dunlin::fetch::Url;
use dunlin::fleet::Departure;
use dunlin::image::Learnt;
use dunlin::math::split_mix;
use dunlin::time::Duration;

use crate::error::Error;
use crate::lists::hosts::ListedHost;
use crate::lists::listing::{Gate, Listing, host_name};
use crate::lists::pages::{ListedChange, ListedPage, PageList, encode_spaces, host_of};

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
    pub name: String,
    /// A hash of that.
    pub key: u64,
    /// Its pages, by number, in their order.
    pub pages: Vec<u32>,
    /// How many hosts it has.
    pub hosts: u32,
    /// Least time between two requests.
    pub politeness: Duration,
    /// Who has it.
    pub holder: Holder,
}

/// All pages, and what is known of them.
#[derive(Debug)]
pub struct Collection {
    listing: Listing,
    special: HashMap<String, ListedHost>,
    politeness: Duration,
    /// One for each gate of the listing, and behind them those whose pages are gone.
    groups: Vec<HostGroup>,
    /// For each page, what has been learnt; a shape of zero for nothing.
    learnt: Vec<Learnt>,
    /// By the hash of its URL.
    by_url: HashMap<u64, u32>,
    pages: usize,
}

const NOTHING: Learnt = Learnt {
    shape: 0.0,
    time: 0.0,
    watch: [0; 2],
};

/// A hash of a name that is the same everywhere and for ever.
pub fn hash(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    split_mix(&mut hash)
}

impl Collection {
    /// The pages of a list, with what is special about hosts, and the politeness of all others.
    pub fn new(listing: Listing, special: Vec<ListedHost>, politeness: Duration) -> Self {
        let special = special.into_iter().map(|host| (host.name.clone(), host));
        let mut collection = Self {
            listing,
            special: special.collect(),
            politeness,
            groups: Vec::new(),
            learnt: Vec::new(),
            by_url: HashMap::new(),
            pages: 0,
        };
        for host in 0..collection.listing.list.hosts.len() {
            collection.group_host(host);
        }
        for page in 0..collection.listing.list.pages.len() {
            collection.enter(page as u32);
        }
        collection
    }

    /// Puts a host into the group of its gate.
    fn group_host(&mut self, host: usize) {
        let name = &self.listing.list.hosts[host];
        let gate = self.listing.gate_of_host[host];
        let group = self.special.get(name).and_then(|host| host.group.as_ref());
        if gate == self.groups.len() {
            let name = match group {
                Some(group) => format!("group {group}"),
                None => format!("host {name}"),
            };
            self.groups.push(HostGroup {
                key: hash(&name),
                name,
                pages: Vec::new(),
                hosts: 0,
                politeness: self.listing.gates[gate].politeness,
                holder: Holder::FREE,
            });
        }
        if let Some(group) = self.groups.get_mut(gate) {
            group.hosts += 1;
        }
    }

    fn enter(&mut self, page: u32) {
        let gate = self.listing.gate_of_page(page as usize);
        let url = hash(&self.listing.list.pages[page as usize].url);
        self.groups[gate].pages.push(page);
        self.by_url.insert(url, page);
        self.learnt.resize(page as usize + 1, NOTHING);
        self.pages += 1;
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// The groups.
    pub fn groups(&self) -> &[HostGroup] {
        &self.groups
    }

    /// The groups.
    pub fn groups_mut(&mut self) -> &mut [HostGroup] {
        &mut self.groups
    }

    /// A group that an earlier run knew, and of which no page is left.
    pub fn add_empty(&mut self, name: &str) -> usize {
        // Gates and groups stay side by side.
        self.listing.gates.push(Gate {
            name: name.to_owned(),
            politeness: self.politeness,
            hours: None,
            provider: Default::default(),
        });
        self.groups.push(HostGroup {
            name: name.to_owned(),
            key: hash(name),
            pages: Vec::new(),
            hosts: 0,
            politeness: self.politeness,
            holder: Holder::FREE,
        });
        self.groups.len() - 1
    }

    /// The URL of a page.
    pub fn url(&self, page: u32) -> &str {
        let page = self.listing.list.pages.get(page as usize);
        page.map_or("", |page| page.url.as_str())
    }

    /// The page of this URL, if it is in the collection.
    pub fn find(&self, url: &str) -> Option<u32> {
        let page = *self.by_url.get(&hash(url))?;
        (self.url(page) == url).then_some(page)
    }

    /// The group that a page is in.
    pub fn group_of(&self, page: u32) -> usize {
        self.listing.gate_of_page(page as usize)
    }

    /// What has been learnt about a page.
    pub fn learnt(&self, page: u32) -> Option<Learnt> {
        let learnt = self.learnt.get(page as usize).copied();
        learnt.filter(|learnt| learnt.shape > 0.0)
    }

    /// A page was visited: this is believed of it now.
    pub fn learn(&mut self, page: u32, learnt: Learnt) {
        if let Some(place) = self.learnt.get_mut(page as usize) {
            *place = learnt;
        }
    }

    /// The pages of which something has been learnt, by the hashes of their URLs.
    pub fn all_learnt(&self) -> impl Iterator<Item = (u64, Learnt)> {
        let all = self.by_url.iter();
        all.filter_map(|(url, page)| Some((*url, self.learnt(*page)?)))
    }

    /// Takes over what an earlier run knew.
    pub fn recall(&mut self, url: u64, learnt: Learnt) {
        if let Some(page) = self.by_url.get(&url).copied() {
            self.learn(page, learnt);
        }
    }

    /// Adds a page; its number, and whether it is new.
    ///
    /// # Errors
    /// The URL is none.
    pub fn add(&mut self, url: &str, weight: f64) -> Result<(u32, bool), Error> {
        let url = encode_spaces(url).into_owned();
        if let Some(page) = self.find(&url) {
            return Ok((page, false));
        }
        let parsed = Url::parse(&url);
        let parsed = parsed.map_err(|why| {
            let expected = "expected a URL such as http://example.org/page";
            Error::Usage(format!("found {url:?} ({why:?}), {expected}"))
        })?;
        let name = host_of(&parsed);
        let list = &mut self.listing.list;
        let host = match list.hosts.iter().position(|host| *host == name) {
            Some(host) => host,
            None => self.add_host(name),
        };
        self.listing.list.pages.push(ListedPage {
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
        let page = self.listing.list.pages.len() as u32 - 1;
        self.enter(page);
        Ok((page, true))
    }

    /// A host that no page was on before.
    fn add_host(&mut self, name: String) -> usize {
        let special = self.special.get(&name);
        let group = special.and_then(|host| host.group.clone());
        let politeness = special.and_then(|host| host.politeness);
        let politeness = politeness.unwrap_or(self.politeness);
        let hours = special.and_then(|host| host.hours);
        let full = match &group {
            Some(group) => format!("group {group}"),
            None => format!("host {name}"),
        };
        let known = self.groups.iter().position(|group| group.name == full);
        let gate = known.unwrap_or(self.groups.len());
        match self.listing.gates.get_mut(gate) {
            Some(gate) => {
                gate.politeness = gate.politeness.max(politeness);
                gate.hours = gate.hours.or(hours);
            }
            None => self.listing.gates.push(Gate {
                name: group.unwrap_or_else(|| name.clone()),
                politeness,
                hours,
                provider: Default::default(),
            }),
        }
        self.listing.list.hosts.push(name);
        self.listing.gate_of_host.push(gate);
        let host = self.listing.list.hosts.len() - 1;
        self.group_host(host);
        if let (Some(group), Some(gate)) = (self.groups.get_mut(gate), self.listing.gates.get(gate))
        {
            group.politeness = gate.politeness;
        }
        host
    }

    /// Removes a page; the group that it was in.
    pub fn remove(&mut self, page: u32) -> Option<usize> {
        self.by_url.remove(&hash(self.url(page)))?;
        let group = self.group_of(page);
        self.groups.get_mut(group)?.pages.retain(|of| *of != page);
        self.pages -= 1;
        Some(group)
    }

    /// The pages of a probe's groups, in their order.
    pub fn pages_of(&self, probe: u32) -> Vec<u32> {
        let own = |group: &&HostGroup| group.holder.owner() == Some(probe);
        let groups = self.groups.iter().filter(own);
        let mut pages: Vec<u32> = groups.flat_map(|group| group.pages.clone()).collect();
        pages.sort_unstable();
        pages
    }

    /// The list of these pages alone, with their hosts and gates in the order of the whole.
    pub fn part(&self, pages: &[u32]) -> Listing {
        let whole = &self.listing;
        let host_of = |page: &u32| whole.list.pages[*page as usize].host;
        let mut hosts: BTreeMap<usize, usize> =
            pages.iter().map(|page| (host_of(page), 0)).collect();
        let mut gates: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, (host, local)) in hosts.iter_mut().enumerate() {
            *local = place;
            gates.insert(whole.gate_of_host[*host], 0);
        }
        for (place, local) in gates.values_mut().enumerate() {
            *local = place;
        }
        let page = |page: &u32| ListedPage {
            host: hosts[&host_of(page)],
            ..whole.list.pages[*page as usize].clone()
        };
        let names: Vec<String> = hosts
            .keys()
            .map(|host| whole.list.hosts[*host].clone())
            .collect();
        let pins = whole.pins.iter();
        let has_pin = |name: &str| names.iter().any(|host| host_name(host) == name);
        Listing {
            gates: gates
                .keys()
                .map(|gate| whole.gates[*gate].clone())
                .collect(),
            gate_of_host: hosts
                .keys()
                .map(|host| gates[&whole.gate_of_host[*host]])
                .collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(urls: &[&str]) -> Collection {
        let listing = Listing {
            list: PageList::default(),
            gates: Vec::new(),
            gate_of_host: Vec::new(),
            pins: Vec::new(),
            headers: Vec::new(),
            tellers: Vec::new(),
        };
        let mut collection = Collection::new(listing, Vec::new(), Duration::from_secs(15));
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
        assert_eq!(all.pages_of(7), [0, 2]);
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
        assert_eq!(all.groups()[0].pages, [1]);
        assert!(all.add("ftp://a.test/", 1.0).is_err());
    }

    #[test]
    fn a_hash_stays_what_it_was() {
        // Probes and pages are known by it in the planner's state.
        assert_eq!(hash("host example.org"), hash("host example.org"));
        assert_ne!(hash("host example.org"), hash("group example.org"));
    }
}
