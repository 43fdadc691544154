//! The lines of a robots.txt that name sitemaps.

use crate::fetch::ascii::{same, trimmed};
use crate::store::LONGEST_TEXT;

/// Finds the lines `Sitemap: URL` of a robots.txt.
#[derive(Debug, Default)]
pub(super) struct RobotsLines {
    line: heapless::Vec<u8, LONGEST_TEXT>,
    /// The line is too long.
    long: bool,
    /// It has named a sitemap.
    pub has_named: bool,
}

impl RobotsLines {
    /// Takes the next bytes of it.
    pub(super) fn take(&mut self, bytes: &[u8], named: &mut dyn FnMut(&[u8])) {
        const FIELD: &[u8] = b"sitemap:";
        for byte in bytes {
            if !matches!(byte, b'\r' | b'\n') {
                self.long |= !byte.is_ascii() || self.line.push(*byte).is_err();
                continue;
            }
            if let Some((field, url)) = self.line.split_at_checked(FIELD.len())
                && same(field, FIELD)
                && !self.long
            {
                let url = trimmed(url);
                let end = url.iter().position(|byte| matches!(byte, b'#' | b' '));
                self.has_named = true;
                named(url.get(..end.unwrap_or(url.len())).unwrap_or_default());
            }
            self.line.clear();
            self.long = false;
        }
    }
}
