//! The log of URLs under power cuts at every byte: nothing that was confirmed is lost, no page is
//! there twice, and none without its URL.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use dunlin::store::{LONGEST_TEXT, StoreStep, Text, TextKind, TextLedger, TextLog};
use dunlin::time::Instant;
use dunlin_suite::bench::Random;
use futures_lite::future::block_on;
use host_tests::flash::Flash;

/// Small, so that it goes round and round.
type Small = Flash<4, 4096, 4>;

const PLACES: u16 = 12;

/// A collection, as a probe's memory has it.
#[derive(Clone, Debug, Default)]
struct Books {
    /// Where the text of each candidate is.
    candidates: BTreeMap<String, u32>,
    /// Who is at each place, and where the text is.
    pages: BTreeMap<u16, (String, u32)>,
    /// What is to be written.
    waiting: VecDeque<(TextKind, String)>,
    /// Candidates that had to give way.
    lost: BTreeSet<String>,
}

impl Books {
    fn take(&mut self, text: &Text<'_>, at: u32) {
        let url = text.url.to_owned();
        match text.kind {
            TextKind::Candidate => {
                if !self.pages.values().any(|(page, _)| *page == url) {
                    self.candidates.insert(url, at);
                }
            }
            TextKind::Page(place) => {
                self.candidates.remove(&url);
                if let Some((old, text)) = self.pages.insert(place, (url.clone(), at))
                    && old != url
                {
                    self.candidates.insert(old, text);
                }
            }
            TextKind::Free(place) => _ = self.pages.remove(&place),
            TextKind::Retired => {}
        }
    }
}

struct Ledger(RefCell<Books>);

impl TextLedger for Ledger {
    fn next<'u>(&self, url: &'u mut [u8; LONGEST_TEXT]) -> Option<Text<'u>> {
        let books = self.0.borrow();
        let (kind, text) = books.waiting.front()?;
        let place = &mut url[..text.len()];
        place.copy_from_slice(text.as_bytes());
        Some(Text {
            kind: *kind,
            value: 7,
            url: std::str::from_utf8(place).expect("a URL of ours"),
        })
    }

    fn written(&self, text: &Text<'_>, at: u32) {
        let mut books = self.0.borrow_mut();
        books.waiting.pop_front();
        books.take(text, at);
    }

    fn wanted(&self, text: &Text<'_>, at: u32) -> Option<TextKind> {
        let books = self.0.borrow();
        let page = |(place, (url, text_at)): (&u16, &(String, u32))| {
            (url == text.url && *text_at == at).then_some(TextKind::Page(*place))
        };
        let candidate = books.candidates.get(text.url);
        let candidate = candidate.filter(|known| **known == at);
        books
            .pages
            .iter()
            .find_map(page)
            .or(candidate.map(|_| TextKind::Candidate))
    }

    fn moved(&self, text: &Text<'_>, from: u32, to: Option<u32>) {
        let mut books = self.0.borrow_mut();
        let page = books.pages.values_mut().find(|(_, at)| *at == from);
        match (page, to) {
            (Some((_, at)), Some(to)) => *at = to,
            (Some(_), None) => panic!("a page was lost: {}", text.url),
            (None, Some(to)) => _ = books.candidates.insert(text.url.to_owned(), to),
            (None, None) => {
                books.candidates.remove(text.url);
                books.lost.insert(text.url.to_owned());
            }
        }
    }
}

/// What happens: candidates come, become pages, give way, and go.
fn story() -> Vec<(TextKind, String)> {
    let mut random = Random(5);
    let mut below = |limit: u32| random.next_u32() % limit;
    (0..260)
        .map(|number| {
            let long = "x".repeat(below(120) as usize);
            let place = below(PLACES.into()) as u16;
            let url = |number: u32| format!("http://a.test/{number}/{long}");
            match below(10) {
                0 | 1 => (TextKind::Page(place), url(number)),
                2 => (TextKind::Free(place), String::new()),
                _ => (TextKind::Candidate, url(number)),
            }
        })
        .collect()
}

