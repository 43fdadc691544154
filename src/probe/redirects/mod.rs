//! Redirects: where pages and robots.txt files are that are not where the list says.
//!
//! They are kept in bytes that the board provides, as one record behind the other: a URL of 60
//! characters takes about 90. A page that has moved for good is remembered until its room is
//! needed; one that is on its way is never given up for another. Without any bytes, no redirect is
//! followed. The store keeps a copy of the moves, see [`MoveRecord`](crate::store::MoveRecord).

use crate::fetch::robots::Verdict;
use crate::fetch::{Hops, Url};
use crate::store::NOWHERE;
#[cfg(feature = "hints")]
use crate::store::identity;
use crate::time::{Duration, Instant};

/// The longest redirect target that is followed.
pub(super) const LONGEST_TARGET: usize = 256;
/// The text of a redirect's target.
pub(super) type RedirectTarget = heapless::String<LONGEST_TARGET>;
/// A URL as text of its own; `None` if it is too long.
pub(super) fn spell(url: &Url<'_>) -> Option<RedirectTarget> {
    let mut text = RedirectTarget::new();
    let mut fits = true;
    // Piece by piece: through `Display` it would take 300 bytes of flash more.
    let mut put = |bytes: &[u8]| {
        let piece = core::str::from_utf8(bytes).unwrap_or("\u{fffd}");
        fits &= text.push_str(piece).is_ok();
    };
    put(url.scheme().name().as_bytes());
    put(b"://");
    url.authority_pieces(&mut put);
    url.target_pieces(&mut put);
    fits.then_some(text)
}

/// What has been redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A page of the list.
    Page(u16),
    /// The robots.txt of a host of the list, the one that is read by http.
    RobotsOfHost(u16),
    /// The one that is read by https.
    HttpsRobotsOfHost(u16),
    /// The robots.txt that governs where redirects have led this page.
    RobotsOfPage(u16),
    /// A page that is where the list says again, while the store still says otherwise.
    Returned(u16),
    /// The sitemap that is read next, or was read last, of the index that this teller is.
    #[cfg(feature = "hints")]
    Part(u16),
}

impl Subject {
    fn to_bytes(self) -> [u8; 3] {
        let (kind, number) = match self {
            Self::Page(page) => (0, page),
            Self::RobotsOfHost(host) => (1, host),
            Self::HttpsRobotsOfHost(host) => (2, host),
            Self::RobotsOfPage(page) => (3, page),
            Self::Returned(page) => (4, page),
            #[cfg(feature = "hints")]
            Self::Part(page) => (5, page),
        };
        let [low, high] = number.to_le_bytes();
        [kind, low, high]
    }

    fn from_bytes([kind, low, high]: [u8; 3]) -> Self {
        let number = u16::from_le_bytes([low, high]);
        match kind {
            0 => Self::Page(number),
            1 => Self::RobotsOfHost(number),
            2 => Self::HttpsRobotsOfHost(number),
            3 => Self::RobotsOfPage(number),
            #[cfg(feature = "hints")]
            5 => Self::Part(number),
            _ => Self::Returned(number),
        }
    }
}

/// Where redirects have led.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    pub subject: Subject,
    /// More turns follow: for robots.txt, or for the next redirect.
    pub under_way: bool,
    pub hops: Hops,
    /// What the robots rules of the target say of it.
    verdict: Verdict,
    /// Seconds since boot until which the verdict holds; without one, until which the way there is
    /// remembered.
    until: u32,
    /// Seconds since boot when the list's own URL was last asked for. Of a part of an index:
    /// seconds since 1970 when it changed.
    checked: u32,
    /// Visits since then. Of a part of an index: 1 if others have changed, too.
    visits: u8,
    /// Seconds between two requests, by the robots rules of the target; whole ones, rounded up. The
    /// host may be forgotten before the verdict is, and its own wish must not be.
    gap: u16,
    pub url: RedirectTarget,
}

