//! The page at hand: what a document has said of it so far.

use crate::fetch::HttpDate;
use crate::fetch::ascii::trimmed;
use crate::xml::buffer::Buffer;

/// Longest URL that is kept; pages with longer ones are left out.
pub const LONGEST_URL: usize = 256;

/// A page of a document, or another document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedEntry<'s> {
    /// Its URL as it was written: not checked, and perhaps relative to that of the document.
    pub url: &'s [u8],
    /// When it last changed, by the host's word.
    pub modified: Option<HttpDate>,
    /// It is a sitemap itself.
    pub is_sitemap: bool,
}

/// An entry that is being read.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    url: Buffer<LONGEST_URL>,
    /// The URL is the one that is meant to be the page's: nothing replaces it.
    settled: bool,
    modified: Option<HttpDate>,
}

impl Draft {
    pub(super) const fn new() -> Self {
        Self {
            url: Buffer::new(),
            settled: false,
            modified: None,
        }
    }

    /// Forgets the entry, for another one begins.
    pub(super) fn clear(&mut self) {
        self.url.clear();
        self.settled = false;
        self.modified = None;
    }

    /// Adds a byte to the URL.
    pub(super) fn push(&mut self, byte: u8) {
        self.url.push(byte);
    }

    /// This is the URL, unless there is one that is settled.
    pub(super) fn set_url(&mut self, text: &[u8], cut: bool) {
        if self.settled {
            return;
        }
        self.url.set(text, cut);
    }

    /// The URL was not the page's, if it is not settled.
    pub(super) fn drop_url(&mut self) {
        if !self.settled {
            self.url.clear();
        }
    }

    /// What there is of a URL is the page's.
    pub(super) fn settle(&mut self) {
        self.settled |= !self.url.is_empty();
    }

    /// The name of the page, which is its URL in many feeds.
    pub(super) fn set_name(&mut self, text: &[u8], cut: bool) {
        if text.starts_with(b"http") {
            self.set_url(text, cut);
        }
    }

    /// One of its dates: the latest counts.
    pub(super) fn set_date(&mut self, text: &[u8]) {
        // Who only looks for pages needs no dates: they would take 3 kB of flash.
        if cfg!(feature = "hints") {
            self.modified = self.modified.max(HttpDate::parse_any(text));
        }
    }

    pub(super) fn has_url(&self) -> bool {
        !trimmed(self.url.whole()).is_empty()
    }

    /// Hands out the entry, if there is a URL. What follows it begins anew with [`Self::clear`] or
    /// the next URL.
    pub(super) fn take(&mut self, is_sitemap: bool) -> Option<FeedEntry<'_>> {
        let modified = self.modified.take();
        self.settled = false;
        let url = trimmed(self.url.take_whole());
        (!url.is_empty()).then_some(FeedEntry {
            url,
            modified,
            is_sitemap,
        })
    }
}
