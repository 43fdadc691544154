//! Many heaps threaded through one array of pages, any two of which melt into one in O(log n).
//!
//! Leftist heaps (Crane 1972): the shorter way to a leaf is always to the right, hence at most log₂(n + 1) long, and
//! all work follows right spines. An array heap would have to move every page of a group that is released at
//! once; here the group is one tree, and one meld moves it.

use crate::heap::Id;

use super::carousel::Ticks;

/// One page's rate, and its links in the tree it stands in. What storage for a carousel is made of.
#[derive(Clone, Copy, Debug)]
pub struct Page<W, I> {
    /// What the tree is ordered by: the slot by which the page is due, or, far ahead, its release.
    pub(super) slot: W,
    /// Visits in `unit` slots; 0 for a page that is not on the carousel.
    pub(super) rate: W,
    /// What it is owed at `slot`, in visits times `unit`.
    pub(super) credit: W,
    pub(super) left: I,
    pub(super) right: I,
    /// The page above in the tree; for a root among the released, its place there.
    pub(super) up: I,
    /// Nodes on the shortest way down to a free link.
    rank: u8,
    pub(super) state: State,
}

/// Where a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// In the tree of far releases, ordered by release.
    Far,
    /// In a tree ordered by due slot: on the wheel, or below a root among the released.
    Tree,
    /// Root of a tree among the released.
    Root,
}

impl<W: Ticks, I: Id> Page<W, I> {
    /// A page that is not on the carousel.
    pub const UNUSED: Self = Self {
        slot: W::ZERO,
        rate: W::ZERO,
        credit: W::ZERO,
        left: I::NONE,
        right: I::NONE,
        up: I::NONE,
        rank: 0,
        state: State::Tree,
    };

    /// A tree of its own.
    pub(super) fn alone(slot: W, rate: W, credit: W, state: State) -> Self {
        Self { slot, rate, credit, rank: 1, state, ..Self::UNUSED }
    }
}

/// Earlier slot, or the same and a smaller id?
pub(super) fn precedes<W: Ticks, I: Id>(pages: &[Page<W, I>], a: I, b: I) -> bool {
    match (pages.get(a.index()), pages.get(b.index())) {
        (Some(first), Some(second)) if first.slot == second.slot => a < b,
        (Some(first), Some(second)) => first.slot.is_before(second.slot),
        _ => false,
    }
}

/// Makes one tree of two and returns its root. The earlier slot stands above, equal slots by id.
pub(super) fn meld<W: Ticks, I: Id>(pages: &mut [Page<W, I>], mut a: I, mut b: I) -> I {
    let mut root = I::NONE;
    let mut above = I::NONE;
    while a != I::NONE && b != I::NONE {
        if precedes(pages, b, a) {
            (a, b) = (b, a);
        }
        hang(pages, above, a, &mut root);
        above = a;
        a = pages.get(a.index()).map_or(I::NONE, |page| page.right);
    }
    let rest = if a == I::NONE { b } else { a };
    hang(pages, above, rest, &mut root);
    while let Some(up) = balance(pages, above) {
        above = up.0;
    }
    root
}

/// Takes a page out of the tree of the given root and returns the root of what remains.
pub(super) fn remove<W: Ticks, I: Id>(pages: &mut [Page<W, I>], root: I, id: I) -> I {
    let Some(Page { left, right, up, .. }) = pages.get(id.index()).copied() else { return root };
    let rest = meld(pages, left, right);
    if id == root {
        return rest;
    }
    let Some(parent) = pages.get_mut(up.index()) else { return rest };
    if parent.left == id {
        parent.left = rest;
    } else {
        parent.right = rest;
    }
    if let Some(page) = pages.get_mut(rest.index()) {
        page.up = up;
    }
    let mut next = up;
    while let Some((up, true)) = balance(pages, next) {
        next = up;
    }
    root
}

/// Links `id` as the right child of `above`, or as the root where there is none.
fn hang<W: Ticks, I: Id>(pages: &mut [Page<W, I>], above: I, id: I, root: &mut I) {
    match pages.get_mut(above.index()) {
        Some(parent) => parent.right = id,
        None => *root = id,
    }
    if let Some(page) = pages.get_mut(id.index()) {
        page.up = above;
    }
}

/// Puts the deeper child to the left; returns the page above, and whether it has to look again.
fn balance<W: Ticks, I: Id>(pages: &mut [Page<W, I>], id: I) -> Option<(I, bool)> {
    let Page { left, right, .. } = *pages.get(id.index())?;
    let rank = |child: I| pages.get(child.index()).map_or(0, |page| page.rank);
    let (on_left, on_right) = (rank(left), rank(right));
    let page = pages.get_mut(id.index())?;
    if on_left < on_right {
        (page.left, page.right) = (right, left);
    }
    let rank = on_left.min(on_right) + 1;
    let changed = page.rank != rank;
    page.rank = rank;
    // The root of a released tree has its place where others have the page above.
    Some((if page.state == State::Root { I::NONE } else { page.up }, changed))
}
