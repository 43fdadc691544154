//! Links, and who takes them.

use crate::fetch::robots::Directives;

/// How a page is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LinkKind {
    /// An `<a>` with a reference.
    Anchor,
    /// An `<area>` of an image map.
    Area,
    /// `<link rel=canonical>`: the page's own URL, by its own word.
    Canonical,
    /// `<link rel=next>`: the next page of a series.
    Next,
    /// `<link rel=alternate>`, if it is a page: another language, say.
    Alternate,
    /// `<link rel=alternate>` with the media type of a feed. Found with feature `hints` only: a
    /// feed is no page.
    Feed,
}

/// A link, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'t> {
    /// How the page is linked.
    pub kind: LinkKind,
    /// The URL, with references resolved and line ends left out, as browsers do.
    pub href: &'t [u8],
    /// What it is relative to, if the page says so.
    pub base: Option<&'t [u8]>,
    /// The beginning of its text: words in single spaces, without markup.
    pub anchor: &'t [u8],
    /// `rel=nofollow`: the page does not vouch for it.
    pub nofollow: bool,
}

/// In which part of a page text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlace {
    /// In the page's title.
    Title,
    /// Anywhere else where readers see it.
    Body,
}

/// Takes what is found in a page, in its order.
pub trait LinkSink {
    /// A link. That of an `<a>` comes when its text has ended.
    fn link(&mut self, link: &Link<'_>);
    /// What the page asks of robots.
    fn directives(&mut self, _directives: Directives) {}
    /// Is text of any use? If not, anchors are without theirs, too. Asked at the beginning of each
    /// piece of a page.
    fn wants_text(&self) -> bool {
        true
    }
    /// Text, in any pieces; references as they are written.
    fn text(&mut self, _place: TextPlace, _text: &[u8]) {}
    /// A tag stands here: no word of the text before it goes on behind it.
    fn text_ends(&mut self) {}
}
