//! Redirects: where pages and robots.txt files are that are not where the list says.
//!
//! They are kept in bytes that the board provides, as one record behind the other: a URL of 60
//! characters takes about 80. A page that has moved for good is remembered until its room is
//! needed; one that is on its way is never given up for another. Without any bytes, no redirect is
//! followed. The store keeps a copy of the moves, see [`MoveRecord`](crate::store::MoveRecord).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::verdicts::Verdict;
use crate::fetch::{Hops, Url};
use crate::store::NOWHERE;
use crate::time::{Duration, Instant};

/// The longest redirect target that is followed.
pub(super) const LONGEST_TARGET: usize = 256;
/// The text of a redirect's target.
pub(super) type Target = heapless::String<LONGEST_TARGET>;
/// Bytes before each record: its length, and what the store knows of it.
const HEADER: usize = 4;

/// A URL as text of its own; `None` if it is too long.
pub(super) fn spell(url: &Url<'_>) -> Option<Target> {
    let mut text = Target::new();
    core::fmt::write(&mut text, format_args!("{url}")).ok()?;
    Some(text)
}

/// What has been redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Subject {
    /// A page of the list.
    Page(u16),
    /// The robots.txt of a host of the list, the one that is read by https or by http.
    RobotsOfHost(u16, bool),
    /// The robots.txt that governs where redirects have led this page.
    RobotsOfPage(u16),
    /// A page that is where the list says again, while the store still says otherwise.
    Returned(u16),
}

/// Where redirects have led.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Redirect {
    pub subject: Subject,
    pub hops: Hops,
    /// More turns follow: for robots.txt, or for the next redirect.
    pub under_way: bool,
    /// What the robots rules of the target say of it.
    verdict: Verdict,
    /// Seconds since boot until which the verdict holds; without one, until which the way there is
    /// remembered.
    until: u32,
    /// Seconds since boot when the list's own URL was last asked for.
    checked: u32,
    /// Visits since then.
    visits: u8,
    pub url: Target,
}

/// How long a page may be on its way without coming further.
const LONGEST_WAY: Duration = Duration::from_secs(600);
/// A page that has moved for good is asked for where the list says at every so many visits …
const CHECK_VISITS: u8 = 32;
/// … and after this time: whoever answered once in the name of its host must not keep it for ever.
const CHECK_AFTER: Duration = Duration::from_secs(7 * 24 * 3_600);

impl Redirect {
    /// A redirect that nobody has asked the target of yet.
    pub(super) fn new(
        subject: Subject,
        hops: Hops,
        under_way: bool,
        url: Target,
        now: Instant,
    ) -> Self {
        Self {
            subject,
            hops,
            under_way,
            verdict: Verdict::Unknown,
            until: seconds(now + LONGEST_WAY),
            checked: seconds(now),
            visits: 0,
            url,
        }
    }

    /// Has the page been on its way for too long?
    pub(super) fn is_lost(&self, now: Instant) -> bool {
        self.under_way && seconds(now) >= self.until
    }

    /// Has the page moved for good, and is it time to look where the list says?
    pub(super) fn is_to_be_checked(&self, now: Instant) -> bool {
        let since = seconds(now).saturating_sub(self.checked);
        let long_ago = u64::from(since) >= CHECK_AFTER.as_secs();
        !self.under_way && (long_ago || self.visits >= CHECK_VISITS - 1)
    }

    /// The same for a page that has moved for good and is asked for there from now on.
    pub(super) fn settled(&self) -> Self {
        Self {
            hops: self.hops.shortened(),
            under_way: false,
            ..self.clone()
        }
    }

    /// The verdict of its own host's robots rules, if there is one that still holds.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        if seconds(now) < self.until {
            self.verdict
        } else {
            Verdict::Unknown
        }
    }

    /// Remembers a verdict until then.
    pub(super) fn judge(&mut self, verdict: Verdict, until: Instant) {
        self.verdict = verdict;
        self.until = seconds(until);
    }
}

fn seconds(instant: Instant) -> u32 {
    (instant - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32
}

/// What the store knows of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// The sector of its copy.
    sector: u8,
    /// It has changed since it was copied.
    unsaved: bool,
}

