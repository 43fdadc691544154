//! Where a robots.txt says that the host's sitemap is.

use crate::feed::LONGEST_URL;
use crate::fetch::ascii::{same, trimmed};
use crate::xml::buffer::Buffer;

/// What such a line begins with.
const SITEMAP: &[u8] = b"sitemap:";
/// Room for it, for a URL, and for white space and a byte-order mark around them.
const LONGEST_LINE: usize = LONGEST_URL + 16;

/// Finds the first `Sitemap:` of a robots.txt, as it streams by.
#[derive(Debug)]
pub(super) struct SitemapLine {
    /// The line at hand, or the one that was found.
    line: Buffer<LONGEST_LINE>,
    found: bool,
}

impl SitemapLine {
    pub(super) const fn new() -> Self {
        Self {
            line: Buffer::new(),
            found: false,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.found {
                return;
            }
            if !matches!(byte, b'\r' | b'\n') {
                self.line.push(*byte);
            } else if self.url().is_some() {
                self.found = true;
            } else {
                self.line.clear();
            }
        }
    }

    /// What it says, if there was one.
    pub(super) fn url(&self) -> Option<&[u8]> {
        let line = self.line.whole();
        let start = line.iter().position(u8::is_ascii_graphic)?;
        let (field, url) = line.get(start..)?.split_at_checked(SITEMAP.len())?;
        let url = trimmed(url);
        let fits = (1..=LONGEST_URL).contains(&url.len());
        (same(field, SITEMAP) && fits).then_some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;

    fn found(text: &str, split: usize) -> Option<std::string::String> {
        let mut line = SitemapLine::new();
        let (first, second) = text.as_bytes().split_at(split);
        line.take(first);
        line.take(second);
        line.url()
            .map(|url| std::string::String::from_utf8_lossy(url).into_owned())
    }

    #[test]
    fn a_robots_txt_says_where_its_sitemap_is() {
        let cases = [
            (
                "Sitemap: http://a.test/s.xml\n",
                Some("http://a.test/s.xml"),
            ),
            (
                "User-agent: *\r\nDisallow: /x\r\nSITEMAP:/s.xml \r\nSitemap: /t.xml",
                Some("/s.xml"),
            ),
            ("\u{feff}sitemap:\t/s.xml", Some("/s.xml")),
            ("Disallow: /sitemap: x\nSite: y\n", None),
            ("Sitemap:\n\nDisallow: /\n", None),
        ];
        for (text, expected) in cases {
            for split in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert_eq!(
                    found(text, split).as_deref(),
                    expected,
                    "{text:?} at {split}"
                );
            }
        }
        let long = std::format!("Sitemap: /{}\nSitemap: /b\n", "a".repeat(LONGEST_URL));
        assert_eq!(found(&long, 0).as_deref(), Some("/b"));
    }
}
