//! What of single pages counts as a change, in a section of its own.

use super::record::{Reader, Record};
use super::{Image, ImageError, Tag};
use crate::catalog::{Ignore, PageFilter, Select};

impl<'a> Image<'a> {
    /// What of a page counts as a change, beyond what [`Image::ignores`] says of all pages. Work:
    /// the sections, and a binary search.
    ///
    /// # Errors
    /// [`ImageError::Record`] for a filter that cannot be read.
    pub fn filter(&self, page: usize) -> Result<PageFilter<'a>, ImageError> {
        let found = self.about(Tag::FILTERS, page)?;
        Ok(found.map(|(_, filter)| filter).unwrap_or_default())
    }
}

impl<'a> Record<'a> for PageFilter<'a> {
    fn read(from: &mut Reader<'a>) -> Self {
        let select = from.option(|from| Select {
            from: from.bytes(),
            to: from.bytes(),
        });
        let count = from.byte();
        // More than can be looked for are not looked at.
        let ignore = (0..count.min(Ignore::MOST as u8)).map(|_| Ignore::read(from));
        Self {
            select,
            ignore: ignore.collect(),
        }
    }

    #[cfg(feature = "std")]
    fn write(&self, to: &mut super::record::Writer) {
        to.option(self.select, |to, select| {
            to.bytes(select.from);
            to.bytes(select.to);
        });
        to.byte(self.ignore.len() as u8);
        self.ignore.iter().for_each(|ignore| ignore.write(to));
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::catalog::{Config, Host, Page};
    use crate::image::Builder;

    fn filter() -> PageFilter<'static> {
        let pair = |from: &'static str, to: &'static str| Ignore {
            from: from.as_bytes(),
            to: to.as_bytes(),
        };
        PageFilter {
            select: Some(Select {
                from: b"<main>",
                to: b"</main>",
            }),
            ignore: [pair("a", "b"), pair("c", "")].into_iter().collect(),
        }
    }

    fn image(payload: Option<&[u8]>) -> std::vec::Vec<u8> {
        let host = Host {
            pages: 2,
            ..Host::new("example.org", 0)
        };
        let pages = ["http://example.org/a", "http://example.org/b"];
        let builder = Builder::new(&Config::new("dunlin/0.1"))
            .hosts(&[host])
            .pages(&pages.map(|url| Page::new(0, url)));
        match payload {
            Some(payload) => builder.section(Tag::FILTERS, payload).build_unchecked(),
            None => builder.filters(&[(1, filter())]).build_unchecked(),
        }
    }

    /// The section as it is stored: one record, where it begins, and its fields.
    const STORED: &[u8] = b"\x01\0\0\0\x08\0\0\0\x01\x01\x06<main>\x07</main>\x02\x01a\x01b\x01c\0";

    #[test]
    fn filters_are_stored_like_this_and_read_again() {
        let bytes = image(None);
        let image = Image::parse(&bytes).expect("an image");
        assert_eq!(image.section(Tag::FILTERS), Some(STORED));
        assert_eq!(image.filter(1), Ok(filter()));
        assert_eq!(image.filter(0), Ok(PageFilter::default()));
    }

    #[test]
    fn a_filter_that_is_cut_off_or_damaged_is_none() {
        for end in 0..STORED.len() {
            let bytes = image(Some(&STORED[..end]));
            if let Ok(image) = Image::parse(&bytes) {
                assert!(image.filter(1).is_err() || image.filter(1) == Ok(PageFilter::default()));
            }
        }
        for place in 0..STORED.len() {
            let mut damaged = STORED.to_vec();
            damaged[place] ^= 0xff;
            let bytes = image(Some(&damaged));
            if let Ok(image) = Image::parse(&bytes) {
                let _ = (image.filter(0), image.filter(1));
            }
        }
    }
}
