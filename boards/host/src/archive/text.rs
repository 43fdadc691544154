//! The text of a page: what people read of HTML, a line for each block, so that a diff shows
//! sentences and no tags. Tolerant of everything, and of bounded work: each byte is looked at once.

/// Elements whose content nobody reads.
const HIDDEN: [&str; 5] = ["script", "style", "noscript", "template", "svg"];
/// Elements within a line; all others end one.
const INLINE: [&str; 24] = [
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd",
    "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
];
/// Characters that are written by name.
const NAMED: [(&str, &str); 12] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("copy", "©"),
    ("euro", "€"),
    ("middot", "·"),
];

/// The text of a body of this media type: of HTML what people read, of other text itself, `None` of
/// everything else.
pub fn of(body: &[u8], media_type: &str) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    match media_type {
        "text/html" | "application/xhtml+xml" => Some(html(&text)),
        other if other.starts_with("text/") => Some(text.into_owned()),
        other
            if ["json", "xml", "javascript"]
                .iter()
                .any(|end| other.ends_with(end)) =>
        {
            Some(text.into_owned())
        }
        // Servers that do not say what it is mean text or HTML.
        "unk" if !body.contains(&0) => Some(html(&text)),
        _ => None,
    }
}

/// The text of HTML.
pub fn html(source: &str) -> String {
    let mut lines = Lines::default();
    let mut rest = source;
    while let Some(start) = rest.find('<') {
        lines.words(&rest[..start]);
        rest = &rest[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some((name, closing, after)) = tag(rest) else {
            // A lone < is text.
            lines.words("<");
            rest = &rest[1..];
            continue;
        };
        rest = after;
        if !closing && HIDDEN.contains(&name.as_str()) {
            rest = behind(rest, &name);
        }
        if !INLINE.contains(&name.as_str()) {
            lines.end();
        }
    }
    lines.words(rest);
    lines.end();
    lines.text
}

/// A tag's name, whether it closes, and what follows it; `None` if it is none.
fn tag(text: &str) -> Option<(String, bool, &str)> {
    let inner = text.strip_prefix('<')?;
    let (closing, inner) = match inner.strip_prefix('/') {
        Some(inner) => (true, inner),
        None => (false, inner),
    };
    let inner = inner.strip_prefix(['!', '?']).unwrap_or(inner);
    if !inner.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return None;
    }
    let end = inner.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let name = inner[..end.unwrap_or(inner.len())].to_ascii_lowercase();
    // A > within quotes does not end a tag.
    let mut quote = None;
    for (place, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((name, closing, &inner[place + 1..])),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    Some((name, closing, ""))
}

/// What follows the end of a hidden element.
fn behind<'t>(text: &'t str, name: &str) -> &'t str {
    let mut rest = text;
    while let Some(start) = rest.find("</") {
        rest = &rest[start + 2..];
        let same = rest.get(..name.len());
        if same.is_some_and(|same| same.eq_ignore_ascii_case(name)) {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

/// Lines of words with one space between them.
#[derive(Default)]
struct Lines {
    text: String,
    begun: bool,
    space: bool,
}

impl Lines {
    fn words(&mut self, text: &str) {
        let decoded = decode(text);
        for letter in decoded.chars() {
            if letter.is_whitespace() {
                self.space = self.begun;
                continue;
            }
            if std::mem::take(&mut self.space) {
                self.text.push(' ');
            }
            self.begun = true;
            self.text.push(letter);
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.begun) {
            self.text.push('\n');
        }
        self.space = false;
    }
}

/// Text with its character references replaced; those that are none stay as they are.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let known = reference(&rest[1..]);
        match known {
            Some((replaced, length)) => {
                out.push_str(&replaced);
                rest = &rest[1 + length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// What a reference stands for, and how long it is with its semicolon.
fn reference(text: &str) -> Option<(String, usize)> {
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let name = &text[..end];
    let letter = match name.strip_prefix('#') {
        Some(digits) => {
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)?.to_string()
        }
        None => {
            let same = |(known, _): &&(&str, &str)| *known == name;
            NAMED.iter().find(same)?.1.to_owned()
        }
    };
    Some((letter, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_words_and_no_markup() {
        let page = "<!doctype html><html><head><title>News &amp; more</title><style>p{}</style>\n\
            <script>if (a<b) document.write('</p>')</script></head><body class=\"a>b\">\
            <h1>Head\n  line</h1><p>One <b>two</b>,&#32;three&nbsp;&#x2713;<br>four<!-- <p>no -->\
            </p>3 < 4 &unknown; &</body>";
        let lines = "News & more\nHead line\nOne two, three ✓\nfour\n3 < 4 &unknown; &\n";
        assert_eq!(html(page), lines);
    }

    #[test]
    fn anything_is_a_page() {
        for page in [
            "",
            "<",
            "<a",
            "</",
            "<!--",
            "<script>",
            "<a href='",
            "&",
            "&#;",
            "&#x110000;",
            "é<é>",
        ] {
            let _ = html(page);
        }
        let bomb = "<div>".repeat(200_000) + "end";
        assert_eq!(html(&bomb), "end\n");
        let quotes = "<a \"".repeat(100_000);
        assert_eq!(html(&quotes), "");
    }

    #[test]
    fn pictures_have_no_text() {
        assert_eq!(of(b"\x89PNG", "image/png"), None);
        assert_eq!(of(b"<a>", "text/plain").as_deref(), Some("<a>"));
        assert_eq!(of(b"{}", "application/ld+json").as_deref(), Some("{}"));
    }
}