impl Stored {
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

/// The table of redirects.
#[derive(Debug)]
pub(super) struct Redirects<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl<'a> Redirects<'a> {
    /// An empty table in these bytes.
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Where something is, if not where it belongs. Work: the records.
    pub(super) fn get(&self, subject: Subject) -> Option<Redirect> {
        let (_, record, _) = self.find(subject)?;
        postcard::from_bytes(record).ok()
    }

    /// Remembers where something is; false if there is no room. What the store knows of it stays
    /// known.
    pub(super) fn put(&mut self, redirect: &Redirect) -> bool {
        let stored = self.remove(redirect.subject).unwrap_or(Stored::NOT);
        while !self.append(stored, redirect) {
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
    pub(super) fn settle(&mut self, redirect: &Redirect) {
        if self.put(redirect) {
            self.change(redirect.subject, |stored| stored.unsaved = true);
        }
    }

    /// The store knows where a page has moved to, and keeps that in this sector.
    pub(super) fn restore(&mut self, redirect: &Redirect, sector: u8) {
        if self.put(redirect) {
            self.change(redirect.subject, |stored| {
                *stored = Stored {
                    sector,
                    unsaved: false,
                }
            });
        }
    }

    /// Forgets where a page has moved to: it is looked for where the list says again, and the store
    /// has to be told if it knew.
    pub(super) fn forget(&mut self, page: u16) {
        let Some(mut redirect) = self.get(Subject::Page(page)) else {
            return;
        };
        let Some(stored) = self.remove(redirect.subject) else {
            return;
        };
        // Flash holds this move, or is about to: write that the page is back.
        if stored.sector != NOWHERE || !redirect.under_way && !stored.unsaved {
            redirect.url.clear();
            redirect.subject = Subject::Returned(page);
            redirect.under_way = true;
            // What was removed has made room.
            self.append(
                Stored {
                    unsaved: true,
                    ..Stored::NOT
                },
                &redirect,
            );
        }
    }

    /// A page was answered where it has moved to.
    pub(super) fn visited(&mut self, page: u16) {
        if let Some(mut redirect) = self.get(Subject::Page(page)) {
            redirect.visits = redirect.visits.saturating_add(1);
            // What replaces its own record fits where that was.
            self.put(&redirect);
        }
    }

    /// A page was asked for where the list says, and it stays where it has moved to.
    pub(super) fn checked(&mut self, page: u16, now: Instant) {
        if let Some(mut redirect) = self.get(Subject::Page(page)) {
            redirect.visits = 0;
            redirect.checked = seconds(now);
            self.put(&redirect);
        }
    }

    /// May the redirects of this page, of a host with these pages, take so many bytes more? A host's
    /// pages on their way take a quarter of the table at most, besides those of one page.
    pub(super) fn has_room_for(
        &self,
        page: u16,
        host: u16,
        pages: &core::ops::Range<usize>,
        bytes: usize,
    ) -> bool {
        let is_other = |subject: Subject| match subject {
            Subject::Page(other) | Subject::RobotsOfPage(other) => {
                other != page && pages.contains(&usize::from(other))
            }
            Subject::RobotsOfHost(other, _) => other == host,
            Subject::Returned(_) => false,
        };
        let counts = |record: &[u8]| {
            let subject = postcard::from_bytes(record);
            arrived(record).is_none() && subject.is_ok_and(is_other)
        };
        let records = self.records().filter(|(_, record, _)| counts(record));
        let taken: usize = records.map(|(_, record, _)| HEADER + record.len()).sum();
        taken == 0 || taken + bytes <= self.bytes.len() / 4
    }

    /// Forgets the ways that nobody has come further on for too long.
    pub(super) fn forget_lost(&mut self, now: Instant) {
        let is_lost = |record: &[u8]| {
            let redirect = postcard::from_bytes::<Redirect>(record).ok()?;
            // Of a page that is back, the store has to be told.
            let returned = matches!(redirect.subject, Subject::Returned(_));
            (redirect.is_lost(now) && !returned).then_some(redirect.subject)
        };
        loop {
            let lost = self.records().find_map(|(_, record, _)| is_lost(record));
            match lost {
                Some(Subject::Page(page)) => self.forget(page),
                Some(robots) => _ = self.remove(robots),
                None => return,
            }
        }
    }

    /// Forgets where something is: it is looked for where it belongs again.
    pub(super) fn remove(&mut self, subject: Subject) -> Option<Stored> {
        let (start, record, stored) = self.find(subject)?;
        let end = start + record.len();
        self.bytes.copy_within(end..self.used, start - HEADER);
        self.used -= end - start + HEADER;
        Some(stored)
    }

    /// A page of whose move the store has to be told.
    pub(super) fn unsaved(&self) -> Option<u16> {
        // Of a page that is on its way again, nothing is known yet.
        let settled = |record| {
            arrived(record).is_some()
                || matches!(postcard::from_bytes(record), Ok(Subject::Returned(_)))
        };
        self.moves()
            .find(|(_, record, stored)| stored.unsaved && settled(record))
            .map(|(page, ..)| page)
    }

    /// Pages whose moves the store keeps in this sector.
    pub(super) fn in_sector(&self, sector: u8) -> impl Iterator<Item = u16> {
        self.moves()
            .filter(move |(.., stored)| stored.sector == sector)
            .map(|(page, ..)| page)
    }

    /// Where a page has moved to for good, to be stored: it counts as saved from here on, unless it
    /// changes again.
    pub(super) fn read(&mut self, page: u16) -> Option<Target> {
        for subject in [Subject::Page(page), Subject::Returned(page)] {
            self.change(subject, |stored| stored.unsaved = false);
        }
        self.get(Subject::Page(page))
            .filter(|redirect| !redirect.under_way)
            .map(|redirect| redirect.url)
    }

    /// What was read is stored in this sector; [`NOWHERE`] if it is not.
    pub(super) fn saved(&mut self, page: u16, sector: u8) {
        if sector == NOWHERE {
            for subject in [Subject::Page(page), Subject::Returned(page)] {
                self.change(subject, |stored| {
                    *stored = Stored {
                        sector,
                        unsaved: true,
                    }
                });
            }
            return;
        }
        self.change(Subject::Page(page), |stored| stored.sector = sector);
        // Once it is in flash that a page is back, RAM need not keep it: older sectors, with the
        // old move, are erased first.
        if self
            .find(Subject::Returned(page))
            .is_some_and(|(.., stored)| !stored.unsaved)
        {
            self.remove(Subject::Returned(page));
        }
    }

    fn append(&mut self, stored: Stored, record: &Redirect) -> bool {
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
        let [low, high] = (record.len() as u16).to_le_bytes();
        let [sector, unsaved] = stored.to_bytes();
        *header = [low, high, sector, unsaved];
        self.used += HEADER + record.len();
        true
    }

    /// Changes what the store knows of a record, if there is one.
    fn change(&mut self, subject: Subject, with: impl FnOnce(&mut Stored)) {
        let Some((start, _, mut stored)) = self.find(subject) else {
            return;
        };
        with(&mut stored);
        let places = self.bytes.iter_mut().take(start).skip(start - HEADER / 2);
        places
            .zip(stored.to_bytes())
            .for_each(|(place, byte)| *place = byte);
    }

    fn find(&self, subject: Subject) -> Option<(usize, &[u8], Stored)> {
        self.records()
            .find(|(_, record, _)| postcard::from_bytes(record) == Ok(subject))
    }

    /// Pages that have moved or are back, each with its record and what the store knows of it.
    fn moves(&self) -> impl Iterator<Item = (u16, &[u8], Stored)> {
        self.records()
            .filter_map(|(_, record, stored)| match postcard::from_bytes(record) {
                Ok(Subject::Page(page) | Subject::Returned(page)) => Some((page, record, stored)),
                _ => None,
            })
    }

    /// Each record, where it starts, and what the store knows of it.
    fn records(&self) -> impl Iterator<Item = (usize, &[u8], Stored)> {
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
            Some((at, record, Stored::from_bytes([sector, unsaved])))
        })
    }
}

/// What a record is about, unless it is under way.
fn arrived(record: &[u8]) -> Option<Subject> {
    let (subject, _, under_way): (Subject, Hops, bool) = postcard::from_bytes(record).ok()?;
    (!under_way).then_some(subject)
}
