//! Many heaps threaded through one array of nodes; any two of them meld into one in O(log n), in
//! the worst case too.
//!
//! Leftist heaps (Crane 1972): the shorter way to a leaf is always to the right, hence at most
//! log₂(n + 1) long, and all work follows right spines. An array a heap would have to be as long as
//! all nodes together, and to move them one by one; here a heap is three links and a rank in each
//! node, and is known by its root.

use crate::heap::Id;

/// A node's place in its heap. What storage for a forest is made of.
///
/// Links leave a byte of padding. `X` is what the owner of the forest keeps there; nothing here
/// touches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links<I, X> {
    pub(crate) left: I,
    pub(crate) right: I,
    pub(crate) up: I,
    /// Nodes on the shortest way down to a free link.
    pub(crate) rank: u8,
    /// What the owner keeps in the byte that would be padding.
    pub(crate) beside: X,
}

impl<I: Id, X> Links<I, X> {
    /// A node that is a heap of its own.
    pub(crate) const fn alone(beside: X) -> Self {
        Self {
            left: I::NONE,
            right: I::NONE,
            up: I::NONE,
            rank: 1,
            beside,
        }
    }
}

impl<X> Links<u16, X> {
    /// Links of no heap at all: zeros, if `beside` is.
    pub(crate) const fn zero(beside: X) -> Self {
        Self {
            left: 0,
            right: 0,
            up: 0,
            rank: 0,
            beside,
        }
    }
}

/// Something that can stand in a heap.
pub(crate) trait Node<I: Copy> {
    /// What the owner keeps beside the links.
    type Beside: Copy;
    /// Does it stand above `other`? Must be a strict order of those that do not tie.
    fn is_before(&self, other: &Self) -> bool;
    /// Is their order left to their ids?
    fn ties_with(&self, other: &Self) -> bool;
    fn links(&self) -> &Links<I, Self::Beside>;
    fn links_mut(&mut self) -> &mut Links<I, Self::Beside>;
    /// The node above, [`Id::NONE`] for a root. An owner that keeps something else in a root's `up`
    /// says so here.
    fn above(&self) -> I {
        self.links().up
    }
}

/// Adds a node, which is in no heap, and returns the root. O(log n)
pub(crate) fn push<I: Id, N: Node<I>>(nodes: &mut [N], root: I, id: I) -> I {
    if let Some(node) = nodes.get_mut(id.index()) {
        let links = node.links_mut();
        *links = Links::alone(links.beside);
    }
    meld(nodes, root, id)
}

/// Makes one heap of two and returns its root. O(log n)
pub(crate) fn meld<I: Id, N: Node<I>>(nodes: &mut [N], a: I, b: I) -> I {
    if nodes.get(a.index()).is_none() || nodes.get(b.index()).is_none() {
        let root = if a == I::NONE { b } else { a };
        set_up(nodes, root, I::NONE);
        return root;
    }
    let (root, mut other) = if stands_above(nodes, b, a) {
        (b, a)
    } else {
        (a, b)
    };
    set_up(nodes, root, I::NONE);
    let (mut above, mut below) = last_above(nodes, root, other);
    let first = above;
    // What follows on the spine hangs below `other` now: the two change places, and go on.
    while let Some(node) = nodes.get_mut(above.index()) {
        node.links_mut().right = other;
        set_up(nodes, other, above);
        if below == I::NONE {
            break;
        }
        let spine = other;
        other = below;
        (above, below) = last_above(nodes, spine, other);
    }
    balance_spine(nodes, above, first);
    root
}

/// The last node of a right spine, which begins at `spine`, that stands above `other`, and the one
/// that follows there.
fn last_above<I: Id, N: Node<I>>(nodes: &[N], spine: I, other: I) -> (I, I) {
    let mut above = spine;
    let mut below = I::NONE;
    if let (Some(first), Some(node)) = (nodes.get(spine.index()), nodes.get(other.index())) {
        below = first.links().right;
        while let Some(next) = nodes.get(below.index()) {
            let is_above = if node.ties_with(next) {
                other < below
            } else {
                node.is_before(next)
            };
            if is_above {
                break;
            }
            above = below;
            below = next.links().right;
        }
    }
    (above, below)
}

/// Brings a right spine in order, from the node above its last new link up to that above its
/// first; and ranks above that.
fn balance_spine<I: Id, N: Node<I>>(nodes: &mut [N], last: I, first: I) {
    let mut id = last;
    let below = nodes
        .get(id.index())
        .map_or(I::NONE, |node| node.links().right);
    let mut on_right = rank(nodes, below);
    while let Some(node) = nodes.get(id.index()) {
        let &Links {
            left,
            rank: was,
            up,
            ..
        } = node.links();
        let above = node.above();
        on_right = weigh(nodes, id, rank(nodes, left), on_right);
        if id == first {
            if on_right != was {
                balance_ranks(nodes, above);
            }
            return;
        }
        id = up;
    }
}

/// Brings ranks in order from a node upwards, below which one has changed. They are at most log₂ n
/// and fall along the way.
fn balance_ranks<I: Id, N: Node<I>>(nodes: &mut [N], from: I) {
    let mut id = from;
    while let Some(node) = nodes.get(id.index()) {
        let &Links {
            left,
            right,
            rank: was,
            ..
        } = node.links();
        let above = node.above();
        if weigh(nodes, id, rank(nodes, left), rank(nodes, right)) == was {
            return;
        }
        id = above;
    }
}

