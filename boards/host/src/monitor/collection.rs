//! A collection that goes beyond the list, as the log tells of it.

use std::collections::BTreeMap;

use dunlin::fetch::Url;
use dunlin::probe::{LoggedEvent, LoggedFoundEvent};
use serde::Serialize;

use super::names::{Names, PageName};
use crate::lists::pages::host_of;

/// What a probe keeps and knows, by its own count since its last boot.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Collection {
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

impl Collection {
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
            host: known.map_or(u16::MAX, |host| host as u16),
            weight: 1.0,
            prior: None,
        };
        self.names.insert(page.into(), Some(name));
    }
}
