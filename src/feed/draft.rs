//! The page at hand: what a document has said of it so far.

use crate::fetch::HttpDate;
use crate::fetch::ascii::trimmed;
use crate::xml::Piece;
use crate::xml::buffer::Buffer;

/// Longest URL that is kept; pages with longer ones are left out.
pub const LONGEST_URL: usize = 256;
/// Text passes through a window of so many bytes, from which URLs are put together. A date is in
/// its first 50.
pub(super) const WINDOW: usize = 64;

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

/// What a text says about the entry that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Where the page is.
    Url,
    /// The same, if nothing behind it says otherwise.
    Link,
    /// What the page is called, which is its URL in many feeds.
    Name,
    /// One of its dates: the latest counts.
    Date,
}

/// An entry that is being read.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    url: Buffer<LONGEST_URL>,
    /// The URL is the one that is meant to be the page's: nothing replaces it.
    settled: bool,
    /// The text at hand is the URL.
    is_url: bool,
    modified: Option<HttpDate>,
}

impl Draft {
    pub(super) const fn new() -> Self {
        Self {
            url: Buffer::new(),
            settled: false,
            is_url: false,
            modified: None,
        }
    }

    /// Forgets the entry, for another one begins.
    pub(super) fn clear(&mut self) {
        self.url.clear();
        self.settled = false;
        self.modified = None;
    }

    /// Adds bytes to the URL.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.url.extend(bytes);
    }

    /// Takes a piece of what a field says. A URL that is settled stays; another one gives way.
    pub(super) fn fill(&mut self, field: Field, piece: Piece<'_>) {
        if field == Field::Date {
            // Who only looks for pages needs no dates: they would take 3 kB of flash. A date that is
            // longer than the window may have been cut within a number.
            if cfg!(feature = "hints") && piece.is_first && piece.is_last {
                self.modified = self.modified.max(HttpDate::parse_any(piece.bytes));
            }
            return;
        }
        if piece.is_first {
            let may_be_url = field != Field::Name || trimmed(piece.bytes).starts_with(b"http");
            self.is_url = may_be_url && !self.settled;
            if self.is_url {
                self.url.clear();
            }
        }
        if self.is_url {
            self.url.extend(piece.bytes);
        }
        if field == Field::Url && piece.is_last {
            self.settle();
        }
    }

    /// The URL was not the page's, if it is not settled.
    pub(super) fn drop_url(&mut self) {
        if !self.settled {
            self.url.clear();
        }
    }

    /// What there is of a URL is the page's.
    pub(super) fn settle(&mut self) {
        self.settled |= !trimmed(self.url.beginning()).is_empty();
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
