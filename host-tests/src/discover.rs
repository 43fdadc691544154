//! What is found in pages and sitemaps, as values that tests can compare; and what must hold for
//! any bytes.

use dunlin::discover::{Directives, Link, LinkKind, LinkReader, LinkSink, TextPlace};
use dunlin::feed::FeedReader;
use dunlin::xml::{Piece, Reader, Token};

/// A link, in strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink {
    /// How it is linked.
    pub kind: LinkKind,
    /// The reference as it was written, tidied.
    pub href: Vec<u8>,
    /// The base that the page names.
    pub base: Option<Vec<u8>>,
    /// The text of the anchor.
    pub anchor: Vec<u8>,
    /// Not to be followed.
    pub nofollow: bool,
}

/// All that a page holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundInPage {
    /// In the page's order.
    pub links: Vec<FoundLink>,
    /// All of them together.
    pub directives: Directives,
    /// The title of the page.
    pub title: Vec<u8>,
    /// The text of the page.
    pub body: Vec<u8>,
}

impl LinkSink for FoundInPage {
    fn link(&mut self, link: &Link<'_>) {
        self.links.push(FoundLink {
            kind: link.kind,
            href: link.href.to_vec(),
            base: link.base.map(<[u8]>::to_vec),
            anchor: link.anchor.to_vec(),
            nofollow: link.nofollow,
        });
    }

    fn directives(&mut self, directives: Directives) {
        self.directives = self.directives.and(directives);
    }

    fn text(&mut self, place: TextPlace, text: &[u8]) {
        match place {
            TextPlace::Title => self.title.extend(text),
            TextPlace::Body => self.body.extend(text),
        }
    }
}

/// What a page holds, given in pieces.
pub fn read_page<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> FoundInPage {
    let mut found = FoundInPage::default();
    let mut reader = LinkReader::new("dunlin");
    for piece in pieces {
        reader.update(piece, &mut found);
    }
    reader.finish(&mut found);
    found
}

/// An entry: the URL, seconds since 1970, whether it is a sitemap.
pub type FoundEntry = (Vec<u8>, Option<u64>, bool);

/// What a sitemap lists, given in pieces; and why it was refused, if it was.
pub fn read_sitemap<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<FoundEntry>, Option<String>) {
    let mut found = Vec::new();
    let mut refused = None;
    let mut reader = FeedReader::new();
    for mut piece in pieces {
        while let Some(entry) = reader.next(&mut piece) {
            match entry {
                Ok(entry) => found.push((
                    entry.url.to_vec(),
                    entry.modified.map(|date| date.as_unix()),
                    entry.is_sitemap,
                )),
                Err(error) => assert!(refused.replace(error.to_string()).is_none()),
            }
        }
    }
    if let Some(last) = reader.finish() {
        found.push((last.url.to_vec(), None, last.is_sitemap));
    }
    (found, refused)
}

/// The events of a document, given in pieces.
pub fn read_xml<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<String> {
    read_xml_through::<256>(pieces)
}

/// The same through a window of `TEXT` bytes, with texts put together.
fn read_xml_through<'p, const TEXT: usize>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut found = Vec::new();
    let mut reader: Reader<TEXT> = Reader::new();
    let mut begun: Option<Vec<u8>> = None;
    let mut join = |piece: Piece<'_>| {
        assert_eq!(piece.is_first, begun.is_none(), "a text begins once");
        let mut whole = begun.take().unwrap_or_default();
        whole.extend_from_slice(piece.bytes);
        if !piece.is_last {
            begun = Some(whole);
            return None;
        }
        Some(whole)
    };
    for mut piece in pieces {
        while let Some(event) = reader.next(&mut piece) {
            found.extend(match event {
                Token::Start(name) => Some(format!("<{}>", text(name))),
                Token::End(name) => Some(format!("</{}>", text(name))),
                Token::Attribute { name, value } => {
                    join(value).map(|value| format!("{}={}", text(name), text(&value)))
                }
                Token::Text(piece) => join(piece).map(|whole| text(whole.trim_ascii())),
            });
        }
    }
    found
}

/// A page: the same links however it is split, none longer than there is room for.
pub fn links(data: &[u8]) {
    let whole = read_page([data]);
    assert_eq!(whole, read_page(data.chunks(1)));
    assert_eq!(whole, read_page(crate::fuzz::pieces(data)));
    for link in &whole.links {
        assert!(link.href.len() <= dunlin::discover::LONGEST_LINK);
        assert!(link.anchor.len() <= dunlin::discover::ANCHOR);
        // A reference may be longer than what it stands for, but never shorter: &lt is 3, < is 1.
        assert!(link.href.len() <= 3 * data.len());
        let page = dunlin::fetch::Url::parse("http://a.test/b/c?d").expect("a URL");
        let link = Link {
            kind: link.kind,
            href: &link.href,
            base: link.base.as_deref(),
            anchor: &link.anchor,
            nofollow: link.nofollow,
        };
        let mut room = [0; 2_048];
        if let Ok(url) = link.resolve(&page, &mut room) {
            let text = url.to_string();
            assert!(dunlin::fetch::Url::parse(&text).is_ok(), "{text}");
        }
    }
    assert!(whole.body.len() + whole.title.len() <= data.len());
}

/// A sitemap, and any XML: the same however it is split, and never more than was sent.
pub fn sitemap(data: &[u8]) {
    let whole = read_sitemap([data]);
    assert_eq!(whole, read_sitemap(data.chunks(1)));
    assert_eq!(whole, read_sitemap(crate::fuzz::pieces(data)));
    let listed: usize = whole.0.iter().map(|(loc, ..)| loc.len()).sum();
    assert!(listed <= data.len());
    let events = read_xml([data]);
    assert_eq!(events, read_xml(data.chunks(1)));
    assert_eq!(events, read_xml_through::<32>([data]));
    assert_eq!(events, read_xml_through::<32>(data.chunks(1)));
    assert!(events.len() <= 2 * data.len() + 1);
}
