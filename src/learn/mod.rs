//! Did it change? From visits to change rates, in constant memory.
//!
//! | question | file |
//! |---|---|
//! | what the probe carries for every page | [`online`] |
//! | what is known of a page nobody has visited: its host | [`host`] |

pub mod host;
pub mod online;

pub use host::HostPrior;
pub use online::{Estimate, Prior, Settings};

use crate::time::Duration;

/// What one visit to a page found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Visit {
    /// Time since the visit before.
    pub interval: Duration,
    /// Is the page another one than at the visit before?
    pub changed: bool,
    /// How long ago the page says it was last modified, if it says so.
    pub modified_ago: Option<Duration>,
}

impl Visit {
    /// A visit without a `Last-Modified` date.
    pub const fn new(interval: Duration, changed: bool) -> Self {
        Self { interval, changed, modified_ago: None }
    }

    /// With the age that the `Last-Modified` date gives the page.
    #[must_use]
    pub const fn modified(self, ago: Duration) -> Self {
        Self { modified_ago: Some(ago), ..self }
    }
}
