//! Tellers: sitemaps and feeds in which hosts say when their pages changed, and what pages say of
//! themselves.
//!
//! A teller is a page of the image, so it passes the gate of its host, counts against the budget,
//! is asked for conditionally and only if robots.txt allows it, and follows redirects. While its
//! answer streams by, each page that it names with a date becomes a hint. How often it is asked
//! for, and how far it is believed, is the scheduler's business.
//!
//! | said by | becomes |
//! |---|---|
//! | a sitemap or a feed: a page's date is after our last visit | the page has changed then |
//! | `Cache-Control: max-age` or `Expires` of a page, less `Age` | the page may change then; not heeded where a teller knows more |
//! | `Sitemap:` of a robots.txt | where the teller is, if the list leaves that to the host |
//! | `Link` of a page, with the relation `alternate` and a feed's type; with `discover`, such a `link` element, too | the same, while no teller is known |
//! | an index of sitemaps | which of them is read next, see `parts.rs` |
//!
//! One document is read at a time, in 500 bytes; a second teller waits for its turn. Work for an
//! entry: a hash of its URL, and a comparison of four bytes with each page of the host.

mod parts;
mod sitemap_line;

use parts::PartChoice;
use sitemap_line::SitemapLine;

use super::memory::Knowledge;
use super::origin::Origin;
use super::redirects::{LONGEST_TARGET, Redirect, RedirectTarget, Subject, spell};
use super::setup::Setup;
use super::slots::Runner;
use super::turn::Turn;
use super::visit::{Conclusion, PageVisit, VisitAnswer};
use super::{Board, Event, Probe};
use crate::feed::{FeedEntry, FeedReader};
use crate::fetch::{Head, Hops, HttpDate, Url};
use crate::image::TellerSource;
use crate::learn::hints::Hint;
use crate::scheduler::{Outcome, SchedulerView};
use crate::store::identity;
use crate::time::{Duration, Instant};

/// Whose word is listened to at present, and what has come of it.
#[derive(Debug)]
pub(super) struct Tellers {
    document: Document,
    heard: Heard,
}

/// What is being read.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // There is one, and no allocator.
enum Document {
    None,
    /// The answer of this teller.
    Feed(u16, FeedReader),
    /// A robots.txt that may say where this teller is.
    Robots(u16, SitemapLine),
}

/// What has come of a document so far.
#[derive(Debug)]
struct Heard {
    /// Pages that it names with a date.
    entries: u16,
    /// Those of them that were news, and for how long they had been true, in seconds, all together.
    news: u16,
    delays: u32,
    /// If it is an index of sitemaps, which of them comes next.
    choice: PartChoice,
}

impl Heard {
    const NOTHING: Self = Self {
        entries: 0,
        news: 0,
        delays: 0,
        choice: PartChoice::None,
    };
}

impl Tellers {
    /// No constant, which would be all of its bytes.
    pub(super) fn new() -> Self {
        Self {
            document: Document::None,
            heard: Heard::NOTHING,
        }
    }

    /// Begins to read a document; false while another one is being read.
    fn begin(&mut self, document: Document) -> bool {
        let free = matches!(self.document, Document::None);
        if free {
            self.document = document;
            self.heard = Heard::NOTHING;
        }
        free
    }
}

/// What the scheduler is told of a visit: how often a teller changes is of no interest, and says
/// nothing of the other pages of its host.
pub(super) fn recorded(setup: &Setup<'_>, page: u16, outcome: Outcome) -> Outcome {
    if outcome.is_answer() && setup.is_teller(page) {
        Outcome::Redirected
    } else {
        outcome
    }
}

