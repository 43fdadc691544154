//! By which law does a page change, and how well does the law explain what was seen?

use dunlin::learn::{Clock, Gaps, Law, Visit, fit};
use dunlin::time::{Duration, Instant};
use serde::Serialize;

use super::History;

/// Fewer gaps between changes tell no law from another.
const FEWEST_GAPS: usize = 10;
/// A visit finds the last change only, and one without a date is placed in the middle between two
/// visits. That is near enough for a law if visits find a change no more often than this,
const MOST_CHANGED: f64 = 0.1;
/// and for a time of day, which is judged by the hour, if they are no farther apart than this.
const HOURLY: Duration = Duration::HOUR;
/// The largest distance between what was seen and an exponential law whose mean is fitted, once in
/// a hundred histories that do follow it (Stephens 1974). Weibull and Pareto have a shape besides,
/// which is fitted, too, and brings them nearer: of those, fewer than one in a hundred are refused.
const CRITICAL: f64 = 1.308;
/// Updates by the clock explain a page if so many of its changes come in their hours.
const BY_CLOCK: f64 = 0.9;

/// The law of change that fits a page's history best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// As `model` in PAGES.csv.
    pub model: &'static str,
    /// The law's mean rate.
    pub changes_per_day: f64,
    /// The law's shape, for Weibull and Pareto.
    pub shape: Option<f64>,
    /// For a page that keeps to the clock: as `updates` in PAGES.csv.
    pub updates: Option<String>,
    /// Gaps between changes that it was fitted to.
    pub gaps: usize,
    /// How far the gaps are from Poisson in standard deviations: burstier above 0, steadier below.
    pub deviation: f64,
    /// `good`, `poor` if one history of such pages in a hundred fits as badly (for Weibull and
    /// Pareto, fewer), or `few` where ten gaps are not there to judge by. Updates by the clock are
    /// good if nine changes in ten come in their hours.
    pub fit: &'static str,
}

/// The law of a page; `None` where the visits cannot tell when it changed, or it changed less than
/// twice.
pub fn fitted(history: &History) -> Option<Fitted> {
    let changes = changes(history)?;
    let gaps: Vec<f64> = (changes.windows(2))
        .map(|pair| (pair[1] - pair[0]) / 86_400.0)
        .filter(|gap| *gap > 0.0)
        .collect();
    let law = fit(&gaps)?;
    let mut summary = Gaps::new();
    gaps.iter().for_each(|gap| summary.add(*gap));
    let deviation = summary.deviation();
    let count = gaps.len();
    if let Some((updates, share)) = clockwork(history, &changes) {
        return Some(Fitted {
            model: "quasi",
            changes_per_day: law.rate(),
            shape: None,
            updates: Some(updates),
            gaps: count,
            deviation,
            fit: if share < BY_CLOCK { "poor" } else { "good" },
        });
    }
    let (model, shape) = match law {
        Law::Poisson { .. } => ("poisson", None),
        Law::Weibull { shape, .. } => ("weibull", Some(shape)),
        Law::Pareto { shape, .. } => ("pareto", Some(shape)),
    };
    let fit = if count < FEWEST_GAPS {
        "few"
    } else if distance(&gaps, &law) > CRITICAL {
        "poor"
    } else {
        "good"
    };
    Some(Fitted {
        model,
        changes_per_day: law.rate(),
        shape,
        updates: None,
        gaps: count,
        deviation,
        fit,
    })
}

/// When the page changed, in seconds; `None` if the visits leave that open.
fn changes(history: &History) -> Option<Vec<f64>> {
    let found = history.visits.iter().filter(|visit| visit.changed).count();
    let dated = all_dated(history);
    if found as f64 > MOST_CHANGED * history.visits.len() as f64 {
        return None;
    }
    let times = history.timed().filter(|(_, visit)| visit.changed);
    let times = times.map(|(at, visit)| {
        let ago = match visit.modified_ago {
            Some(ago) if dated => ago,
            _ => visit.interval / 2,
        };
        at - ago.as_secs_f64()
    });
    Some(times.collect())
}

/// Does every change have a date of its own? A page that is made anew for each visitor gives the
/// time of the visit, which says nothing.
fn all_dated(history: &History) -> bool {
    let changed = || history.visits.iter().filter(|visit| visit.changed);
    let date = |visit: &Visit| visit.modified_ago.filter(|ago| *ago <= visit.interval);
    let ago = changed()
        .filter_map(date)
        .fold(Duration::ZERO, |sum, ago| sum + ago);
    let all = changed().fold(Duration::ZERO, |sum, visit| sum + visit.interval);
    changed().all(|visit| date(visit).is_some()) && ago >= all / 100
}

/// A time of day in the largest unit that needs no fraction.
fn whole(offset: Duration) -> String {
    let seconds = offset.as_micros() / 1_000_000;
    match seconds {
        _ if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// Updates by the clock, if the page keeps to it and times of day are known well enough, and the
/// share of the changes that come in their hours.
fn clockwork(history: &History, changes: &[f64]) -> Option<(String, f64)> {
    let fine = history
        .visits
        .iter()
        .filter(|visit| visit.changed)
        .all(|visit| visit.interval <= HOURLY);
    if !fine && !all_dated(history) {
        return None;
    }
    let mut clock = Clock::new();
    for change in changes.iter().filter(|at| **at >= 0.0) {
        clock.add(Instant::ZERO + Duration::from_secs_f64(*change));
    }
    let days = (history.last_s() - history.first_s()) / 86_400.0;
    let updates: Vec<(Duration, f32)> = clock.updates(days as f32).collect();
    if !clock.is_pattern() || updates.is_empty() {
        return None;
    }
    let hour = |seconds: f64| (seconds.rem_euclid(86_400.0) / 3_600.0) as u64;
    let named = |at: &&f64| {
        let mut offsets = updates.iter().map(|(offset, _)| offset.as_secs_f64());
        offsets.any(|offset| hour(offset) == hour(**at))
    };
    let share = changes.iter().filter(named).count() as f64 / changes.len() as f64;
    let listed: Vec<String> = updates
        .iter()
        .map(|(offset, probability)| format!("{}:{probability:.2}", whole(*offset)))
        .collect();
    Some((listed.join(";"), share))
}

/// Kolmogorov and Smirnov's distance between the gaps and a law, with Stephens' correction for a
/// fitted exponential, which every one of these laws becomes on a scale of its own.
fn distance(gaps: &[f64], law: &Law<f64>) -> f64 {
    let scaled = |gap: f64| match *law {
        Law::Poisson { rate } => gap * rate,
        Law::Weibull { rate, shape } => {
            let scale = libm::tgamma(1.0 + 1.0 / shape);
            (gap * rate * scale).powf(shape)
        }
        Law::Pareto { rate, shape } => {
            let scale = (shape - 1.0) / rate;
            shape * (gap / scale).ln_1p()
        }
    };
    let mut scaled: Vec<f64> = gaps.iter().map(|gap| scaled(*gap)).collect();
    scaled.sort_unstable_by(f64::total_cmp);
    let count = scaled.len() as f64;
    let worst = scaled
        .iter()
        .enumerate()
        .map(|(rank, gap)| {
            let law = 1.0 - (-gap).exp();
            let below = rank as f64 / count;
            (law - below).abs().max((law - below - 1.0 / count).abs())
        })
        .fold(0.0, f64::max);
    let root = count.sqrt();
    (worst - 0.2 / count) * (root + 0.26 + 0.5 / root)
}
