//! Links out of HTML, as it streams by.

use super::anchor::AnchorText;
use super::link::{Link, LinkKind, LinkSink, TextPlace};
use super::raw_text::RawText;
use super::reference::ReferenceStep;
use super::tag::{Attribute, Element, HtmlTag, Media, Relations, is_space};
use super::window::LinkWindow;
use crate::fetch::ascii::find;

/// Where in the markup the reader is (HTML §13.2.5).
#[derive(Clone, Copy, Debug)]
enum State {
    Text,
    TagOpen,
    EndTagOpen,
    TagName,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    /// It is in a value, which this quote ends; 0 if it has no quotes.
    Value(u8),
    /// It has read `<!`, and then `<!-`.
    Declaration,
    DeclarationDash,
    /// What ends with the next `>`: document types, and comments that are none.
    Bogus,
    Comment(Comment),
    Raw(RawText),
}

/// How far a comment has been read.
#[derive(Clone, Copy, Debug)]
enum Comment {
    Start,
    StartDash,
    Inside,
    EndDash,
    End,
    EndBang,
}

/// Reads the links of a page, in pieces of any size, through a window of fixed size.
///
/// It follows the tokenizer of the HTML standard byte for byte, and so finds what browsers find in
/// markup that is broken, but builds no tree: where an element stands does not matter. `noscript`
/// is read, for we run no scripts. A page is taken for UTF-8; a `base` counts from where it stands.
///
/// Work per byte is constant, and small where nothing is to be found: text, comments, scripts, and
/// tags and attributes that mean nothing to us are passed over in stretches. The same bytes give
/// the same links however they are split.
///
/// There is no crate that does this in a few kilobytes and without an allocator: html5ever,
/// lol_html and tl own strings. That is why it is written here.
///
/// ```
/// use dunlin::discover::{Link, LinkReader, LinkSink};
///
/// struct Print;
/// impl LinkSink for Print {
///     fn link(&mut self, link: &Link<'_>) {
///         assert_eq!(link.href, b"/a?b=1&c=2");
///         assert_eq!(link.anchor, b"Read on");
///         assert!(link.nofollow);
///     }
/// }
/// let mut reader = LinkReader::new("dunlin");
/// reader.update(b"<p>News <!-- <a href=x> --><A hr", &mut Print);
/// reader.update(b"ef=/a?b=1&amp;c=2 rel='nofollow'>Read\n<b>on</b></a>", &mut Print);
/// reader.finish(&mut Print);
/// ```
#[derive(Clone, Debug)]
pub struct LinkReader<'a> {
    agent: &'a str,
    state: State,
    tag: HtmlTag,
    /// The link at hand, and what it is relative to.
    window: LinkWindow,
    /// An `<a>` whose text is being read, and whether it is not to be followed.
    open: Option<bool>,
    anchor: AnchorText,
    wants_text: bool,
}

impl<'a> LinkReader<'a> {
    /// A reader for an agent of this name: pages may speak to it alone.
    pub fn new(agent: &'a str) -> Self {
        Self {
            agent: crate::fetch::robots::product_token(agent),
            state: State::Text,
            tag: HtmlTag::default(),
            window: LinkWindow::EMPTY,
            open: None,
            anchor: AnchorText::EMPTY,
            wants_text: true,
        }
    }

    /// Takes the next bytes of the page.
    pub fn update(&mut self, mut bytes: &[u8], sink: &mut dyn LinkSink) {
        self.wants_text = sink.wants_text();
        while let Some((byte, rest)) = bytes.split_first() {
            bytes = match self.state {
                State::Text => self.text(bytes, sink),
                State::TagName => self.tag_name(bytes, sink),
                State::BeforeAttribute => self.before_attribute(bytes, sink),
                State::AttributeName => self.attribute_name(bytes),
                State::Value(quote) => self.value(bytes, quote),
                State::Bogus => self.skip_to(b'>', State::Text, bytes),
                State::Comment(Comment::Inside) => {
                    self.skip_to(b'-', State::Comment(Comment::EndDash), bytes)
                }
                State::Raw(raw) => self.raw_text(raw, bytes, sink),
                _ => match self.push(*byte) {
                    true => rest,
                    false => bytes,
                },
            };
        }
    }

    /// The page has ended.
    pub fn finish(&mut self, sink: &mut dyn LinkSink) {
        self.close_anchor(sink);
    }