impl<'p, 'a, B: Board> Runner<'p, 'a, B> {
    /// Gets ready to listen to the answer of a visit, if it is one to listen to; `None` if another
    /// one is being listened to, and this one has to wait.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn listen(&self, turn: &Turn, visit: &PageVisit<'a>) -> Option<Ear<'p, 'a, B>> {
        let probe = self.probe;
        let setup = &probe.setup;
        let page = turn.page.index() as u16;
        let deaf = Ear { probe: None };
        if visit.asks_for_page() {
            if !setup.is_teller(page) {
                return Some(deaf);
            }
            let state = &mut *probe.state();
            if !state.tellers.begin(Document::Feed(page, FeedReader::new())) {
                return None;
            }
            state.known.identify(setup, visit.host());
            // A sitemap of an index is no index itself.
            if !visit.is_part() {
                state.tellers.heard.choice = PartChoice::begin(setup, &state.known, page);
            }
            return Some(Ear { probe: Some(probe) });
        }
        let Some(teller) = sought(setup, visit.host()) else {
            return Some(deaf);
        };
        let document = Document::Robots(teller, SitemapLine::new());
        // If somebody else is being read, tomorrow's robots.txt will do.
        let hears = probe.state().tellers.begin(document);
        Some(Ear {
            probe: hears.then_some(probe),
        })
    }
}

/// Bytes of an answer that are listened to at once, where there are so many pages. An entry takes
/// 23 bytes at least (`<url><loc>/</loc></url>`), and a look at each page of its host, which are
/// four instructions: together not more than 100,000.
fn breath(pages: usize) -> usize {
    const SHORTEST_ENTRY: usize = 23;
    const INSTRUCTIONS: usize = 100_000 / 4;
    let entries = INSTRUCTIONS / pages.max(1);
    entries.max(1).saturating_mul(SHORTEST_ENTRY)
}

/// Listens to one answer; when it is dropped, somebody else can.
pub(super) struct Ear<'p, 'a, B> {
    /// `None` if it hears nothing: one word a slot.
    probe: Option<&'p Probe<'a, B>>,
}

impl<B> Drop for Ear<'_, '_, B> {
    fn drop(&mut self) {
        if let Some(probe) = self.probe {
            probe.state().tellers.document = Document::None;
        }
    }
}

impl<B: Board> Ear<'_, '_, B> {
    /// How many bytes it can hear before everybody else has to have a turn.
    pub(super) fn breath(&self) -> usize {
        self.probe
            .map_or(usize::MAX, |probe| breath(probe.state().known.pages.len()))
    }

    /// The first of these bytes have been read, all but so many.
    pub(super) fn hear(&mut self, head: &Head, bytes: &[u8], left: usize) {
        let read = bytes.get(..bytes.len().saturating_sub(left));
        let bytes = read.unwrap_or_default();
        if let Some(probe) = self.probe
            && (200..300).contains(&head.status)
            && !bytes.is_empty()
        {
            Self::take(probe, head.date, bytes);
        }
    }

    #[inline(never)] // Out of the futures' code, which would be larger.
    fn take(probe: &Probe<'_, B>, date: Option<HttpDate>, mut bytes: &[u8]) {
        let now = probe.board.now();
        let setup = &probe.setup;
        let mut refused = None;
        let mut guard = probe.state();
        let state = &mut *guard;
        let unix = date.map(HttpDate::as_unix).or(state.clock.certain(now));
        let Tellers { document, heard } = &mut state.tellers;
        match document {
            Document::None => {}
            Document::Robots(_, line) => line.take(bytes),
            Document::Feed(teller, reader) => {
                let teller = *teller;
                while let Some(next) = reader.next(&mut bytes) {
                    let entry = match next {
                        Ok(entry) => entry,
                        Err(why) => {
                            // After it, nothing comes any more.
                            refused = Some(Event::Untold { page: teller, why });
                            break;
                        }
                    };
                    let word = Word {
                        teller,
                        entry: &entry,
                        unix,
                        now,
                    };
                    if entry.is_sitemap {
                        heard.choose_part(setup, &mut state.known, &word);
                    } else if heard.tell(setup, &state.known, &mut state.scheduler, &word) {
                        state.slots.wake_all();
                    }
                }
            }
        }
        drop(guard);
        if let Some(refused) = refused {
            probe.board.log(&refused);
        }
    }

    /// The answer has come to its end.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(super) fn finish(&mut self, answer: &VisitAnswer) {
        let Some(probe) = self.probe else {
            return;
        };
        // A last line may lack its end.
        self.hear(&answer.head, b"\n", 0);
        let now = probe.board.now();
        let setup = &probe.setup;
        let told = {
            let state = &mut *probe.state();
            let Tellers { document, heard } = &state.tellers;
            match document {
                Document::Robots(teller, line) => {
                    let way = line
                        .url()
                        .and_then(|url| way_to(setup, Subject::Page(*teller), url, now));
                    if let Some(way) = way {
                        state.known.redirects.settle(&way);
                    }
                    None
                }
                // An index has not told anything yet.
                Document::Feed(teller, _)
                    if answer.head.status == 200
                        && !matches!(heard.choice, PartChoice::Made { .. }) =>
                {
                    Some(heard.told(&state.scheduler, *teller))
                }
                _ => None,
            }
        };
        if let Some(told) = told {
            probe.board.log(&told);
        }
    }
}

