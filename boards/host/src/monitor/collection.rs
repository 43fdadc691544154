//! A collection that goes beyond the list, as the log tells of it.

use std::collections::BTreeMap;

use dunlin::fetch::Url;
use dunlin::probe::{LoggedEvent, LoggedFoundEvent};
use serde::Serialize;

use super::names::{Names, PageName};
use crate::lists::pages::host_of;

/// What a probe keeps and knows, by its own count since its last boot.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProbeCollection {
    /// Pages that are kept, those of the list included.
    pub pages: u16,
    /// How many there may be.
    pub places: u16,
    /// Pages that are known and not kept.
    pub candidates: u16,
    /// URLs that became candidates.
    pub found: u32,
    /// Candidates that were kept after a visit.
    pub admitted: u32,
    /// Pages that gave way to them.
    pub replaced: u32,
    /// Links that were not followed, and candidates that were not kept for good.
    pub refused: u32,
    /// Importance of pages when they were admitted, by their numbers, 1 on average.
    pub importance: BTreeMap<u16, f64>,
    /// Pages of the collection by host, as far as they were found.
    pub found_by_host: BTreeMap<String, usize>,
    /// Names of found pages; `None` where a page of the list has given way.
    #[serde(skip)]
    pub names: BTreeMap<usize, Option<PageName>>,
}

/// A host of a collection, with its pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Branch {
    /// The host, as `name` or `name:port`.
    pub host: String,
    /// Pages of it that are kept.
    pub pages: usize,
    /// Of these, the ones that were found.
    pub found: usize,
    /// The most important ones, first those whose importance is known.
    pub leaves: Vec<Leaf>,
}

/// A page of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leaf {
    /// Its path, and its query.
    pub path: String,
    /// When it was admitted, 1 on average; `None` for pages of the list.
    pub importance: Option<f64>,
    /// It is not on the list.
    pub is_found: bool,
}

/// Hosts that a tree shows, and pages of each: a view is sent every second.
const MOST_BRANCHES: usize = 100;
const MOST_LEAVES: usize = 50;

impl ProbeCollection {
    /// What is kept, by host: those with the most pages first.
    pub fn tree(&self, names: &Names) -> Vec<Branch> {
        let listed = names.pages.iter().enumerate();
        let listed = listed.filter(|(page, _)| !self.names.contains_key(page));
        let listed = listed.map(|(_, name)| (None, false, name));
        let found = self.names.iter().filter_map(|(page, name)| {
            let importance = u16::try_from(*page).ok();
            let importance = importance.and_then(|page| self.importance.get(&page));
            Some((importance.copied(), true, name.as_ref()?))
        });
        let mut hosts: BTreeMap<String, Vec<Leaf>> = BTreeMap::new();
        for (importance, is_found, name) in listed.chain(found) {
            let url = Url::parse(&name.url);
            let (host, path) = match &url {
                Ok(url) => (host_of(url), url.path_and_query()),
                Err(_) => ("?".into(), name.url.as_str()),
            };
            hosts.entry(host).or_default().push(Leaf {
                path: path.to_owned(),
                importance,
                is_found,
            });
        }
        let branch = |(host, mut leaves): (String, Vec<Leaf>)| {
            let worth = |leaf: &Leaf| leaf.importance.unwrap_or(f64::NEG_INFINITY);
            leaves.sort_by(|one, other| {
                let by_worth = worth(other).total_cmp(&worth(one));
                by_worth.then_with(|| one.path.cmp(&other.path))
            });
            let pages = leaves.len();
            let found = leaves.iter().filter(|leaf| leaf.is_found).count();
            leaves.truncate(MOST_LEAVES);
            Branch {
                host,
                pages,
                found,
                leaves,
            }
        };
        let mut branches: Vec<Branch> = hosts.into_iter().map(branch).collect();
        branches.sort_by_key(|branch| std::cmp::Reverse(branch.pages));
        branches.truncate(MOST_BRANCHES);
        branches
    }

    /// Takes in what an event tells of it; true if it was told of.
    pub fn count(&mut self, event: &LoggedEvent<'_>) -> bool {
        let LoggedEvent::Collection {
            pages,
            places,
            candidates,
            found,
            admitted,
            replaced,
            refused,
        } = *event
        else {
            return false;
        };
        (self.pages, self.places, self.candidates) = (pages, places, candidates);
        (self.found, self.admitted) = (found, admitted);
        (self.replaced, self.refused) = (replaced, refused);
        true
    }

    /// Takes in a line about a URL; true if it is one.
    pub fn hear(&mut self, message: &str, names: &Names) -> bool {
        match LoggedFoundEvent::read(message) {
            Some(LoggedFoundEvent::Kept { page, url }) => self.keep(page, url, names),
            Some(LoggedFoundEvent::Admitted {
                page,
                importance,
                url,
            }) => {
                self.importance.insert(page, importance);
                self.keep(page, url, names);
            }
            Some(LoggedFoundEvent::Replaced { page, .. }) => {
                self.importance.remove(&page);
                self.names.insert(page.into(), None);
            }
            Some(_) => {}
            None => return false,
        }
        self.found_by_host.clear();
        for name in self.names.values().flatten() {
            let host = Url::parse(&name.url).map_or_else(|_| "?".into(), |url| host_of(&url));
            *self.found_by_host.entry(host).or_default() += 1;
        }
        true
    }

    fn keep(&mut self, page: u16, url: &str, names: &Names) {
        let host = Url::parse(url).map_or_else(|_| String::new(), |url| host_of(&url));
        let known = names.hosts.iter().position(|known| known.name == host);
        let name = PageName {
            url: url.to_owned(),
            name: None,
            is_teller: false,
            host: known.map_or(u16::MAX, |host| host as u16),
            weight: 1.0,
            prior: None,
        };
        self.names.insert(page.into(), Some(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_hosts_with_most_pages_first_and_their_best_pages() {
        let page = |url: &str, host| PageName {
            url: url.into(),
            name: None,
            is_teller: false,
            host,
            weight: 1.0,
            prior: None,
        };
        let names = Names {
            pages: vec![page("http://a.test/", 0), page("http://b.test/", 1)],
            hosts: Vec::new(),
        };
        let mut collection = ProbeCollection::default();
        for line in [
            "admitted page=2 importance=0.5 url=http://b.test/x?y=1",
            "admitted page=3 importance=2.5 url=http://b.test/z",
            "replaced page=0 importance=0.1 url=http://a.test/",
            "admitted page=0 importance=1.5 url=http://c.test:81/",
        ] {
            assert!(collection.hear(line, &names), "{line}");
        }
        let tree = collection.tree(&names);
        let shown: Vec<String> = tree
            .iter()
            .map(|branch| {
                let leaves = branch.leaves.iter().map(|leaf| leaf.path.as_str());
                let leaves: Vec<&str> = leaves.collect();
                let host = &branch.host;
                let pages = branch.pages;
                let found = branch.found;
                format!("{host} {pages} {found}: {}", leaves.join(" "))
            })
            .collect();
        assert_eq!(shown, ["b.test 3 2: /z /x?y=1 /", "c.test:81 1 1: /"]);
        let importance: Vec<_> = tree[0].leaves.iter().map(|leaf| leaf.importance).collect();
        assert_eq!(importance, [Some(2.5), Some(0.5), None]);
    }
}
