//! Which elements of XML, and which names of JSON, say something about pages.

use super::draft::{Draft, Field};
#[cfg(feature = "hints")]
use super::json;
use super::word::Word;
use crate::xml::{self, Piece, split_name};

/// What kind of XML a document is, by its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// A sitemap, which lists pages.
    Pages,
    /// An index of sitemaps.
    Index,
    Rss,
    Atom,
}

impl Dialect {
    fn of_root(local: Word) -> Option<Self> {
        Some(match local {
            Word::UrlSet => Self::Pages,
            Word::SitemapIndex => Self::Index,
            Word::Rss | Word::Rdf => Self::Rss,
            Word::Feed => Self::Atom,
            _ => return None,
        })
    }

    /// What an element is to us. `own`: it has the prefix of the root; `bare`: it has none.
    fn role(self, own: bool, bare: bool, local: Word) -> Role {
        match (self, local) {
            // The elements of RSS have no prefix, even where the root has one.
            (Self::Rss, Word::Item) if bare => Role::Entry,
            (Self::Rss, Word::Link) if bare => Role::Says(Field::Url),
            (Self::Rss, Word::Guid) if bare => Role::Says(Field::Name),
            (Self::Rss, Word::PubDate) if bare => Role::Says(Field::Date),
            // Of Dublin Core and Atom, under whatever prefix.
            (Self::Rss, Word::Date | Word::Modified | Word::Updated) if !bare => {
                Role::Says(Field::Date)
            }
            (Self::Rss, _) => Role::Nothing,
            _ if !own => Role::Nothing,
            (Self::Atom, Word::Entry) => Role::Entry,
            (Self::Atom, Word::Link) => Role::Says(Field::Link),
            (Self::Atom, Word::Updated | Word::Published | Word::Modified | Word::Issued) => {
                Role::Says(Field::Date)
            }
            // Where the entry comes from, with a link and a date of its own.
            (Self::Atom, Word::Source) => Role::Source,
            (Self::Atom, _) => Role::Nothing,
            (_, Word::Url | Word::Sitemap) => Role::Entry,
            (_, Word::Loc) => Role::Says(Field::Url),
            (_, Word::LastMod) => Role::Says(Field::Date),
            _ => Role::Nothing,
        }
    }
}

/// What an element is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Nothing,
    Entry,
    /// It says something about the entry that it is part of. A link says it in its attributes,
    /// anything else in its text.
    Says(Field),
    Source,
}

/// Where in a document of XML we are.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    dialect: Option<Dialect>,
    /// The prefix of the root, as far as there is room for it.
    prefix: [u8; 8],
    prefix_length: u8,
    inside: Role,
    /// The element at hand is part of the description of a source.
    in_source: bool,
}

/// What an event of XML or JSON came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DialectStep {
    On,
    /// An entry is complete.
    Entry {
        is_sitemap: bool,
    },
    /// The document is of no kind that we know.
    Unknown,
}

impl Elements {
    pub(super) const fn new() -> Self {
        Self {
            dialect: None,
            prefix: [0; 8],
            prefix_length: 0,
            inside: Role::Nothing,
            in_source: false,
        }
    }

    pub(super) fn take(&mut self, event: xml::Token<'_>, draft: &mut Draft) -> DialectStep {
        match event {
            xml::Token::Start(name) => return self.start(name, draft),
            xml::Token::Attribute { name, value } => self.attribute(name, value, draft),
            xml::Token::Text(piece) => match self.inside {
                Role::Says(Field::Link) => {}
                Role::Says(field) => draft.fill(field, piece),
                _ => {}
            },
            xml::Token::End(name) => {
                self.leave(draft);
                match self.role(name) {
                    Role::Source => self.in_source = false,
                    Role::Entry => {
                        let is_sitemap = self.dialect == Some(Dialect::Index);
                        return DialectStep::Entry { is_sitemap };
                    }
                    _ => {}
                }
            }
        }
        DialectStep::On
    }

