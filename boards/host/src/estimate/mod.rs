//! How often does a page change, from what visits to it found?

mod history;
mod law;

use dunlin::learn::{
    Classes, Estimate, LastModified, LearningSettings, Prior, confidence, irregular, naive, regular,
};
use dunlin::time::Duration;
use serde::Serialize;

use crate::duration;
pub use history::History;
pub use law::{Fitted, fitted};

/// What is known of one page; the contract of `--format json`. `None` where the data cannot tell.
#[derive(Clone, Debug, Serialize)]
pub struct Estimated<'a> {
    /// As in the history.
    pub url: &'a str,
    /// How many visits the history has, the first included.
    pub visits: usize,
    /// Visits after the first that found a change.
    pub changes: u32,
    /// The changes that were seen, over the time from the first visit to the last.
    pub naive: Option<f64>,
    /// The rate from visits at one interval (Cho 6.4.2).
    pub regular: Option<f64>,
    /// The rate from visits at any intervals (Cho 6.4.3).
    pub irregular: Option<f64>,
    /// The rate from the dates of the changes (Cho 6.5).
    pub last_modified: Option<f64>,
    /// As the probe itself has it.
    pub online: Option<f32>,
    /// The true rate is above it …
    pub low: Option<f64>,
    /// … and below it, with 95 % confidence.
    pub high: Option<f64>,
    /// The class of change rates that the visits make likeliest.
    pub class: Option<String>,
    /// How likely that is.
    pub class_probability: Option<f64>,
    /// By which law it changes.
    pub law: Option<Fitted>,
}

/// Estimates a page's rate from its history, and the likeliest of these times between two changes.
pub fn estimate<'a>(history: &'a History, classes: &[Duration]) -> Estimated<'a> {
    let visits = &history.visits;
    let count = u32::try_from(visits.len()).unwrap_or(u32::MAX);
    let changes = visits.iter().filter(|visit| visit.changed).count() as u32;
    let watched = visits
        .iter()
        .fold(Duration::ZERO, |sum, visit| sum + visit.interval);
    let days: f64 = watched.as_days();
    let interval = confidence::<f64>(visits.iter().copied());
    let class = classify(history, classes);
    Estimated {
        url: &history.url,
        visits: visits.len() + 1,
        changes,
        naive: naive(changes, days),
        regular: regular(count, changes, days / f64::from(count)),
        irregular: irregular(visits.iter().copied()),
        last_modified: last_modified(history),
        online: online(history, watched / u64::from(count)),
        low: interval.map(|interval| interval.0),
        high: interval.and_then(|interval| interval.1),
        class: class.map(|(class, _)| duration::format(class)),
        class_probability: class.map(|(_, probability)| probability),
        law: fitted(history),
    }
}

/// The likeliest class, by the time between two changes, and its probability.
fn classify(history: &History, classes: &[Duration]) -> Option<(Duration, f64)> {
    if history.visits.iter().all(|visit| visit.interval.is_zero()) {
        return None;
    }
    let rates: Vec<f64> = (classes.iter())
        .map(|class| 1.0 / class.as_days::<f64>())
        .collect();
    let mut weights = vec![0.0; rates.len()];
    let mut page = Classes::new(&rates, &mut weights).ok()?;
    history.visits.iter().for_each(|visit| page.update(visit));
    let likeliest = page.likeliest();
    Some((*classes.get(likeliest)?, page.probability(likeliest)))
}

/// The rate from dates, if there are any and no change lacks one.
fn last_modified(history: &History) -> Option<f64> {
    let mut dates = LastModified::new();
    let complete = history.visits.iter().all(|visit| dates.update(visit));
    let any = history
        .visits
        .iter()
        .any(|visit| visit.modified_ago.is_some());
    (complete && any).then(|| dates.rate()).flatten()
}

/// As the probe would have it, started from the usual interval between the visits. Says nothing if
/// no time passed.
fn online(history: &History, usual: Duration) -> Option<f32> {
    if history.first_modified_ago.is_none()
        && history.visits.iter().all(|visit| visit.interval.is_zero())
    {
        return None;
    }
    let mut page = Estimate::new(&if history.visits.is_empty() {
        Prior::DEFAULT
    } else {
        Prior::from_interval(usual)
    });
    if let Some(ago) = history.first_modified_ago {
        page.first_visit(ago);
    }
    history
        .visits
        .iter()
        .for_each(|visit| page.update(visit, &LearningSettings::DEFAULT));
    Some(page.rate())
}
