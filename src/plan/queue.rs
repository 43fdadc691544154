//! The smallest of many keys, where only the smallest is ever changed or taken out.
//!
//! A heap of a million entries misses the cache on every level it sinks through. Here only the
//! smallest of the smallest are a heap, few enough that their pages stay at hand, too. The others
//! lie behind it in sections, each all larger than the one before and in no order until its turn
//! comes.

use crate::heap::{Entry, Id, Key};

/// How many children a node of the heap has.
const ARITY: usize = 4;
/// A section takes one in so many entries of the next, but not fewer than the least.
const PART: usize = 16;
const LEAST_SECTION: usize = 64;
/// The heap and the sections behind it, which the last holds for good.
const SECTIONS: usize = 4;
const LAST: usize = SECTIONS - 1;

/// Entries in the caller's memory: a heap, a section to fill it from, one to fill that from, and so
/// on.
pub(super) struct SectionQueue<'a, K, I> {
    entries: &'a mut [Entry<K, I>],
    /// Where each section ends.
    ends: [usize; SECTIONS],
    /// Above every entry of the section, not above any of those behind it; `None` if there are none
    /// behind.
    borders: [Option<Entry<K, I>>; LAST],
}

impl<'a, K: Key, I: Id> SectionQueue<'a, K, I> {
    pub(super) fn new(entries: &'a mut [Entry<K, I>]) -> Self {
        Self {
            entries,
            ends: [0; SECTIONS],
            borders: [None; LAST],
        }
    }

    /// Adds an entry. Only before the first is looked at, and while there is room.
    pub(super) fn push(&mut self, entry: Entry<K, I>) {
        let end = self.ends[LAST];
        if let Some(place) = self.entries.get_mut(end) {
            *place = entry;
            self.ends[LAST] += 1;
        }
    }

    /// The smallest entry, of those to `keep`; others are dropped sooner or later. O(1), but O(n)
    /// once in n/16 calls or more.
    pub(super) fn first(&mut self, mut keep: impl FnMut(I) -> bool) -> Option<Entry<K, I>> {
        while self.ends[0] == 0 && self.ends[LAST] > 0 {
            self.refill(&mut keep);
        }
        self.entries.get(..self.ends[0])?.first().copied()
    }

    /// Puts a larger entry in the place of the first. O(log n)
    pub(super) fn replace_first(&mut self, entry: Entry<K, I>) {
        let within = |border: &Option<Entry<K, I>>| border.is_none_or(|border| entry < border);
        match self.borders.iter().position(within).unwrap_or(LAST) {
            0 => self.sink(0, entry),
            section => {
                let place = self.leave(section);
                self.put(place, entry);
            }
        }
    }

    /// Takes the first entry out. O(log n)
    pub(super) fn remove_first(&mut self) {
        self.leave(SECTIONS);
    }

    /// Takes the first entry out of the heap; returns the place that leaves free in a later
    /// section.
    fn leave(&mut self, section: usize) -> usize {
        let last = self.shrink();
        if let Some(last) = last.filter(|_| self.ends[0] > 0) {
            self.sink(0, last);
        }
        self.close(section)
    }

    /// Takes the heap's last place from it.
    fn shrink(&mut self) -> Option<Entry<K, I>> {
        self.ends[0] = self.ends[0].checked_sub(1)?;
        self.entries.get(self.ends[0]).copied()
    }

    /// The place behind the heap is free: moves the last of each section before `section` to where
    /// that now begins. Returns the place that is free then.
    fn close(&mut self, section: usize) -> usize {
        let mut free = self.ends[0];
        for next in 1..section.min(SECTIONS) {
            self.ends[next] = self.ends[next].saturating_sub(1);
            if let Some(last) = self.entries.get(self.ends[next]).copied() {
                self.put(free, last);
            }
            free = self.ends[next];
        }
        free
    }

    /// Makes a heap of the smallest entries there are.
    fn refill(&mut self, keep: &mut impl FnMut(I) -> bool) {
        for section in (0..LAST).rev() {
            let end = self.ends[section];
            let rest = self.ends[section + 1];
            let Some(rest) = self.entries.get_mut(..rest).filter(|_| end == 0) else {
                continue;
            };
            let part = (rest.len() / PART).max(LEAST_SECTION).min(rest.len());
            self.ends[section] = part;
            self.borders[section] = if part < rest.len() {
                Some(*rest.select_nth_unstable(part).1)
            } else {
                self.borders.get(section + 1).copied().flatten()
            };
        }
        // One after the other, not each when it comes up: a processor then waits for many pages at
        // once, and has them at hand afterwards.
        let mut place = 0;
        while let Some(entry) = self
            .entries
            .get(..self.ends[0])
            .and_then(|heap| heap.get(place))
        {
            if keep(entry.id) {
                place += 1;
            } else if let Some(last) = self.shrink() {
                self.put(place, last);
                self.close(SECTIONS);
            }
        }
        for place in (0..self.ends[0].div_ceil(ARITY)).rev() {
            if let Some(entry) = self.entries.get(place).copied() {
                self.sink(place, entry);
            }
        }
    }

    fn put(&mut self, place: usize, entry: Entry<K, I>) {
        if let Some(slot) = self.entries.get_mut(place) {
            *slot = entry;
        }
    }

    /// Moves the hole at `place` towards the leaves until `entry` fits, and puts it there.
    fn sink(&mut self, mut place: usize, entry: Entry<K, I>) {
        let Some(heap) = self.entries.get_mut(..self.ends[0]) else {
            return;
        };
        loop {
            let first = place * ARITY + 1;
            let end = heap.len().min(first + ARITY);
            let Some(children) = heap.get(first..end) else {
                break;
            };
            let Some((offset, below)) = children.iter().enumerate().min_by_key(|child| child.1)
            else {
                break;
            };
            let below = *below;
            if entry <= below {
                break;
            }
            if let Some(slot) = heap.get_mut(place) {
                *slot = below;
            }
            place = first + offset;
        }
        if let Some(slot) = heap.get_mut(place) {
            *slot = entry;
        }
    }
}
