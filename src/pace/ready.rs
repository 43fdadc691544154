//! The released pages by due slot: a 4-ary heap of the roots of their trees.
//!
//! A tree released as a whole takes one place, and when its root is visited the next of the tree
//! steps in. The due slots stand here beside the ids, so that the four children of a place lie
//! together: read from the pages they would be four waits for distant memory at each level. Each
//! page notes its place.

use crate::heap::{Entry, Id};

use super::seat::Seat;
use super::ticks::Ticks;

/// How many children a node has.
const ARITY: usize = 4;

/// Puts the root of a tree at `place`, or closes the gap there with the last root if the tree is
/// empty.
pub(super) fn replace<W: Ticks, I: Id>(
    pages: &mut [Seat<W, I>],
    roots: &mut [Entry<W, I>],
    count: &mut usize,
    place: usize,
    root: I,
) {
    let entry = match pages.get(root.index()) {
        Some(page) => Entry {
            key: page.slot,
            id: root,
        },
        None => {
            let Some(last) = count.checked_sub(1) else {
                return;
            };
            *count = last;
            if place == last {
                return;
            }
            roots.get(last).copied().unwrap_or(Entry::UNUSED)
        }
    };
    let place = rise(pages, roots, place, entry);
    let live = roots.len().min(*count);
    sink(
        pages,
        roots.get_mut(..live).unwrap_or_default(),
        place,
        entry,
    );
}

/// Adds the root of a tree.
pub(super) fn insert<W: Ticks, I: Id>(
    pages: &mut [Seat<W, I>],
    roots: &mut [Entry<W, I>],
    count: &mut usize,
    root: I,
) {
    if let Some(page) = pages.get(root.index()) {
        let entry = Entry {
            key: page.slot,
            id: root,
        };
        rise(pages, roots, *count, entry);
        *count += 1;
    }
}

/// Moves the hole at `place` towards the root until `entry` fits, and puts it there.
fn rise<W: Ticks, I: Id>(
    pages: &mut [Seat<W, I>],
    roots: &mut [Entry<W, I>],
    mut place: usize,
    entry: Entry<W, I>,
) -> usize {
    while let Some(above) = place.checked_sub(1).map(|below| below / ARITY) {
        match roots.get(above) {
            Some(&parent) if precedes(&entry, &parent) => put(pages, roots, place, parent),
            _ => break,
        }
        place = above;
    }
    put(pages, roots, place, entry);
    place
}

/// Moves the hole at `place` towards the leaves until `entry` fits, and puts it there.
fn sink<W: Ticks, I: Id>(
    pages: &mut [Seat<W, I>],
    roots: &mut [Entry<W, I>],
    mut place: usize,
    entry: Entry<W, I>,
) {
    loop {
        let first = place * ARITY + 1;
        let mut least = (place, entry);
        for (child, below) in (first..).zip(roots.iter().skip(first).take(ARITY)) {
            if precedes(below, &least.1) {
                least = (child, *below);
            }
        }
        if least.0 == place {
            break;
        }
        put(pages, roots, place, least.1);
        place = least.0;
    }
    put(pages, roots, place, entry);
}

/// Whether one is due earlier, or as early and of a smaller id.
fn precedes<W: Ticks, I: Id>(a: &Entry<W, I>, b: &Entry<W, I>) -> bool {
    if a.key == b.key {
        a.id < b.id
    } else {
        a.key.is_before(b.key)
    }
}

/// The one place where a root and its place are written, so that they cannot disagree.
fn put<W: Ticks, I: Id>(
    pages: &mut [Seat<W, I>],
    roots: &mut [Entry<W, I>],
    place: usize,
    entry: Entry<W, I>,
) {
    if let (Some(slot), Some(page)) = (roots.get_mut(place), pages.get_mut(entry.id.index())) {
        *slot = entry;
        page.becomes_root(place);
    }
}