    fn start(&mut self, name: &[u8], draft: &mut Draft) -> DialectStep {
        if self.dialect.is_none() {
            let (prefix, local) = split_name(name);
            self.dialect = Dialect::of_root(Word::of(local));
            // A prefix that does not fit has no elements of ours.
            self.prefix_length = prefix.len().min(255) as u8;
            for (to, from) in self.prefix.iter_mut().zip(prefix) {
                *to = *from;
            }
            return match self.dialect {
                Some(_) => DialectStep::On,
                None => DialectStep::Unknown,
            };
        }
        self.leave(draft);
        self.inside = self.role(name);
        match self.inside {
            Role::Entry => {
                draft.clear();
                self.in_source = false;
            }
            Role::Source => self.in_source = true,
            _ if self.in_source => self.inside = Role::Nothing,
            _ => {}
        }
        DialectStep::On
    }

    fn attribute(&mut self, name: &[u8], value: Piece<'_>, draft: &mut Draft) {
        let Role::Says(field @ (Field::Link | Field::Name)) = self.inside else {
            return;
        };
        match (field, Word::of(name)) {
            (Field::Link, Word::Href) => draft.fill(field, value),
            // It leads to another form of the page.
            (Field::Link, Word::Rel) if Word::of(value.whole()) != Word::Alternate => {
                self.inside = Role::Nothing;
                draft.drop_url();
            }
            (Field::Name, Word::IsPermaLink) if Word::of(value.whole()) == Word::False => {
                self.inside = Role::Nothing;
            }
            _ => {}
        }
    }

    /// The element at hand has no more attributes and no more text.
    fn leave(&mut self, draft: &mut Draft) {
        if self.inside == Role::Says(Field::Link) {
            draft.settle();
        }
        self.inside = Role::Nothing;
    }

    fn role(&self, name: &[u8]) -> Role {
        let (prefix, local) = split_name(name);
        let own = self.prefix.get(..self.prefix_length.into());
        let own = own.is_some_and(|own| own.iter().eq(prefix));
        let local = Word::of(local);
        self.dialect.map_or(Role::Nothing, |dialect| {
            dialect.role(own, prefix.is_empty(), local)
        })
    }
}

/// Where in a JSON feed we are.
#[cfg(feature = "hints")]
#[derive(Clone, Debug)]
pub(super) struct Items {
    /// The list of items comes next, or we are in it.
    wanted: bool,
    inside: bool,
    field: Option<Field>,
}

/// How deep the list is, and its items.
#[cfg(feature = "hints")]
const LIST: u16 = 2;
#[cfg(feature = "hints")]
const ITEM: u16 = 3;

#[cfg(feature = "hints")]
impl Items {
    pub(super) const fn new() -> Self {
        Self {
            wanted: false,
            inside: false,
            field: None,
        }
    }

    pub(super) fn take(&mut self, event: json::JsonEvent<'_>, draft: &mut Draft) -> DialectStep {
        match event {
            json::JsonEvent::Name { name, depth: 1 } => {
                self.wanted = Word::of(name.whole()) == Word::Items;
            }
            json::JsonEvent::Open { object, depth } => {
                let list = depth == LIST && !object;
                self.inside |= list && self.wanted;
                if depth == ITEM {
                    draft.clear();
                }
                self.field = None;
            }
            json::JsonEvent::Close { depth: ITEM } if self.inside => {
                return DialectStep::Entry { is_sitemap: false };
            }
            json::JsonEvent::Close { depth } => self.inside &= depth > LIST,
            json::JsonEvent::Name { name, depth: ITEM } => {
                self.field = match Word::of(name.whole()) {
                    Word::Url => Some(Field::Url),
                    Word::Id => Some(Field::Name),
                    Word::DateModified | Word::DatePublished => Some(Field::Date),
                    _ => None,
                }
            }
            json::JsonEvent::Text { text, depth: ITEM } => {
                if let Some(field) = self.field {
                    draft.fill(field, text);
                }
            }
            json::JsonEvent::Name { .. } | json::JsonEvent::Text { .. } => {}
        }
        DialectStep::On
    }
}
