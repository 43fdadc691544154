//! Links out of HTML, as it streams by.

use super::anchor::AnchorText;
use super::link::{Link, LinkKind, LinkSink, TextPlace};
use super::raw_text::RawText;
use super::reference::ReferenceStep;
use super::tag::{Attribute, Element, HtmlTag, Media, Relations, is_space};
use super::window::LinkWindow;

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
    AfterValue,
    SelfClosing,
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
/// Work per byte is constant. The same bytes give the same links however they are split.
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
        }
    }

    /// Takes the next bytes of the page.
    pub fn update(&mut self, mut bytes: &[u8], sink: &mut dyn LinkSink) {
        while let Some((byte, rest)) = bytes.split_first() {
            bytes = match self.state {
                State::Text => self.text(bytes, sink),
                State::Raw(raw) => self.raw_text(raw, bytes, sink),
                // What is between quotes and does not matter is passed over as a whole.
                State::Value(quote) if quote != 0 && self.tag.attribute == Attribute::Other => {
                    let end = bytes.iter().position(|byte| *byte == quote);
                    if end.is_some() {
                        self.state = State::AfterValue;
                    }
                    let used = end.map_or(bytes.len(), |end| end + 1);
                    bytes.get(used..).unwrap_or_default()
                }
                _ => {
                    let used = self.push(*byte, sink);
                    if used { rest } else { bytes }
                }
            };
        }
    }

    /// The page has ended.
    pub fn finish(&mut self, sink: &mut dyn LinkSink) {
        self.close_anchor(sink);
    }

    /// Passes over text up to a tag; what is left.
    fn text<'b>(&mut self, bytes: &'b [u8], sink: &mut dyn LinkSink) -> &'b [u8] {
        let end = bytes.iter().position(|byte| *byte == b'<');
        let text = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if !text.is_empty() {
            sink.text(TextPlace::Body, text);
            if self.open.is_some() {
                self.anchor.take(text);
            }
        }
        match end {
            Some(end) => {
                self.state = State::TagOpen;
                bytes.get(end + 1..).unwrap_or_default()
            }
            None => &[],
        }
    }

    /// Passes over text that is no markup; what is left.
    fn raw_text<'b>(
        &mut self,
        mut raw: RawText,
        bytes: &'b [u8],
        sink: &mut dyn LinkSink,
    ) -> &'b [u8] {
        let (text, rest) = bytes.split_at_checked(raw.plain(bytes)).unwrap_or_default();
        if raw.element() == Element::Title && !text.is_empty() {
            sink.text(TextPlace::Title, text);
        }
        let Some((byte, after)) = rest.split_first() else {
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

    /// Takes a byte of markup; false if it has to be read again in the state that it has led to.
    fn push(&mut self, byte: u8, sink: &mut dyn LinkSink) -> bool {
        match self.state {
            // These two are passed over in `update`.
            State::Text | State::Raw(_) => {}
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
            State::TagName if !(is_space(byte) || matches!(byte, b'/' | b'>')) => {
                self.tag.word.push(byte);
            }
            State::TagName => {
                self.tag_named(sink);
                self.state = State::BeforeAttribute;
                return false;
            }
            State::BeforeAttribute => return self.before_attribute(byte, sink),
            State::AttributeName => match byte {
                b'=' | b'/' | b'>' => {
                    self.tag.attribute_named();
                    self.state = State::AfterAttributeName;
                    return false;
                }
                _ if is_space(byte) => {
                    self.tag.attribute_named();
                    self.state = State::AfterAttributeName;
                }
                _ => self.tag.word.push(byte),
            },
            State::AfterAttributeName => match byte {
                b'=' => self.state = State::BeforeValue,
                _ if is_space(byte) => {}
                _ => {
                    self.tag.value_ended(self.agent);
                    self.state = State::BeforeAttribute;
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
            State::Value(quote) => return self.value(byte, quote),
            State::AfterValue => {
                self.tag.value_ended(self.agent);
                self.state = State::BeforeAttribute;
                return false;
            }
            State::SelfClosing => {
                // Whether it is `>` or not: only the slash was of no use.
                self.state = State::BeforeAttribute;
                return false;
            }
            State::Declaration if byte == b'-' => self.state = State::DeclarationDash,
            State::DeclarationDash if byte == b'-' => {
                self.state = State::Comment(Comment::Start);
            }
            State::Declaration | State::DeclarationDash => {
                self.state = State::Bogus;
                return false;
            }
            State::Bogus if byte == b'>' => self.state = State::Text,
            State::Bogus => {}
            State::Comment(place) => self.state = comment(place, byte),
        }
        true
    }

    /// Begins a tag. Always false: the byte that began it is the first of its name.
    fn begin_tag(&mut self, is_end: bool) -> bool {
        self.tag = HtmlTag::default();
        self.tag.is_end = is_end;
        self.state = State::TagName;
        false
    }

    fn tag_named(&mut self, sink: &mut dyn LinkSink) {
        self.tag.named();
        sink.text_ends();
        // The window is needed for another link, or the anchor has ended.
        let element = self.tag.element;
        if element == Element::A || element.has_link() && !self.tag.is_end {
            self.close_anchor(sink);
            self.window.clear();
        }
    }

    fn before_attribute(&mut self, byte: u8, sink: &mut dyn LinkSink) -> bool {
        match byte {
            b'/' => self.state = State::SelfClosing,
            b'>' => self.end_tag(sink),
            _ if is_space(byte) => {}
            _ => {
                self.tag.word.clear();
                self.tag.attribute = Attribute::Other;
                // An equals sign is part of a name here.
                self.tag.word.push(byte);
                self.state = State::AttributeName;
            }
        }
        true
    }

    fn value(&mut self, byte: u8, quote: u8) -> bool {
        if self.tag.reference.is_inside() {
            let mut decoded = Decoded::default();
            let mut reference = self.tag.reference;
            let step = reference.push(byte, &mut |byte| decoded.push(byte));
            self.tag.reference = reference;
            decoded.bytes().iter().for_each(|byte| self.keep(*byte));
            return step == ReferenceStep::Inside || step == ReferenceStep::Done { used: true };
        }
        match (byte, quote) {
            (b'&', _) => self.tag.reference.begin(),
            (b'>', 0) => {
                self.state = State::AfterValue;
                return false;
            }
            (_, 0) if is_space(byte) => self.state = State::AfterValue,
            (_, 1..) if byte == quote => self.state = State::AfterValue,
            (0, _) => "\u{fffd}".bytes().for_each(|byte| self.keep(byte)),
            _ => self.keep(byte),
        }
        true
    }

    /// Keeps a byte of a value that matters.
    fn keep(&mut self, byte: u8) {
        match self.tag.attribute {
            Attribute::Other => {}
            Attribute::Href => self.window.take(byte),
            _ => self.tag.value_byte(byte, self.agent),
        }
    }

    /// A tag is complete.
    fn end_tag(&mut self, sink: &mut dyn LinkSink) {
        self.state = State::Text;
        let tag = self.tag;
        if tag.is_end {
            return;
        }
        match tag.element {
            Element::A if tag.has(Attribute::Href) => {
                self.window.tidy();
                self.open = Some(tag.relations.has(Relations::NOFOLLOW));
            }
            Element::Area if tag.has(Attribute::Href) => {
                self.window.tidy();
                let nofollow = tag.relations.has(Relations::NOFOLLOW);
                self.found(LinkKind::Area, nofollow, sink);
            }
            Element::Link if tag.has(Attribute::Href) => {
                self.window.tidy();
                if let Some(kind) = kind(&tag) {
                    self.found(kind, tag.relations.has(Relations::NOFOLLOW), sink);
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
