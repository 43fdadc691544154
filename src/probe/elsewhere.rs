//! What is not where the list says: pages and robots.txt files that redirects have led away from
//! there.
//!
//! Kept in bytes that the board provides, as one record behind the other: a URL of 60 characters
//! takes about 80. A page that has moved for good is remembered until the place is needed; one that
//! is on its way is never given up for another. With no bytes at all, no redirect is followed. The
//! store keeps a copy of the moves, see [`MoveRecord`](crate::store::MoveRecord).

use serde::{Deserialize, Serialize};

use super::memory::Verdict;
use crate::fetch::Hops;
use crate::store::NOWHERE;
use crate::time::{Duration, Instant};

/// The longest redirect target that is followed.
pub(super) const LONGEST_TARGET: usize = 256;
/// Bytes before each record: its length, and what the store knows of it.
const HEADER: usize = 4;

/// What is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// A page.
    Page(u16),
    /// The robots.txt of a host of the list.
    Robots(u16),
    /// The robots.txt that governs where a page is now.
    RobotsOf(u16),
    /// Nothing: a page is where the list says, and the store still says otherwise.
    Home(u16),
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
        if seconds(now) < self.until {
            self.verdict
        } else {
            Verdict::Unknown
        }
    }

    pub(super) fn judge(&mut self, verdict: Verdict, until: Instant) {
        (self.verdict, self.until) = (verdict, seconds(until));
    }
}

fn seconds(instant: Instant) -> u32 {
    (instant - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32
}

/// What the store knows of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// Where its copy is.
    sector: u8,
    /// Has it changed since?
    unsaved: bool,
}

impl Kept {
    const NOT: Self = Self {
        sector: NOWHERE,
        unsaved: false,
    };

    fn from_bytes([sector, unsaved]: [u8; 2]) -> Self {
        Self {
            sector,
            unsaved: unsaved != 0,
        }
    }

