//! Links of pages, beside html5ever's tokenizer and the `url` crate.

use std::cell::RefCell;

use dunlin::discover::{Directives, Link, LinkKind};
use dunlin::fetch::Url;
use host_tests::discover::{FoundInPage, FoundLink, read_page};
use host_tests::fuzz::{TARGETS, run};
use html5ever::data::NAMED_ENTITIES;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use proptest::prelude::*;

/// Collects what html5ever finds, by rules of its own.
#[derive(Default)]
struct Oracle {
    found: RefCell<FoundInPage>,
    base: RefCell<Option<String>>,
    open: RefCell<Option<FoundLink>>,
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    let found = tag.attrs.iter().find(|found| &*found.name.local == name);
    found.map(|found| found.value.to_string())
}

fn words(tag: &Tag, name: &str) -> Vec<String> {
    let value = attribute(tag, name).unwrap_or_default();
    value
        .split_ascii_whitespace()
        .map(str::to_ascii_lowercase)
        .collect()
}

/// As the URL standard has it: control characters and spaces around it, line ends and tabs anywhere
/// are left out, backslashes before a query are slashes.
fn tidied(href: &str) -> String {
    let kept: String = href
        .trim_matches(|letter: char| letter <= ' ')
        .chars()
        .filter(|letter| !matches!(letter, '\t' | '\n' | '\r'))
        .collect();
    // Once more: what stood behind a tab at the end is at the end now.
    let kept = kept.trim_matches(|letter: char| letter <= ' ');
    let query = kept.find(['?', '#']).unwrap_or(kept.len());
    kept[..query].replace('\\', "/") + &kept[query..]
}

impl Oracle {
    fn close(&self) {
        if let Some(link) = self.open.take() {
            self.keep(link);
        }
    }

    fn keep(&self, link: FoundLink) {
        let base_fits = self
            .base
            .borrow()
            .as_ref()
            .is_none_or(|base| base.len() <= 128);
        if link.href.len() <= 256 && base_fits {
            self.found.borrow_mut().links.push(link);
        }
    }

    fn link(&self, kind: LinkKind, tag: &Tag) -> Option<FoundLink> {
        Some(FoundLink {
            kind,
            href: tidied(&attribute(tag, "href")?).into_bytes(),
            base: self.base.borrow().clone().map(String::into_bytes),
            anchor: Vec::new(),
            nofollow: words(tag, "rel").contains(&"nofollow".into()),
        })
    }

