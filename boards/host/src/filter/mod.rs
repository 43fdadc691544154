//! What of a page counts as a change, by the columns `select` and `ignore` of a list: parts of it
//! alone, and these without stretches that always change.
//!
//! Parts are elements by a CSS selector ([`css`]), on a computer, or what stands between two
//! [`markers`], which a probe finds as well, while it reads.

pub mod css;
pub mod markers;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use dunlin::fetch::{Fingerprinter, Ignore, Url};

use self::css::{CssSelector, Unfit};
use self::markers::{Markers, without};
use crate::lists::pages::PageList;

/// What of a page counts as a change.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// What alone counts; `None` for all of it.
    pub select: Option<Select>,
    /// Stretches of that which do not count.
    pub ignore: Vec<Markers>,
}

/// The part of a page that alone counts.
#[derive(Clone, Debug)]
pub enum Select {
    /// Elements by a CSS selector.
    Css(CssSelector),
    /// What stands between two markers.
    Between(Markers),
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.ignore == other.ignore && self.selected() == other.selected()
    }
}

/// What is left of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// The bytes that count; parts of the page are a line each, or more.
    pub bytes: Vec<u8>,
    /// Parts that were selected; `None` where all of the page is.
    pub selected: Option<usize>,
    /// Stretches that were left out.
    pub ignored: usize,
}

impl Filter {
    /// What is expected of `select`.
    pub const EXPECTED_SELECT: &'static str =
        "a CSS selector such as main or #news > li, or markers such as <main>…</main>";

    /// Reads what a list says, `None` where it says nothing.
    ///
    /// # Errors
    /// What was expected of `select`.
    pub fn read_select(text: &str) -> Result<Select, &'static str> {
        if text.contains('…') || text.contains("...") {
            let markers = Markers::parse(text).ok_or(Markers::EXPECTED)?;
            return Ok(Select::Between(markers));
        }
        let query = CssSelector::parse(text).ok_or(Self::EXPECTED_SELECT)?;
        Ok(Select::Css(query))
    }

    /// Does it say anything?
    pub fn is_empty(&self) -> bool {
        self.select.is_none() && self.ignore.is_empty()
    }

    /// The CSS selector, which no probe can follow.
    pub fn css(&self) -> Option<&CssSelector> {
        match &self.select {
            Some(Select::Css(query)) => Some(query),
            _ => None,
        }
    }

    /// The part that alone counts, as it was written.
    pub fn selected(&self) -> Option<Cow<'_, str>> {
        self.select.as_ref().map(|select| match select {
            Select::Css(query) => query.text().into(),
            Select::Between(markers) => markers.written().into(),
        })
    }

    /// The stretches that do not count, as they were written; `None` where all of it counts.
    pub fn ignored(&self) -> Option<String> {
        let stretch = |markers: &Markers| markers.written().replace('|', "\\|");
        let written: Vec<String> = self.ignore.iter().map(stretch).collect();
        (!written.is_empty()).then(|| written.join("|"))
    }

    /// What is left of a body.
    ///
    /// # Errors
    /// The body is made so that its parts cannot be selected in good time.
    pub fn apply(&self, body: &[u8]) -> Result<Filtered, Unfit> {
        let (part, selected) = match &self.select {
            None => (Cow::Borrowed(body), None),
            Some(Select::Between(markers)) => {
                let stretches = markers.between(body);
                (stretches.join(&b'\n').into(), Some(stretches.len()))
            }
            Some(Select::Css(query)) => {
                let elements = query.select(&String::from_utf8_lossy(body))?;
                let joined = elements.join("\n").into_bytes();
                (joined.into(), Some(elements.len()))
            }
        };
        let (bytes, ignored) = match self.ignore.is_empty() {
            true => (part.into_owned(), 0),
            false => without(&part, &self.ignore),
        };
        Ok(Filtered {
            bytes,
            selected,
            ignored,
        })
    }

    /// The bytes that count of a body; all of it, where parts cannot be selected.
    pub fn counted<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        match self.apply(body) {
            Ok(filtered) => filtered.bytes.into(),
            Err(_) => body.into(),
        }
    }

    /// A fingerprint of what counts of a body.
    pub fn fingerprint(&self, key: &[u8; 16], body: &[u8]) -> u64 {
        let mut hasher = Fingerprinter::new(key, &[]);
        hasher.update(&self.counted(body));
        hasher.finish().short()
    }
}

