//! What a page asks of robots that have read it: `meta` elements and `X-Robots-Tag`.

use super::word::Word;
use crate::fetch::robots::product_token;

/// What a page does not want. Nothing, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Directives {
    /// It does not want to be in a collection.
    pub noindex: bool,
    /// Its links are not to be followed.
    pub nofollow: bool,
}

impl Directives {
    /// Both wishes together: no page takes back what another part of it has said.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
        }
    }

    /// The value of an `X-Robots-Tag` header, for the agent of this name. A header may be addressed
    /// to one agent: `otherbot: noindex`. Work: one pass.
    ///
    /// ```
    /// use dunlin::discover::Directives;
    ///
    /// let said = Directives::of_header(b"noarchive, NoFollow", "dunlin");
    /// assert!(said.nofollow && !said.noindex);
    /// assert!(Directives::of_header(b"dunlin: none", "dunlin").noindex);
    /// assert!(!Directives::of_header(b"otherbot: none", "dunlin").noindex);
    /// ```
    pub fn of_header(value: &[u8], agent: &str) -> Self {
        let mut said = Self::default();
        let mut is_ours = true;
        for part in value.split(|byte| *byte == b',') {
            let mut part = part.trim_ascii();
            let colon = part.iter().position(|byte| *byte == b':');
            if let Some((name, rest)) = colon.and_then(|colon| part.split_at_checked(colon)) {
                let name = name.trim_ascii();
                // A directive may have a value of its own.
                let has_value: [&[u8]; 4] = [
                    b"unavailable_after",
                    b"max-snippet",
                    b"max-image-preview",
                    b"max-video-preview",
                ];
                if has_value
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known))
                {
                    continue;
                }
                is_ours = name.eq_ignore_ascii_case(product_token(agent).as_bytes());
                part = rest.get(1..).unwrap_or_default().trim_ascii();
            }
            if is_ours {
                let mut word = Word::default();
                part.iter().for_each(|letter| word.push(*letter));
                said = said.and(Self::of(&word));
            }
        }
        said
    }

    /// What one word asks for.
    pub(super) fn of(word: &Word) -> Self {
        let text = word.text();
        Self {
            noindex: matches!(text, b"noindex" | b"none"),
            nofollow: matches!(text, b"nofollow" | b"none"),
        }
    }
}
