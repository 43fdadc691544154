//! The sitemaps of an index, which are read one after the other: the way to each is kept in the
//! table of redirects.

use super::Redirects;
use super::record::{Redirect, Subject, seconds};
use crate::fetch::robots::Verdict;
use crate::time::Instant;

/// A sitemap of an index: its [`Redirect::id`], for how long it is allowed, in seconds since boot,
/// and what has to pass between two requests, in seconds. The sitemaps of all hosts are in one
/// table: by [`Url::digest`](crate::fetch::Url::digest) a host could pass off its own for one of
/// another host.
type AllowedPart = (u32, u32, u16);
/// How many of them are known.
const ALLOWED_PARTS: usize = 4;

/// Sitemaps of indexes that robots rules allow, the oldest first: their robots.txt need not be read
/// again for each of them.
#[derive(Debug, Default)]
pub(super) struct AllowedParts(heapless::Vec<AllowedPart, ALLOWED_PARTS>);

impl AllowedParts {
    /// A sitemap of this identity has been read, and its own verdict is to be known for the next
    /// time.
    fn add(&mut self, id: u32, part: &Redirect) {
        let is_known = |(known, ..): &AllowedPart| *known == id;
        if part.verdict == Verdict::Allowed && !self.0.iter().any(is_known) {
            if self.0.is_full() {
                self.0.remove(0);
            }
            // One has made room.
            let _ = self.0.push((id, part.until, part.gap));
        }
    }

    /// The way to a sitemap of this identity has the verdict on it, if that is known and still
    /// holds.
    fn judge(&mut self, part: &mut Redirect, id: u32, now: Instant) {
        // What has run out is in the way of a new verdict.
        self.0.retain(|(_, until, _)| *until > seconds(now));
        let mut allowed = self.0.iter();
        if let Some((_, until, gap)) = allowed.find(|(known, ..)| *known == id) {
            part.verdict = Verdict::Allowed;
            part.until = *until;
            part.gap = *gap;
        }
    }
}

impl Redirects<'_> {
    /// The sitemap that comes next of the index that a teller is.
    pub(in crate::probe) fn next_part(&self, teller: u16) -> Option<Redirect> {
        let part = self.get(Subject::Part(teller));
        part.filter(|part| part.under_way)
    }

    /// A sitemap of the index that a teller is, of this identity, has been read, or cannot be: it
    /// stays known which was the last.
    pub(in crate::probe) fn leave_part(&mut self, teller: u16, id: u32) {
        let Some(mut part) = self.next_part(teller) else {
            return;
        };
        part.under_way = false;
        // It fits where it was.
        self.put(&part);
        self.allowed.add(id, &part);
    }

    /// The way to a sitemap of an index, of this identity, has the verdict on it, if that is known
    /// and still holds.
    pub(in crate::probe) fn judge_part(&mut self, part: &mut Redirect, id: u32, now: Instant) {
        self.allowed.judge(part, id, now);
    }
}
