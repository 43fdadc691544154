//! Which sitemap is read next.
//!
//! One is read at a time. Of an index, as many parts wait as there is room for; they come in the
//! order of their digests, so that one number says how far an index was read. While parts are left,
//! the index waits behind those that were taken, and is read again after some visits to pages:
//! large indexes are read bit by bit, and take one visit in five at the most.

use super::urls::{KnownUrls, url_text};
use super::{Kind, ProbeParts, UrlText};
use crate::discover::digest;
use crate::fetch::Url;
use crate::probe::setup::Setup;
use crate::store::LONGEST_TEXT;
use crate::time::{Duration, Instant};

/// Sitemaps that wait at a time.
const WAITING: usize = 4;
/// Sitemaps of which is remembered when they were read.
const READ: usize = 16;
/// How long a sitemap is not read again.
const HOLDS: Duration = Duration::DAY;
/// Visits to others before an index is gone on with.
const REST: u8 = 16;

/// A sitemap that waits to be read.
#[derive(Debug)]
struct Waiting {
    url: UrlText,
    digest: u32,
    /// The digest of the index that names it; 0 if a robots.txt does.
    index: u32,
    /// It is an index with parts left that waits for so many visits.
    rest: Option<u8>,
}

/// A sitemap that was read.
#[derive(Debug)]
struct Read {
    digest: u32,
    /// Of an index with parts left, the last part that was taken.
    last_part: u32,
    /// It is not read again before.
    until: Instant,
}

/// Sitemaps that wait, and those that were read.
#[derive(Debug)]
pub(super) struct Sitemaps {
    /// The owner wants them to be read.
    are_read: bool,
    waiting: heapless::Vec<Waiting, WAITING>,
    read: heapless::Vec<Read, READ>,
    /// The index that is being read has more parts than there is room for.
    has_more: bool,
}

impl Sitemaps {
    /// None yet; they are read, or not.
    pub(super) const fn new(are_read: bool) -> Self {
        Self {
            are_read,
            waiting: heapless::Vec::new(),
            read: heapless::Vec::new(),
            has_more: false,
        }
    }

    /// A sitemap waits, unless it does already or there is no room.
    fn add(&mut self, digest: u32, index: u32, url: UrlText) {
        if !self.waits(digest) {
            let _ = self.waiting.push(Waiting {
                url,
                digest,
                index,
                rest: None,
            });
        }
    }

    fn waits(&self, digest: u32) -> bool {
        self.waiting.iter().any(|other| other.digest == digest)
    }

    /// A part of an index waits, if its turn has come: those with the lowest digests do, behind
    /// the last part that was taken.
    fn add_part(&mut self, digest: u32, index: u32, url: UrlText) {
        let read = self.read.iter().find(|read| read.digest == index);
        let last = read.map_or(0, |read| read.last_part);
        if digest <= last || digest == index || self.waits(digest) {
            return;
        }
        // The index itself needs room to be gone on with. But one part is taken each time.
        let has_room = self.waiting.len() + 1 < WAITING;
        let parts = self.waiting.iter_mut().filter(|part| part.index == index);
        match parts.max_by_key(|part| part.digest) {
            Some(latest) if !has_room => {
                self.has_more = true;
                if digest < latest.digest {
                    latest.digest = digest;
                    latest.url = url;
                }
            }
            _ => self.add(digest, index, url),
        }
    }

    /// A sitemap was read to its end. If it is an index with parts left, it waits again, below the
    /// parts that were taken. Where there is no room, it is gone on with when a robots.txt names it
    /// again.
    fn ends(&mut self, digest: u32, url: &UrlText) {
        let parts = self.waiting.iter().filter(|part| part.index == digest);
        let last = parts.map(|part| part.digest).max();
        let more = core::mem::take(&mut self.has_more);
        if let Some(read) = self.read.iter_mut().find(|read| read.digest == digest) {
            read.last_part = last.filter(|_| more).unwrap_or(0);
        }
        if more && !self.waiting.is_full() {
            let index = Waiting {
                url: url.clone(),
                digest,
                index: 0,
                rest: Some(REST),
            };
            let _ = self.waiting.insert(0, index);
        }
    }

    /// The sitemap that is read now, if it is time for one that waits: the last that came.
    fn next(&mut self, now: Instant) -> Option<UrlText> {
        let is_ready = |sitemap: &Waiting| sitemap.rest.is_none_or(|rest| rest == 0);
        let at = self.waiting.iter().rposition(is_ready)?;
        let next = self.waiting.remove(at);
        self.has_more = false;
        let before = self.read.iter().position(|read| read.digest == next.digest);
        let before = before.map(|at| self.read.remove(at));
        let goes_on = next.rest.is_some();
        let is_time = before.as_ref().is_none_or(|read| read.until <= now);
        if self.read.is_full() {
            self.read.remove(0);
        }
        // What was read last stays longest: an index that is gone on with is not forgotten.
        let _ = self.read.push(Read {
            digest: next.digest,
            last_part: before.as_ref().map_or(0, |read| read.last_part),
            until: match before {
                Some(read) if !is_time => read.until,
                _ => now + HOLDS,
            },
        });
        (goes_on || is_time).then_some(next.url)
    }

