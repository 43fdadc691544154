//! `Link` headers (RFC 8288): where a page says that the feed of its site is.

use core::ops::Range;

use super::ascii::{same, trimmed};

/// The media types of feeds. Other alternate forms of a page, as its translations, list no pages.
const FEEDS: [&[u8]; 3] = [
    b"application/atom+xml",
    b"application/rss+xml",
    b"application/feed+json",
];

/// Is this the media type of a feed?
pub(crate) fn is_feed_type(kind: &[u8]) -> bool {
    FEEDS.iter().any(|feed| same(kind, feed))
}

/// Where the value of a `Link` field has the URL of a feed: that of its first link with the
/// relation `alternate` and a feed's media type. Work: the length of the value.
pub(super) fn feed(value: &[u8]) -> Option<Range<usize>> {
    let mut rest = value;
    while !rest.is_empty() {
        let start = value.len() - rest.len();
        let link = piece(&mut rest, b',');
        let place = |bracket| link.iter().position(|byte| *byte == bracket);
        if let Some((open, close)) = place(b'<').zip(place(b'>'))
            && open + 1 < close
            && is_feed(link)
        {
            return Some(start + open + 1..start + close);
        }
    }
    None
}

/// Do the parameters of a link say that it leads to a feed?
fn is_feed(mut link: &[u8]) -> bool {
    let mut alternate = false;
    let mut feed = false;
    while !link.is_empty() {
        let mut value = piece(&mut link, b';');
        let name = trimmed(piece(&mut value, b'='));
        // Escapes in it are left: no value that we know has any.
        let value = trimmed(value);
        let inner = value.strip_prefix(b"\"");
        let inner = inner.and_then(|inner| inner.strip_suffix(b"\""));
        let mut value = inner.unwrap_or(value);
        if same(name, b"type") {
            feed |= is_feed_type(trimmed(value));
        } else if same(name, b"rel") {
            while !value.is_empty() {
                alternate |= same(piece(&mut value, b' '), b"alternate");
            }
        }
    }
    alternate && feed
}

/// Takes what stands before the first `separator` that is neither in a quoted string nor in a URL,
/// and the separator.
#[inline(never)] // Once for all callers.
fn piece<'v>(text: &mut &'v [u8], separator: u8) -> &'v [u8] {
    let mut inside = 0;
    let mut escaped = false;
    let ends = |byte: &u8| {
        let is_end = *byte == separator && inside == 0;
        match (inside, *byte) {
            (0, b'"') => inside = b'"',
            (0, b'<') => inside = b'>',
            (end, byte) if end == byte && !escaped => inside = 0,
            _ => {}
        }
        escaped = inside == b'"' && *byte == b'\\' && !escaped;
        is_end
    };
    let end = text.iter().position(ends).unwrap_or(text.len());
    let piece = text.get(..end).unwrap_or_default();
    *text = text.get(end + 1..).unwrap_or_default();
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str) -> Option<&str> {
        feed(value.as_bytes()).map(|place| &value[place])
    }

    #[test]
    fn feeds_are_found_among_other_links() {
        let cases = [
            (
                "</f.xml>; rel=alternate; type=application/rss+xml",
                Some("/f.xml"),
            ),
            (
                "<f>;REL=\"Alternate\" ; Type=\"application/atom+xml\"",
                Some("f"),
            ),
            (
                "<http://a.test/?a,b;c>; rel=\"home alternate\"; title=\"a, \\\" <x>; b\"; \
                 type=\"application/feed+json\"",
                Some("http://a.test/?a,b;c"),
            ),
            (
                "<http://a.test/wp-json/>; rel=\"https://api.w.org/\", \
                 <http://a.test/1>; rel=\"alternate\"; type=\"application/json\", \
                 </feed>; rel=\"alternate\"; type=\"application/rss+xml\"",
                Some("/feed"),
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(found(value), expected, "{value}");
        }
        for value in [
            "",
            "<",
            "<>",
            "<>; rel=alternate; type=application/rss+xml",
            "</de>; rel=alternate; hreflang=de",
            "</s.css>; rel=stylesheet; type=application/rss+xml",
            "</f>; rel=alternate, <g>; type=application/rss+xml",
            "</f>; title=\"; rel=alternate; type=application/rss+xml\"",
            "</f; rel=alternate; type=application/rss+xml",
            "</f>; rel; type; ;=;",
        ] {
            assert_eq!(found(value), None, "{value}");
        }
    }
}
