//! What others have learnt about pages, in a section that a reader may skip: who is given a list
//! begins where the one before it was.
//!
//! | byte | each record, sorted by page |
//! |---|---|
//! | 0 | index of the page `u16` |
//! | 2 | shape `f32` |
//! | 6 | time `f32` |
//! | 10 | evidence of a rise and of a fall, two `u16` |

use super::{Image, Tag};

/// Bytes of a record.
const RECORD: usize = 14;

/// What is believed of a page: the parts of an [`Estimate`](crate::learn::Estimate).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Learnt {
    /// How much has been seen, in changes.
    pub shape: f32,
    /// The days in which that was.
    pub time: f32,
    /// Evidence of a rise and of a fall.
    pub watch: [u16; 2],
}

impl Learnt {
    fn read(record: &[u8; RECORD]) -> (u16, Self) {
        let [p0, p1, s0, s1, s2, s3, t0, t1, t2, t3, r0, r1, f0, f1] = *record;
        let learnt = Self {
            shape: f32::from_le_bytes([s0, s1, s2, s3]),
            time: f32::from_le_bytes([t0, t1, t2, t3]),
            watch: [u16::from_le_bytes([r0, r1]), u16::from_le_bytes([f0, f1])],
        };
        (u16::from_le_bytes([p0, p1]), learnt)
    }

    #[cfg(feature = "std")]
    fn write(&self, page: u16, to: &mut std::vec::Vec<u8>) {
        let [risen, fallen] = self.watch;
        to.extend(page.to_le_bytes());
        to.extend(self.shape.to_le_bytes());
        to.extend(self.time.to_le_bytes());
        to.extend(risen.to_le_bytes());
        to.extend(fallen.to_le_bytes());
    }
}

impl Image<'_> {
    /// What others have learnt about a page; anything, if the image was not made with care. Work:
    /// the headers of the sections, and a binary search.
    pub fn learnt(&self, page: u16) -> Option<Learnt> {
        let (records, _) = self.section(Tag::LEARNT)?.as_chunks::<RECORD>();
        let place = records.binary_search_by_key(&page, |record| Learnt::read(record).0);
        let record = records.get(place.ok()?)?;
        Some(Learnt::read(record).1)
    }
}

#[cfg(feature = "std")]
impl super::Builder {
    /// Adds what others have learnt about some pages. A firmware that does not know it learns it
    /// anew.
    pub fn learnt(self, learnt: &[(u16, Learnt)]) -> Self {
        let mut sorted = learnt.to_vec();
        sorted.sort_by_key(|(page, _)| *page);
        let mut payload = std::vec::Vec::new();
        for (page, learnt) in sorted {
            learnt.write(page, &mut payload);
        }
        match payload.is_empty() {
            true => self,
            false => self.section(Tag::LEARNT, &payload),
        }
    }
}
