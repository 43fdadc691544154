//! A page's seat on the carousel.

use crate::forest::{Links, Node};
use crate::heap::Id;

use super::ticks::Ticks;

/// One page's rate, and its links in the tree it stands in. What storage for a carousel is made of.
#[derive(Clone, Copy, Debug)]
pub struct Seat<W, I> {
    /// What the tree is ordered by: the slot by which the page is due, or, far ahead, its release.
    pub(super) slot: W,
    /// Visits in `unit` slots; 0 for a page that is not on the carousel.
    pub(super) rate: W,
    /// What it is owed at `slot`, in visits times `unit`.
    pub(super) credit: W,
    /// Its tree, and beside it where it stands; `up` of a root among the released is its place
    /// there.
    pub(super) links: Links<I, State>,
}

/// Where a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// It is in a tree ordered by due slot: on the wheel, or below a root among the released.
    Tree,
    /// It is the root of a tree among the released.
    Root,
    /// It is in the tree of far releases, ordered by release.
    Far,
}

impl<W: Ticks, I: Id> Seat<W, I> {
    /// A page that is not on the carousel.
    pub const UNUSED: Self = Self {
        slot: W::ZERO,
        rate: W::ZERO,
        credit: W::ZERO,
        links: Links::alone(State::Tree),
    };

    /// A seat that is a tree of its own.
    pub(super) fn alone(slot: W, rate: W, credit: W, state: State) -> Self {
        Self {
            slot,
            rate,
            credit,
            links: Links::alone(state),
        }
    }

    pub(super) fn is(&self, state: State) -> bool {
        self.links.beside == state
    }

    /// Stands at that place among the released, as the root of its tree.
    pub(super) fn becomes_root(&mut self, place: usize) {
        self.links.up = I::from_index(place).unwrap_or(I::NONE);
        self.links.beside = State::Root;
    }
}

impl<W: Ticks, I: Id> Node<I> for Seat<W, I> {
    type Beside = State;
    fn is_before(&self, other: &Self) -> bool {
        self.slot.is_before(other.slot)
    }
    fn ties_with(&self, other: &Self) -> bool {
        self.slot == other.slot
    }
    fn links(&self) -> &Links<I, State> {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links<I, State> {
        &mut self.links
    }
    fn above(&self) -> I {
        if self.is(State::Root) {
            I::NONE
        } else {
            self.links.up
        }
    }
}
