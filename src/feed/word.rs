//! The names in documents that mean something to us.

use crate::fetch::ascii::place_in;

macro_rules! words {
    ($($word:ident $text:literal,)+) => {
        /// A name that means something to us.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word {
            $(#[doc = concat!("`", $text, "`")] $word,)+
            /// Any other name.
            Other,
        }

        /// All of them, and in the same order their texts: one text takes a third of what a
        /// comparison with each of them would.
        const WORDS: &[Word] = &[$(Word::$word,)+];
        const TEXTS: &[u8] = concat!($($text, " ",)+).as_bytes();
    };
}

words! {
    UrlSet "urlset",
    SitemapIndex "sitemapindex",
    Rss "rss",
    Rdf "RDF",
    Feed "feed",
    Url "url",
    Sitemap "sitemap",
    Loc "loc",
    LastMod "lastmod",
    Item "item",
    Link "link",
    Guid "guid",
    IsPermaLink "isPermaLink",
    False "false",
    PubDate "pubDate",
    Date "date",
    Entry "entry",
    Href "href",
    Rel "rel",
    Alternate "alternate",
    Updated "updated",
    Published "published",
    Modified "modified",
    Issued "issued",
    Source "source",
    Items "items",
    Id "id",
    DateModified "date_modified",
    DatePublished "date_published",
}

impl Word {
    /// Which one it is. Work: the length of all of them.
    #[inline(never)] // Once for all callers.
    pub(super) fn of(name: &[u8]) -> Self {
        let place = place_in(TEXTS, name, |text, name| text == name);
        let word = place.and_then(|place| WORDS.get(place));
        word.copied().unwrap_or(Self::Other)
    }
}