impl Knowledge<'_> {
    /// Makes sure that the pages of a host are known by hashes of their URLs, as they are where
    /// there is a store. Work: the pages of the host; a hash each, the first time.
    fn identify(&mut self, setup: &Setup<'_>, host: u16) {
        for index in setup.every_page_of(host) {
            if let Some(page) = self.pages.get_mut(index).filter(|page| page.id == 0) {
                page.id = setup.page_identity(index) as u32;
            }
        }
    }

    /// The page that a teller names: one of its own host, by the URL that the list has.
    fn named(&self, setup: &Setup<'_>, teller: u16, url: &[u8]) -> Option<usize> {
        let teller = setup.page(teller.into()).ok()?;
        let url = absolute(teller.url, url)?;
        let id = identity(&setup.config.key, &url) as u32;
        setup.every_page_of(teller.host).find(|index| {
            let known = self.pages.get(*index);
            known.is_some_and(|page| page.id == id) && setup.is_url_of(*index, &url)
        })
    }
}

/// What a teller says about a page.
struct Word<'w> {
    teller: u16,
    entry: &'w FeedEntry<'w>,
    /// The time that the teller calls the present.
    unix: Option<u64>,
    now: Instant,
}

impl Heard {
    /// Heeds what a teller says about a page; true if it was news.
    fn tell(
        &mut self,
        setup: &Setup<'_>,
        known: &Knowledge<'_>,
        scheduler: &mut SchedulerView<'_>,
        word: &Word<'_>,
    ) -> bool {
        let Word {
            teller, entry, now, ..
        } = *word;
        let Some((modified, unix)) = entry.modified.map(HttpDate::as_unix).zip(word.unix) else {
            return false;
        };
        self.entries = self.entries.saturating_add(1);
        // Dates of tomorrow are made up.
        let Some(ago) = ago(modified, unix) else {
            return false;
        };
        let page = known.named(setup, teller, entry.url);
        let id = page.and_then(|page| scheduler.page_id(page));
        // What has been said once is not said louder by repeating it.
        let Some(id) = id.filter(|id| !scheduler.is_told(*id)) else {
            return false;
        };
        if scheduler.last_fetch(id).is_none() {
            return false;
        }
        // The page is there.
        let _ = scheduler.hint(id, Hint::Changed(now - ago), now);
        let is_news = scheduler.is_told(id);
        if is_news {
            self.news = self.news.saturating_add(1);
            let seconds = ago.as_secs().min(u32::MAX.into()) as u32;
            self.delays = self.delays.saturating_add(seconds);
        }
        is_news
    }

    /// What came of reading a teller.
    fn told(&self, scheduler: &SchedulerView<'_>, teller: u16) -> Event {
        let page = scheduler.page_id(teller.into());
        let worth = page.and_then(|page| scheduler.provider_of(page));
        Event::Told {
            page: teller,
            entries: self.entries,
            news: self.news,
            seconds: self.delays / u32::from(self.news).max(1),
            precision: worth.map_or(0.0, |worth| worth.precision()),
            recall: worth.map_or(0.0, |worth| worth.recall()),
            saves: page.map_or(0.0, |page| scheduler.saved_by_hints(page)),
        }
    }
}

