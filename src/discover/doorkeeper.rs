//! How often something was seen lately, roughly: a count-min sketch (Cormode and Muthukrishnan
//! 2005). A URL that is seen once costs nobody a place, and a directory that never ends is noticed.

/// Rows of counters: a count is too high only if all of them collide.
const ROWS: usize = 4;
/// Counters are halved when so many times as many things were counted as a row has counters.
const AGE: u32 = 8;

/// Counts by digest, in fixed memory: never too few, now and then too many. With `[u8; 4096]` it
/// takes 4 KiB.
///
/// ```
/// use dunlin::discover::Doorkeeper;
///
/// let mut keeper = Doorkeeper::new([0; 64]);
/// assert_eq!(keeper.count(9), 0);
/// assert_eq!(keeper.see(9), 1);
/// assert_eq!(keeper.see(9), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Doorkeeper<S> {
    counters: S,
    seen: u32,
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Doorkeeper<S> {
    /// It has seen nothing yet. The memory is cut into four rows.
    pub fn new(mut counters: S) -> Self {
        counters.as_mut().fill(0);
        Self { counters, seen: 0 }
    }

    /// How often this was seen, since counts were last halved and half as much before. Work:
    /// constant.
    pub fn count(&self, digest: u32) -> u8 {
        let counters = self.counters.as_ref();
        least(counters, places(digest, counters.len() / ROWS))
    }

    /// It was seen once more: how often, with this time. Work: constant, and now and then linear in
    /// its memory.
    pub fn see(&mut self, digest: u32) -> u8 {
        let counters = self.counters.as_mut();
        let row = counters.len() / ROWS;
        let places = places(digest, row);
        let next = least(counters, places).saturating_add(1);
        for at in places {
            // Only counters that are too low are raised: the others have counted something else.
            if let Some(counter) = counters.get_mut(at) {
                *counter = (*counter).max(next);
            }
        }
        self.seen += 1;
        if self.seen >= AGE * row as u32 {
            self.seen = 0;
            counters.iter_mut().for_each(|counter| *counter /= 2);
        }
        next
    }
}

fn least(counters: &[u8], places: [usize; ROWS]) -> u8 {
    let each = places.map(|at| counters.get(at).copied().unwrap_or(0));
    each.into_iter().min().unwrap_or(0)
}

/// A counter in each row. Digests are random, so that a factor for each row makes another order of
/// them.
fn places(digest: u32, row: usize) -> [usize; ROWS] {
    const FACTORS: [u32; ROWS] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f];
    let mut start = 0;
    FACTORS.map(|factor| {
        let random = u64::from(digest.wrapping_mul(factor));
        let at = start + ((random * row as u64) >> 32) as usize;
        start += row;
        at
    })
}
