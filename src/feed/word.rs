//! The names in documents that mean something to us.

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
        const TEXTS: &[u8] = concat!($($text,)+).as_bytes();
        const RUNS: [(u8, u8); LONGEST + 1] = runs(&[$($text,)+]);
    };
}

// In the order of their lengths, so that a name is only compared with those of its own.
words! {
    Id "id",
    Rss "rss",
    Rdf "RDF",
    Url "url",
    Loc "loc",
    Rel "rel",
    Feed "feed",
    Item "item",
    Link "link",
    Guid "guid",
    Date "date",
    Href "href",
    False "false",
    Entry "entry",
    Items "items",
    UrlSet "urlset",
    Issued "issued",
    Source "source",
    Sitemap "sitemap",
    LastMod "lastmod",
    PubDate "pubDate",
    Updated "updated",
    Modified "modified",
    Alternate "alternate",
    Published "published",
    IsPermaLink "isPermaLink",
    SitemapIndex "sitemapindex",
    DateModified "date_modified",
    DatePublished "date_published",
}

/// Length of the longest of them.
const LONGEST: usize = 14;

/// For each length from 1 on, how many words are shorter, and where behind their texts those of
/// that length begin.
const fn runs(texts: &[&str]) -> [(u8, u8); LONGEST + 1] {
    let mut runs = [(0, 0); LONGEST + 1];
    let (mut word, mut place, mut length) = (0, 0, 1);
    while length <= runs.len() {
        runs[length - 1] = (word as u8, place as u8);
        while word < texts.len() && texts[word].len() == length {
            place += length;
            word += 1;
        }
        length += 1;
    }
    assert!(
        word == texts.len() && place < 256,
        "words are not in the order of their lengths"
    );
    runs
}

impl Word {
    /// Which one it is. Work: the words of its length.
    #[inline(never)] // Once for all callers.
    pub(super) fn of(name: &[u8]) -> Self {
        Self::find(name).unwrap_or(Self::Other)
    }

    fn find(name: &[u8]) -> Option<Self> {
        let (first, start) = *RUNS.get(name.len().checked_sub(1)?)?;
        let (_, end) = RUNS.get(name.len())?;
        let mut rest = TEXTS.get(start.into()..(*end).into())?;
        let mut word = usize::from(first);
        while let Some((text, more)) = rest.split_at_checked(name.len()) {
            // Most differ in their first byte.
            if text.iter().eq(name) {
                return WORDS.get(word).copied();
            }
            rest = more;
            word += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_found_and_no_other() {
        let mut rest = TEXTS;
        for word in WORDS {
            let length = (1..=LONGEST).find(|length| {
                let text = rest.get(..*length);
                text.is_some_and(|text| Word::of(text) == *word)
            });
            let length = length.unwrap_or_else(|| panic!("{word:?} is not found"));
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        for other in ["", "i", "URL", "urlse", "date_published_", "changefreq"] {
            assert_eq!(Word::of(other.as_bytes()), Word::Other, "{other}");
        }
    }
}
