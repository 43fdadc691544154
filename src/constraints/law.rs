//! By which law a page changes, beside its rate.

use crate::time::Duration;

/// How the changes of a page are spread over time, as its list says. The rate is a fact of the
/// page; [`model`](crate::model) has the formulas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ChangeLaw<'a> {
    /// Changes come at any moment alike.
    #[default]
    Poisson,
    /// The gaps between changes follow a Weibull law.
    Weibull {
        /// α > 0: below 1 changes come in bursts, above 1 they are regular.
        shape: f32,
    },
    /// The gaps between changes follow a Pareto law.
    Pareto {
        /// α > 1: the smaller it is, the heavier is the tail.
        shape: f32,
    },
    /// Changes can only come at known times of an interval.
    Quasi {
        /// After so long the times come again. An image keeps it in milliseconds, up to 49 days.
        interval: Duration,
        /// The times, in order.
        updates: Updates<'a>,
    },
}

impl ChangeLaw<'_> {
    /// Is it a law? Shapes have to be within their bounds, the times of an interval in order and
    /// inside of it, and probabilities between 0 and 1.
    pub fn is_sound(&self) -> bool {
        match *self {
            Self::Poisson => true,
            Self::Weibull { shape } => shape > 0.0 && shape.is_finite(),
            Self::Pareto { shape } => shape > 1.0 && shape.is_finite(),
            Self::Quasi { interval, updates } => {
                let likely = |update: &ClockUpdate| (0.0..=1.0).contains(&update.probability);
                updates.is_whole()
                    && updates.iter().is_sorted_by_key(|update| update.offset)
                    && updates.iter().all(|update| update.offset < interval)
                    && updates.iter().all(|update| likely(&update))
            }
        }
    }
}

/// A moment at which a page may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockUpdate {
    /// The time from the start of the interval, in whole milliseconds.
    pub offset: Duration,
    /// The chance that the change is real, 0 to 1.
    pub probability: f32,
}

impl ClockUpdate {
    /// The bytes that [`Updates`] reads: the offset in milliseconds as `u32`, the probability as
    /// `f32`, both little-endian. An offset beyond 49 days becomes 49 days.
    pub fn to_bytes(self) -> [u8; 8] {
        let millis = u32::try_from(self.offset.as_millis()).unwrap_or(u32::MAX);
        let [a, b, c, d] = millis.to_le_bytes();
        let [e, f, g, h] = self.probability.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        let millis = u32::from_le_bytes([a, b, c, d]);
        Self {
            offset: Duration::from_millis(millis.into()),
            probability: f32::from_le_bytes([e, f, g, h]),
        }
    }
}

/// The moments at which a page may change, read in place from where they are kept.
///
/// ```
/// use dunlin::constraints::{ClockUpdate, Updates};
/// use dunlin::time::Duration;
///
/// let noon = ClockUpdate { offset: Duration::HOUR * 12, probability: 0.9 };
/// let bytes = noon.to_bytes();
/// assert!(Updates::from_bytes(&bytes).iter().eq([noon]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Updates<'a> {
    bytes: &'a [u8],
}

impl<'a> Updates<'a> {
    /// The updates that [`ClockUpdate::to_bytes`] made these bytes of, one behind the other.
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes they are read from.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The updates in order. Up to seven bytes left over at the end are ignored.
    pub fn iter(&self) -> impl Iterator<Item = ClockUpdate> + use<'a> {
        self.bytes
            .as_chunks()
            .0
            .iter()
            .copied()
            .map(ClockUpdate::from_bytes)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Whether there is no update.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them as it is kept: milliseconds and chance. Nothing, if there are not so many.
    pub(super) fn raw(&self, index: usize) -> (u32, f32) {
        let bytes = self.bytes.as_chunks().0.get(index).copied();
        let [a, b, c, d, e, f, g, h] = bytes.unwrap_or([0; 8]);
        let chance = f32::from_le_bytes([e, f, g, h]);
        (u32::from_le_bytes([a, b, c, d]), chance)
    }

    fn is_whole(&self) -> bool {
        self.bytes.len().is_multiple_of(8)
    }
}
