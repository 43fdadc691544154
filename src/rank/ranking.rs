//! How the owner of a list wants pages to be ranked: a section of the page image.

use super::measure::Measure;
use super::topic::Topic;

/// What a section begins with; a reader that finds another version ranks by PageRank.
const VERSION: u8 = 1;

/// What importance is made of, and what pages should be about.
///
/// ```text
/// version u8 · parts of the measure, as bits, u8 · words of the topic in UTF-8, spaces between
/// ```
#[derive(Clone, Debug)]
pub struct Ranking {
    /// What importance is made of.
    pub measure: Measure,
    /// Words that pages should hold; none if [`Measure::topic`] is off.
    pub topic: Topic,
}

impl Ranking {
    /// Ranks by PageRank alone, as an image without the section does.
    pub const DEFAULT: Self = Self {
        measure: Measure::DEFAULT,
        topic: Topic::NONE,
    };

    /// What a section begins with; the words follow, with spaces between them.
    pub fn header(measure: Measure) -> [u8; 2] {
        [VERSION, measure.bits()]
    }

    /// Reads a section; `None` if it is of another version or cannot be read.
    ///
    /// ```
    /// use dunlin::rank::{Measure, Ranking};
    ///
    /// let measure = Measure { location: true, ..Measure::DEFAULT };
    /// let mut section = Ranking::header(measure).to_vec();
    /// section.extend(b"wader estuary");
    /// let read = Ranking::read(&section).unwrap();
    /// assert!(read.measure.location && read.measure.topic);
    /// assert!(!read.topic.in_text(b"The estuary").is_empty());
    /// ```
    pub fn read(section: &[u8]) -> Option<Self> {
        let (&[version, bits], words) = section.split_first_chunk()?;
        if version != VERSION {
            return None;
        }
        let words = core::str::from_utf8(words).ok()?;
        let words = words.split(' ').filter(|word| !word.is_empty());
        let topic = Topic::new(words).ok()?;
        let measure = Measure {
            topic: !topic.is_empty(),
            ..Measure::from_bits(bits)
        };
        Some(Self { measure, topic })
    }
}
