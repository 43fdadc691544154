//! A short word of markup, in lower case: the name of a tag or an attribute, or a word of a value.

/// Letters that are kept. No word that means something to us is longer.
const LONGEST: usize = 24;

/// A word that is read letter by letter. One that is longer than its room is equal to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    letters: [u8; LONGEST],
    length: u8,
}

impl Word {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn push(&mut self, letter: u8) {
        if let Some(slot) = self.letters.get_mut(usize::from(self.length)) {
            *slot = letter.to_ascii_lowercase();
        }
        // One more than there is room for stands for all that are longer.
        self.length = (self.length + 1).min(LONGEST as u8 + 1);
    }

    /// Takes letters that stand together.
    pub(super) fn extend(&mut self, letters: &[u8]) {
        let room = self.letters.get_mut(usize::from(self.length)..);
        let room = room.unwrap_or_default().iter_mut();
        for (slot, letter) in room.zip(letters) {
            *slot = letter.to_ascii_lowercase();
        }
        let length = usize::from(self.length) + letters.len();
        self.length = length.min(LONGEST + 1) as u8;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The word; none if it is too long to be one of ours.
    pub(super) fn text(&self) -> &[u8] {
        self.letters
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}