/// Plans when a teller is asked again, or heeds how long a page is said to be good for.
#[inline(never)] // Once, and out of a function that is long enough.
pub(super) fn heed(
    scheduler: &mut SchedulerView<'_>,
    known: &mut Knowledge<'_>,
    setup: &Setup<'_>,
    turn: &Turn,
    conclusion: &Conclusion,
    now: Instant,
) {
    let page = turn.page.index() as u16;
    // It may have been looked for in vain where it would be as a rule, and be left alone for that.
    let placed = known.redirects.placed.take().map(usize::from);
    if let Some(teller) = placed.and_then(|teller| scheduler.page_id(teller)) {
        let _ = scheduler.pace_teller(teller, now);
    }
    if !conclusion.outcome.is_answer() {
        return;
    }
    if setup.is_teller(page) {
        // It is there, and nobody fetches it now.
        let _ = scheduler.pace_teller(turn.page, now);
        return;
    }
    if let Some(left) = conclusion.counted.and_then(|counted| counted.good_for)
        && let Some(host) = setup.host_of_page(page.into())
        && setup.teller_of(host).is_none()
    {
        let _ = scheduler.hint(turn.page, Hint::Expected(now + left), now);
    }
}

/// The teller of a host that the list leaves to the host to name.
fn sought(setup: &Setup<'_>, host: u16) -> Option<u16> {
    let teller = setup.teller_of(host)?;
    (teller.source == TellerSource::Auto).then_some(teller.page)
}

/// How long ago a page changed, by a date that is so many seconds after 1970 when it is `unix`. A
/// date without a time of day means some time of that day; one with seconds, some time of that
/// second.
fn ago(modified: u64, unix: u64) -> Option<Duration> {
    const DAY: u32 = 86_400;
    /// Clocks of the machines behind one name differ.
    const SLACK: u32 = 60;
    // Until 2106.
    let [modified, unix] = [modified, unix].map(|time| time.min(u32::MAX.into()) as u32);
    if modified > unix.saturating_add(SLACK) {
        return None;
    }
    let is_day = modified.is_multiple_of(DAY);
    let after = unix.saturating_sub(modified);
    let millis = match is_day {
        true => u64::from(after.saturating_sub(DAY - 1)) * 1_000,
        false => (u64::from(after) * 1_000).saturating_sub(500),
    };
    Some(Duration::from_millis(millis))
}

/// A reference from the page at `base`, as a whole URL.
#[inline(never)] // Once for all callers.
fn absolute(base: &str, reference: &[u8]) -> Option<RedirectTarget> {
    let base = Url::parse(base).ok()?;
    let mut text = [0; LONGEST_TARGET];
    spell(&base.join(reference, &mut text).ok()?)
}

/// The way to where a teller is by the word of its host, as if it had moved there for good; or to a
/// sitemap of the index that it is, as if it had sent us there for once. `None` if that is the
/// teller's own URL, or if the sitemap is on another host.
#[inline(never)] // Once for all callers.
fn way_to(setup: &Setup<'_>, subject: Subject, url: &[u8], now: Instant) -> Option<Redirect> {
    let (Subject::Page(teller) | Subject::Part(teller)) = subject else {
        return None;
    };
    let is_part = matches!(subject, Subject::Part(_));
    let page = setup.page(teller.into()).ok()?;
    let url = absolute(page.url, url)?;
    let target = Url::parse(&url).ok()?;
    if is_part {
        let origin = setup.origin_of(&target, &page);
        if !matches!(origin, Origin::Listed(host, _) if host == page.host) {
            return None;
        }
    }
    let status = if is_part { 302 } else { 301 };
    let mut hops = Hops::from(&Url::parse(page.url).ok()?);
    hops.follow(status, &target, setup.reaches_https).ok()?;
    Some(Redirect::new(subject, hops, is_part, url, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breath_is_100_000_instructions_at_most() {
        assert_eq!(breath(1_024), 24 * 23);
        for pages in 0..=25_000 {
            assert!(breath(pages) / 23 * pages * 4 <= 100_000, "{pages}");
        }
        assert_eq!(breath(65_535), 23, "it gets ahead with any list");
    }

    #[test]
    fn dates_mean_what_people_mean_by_them() {
        const NOON: u64 = 86_400 * 20_000 + 43_200;
        let seconds = |modified| ago(modified, NOON).map(|ago| ago.as_millis());
        assert_eq!(seconds(NOON - 10), Some(9_500));
        assert_eq!(seconds(NOON), Some(0));
        assert_eq!(seconds(NOON + 30), Some(0), "clocks differ");
        assert_eq!(seconds(NOON + 3_600), None, "made up");
        assert_eq!(seconds(86_400 * 20_000), Some(0), "some time today");
        assert_eq!(seconds(86_400 * 19_999), Some(43_201_000), "yesterday");
    }
}
