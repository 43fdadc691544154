//! The tag at hand: which element it is, and what its attributes say.

use super::reference::Reference;
use super::word::Word;
use crate::fetch::ascii::{same, word_at};
use crate::fetch::robots::Directives;

/// Elements that mean something to us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Element {
    #[default]
    Other,
    A,
    Area,
    Base,
    Link,
    Meta,
    Script,
    Style,
    Title,
    TextArea,
    Xmp,
    Iframe,
    NoEmbed,
    NoFrames,
    PlainText,
}

const ELEMENTS: &[(&str, Element)] = &[
    ("a", Element::A),
    ("area", Element::Area),
    ("base", Element::Base),
    ("link", Element::Link),
    ("meta", Element::Meta),
    ("script", Element::Script),
    ("style", Element::Style),
    ("title", Element::Title),
    ("textarea", Element::TextArea),
    ("xmp", Element::Xmp),
    ("iframe", Element::Iframe),
    ("noembed", Element::NoEmbed),
    ("noframes", Element::NoFrames),
    ("plaintext", Element::PlainText),
];

/// First and second letters of names that are longer than two: a bit for each.
const BEGINNINGS: [u32; 2] = {
    let mut letters = [0; 2];
    let mut at = 0;
    while at < ELEMENTS.len() {
        let name = ELEMENTS[at].0.as_bytes();
        if name.len() > 2 {
            letters[0] |= 1 << (name[0] & 31);
            letters[1] |= 1 << (name[1] & 31);
        }
        at += 1;
    }
    letters
};

/// Is a text this word, in either case?
fn is_word(word: &str, text: &[u8]) -> bool {
    word.len() == text.len() && same(text, word.as_bytes())
}

impl Element {
    /// The element of a name in either case.
    pub(super) fn of(name: &[u8]) -> Self {
        // Most tags are none of ours: they are too short for it, or begin like none.
        match name {
            [b'a' | b'A'] => return Self::A,
            [first, second, _, ..] => {
                let [ones, others] = BEGINNINGS;
                if ones >> (first & 31) & others >> (second & 31) & 1 == 0 {
                    return Self::Other;
                }
            }
            _ => return Self::Other,
        }
        let known = ELEMENTS.iter().find(|(known, _)| is_word(known, name));
        known.map_or(Self::Other, |(_, element)| *element)
    }

    pub(super) fn name(self) -> &'static str {
        let known = ELEMENTS.iter().find(|(_, element)| *element == self);
        known.map_or("", |(name, _)| name)
    }

    /// Has it attributes that mean something to us?
    fn has_attributes(self) -> bool {
        self.has_link() || self == Self::Meta
    }

    /// Is its content no markup?
    pub(super) fn is_raw(self) -> bool {
        self as u8 >= Self::Script as u8
    }

    /// Does it have a URL that we want?
    pub(super) fn has_link(self) -> bool {
        matches!(self, Self::A | Self::Area | Self::Base | Self::Link)
    }
}

/// Attributes that mean something to us, each a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Attribute {
    #[default]
    Other = 0,
    Href = 1,
    Rel = 2,
    Name = 4,
    Content = 8,
    Type = 16,
}

/// Words of `rel` that were there, each a bit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Relations(u8);

/// Their names, from the lowest bit on.
const RELATIONS: &str = "nofollow canonical next alternate stylesheet";

impl Relations {
    pub(super) const NOFOLLOW: u8 = 1;
    pub(super) const CANONICAL: u8 = 2;
    pub(super) const NEXT: u8 = 4;
    pub(super) const ALTERNATE: u8 = 8;
    pub(super) const STYLESHEET: u8 = 16;

    pub(super) fn has(self, relation: u8) -> bool {
        self.0 & relation != 0
    }
}

/// What a `type` says that a link leads to; without one, a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Media {
    #[default]
    Page,
    /// A feed, which is of use to who reads feeds.
    #[cfg(feature = "hints")]
    Feed,
    Other,
}

