//! A heap whose entries can be found again: change a key or remove an entry by its id, in O(log n).
//!
//! No published `no_std` heap does that without an allocator. This one works in storage the caller
//! brings: arrays inside a `static`, slices, or a `Vec` on a host. It is 4-ary: half the levels of
//! a binary heap, and the four children that are compared lie side by side in memory.

use core::borrow::{Borrow, BorrowMut};
use core::fmt;
use core::marker::PhantomData;

/// How many children a node has.
const ARITY: usize = 4;

/// What entries are known by: small integers, dense from 0, such as page or host numbers.
pub trait Id: Copy + Ord + fmt::Debug {
    /// Marks an id that is not in the heap; never an id itself.
    const NONE: Self;
    /// The id for an index; `None` if the type cannot hold it.
    fn from_index(index: usize) -> Option<Self>;
    /// The index of an id.
    fn index(self) -> usize;
}

macro_rules! id {
    ($t:ident) => {
        impl Id for $t {
            const NONE: Self = $t::MAX;
            #[inline]
            fn from_index(index: usize) -> Option<Self> {
                $t::try_from(index).ok().filter(|id| *id != Self::NONE)
            }
            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}

id!(u16);
id!(u32);

/// What a heap is ordered by.
pub trait Key: Copy + Ord {
    /// Fills places that are not in use, so that a heap can be built in a `static`. Never compared.
    const FILLER: Self;
}

macro_rules! key {
    ($($t:ty: $filler:expr),*) => { $(impl Key for $t { const FILLER: Self = $filler; })* };
}

key!(u16: 0, u32: 0, u64: 0, i32: 0, i64: 0);

/// Ordered by the first, then by the second.
impl<A: Key, B: Key> Key for (A, B) {
    const FILLER: Self = (A::FILLER, B::FILLER);
}

/// One key and the id it belongs to. Entries are ordered by key, and equal keys by id, so that
/// every run of the same program breaks ties alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Entry<K, I> {
    /// What the heap is ordered by, smallest first.
    pub key: K,
    /// The id that the key belongs to.
    pub id: I,
}

/// Why an entry was not taken. It is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum PushError<K, I> {
    /// Every place is taken.
    Full(Entry<K, I>),
    /// The id is in the heap already; use [`Heap::update`].
    Duplicate(Entry<K, I>),
    /// The id is not below the number of positions the heap was given.
    OutOfRange(Entry<K, I>),
}

impl<K: fmt::Debug, I: Id> fmt::Display for PushError<K, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(entry) => write!(f, "heap is full, id {:?} was not added", entry.id),
            Self::Duplicate(entry) => write!(f, "id {:?} is in the heap already", entry.id),
            Self::OutOfRange(entry) => {
                write!(f, "id {:?} is beyond the heap's range of ids", entry.id)
            }
        }
    }
}

impl<K: fmt::Debug, I: Id> core::error::Error for PushError<K, I> {}

/// An indexed min-heap over storage of the caller's choice.
///
/// `E` holds the entries (its length is the capacity) and `P` the place of each id (its length is
/// the range of ids). Both may be arrays, `&mut` slices or, on a host, `Vec`s. The work is done by
/// functions on slices, so it is compiled once per key and id type, not once per capacity. `L`
/// holds how many entries there are: a number, or a reference to that of another heap, see
/// [`Heap::as_view`].
///
/// | operation | work |
/// |---|---|
/// | `push`, `pop`, `update`, `remove` | O(log n) moves, at most 4 comparisons a level |
/// | `peek`, `key`, `contains` | O(1) |
/// | `clear`, construction | O(capacity) |
///
/// ```
/// use dunlin::heap::{ArrayHeap, Entry};
///
/// let mut due: ArrayHeap<u32, u16, 8> = ArrayHeap::new();
/// due.push(3, 50)?;
/// due.push(7, 20)?;
/// due.push(5, 90)?;
/// due.update(5, 10);
/// assert_eq!(due.remove(7), Some(20));
/// assert_eq!(due.pop(), Some(Entry { key: 10, id: 5 }));
/// assert_eq!(due.peek(), Some(&Entry { key: 50, id: 3 }));
/// # Ok::<(), dunlin::heap::PushError<u32, u16>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Heap<K, I, E, P, L = usize> {
    entries: E,
    positions: P,
    len: L,
    types: PhantomData<(K, I)>,
}

/// A heap that owns its memory: `N` entries with ids below `N`, `const`-constructible for a
/// `static`.
pub type ArrayHeap<K, I, const N: usize> = Heap<K, I, [Entry<K, I>; N], [I; N]>;

/// A heap in slices the caller lends it.
pub type SliceHeap<'a, K, I> = Heap<K, I, &'a mut [Entry<K, I>], &'a mut [I]>;

/// Another heap, whatever its storage, over slices: what is done to the view is done to the heap.
pub type HeapView<'a, K, I> = Heap<K, I, &'a mut [Entry<K, I>], &'a mut [I], &'a mut usize>;

