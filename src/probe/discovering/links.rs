//! What a body leads to, as it streams by: links of a page, pages of a sitemap, sitemaps of a
//! robots.txt.

use super::{Discovery, FoundEvent, Kind, ProbeParts};
use crate::discover::{Directives, Link, LinkKind, LinkReader, LinkSink, TextPlace, digest};
use crate::feed::{FeedEntry, FeedError, FeedReader};
use crate::fetch::{Head, Url};
use crate::probe::redirects::spell;
use crate::probe::setup::Setup;
use crate::probe::visit::PageVisit;
use crate::probe::{Board, Probe};
use crate::rank::{FoundWords, WordReader};
use crate::store::LONGEST_TEXT;

/// Links of a page that count; its first ones.
const MOST_LINKS: usize = 128;
/// Room for a base and a link.
const RESOLVED: usize = 512;

/// Who reads a body.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One a slot, and there is no allocator.
enum Reader<'v> {
    /// Nobody reads this answer.
    None,
    Page(LinkReader<'v>, PageLinks),
    /// A sitemap, or a teller, which names pages in the same way.
    Sitemap(FeedReader),
    Robots(RobotsLines),
}

/// What the links of a page come to.
#[derive(Debug, Default)]
pub(super) struct PageLinks {
    /// Digests of what it links to, each once.
    pub links: heapless::Vec<u32, MOST_LINKS>,
    /// Bits of those that lead to the page's own part of its host.
    pub near: u128,
    pub directives: Directives,
    /// Words of the topic that it holds.
    about: FoundWords,
    words: WordReader,
    /// It names another URL as its own.
    pub has_another_canonical: bool,
}

/// Reads what comes for a visit, beside the fingerprint or the robots rules.
pub(in crate::probe) struct Reading<'p, 'a, 'v, B> {
    probe: &'p Probe<'a, B>,
    page: u16,
    host: u16,
    base: Option<Url<'v>>,
    reader: Reader<'v>,
}