/// Bytes of a record before the digests of its hops, each four more, and its URL.
const RECORD_START: usize = 12;
const LONGEST_RECORD: usize = RECORD_START + 4 * (Hops::MOST + 1) + LONGEST_TARGET;
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
        url: RedirectTarget,
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
            gap: 0,
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

    /// It leads to a part of an index that changed then, in seconds since 1970, and others have
    /// changed, too, or not.
    #[cfg(feature = "hints")]
    pub(super) fn set_part(&mut self, changed: u32, more: bool) {
        self.checked = changed;
        self.visits = more.into();
    }

    /// 32 bits by which the URL that it leads to is known, and that nobody without the key can aim
    /// at.
    #[cfg(feature = "hints")]
    pub(super) fn id(&self, key: &[u8; 16]) -> u32 {
        identity(key, &self.url) as u32
    }

    /// When a part of an index changed, and whether others have changed, too.
    #[cfg(feature = "hints")]
    pub(super) fn part_changed(&self) -> (u32, bool) {
        (self.checked, self.visits > 0)
    }

    /// The verdict of its own host's robots rules, if there is one that still holds.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        if seconds(now) < self.until {
            self.verdict
        } else {
            Verdict::Unknown
        }
    }

    /// The record of it, without its header. By hand: serde would take a kilobyte of flash more.
    fn to_record(&self) -> heapless::Vec<u8, LONGEST_RECORD> {
        let mut record = heapless::Vec::new();
        let (seen, permanent) = self.hops.parts();
        let verdict = self.verdict.to_bits();
        // There is room for the longest.
        let mut put = |bytes: &[u8]| _ = record.extend_from_slice(bytes);
        let [low, high] = self.gap.to_le_bytes();
        let known = verdict | u8::from(permanent) << 2 | (seen.len() as u8) << 3;
        put(&[known, self.visits, low, high]);
        put(&self.until.to_le_bytes());
        put(&self.checked.to_le_bytes());
        seen.iter().for_each(|digest| put(&digest.to_le_bytes()));
        put(self.url.as_bytes());
        record
    }

    /// What a record says.
    #[inline(never)] // Once for all callers.
    fn from_record(header: RedirectHeader, record: &[u8]) -> Option<Self> {
        let (words, _) = record.as_chunks::<4>();
        let [flags, until, checked, seen @ ..] = words else {
            return None;
        };
        let [known, visits, low, high] = *flags;
        let seen = seen.get(..usize::from(known >> 3))?;
        let url = record.get(RECORD_START + size_of_val(seen)..)?;
        let digests = seen.iter().copied().map(u32::from_le_bytes);
        Some(Self {
            subject: header.subject,
            under_way: header.under_way,
            hops: Hops::from_parts(digests, known & 4 != 0),
            verdict: Verdict::from_bits(known),
            until: u32::from_le_bytes(*until),
            checked: u32::from_le_bytes(*checked),
            visits,
            gap: u16::from_le_bytes([low, high]),
            url: core::str::from_utf8(url).ok()?.try_into().ok()?,
        })
    }

    /// Remembers a verdict until then, and what has to pass between two requests.
    pub(super) fn judge(&mut self, verdict: Verdict, gap: Duration, until: Instant) {
        self.verdict = verdict;
        self.gap = gap.as_micros().div_ceil(1_000_000).min(u16::MAX.into()) as u16;
        self.until = seconds(until);
    }

    /// What has to pass between two requests to its host, as far as that was told.
    pub(super) fn gap(&self) -> Duration {
        Duration::from_secs(self.gap.into())
    }
}

#[inline(never)] // Once for all callers.
fn seconds(instant: Instant) -> u32 {
    (instant - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32
}

/// What is known of a record without reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RedirectHeader {
    subject: Subject,
    under_way: bool,
    /// The sector of the store's copy.
    sector: u8,
    /// It has changed since it was copied.
    unsaved: bool,
}

impl RedirectHeader {
    /// Its bytes, with those of the record's length before them.
    const BYTES: usize = 8;

    fn to_bytes(self, length: u16) -> [u8; Self::BYTES] {
        let [low, high] = length.to_le_bytes();
        let [kind, first, second] = self.subject.to_bytes();
        let flags = [self.under_way.into(), self.sector, self.unsaved.into()];
        let [under_way, sector, unsaved] = flags;
        [low, high, kind, first, second, under_way, sector, unsaved]
    }

    fn from_bytes(bytes: [u8; Self::BYTES]) -> (Self, u16) {
        let [low, high, kind, first, second, under_way, sector, unsaved] = bytes;
        let header = Self {
            subject: Subject::from_bytes([kind, first, second]),
            under_way: under_way != 0,
            sector,
            unsaved: unsaved != 0,
        };
        (header, u16::from_le_bytes([low, high]))
    }

    /// The page that has moved or is back.
    fn page(&self) -> Option<u16> {
        match self.subject {
            Subject::Page(page) | Subject::Returned(page) => Some(page),
            _ => None,
        }
    }
}