    /// Passes over text up to a tag; what is left.
    fn text<'b>(&mut self, bytes: &'b [u8], sink: &mut dyn LinkSink) -> &'b [u8] {
        let end = find(bytes, b'<');
        let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if self.wants_text && !text.is_empty() {
            sink.text(TextPlace::Body, text);
            if self.open.is_some() {
                self.anchor.take(text);
            }
        }
        let Some(end) = end else {
            return &[];
        };
        let rest = bytes.get(end + 1..).unwrap_or_default();
        // As a rule a tag follows, and not at the end of a piece.
        match rest {
            [b'/', name @ ..] if name.first().is_some_and(u8::is_ascii_alphabetic) => {
                self.begin_tag(true);
                self.tag_name(name, sink)
            }
            [first, ..] if first.is_ascii_alphabetic() => {
                self.begin_tag(false);
                self.tag_name(rest, sink)
            }
            _ => {
                self.state = State::TagOpen;
                rest
            }
        }
    }

    /// Passes over all up to this byte, behind which it is in that state; what is left.
    fn skip_to<'b>(&mut self, end: u8, then: State, bytes: &'b [u8]) -> &'b [u8] {
        let Some(end) = find(bytes, end) else {
            return &[];
        };
        self.state = then;
        bytes.get(end + 1..).unwrap_or_default()
    }

    /// Passes over text that is no markup; what is left.
    fn raw_text<'b>(
        &mut self,
        mut raw: RawText,
        bytes: &'b [u8],
        sink: &mut dyn LinkSink,
    ) -> &'b [u8] {
        let (text, rest) = bytes.split_at_checked(raw.skip(bytes)).unwrap_or_default();
        if self.wants_text && raw.element() == Element::Title && !text.is_empty() {
            sink.text(TextPlace::Title, text);
        }
        let Some((byte, after)) = rest.split_first() else {
            self.state = State::Raw(raw);
            return &[];
        };
        if raw.push(*byte) {
            sink.text_ends();
            self.begin_tag(true);
            self.state = State::BeforeAttribute;
            return rest;
        }
        self.state = State::Raw(raw);
        after
    }

    /// Takes a byte between two stretches of markup; false if it has to be read again in the state
    /// that it has led to.
    fn push(&mut self, byte: u8) -> bool {
        match self.state {
            State::TagOpen => match byte {
                b'!' => self.state = State::Declaration,
                b'/' => self.state = State::EndTagOpen,
                b'?' => self.state = State::Bogus,
                _ if byte.is_ascii_alphabetic() => return self.begin_tag(false),
                _ => {
                    self.state = State::Text;
                    return false;
                }
            },
            State::EndTagOpen => match byte {
                b'>' => self.state = State::Text,
                _ if byte.is_ascii_alphabetic() => return self.begin_tag(true),
                _ => {
                    self.state = State::Bogus;
                    return false;
                }
            },
            State::AfterAttributeName => match byte {
                b'=' => self.state = State::BeforeValue,
                _ if is_space(byte) => {}
                _ => {
                    self.end_value();
                    return false;
                }
            },
            State::BeforeValue => match byte {
                b'"' | b'\'' => self.state = State::Value(byte),
                _ if is_space(byte) => {}
                // A value without quotes, or none at all.
                _ => {
                    self.state = State::Value(0);
                    return false;
                }
            },
            State::Declaration if byte == b'-' => self.state = State::DeclarationDash,
            State::DeclarationDash if byte == b'-' => {
                self.state = State::Comment(Comment::Start);
            }
            State::Declaration | State::DeclarationDash => {
                self.state = State::Bogus;
                return false;
            }
            State::Comment(place) => self.state = comment(place, byte),
            // The others are stretches.
            _ => {}
        }
        true
    }

    /// Begins a tag. Always false: the byte that began it is the first of its name.
    fn begin_tag(&mut self, is_end: bool) -> bool {
        self.tag.begin(is_end);
        self.state = State::TagName;
        false
    }

    /// Takes the name of a tag; what is left.
    fn tag_name<'b>(&mut self, bytes: &'b [u8], sink: &mut dyn LinkSink) -> &'b [u8] {
        let ends = |byte: &u8| *byte <= b'>' && (matches!(byte, b'/' | b'>') || is_space(*byte));
        let (name, rest) = split_before(bytes, ends);
        if rest.is_empty() {
            self.tag.word.extend(name);
            return rest;
        }
        self.tag.named(name);
        if self.wants_text {
            sink.text_ends();
        }
        // The window is needed for another link, or the anchor has ended.
        let element = self.tag.element;
        if element == Element::A || element.has_link() && !self.tag.is_end {
            self.close_anchor(sink);
            self.window.clear();
        }
        self.before_attribute(rest, sink)
    }

    /// Looks for the next attribute, or the end of the tag; what is left.
    fn before_attribute<'b>(&mut self, bytes: &'b [u8], sink: &mut dyn LinkSink) -> &'b [u8] {
        self.state = State::BeforeAttribute;
        // A slash is of no use, whether `>` follows or not.
        let begins = |byte: &u8| *byte != b'/' && !is_space(*byte);
        // As a rule the tag ends at once, or one space stands here.
        let rest = match bytes {
            [b'>', ..] => bytes,
            _ => split_before(bytes, begins).1,
        };
        let Some((byte, rest)) = rest.split_first() else {
            return &[];
        };
        if *byte == b'>' {
            self.end_tag(sink);
            return rest;
        }
        self.tag.attribute = Attribute::Other;
        if !self.tag.has_attributes() {
            return self.skip_attributes(rest, sink);
        }
        self.state = State::AttributeName;
        self.tag.word.clear();
        // An equals sign is part of a name here.
        self.tag.word.push(*byte);
        self.attribute_name(rest)
    }

    /// Passes over attributes that mean nothing to us, from behind the first byte of a name on, as
    /// long as they are written as people write them; what is left.
    fn skip_attributes<'b>(&mut self, mut bytes: &'b [u8], sink: &mut dyn LinkSink) -> &'b [u8] {
        loop {
            let (_, rest) = split_before(bytes, ends_attribute_name);
            let [b'=', quote @ (b'"' | b'\''), value @ ..] = rest else {
                self.state = match rest {
                    [] => State::AttributeName,
                    _ => State::AfterAttributeName,
                };
                return rest;
            };
            let Some(end) = find(value, *quote) else {
                self.state = State::Value(*quote);
                return &[];
            };
            bytes = match value.get(end + 1..).unwrap_or_default() {
                [b'>', rest @ ..] => {
                    self.end_tag(sink);
                    return rest;
                }
                [b' ', b'a'..=b'z', rest @ ..] => rest,
                rest => {
                    self.state = State::BeforeAttribute;
                    return rest;
                }
            };
        }
    }

    /// Takes the name of an attribute; what is left.
    fn attribute_name<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (name, rest) = split_before(bytes, ends_attribute_name);
        if self.tag.has_attributes() {
            self.tag.word.extend(name);
        }
        if rest.is_empty() {
            return rest;
        }
        self.tag.attribute_named();
        self.state = State::AfterAttributeName;
        match rest {
            [b'=', quote @ (b'"' | b'\''), rest @ ..] => {
                self.state = State::Value(*quote);
                self.value(rest, *quote)
            }
            _ => rest,
        }
    }

    /// Takes a stretch of a value; what is left.
    fn value<'b>(&mut self, bytes: &'b [u8], quote: u8) -> &'b [u8] {
        let matters = self.tag.attribute != Attribute::Other;
        if matters && self.tag.reference.is_inside() {
            return self.reference(bytes);
        }
        let (kept, rest) = match (matters, quote) {
            (false, 1..) => split_found(bytes, quote),
            (false, 0) => split_before(bytes, ends_bare_value),
            // Letters are above them all.
            (true, 1..) => split_before(bytes, |byte| {
                *byte <= b'\'' && (*byte == quote || matches!(byte, b'&' | 0))
            }),
            (true, 0) => split_before(bytes, |byte| {
                ends_bare_value(byte) || matches!(byte, b'&' | 0)
            }),
        };
        if matters {
            self.keep(kept);
        }
        let Some((byte, after)) = rest.split_first() else {
            return rest;
        };
        match byte {
            b'&' => self.tag.reference.begin(),
            0 => self.keep("\u{fffd}".as_bytes()),
            _ => {
                self.end_value();
                // What ends a value without quotes is no part of it.
                return if quote == 0 { rest } else { after };
            }
        }
        after
    }

    /// Takes a byte of a reference; what is left.
    fn reference<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some((byte, rest)) = bytes.split_first() else {
            return bytes;
        };
        let mut decoded = Decoded::default();
        let step = (self.tag.reference).push(*byte, &mut |byte| decoded.push(byte));
        self.keep(decoded.bytes());
        match step {
            ReferenceStep::Done { used: false } => bytes,
            ReferenceStep::Inside | ReferenceStep::Done { used: true } => rest,
        }
    }

    /// An attribute has ended.
    fn end_value(&mut self) {
        self.tag.value_ended(self.agent);
        self.state = State::BeforeAttribute;
    }

    /// Keeps bytes of a value that matters.
    fn keep(&mut self, bytes: &[u8]) {
        match self.tag.attribute {
            Attribute::Href => self.window.take(bytes),
            _ => self.tag.take_value(bytes, self.agent),
        }
    }

    /// A tag is complete.
    fn end_tag(&mut self, sink: &mut dyn LinkSink) {
        self.state = State::Text;
        let tag = &self.tag;
        if tag.is_end {
            return;
        }
        let is_nofollow = tag.relations.has(Relations::NOFOLLOW);
        match tag.element {
            Element::A if tag.has(Attribute::Href) => {
                self.window.tidy();
                self.open = Some(is_nofollow);
            }
            Element::Area if tag.has(Attribute::Href) => {
                self.window.tidy();
                self.found(LinkKind::Area, is_nofollow, sink);
            }
            Element::Link if tag.has(Attribute::Href) => {
                self.window.tidy();
                if let Some(kind) = kind(tag) {
                    self.found(kind, is_nofollow, sink);
                }
            }
            Element::Base if tag.has(Attribute::Href) => self.window.set_base(),
            Element::Meta if tag.is_for_robots => sink.directives(tag.directives),
            element if element.is_raw() => self.state = State::Raw(RawText::new(element)),
            _ => {}
        }
    }

    /// Hands out the link in the window.
    fn found(&mut self, kind: LinkKind, nofollow: bool, sink: &mut dyn LinkSink) {
        let anchor = match kind {
            LinkKind::Anchor => self.anchor.text(),
            _ => &[],
        };
        if let Some((base, href)) = self.window.link() {
            sink.link(&Link {
                kind,
                href,
                base,
                anchor,
                nofollow,
            });
        }
    }

    fn close_anchor(&mut self, sink: &mut dyn LinkSink) {
        if let Some(nofollow) = self.open.take() {
            self.found(LinkKind::Anchor, nofollow, sink);
        }
        self.anchor.clear();
    }
}