impl<'p, 'a, 'v, B: Board> Reading<'p, 'a, 'v, B> {
    /// Reads for a visit; it reads nothing if nothing is looked for.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn new(
        probe: &'p Probe<'a, B>,
        visit: &'v PageVisit<'a>,
        page: u16,
    ) -> Self
    where
        'a: 'v,
    {
        let is_on = probe.state().discovery.is_some();
        let lists_pages = probe.setup.found.kind(page.into()) == Kind::Sitemap
            || is_on && probe.setup.is_teller(page);
        let reader = match (is_on, visit.asks_for_page()) {
            (false, _) => Reader::None,
            (true, false) => Reader::Robots(RobotsLines::default()),
            (true, true) if lists_pages => Reader::Sitemap(FeedReader::new()),
            (true, true) => {
                let reader = LinkReader::new(probe.setup.config.agent);
                Reader::Page(reader, PageLinks::default())
            }
        };
        Self {
            probe,
            page,
            host: visit.host(),
            base: Url::parse(visit.url()).ok(),
            reader,
        }
    }

    /// These bytes were read by somebody else, all but so many of the last.
    pub(in crate::probe) fn overhear(&mut self, head: &Head, bytes: &[u8], left: usize) {
        // What is offered again was not read yet. A fingerprint leaves nothing, and takes nothing.
        let used = match self.reader {
            Reader::Robots(_) => bytes.len().saturating_sub(left),
            _ => bytes.len(),
        };
        self.take(head, bytes.get(..used).unwrap_or_default());
    }

    #[inline(never)] // Out of the futures' code, which would be larger.
    fn take(&mut self, head: &Head, mut bytes: &[u8]) {
        let is_good = (200..300).contains(&head.status);
        if let Reader::Page(_, found) = &mut self.reader
            && (is_good || head.status == 304)
        {
            found.directives = found.directives.and(head.directives);
        }
        let Some(base) = self.base.filter(|_| is_good) else {
            return;
        };
        if head.encoded {
            if matches!(self.reader, Reader::Sitemap(_)) {
                self.leave_unread(&base, FeedError::Gzip);
            }
            return;
        }
        let probe = self.probe;
        let host = self.host;
        let is_sitemap = probe.setup.found.kind(self.page.into()) == Kind::Sitemap;
        match &mut self.reader {
            Reader::None => {}
            Reader::Page(reader, found) => {
                let mut sink = Sink {
                    probe,
                    host,
                    base,
                    found,
                };
                reader.update(bytes, &mut sink);
            }
            Reader::Sitemap(reader) => {
                while let Some(next) = reader.next(&mut bytes) {
                    match next {
                        // A teller has a way of its own to the parts of an index.
                        Ok(entry) if entry.is_sitemap && !is_sitemap => {}
                        Ok(entry) => {
                            probe.discover(|discovery, pages| {
                                let from = (&base, host);
                                discovery.listed_in_sitemap(pages, &probe.board, from, &entry);
                            });
                        }
                        Err(why) => return self.leave_unread(&base, why),
                    }
                }
            }
            Reader::Robots(lines) => lines.take(bytes, &mut |sitemap| {
                probe.discover(|discovery, pages| {
                    discovery.sitemap_named(pages.setup, &base, sitemap);
                });
            }),
        }
    }

    /// A sitemap cannot be read. What a teller lacks, whoever listens to it says.
    fn leave_unread(&mut self, base: &Url<'_>, why: FeedError) {
        self.reader = Reader::None;
        let is_sitemap = self.probe.setup.found.kind(self.page.into()) == Kind::Sitemap;
        if !is_sitemap {
            let page = self.page;
            (self.probe).discover(|discovery, _| discovery.frontier.visited(page, &[]));
        } else if let Some(url) = spell(base) {
            self.probe
                .board
                .found(&FoundEvent::Unread { why, url: &url });
        }
    }

    /// The answer was good, and has ended: the page's cash goes to its links.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn finish(&mut self, is_version: bool) {
        let Some(base) = self.base else {
            return;
        };
        let probe = self.probe;
        let host = self.host;
        match &mut self.reader {
            Reader::None => {}
            Reader::Page(reader, found) => {
                let mut sink = Sink {
                    probe,
                    host,
                    base,
                    found: &mut *found,
                };
                reader.finish(&mut sink);
                sink.text_ends();
                if is_version {
                    let all = &probe.setup.found;
                    if let Some(page) = all.pages.get(usize::from(self.page)) {
                        let about = found.about.and(all.words_of(&base));
                        page.set_worth(all.worth_of(&base, about));
                    }
                    probe.discover(|discovery, _| discovery.spend(self.page, found));
                } else {
                    // Its links are not known this time, what it wants is.
                    probe.discover(|discovery, _| discovery.note_wish(self.page, found));
                }
            }
            Reader::Sitemap(reader) => {
                if let Some(entry) = reader.finish() {
                    probe.discover(|discovery, pages| {
                        discovery.listed_in_sitemap(pages, &probe.board, (&base, host), &entry);
                    });
                }
                let page = self.page;
                probe.discover(
                    |discovery, pages| match pages.setup.found.kind(page.into()) {
                        Kind::Sitemap if is_version => discovery.sitemap_ends(pages.setup),
                        Kind::Sitemap => {}
                        // What links to a teller have brought it does not stay there: it links to
                        // nobody.
                        _ => discovery.frontier.visited(page, &[]),
                    },
                );
            }
            Reader::Robots(lines) => {
                let mut named = |sitemap: &[u8]| {
                    probe.discover(|discovery, pages| {
                        discovery.sitemap_named(pages.setup, &base, sitemap);
                    });
                };
                lines.take(b"\n", &mut named);
                if !lines.has_named {
                    // Where most sites have one.
                    named(b"/sitemap.xml");
                }
            }
        }
    }
}

/// Meets the links of a page.
struct Sink<'s, 'p, 'a, 'v, B> {
    probe: &'p Probe<'a, B>,
    host: u16,
    base: Url<'v>,
    found: &'s mut PageLinks,
}

impl<B: Board> LinkSink for Sink<'_, '_, '_, '_, B> {
    fn link(&mut self, link: &Link<'_>) {
        if link.kind == LinkKind::Feed {
            #[cfg(feature = "hints")]
            self.hear_of_feed(link);
            return;
        }
        let found = &mut *self.found;
        if link.nofollow || found.directives.nofollow || found.links.is_full() {
            return;
        }
        let mut text = [0; RESOLVED];
        let Ok(url) = link.resolve(&self.base, &mut text) else {
            return;
        };
        let own = digest(&self.base, &self.probe.setup.config.key);
        let other = digest(&url, &self.probe.setup.config.key);
        if own == other {
            return;
        }
        if link.kind == LinkKind::Canonical {
            found.has_another_canonical = true;
        }
        let topic = &self.probe.setup.found.ranking.topic;
        let about = match topic.is_empty() {
            true => FoundWords::default(),
            false => topic
                .in_text(link.anchor)
                .and(self.probe.setup.found.words_of(&url)),
        };
        if found.links.contains(&other) {
            return;
        }
        let met = self.probe.discover(|discovery, pages| {
            let from = (&self.base, self.host);
            discovery.meet(pages, &self.probe.board, (&url, about), from)
        });
        if let Some(other) = met.flatten() {
            if is_near(&self.base, &url) {
                self.found.near |= 1 << self.found.links.len();
            }
            // There is room.
            let _ = self.found.links.push(other);
        }
    }