impl Media {
    fn of(kind: &Word) -> Self {
        match kind.text() {
            b"text/html" => Self::Page,
            _ if kind.is_empty() => Self::Page,
            #[cfg(feature = "hints")]
            text if crate::fetch::is_feed_type(text) => Self::Feed,
            _ => Self::Other,
        }
    }
}

/// A tag while it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HtmlTag {
    pub(super) is_end: bool,
    pub(super) element: Element,
    /// The name of the tag, then that of an attribute, then a word of its value.
    pub(super) word: Word,
    pub(super) attribute: Attribute,
    /// Attributes that were there: the first of a name counts.
    seen: u8,
    pub(super) reference: Reference,
    pub(super) relations: Relations,
    /// What `content` says, if `name` is that of robots.
    pub(super) directives: Directives,
    pub(super) is_for_robots: bool,
    pub(super) media: Media,
}

impl HtmlTag {
    pub(super) fn has(&self, attribute: Attribute) -> bool {
        self.seen & attribute as u8 != 0
    }

    /// Do its attributes have to be read?
    pub(super) fn has_attributes(&self) -> bool {
        !self.is_end && self.element.has_attributes()
    }

    /// A tag begins. No reference goes on behind the end of the one before it.
    pub(super) fn begin(&mut self, is_end: bool) {
        self.is_end = is_end;
        self.element = Element::Other;
        self.word.clear();
        self.attribute = Attribute::Other;
        self.seen = 0;
        self.relations = Relations::default();
        self.directives = Directives::default();
        self.is_for_robots = false;
        self.media = Media::default();
    }

    /// The name of the tag has ended with these letters.
    pub(super) fn named(&mut self, end: &[u8]) {
        if self.word.is_empty() {
            self.element = Element::of(end);
            return;
        }
        // It came in pieces.
        self.word.extend(end);
        self.element = Element::of(self.word.text());
        self.word.clear();
    }

    /// The name of an attribute has ended.
    pub(super) fn attribute_named(&mut self) {
        if !self.has_attributes() {
            return;
        }
        let attribute = match (self.element, self.word.text()) {
            (Element::Meta, b"name") => Attribute::Name,
            (Element::Meta, b"content") => Attribute::Content,
            (Element::Meta, _) => Attribute::Other,
            (_, b"href") => Attribute::Href,
            (Element::A | Element::Area | Element::Link, b"rel") => Attribute::Rel,
            (Element::Link, b"type") => Attribute::Type,
            _ => Attribute::Other,
        };
        self.attribute = if self.has(attribute) {
            Attribute::Other
        } else {
            attribute
        };
        self.seen |= attribute as u8;
        self.word.clear();
    }

    /// Takes bytes of the value of an attribute that is a list of words. `agent` is our name.
    pub(super) fn take_value(&mut self, bytes: &[u8], agent: &str) {
        for byte in bytes {
            let ends_word = match self.attribute {
                Attribute::Rel => is_space(*byte),
                Attribute::Content => is_space(*byte) || *byte == b',',
                _ => false,
            };
            if ends_word {
                self.word_ended(agent);
            } else {
                self.word.push(*byte);
            }
        }
    }

    /// The value has ended.
    pub(super) fn value_ended(&mut self, agent: &str) {
        if self.attribute != Attribute::Other {
            self.word_ended(agent);
        }
        self.attribute = Attribute::Other;
    }

    fn word_ended(&mut self, agent: &str) {
        let word = self.word.text();
        match self.attribute {
            Attribute::Rel => {
                let known = word_at(RELATIONS, word, same);
                self.relations.0 |= known.map_or(0, |at| 1 << at);
            }
            Attribute::Content => self.directives = self.directives.and(Directives::of(word)),
            Attribute::Name if !word.is_empty() => {
                self.is_for_robots |= word == b"robots" || same(word, agent.as_bytes());
            }
            Attribute::Type => self.media = Media::of(&self.word),
            _ => {}
        }
        self.word.clear();
    }
}

/// Whether HTML takes this byte for white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | b' ')
}
