//! `Link` headers (RFC 8288): where a page says that the feed of its site is.

use core::ops::Range;

use super::ascii::same;

/// The media types of feeds. Other alternate forms of a page, as its translations, list no pages.
const FEEDS: [&[u8]; 3] = [
    b"application/atom+xml",
    b"application/rss+xml",
    b"application/feed+json",
];

/// Where the value of a `Link` field has the URL of a feed: that of its first link with the
/// relation `alternate` and a feed's media type. Work: the length of the value.
pub(super) fn feed(value: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    loop {
        let start = at + position(value.get(at..)?, b'<')? + 1;
        let end = start + position(value.get(start..)?, b'>')?;
        let rest = value.get(end + 1..)?;
        let (parameters, _) = rest.split_at(before(rest, b','));
        if start < end && is_feed(parameters) {
            return Some(start..end);
        }
        at = end + 1 + parameters.len();
    }
}

/// Do the parameters of a link say that it leads to a feed?
fn is_feed(mut parameters: &[u8]) -> bool {
    let mut alternate = false;
    let mut feed = false;
    while !parameters.is_empty() {
        let (parameter, rest) = parameters.split_at(before(parameters, b';'));
        parameters = rest.get(1..).unwrap_or_default();
        let Some(equals) = position(parameter, b'=') else {
            continue;
        };
        let (name, value) = parameter.split_at(equals);
        let value = unquoted(value.get(1..).unwrap_or_default());
        if same(name.trim_ascii(), b"rel") {
            let mut relations = value.split(u8::is_ascii_whitespace);
            alternate |= relations.any(|relation| same(relation, b"alternate"));
        } else if same(name.trim_ascii(), b"type") {
            feed |= FEEDS.iter().any(|kind| same(value, kind));
        }
    }
    alternate && feed
}

fn position(text: &[u8], wanted: u8) -> Option<usize> {
    text.iter().position(|byte| *byte == wanted)
}

/// Bytes before the first `separator` that stands in no quoted string.
fn before(text: &[u8], separator: u8) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    let ends = |byte: &u8| {
        let is_end = *byte == separator && !quoted;
        quoted ^= *byte == b'"' && !escaped;
        escaped = quoted && *byte == b'\\' && !escaped;
        is_end
    };
    text.iter().position(ends).unwrap_or(text.len())
}

/// A value without the quotes around it. Escapes in it are left: no value that we know has any.
fn unquoted(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    let inner = value.strip_prefix(b"\"");
    inner
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(value)
        .trim_ascii()
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
