//! Redirects: where pages and robots.txt files are that are not where the list says.
//!
//! They are kept in bytes that the board provides, as one record behind the other: a URL of 60
//! characters takes about 90. A page that has moved for good is remembered until its room is
//! needed; one that is on its way is never given up for another. Without any bytes, no redirect is
//! followed. The store keeps a copy of the moves, see [`MoveRecord`](crate::store::MoveRecord).

#[cfg(feature = "hints")]
mod parts;
mod record;
mod records;
mod target;

pub(super) use record::{Redirect, Subject};
pub(super) use target::{LONGEST_TARGET, RedirectTarget, spell};

use crate::store::NOWHERE;
use crate::time::Instant;
#[cfg(feature = "hints")]
use parts::AllowedParts;
use record::{CHECK_VISITS, RedirectHeader, seconds};
use records::RedirectRecords;

/// The table of redirects.
#[derive(Debug)]
pub(super) struct Redirects<'a> {
    records: RedirectRecords<'a>,
    /// Sitemaps of indexes that robots rules allow, the oldest first: their robots.txt need not be
    /// read again for each of them.
    #[cfg(feature = "hints")]
    allowed: AllowedParts,
    /// A teller that a page has just said the place of.
    #[cfg(feature = "hints")]
    pub placed: Option<u16>,
}