/// The table of redirects.
#[derive(Debug)]
pub(super) struct Redirects<'a> {
    bytes: &'a mut [u8],
    used: usize,
    /// Sitemaps of indexes that robots rules allow, the oldest first: their robots.txt need not be
    /// read again for each of them.
    #[cfg(feature = "hints")]
    allowed: heapless::Vec<AllowedPart, ALLOWED_PARTS>,
    /// A teller that a page has just said the place of.
    #[cfg(feature = "hints")]
    pub placed: Option<u16>,
}

/// A sitemap of an index: its [`Redirect::id`], for how long it is allowed, in seconds since boot,
/// and what has to pass between two requests, in seconds. The sitemaps of all hosts are in one
/// table: by [`Url::digest`] a host could pass off its own for one of another host.
#[cfg(feature = "hints")]
type AllowedPart = (u32, u32, u16);
/// How many of them are known.
#[cfg(feature = "hints")]
const ALLOWED_PARTS: usize = 4;

impl<'a> Redirects<'a> {
    /// An empty table in these bytes.
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self {
            bytes,
            used: 0,
            #[cfg(feature = "hints")]
            allowed: heapless::Vec::new(),
            #[cfg(feature = "hints")]
            placed: None,
        }
    }

    /// Where something is, if not where it belongs. Work: the records.
    pub(super) fn get(&self, subject: Subject) -> Option<Redirect> {
        let (_, header, record) = self.find(subject)?;
        Redirect::from_record(header, record)
    }

    /// Remembers where something is; false if there is no room. What the store knows of it stays
    /// known.
    pub(super) fn put(&mut self, redirect: &Redirect) -> bool {
        let known = self.remove(redirect.subject);
        let stored = known.map_or((NOWHERE, false), |known| (known.sector, known.unsaved));
        while !self.append(redirect, stored) {
            // The oldest that has arrived makes room; a page that is on its way would have to start
            // over. The store's copy of it stays: it is still true.
            let oldest = self.records().find(|(_, header, _)| !header.under_way);
            let Some(oldest) = oldest.map(|(_, header, _)| header.subject) else {
                return false;
            };
            self.remove(oldest);
        }
        true
    }

    /// A page has moved there for good, and the store has to be told.
    pub(super) fn settle(&mut self, redirect: &Redirect) {
        if self.put(redirect) {
            self.change(redirect.subject, None, true);
        }
    }

    /// The store knows where a page has moved to, and keeps that in this sector.
    pub(super) fn restore(&mut self, redirect: &Redirect, sector: u8) {
        if self.put(redirect) {
            self.change(redirect.subject, Some(sector), false);
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
        let Some(known) = self.remove(redirect.subject) else {
            return;
        };
        // Flash holds this move, or is about to: write that the page is back.
        if known.sector != NOWHERE || !redirect.under_way && !known.unsaved {
            redirect.url.clear();
            redirect.subject = Subject::Returned(page);
            redirect.under_way = true;
            // What was removed has made room.
            self.append(&redirect, (NOWHERE, true));
        }
    }

    /// The sitemap that comes next of the index that a teller is.
    #[cfg(feature = "hints")]
    pub(super) fn next_part(&self, teller: u16) -> Option<Redirect> {
        let part = self.get(Subject::Part(teller));
        part.filter(|part| part.under_way)
    }

    /// A sitemap of the index that a teller is, of this identity, has been read, or cannot be: it
    /// stays known which was the last.
    #[cfg(feature = "hints")]
    pub(super) fn leave_part(&mut self, teller: u16, id: u32) {
        let Some(mut part) = self.next_part(teller) else {
            return;
        };
        part.under_way = false;
        // It fits where it was.
        self.put(&part);
        let is_known = |(known, ..): &AllowedPart| *known == id;
        if part.verdict == Verdict::Allowed && !self.allowed.iter().any(is_known) {
            if self.allowed.is_full() {
                self.allowed.remove(0);
            }
            // One has made room.
            let _ = self.allowed.push((id, part.until, part.gap));
        }
    }

    /// The way to a sitemap of an index, of this identity, has the verdict on it, if that is known
    /// and still holds.
    #[cfg(feature = "hints")]
    pub(super) fn judge_part(&mut self, part: &mut Redirect, id: u32, now: Instant) {
        // What has run out is in the way of a new verdict.
        self.allowed.retain(|(_, until, _)| *until > seconds(now));
        let mut allowed = self.allowed.iter();
        if let Some((_, until, gap)) = allowed.find(|(known, ..)| *known == id) {
            part.verdict = Verdict::Allowed;
            part.until = *until;
            part.gap = *gap;
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
        for (_, header, record) in self.records() {
            if header.under_way && is_other(header.subject) {
                taken += RedirectHeader::BYTES + record.len();
            }
        }
        taken == 0 || taken + bytes <= self.bytes.len() / 4
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
            let lost = self.records().find(is_lost);
            match lost.map(|(_, header, _)| header.subject) {
                Some(Subject::Page(page)) => self.forget(page),
                Some(robots) => _ = self.remove(robots),
                None => return,
            }
        }
    }

    /// Forgets where something is: it is looked for where it belongs again.
    pub(super) fn remove(&mut self, subject: Subject) -> Option<RedirectHeader> {
        let (start, header, record) = self.find(subject)?;
        let end = start + record.len();
        self.bytes
            .copy_within(end..self.used, start - RedirectHeader::BYTES);
        self.used -= end - start + RedirectHeader::BYTES;
        Some(header)
    }

    /// A page of whose move the store has to be told.
    pub(super) fn unsaved(&self) -> Option<u16> {
        // Of a page that is on its way again, nothing is known yet.
        let settled = |header: &RedirectHeader| {
            !header.under_way || matches!(header.subject, Subject::Returned(_))
        };
        let mut unsaved = self
            .records()
            .filter(|(_, header, _)| header.unsaved && settled(header));
        unsaved.find_map(|(_, header, _)| header.page())
    }

    /// Pages whose moves the store keeps in this sector.
    pub(super) fn in_sector(&self, sector: u8) -> impl Iterator<Item = u16> {
        self.records()
            .filter(move |(_, header, _)| header.sector == sector)
            .filter_map(|(_, header, _)| header.page())
    }

    /// Where a page has moved to for good, to be stored: it counts as saved from here on, unless it
    /// changes again.
    pub(super) fn read(&mut self, page: u16) -> Option<RedirectTarget> {
        for subject in [Subject::Page(page), Subject::Returned(page)] {
            self.change(subject, None, false);
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
            self.change(moved, Some(sector), true);
            self.change(returned, Some(sector), true);
            return;
        }
        if let Some((_, header, _)) = self.find(moved) {
            self.change(moved, Some(sector), header.unsaved);
        }
        // Once it is in flash that a page is back, RAM need not keep it: older sectors, with the
        // old move, are erased first.
        if self
            .find(returned)
            .is_some_and(|(_, header, _)| !header.unsaved)
        {
            self.remove(returned);
        }
    }

    fn append(&mut self, redirect: &Redirect, (sector, unsaved): (u8, bool)) -> bool {
        let record = redirect.to_record();
        let header = RedirectHeader {
            subject: redirect.subject,
            under_way: redirect.under_way,
            sector,
            unsaved,
        };
        let end = self.used + RedirectHeader::BYTES + record.len();
        let Some(room) = self.bytes.get_mut(self.used..end) else {
            return false;
        };
        let header = header.to_bytes(record.len() as u16);
        room.iter_mut()
            .zip(header.iter().chain(&record))
            .for_each(|(place, byte)| *place = *byte);
        self.used = end;
        true
    }

    /// Changes what the store knows of a record, if there is one; without a sector, it is where it
    /// was.
    fn change(&mut self, subject: Subject, sector: Option<u8>, unsaved: bool) {
        let Some((start, header, _)) = self.find(subject) else {
            return;
        };
        let places = self.bytes.iter_mut().take(start).skip(start - 2);
        places
            .zip([sector.unwrap_or(header.sector), unsaved.into()])
            .for_each(|(place, byte)| *place = byte);
    }

    fn find(&self, subject: Subject) -> Option<(usize, RedirectHeader, &[u8])> {
        self.records()
            .find(|(_, header, _)| header.subject == subject)
    }

    /// Where each record starts, its header and the record.
    fn records(&self) -> impl Iterator<Item = (usize, RedirectHeader, &[u8])> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let (at, header, record) = self.record_behind(start)?;
            start = at + record.len();
            Some((at, header, record))
        })
    }

    /// The record whose header starts at `start`.
    #[inline(never)] // Once for all callers.
    fn record_behind(&self, start: usize) -> Option<(usize, RedirectHeader, &[u8])> {
        let (header, rest) = self
            .bytes
            .get(start..self.used)?
            .split_first_chunk::<{ RedirectHeader::BYTES }>()?;
        let (header, length) = RedirectHeader::from_bytes(*header);
        let record = rest.get(..usize::from(length))?;
        Some((start + RedirectHeader::BYTES, header, record))
    }
}

#[cfg(test)]
mod tests;
