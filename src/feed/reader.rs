//! Reads a document of any kind, as it streams by.

#[cfg(feature = "hints")]
use super::dialect::Items;
use super::dialect::{DialectStep, Elements};
use super::draft::{Draft, FeedEntry, WINDOW};
#[cfg(feature = "hints")]
use super::json;
use crate::xml;

/// Why a document cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FeedError {
    /// It is compressed, and unpacking takes more memory than a probe has.
    Gzip,
    /// Its root is that of no document that lists pages.
    Root,
}

impl core::fmt::Display for FeedError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Gzip => "document is compressed: expected plain XML, JSON or text",
            Self::Root => {
                "document is no list of pages: expected <urlset>, <sitemapindex>, <rss>, <feed>, \
                 a JSON feed or a URL in each line"
            }
        })
    }
}

impl core::error::Error for FeedError {}

/// How the document is read.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // One a fetch, and there is no allocator.
enum Form {
    /// So many bytes of a byte-order mark were read, or white space.
    Unknown(u8),
    Xml(xml::Reader<WINDOW>, Elements),
    #[cfg(feature = "hints")]
    Json(json::Reader, Items),
    Lines,
    /// It cannot be read, and was said to be so.
    Refused,
}

/// Reads a sitemap or a feed of any size in fixed memory. See the [module](super).
///
/// Work per byte is constant, and the same bytes give the same entries however they are split.
///
/// ```
/// use dunlin::feed::FeedReader;
///
/// let mut reader = FeedReader::new();
/// let mut bytes: &[u8] = b"<urlset><url><loc>http://a.test/b</loc></url></urlset>";
/// let entry = reader.next(&mut bytes).unwrap().unwrap();
/// assert_eq!((entry.url, entry.is_sitemap), (&b"http://a.test/b"[..], false));
/// assert!(reader.next(&mut bytes).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct FeedReader {
    form: Form,
    draft: Draft,
}

impl Default for FeedReader {
    fn default() -> Self {
        Self::new()
    }
}

impl FeedReader {
    /// A reader at the beginning of a document.
    pub const fn new() -> Self {
        Self {
            form: Form::Unknown(0),
            draft: Draft::new(),
        }
    }

    /// Reads on until there is an entry, or an error, after which nothing comes any more; `None` if
    /// all bytes are used up.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Result<FeedEntry<'_>, FeedError>> {
        if let Err(error) = self.recognise(bytes) {
            self.form = Form::Refused;
            return Some(Err(error));
        }
        loop {
            let step = match &mut self.form {
                Form::Xml(reader, elements) => elements.take(reader.next(bytes)?, &mut self.draft),
                #[cfg(feature = "hints")]
                Form::Json(reader, items) => items.take(reader.next(bytes)?, &mut self.draft),
                Form::Lines => next_line(bytes, &mut self.draft)?,
                Form::Refused | Form::Unknown(_) => {
                    *bytes = &[];
                    return None;
                }
            };
            match step {
                DialectStep::Entry { is_sitemap } if self.draft.has_url() => {
                    return self.draft.take(is_sitemap).map(Ok);
                }
                DialectStep::On | DialectStep::Entry { .. } => {}
                DialectStep::Unknown => {
                    self.form = Form::Refused;
                    return Some(Err(FeedError::Root));
                }
            }
        }
    }

    /// The document has ended: a last line may lack its end.
    pub fn finish(&mut self) -> Option<FeedEntry<'_>> {
        match self.form {
            Form::Lines => self.draft.take(false),
            _ => None,
        }
    }

    /// Finds out what kind of document it is, by its first byte.
    fn recognise(&mut self, bytes: &mut &[u8]) -> Result<(), FeedError> {
        const MARK: [u8; 3] = *b"\xef\xbb\xbf";
        const GZIP: u8 = 0x1f;
        while let (Form::Unknown(seen), [byte, rest @ ..]) = (&self.form, *bytes) {
            let seen = usize::from(*seen);
            self.form = match *byte {
                byte if MARK.get(seen) == Some(&byte) => Form::Unknown(seen as u8 + 1),
                byte if byte.is_ascii_whitespace() => Form::Unknown(3),
                b'<' => Form::Xml(xml::Reader::new(), Elements::new()),
                // Sitemaps are not written in JSON, feeds are.
                #[cfg(feature = "hints")]
                b'{' => Form::Json(json::Reader::new(), Items::new()),
                #[cfg(not(feature = "hints"))]
                b'{' => return Err(FeedError::Root),
                GZIP => return Err(FeedError::Gzip),
                _ => Form::Lines,
            };
            if matches!(self.form, Form::Unknown(_)) {
                *bytes = rest;
            }
        }
        Ok(())
    }
}

/// Reads a line to its end.
fn next_line(bytes: &mut &[u8], draft: &mut Draft) -> Option<DialectStep> {
    while let [first, rest @ ..] = *bytes {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        if !is_end(first) {
            let line = bytes.split(is_end).next().unwrap_or_default();
            draft.extend(line);
            *bytes = bytes.get(line.len()..).unwrap_or_default();
            continue;
        }
        *bytes = rest;
        if draft.has_url() {
            return Some(DialectStep::Entry { is_sitemap: false });
        }
        draft.clear();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_as_small_as_the_documentation_says() {
        assert!(
            size_of::<FeedReader>() <= 432,
            "{}",
            size_of::<FeedReader>()
        );
    }
}