    fn start(&self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if matches!(name, "a" | "area" | "base" | "link") {
            self.close();
        }
        let relations = words(tag, "rel");
        let has = |relation: &str| relations.iter().any(|found| found == relation);
        let kind = match name {
            "area" => Some(LinkKind::Area),
            "link" if has("canonical") => Some(LinkKind::Canonical),
            "link" if has("next") => Some(LinkKind::Next),
            "link" if has("alternate") && !has("stylesheet") => {
                let kind = attribute(tag, "type").unwrap_or_default();
                match &*kind.to_ascii_lowercase() {
                    "" | "text/html" => Some(LinkKind::Alternate),
                    "application/atom+xml" | "application/rss+xml" | "application/feed+json" => {
                        Some(LinkKind::Feed)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(link) = kind.and_then(|kind| self.link(kind, tag)) {
            self.keep(link);
        }
        match name {
            "a" => self
                .open
                .replace(self.link(LinkKind::Anchor, tag))
                .is_some(),
            "base" if self.base.borrow().is_none() => {
                let base = attribute(tag, "href").map(|href| tidied(&href));
                self.base.replace(base).is_some()
            }
            "meta" => {
                let said = attribute(tag, "name").unwrap_or_default();
                let ours = ["robots", "dunlin"].contains(&&*said.to_ascii_lowercase());
                let content = attribute(tag, "content").unwrap_or_default();
                for word in content.split([',', ' ', '\t', '\n', '\r', '\x0c']) {
                    let is = |known: &str| ours && word.eq_ignore_ascii_case(known);
                    let mut found = self.found.borrow_mut();
                    found.directives = found.directives.and(Directives {
                        noindex: is("noindex") || is("none"),
                        nofollow: is("nofollow") || is("none"),
                    });
                }
                false
            }
            _ => false,
        };
        match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }
}

impl TokenSink for Oracle {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return self.start(&tag),
            Token::TagToken(tag) if &*tag.name == "a" => self.close(),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn by_html5ever(text: &str) -> FoundInPage {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(text));
    let tokenizer = Tokenizer::new(Oracle::default(), TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.close();
    tokenizer.sink.found.into_inner()
}

/// References that we leave as they are written: they need 20 kB.
fn holds_unknown_reference(text: &str) -> bool {
    const KNOWN: &str = include_str!("../../../src/discover/reference.rs");
    text.split('&').skip(1).any(|rest| {
        (1..=rest.len().min(32))
            .filter_map(|end| rest.get(..end))
            .filter(|name| NAMED_ENTITIES.get(name).is_some_and(|found| found.0 != 0))
            .any(|name| {
                let name = name.trim_end_matches(';');
                let listed = KNOWN.split(|letter: char| !letter.is_ascii_alphanumeric());
                !listed.into_iter().any(|known| known == name)
            })
    })
}

fn compare(text: &str) {
    if holds_unknown_reference(text) {
        return;
    }
    let mut ours = read_page([text.as_bytes()]);
    let expected = by_html5ever(text);
    for link in &mut ours.links {
        link.anchor.clear();
    }
    assert_eq!(ours.links, expected.links, "{text}");
    assert_eq!(ours.directives, expected.directives, "{text}");
}

/// Any bytes: html5ever takes text, so what is no UTF-8 is replaced first.
fn compare_bytes(data: &[u8]) {
    compare(&String::from_utf8_lossy(data));
}

#[test]
fn mutated_pages_have_the_links_that_html5ever_finds() {
    let (name, _, words) = TARGETS
        .iter()
        .find(|(name, ..)| *name == "links")
        .expect("a target of this name");
    run(name, compare_bytes, words, 2, 20_000);
}

/// A page as sites make them: a head, navigation, an article, scripts, a footer.
fn real_looking(seed: u64) -> String {
    let mut random = dunlin_suite::bench::Random(seed);
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>News &amp; \
         more</title><link rel=\"stylesheet\" href=\"/s.css\"><style>a > b { color: red }</style>\
         <script>if (a < b && c > d) { document.write('<a href=\"no\">'); }</script>",
    );
    if random.below(2) == 0 {
        page += "<meta name=\"robots\" content=\"index, follow\"/>";
    }
    page += "</head>\n<body class=x><!-- <a href=\"/old\">old</a> --><nav><ul>";
    for item in 0..random.below(30) {
        let nofollow = ["", " rel=\"nofollow noopener\"", " target=_blank"];
        page += &format!(
            "<li><a class=\"i{item}\" href=\"/s{}/p{}?a={item}&amp;b=2#c\"{}>Item <b>{item}</b></a>\n",
            random.below(9),
            random.below(99),
            nofollow[random.below(3) as usize],
        );
    }
    page += "</ul></nav><main><img src=a.png alt='a > b'><p>Text with 3 < 4 and &copy; <a href=rel/x>x</a>";
    page += "<map><area shape=rect href='/area'></map><iframe src=/f><a href=/in></a></iframe></main></body>";
    page
}

#[test]
fn real_looking_pages_have_the_links_that_html5ever_finds() {
    for seed in 0..300 {
        let page = real_looking(seed);
        compare(&page);
        let found = read_page([page.as_bytes()]);
        assert!(!found.links.is_empty());
        assert!(found.title.starts_with(b"News"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn generated_markup_has_the_links_that_html5ever_finds(
        parts in prop::collection::vec(prop::sample::select(TARGETS.iter()
            .find(|(name, ..)| *name == "links").map(|(.., words)| *words).unwrap_or(&[])), 0..60)
    ) {
        compare(&parts.concat());
    }

    #[test]
    fn any_split_gives_the_same(seed in 0_u64..1_000, cuts in prop::collection::vec(1_usize..90, 0..80)) {
        let page = real_looking(seed);
        let mut rest = page.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        prop_assert_eq!(read_page(pieces), read_page([page.as_bytes()]));
    }

    /// URLs as browsers make them, but for names of hosts that are not ASCII, and for apostrophes
    /// in queries, which browsers encode and we leave.
    #[test]
    fn links_lead_where_the_url_crate_says(
        base in prop::option::of("(\\.\\./|/)?[a-z]{1,3}/?"),
        href in "(http://b\\.test/|//c\\.test/)?/?([a-zé \"<>`|^{}%~.]{0,6}/?){0,4}(\\?[a-zü =&|]{0,9})?(#[a-z]{0,3})?",
    ) {
        // What begins with two slashes names a host.
        prop_assume!(!href.starts_with("//") || href.starts_with("//c.test/"));
        let own = "http://a.test/x/y/z?q";
        let page = Url::parse(own).expect("a URL");
        let other = url::Url::parse(own).expect("a URL");
        let other = match &base {
            Some(base) => other.join(base).expect("a base"),
            None => other,
        };
        let tidy = tidied(&href);
        let link = Link {
            kind: LinkKind::Anchor,
            href: tidy.as_bytes(),
            base: base.as_deref().map(str::as_bytes),
            anchor: b"",
            nofollow: false,
        };
        let mut room = [0; 1_024];
        let found = link.resolve(&page, &mut room);
        let expected = other.join(&href);
        if let (Ok(found), Ok(expected)) = (&found, &expected) {
            let expected = Url::parse(expected.as_str()).expect("a URL of the url crate");
            prop_assert_eq!(*found, expected, "{:?}", href);
        } else {
            prop_assert_eq!(found.is_ok(), expected.is_ok(), "{:?} {:?}", href, found);
        }
    }
}

#[test]
fn anchors_are_words_in_single_spaces() {
    let text = b"<a href=x> One\n <b>two</b>three <!-- no --> <i> four</a>five<a href=y>six";
    let found = read_page([&text[..]]);
    let anchors: Vec<_> = found.links.iter().map(|link| &*link.anchor).collect();
    assert_eq!(anchors, [&b"One twothree four"[..], b"six"]);
}
