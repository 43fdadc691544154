//! Which pages of an image are tellers: documents in which a host lists its pages and their dates.
//!
//! A teller is a page like any other, with a place of its own behind its host's pages; the section
//! only says which they are. Who does not know it visits them like other pages. Its payload is a
//! version, then three bytes a teller: the page, little-endian, and where its URL comes from.

use super::{Image, Tag};

/// The version of the payload that is written and read.
const VERSION: u8 = 1;

/// Where the URL of a teller comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TellerSource {
    /// The owner of the list knows it.
    Given,
    /// The host's robots.txt says it; if that does not, it is where sitemaps are as a rule.
    Auto,
}

/// A page that is a teller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Teller {
    /// The number of the page.
    pub page: u16,
    /// Where its URL comes from.
    pub source: TellerSource,
}

impl<'a> Image<'a> {
    /// The tellers. What cannot be read is left out.
    ///
    /// ```
    /// use dunlin::catalog::{Config, Host, Page};
    /// use dunlin::image::{Builder, Image, Teller, TellerSource};
    ///
    /// let teller = Teller { page: 1, source: TellerSource::Given };
    /// let bytes = Builder::new(&Config::new("dunlin/0.1"))
    ///     .hosts(&[Host { pages: 2, ..Host::new("example.org", 0) }])
    ///     .pages(&[
    ///         Page::new(0, "http://example.org/"),
    ///         Page::new(0, "http://example.org/sitemap.xml"),
    ///     ])
    ///     .tellers(&[teller])
    ///     .build()?;
    /// assert_eq!(Image::parse(&bytes)?.tellers().next(), Some(teller));
    /// # Ok::<(), dunlin::image::ImageError>(())
    /// ```
    pub fn tellers(&self) -> impl Iterator<Item = Teller> + use<'a> {
        let records = match self.section(Tag::TELLERS) {
            Some([VERSION, records @ ..]) => records,
            _ => &[],
        };
        let (records, _) = records.as_chunks::<3>();
        records.iter().map(|&[low, high, source]| Teller {
            page: u16::from_le_bytes([low, high]),
            source: match source {
                0 => TellerSource::Given,
                _ => TellerSource::Auto,
            },
        })
    }
}

#[cfg(feature = "std")]
impl super::Builder {
    /// Says which pages are tellers.
    pub fn tellers(self, tellers: &[Teller]) -> Self {
        if tellers.is_empty() {
            return self;
        }
        let mut payload = std::vec![VERSION];
        for teller in tellers {
            payload.extend(teller.page.to_le_bytes());
            payload.push(u8::from(teller.source == TellerSource::Auto));
        }
        self.section(Tag::TELLERS, &payload)
    }
}