/// What stands before the first byte that ends it, and what follows from there on.
#[inline(always)] // With the closure, it is a loop of some instructions.
fn split_before(bytes: &[u8], ends: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(ends).unwrap_or(bytes.len());
    bytes.split_at_checked(end).unwrap_or_default()
}

/// The same for one byte, which may be far away.
fn split_found(bytes: &[u8], end: u8) -> (&[u8], &[u8]) {
    let end = find(bytes, end).unwrap_or(bytes.len());
    bytes.split_at_checked(end).unwrap_or_default()
}

fn ends_attribute_name(byte: &u8) -> bool {
    *byte <= b'>' && (matches!(byte, b'=' | b'/' | b'>') || is_space(*byte))
}

fn ends_bare_value(byte: &u8) -> bool {
    *byte <= b'>' && (*byte == b'>' || is_space(*byte))
}

/// What a reference came to: the name that it has, and a `&`, at most.
#[derive(Default)]
struct Decoded {
    bytes: [u8; 12],
    length: usize,
}

impl Decoded {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// What a `<link>` leads to, if it is a page or a feed.
fn kind(tag: &HtmlTag) -> Option<LinkKind> {
    let relations = tag.relations;
    if relations.has(Relations::CANONICAL) {
        Some(LinkKind::Canonical)
    } else if relations.has(Relations::NEXT) {
        Some(LinkKind::Next)
    } else if relations.has(Relations::ALTERNATE) && !relations.has(Relations::STYLESHEET) {
        match tag.media {
            Media::Page => Some(LinkKind::Alternate),
            #[cfg(feature = "hints")]
            Media::Feed => Some(LinkKind::Feed),
            Media::Other => None,
        }
    } else {
        None
    }
}

/// Where a byte of a comment leads.
fn comment(place: Comment, byte: u8) -> State {
    use Comment::{End, EndBang, EndDash, Inside, Start, StartDash};
    match (place, byte) {
        (Start | StartDash | End | EndBang, b'>') => State::Text,
        (Start, b'-') => State::Comment(StartDash),
        (StartDash | EndDash | End, b'-') => State::Comment(End),
        (Inside | EndBang, b'-') => State::Comment(EndDash),
        (End, b'!') => State::Comment(EndBang),
        _ => State::Comment(Inside),
    }
}
