//! One redirect: what is remembered of it, and how its record is written.

use super::target::{LONGEST_TARGET, RedirectTarget};
use crate::fetch::Hops;
use crate::fetch::robots::Verdict;
#[cfg(feature = "hints")]
use crate::store::identity;
use crate::time::{Duration, Instant};

/// What has been redirected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::probe) enum Subject {
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
pub(in crate::probe) struct Redirect {
    pub subject: Subject,
    /// More turns follow: for robots.txt, or for the next redirect.
    pub under_way: bool,
    pub hops: Hops,
    /// What the robots rules of the target say of it.
    pub(super) verdict: Verdict,
    /// Seconds since boot until which the verdict holds; without one, until which the way there is
    /// remembered.
    pub(super) until: u32,
    /// Seconds since boot when the list's own URL was last asked for. Of a part of an index:
    /// seconds since 1970 when it changed.
    pub(super) checked: u32,
    /// Visits since then. Of a part of an index: 1 if others have changed, too.
    pub(super) visits: u8,
    /// Seconds between two requests, by the robots rules of the target; whole ones, rounded up. The
    /// host may be forgotten before the verdict is, and its own wish must not be.
    pub(super) gap: u16,
    pub url: RedirectTarget,
}

/// Bytes of a record before the digests of its hops, each four more, and its URL.
const RECORD_START: usize = 12;
const LONGEST_RECORD: usize = RECORD_START + 4 * (Hops::MOST + 1) + LONGEST_TARGET;
/// How long a page may be on its way without coming further.
const LONGEST_WAY: Duration = Duration::from_secs(600);
/// A page that has moved for good is asked for where the list says at every so many visits …
pub(super) const CHECK_VISITS: u8 = 32;
/// … and after this time: whoever answered once in the name of its host must not keep it for ever.
const CHECK_AFTER: Duration = Duration::from_secs(7 * 24 * 3_600);

impl Redirect {
    /// A redirect that nobody has asked the target of yet.
    pub(in crate::probe) fn new(
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
    pub(in crate::probe) fn is_lost(&self, now: Instant) -> bool {
        self.under_way && seconds(now) >= self.until
    }

    /// Has the page moved for good, and is it time to look where the list says?
    pub(in crate::probe) fn is_to_be_checked(&self, now: Instant) -> bool {
        let since = seconds(now).saturating_sub(self.checked);
        let long_ago = u64::from(since) >= CHECK_AFTER.as_secs();
        !self.under_way && (long_ago || self.visits >= CHECK_VISITS - 1)
    }

    /// The same for a page that has moved for good and is asked for there from now on.
    pub(in crate::probe) fn settled(&self) -> Self {
        Self {
            hops: self.hops.shortened(),
            under_way: false,
            ..self.clone()
        }
    }

    /// It leads to a part of an index that changed then, in seconds since 1970, and others have
    /// changed, too, or not.
    #[cfg(feature = "hints")]
    pub(in crate::probe) fn set_part(&mut self, changed: u32, more: bool) {
        self.checked = changed;
        self.visits = more.into();
    }

    /// 32 bits by which the URL that it leads to is known, and that nobody without the key can aim
    /// at.
    #[cfg(feature = "hints")]
    pub(in crate::probe) fn id(&self, key: &[u8; 16]) -> u32 {
        identity(key, &self.url) as u32
    }

    /// When a part of an index changed, and whether others have changed, too.
    #[cfg(feature = "hints")]
    pub(in crate::probe) fn part_changed(&self) -> (u32, bool) {
        (self.checked, self.visits > 0)
    }

    /// The verdict of its own host's robots rules, if there is one that still holds.
    pub(in crate::probe) fn verdict(&self, now: Instant) -> Verdict {
        if seconds(now) < self.until {
            self.verdict
        } else {
            Verdict::Unknown
        }
    }

    /// The record of it, without its header. By hand: serde would take a kilobyte of flash more.
    pub(super) fn to_record(&self) -> heapless::Vec<u8, LONGEST_RECORD> {
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
    pub(super) fn from_record(header: RedirectHeader, record: &[u8]) -> Option<Self> {
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
    pub(in crate::probe) fn judge(&mut self, verdict: Verdict, gap: Duration, until: Instant) {
        self.verdict = verdict;
        self.gap = gap.as_micros().div_ceil(1_000_000).min(u16::MAX.into()) as u16;
        self.until = seconds(until);
    }

    /// What has to pass between two requests to its host, as far as that was told.
    pub(in crate::probe) fn gap(&self) -> Duration {
        Duration::from_secs(self.gap.into())
    }
}

#[inline(never)] // Once for all callers.
pub(super) fn seconds(instant: Instant) -> u32 {
    (instant - Instant::ZERO).as_secs().min(u32::MAX.into()) as u32
}

/// What is known of a record without reading it.
#[derive(Clone, Copy, Debug)]
pub(in crate::probe) struct RedirectHeader {
    pub subject: Subject,
    pub under_way: bool,
    /// The sector of the store's copy.
    pub sector: u8,
    /// It has changed since it was copied.
    pub unsaved: bool,
}

impl RedirectHeader {
    /// Its bytes, with those of the record's length before them.
    pub(super) const BYTES: usize = 8;

    pub(super) fn to_bytes(self, length: u16) -> [u8; Self::BYTES] {
        let [low, high] = length.to_le_bytes();
        let [kind, first, second] = self.subject.to_bytes();
        let flags = [self.under_way.into(), self.sector, self.unsaved.into()];
        let [under_way, sector, unsaved] = flags;
        [low, high, kind, first, second, under_way, sector, unsaved]
    }

    pub(super) fn from_bytes(bytes: [u8; Self::BYTES]) -> (Self, u16) {
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
    pub(super) fn page(&self) -> Option<u16> {
        match self.subject {
            Subject::Page(page) | Subject::Returned(page) => Some(page),
            _ => None,
        }
    }
}