impl<K: Key, I: Id, const N: usize> ArrayHeap<K, I, N> {
    /// Makes an empty heap.
    pub const fn new() -> Self {
        Self {
            entries: [Entry::UNUSED; N],
            positions: [I::NONE; N],
            len: 0,
            types: PhantomData,
        }
    }
}

impl<K: Key, const N: usize> ArrayHeap<K, u16, N> {
    /// Memory for a heap that is all zeros, if the key's filler is: such a `static` costs no flash.
    /// [`Heap::clear`] makes an empty heap of it.
    pub(crate) const ZERO: Self = Self {
        entries: [Entry {
            key: K::FILLER,
            id: 0,
        }; N],
        positions: [0; N],
        len: 0,
        types: PhantomData,
    };
}

impl<K: Key, I: Id, const N: usize> Default for ArrayHeap<K, I, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, I: Id> Entry<K, I> {
    /// What storage for a heap is filled with.
    pub const UNUSED: Self = Self {
        key: K::FILLER,
        id: I::NONE,
    };
}

impl<K, I, E, P> Heap<K, I, E, P>
where
    K: Key,
    I: Id,
    E: AsRef<[Entry<K, I>]> + AsMut<[Entry<K, I>]>,
    P: AsRef<[I]> + AsMut<[I]>,
{
    /// An empty heap in the given storage; whatever it held is overwritten.
    ///
    /// ```
    /// use dunlin::heap::{Entry, SliceHeap};
    ///
    /// let (mut entries, mut positions) = ([Entry::UNUSED; 2], [0_u16; 100]);
    /// let mut heap = SliceHeap::with_storage(&mut entries[..], &mut positions[..]);
    /// heap.push(99, 1_u32)?;
    /// heap.push(42, 2)?;
    /// assert!(heap.push(7, 3).is_err());
    /// # Ok::<(), dunlin::heap::PushError<u32, u16>>(())
    /// ```
    pub fn with_storage(entries: E, positions: P) -> Self {
        let mut heap = Self {
            entries,
            positions,
            len: 0,
            types: PhantomData,
        };
        heap.clear();
        heap
    }
}

impl<K, I, E, P, L> Heap<K, I, E, P, L>
where
    K: Key,
    I: Id,
    E: AsRef<[Entry<K, I>]>,
    P: AsRef<[I]>,
    L: Borrow<usize>,
{
    /// How many entries it holds.
    pub fn len(&self) -> usize {
        *self.len.borrow()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries it can hold.
    pub fn capacity(&self) -> usize {
        self.entries.as_ref().len()
    }

    /// The entries, in no particular order.
    pub fn entries(&self) -> &[Entry<K, I>] {
        self.entries.as_ref().get(..self.len()).unwrap_or_default()
    }

    /// The entry with the smallest key.
    pub fn peek(&self) -> Option<&Entry<K, I>> {
        self.entries().first()
    }

    /// The key of an id, if it is in the heap.
    pub fn key(&self, id: I) -> Option<K> {
        let place = self.place(id)?;
        self.entries().get(place).map(|entry| entry.key)
    }

    /// Is the id in the heap?
    pub fn contains(&self, id: I) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: I) -> Option<usize> {
        let place = *self.positions.as_ref().get(id.index())?;
        (place != I::NONE).then(|| place.index())
    }
}

