//! What a page asks of robots that have read it: `meta` elements and `X-Robots-Tag`.

use super::product_token;
use crate::fetch::ascii::{same, trimmed};

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
    /// assert!(Directives::of_header(b"dunlin: none", "dunlin/0.1").noindex);
    /// assert!(!Directives::of_header(b"otherbot: none", "dunlin").noindex);
    /// ```
    pub fn of_header(value: &[u8], agent: &str) -> Self {
        Self::of_value(value, AgentName::new(agent))
    }

    /// The same, for an agent of whom only the name's hash is known.
    pub(in crate::fetch) fn of_value(value: &[u8], agent: AgentName) -> Self {
        let mut said = Self::default();
        let mut is_ours = true;
        for part in value.split(|byte| *byte == b',') {
            let mut word = trimmed(part);
            let colon = word.iter().position(|byte| *byte == b':');
            if let Some((name, rest)) = colon.and_then(|colon| word.split_at_checked(colon)) {
                // The date of `unavailable_after` has colons, too, and commas.
                if is_name(name) {
                    is_ours = AgentName::of(name) == agent;
                }
                word = trimmed(rest.get(1..).unwrap_or_default());
            }
            if is_ours {
                said = said.and(Self::of(word));
            }
        }
        said
    }

    /// What one word asks for.
    pub(crate) fn of(word: &[u8]) -> Self {
        let is = |known: &[u8]| same(word, known);
        let none = is(b"none");
        Self {
            noindex: none || is(b"noindex"),
            nofollow: none || is(b"nofollow"),
        }
    }
}

/// Directives that have a value of their own, which are no names of agents.
const WITH_VALUE: [&[u8]; 4] = [
    b"unavailable_after",
    b"max-snippet",
    b"max-image-preview",
    b"max-video-preview",
];

/// May it be the name of an agent?
fn is_name(name: &[u8]) -> bool {
    let has_value = WITH_VALUE.iter().any(|known| same(name, known));
    !has_value && !name.contains(&b' ')
}

/// The name of an agent, as a hash without regard to case, so that a reader of responses has no
/// lifetime. Who makes another name of the same hash gets what naming us would bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::fetch) struct AgentName(u32);

impl AgentName {
    /// The name of an agent, whose version does not count.
    pub(in crate::fetch) fn new(agent: &str) -> Self {
        Self::of(product_token(agent).as_bytes())
    }

    /// Hashes a name with FNV-1a.
    fn of(name: &[u8]) -> Self {
        let add = |hash: u32, byte: &u8| {
            (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
        };
        Self(name.iter().fold(0x811c_9dc5, add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Directives = Directives {
        noindex: false,
        nofollow: false,
    };

    #[test]
    fn a_date_with_colons_and_commas_hides_no_directive() {
        let value = b"unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex";
        assert!(Directives::of_header(value, "dunlin").noindex);
    }

    #[test]
    fn what_is_said_to_others_does_not_count_until_somebody_else_is_named() {
        let value = b"otherbot: noindex, nofollow, Dunlin: nofollow";
        let said = Directives::of_header(value, "dunlin/0.1");
        assert!(said.nofollow && !said.noindex);
        let said = Directives::of_header(b"max-snippet:20, otherbot: none", "dunlin");
        assert_eq!(said, NOTHING);
        assert_eq!(Directives::of_header(b"all, , :", "dunlin"), NOTHING);
    }
}
