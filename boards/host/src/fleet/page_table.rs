//! The pages of a fleet in columns: a planner has millions of them, and a record each with texts of
//! its own would take four times the memory.

use std::collections::BTreeMap;

use dunlin::image::Learnt;
use dunlin::math::split_mix;
use dunlin::time::{Duration, Instant};

use crate::filter::Filter;
use crate::lists::pages::{ListedChange, ListedPage};

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

/// Appends to a column. It grows by a sixteenth: a vector would double, and stay half empty.
fn append<T>(column: &mut Vec<T>, value: T) {
    insert(column, column.len(), value);
}

/// Puts a value into a column, which grows as [`append`] says.
pub(super) fn insert<T>(column: &mut Vec<T>, place: usize, value: T) {
    if column.len() == column.capacity() {
        column.reserve_exact(column.len() / 16 + 16);
    }
    column.insert(place, value);
}

/// All pages by number: 36 bytes each, beside the texts of their URLs and the terms that some have.
#[derive(Debug, Default)]
pub struct PageTable {
    /// The URLs, one behind the other, …
    texts: String,
    /// … and where each of them ends.
    ends: Vec<u64>,
    hosts: Vec<u32>,
    /// As exact as a page image has them.
    weights: Vec<f32>,
    /// Changes a day; no number where the list does not say.
    rates: Vec<f32>,
    /// What has been learnt; a shape of zero for nothing.
    learnt: Vec<Learnt>,
    /// The second of the planner's clock of the last visit; 0 for none that is known.
    visited: Vec<u32>,
    /// What the list says of few pages.
    terms: BTreeMap<u32, Terms>,
}

/// What a list says of a page besides where it is, how important it is and how often it changes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Terms {
    /// How it changes, if not at any moment alike.
    change: Option<ListedChange>,
    min: u32,
    max: Option<u32>,
    every: Option<Duration>,
    filter: Option<Filter>,
}

impl PageTable {
    /// Makes room for so many pages, with so many bytes of URLs.
    pub fn reserve(&mut self, pages: usize, bytes: usize) {
        self.texts.reserve_exact(bytes);
        self.ends.reserve_exact(pages);
        self.hosts.reserve_exact(pages);
        self.weights.reserve_exact(pages);
        self.rates.reserve_exact(pages);
        self.learnt.reserve_exact(pages);
        self.visited.reserve_exact(pages);
    }

    /// Takes a page; its number. What people call it is nothing to a planner.
    pub fn take(&mut self, page: ListedPage) -> u32 {
        let number = self.ends.len() as u32;
        let bytes = self.texts.len() + page.url.len();
        if bytes > self.texts.capacity() {
            self.texts.reserve_exact(page.url.len() + bytes / 16);
        }
        self.texts.push_str(&page.url);
        append(&mut self.ends, self.texts.len() as u64);
        append(&mut self.hosts, page.host as u32);
        append(&mut self.weights, page.weight as f32);
        append(&mut self.learnt, NOTHING);
        append(&mut self.visited, 0);
        let (rate, change) = match page.change {
            ListedChange::Poisson { rate } => (rate, None),
            other => (None, Some(other)),
        };
        append(&mut self.rates, rate.map_or(f32::NAN, |rate| rate as f32));
        let terms = Terms {
            change,
            min: page.min,
            max: page.max,
            every: page.every,
            filter: page.filter,
        };
        if terms != Terms::default() {
            self.terms.insert(number, terms);
        }
        number
    }

    /// How many numbers were given.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The URL of a page; nothing for a number that no page has.
    pub fn url(&self, page: u32) -> &str {
        let place = page as usize;
        let end = |place: usize| self.ends.get(place).map(|end| *end as usize);
        let start = place.checked_sub(1).map_or(Some(0), end);
        let text = start
            .zip(end(place))
            .and_then(|(start, end)| self.texts.get(start..end));
        text.unwrap_or_default()
    }

    /// The host of a page.
    pub fn host(&self, page: u32) -> usize {
        self.hosts[page as usize] as usize
    }

    /// A page as a list has it, with its host's number there.
    pub fn listed(&self, page: u32, host: usize) -> ListedPage {
        let rate = self.rates[page as usize];
        let rate = (!rate.is_nan()).then_some(f64::from(rate));
        let terms = self.terms.get(&page).cloned().unwrap_or_default();
        ListedPage {
            url: self.url(page).to_owned(),
            name: None,
            host,
            weight: self.weights[page as usize].into(),
            change: terms.change.unwrap_or(ListedChange::Poisson { rate }),
            min: terms.min,
            max: terms.max,
            every: terms.every,
            filter: terms.filter,
        }
    }

    /// What has been learnt about a page.
    pub fn learnt(&self, page: u32) -> Option<Learnt> {
        let learnt = self.learnt.get(page as usize).copied();
        learnt.filter(|learnt| learnt.shape > 0.0)
    }

