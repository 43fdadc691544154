//! Pages and hosts that are not in the image: an overlay over it, in places that the board lends.
//! What is known of a found page is where its URL's text lies in flash.

use core::cell::{Cell, RefCell};

use crate::catalog::Page;
use crate::fetch::Url;
use crate::image::{ImageError, Tag};
use crate::rank::{FoundWords, Ranking, location};
use crate::store::{LONGEST_TEXT, TEXT_BYTES, Text};
use crate::time::Duration;

/// The URL of a found page.
pub(in crate::probe) type UrlText = heapless::String<LONGEST_TEXT>;

/// Reads the partition that a log of URL texts is in, at once: most chips see their flash as
/// memory.
pub trait TextSource {
    /// Fills `bytes` with what is at this byte of the partition, as far as it goes; false if it
    /// cannot be read.
    fn read(&self, at: u32, bytes: &mut [u8]) -> bool;
}

/// What a place of the collection holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The page of the list that has this number, if there is one.
    Listed,
    /// There is no page.
    Free,
    /// A page that was found, and is kept.
    Kept,
    /// A candidate that is being looked at.
    Scout,
    /// A sitemap that is being read.
    Sitemap,
}

/// One place of the collection: 4 bytes.
///
/// | bits | what |
/// |---|---|
/// | 19 | where its URL's text is, in words of four bytes |
/// | 1 | the log does not know what is here |
/// | 3 | what is here: a `Kind` |
/// | 6 | what its URL and its words take from its worth: three bits of an exponent, three of a fraction |
/// | 3 | the lowest of its host's number: who looks for a host's pages reads fewer URLs |
///
/// All are 0 at first: tables of zeros are not part of an image.
#[derive(Debug)]
pub struct FoundPage(Cell<u32>);

const TEXT: u32 = FoundPage::MOST_TEXT - 1;
const UNSAVED: u32 = TEXT + 1;
const KIND: u32 = 0b111 << 20;
const LACKS: u32 = 0b11_1111 << 23;
const HOST: u32 = 0b111 << 29;

impl FoundPage {
    /// Nothing was found yet: to be repeated in an array.
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each use is meant to be a place of its own"
    )]
    pub const NEW: Self = Self(Cell::new(0));
    /// Texts lie below it, in words of four bytes: 2 MiB.
    pub const MOST_TEXT: u32 = 1 << 19;

    fn get(&self, part: u32) -> u32 {
        (self.0.get() & part) >> part.trailing_zeros()
    }

    /// Sets the bits of a part.
    fn set(&self, part: u32, bits: u32) {
        let bits = bits << part.trailing_zeros() & part;
        self.0.set(self.0.get() & !part | bits);
    }

    /// Where its URL's text is, in words of four bytes.
    pub(super) fn text(&self) -> u32 {
        self.get(TEXT)
    }

    /// It is there now, below [`Self::MOST_TEXT`].
    pub(super) fn set_text(&self, at: u32) {
        self.set(TEXT, at);
    }

    pub(super) fn kind(&self) -> Kind {
        match self.get(KIND) {
            0 => Kind::Listed,
            1 => Kind::Free,
            2 => Kind::Kept,
            3 => Kind::Scout,
            _ => Kind::Sitemap,
        }
    }

    pub(super) fn set_kind(&self, kind: Kind) {
        self.set(KIND, kind as u32);
    }

    /// Does the log not know what is here?
    pub(super) fn is_unsaved(&self) -> bool {
        self.get(UNSAVED) != 0
    }

    pub(super) fn set_unsaved(&self, unsaved: bool) {
        self.set(UNSAVED, unsaved.into());
    }

    /// What its URL and its words make of it, 1 at most.
    pub(super) fn worth(&self) -> f32 {
        f32::from_bits(ONE - (self.get(LACKS) << STEP))
    }

    /// Sets what its URL is worth: to a sixteenth of that, and no less than a 227th.
    pub(super) fn set_worth(&self, worth: f32) {
        let half = 1 << (STEP - 1);
        let lacks = (ONE + half).saturating_sub(worth.to_bits()) >> STEP;
        self.set(LACKS, lacks.min(LACKS >> LACKS.trailing_zeros()));
    }

    /// May it be a page of this host?
    fn may_be_on(&self, host: u16) -> bool {
        self.get(HOST) == u32::from(host) & (HOST >> HOST.trailing_zeros())
    }

    /// It is a page of this host.
    pub(super) fn set_host(&self, host: u16) {
        self.set(HOST, host.into());
    }
}

