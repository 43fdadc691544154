//! Similarity to a topic: words of the user's choice, looked for as text streams by (Cho §2.2, IS).

/// Why words make no topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TopicError {
    /// There are more words than [`Topic::MOST`].
    TooMany,
    /// The word at this place is empty, or holds something that is no letter or digit.
    Word(usize),
}

impl core::fmt::Display for TopicError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooMany => write!(f, "more than {} topic words", Topic::MOST),
            Self::Word(at) => write!(
                f,
                "topic word {} is empty or holds more than letters and digits",
                at + 1
            ),
        }
    }
}

impl core::error::Error for TopicError {}

/// Words that a topic is known by, as hashes: 68 bytes.
///
/// ```
/// use dunlin::rank::{Topic, WordReader};
///
/// let topic = Topic::new(["wader", "estuary"])?;
/// let mut reader = WordReader::new();
/// let mut found = reader.update(&topic, b"The Wad");
/// found = found.and(reader.update(&topic, b"er, a bird"));
/// found = found.and(reader.finish(&topic));
/// assert_eq!(topic.share(found), 0.5);
/// # Ok::<(), dunlin::rank::TopicError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Topic {
    words: [u32; Self::MOST],
    count: u8,
}

/// Words of a topic that were found, each a bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundWords(u16);

impl FoundWords {
    /// The words of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether no word was found.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Topic {
    /// Words that can be looked for.
    pub const MOST: usize = 16;
    /// No words: everything is about it.
    pub const NONE: Self = Self {
        words: [0; Self::MOST],
        count: 0,
    };
    /// What a page is worth that holds none of them: it may link to one that does.
    const OFF_TOPIC: f32 = 0.1;

    /// Of these words; case does not matter for ASCII.
    ///
    /// # Errors
    /// There are too many, or one is no word.
    pub fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Self, TopicError> {
        let mut topic = Self::default();
        for (at, word) in words.into_iter().enumerate() {
            let slot = topic.words.get_mut(at).ok_or(TopicError::TooMany)?;
            if word.is_empty() || !word.bytes().all(is_letter) {
                return Err(TopicError::Word(at));
            }
            *slot = word.bytes().fold(START, add);
            topic.count = at as u8 + 1;
        }
        Ok(topic)
    }

    /// Are there no words?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The share of the words that were found.
    pub fn share(&self, found: FoundWords) -> f32 {
        if self.is_empty() {
            return 1.0;
        }
        found.0.count_ones() as f32 / f32::from(self.count)
    }

    /// What a page is worth that holds these: one word makes most of the difference.
    pub fn worth(&self, found: FoundWords) -> f32 {
        if self.is_empty() {
            1.0
        } else if found.is_empty() {
            Self::OFF_TOPIC
        } else {
            0.5 + 0.5 * self.share(found)
        }
    }

    /// The words of a short text: a URL, an anchor.
    pub fn in_text(&self, text: &[u8]) -> FoundWords {
        let mut reader = WordReader::new();
        let found = reader.update(self, text);
        found.and(reader.finish(self))
    }

    fn found(&self, word: u32) -> FoundWords {
        let words = self.words.get(..usize::from(self.count)).unwrap_or(&[]);
        let hits = words
            .iter()
            .enumerate()
            .filter(|(_, known)| **known == word);
        FoundWords(hits.fold(0, |bits, (at, _)| bits | 1 << at))
    }
}

/// Cuts text into words, in pieces of any size. Work: some ten instructions a byte, and a
/// comparison for each word of the topic at the end of each word of the text.
#[derive(Clone, Copy, Debug)]
pub struct WordReader {
    hash: u32,
}

impl Default for WordReader {
    fn default() -> Self {
        Self::new()
    }
}

impl WordReader {
    /// A reader that stands between two words.
    pub const fn new() -> Self {
        Self { hash: START }
    }

    /// Takes text; the words of the topic that ended in it.
    pub fn update(&mut self, topic: &Topic, text: &[u8]) -> FoundWords {
        let mut found = FoundWords::default();
        if topic.is_empty() {
            return found;
        }
        for byte in text {
            if is_letter(*byte) {
                self.hash = add(self.hash, *byte);
            } else if self.hash != START {
                found = found.and(self.finish(topic));
            }
        }
        found
    }

    /// The text has ended, and with it the last word.
    pub fn finish(&mut self, topic: &Topic) -> FoundWords {
        if self.hash == START {
            return FoundWords::default();
        }
        topic.found(core::mem::replace(&mut self.hash, START))
    }
}

/// FNV-1a. Whoever makes another word of the same hash makes a page look on topic, which writing
/// the word does as well.
const START: u32 = 0x811c_9dc5;

fn add(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}
