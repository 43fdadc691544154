//! Parts of a page by a CSS selector: the parser and the selector engine of browsers, within bounds
//! that no page can exceed.

use std::time::{Duration, Instant};

use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

/// Elements within each other: more are no page. Browsers stop at 512, too.
const DEEPEST: usize = 512;
/// For one page. Pages take milliseconds; those that are made to take minutes are given up.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that are parsed before somebody looks at the clock.
const PIECE: usize = 4096;
/// Elements that are looked at before somebody looks at the clock.
const ELEMENTS: usize = 256;

/// A CSS selector that can be used.
#[derive(Clone, Debug)]
pub struct CssSelector {
    text: String,
    selector: Selector,
}

/// Why a selector could not be used on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its elements are nested too deep.
    Deep,
    /// It takes too long.
    Long,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deep => write!(f, "its elements are nested deeper than {DEEPEST}"),
            Self::Long => write!(f, "selecting takes longer than {} s", PATIENCE.as_secs()),
        }
    }
}

impl CssSelector {
    /// Reads a selector; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let selector = Selector::parse(text).ok()?;
        Some(Self {
            text: text.to_owned(),
            selector,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The markup of all elements that match, in the order of the page; what is within one that
    /// matches comes with it, and not once more.
    ///
    /// # Errors
    /// The page is made so that this would take too long.
    pub fn select(&self, source: &str) -> Result<Vec<String>, Unfit> {
        let deadline = Instant::now() + PATIENCE;
        let page = parse(source, deadline)?;
        let mut found: Vec<ElementRef<'_>> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for (place, node) in page.tree.nodes().enumerate() {
            if place.is_multiple_of(ELEMENTS) && Instant::now() >= deadline {
                return Err(Unfit::Long);
            }
            let element = ElementRef::wrap(node).filter(|element| self.selector.matches(element));
            let Some(element) = element else { continue };
            if !node.ancestors().any(|outer| known.contains(&outer.id())) {
                known.insert(node.id());
                found.push(element);
            }
        }
        Ok(found.iter().map(ElementRef::html).collect())
    }
}

fn parse(source: &str, deadline: Instant) -> Result<Html, Unfit> {
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = driver::parse_document(sink, ParseOpts::default());
    let mut rest = source;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        parser.process(StrTendril::from(piece));
        rest = after;
        let depth = {
            let page = parser.tokenizer.sink.sink.0.borrow();
            let last = page.tree.nodes().next_back();
            last.map_or(0, |node| node.ancestors().take(DEEPEST + 1).count())
        };
        if depth > DEEPEST {
            return Err(Unfit::Deep);
        }
        if Instant::now() >= deadline {
            return Err(Unfit::Long);
        }
    }
    Ok(parser.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(selector: &str, page: &str) -> Result<Vec<String>, Unfit> {
        CssSelector::parse(selector)
            .expect("a selector")
            .select(page)
    }

    #[test]
    fn elements_are_found_as_a_browser_finds_them() {
        let page = "<p class='a b'>one<p>two <b class=b>three</b><div id=x><p>four</div>";
        let found = |selector| select(selector, page).expect("a page");
        assert_eq!(found("#x"), ["<div id=\"x\"><p>four</p></div>"]);
        let marked = ["<p class=\"a b\">one</p>", "<b class=\"b\">three</b>"];
        assert_eq!(found(".b"), marked);
        assert_eq!(
            found("p > b, p:has(> b)").len(),
            1,
            "what is within comes once"
        );
        assert_eq!(found("article"), [""; 0]);
        assert_eq!(found("p:nth-child(2)").len(), 1);
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in ["", "p >", "a[", "::before::", "p:hover(", "12px"] {
            assert!(CssSelector::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn pages_made_to_take_long_are_given_up() {
        assert_eq!(select("p", &"<div>".repeat(200_000)), Err(Unfit::Deep));
        assert_eq!(select("p", &"<b>".repeat(200_000)), Err(Unfit::Deep));
        // The parser or the engine looks at everything that came before, again and again.
        for (selector, page) in [
            ("i ~ b", "<b></b>".repeat(100_000)),
            ("p", "<table><tr><td></div>".repeat(40_000)),
            ("a", "<a><p>".repeat(150_000)),
            ("p:has(i ~ b) b", "<p><b></b>".repeat(50_000)),
        ] {
            // It returns: that is all there is to say of such a page.
            let _ = select(selector, &page);
        }
    }
}
