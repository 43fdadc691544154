//! One page's copy, and the exact books about it.

use super::{Change, Random};

/// A page's copy. Times are days.
#[derive(Clone, Debug)]
pub struct Copy {
    /// When it was fetched; NaN before the first fetch.
    fetched: f64,
    /// The first change after that.
    next_change: f64,
    random: Random,
    /// The days for which it was fresh.
    pub fresh: f64,
    /// Age summed over time, days².
    pub age: f64,
    /// Σ over missed changes of 1/k × days since the k-th.
    pub harmonic: f64,
    /// Changes of the page within the time that is measured, up to the last fetch.
    pub changes: u64,
}

impl Copy {
    /// Before the first fetch.
    pub fn new(change: &Change, mut random: Random) -> Self {
        let next_change = change.first(&mut random);
        Self {
            fetched: f64::NAN,
            next_change,
            random,
            fresh: 0.0,
            age: 0.0,
            harmonic: 0.0,
            changes: 0,
        }
    }

    /// A fetch at `time`: books the copy that it replaces, and says whether the page had changed.
    pub fn visit(&mut self, change: &Change, time: f64, measured_from: f64) -> bool {
        let changed = self.next_change <= time || self.fetched.is_nan();
        self.account(change, time, measured_from);
        self.fetched = time;
        changed
    }

    /// The first change after the last fetch.
    pub fn next_change(&self) -> f64 {
        self.next_change
    }

    /// The days of the present copy that were fresh and measured, so far.
    pub fn fresh_span(&self, until: f64, measured_from: f64) -> (f64, f64) {
        (self.fetched.max(measured_from), self.next_change.min(until))
    }

    /// Books all that happened from the last fetch (or the start of measuring) until `until`, and
    /// moves on to the first change after that.
    pub fn account(&mut self, change: &Change, until: f64, measured_from: f64) {
        let held = !self.fetched.is_nan();
        let (from, to) = self.fresh_span(until, measured_from);
        if held && until > from {
            self.fresh += (to - from).max(0.0);
            let stale = |time: f64| (time - self.next_change).max(0.0);
            self.age += 0.5 * (stale(until).powi(2) - stale(from).powi(2));
        }
        let mut missed = 0.0;
        while self.next_change <= until {
            missed += 1.0;
            if held {
                self.harmonic += (until - self.next_change.max(measured_from)).max(0.0) / missed;
            }
            self.changes += u64::from(self.next_change >= measured_from);
            self.next_change = change.after(self.next_change, &mut self.random);
        }
    }
}
