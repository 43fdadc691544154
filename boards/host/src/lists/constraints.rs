//! What the list says of single pages, as the crate counts it: limits and clocks.

use clap::ValueEnum;
use dunlin::constraints::{ChangeLaw, ClockUpdate, CrawlLimits, Updates};
use dunlin::model::Objective;
use dunlin::time::Duration;
use serde::Serialize;

use super::pages::{ListedChange, ListedPage};
use crate::duration;
use crate::error::Error;

/// The longest interval that an image can state: it counts milliseconds in 32 bits.
const LONGEST_INTERVAL: Duration = Duration::from_secs(49 * 86_400);

/// How often a page may and has to be visited.
pub fn limits(page: &ListedPage, interval: Duration) -> CrawlLimits {
    match page.every {
        Some(every) => CrawlLimits::every(every),
        None if page.min == 0 && page.max.is_none() => CrawlLimits::NONE,
        None => CrawlLimits {
            min: page.min,
            max: page.max,
            interval,
        },
    }
}

/// The bytes of the updates of a page that changes by the clock; see [`ClockUpdate::to_bytes`].
///
/// # Errors
/// An update that lies beyond the interval.
pub fn clock(page: &ListedPage, interval: Duration) -> Result<Option<Vec<u8>>, Error> {
    let ListedChange::Quasi { updates } = &page.change else {
        return Ok(None);
    };
    if let Some(late) = updates.iter().find(|update| update.offset >= interval) {
        return Err(Error::Usage(format!(
            "{}: found an update at {} s, expected one within the interval of {} s",
            page.url,
            late.offset.as_secs_f64(),
            interval.as_secs_f64()
        )));
    }
    let bytes = |update: &super::pages::ListedUpdate| {
        ClockUpdate {
            offset: update.offset,
            probability: update.probability as f32,
        }
        .to_bytes()
    };
    Ok(Some(updates.iter().flat_map(bytes).collect()))
}

/// The law of a page, if it is not a Poisson law; `clock` has its updates.
pub fn law<'a>(
    page: &ListedPage,
    interval: Duration,
    clock: Option<&'a [u8]>,
) -> Option<ChangeLaw<'a>> {
    match page.change {
        ListedChange::Poisson { .. } => None,
        ListedChange::Weibull { shape, .. } => Some(ChangeLaw::Weibull {
            shape: shape as f32,
        }),
        ListedChange::Pareto { shape, .. } => Some(ChangeLaw::Pareto {
            shape: shape as f32,
        }),
        ListedChange::Quasi { .. } => Some(ChangeLaw::Quasi {
            interval,
            updates: Updates::from_bytes(clock.unwrap_or_default()),
        }),
    }
}

/// The interval that `min`, `max` and `updates` are counted in.
///
/// # Errors
/// What is wrong with it.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = duration::parse(text)?;
    let sound = Duration::from_secs(1)..=LONGEST_INTERVAL;
    if sound.contains(&interval) {
        return Ok(interval);
    }
    Err("expected an interval from 1s to 49d, such as 24h".into())
}

/// What a crawl is to keep small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The share of time that copies are stale
    #[default]
    Freshness,
    /// How long copies have been stale; gives no page up
    Age,
}

impl Goal {
    /// As written on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl From<Goal> for Objective {
    fn from(goal: Goal) -> Self {
        match goal {
            Goal::Freshness => Self::Freshness,
            Goal::Age => Self::Age,
        }
    }
}