    /// This is believed of a page now.
    pub fn learn(&mut self, page: u32, learnt: Learnt) {
        if let Some(place) = self.learnt.get_mut(page as usize) {
            *place = learnt;
        }
    }

    /// The moment of the last visit to a page that is known of, to the second.
    pub fn visited(&self, page: u32) -> Option<Instant> {
        let second = self.visited.get(page as usize).copied();
        let second = second.filter(|second| *second > 0);
        second.map(|second| Instant::ZERO + Duration::from_secs(second.into()))
    }

    /// A page was visited at this moment.
    pub fn visit(&mut self, page: u32, then: Instant) {
        let second = (then - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32;
        if let Some(place) = self.visited.get_mut(page as usize) {
            *place = second.max(*place).max(1);
        }
    }
}

/// Pages by the hashes of their URLs: the upper half of each hash and the page, sorted.
#[derive(Debug, Default)]
pub struct UrlIndex(Vec<(u32, u32)>);

impl UrlIndex {
    /// Of all pages of a table.
    pub fn new(table: &PageTable) -> Self {
        let pages = 0..table.len() as u32;
        let mut index: Vec<_> = pages
            .map(|page| (upper(hash(table.url(page))), page))
            .collect();
        index.sort_unstable();
        Self(index)
    }

    /// Enters a page by the hash of its URL.
    pub fn enter(&mut self, hash: u64, page: u32) {
        let place = self.0.partition_point(|known| *known < (upper(hash), page));
        insert(&mut self.0, place, (upper(hash), page));
    }

    /// Forgets a page; false if it is not there.
    pub fn forget(&mut self, hash: u64, page: u32) -> bool {
        let place = self.0.binary_search(&(upper(hash), page));
        place.map(|place| self.0.remove(place)).is_ok()
    }

    /// The pages that may have this hash: one as a rule, others by chance.
    pub fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> {
        let from = self.0.partition_point(|(known, _)| *known < upper(hash));
        let rest = self.0.get(from..).unwrap_or_default().iter();
        rest.take_while(move |(known, _)| *known == upper(hash))
            .map(|(_, page)| *page)
    }

    /// All pages, in an order of their own.
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(_, page)| *page)
    }
}

fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> ListedPage {
        ListedPage {
            url: url.into(),
            name: None,
            host: 7,
            weight: 2.5,
            change: ListedChange::Poisson { rate: Some(0.125) },
            min: 0,
            max: None,
            every: None,
            filter: None,
        }
    }

    #[test]
    fn a_page_comes_back_as_it_was() {
        let mut table = PageTable::default();
        let plain = page("http://a.test/");
        let unknown = ListedPage {
            change: ListedChange::Poisson { rate: None },
            ..page("http://b.test/")
        };
        let special = ListedPage {
            change: ListedChange::Pareto {
                rate: Some(3.3),
                shape: 1.7,
            },
            min: 2,
            max: Some(9),
            every: Some(Duration::HOUR),
            ..page("")
        };
        for page in [&plain, &unknown, &special] {
            let number = table.take(page.clone());
            assert_eq!(table.listed(number, 7), *page);
            assert_eq!((table.host(number), table.learnt(number)), (7, None));
            assert_eq!(table.visited(number), None);
        }
        assert_eq!((table.len(), table.terms.len()), (3, 1));
        assert_eq!((table.url(1), table.url(3)), ("http://b.test/", ""));
    }

    #[test]
    fn the_last_visit_counts_whichever_is_heard_of_last() {
        let at = |second| Instant::ZERO + Duration::from_secs(second);
        let mut table = PageTable::default();
        let page = table.take(page("http://a.test/"));
        table.visit(page, at(70) + Duration::from_millis(900));
        table.visit(page, at(50));
        assert_eq!(table.visited(page), Some(at(70)));
        table.visit(page + 1, at(80));
        assert_eq!(table.visited(page + 1), None);
    }

    #[test]
    fn pages_are_found_by_hashes_that_share_their_upper_half() {
        let mut index = UrlIndex::default();
        let hashes = [5 << 32 | 1, 5 << 32 | 2, 9 << 32];
        for (page, hash) in hashes.into_iter().enumerate() {
            index.enter(hash, page as u32);
        }
        assert_eq!(index.candidates(hashes[0]).collect::<Vec<_>>(), [0, 1]);
        assert!(index.forget(hashes[0], 0) && !index.forget(hashes[0], 0));
        assert_eq!(index.candidates(hashes[1]).collect::<Vec<_>>(), [1]);
        assert_eq!(index.pages().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(index.candidates(7 << 32).next(), None);
    }

    #[test]
    fn a_hash_stays_what_it_was() {
        // Probes and pages are known by it in the planner's state.
        assert_eq!(hash("host example.org"), 0xb11e_358e_5fe9_6474);
        assert_ne!(hash("host example.org"), hash("group example.org"));
    }
}