    fn directives(&mut self, directives: Directives) {
        self.found.directives = self.found.directives.and(directives);
    }

    fn text(&mut self, _: TextPlace, text: &[u8]) {
        let topic = &self.probe.setup.found.ranking.topic;
        let found = self.found.words.update(topic, text);
        self.found.about = self.found.about.and(found);
    }

    fn text_ends(&mut self) {
        let topic = &self.probe.setup.found.ranking.topic;
        self.found.about = self.found.about.and(self.found.words.finish(topic));
    }
}

#[cfg(feature = "hints")]
impl<B: Board> Sink<'_, '_, '_, '_, B> {
    /// The page says where the feed of its host is.
    fn hear_of_feed(&self, link: &Link<'_>) {
        let mut text = [0; RESOLVED];
        let url = link.resolve(&self.base, &mut text).ok();
        if let Some(feed) = url.and_then(|url| spell(&url)) {
            let now = self.probe.board.now();
            let mut state = self.probe.state();
            state
                .known
                .hear_of_feed(&self.probe.setup, self.host, &feed, now);
        }
    }
}

/// Are two URLs in the same part of a host, below its front pages? Calendars are, and sessions.
fn is_near(one: &Url<'_>, other: &Url<'_>) -> bool {
    part_of(one) == part_of(other) && part_of(one).is_some() && one.same_server(other)
}

/// The first directory of a URL's path and whether it has a query; `None` at the top of a host.
pub(super) fn part_of<'u>(url: &Url<'u>) -> Option<(&'u str, bool)> {
    let target = url.path_and_query();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let below = path.strip_prefix('/').unwrap_or(path);
    let first = below.split_once('/').map_or("", |(first, _)| first);
    let has_query = !query.is_empty();
    (has_query || !first.is_empty()).then_some((first, has_query))
}

impl Discovery<'_> {
    /// A sitemap lists a page of its own host, or another sitemap.
    fn listed_in_sitemap(
        &mut self,
        pages: &mut ProbeParts<'_, '_>,
        board: &impl Board,
        (sitemap, host): (&Url<'_>, u16),
        entry: &FeedEntry<'_>,
    ) {
        let mut text = [0; LONGEST_TEXT];
        let Ok(url) = sitemap.join(entry.url, &mut text) else {
            return;
        };
        // What it says of others is not believed.
        if !url.same_server(sitemap) {
            return;
        }
        if entry.is_sitemap {
            return self.add_part(pages.setup, &url);
        }
        // The host vouches for it: it counts as seen twice.
        let about = pages.setup.found.words_of(&url);
        let first = self.meet(pages, board, (&url, about), (sitemap, host));
        if first.is_some() {
            let _ = self.meet(pages, board, (&url, about), (sitemap, host));
        }
    }

    /// A robots.txt names a sitemap.
    fn sitemap_named(&mut self, setup: &Setup<'_>, robots: &Url<'_>, url: &[u8]) {
        let mut text = [0; LONGEST_TEXT];
        if let Ok(url) = robots.join(url, &mut text)
            && url.same_server(robots)
        {
            self.add_sitemap(setup, &url);
        }
    }

    /// A page was read to its end: its cash goes to what it links to.
    fn spend(&mut self, page: u16, found: &PageLinks) {
        let links = match found.directives.nofollow {
            true => &[][..],
            false => &found.links,
        };
        self.frontier.visited_at(page, links, found.near);
        self.note_wish(page, found);
    }

    /// A page says whether it wants to be kept.
    fn note_wish(&mut self, page: u16, found: &PageLinks) {
        let unwilling = found.directives.noindex || found.has_another_canonical;
        self.set_unwilling(page, unwilling);
    }
}

/// Finds the lines `Sitemap: URL` of a robots.txt.
#[derive(Debug, Default)]
struct RobotsLines {
    line: heapless::Vec<u8, LONGEST_TEXT>,
    /// The line is too long.
    long: bool,
    has_named: bool,
}

impl RobotsLines {
    fn take(&mut self, bytes: &[u8], named: &mut dyn FnMut(&[u8])) {
        const FIELD: &[u8] = b"sitemap:";
        for byte in bytes {
            if !matches!(byte, b'\r' | b'\n') {
                self.long |= !byte.is_ascii() || self.line.push(*byte).is_err();
                continue;
            }
            if let Some((field, url)) = self.line.split_at_checked(FIELD.len())
                && field.eq_ignore_ascii_case(FIELD)
                && !self.long
            {
                let url = url.trim_ascii();
                let end = url.iter().position(|byte| matches!(byte, b'#' | b' '));
                self.has_named = true;
                named(url.get(..end.unwrap_or(url.len())).unwrap_or_default());
            }
            self.line.clear();
            self.long = false;
        }
    }
}
