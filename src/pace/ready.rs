//! The released pages by due slot: a 4-ary heap of the roots of their trees.
//!
//! Only ids are kept here; the slots they are compared by stand in the pages, which also note their place. A tree
//! released as a whole takes one place, and when its root is visited the next of the tree steps in.

use crate::heap::Id;

use super::carousel::Ticks;
use super::forest::{Page, State, precedes};

/// How many children a node has.
const ARITY: usize = 4;

/// Puts the root of a tree at `place`, or closes the gap there with the last root if the tree is empty.
pub(super) fn replace<W: Ticks, I: Id>(
    pages: &mut [Page<W, I>],
    roots: &mut [I],
    count: &mut usize,
    place: usize,
    mut root: I,
) {
    if root == I::NONE {
        let Some(last) = count.checked_sub(1) else { return };
        *count = last;
        if place == last {
            return;
        }
        root = roots.get(last).copied().unwrap_or(I::NONE);
    }
    let place = rise(pages, roots, place, root);
    let live = roots.len().min(*count);
    sink(pages, roots.get_mut(..live).unwrap_or_default(), place, root);
}

/// Adds the root of a tree.
pub(super) fn insert<W: Ticks, I: Id>(pages: &mut [Page<W, I>], roots: &mut [I], count: &mut usize, root: I) {
    if root != I::NONE {
        rise(pages, roots, *count, root);
        *count += 1;
    }
}

fn rise<W: Ticks, I: Id>(pages: &mut [Page<W, I>], roots: &mut [I], mut place: usize, root: I) -> usize {
    while let Some(above) = place.checked_sub(1).map(|below| below / ARITY) {
        match roots.get(above) {
            Some(&parent) if precedes(pages, root, parent) => put(pages, roots, place, parent),
            _ => break,
        }
        place = above;
    }
    put(pages, roots, place, root);
    place
}

fn sink<W: Ticks, I: Id>(pages: &mut [Page<W, I>], roots: &mut [I], mut place: usize, root: I) {
    let Some(slot) = pages.get(root.index()).map(|page| page.slot) else { return };
    loop {
        let first = place * ARITY + 1;
        let mut least = (place, root, slot);
        for (child, &id) in (first..).zip(roots.iter().skip(first).take(ARITY)) {
            let Some(slot) = pages.get(id.index()).map(|page| page.slot) else { continue };
            if slot.is_before(least.2) || (slot == least.2 && id < least.1) {
                least = (child, id, slot);
            }
        }
        if least.0 == place {
            break;
        }
        put(pages, roots, place, least.1);
        place = least.0;
    }
    put(pages, roots, place, root);
}

/// The one place where a root and its place are written, so that they cannot disagree.
fn put<W: Ticks, I: Id>(pages: &mut [Page<W, I>], roots: &mut [I], place: usize, root: I) {
    if let (Some(slot), Some(page)) = (roots.get_mut(place), pages.get_mut(root.index())) {
        *slot = root;
        page.up = I::from_index(place).unwrap_or(I::NONE);
        page.state = State::Root;
    }
}
