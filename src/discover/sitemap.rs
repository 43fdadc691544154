//! The pages that a host lists itself (sitemaps.org): `urlset`, `sitemapindex`, or a line each.

use super::links::LONGEST_LINK;
use crate::fetch::HttpDate;
use crate::xml::{Event, Reader, split_name};

/// A page of a sitemap, or another sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitemapEntry<'s> {
    /// The URL as it was written; not checked.
    pub loc: &'s [u8],
    /// When it last changed, by the host's word.
    pub lastmod: Option<HttpDate>,
    /// It is a sitemap itself.
    pub is_sitemap: bool,
}

/// Why a sitemap cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SitemapError {
    /// It is compressed, and unpacking takes more memory than a probe has.
    Gzip,
    /// Its root is neither `urlset` nor `sitemapindex`.
    Root,
}

impl core::fmt::Display for SitemapError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Gzip => "sitemap is compressed: expected plain XML or text",
            Self::Root => {
                "sitemap is no list of pages: expected <urlset>, <sitemapindex> or a URL in each line"
            }
        })
    }
}

impl core::error::Error for SitemapError {}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// So many bytes of a byte-order mark were read, or white space.
    Unknown(u8),
    /// XML whose root has not come yet.
    Xml,
    Pages,
    Index,
    Lines,
    /// It cannot be read, and was said to be so.
    Refused,
}

/// An element whose text matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    Loc,
    LastMod,
}

/// Reads a sitemap of any size in fixed memory.
///
/// Elements of other names, such as those of images and news, are passed over by their prefix.
/// Entries with a URL of more than [`LONGEST_LINK`] bytes are left out. Work per byte is constant,
/// and the same bytes give the same entries however they are split.
///
/// ```
/// use dunlin::discover::SitemapReader;
///
/// let mut reader = SitemapReader::new();
/// let mut bytes: &[u8] = b"<urlset><url><loc>http://a.test/b</loc></url></urlset>";
/// let entry = reader.next(&mut bytes).unwrap().unwrap();
/// assert_eq!((entry.loc, entry.is_sitemap), (&b"http://a.test/b"[..], false));
/// assert!(reader.next(&mut bytes).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct SitemapReader {
    kind: Kind,
    xml: Reader<LONGEST_LINK>,
    /// The prefix of the root: what has another one is none of ours.
    prefix: [u8; 8],
    prefix_length: u8,
    inside: Inside,
    loc: [u8; LONGEST_LINK],
    loc_length: u16,
    /// The entry at hand has no URL that fits.
    is_long: bool,
    lastmod: Option<HttpDate>,
}

impl Default for SitemapReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SitemapReader {
    /// At the beginning of a file.
    pub const fn new() -> Self {
        Self {
            kind: Kind::Unknown(0),
            xml: Reader::new(),
            prefix: [0; 8],
            prefix_length: 0,
            inside: Inside::Nothing,
            loc: [0; LONGEST_LINK],
            loc_length: 0,
            is_long: false,
            lastmod: None,
        }
    }