/// Does the first of two nodes stand above the second?
fn stands_above<I: Id, N: Node<I>>(nodes: &[N], one: I, other: I) -> bool {
    match (nodes.get(one.index()), nodes.get(other.index())) {
        (Some(first), Some(second)) if first.ties_with(second) => one < other,
        (Some(first), Some(second)) => first.is_before(second),
        (first, _) => first.is_some(),
    }
}

fn set_up<I: Id, N: Node<I>>(nodes: &mut [N], id: I, up: I) {
    if let Some(node) = nodes.get_mut(id.index()) {
        node.links_mut().up = up;
    }
}

/// Takes a node out of the heap of the given root and returns the root of what remains. O(log n)
pub(crate) fn remove<I: Id, N: Node<I>>(nodes: &mut [N], root: I, id: I) -> I {
    let Some(node) = nodes.get(id.index()) else {
        return root;
    };
    let &Links { left, right, .. } = node.links();
    let up = node.above();
    let rest = meld(nodes, left, right);
    if let Some(node) = nodes.get_mut(rest.index()) {
        node.links_mut().up = up;
    }
    let Some(parent) = nodes.get_mut(up.index()).map(Node::links_mut) else {
        return rest;
    };
    if parent.left == id {
        parent.left = rest;
    } else {
        parent.right = rest;
    }
    balance_ranks(nodes, up);
    root
}

/// Nodes on the shortest way down to a free link.
fn rank<I: Id, N: Node<I>>(nodes: &[N], id: I) -> u8 {
    nodes.get(id.index()).map_or(0, |node| node.links().rank)
}

/// Puts the deeper child to the left, given the ranks of both; returns the node's new rank.
fn weigh<I: Id, N: Node<I>>(nodes: &mut [N], id: I, on_left: u8, on_right: u8) -> u8 {
    let least = on_left.min(on_right) + 1;
    if let Some(node) = nodes.get_mut(id.index()) {
        let links = node.links_mut();
        links.rank = least;
        if on_left < on_right {
            core::mem::swap(&mut links.left, &mut links.right);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 64;

    #[derive(Clone, Copy)]
    struct Number {
        key: u32,
        links: Links<u16, u8>,
    }

    impl Node<u16> for Number {
        type Beside = u8;
        fn is_before(&self, other: &Self) -> bool {
            self.key < other.key
        }
        fn ties_with(&self, other: &Self) -> bool {
            self.key == other.key
        }
        fn links(&self) -> &Links<u16, u8> {
            &self.links
        }
        fn links_mut(&mut self) -> &mut Links<u16, u8> {
            &mut self.links
        }
    }

    /// Checks order, ranks and links below a node, and counts its nodes.
    fn check(nodes: &[Number], id: u16, up: u16) -> usize {
        let Some(node) = nodes.get(usize::from(id)) else {
            return 0;
        };
        let rank = |id: u16| nodes.get(usize::from(id)).map_or(0, |node| node.links.rank);
        let Links {
            left,
            right,
            rank: own,
            ..
        } = node.links;
        assert_eq!(node.links.up, up);
        assert_eq!(
            node.links.beside, id as u8,
            "the owner's byte is left alone"
        );
        assert!(
            rank(left) >= rank(right) && own == rank(right) + 1,
            "leftist"
        );
        for child in [left, right]
            .into_iter()
            .filter(|child| *child != u16::NONE)
        {
            assert!(!nodes[usize::from(child)].is_before(node));
        }
        1 + check(nodes, left, id) + check(nodes, right, id)
    }

    #[test]
    fn four_heaps_follow_a_model() {
        let mut nodes: [Number; NODES] = core::array::from_fn(|id| Number {
            key: 0,
            links: Links::alone(id as u8),
        });
        let mut roots = [u16::NONE; 4];
        let mut home = [None; NODES];
        let mut state = 1_u32;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        for _ in 0..50_000 {
            let id = below(NODES as u32) as u16;
            let heap = below(4) as usize;
            let other = below(4) as usize;
            match home[usize::from(id)] {
                None => {
                    nodes[usize::from(id)].key = below(20);
                    roots[heap] = push(&mut nodes, roots[heap], id);
                    home[usize::from(id)] = Some(heap);
                }
                Some(_) if below(8) == 0 && heap != other => {
                    roots[heap] = meld(&mut nodes, roots[heap], roots[other]);
                    roots[other] = u16::NONE;
                    home.iter_mut()
                        .filter(|home| **home == Some(other))
                        .for_each(|home| *home = Some(heap));
                }
                Some(heap) => {
                    roots[heap] = remove(&mut nodes, roots[heap], id);
                    home[usize::from(id)] = None;
                }
            }
            for (heap, root) in roots.iter().enumerate() {
                let members = || (0..NODES).filter(|id| home[*id] == Some(heap));
                assert_eq!(check(&nodes, *root, u16::NONE), members().count());
                let first = members().min_by_key(|id| (nodes[*id].key, *id));
                assert_eq!(
                    first.map_or(u16::NONE, |id| id as u16),
                    *root,
                    "equal keys by id"
                );
            }
        }
    }
}
