//! What visits to a page found.

use dunlin::learn::Visit;
use dunlin::time::Duration;

/// The visits to one page.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The URL as it stands in the file.
    pub url: String,
    /// The age that the page gave itself at the first visit, which has none before it to compare
    /// with.
    pub first_modified_ago: Option<Duration>,
    /// The visits after the first.
    pub visits: Vec<Visit>,
    last_s: f64,
}

impl History {
    /// A page that was first visited at this time, in seconds.
    pub fn new(url: impl Into<String>, first_s: f64) -> Self {
        Self {
            url: url.into(),
            first_modified_ago: None,
            visits: Vec::new(),
            last_s: first_s,
        }
    }

    /// Adds a visit, not before the last.
    pub fn visit(&mut self, time_s: f64, changed: bool, modified_ago: Option<Duration>) {
        let interval = Duration::from_secs_f64((time_s - self.last_s).max(0.0));
        self.visits.push(Visit {
            interval,
            changed,
            modified_ago,
        });
        self.last_s = self.last_s.max(time_s);
    }

    /// The time of the first visit, in seconds.
    pub fn first_s(&self) -> f64 {
        let watched: f64 = (self.visits.iter())
            .map(|visit| visit.interval.as_secs_f64())
            .sum();
        self.last_s - watched
    }

    /// The time of the last visit, in seconds.
    pub fn last_s(&self) -> f64 {
        self.last_s
    }

    /// The time of each visit after the first, in seconds, with what it found.
    pub fn timed(&self) -> impl Iterator<Item = (f64, &Visit)> {
        self.visits.iter().scan(self.first_s(), |at, visit| {
            *at += visit.interval.as_secs_f64();
            Some((*at, visit))
        })
    }
}