/// 1, and how far apart what pages are worth is, as bits of their numbers.
const ONE: u32 = 1.0_f32.to_bits();
const STEP: u32 = f32::MANTISSA_DIGITS - 1 - 3;

/// Room for a host that is not in the list.
#[derive(Debug)]
pub struct FoundHost(RefCell<heapless::String<LONGEST_ROOT>>);

/// The host of a found page, where nobody has read its URL.
const NOT_SAID: u16 = u16::MAX;

/// The longest `http://HOST:PORT/` of a host that is not in the list.
const LONGEST_ROOT: usize = 96;

impl FoundHost {
    /// No host yet: to be repeated in an array.
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each use is meant to be a place of its own"
    )]
    pub const NEW: Self = Self(RefCell::new(heapless::String::new()));

    fn is(&self, url: &Url<'_>) -> bool {
        let root = self.0.borrow();
        Url::parse(&root).is_ok_and(|root| root.same_server(url))
    }
}

/// What was found, as the rest of the probe sees it. Work of each question: constant, unless said
/// otherwise.
pub(in crate::probe) struct Found<'a> {
    pub(super) pages: &'a [FoundPage],
    pub(super) hosts: &'a [FoundHost],
    pub(super) source: Option<&'a dyn TextSource>,
    /// The sitemap that is being read.
    pub(super) sitemap: RefCell<UrlText>,
    pub(super) gap: Duration,
    /// Hosts of the image, which come first.
    pub(in crate::probe) listed_hosts: u16,
    pub(super) ranking: Ranking,
}