impl<K, I, E, P, L> Heap<K, I, E, P, L>
where
    K: Key,
    I: Id,
    E: AsRef<[Entry<K, I>]> + AsMut<[Entry<K, I>]>,
    P: AsRef<[I]> + AsMut<[I]>,
    L: BorrowMut<usize>,
{
    /// This heap over slices, for code that is to be compiled once whatever the storage.
    ///
    /// ```
    /// use dunlin::heap::{ArrayHeap, HeapView};
    ///
    /// fn add(heap: &mut HeapView<'_, u32, u16>) {
    ///     let _ = heap.push(3, 50);
    /// }
    /// let mut heap: ArrayHeap<u32, u16, 8> = ArrayHeap::new();
    /// add(&mut heap.as_view());
    /// assert_eq!(heap.len(), 1);
    /// ```
    pub fn as_view(&mut self) -> HeapView<'_, K, I> {
        Heap {
            entries: self.entries.as_mut(),
            positions: self.positions.as_mut(),
            len: self.len.borrow_mut(),
            types: PhantomData,
        }
    }

    /// Forgets every entry.
    pub fn clear(&mut self) {
        self.positions.as_mut().fill(I::NONE);
        *self.len.borrow_mut() = 0;
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Full, known already or out of range: the entry comes back and the heap is unchanged.
    pub fn push(&mut self, id: I, key: K) -> Result<(), PushError<K, I>> {
        let entry = Entry { key, id };
        let len = self.len();
        let entries = self.entries.as_mut();
        let positions = self.positions.as_mut();
        match positions.get(id.index()) {
            None => return Err(PushError::OutOfRange(entry)),
            Some(place) if *place != I::NONE => return Err(PushError::Duplicate(entry)),
            Some(_) => {}
        }
        // A place is stored as an id, so a capacity beyond the id type's range counts as full.
        if len >= entries.len() || I::from_index(len).is_none() {
            return Err(PushError::Full(entry));
        }
        let place = rise(entries, positions, len, entry);
        put(entries, positions, place, entry);
        *self.len.borrow_mut() = len + 1;
        Ok(())
    }

    /// Takes out the smallest entry.
    pub fn pop(&mut self) -> Option<Entry<K, I>> {
        self.take(0)
    }

    /// Takes out the entry of an id and returns its key.
    pub fn remove(&mut self, id: I) -> Option<K> {
        let place = self.place(id)?;
        self.take(place).map(|entry| entry.key)
    }

    /// Gives an id a new key and returns the old one; `None`, and nothing changed, if it is not in
    /// the heap.
    pub fn update(&mut self, id: I, key: K) -> Option<K> {
        let place = self.place(id)?;
        let old = self.entries().get(place)?.key;
        self.settle(place, Entry { key, id });
        Some(old)
    }

    /// Changes every key by the same rule, which must keep their order (equal ones may become
    /// more). O(n)
    pub(crate) fn map_keys(&mut self, rule: impl Fn(K) -> K) {
        let len = self.len();
        for entry in self.entries.as_mut().iter_mut().take(len) {
            entry.key = rule(entry.key);
        }
    }

    fn take(&mut self, place: usize) -> Option<Entry<K, I>> {
        let taken = *self.entries().get(place)?;
        let last = *self.entries().last()?;
        let len = self.len() - 1;
        *self.len.borrow_mut() = len;
        if let Some(position) = self.positions.as_mut().get_mut(taken.id.index()) {
            *position = I::NONE;
        }
        if place < len {
            self.settle(place, last);
        }
        Some(taken)
    }

    /// Puts an entry at a place that is free, or its own, or from there to where it belongs.
    fn settle(&mut self, place: usize, entry: Entry<K, I>) {
        let len = self.len();
        let positions = self.positions.as_mut();
        let Some(entries) = self.entries.as_mut().get_mut(..len) else {
            return;
        };
        // Nothing is above the root, which `pop` fills again.
        let above = if place > 0 {
            rise(entries, positions, place, entry)
        } else {
            0
        };
        // What has risen is smaller than all that is below.
        let place = if above < place {
            above
        } else {
            sink(entries, positions, place, entry)
        };
        put(entries, positions, place, entry);
    }
}

/// Moves the hole at `place` towards the root until `entry` fits; returns where it is then.
fn rise<K: Key, I: Id>(
    entries: &mut [Entry<K, I>],
    positions: &mut [I],
    mut place: usize,
    entry: Entry<K, I>,
) -> usize {
    while place > 0 {
        let parent = (place - 1) / ARITY;
        match entries.get(parent) {
            Some(above) if is_before(&entry, above) => put(entries, positions, place, *above),
            _ => break,
        }
        place = parent;
    }
    place
}

/// Moves the hole at `place` towards the leaves until `entry` fits; returns where it is then.
fn sink<K: Key, I: Id>(
    entries: &mut [Entry<K, I>],
    positions: &mut [I],
    mut place: usize,
    entry: Entry<K, I>,
) -> usize {
    while let Some((child, below)) = smallest_child(entries, place) {
        if !is_before(&below, &entry) {
            break;
        }
        put(entries, positions, place, below);
        place = child;
    }
    place
}

/// The smallest of the children, and its place.
fn smallest_child<K: Key, I: Id>(
    entries: &[Entry<K, I>],
    place: usize,
) -> Option<(usize, Entry<K, I>)> {
    let first = place * ARITY + 1;
    let children = entries.get(first..)?;
    let smaller = |(at, one), (other_at, other)| {
        if is_before(other, one) {
            (other_at, other)
        } else {
            (at, one)
        }
    };
    // All four, as a rule, and then a tournament without a loop: half the instructions.
    let (at, smallest) = match children {
        [a, b, c, d, ..] => smaller(smaller((0, a), (1, b)), smaller((2, c), (3, d))),
        [a, b, c] => smaller(smaller((0, a), (1, b)), (2, c)),
        [a, b] => smaller((0, a), (1, b)),
        [a] => (0, a),
        [] => return None,
    };
    Some((first + at, *smallest))
}

/// The order of entries, spelt out: the derived one goes through an `Ordering`, at twice the
/// instructions.
fn is_before<K: Key, I: Id>(one: &Entry<K, I>, other: &Entry<K, I>) -> bool {
    one.key < other.key || (one.key == other.key && one.id < other.id)
}

/// The one place where an entry and its position are written, so that they cannot disagree.
fn put<K: Key, I: Id>(
    entries: &mut [Entry<K, I>],
    positions: &mut [I],
    place: usize,
    entry: Entry<K, I>,
) {
    if let (Some(slot), Some(position)) =
        (entries.get_mut(place), positions.get_mut(entry.id.index()))
    {
        *slot = entry;
        *position = I::from_index(place).unwrap_or(I::NONE);
    }
}