/// The filters of a list, by URL.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    key: RandomState,
    /// By a digest of what the URL means: `%7E` is `~`.
    of_url: HashMap<u64, Vec<(String, Filter)>>,
}

impl Filters {
    /// The filters of a list, and what is ignored of all its pages.
    pub fn of(list: &PageList, ignore: &[(String, String)]) -> Self {
        let mut filters = Self::default();
        filters.add(list, ignore);
        filters
    }

    /// The filters of one more list, and what is ignored of all its pages.
    pub fn add(&mut self, list: &PageList, ignore: &[(String, String)]) {
        let general = ignore.iter().map(|(from, to)| Markers {
            from: from.clone(),
            to: to.clone(),
        });
        let general: Vec<Markers> = general.collect();
        for page in &list.pages {
            let mut filter = page.filter.clone().unwrap_or_default();
            filter.ignore.splice(0..0, general.iter().cloned());
            self.insert(&page.url, filter);
        }
    }

    /// One filter, for one page.
    pub fn one(url: &str, filter: Filter) -> Self {
        let mut filters = Self::default();
        filters.insert(url, filter);
        filters
    }

    fn insert(&mut self, url: &str, filter: Filter) {
        let Ok(parsed) = Url::parse(url) else { return };
        if !filter.is_empty() {
            let digest = self.key.hash_one(parsed);
            let alike = self.of_url.entry(digest).or_default();
            alike.push((url.to_owned(), filter));
        }
    }

    /// Is no page filtered?
    pub fn is_empty(&self) -> bool {
        self.of_url.is_empty()
    }

    /// The filter of a page.
    pub fn get(&self, url: &str) -> Option<&Filter> {
        if self.is_empty() {
            return None;
        }
        let parsed = Url::parse(url).ok()?;
        let alike = self.of_url.get(&self.key.hash_one(parsed))?;
        let same = |known: &str| Url::parse(known).is_ok_and(|known| known == parsed);
        let found = alike.iter().find(|(known, _)| same(known));
        found.map(|(_, filter)| filter)
    }
}

/// Are there no more stretches than a probe looks for?
pub fn fits_a_probe(general: usize, own: usize) -> bool {
    general + own <= Ignore::MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(select: &str, ignore: &str) -> Filter {
        let read = |text: &str| Filter::read_select(text).expect("a selection");
        Filter {
            select: Some(select).filter(|text| !text.is_empty()).map(read),
            ignore: match ignore {
                "" => Vec::new(),
                text => Markers::parse_several(text).expect("markers"),
            },
        }
    }

    #[test]
    fn what_counts_is_selected_first_and_then_cleaned() {
        let page = b"<p>12:00</p><main>News <i>seen 5 times</i></main><p>ad</p>";
        let apply = |select, ignore| {
            let found = filter(select, ignore).apply(page).expect("a page");
            (
                String::from_utf8(found.bytes).expect("text"),
                found.selected,
                found.ignored,
            )
        };
        let clean = "<main>News <i>seen  times</i></main>".to_owned();
        assert_eq!(apply("main", "seen … times"), (clean, Some(1), 1));
        let between = "News <i>seen 5 times</i>".to_owned();
        assert_eq!(apply("<main>…</main>", ""), (between, Some(1), 0));
        assert_eq!(apply("p", "").1, Some(2));
        assert_eq!(apply("h1", "").0, "");
        assert_eq!(apply("", "<p>…</p>").2, 2);
    }

    #[test]
    fn a_filter_belongs_to_what_a_url_means() {
        let filters = Filters::one("http://a.test/%7Ex", filter("main", ""));
        assert!(filters.get("http://A.test:80/~x").is_some());
        assert!(filters.get("http://a.test/").is_none());
    }
}