    /// One more visit has ended.
    fn rest(&mut self) {
        for sitemap in &mut self.waiting {
            sitemap.rest = sitemap.rest.map(|rest| rest.saturating_sub(1));
        }
    }
}

// What robots.txt files and indexes name, and what is read of that.
impl Sitemaps {
    /// A robots.txt names a sitemap of its own host: it waits to be read, if any are, and unless
    /// enough do.
    pub(super) fn name_in_robots(&mut self, setup: &Setup<'_>, robots: &Url<'_>, url: &[u8]) {
        let mut text = [0; LONGEST_TEXT];
        if let Ok(url) = robots.join(url, &mut text)
            && url.same_server(robots)
            && let Some(text) = self.text_of(&url)
        {
            self.add(digest(&url, &setup.config.key), 0, text);
        }
    }

    /// The index that is being read names a sitemap.
    pub(super) fn name_part(&mut self, setup: &Setup<'_>, url: &Url<'_>) {
        let index = Self::read_now(setup);
        if let Some((text, index)) = self.text_of(url).zip(index) {
            self.add_part(digest(url, &setup.config.key), index, text);
        }
    }

    /// The sitemap that is being read has come to its end.
    pub(super) fn end(&mut self, setup: &Setup<'_>) {
        if let Some(digest) = Self::read_now(setup) {
            self.ends(digest, &setup.found.sitemap.borrow());
        }
    }

    fn text_of(&self, url: &Url<'_>) -> Option<UrlText> {
        url_text(url).filter(|_| self.are_read)
    }

    /// The digest of the sitemap that is being read, wherever that has led.
    fn read_now(setup: &Setup<'_>) -> Option<u32> {
        let text = setup.found.sitemap.borrow();
        setup.digest_of(&text)
    }

    /// Lets the next sitemap be read, if none is.
    pub(super) fn begin(
        &mut self,
        urls: &mut KnownUrls<'_>,
        pages: &mut ProbeParts<'_, '_>,
        now: Instant,
    ) {
        self.rest();
        let setup = pages.setup;
        let mut kinds = setup.found.pages.iter().map(|page| page.kind());
        if kinds.any(|kind| kind == Kind::Sitemap) {
            return;
        }
        let Some(text) = self.next(now) else {
            return;
        };
        let Ok(url) = Url::parse(&text) else {
            return;
        };
        let Ok(host) = urls.host_for(pages, &url) else {
            return;
        };
        let Some(place) = pages.add(host, now) else {
            return;
        };
        if let Some(page) = setup.found.pages.get(usize::from(place)) {
            setup.found.sitemap.replace(text.clone());
            page.set_host(host);
            page.set_kind(Kind::Sitemap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::vec::Vec;

    const INDEX: u32 = 500;

    fn url() -> UrlText {
        UrlText::new()
    }

    /// Reads an index of these parts until nothing waits any more; the parts, and how often the
    /// index was read.
    fn read_all(sitemaps: &mut Sitemaps, parts: &[u32], now: Instant) -> (Vec<u32>, usize) {
        let mut read = Vec::new();
        let mut indexes = 0;
        sitemaps.add(INDEX, 0, url());
        for _ in 0..10_000 {
            sitemaps.rest();
            let before = sitemaps.waiting.len();
            let next = sitemaps.next(now);
            let digest = sitemaps.read.last().map_or(0, |read| read.digest);
            if next.is_none() || sitemaps.waiting.len() == before {
                continue;
            }
            if digest != INDEX {
                read.push(digest);
                continue;
            }
            indexes += 1;
            for part in parts {
                sitemaps.add_part(*part, INDEX, url());
            }
            sitemaps.ends(INDEX, &url());
        }
        (read, indexes)
    }

    #[test]
    fn all_parts_of_an_index_are_read_once_a_day() {
        for count in [1, 3, 4, 10, 100] {
            let parts: Vec<u32> = (1..=count)
                .map(|part: u32| part.wrapping_mul(0x9e37_79b9))
                .collect();
            let mut sorted = parts.clone();
            sorted.sort_unstable();
            let mut sitemaps = Sitemaps::new(true);
            for day in 0..2 {
                let now = Instant::ZERO + HOLDS * day;
                let (mut read, indexes) = read_all(&mut sitemaps, &parts, now);
                read.sort_unstable();
                assert_eq!(read, sorted, "{count} parts");
                assert!(indexes <= 1 + count as usize / 3, "{indexes} times");
            }
        }
    }

    #[test]
    fn an_index_is_gone_on_with_where_others_wait() {
        let mut sitemaps = Sitemaps::new(true);
        let parts: Vec<u32> = (1..=5).collect();
        for other in 1_001..=1_003 {
            sitemaps.add(other, 0, url());
        }
        let (mut read, _) = read_all(&mut sitemaps, &parts, Instant::ZERO);
        read.retain(|digest| *digest < 1_000);
        // Without room for the index, one part each time.
        let (more, _) = read_all(&mut sitemaps, &parts, Instant::ZERO + HOLDS);
        read.extend(more);
        read.sort_unstable();
        read.dedup();
        assert_eq!(read, parts);
    }
}
