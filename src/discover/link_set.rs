//! Which links of a page were met, each once.

/// Links of a page that count: its first ones.
const MOST: usize = 128;
/// Words of marks, 32 each.
const WORDS: usize = 16;

/// Digests of what a page links to, in the order in which they came, each once: 580 bytes.
///
/// ```
/// use dunlin::discover::LinkSet;
///
/// let mut links = LinkSet::default();
/// links.push(7);
/// assert!(links.has(7) && !links.has(8));
/// assert_eq!(links.as_slice(), [7]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LinkSet {
    digests: heapless::Vec<u32, MOST>,
    /// A bit for each of 512 kinds of digests: as a rule, one look says that a link is new.
    marks: [u32; WORDS],
}

impl LinkSet {
    /// Was this met before? Work: constant as a rule, and linear at most.
    pub fn has(&self, digest: u32) -> bool {
        let (word, mark) = place(digest);
        let is_marked = self.marks.get(word).is_some_and(|word| word & mark != 0);
        is_marked && self.digests.contains(&digest)
    }

    /// Adds one that was not met before, if there is room.
    pub fn push(&mut self, digest: u32) {
        let (word, mark) = place(digest);
        if self.digests.push(digest).is_ok()
            && let Some(word) = self.marks.get_mut(word)
        {
            *word |= mark;
        }
    }

    /// Is there no room for another one?
    pub fn is_full(&self) -> bool {
        self.digests.is_full()
    }

    /// Those that were met, in their order.
    pub fn as_slice(&self) -> &[u32] {
        &self.digests
    }
}

/// The word and the bit of a digest's mark: digests are random.
fn place(digest: u32) -> (usize, u32) {
    (digest as usize % WORDS, 1 << (digest >> 27))
}
