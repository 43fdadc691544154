//! What is not where the list says: pages and robots.txt files that redirects have led away from there.
//!
//! Kept in bytes that the board provides, as one record behind the other: a URL of 60 characters takes about 80. A page
//! that has moved for good is remembered until the place is needed; one that is on its way is never given up for
//! another. With no bytes at all, no redirect is followed.

use serde::{Deserialize, Serialize};

use super::memory::Verdict;
use crate::fetch::Hops;
use crate::time::{Duration, Instant};

/// The longest redirect target that is followed.
pub(super) const LONGEST_TARGET: usize = 256;
/// Bytes of a record's length, which precedes it.
const LENGTH: usize = 2;

/// What is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// A page.
    Page(u16),
    /// The robots.txt of a host of the list.
    Robots(u16),
    /// The robots.txt that governs where a page is now.
    RobotsOf(u16),
}

/// Where it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Detour {
    pub what: What,
    pub hops: Hops,
    /// There are turns to come: robots.txt, or the next redirect.
    pub under_way: bool,
    /// Do the robots rules of the place allow it?
    pub verdict: Verdict,
    /// Seconds since boot until which the verdict holds.
    pub until: u32,
    pub url: heapless::String<LONGEST_TARGET>,
}

impl Detour {
    /// The verdict of its own host's robots rules, if there is one that still holds.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        if seconds(now) < self.until { self.verdict } else { Verdict::Unknown }
    }

    pub(super) fn judge(&mut self, verdict: Verdict, until: Instant) {
        (self.verdict, self.until) = (verdict, seconds(until));
    }
}

fn seconds(instant: Instant) -> u32 {
    (instant - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32
}

/// All of them.
#[derive(Debug)]
pub(super) struct Elsewhere<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Where something is, if not where it belongs. Work: the records.
    pub(super) fn get(&self, what: What) -> Option<Detour> {
        let (_, record) = self.find(what)?;
        postcard::from_bytes(record).ok()
    }

    /// Remembers where something is; false if there is no room.
    pub(super) fn put(&mut self, detour: &Detour) -> bool {
        self.remove(detour.what);
        loop {
            let room = self.bytes.get_mut(self.used..).and_then(<[u8]>::split_first_chunk_mut::<LENGTH>);
            let Some((length, room)) = room else { return false };
            if let Ok(record) = postcard::to_slice(detour, room) {
                *length = (record.len() as u16).to_le_bytes();
                self.used += LENGTH + record.len();
                return true;
            }
            // The oldest that has arrived makes room; a page that is on its way would have to start over.
            let Some(oldest) = self.records().find_map(|(_, record)| arrived(record)) else { return false };
            self.remove(oldest);
        }
    }

    /// Forgets where something is: it is looked for where it belongs again.
    pub(super) fn remove(&mut self, what: What) {
        let Some((start, record)) = self.find(what) else { return };
        let end = start + record.len();
        self.bytes.copy_within(end..self.used, start - LENGTH);
        self.used -= end - start + LENGTH;
    }

    fn find(&self, what: What) -> Option<(usize, &[u8])> {
        self.records().find(|(_, record)| postcard::from_bytes(record) == Ok(what))
    }

    /// Each record, and where it starts.
    fn records(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let (length, rest) = self.bytes.get(start..self.used)?.split_first_chunk::<LENGTH>()?;
            let record = rest.get(..usize::from(u16::from_le_bytes(*length)))?;
            let at = start + LENGTH;
            start = at + record.len();
            Some((at, record))
        })
    }
}

/// What a record is about, unless it is under way.
fn arrived(record: &[u8]) -> Option<What> {
    let (what, _, under_way): (What, Hops, bool) = postcard::from_bytes(record).ok()?;
    (!under_way).then_some(what)
}

/// How long a verdict holds when its host's cache headers say nothing of it.
pub(super) fn verdict_until(
    access: crate::fetch::robots::Access,
    lifetime: Option<Duration>,
    now: Instant,
) -> Instant {
    let mut robots = crate::fetch::robots::HostRobots::UNKNOWN;
    robots.record(access, lifetime, now);
    robots.ask_at()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Url;

    fn detour(page: u16, under_way: bool) -> Detour {
        let url = heapless::String::try_from("http://a.test/a/path/of/some/length").unwrap_or_default();
        let hops = Url::parse("http://b.test/").map(|url| Hops::from(&url)).expect("a URL");
        Detour { what: What::Page(page), hops, under_way, verdict: Verdict::Allowed, until: 60, url }
    }

    #[test]
    fn keeps_what_is_under_way_and_forgets_the_oldest_else() {
        let mut bytes = [0; 160];
        let mut all = Elsewhere::new(&mut bytes);
        assert!(all.put(&detour(0, true)) && all.put(&detour(1, false)) && all.put(&detour(2, false)));
        assert!(all.put(&detour(3, false)), "a page that has arrived makes room");
        assert!(all.get(What::Page(0)).is_some() && all.get(What::Page(1)).is_none());
        assert!(all.get(What::Page(3)).is_some_and(|found| found.url.ends_with("length")));
        assert!(all.put(&detour(2, true)) && all.put(&detour(3, true)), "what is known is replaced");
        assert!(!all.put(&detour(4, true)), "pages under way keep their places");
        all.remove(What::Page(0));
        assert!(all.put(&detour(4, true)) && all.get(What::Robots(4)).is_none());
    }

    #[test]
    fn verdicts_expire() {
        let mut detour = detour(0, false);
        detour.judge(Verdict::Denied, Instant::ZERO + Duration::HOUR);
        assert_eq!(detour.verdict(Instant::ZERO + Duration::from_secs(3_599)), Verdict::Denied);
        assert_eq!(detour.verdict(Instant::ZERO + Duration::HOUR), Verdict::Unknown);
    }
}
