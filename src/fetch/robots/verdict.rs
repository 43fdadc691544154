//! What robots rules say of one page, as everybody who asks remembers it.

/// Whether a page may be fetched, as far as robots rules are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// It has not been held against the rules: it must not be fetched before that.
    #[default]
    Unknown,
    /// It may be fetched.
    Allowed,
    /// It must not be fetched.
    Denied,
}

#[cfg(any(feature = "probe", feature = "discover"))]
impl Verdict {
    /// The bits of a byte that a verdict is kept in.
    pub(crate) const BITS: u8 = 0b11;

    /// The bits that keep it.
    pub(crate) const fn to_bits(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Allowed => 1,
            Self::Denied => 2,
        }
    }

    /// What a byte says in these bits.
    pub(crate) const fn from_bits(byte: u8) -> Self {
        match byte & Self::BITS {
            1 => Self::Allowed,
            2 => Self::Denied,
            _ => Self::Unknown,
        }
    }
}