/// Lets the story happen until the power goes; what was confirmed by then.
fn live(flash: Small, books: Books, story: &[(TextKind, String)]) -> (Small, Books) {
    let mut log = TextLog::new(flash);
    let ledger = Ledger(RefCell::new(books));
    block_on(log.open(|_, _| ())).expect("flash with power");
    'story: for event in story {
        ledger.0.borrow_mut().waiting.push_back(event.clone());
        loop {
            match block_on(log.step(&ledger, true, Instant::MAX)) {
                Ok(StoreStep::Idle) => break,
                Ok(StoreStep::Wrote) => {}
                Ok(other) => panic!("{other:?}"),
                Err(_) => break 'story,
            }
        }
    }
    (log.flash().switched_on(), ledger.0.into_inner())
}

fn read(flash: &Small) -> Books {
    let mut found = Books::default();
    let mut log = TextLog::new(flash.switched_on());
    block_on(log.open(|text, at| found.take(text, at))).expect("flash with power");
    found
}

/// What is read must be what was confirmed; of what was being written, all or nothing.
fn compare(found: &Books, told: &Books, cut: u64) {
    let waiting = told.waiting.front();
    let mut later = told.clone();
    if let Some((kind, url)) = waiting {
        let text = Text {
            kind: *kind,
            value: 7,
            url,
        };
        later.take(&text, 0);
    }
    let pages = |books: &Books| -> BTreeMap<u16, String> {
        let pages = books.pages.iter();
        pages
            .map(|(place, (url, _))| (*place, url.clone()))
            .collect()
    };
    let own = pages(found);
    assert!(
        own == pages(told) || own == pages(&later),
        "pages after a cut at byte {cut}: {own:?}, told {:?}",
        pages(told)
    );
    let urls: BTreeSet<&String> = own.values().collect();
    assert_eq!(
        urls.len(),
        own.len(),
        "a page twice after a cut at byte {cut}"
    );
    assert!(
        own.values().all(|url| !url.is_empty()),
        "no URL at byte {cut}"
    );
    for url in told.candidates.keys() {
        let is_page = own.values().any(|page| page == url);
        assert!(
            is_page || found.candidates.contains_key(url),
            "{url} is lost by a cut at byte {cut}"
        );
    }
    for url in found.candidates.keys() {
        assert!(
            !own.values().any(|page| page == url),
            "{url} is page and candidate"
        );
    }
}

#[test]
fn a_power_cut_at_every_byte_costs_nothing_that_was_confirmed() {
    let story = story();
    let (whole, told) = live(Small::blank(), Books::default(), &story);
    compare(&read(&whole), &told, u64::MAX);
    assert!(told.pages.len() > 5 && told.candidates.len() > 50);
    let bytes = {
        let mut log = TextLog::new(Small::blank());
        let ledger = Ledger(RefCell::new(Books::default()));
        for event in &story {
            ledger.0.borrow_mut().waiting.push_back(event.clone());
            while !matches!(
                block_on(log.step(&ledger, true, Instant::MAX)),
                Ok(StoreStep::Idle)
            ) {}
        }
        log.flash().count.bytes
    };
    // Erases have most of the bytes: closer together in the long run.
    let step = if std::env::var_os("DUNLIN_LONG").is_some() {
        7
    } else {
        211
    };
    for cut in (1..bytes).step_by(step) {
        let mut flash = Small::blank();
        flash.power = Some(cut);
        let (flash, told) = live(flash, Books::default(), &story);
        let mut found = read(&flash);
        compare(&found, &told, cut);
        // And life goes on, from what was found.
        if cut % 5 == 0 {
            found.lost.clear();
            let (flash, told) = live(flash, found, &story[..40]);
            compare(&read(&flash), &told, cut);
        }
    }
}

#[test]
fn what_was_cut_short_is_passed_over() {
    let text = |url: &str| (TextKind::Candidate, url.to_owned());
    let (mut flash, told) = live(
        Small::blank(),
        Books::default(),
        &[
            text("http://a.test/1"),
            text("http://a.test/2"),
            text("http://a.test/3"),
        ],
    );
    let second = told.candidates["http://a.test/2"] as usize * 4;
    flash.bytes_mut()[second + 15] ^= 1;
    let found = read(&flash);
    let urls: Vec<&String> = found.candidates.keys().collect();
    assert_eq!(urls, ["http://a.test/1", "http://a.test/3"]);
}
