//! An index of sitemaps, and which of them is read next.
//!
//! One sitemap is read each time the index was read. The first is the one that changed last; from
//! then on they come in the order in which they changed, those that changed at the same time in
//! turn. When none has changed since, none is asked for: the index alone, and that conditionally.
//! Only sitemaps of the index' own host are asked for, each after a verdict by its robots.txt,
//! which is remembered for a few of them. An index in an index is not followed.
//!
//! Which one comes next, and which one was the last, is a record in the table of redirects: a
//! sitemap is asked for as if the index had sent us there, for once.

use super::{Heard, Word, sought, way_to};
use crate::fetch::HttpDate;
use crate::probe::memory::Knowledge;
use crate::probe::redirects::Subject;
use crate::probe::setup::Setup;
use crate::time::Instant;

/// When a sitemap changed, in seconds since 1970, and 32 bits by which it is known.
type Part = (u32, u32);

/// Which sitemap of the index at hand comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartChoice {
    /// None: it is no index, or one in an index.
    None,
    /// The last one was this, if there was one, and no other has been seen.
    Open { last: Option<Part> },
    /// This one comes next, as far as has been read.
    Made { last: Option<Part>, next: Part },
}

impl PartChoice {
    /// Begins the choice, before what a teller says.
    pub(super) fn begin(setup: &Setup<'_>, known: &Knowledge<'_>, teller: u16) -> Self {
        let last = known.redirects.get(Subject::Part(teller)).map(|part| {
            let (changed, _) = part.part_changed();
            (changed, part.id(&setup.config.key))
        });
        Self::Open { last }
    }

    /// Holds one more sitemap against the choice so far: the new choice if it comes before that,
    /// and whether there is more than one to choose from; `None` if it does not count at all.
    fn weigh(self, part: Part) -> Option<(Self, bool)> {
        let (last, next) = match self {
            Self::None => return None,
            Self::Open { last } => (last, None),
            Self::Made { last, next } => (last, Some(next)),
        };
        let Some(last) = last else {
            // The latest first; what changed before is old by now.
            let is_later = next.is_none_or(|next| part > next);
            let next = if is_later { part } else { next? };
            return Some((Self::Made { last: None, next }, false));
        };
        if part <= last {
            return None;
        }
        // In the order of their times; those of one time in turn, from the last one on.
        let rank = |(changed, id): Part| (changed, id.wrapping_sub(last.1).wrapping_sub(1));
        let is_sooner = next.is_none_or(|next| rank(part) < rank(next));
        let chosen = match next {
            Some(next) if !is_sooner => next,
            _ => part,
        };
        let made = Self::Made {
            last: Some(last),
            next: chosen,
        };
        Some((made, next.is_some_and(|next| next != part)))
    }
}

impl Heard {
    /// An index names a sitemap.
    pub(super) fn choose_part(
        &mut self,
        setup: &Setup<'_>,
        known: &mut Knowledge<'_>,
        word: &Word<'_>,
    ) {
        let Word {
            teller, entry, now, ..
        } = *word;
        let Some(unix) = word.unix else {
            return;
        };
        let Some(mut way) = way_to(setup, Subject::Part(teller), entry.url, now) else {
            return;
        };
        // Without a date it may have changed just now; a later one is made up.
        let changed = entry.modified.map_or(unix, HttpDate::as_unix).min(unix);
        let id = way.id(&setup.config.key);
        let part = (changed.min(u32::MAX.into()) as u32, id);
        let Some((choice, more)) = self.choice.weigh(part) else {
            return;
        };
        self.choice = choice;
        let PartChoice::Made { next, .. } = choice else {
            return;
        };
        if next == part {
            known.redirects.judge_part(&mut way, id, now);
            way.set_part(part.0, more);
        } else if more && let Some(chosen) = known.redirects.next_part(teller) {
            way = chosen;
            way.set_part(next.0, true);
        } else {
            return;
        }
        // Without room for it, the index is all that is read.
        known.redirects.put(&way);
    }
}

impl Knowledge<'_> {
    /// A page says where the feed of its host is: there the teller of the host is, if the list
    /// leaves that to the host and nothing else was found.
    pub(in crate::probe) fn hear_of_feed(
        &mut self,
        setup: &Setup<'_>,
        host: u16,
        feed: &str,
        now: Instant,
    ) {
        let Some(teller) = sought(setup, host) else {
            return;
        };
        let is_found = self.page_mut(teller).is_none_or(|memory| !memory.is_new());
        if is_found || self.redirects.get(Subject::Page(teller)).is_some() {
            return;
        }
        if let Some(way) = way_to(setup, Subject::Page(teller), feed.as_bytes(), now) {
            self.redirects.settle(&way);
            self.redirects.placed = Some(teller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::vec::Vec;

    /// Which part comes next, and whether others do, too.
    fn choose(last: Option<Part>, parts: &[Part]) -> Option<(Part, bool)> {
        let mut choice = PartChoice::Open { last };
        let mut others = false;
        for part in parts {
            if let Some((made, more)) = choice.weigh(*part) {
                choice = made;
                others |= more;
            }
        }
        match choice {
            PartChoice::Made { next, .. } => Some((next, others)),
            _ => None,
        }
    }

    #[test]
    fn parts_come_in_the_order_of_their_changes() {
        let parts = [(10, 7), (30, 2), (20, 9)];
        assert_eq!(choose(None, &parts), Some(((30, 2), false)), "the latest");
        assert_eq!(choose(Some((30, 2)), &parts), None, "nothing is new");
        let parts = [(40, 7), (30, 2), (35, 9)];
        assert_eq!(choose(Some((30, 2)), &parts), Some(((35, 9), true)));
        assert_eq!(choose(Some((35, 9)), &parts), Some(((40, 7), false)));
        assert_eq!(choose(Some((40, 7)), &parts), None);
        assert_eq!(choose(None, &[]), None);
    }

    #[test]
    fn parts_that_always_change_take_turns() {
        let mut last = None;
        let mut read = Vec::new();
        for now in 100..106 {
            let parts = [(now, 5), (now, 9), (now, 1)];
            let (next, more) = choose(last, &parts).expect("they have changed");
            assert_eq!(more, last.is_some());
            read.push(next.1);
            last = Some(next);
        }
        assert_eq!(read, [9, 1, 5, 9, 1, 5]);
    }

    #[test]
    fn an_index_in_an_index_is_not_followed() {
        assert!(PartChoice::None.weigh((1, 1)).is_none());
    }
}
