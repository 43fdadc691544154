//! What the links of a page come to, as they are met.

use super::trials::Unwilling;
use crate::discover::{
    Directives, Frontier, Link, LinkKind, LinkSet, LinkSink, LinkSource, TextPlace,
};
#[cfg(feature = "hints")]
use crate::probe::redirects::spell;
use crate::probe::{Board, Probe};
use crate::rank::{FoundWords, WordReader};

/// Room for a base and a link.
pub(super) const RESOLVED: usize = 512;

/// What the links of a page come to.
#[derive(Debug, Default)]
pub(super) struct PageLinks {
    /// Digests of what it links to, each once.
    pub links: LinkSet,
    /// Bits of those that lead to the page's own part of its host.
    pub near: u128,
    pub directives: Directives,
    /// Words of the topic that it holds.
    pub about: FoundWords,
    words: WordReader,
    /// It names another URL as its own.
    pub has_another_canonical: bool,
}

impl PageLinks {
    /// Once the page was read to its end, its cash goes to what it links to.
    pub(super) fn spend(&self, frontier: &mut Frontier<'_>, page: u16) {
        let links = match self.directives.nofollow {
            true => &[][..],
            false => self.links.as_slice(),
        };
        frontier.visited_at(page, links, self.near);
    }

    /// The page says whether it wants to be kept.
    pub(super) fn note_wish(&self, unwilling: &mut Unwilling, page: u16) {
        let is_unwilling = self.directives.noindex || self.has_another_canonical;
        unwilling.set(page, is_unwilling);
    }
}

/// Meets the links of a page.
pub(super) struct Sink<'s, 'p, 'a, 'v, B> {
    pub probe: &'p Probe<'a, B>,
    pub host: u16,
    /// The page, and its server.
    pub base: &'s LinkSource<'v>,
    pub found: &'s mut PageLinks,
    /// For the URL of the link at hand: emptied once for all links of a piece.
    pub room: [u8; RESOLVED],
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
        let page = self.base.url();
        let Ok(url) = link.resolve(page, &mut self.room) else {
            return;
        };
        let other = self.base.digest_of(&url, &self.probe.setup.config.key);
        if self.base.digest() == other {
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
        if found.links.has(other) {
            return;
        }
        let met = self.probe.discover(|discovery, pages| {
            let from = (page, self.host);
            let urls = &mut discovery.urls;
            urls.meet(pages, &self.probe.board, other, (&url, about), from)
        });
        if met == Some(true) {
            if self.base.is_near(&url) {
                found.near |= 1 << found.links.as_slice().len();
            }
            found.links.push(other);
        }
    }

    fn directives(&mut self, directives: Directives) {
        self.found.directives = self.found.directives.and(directives);
    }

    fn wants_text(&self) -> bool {
        !self.probe.setup.found.ranking.topic.is_empty()
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
        let url = link.resolve(self.base.url(), &mut text).ok();
        if let Some(feed) = url.and_then(|url| spell(&url)) {
            let now = self.probe.board.now();
            let mut state = self.probe.state();
            state
                .known
                .hear_of_feed(&self.probe.setup, self.host, &feed, now);
        }
    }
}