    /// Reads on until there is an entry, or an error, after which nothing comes any more; `None` if
    /// all bytes are used up.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Result<SitemapEntry<'_>, SitemapError>> {
        while let (Kind::Unknown(seen), [byte, rest @ ..]) = (self.kind, *bytes) {
            const MARK: [u8; 3] = *b"\xef\xbb\xbf";
            const GZIP: u8 = 0x1f;
            self.kind = match *byte {
                byte if MARK.get(usize::from(seen)) == Some(&byte) => Kind::Unknown(seen + 1),
                byte if byte.is_ascii_whitespace() => Kind::Unknown(3),
                b'<' => Kind::Xml,
                GZIP => {
                    self.kind = Kind::Refused;
                    return Some(Err(SitemapError::Gzip));
                }
                _ => Kind::Lines,
            };
            if matches!(self.kind, Kind::Unknown(_)) {
                *bytes = rest;
            }
        }
        match self.kind {
            Kind::Lines => self.next_line(bytes).then(|| Ok(self.take(false))),
            Kind::Refused | Kind::Unknown(_) => {
                *bytes = &[];
                None
            }
            Kind::Xml | Kind::Pages | Kind::Index => self.next_element(bytes),
        }
    }

    /// The file has ended: a last line may lack its end.
    pub fn finish(&mut self) -> Option<SitemapEntry<'_>> {
        let has_line = self.kind == Kind::Lines && self.has_loc();
        has_line.then(|| self.take(false))
    }

    fn next_line(&mut self, bytes: &mut &[u8]) -> bool {
        while let [byte, rest @ ..] = *bytes {
            *bytes = rest;
            if !matches!(byte, b'\r' | b'\n') {
                self.keep(*byte);
            } else if self.has_loc() {
                return true;
            } else {
                self.clear();
            }
        }
        false
    }

    fn next_element(
        &mut self,
        bytes: &mut &[u8],
    ) -> Option<Result<SitemapEntry<'_>, SitemapError>> {
        loop {
            match self.xml.next(bytes)? {
                Event::Start(name) => {
                    let (prefix, local) = split_name(name);
                    if self.kind == Kind::Xml {
                        self.kind = match local {
                            b"urlset" => Kind::Pages,
                            b"sitemapindex" => Kind::Index,
                            _ => {
                                self.kind = Kind::Refused;
                                return Some(Err(SitemapError::Root));
                            }
                        };
                        // A prefix that does not fit has no elements of ours.
                        self.prefix_length = prefix.len().min(255) as u8;
                        for (to, from) in self.prefix.iter_mut().zip(prefix) {
                            *to = *from;
                        }
                        continue;
                    }
                    let is_ours = self.prefix.get(..self.prefix_length.into()) == Some(prefix);
                    self.inside = match local {
                        _ if !is_ours => Inside::Nothing,
                        b"loc" => Inside::Loc,
                        b"lastmod" => Inside::LastMod,
                        b"url" | b"sitemap" => {
                            self.clear();
                            Inside::Nothing
                        }
                        _ => Inside::Nothing,
                    };
                }
                Event::Text { text, cut } => match self.inside {
                    Inside::Loc => {
                        self.is_long = cut;
                        self.loc_length = text.len() as u16;
                        for (to, from) in self.loc.iter_mut().zip(text) {
                            *to = *from;
                        }
                    }
                    Inside::LastMod => self.lastmod = HttpDate::parse_timestamp(text),
                    Inside::Nothing => {}
                },
                Event::End(name) => {
                    self.inside = Inside::Nothing;
                    let (prefix, local) = split_name(name);
                    let is_ours = self.prefix.get(..self.prefix_length.into()) == Some(prefix);
                    if is_ours && matches!(local, b"url" | b"sitemap") && self.has_loc() {
                        let is_sitemap = self.kind == Kind::Index;
                        return Some(Ok(self.take(is_sitemap)));
                    }
                }
                Event::Attribute { .. } => {}
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        match self.loc.get_mut(usize::from(self.loc_length)) {
            Some(slot) => {
                *slot = byte;
                self.loc_length += 1;
            }
            None => self.is_long = true,
        }
    }

    fn clear(&mut self) {
        self.loc_length = 0;
        self.is_long = false;
        self.lastmod = None;
    }

    fn has_loc(&self) -> bool {
        let loc = self.loc.get(..self.loc_length.into()).unwrap_or_default();
        !self.is_long && !loc.trim_ascii().is_empty()
    }

    /// Hands out the entry at hand.
    fn take(&mut self, is_sitemap: bool) -> SitemapEntry<'_> {
        let length = usize::from(core::mem::take(&mut self.loc_length));
        SitemapEntry {
            loc: self.loc.get(..length).unwrap_or_default().trim_ascii(),
            lastmod: self.lastmod.take(),
            is_sitemap,
        }
    }
}
