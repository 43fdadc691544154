//! Where a robots.txt says that the host's sitemap is.

use crate::feed::LONGEST_URL;

/// Finds the first `Sitemap:` of a robots.txt, as it streams by.
#[derive(Debug)]
pub(super) struct SitemapLine {
    /// Bytes of the key that the line at hand begins with.
    at: u8,
    url: heapless::Vec<u8, LONGEST_URL>,
}

/// What such a line begins with.
const SITEMAP: &[u8] = b"sitemap:";
/// The line at hand is another one.
const OTHER: u8 = 0xfe;
/// The line was found, and has ended.
const DONE: u8 = 0xff;

impl SitemapLine {
    pub(super) const fn new() -> Self {
        Self {
            at: 0,
            url: heapless::Vec::new(),
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.push(*byte);
        }
    }

    fn push(&mut self, byte: u8) {
        let ends = matches!(byte, b'\r' | b'\n');
        self.at = match self.at {
            DONE => DONE,
            _ if ends && !self.url.is_empty() => DONE,
            _ if ends => 0,
            OTHER => OTHER,
            0 if byte.is_ascii_whitespace() || !byte.is_ascii() => 0,
            at if usize::from(at) < SITEMAP.len() => {
                let expected = SITEMAP.get(usize::from(at));
                match expected == Some(&byte.to_ascii_lowercase()) {
                    true => at + 1,
                    false => OTHER,
                }
            }
            at if byte.is_ascii_whitespace() && self.url.is_empty() => at,
            at => match self.url.push(byte) {
                Ok(()) => at,
                Err(_) => {
                    // Too long to be kept.
                    self.url.clear();
                    OTHER
                }
            },
        };
    }

    /// What it says, if there was one.
    pub(super) fn url(&self) -> Option<&[u8]> {
        let url = self.url.trim_ascii();
        (!url.is_empty()).then_some(url)
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