impl<'a> Redirects<'a> {
    /// An empty table in these bytes.
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self {
            records: RedirectRecords::new(bytes),
            #[cfg(feature = "hints")]
            allowed: AllowedParts::default(),
            #[cfg(feature = "hints")]
            placed: None,
        }
    }

    /// Where something is, if not where it belongs. Work: the records.
    pub(super) fn get(&self, subject: Subject) -> Option<Redirect> {
        let (_, header, record) = self.records.find(subject)?;
        Redirect::from_record(header, record)
    }

    /// Remembers where something is; false if there is no room. What the store knows of it stays
    /// known.
    pub(super) fn put(&mut self, redirect: &Redirect) -> bool {
        let known = self.records.remove(redirect.subject);
        let stored = known.map_or((NOWHERE, false), |known| (known.sector, known.unsaved));
        while !self.records.append(redirect, stored) {
            // The oldest that has arrived makes room; a page that is on its way would have to start
            // over. The store's copy of it stays: it is still true.
            let oldest = self.records.all().find(|(_, header, _)| !header.under_way);
            let Some(oldest) = oldest.map(|(_, header, _)| header.subject) else {
                return false;
            };
            self.records.remove(oldest);
        }
        true
    }

    /// A page has moved there for good, and the store has to be told.
    pub(super) fn settle(&mut self, redirect: &Redirect) {
        if self.put(redirect) {
            self.records.change(redirect.subject, None, true);
        }
    }

    /// The store knows where a page has moved to, and keeps that in this sector.
    pub(super) fn restore(&mut self, redirect: &Redirect, sector: u8) {
        if self.put(redirect) {
            self.records.change(redirect.subject, Some(sector), false);
        }
    }

    /// Nobody knows how many visits were made to a page that had moved for good before the device
    /// started: as many as are `drawn`, so that each visit is a check as often as any other.
    pub(super) fn resume(&mut self, page: u16, drawn: impl FnOnce() -> u64) {
        if let Some(mut redirect) = self.get(Subject::Page(page)) {
            redirect.visits = (drawn() % u64::from(CHECK_VISITS)) as u8;
            // What replaces its own record fits where that was.
            self.put(&redirect);
        }
    }

    /// Forgets where a page has moved to: it is looked for where the list says again, and the store
    /// has to be told if it knew.
    pub(super) fn forget(&mut self, page: u16) {
        let Some(mut redirect) = self.get(Subject::Page(page)) else {
            return;
        };
        let Some(known) = self.records.remove(redirect.subject) else {
            return;
        };
        // Flash holds this move, or is about to: write that the page is back.
        if known.sector != NOWHERE || !redirect.under_way && !known.unsaved {
            redirect.url.clear();
            redirect.subject = Subject::Returned(page);
            redirect.under_way = true;
            // What was removed has made room.
            self.records.append(&redirect, (NOWHERE, true));
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

    /// May the redirects of this page take so many bytes more? Those of the hosts that share its
    /// room, on their way, take a quarter of the table at most, besides those of one page.
    pub(super) fn has_room_for(
        &self,
        page: u16,
        is_page_of_them: impl Fn(u16) -> bool,
        is_one_of_them: impl Fn(u16) -> bool,
        bytes: usize,
    ) -> bool {
        let is_other = |subject: Subject| match subject {
            Subject::Page(other) | Subject::RobotsOfPage(other) => {
                other != page && is_page_of_them(other)
            }
            Subject::RobotsOfHost(other) | Subject::HttpsRobotsOfHost(other) => {
                is_one_of_them(other)
            }
            Subject::Returned(_) => false,
            #[cfg(feature = "hints")]
            Subject::Part(_) => false,
        };
        let mut taken = 0;
        for (_, header, record) in self.records.all() {
            if header.under_way && is_other(header.subject) {
                taken += RedirectHeader::BYTES + record.len();
            }
        }
        taken == 0 || taken + bytes <= self.records.room() / 4
    }

    /// Forgets the ways that nobody has come further on for too long.
    pub(super) fn forget_lost(&mut self, now: Instant) {
        loop {
            // Of a page that is back, the store has to be told.
            let is_lost = |(_, header, record): &(usize, RedirectHeader, &[u8])| {
                !matches!(header.subject, Subject::Returned(_))
                    && Redirect::from_record(*header, record)
                        .is_some_and(|redirect| redirect.is_lost(now))
            };
            let lost = self.records.all().find(is_lost);
            match lost.map(|(_, header, _)| header.subject) {
                Some(Subject::Page(page)) => self.forget(page),
                Some(robots) => _ = self.records.remove(robots),
                None => return,
            }
        }
    }

    /// Forgets where something is: it is looked for where it belongs again.
    pub(super) fn remove(&mut self, subject: Subject) -> Option<RedirectHeader> {
        self.records.remove(subject)
    }

    /// A page of whose move the store has to be told.
    pub(super) fn unsaved(&self) -> Option<u16> {
        // Of a page that is on its way again, nothing is known yet.
        let settled = |header: &RedirectHeader| {
            !header.under_way || matches!(header.subject, Subject::Returned(_))
        };
        let mut unsaved = self
            .records
            .all()
            .filter(|(_, header, _)| header.unsaved && settled(header));
        unsaved.find_map(|(_, header, _)| header.page())
    }

    /// Pages whose moves the store keeps in this sector.
    pub(super) fn in_sector(&self, sector: u8) -> impl Iterator<Item = u16> {
        self.records
            .all()
            .filter(move |(_, header, _)| header.sector == sector)
            .filter_map(|(_, header, _)| header.page())
    }

    /// Where a page has moved to for good, to be stored: it counts as saved from here on, unless it
    /// changes again.
    pub(super) fn read(&mut self, page: u16) -> Option<RedirectTarget> {
        for subject in [Subject::Page(page), Subject::Returned(page)] {
            self.records.change(subject, None, false);
        }
        self.get(Subject::Page(page))
            .filter(|redirect| !redirect.under_way)
            .map(|redirect| redirect.url)
    }

    /// What was read is stored in this sector; [`NOWHERE`] if it is not.
    pub(super) fn saved(&mut self, page: u16, sector: u8) {
        let moved = Subject::Page(page);
        let returned = Subject::Returned(page);
        if sector == NOWHERE {
            self.records.change(moved, Some(sector), true);
            self.records.change(returned, Some(sector), true);
            return;
        }
        if let Some((_, header, _)) = self.records.find(moved) {
            self.records.change(moved, Some(sector), header.unsaved);
        }
        // Once it is in flash that a page is back, RAM need not keep it: older sectors, with the
        // old move, are erased first.
        if self
            .records
            .find(returned)
            .is_some_and(|(_, header, _)| !header.unsaved)
        {
            self.records.remove(returned);
        }
    }
}

#[cfg(test)]
mod tests;