    fn to_bytes(self) -> [u8; 2] {
        [self.sector, self.unsaved.into()]
    }
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
        let (_, record, _) = self.find(what)?;
        postcard::from_bytes(record).ok()
    }

    /// Remembers where something is; false if there is no room. What the store knows of it stays
    /// known.
    pub(super) fn put(&mut self, detour: &Detour) -> bool {
        let kept = self.remove(detour.what).unwrap_or(Kept::NOT);
        while !self.append(kept, detour) {
            // The oldest that has arrived makes room; a page that is on its way would have to start
            // over. The store's copy of it stays: it is still true.
            let Some(oldest) = self.records().find_map(|(_, record, _)| arrived(record)) else {
                return false;
            };
            self.remove(oldest);
        }
        true
    }

    /// A page has moved there for good, and the store has to be told.
    pub(super) fn settle(&mut self, detour: &Detour) {
        if self.put(detour) {
            self.change(detour.what, |kept| kept.unsaved = true);
        }
    }

    /// The store knows where a page has moved to, and keeps that in this sector.
    pub(super) fn restore(&mut self, detour: &Detour, sector: u8) {
        if self.put(detour) {
            self.change(detour.what, |kept| {
                *kept = Kept {
                    sector,
                    unsaved: false,
                }
            });
        }
    }

    /// Forgets where a page has moved to: it is looked for where the list says again, and the store
    /// has to be told if it knew.
    pub(super) fn forget(&mut self, page: u16) {
        let Some(mut detour) = self.get(What::Page(page)) else {
            return;
        };
        let Some(kept) = self.remove(detour.what) else {
            return;
        };
        // It knows, or is being told.
        if kept.sector != NOWHERE || !detour.under_way && !kept.unsaved {
            detour.url.clear();
            (detour.what, detour.under_way) = (What::Home(page), true);
            // What was removed has made room.
            self.append(
                Kept {
                    unsaved: true,
                    ..Kept::NOT
                },
                &detour,
            );
        }
    }

    /// Forgets where something is: it is looked for where it belongs again.
    pub(super) fn remove(&mut self, what: What) -> Option<Kept> {
        let (start, record, kept) = self.find(what)?;
        let end = start + record.len();
        self.bytes.copy_within(end..self.used, start - HEADER);
        self.used -= end - start + HEADER;
        Some(kept)
    }

    /// A page of whose move the store has to be told.
    pub(super) fn unsaved(&self) -> Option<u16> {
        // Of a page that is on its way again, nothing is known yet.
        let settled = |record| {
            arrived(record).is_some() || matches!(postcard::from_bytes(record), Ok(What::Home(_)))
        };
        self.moves()
            .find(|(_, record, kept)| kept.unsaved && settled(record))
            .map(|(page, ..)| page)
    }

    /// Pages whose moves the store keeps in this sector.
    pub(super) fn in_sector(&self, sector: u8) -> impl Iterator<Item = u16> {
        self.moves()
            .filter(move |(.., kept)| kept.sector == sector)
            .map(|(page, ..)| page)
    }

    /// Where a page has moved to for good, to be stored: it counts as saved from here on, unless it
    /// changes again.
    pub(super) fn read(&mut self, page: u16) -> Option<heapless::String<LONGEST_TARGET>> {
        for what in [What::Page(page), What::Home(page)] {
            self.change(what, |kept| kept.unsaved = false);
        }
        self.get(What::Page(page))
            .filter(|detour| !detour.under_way)
            .map(|detour| detour.url)
    }

    /// What was read is stored in this sector; [`NOWHERE`] if it is not.
    pub(super) fn saved(&mut self, page: u16, sector: u8) {
        if sector == NOWHERE {
            for what in [What::Page(page), What::Home(page)] {
                self.change(what, |kept| {
                    *kept = Kept {
                        sector,
                        unsaved: true,
                    }
                });
            }
            return;
        }
        self.change(What::Page(page), |kept| kept.sector = sector);
        // That a page is where the list says need not be kept: by the time that is erased, whatever
        // said otherwise is.
        if self
            .find(What::Home(page))
            .is_some_and(|(.., kept)| !kept.unsaved)
        {
            self.remove(What::Home(page));
        }
    }

    fn append(&mut self, kept: Kept, record: &Detour) -> bool {
        let room = self
            .bytes
            .get_mut(self.used..)
            .and_then(<[u8]>::split_first_chunk_mut::<HEADER>);
        let Some((header, room)) = room else {
            return false;
        };
        let Ok(record) = postcard::to_slice(record, room) else {
            return false;
        };
        let ([low, high], [sector, unsaved]) =
            ((record.len() as u16).to_le_bytes(), kept.to_bytes());
        *header = [low, high, sector, unsaved];
        self.used += HEADER + record.len();
        true
    }

    /// Changes what the store knows of a record, if there is one.
    fn change(&mut self, what: What, with: impl FnOnce(&mut Kept)) {
        let Some((start, _, mut kept)) = self.find(what) else {
            return;
        };
        with(&mut kept);
        let places = self.bytes.iter_mut().take(start).skip(start - HEADER / 2);
        places
            .zip(kept.to_bytes())
            .for_each(|(place, byte)| *place = byte);
    }

    fn find(&self, what: What) -> Option<(usize, &[u8], Kept)> {
        self.records()
            .find(|(_, record, _)| postcard::from_bytes(record) == Ok(what))
    }

    /// Pages that have moved or are back, each with its record and what the store knows of it.
    fn moves(&self) -> impl Iterator<Item = (u16, &[u8], Kept)> {
        self.records()
            .filter_map(|(_, record, kept)| match postcard::from_bytes(record) {
                Ok(What::Page(page) | What::Home(page)) => Some((page, record, kept)),
                _ => None,
            })
    }

    /// Each record, where it starts, and what the store knows of it.
    fn records(&self) -> impl Iterator<Item = (usize, &[u8], Kept)> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let (header, rest) = self
                .bytes
                .get(start..self.used)?
                .split_first_chunk::<HEADER>()?;
            let [low, high, sector, unsaved] = *header;
            let record = rest.get(..usize::from(u16::from_le_bytes([low, high])))?;
            let at = start + HEADER;
            start = at + record.len();
            Some((at, record, Kept::from_bytes([sector, unsaved])))
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
        let url =
            heapless::String::try_from("http://a.test/a/path/of/some/length").unwrap_or_default();
        let hops = Url::parse("http://b.test/")
            .map(|url| Hops::from(&url))
            .expect("a URL");
        Detour {
            what: What::Page(page),
            hops,
            under_way,
            verdict: Verdict::Allowed,
            until: 60,
            url,
        }
    }

    #[test]
    fn keeps_what_is_under_way_and_forgets_the_oldest_else() {
        let mut bytes = [0; 166];
        let mut all = Elsewhere::new(&mut bytes);
        assert!(
            all.put(&detour(0, true)) && all.put(&detour(1, false)) && all.put(&detour(2, false))
        );
        assert!(
            all.put(&detour(3, false)),
            "a page that has arrived makes room"
        );
        assert!(all.get(What::Page(0)).is_some() && all.get(What::Page(1)).is_none());
        assert!(
            all.get(What::Page(3))
                .is_some_and(|found| found.url.ends_with("length"))
        );
        assert!(
            all.put(&detour(2, true)) && all.put(&detour(3, true)),
            "what is known is replaced"
        );
        assert!(
            !all.put(&detour(4, true)),
            "pages under way keep their places"
        );
        all.remove(What::Page(0));
        assert!(all.put(&detour(4, true)) && all.get(What::Robots(4)).is_none());
    }

    #[test]
    fn the_store_is_told_of_moves_and_of_returns() {
        let mut bytes = [0; 160];
        let mut all = Elsewhere::new(&mut bytes);
        assert!(all.put(&detour(1, true)));
        assert_eq!(all.unsaved(), None, "it has not arrived");
        all.settle(&detour(1, false));
        assert_eq!(all.unsaved(), Some(1));
        assert!(all.read(1).is_some_and(|url| url.ends_with("length")) && all.unsaved().is_none());
        all.saved(1, 5);
        assert!(all.in_sector(5).eq([1]) && all.in_sector(NOWHERE).eq([]));
        // What a turn that began earlier puts back does not make the store forget.
        assert!(all.put(&detour(1, true)));
        assert!(all.in_sector(5).eq([1]));
        assert_eq!(all.read(1), None, "on its way, it is where the list says");
        all.forget(1);
        assert_eq!((all.unsaved(), all.read(1)), (Some(1), None));
        all.saved(1, 6);
        assert!(
            all.unsaved().is_none() && all.in_sector(6).eq([]) && all.used == 0,
            "nothing is left of it"
        );
    }

    #[test]
    fn the_store_is_told_again_when_writing_failed_or_took_too_long() {
        let mut bytes = [0; 160];
        let mut all = Elsewhere::new(&mut bytes);
        all.settle(&detour(1, false));
        all.read(1);
        all.saved(1, NOWHERE);
        assert_eq!(all.unsaved(), Some(1), "writing failed");
        all.read(1);
        all.forget(1);
        all.saved(1, 4);
        assert_eq!(
            all.unsaved(),
            Some(1),
            "what was forgotten while it was written is written"
        );
        all.settle(&detour(1, false));
        assert!(all.read(1).is_some());
        all.saved(1, 4);
        assert!(
            all.unsaved().is_none() && all.in_sector(4).eq([1]),
            "one record says both"
        );
        all.restore(&detour(2, false), 7);
        assert!(all.in_sector(7).eq([2]) && all.unsaved().is_none());
        all.forget(3);
        assert_eq!(all.unsaved(), None, "there was nothing to forget");
    }

    #[test]
    fn verdicts_expire() {
        let mut detour = detour(0, false);
        detour.judge(Verdict::Denied, Instant::ZERO + Duration::HOUR);
        assert_eq!(
            detour.verdict(Instant::ZERO + Duration::from_secs(3_599)),
            Verdict::Denied
        );
        assert_eq!(
            detour.verdict(Instant::ZERO + Duration::HOUR),
            Verdict::Unknown
        );
    }
}
