//! What a body leads to, as it streams by: links of a page, pages of a sitemap, sitemaps of a
//! robots.txt.

use super::page_links::{PageLinks, RESOLVED, Sink};
use super::robots_lines::RobotsLines;
use super::{Discovery, FoundEvent, Kind, ProbeParts};
use crate::discover::{LinkReader, LinkSink as _, LinkSource};
use crate::feed::{FeedEntry, FeedError, FeedReader};
use crate::fetch::{Head, Url};
use crate::probe::redirects::spell;
use crate::probe::visit::PageVisit;
use crate::probe::{Board, Probe};
use crate::store::LONGEST_TEXT;

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

/// Reads what comes for a visit, beside the fingerprint or the robots rules.
pub(in crate::probe) struct Reading<'p, 'a, 'v, B> {
    probe: &'p Probe<'a, B>,
    page: u16,
    host: u16,
    base: Option<LinkSource<'v>>,
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
        let key = &probe.setup.config.key;
        let base = Url::parse(visit.url()).ok();
        let base = base.map(|base| LinkSource::new(&base, key));
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
            base,
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
        let Some(base) = self.base.as_ref().filter(|_| is_good) else {
            return;
        };
        if head.encoded {
            if matches!(self.reader, Reader::Sitemap(_)) {
                self.leave_unread(FeedError::Gzip);
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
                    room: [0; RESOLVED],
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
                                let from = (base, host);
                                listed_in_sitemap(discovery, pages, &probe.board, from, &entry);
                            });
                        }
                        Err(why) => return self.leave_unread(why),
                    }
                }
            }
            Reader::Robots(lines) => lines.take(bytes, &mut |sitemap| {
                probe.discover(|discovery, pages| {
                    discovery
                        .sitemaps
                        .name_in_robots(pages.setup, base.url(), sitemap);
                });
            }),
        }
    }

    /// A sitemap cannot be read. What a teller lacks, whoever listens to it says.
    fn leave_unread(&mut self, why: FeedError) {
        self.reader = Reader::None;
        let is_sitemap = self.probe.setup.found.kind(self.page.into()) == Kind::Sitemap;
        if !is_sitemap {
            let page = self.page;
            self.probe
                .discover(|discovery, _| discovery.urls.frontier.visited(page, &[]));
        } else if let Some(base) = &self.base
            && let Some(url) = spell(base.url())
        {
            self.probe
                .board
                .found(&FoundEvent::Unread { why, url: &url });
        }
    }

    /// The answer was good, and has ended: the page's cash goes to its links.
    #[inline(never)] // Out of the futures' code, which would be larger.
    pub(in crate::probe) fn finish(&mut self, is_version: bool) {
        let Some(base) = &self.base else {
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
                    room: [0; RESOLVED],
                };
                reader.finish(&mut sink);
                sink.text_ends();
                if is_version {
                    let all = &probe.setup.found;
                    if let Some(page) = all.pages.get(usize::from(self.page)) {
                        let about = found.about.and(all.words_of(base.url()));
                        page.set_worth(all.worth_of(base.url(), about));
                    }
                    probe.discover(|discovery, _| {
                        found.spend(&mut discovery.urls.frontier, self.page);
                        found.note_wish(&mut discovery.scouts.unwilling, self.page);
                    });
                } else {
                    // Its links are not known this time, what it wants is.
                    probe.discover(|discovery, _| {
                        found.note_wish(&mut discovery.scouts.unwilling, self.page);
                    });
                }
            }
            Reader::Sitemap(reader) => {
                if let Some(entry) = reader.finish() {
                    probe.discover(|discovery, pages| {
                        listed_in_sitemap(discovery, pages, &probe.board, (base, host), &entry);
                    });
                }
                let page = self.page;
                probe.discover(
                    |discovery, pages| match pages.setup.found.kind(page.into()) {
                        Kind::Sitemap if is_version => discovery.sitemaps.end(pages.setup),
                        Kind::Sitemap => {}
                        // What links to a teller have brought it does not stay there: it links to
                        // nobody.
                        _ => discovery.urls.frontier.visited(page, &[]),
                    },
                );
            }
            Reader::Robots(lines) => {
                let mut named = |sitemap: &[u8]| {
                    probe.discover(|discovery, pages| {
                        discovery
                            .sitemaps
                            .name_in_robots(pages.setup, base.url(), sitemap);
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

/// A sitemap lists a page of its own host, or another sitemap.
fn listed_in_sitemap(
    discovery: &mut Discovery<'_>,
    pages: &mut ProbeParts<'_, '_>,
    board: &impl Board,
    (source, host): (&LinkSource<'_>, u16),
    entry: &FeedEntry<'_>,
) {
    let sitemap = source.url();
    let mut text = [0; LONGEST_TEXT];
    let Ok(url) = sitemap.join(entry.url, &mut text) else {
        return;
    };
    // What it says of others is not believed.
    if !url.same_server(sitemap) {
        return;
    }
    if entry.is_sitemap {
        return discovery.sitemaps.name_part(pages.setup, &url);
    }
    let urls = &mut discovery.urls;
    // The host vouches for it: it counts as seen twice.
    let about = pages.setup.found.words_of(&url);
    let digest = source.digest_of(&url, &pages.setup.config.key);
    if urls.meet(pages, board, digest, (&url, about), (sitemap, host)) {
        let _ = urls.meet(pages, board, digest, (&url, about), (sitemap, host));
    }
}
