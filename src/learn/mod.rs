//! Did it change? From visits to change rates, in constant memory.
//!
//! | question | file |
//! |---|---|
//! | what the probe carries for every page | [`online`] |
//! | what is known of a page nobody has visited: its host | [`host`] |
//! | how far may a single page's record be believed? | `trust` |
//! | by chance, by the clock or in bursts, and how fresh are copies then? | [`regularity`] |
//! | visits at one regular interval, as counts | [`mod@regular`] |
//! | visits at any intervals, most likely rate | [`mod@irregular`] |
//! | visits with `Last-Modified` dates | [`last_modified`] |
//! | how far off may a rate be? | [`mod@confidence`] |
//! | daily, weekly or monthly? | [`bayes`] |
//! | is Poisson good enough, and if not, which law? | [`shape`] |
//! | does it change by the clock? | [`clock`] |
//! | what does the site say itself, and is it right? | [`hints`] |
//!
//! Rates are changes per day. Every estimator answers for what it cannot know with `None` or with
//! its prior, never with NaN or infinity.

pub mod bayes;
pub mod clock;
pub mod confidence;
pub mod hints;
pub mod host;
pub mod irregular;
pub mod last_modified;
pub mod online;
pub mod regular;
pub mod regularity;
pub mod shape;
mod trust;

pub use bayes::{Classes, ClassesError};
pub use clock::Clock;
pub use confidence::confidence;
pub use host::HostPrior;
pub use irregular::{IntervalSummary, irregular};
pub use last_modified::LastModified;
pub use online::{Estimate, LearningSettings, Prior};
pub use regular::{naive, regular};
pub use regularity::Regularity;
pub use shape::{Gaps, Law, fit};
pub use trust::Trust;

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
        Self {
            interval,
            changed,
            modified_ago: None,
        }
    }

    /// Adds the age that the `Last-Modified` date gives the page.
    #[must_use]
    pub const fn modified(self, ago: Duration) -> Self {
        Self {
            modified_ago: Some(ago),
            ..self
        }
    }
}
