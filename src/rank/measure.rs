//! What importance is made of: a product, so that each part can be left out.

/// Which parts count. The weight that the list gives to a page always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Measure {
    /// Links to the page that were seen (IB').
    pub backlinks: bool,
    /// PageRank, as far as it is known (IR').
    pub page_rank: bool,
    /// What its URL looks like (IL).
    pub location: bool,
    /// What it is about (IS).
    pub topic: bool,
}

impl Measure {
    /// PageRank: the best order for pages with many links to them and for those of a high PageRank
    /// alike (Cho §2.6).
    pub const DEFAULT: Self = Self {
        backlinks: false,
        page_rank: true,
        location: false,
        topic: false,
    };

    /// The parts as bits, for an image; the lowest is that of backlinks.
    pub fn bits(self) -> u8 {
        u8::from(self.backlinks)
            | u8::from(self.page_rank) << 1
            | u8::from(self.location) << 2
            | u8::from(self.topic) << 3
    }

    /// Reads the parts from bits; those that nobody knows do not count.
    pub fn from_bits(bits: u8) -> Self {
        Self {
            backlinks: bits & 1 != 0,
            page_rank: bits & 2 != 0,
            location: bits & 4 != 0,
            topic: bits & 8 != 0,
        }
    }
}

/// What is known of a page, or of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Links to it that were seen.
    pub backlinks: u16,
    /// Its PageRank, by [`Bank`](super::Bank).
    pub page_rank: f32,
    /// What its URL is worth, by [`location`](super::location()).
    pub location: f32,
    /// How much of the topic it holds, by [`Topic`](super::Topic).
    pub topic: f32,
    /// What the list says; 1 for a page that is not in it.
    pub weight: f32,
}

impl Evidence {
    /// Nothing but that it is there.
    pub const NONE: Self = Self {
        backlinks: 0,
        page_rank: 1.0,
        location: 1.0,
        topic: 1.0,
        weight: 1.0,
    };

    /// The product of all that counts.
    ///
    /// ```
    /// use dunlin::rank::{Evidence, Measure};
    ///
    /// let evidence = Evidence { page_rank: 3.0, location: 0.5, weight: 2.0, ..Evidence::NONE };
    /// assert_eq!(evidence.importance(Measure::DEFAULT), 6.0);
    /// let measure = Measure { location: true, ..Measure::DEFAULT };
    /// assert_eq!(evidence.importance(measure), 3.0);
    /// ```
    pub fn importance(&self, measure: Measure) -> f32 {
        let parts = [
            // Nobody links to the first page of a list, and it counts all the same.
            (measure.backlinks, f32::from(self.backlinks) + 0.1),
            (measure.page_rank, self.page_rank),
            (measure.location, self.location),
            (measure.topic, self.topic),
        ];
        let counted = parts.iter().filter(|(counts, _)| *counts);
        counted.fold(self.weight, |product, (_, part)| product * part)
    }
}