impl core::fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Found")
            .field("pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Found<'a> {
    /// Nothing is looked for.
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each use is meant to be one of its own"
    )]
    pub(in crate::probe) const NONE: Self = Self {
        pages: &[],
        hosts: &[],
        source: None,
        sitemap: RefCell::new(UrlText::new()),
        gap: Duration::ZERO,
        listed_hosts: 0,
        ranking: Ranking::DEFAULT,
    };

    /// What a URL makes of a page that holds these words, or whose links do: 1 at most.
    pub(super) fn worth_of(&self, url: &Url<'_>, about: FoundWords) -> f32 {
        let Ranking { measure, topic } = &self.ranking;
        // Where nobody asks for a topic, what is looked at first depends on the URL all the same.
        let by_url = match measure.topic && !measure.location {
            true => 1.0,
            false => location(url),
        };
        by_url * topic.worth(about)
    }

    /// Words of the topic in a URL.
    pub(super) fn words_of(&self, url: &Url<'_>) -> FoundWords {
        match self.ranking.topic.is_empty() {
            true => FoundWords::default(),
            false => self.ranking.topic.in_text(url.path_and_query().as_bytes()),
        }
    }

    /// What the PageRank of the page at a place is multiplied by.
    pub(super) fn factor(&self, place: usize) -> f32 {
        let measure = self.ranking.measure;
        match self.pages.get(place) {
            Some(page) if measure.location || measure.topic => page.worth(),
            _ => 1.0,
        }
    }

    /// How many places there are.
    pub(in crate::probe) fn len(&self) -> usize {
        self.pages.len()
    }

    #[inline(never)] // Once for all callers.
    pub(super) fn kind(&self, place: usize) -> Kind {
        self.pages.get(place).map_or(Kind::Listed, FoundPage::kind)
    }

    /// The page at a place, but for its URL and its host, which its URL tells; `None` if the image
    /// has it.
    pub(in crate::probe) fn page(&self, place: usize) -> Option<Result<Page<'a>, ImageError>> {
        let page = self.pages.get(place)?;
        match page.kind() {
            Kind::Listed => None,
            Kind::Free => Some(Err(ImageError::Record {
                section: Tag::PAGES,
                index: place as u32,
            })),
            Kind::Kept | Kind::Scout | Kind::Sitemap => Some(Ok(Page {
                host: NOT_SAID,
                url: "",
                weight: 1.0,
                rate: None,
                confidence: 0.0,
            })),
        }
    }

    /// The URL of a found page; `None` if the image has the page, or nobody.
    pub(in crate::probe) fn url(&self, place: usize) -> Option<UrlText> {
        let page = self.pages.get(place)?;
        match page.kind() {
            Kind::Listed | Kind::Free => None,
            Kind::Sitemap => Some(self.sitemap.borrow().clone()),
            Kind::Kept | Kind::Scout => self.text(page.text()),
        }
    }

    /// The URL whose text is at this word of the log. Work: a read of flash.
    #[inline(never)] // A buffer of its own, once.
    pub(super) fn text(&self, at: u32) -> Option<UrlText> {
        let mut bytes = [0xff; TEXT_BYTES];
        if !self.source?.read(at.checked_mul(4)?, &mut bytes) {
            return None;
        }
        let mut url = UrlText::new();
        let text = Text::read(&bytes)?;
        url.push_str(text.url).ok()?;
        Some(url)
    }

    /// Where the text of a page's URL is, as a word of the log.
    pub(in crate::probe) fn text_at(&self, place: usize) -> Option<u32> {
        self.pages.get(place).map(FoundPage::text)
    }

    /// What stands beside the URL whose text is at this word of the log.
    pub(super) fn value(&self, at: u32) -> Option<u32> {
        let mut bytes = [0xff; TEXT_BYTES];
        let read = self.source?.read(at.checked_mul(4)?, &mut bytes);
        Text::read(&bytes).filter(|_| read).map(|text| text.value)
    }

    /// Numbers of the found pages that may be on a host: those that are, and of others one of
    /// eight. Work: the places.
    pub(in crate::probe) fn maybe_on_host(
        &self,
        host: u16,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let places = self.pages.iter().enumerate();
        places
            .filter(move |(_, page)| {
                page.may_be_on(host) && !matches!(page.kind(), Kind::Listed | Kind::Free)
            })
            .map(|(place, _)| place)
    }

    /// Is a page of the list still where the list has it?
    pub(in crate::probe) fn is_listed(&self, place: usize) -> bool {
        self.kind(place) == Kind::Listed
    }

    /// Is a URL on a found host of this number?
    pub(in crate::probe) fn is_on_host(&self, host: u16, url: &Url<'_>) -> bool {
        let at = host.checked_sub(self.listed_hosts).map(usize::from);
        at.and_then(|at| self.hosts.get(at))
            .is_some_and(|host| host.is(url))
    }

    /// The number of a host that is not in the list. Work: the hosts that were found.
    pub(in crate::probe) fn host_of(&self, url: &Url<'_>) -> Option<u16> {
        let at = self.hosts.iter().position(|host| host.is(url))?;
        Some(self.listed_hosts + at as u16)
    }

    /// How many hosts there are, those of the list included.
    pub(in crate::probe) fn count_hosts(&self) -> usize {
        let used = |host: &&FoundHost| !host.0.borrow().is_empty();
        usize::from(self.listed_hosts) + self.hosts.iter().take_while(used).count()
    }

    /// What a found host gets between two requests; `None` for a host of the list.
    pub(in crate::probe) fn gap_of(&self, host: u16) -> Option<Duration> {
        (self.is_found(host)).then_some(self.gap)
    }

    /// Is it a host that is not in the list?
    pub(in crate::probe) fn is_found(&self, host: u16) -> bool {
        !self.pages.is_empty() && host >= self.listed_hosts
    }

    /// `http://HOST:PORT/` of a found host.
    pub(in crate::probe) fn root_of(&self, host: usize) -> Option<heapless::String<LONGEST_ROOT>> {
        let at = host.checked_sub(self.listed_hosts.into())?;
        let root = self.hosts.get(at)?.0.borrow().clone();
        (!root.is_empty()).then_some(root)
    }

    /// Takes a host in that is not in the list; its number, `None` if there is no room.
    pub(super) fn add_host(&self, url: &Url<'_>) -> Option<u16> {
        let at = self
            .hosts
            .iter()
            .position(|host| host.0.borrow().is_empty())?;
        let mut text = [0; LONGEST_ROOT];
        let root = url.join(b"/", &mut text).ok()?;
        let spelt = crate::probe::redirects::spell(&root)?;
        let mut name = self.hosts.get(at)?.0.borrow_mut();
        name.push_str(&spelt).ok()?;
        Some(self.listed_hosts + at as u16)
    }

    /// Gives back the place of the host that was taken in last.
    pub(super) fn remove_last_host(&self) {
        let mut hosts = self.hosts.iter().rev();
        if let Some(host) = hosts.find(|host| !host.0.borrow().is_empty()) {
            host.0.borrow_mut().clear();
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::catalog::Config;
    use crate::image::{Image, build};
    use crate::probe::setup::Setup;
    use std::vec::Vec;

    #[test]
    fn a_page_is_on_its_own_host_and_on_none_whose_number_ends_alike() {
        let bytes = build(&Config::new("dunlin/0.1"), &[], &[], &[], &[]);
        let image = Image::parse(&bytes).expect("an image of our own");
        let pages = [FoundPage::NEW, FoundPage::NEW];
        let hosts = [const { FoundHost::NEW }; 10];
        let mut setup = Setup::new(image, false).expect("a good configuration");
        setup.found = Found {
            pages: &pages,
            hosts: &hosts,
            ..Found::NONE
        };
        for number in 0..10 {
            let url = std::format!("http://h{number}.test/");
            let url = Url::parse(&url).expect("a URL");
            assert_eq!(setup.found.add_host(&url), Some(number));
        }
        // What a sitemap's URL is needs no flash.
        let [_, page] = &pages;
        page.set_kind(Kind::Sitemap);
        page.set_host(1);
        let url = setup
            .found
            .sitemap
            .borrow_mut()
            .push_str("http://h1.test/a");
        url.expect("there is room");
        assert_eq!(setup.found_host(1), Some(1));
        let on_host = |host| setup.found_on_host(host).collect::<Vec<_>>();
        assert_eq!(on_host(1), [1]);
        let maybe = |host| setup.found.maybe_on_host(host).collect::<Vec<_>>();
        assert_eq!((maybe(2), maybe(9)), (Vec::new(), [1].to_vec()));
        assert_eq!((on_host(0), on_host(9)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_a_place_holds_is_told_apart() {
        let page = FoundPage::NEW;
        assert_eq!((page.kind(), page.worth()), (Kind::Listed, 1.0));
        let kinds = [
            Kind::Listed,
            Kind::Free,
            Kind::Kept,
            Kind::Scout,
            Kind::Sitemap,
        ];
        for step in 0_u32..2_000 {
            let text = step.wrapping_mul(0x9e37_79b1) % FoundPage::MOST_TEXT;
            let kind = kinds[step as usize % kinds.len()];
            let worth = 0.996_f32.powi(step as i32).max(1.0 / 227.0);
            let host = step.wrapping_mul(7) as u16;
            page.set_text(text);
            page.set_kind(kind);
            page.set_unsaved(step % 3 == 0);
            page.set_worth(worth);
            page.set_host(host);
            assert_eq!((page.text(), page.kind()), (text, kind));
            assert_eq!(page.is_unsaved(), step % 3 == 0);
            let error = (page.worth() / worth - 1.0).abs();
            assert!(error <= 1.0 / 16.0, "{worth}: {}", page.worth());
            assert!(page.may_be_on(host) && !page.may_be_on(host ^ 1));
        }
        for none in [0.0, 1e-9] {
            page.set_worth(none);
            assert!((0.004..0.005).contains(&page.worth()));
        }
    }
}
