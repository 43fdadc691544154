//! How figures went over time, in bounded memory: when there is no room left, every other point
//! goes and those to come are twice as far apart.

use serde::Serialize;

/// How many points are kept: a chart is not wider.
const MOST: usize = 240;

/// The figures at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The moment, on the log's timeline.
    pub time_s: f64,
    /// The freshness, as the monitor estimates it.
    pub freshness: Option<f64>,
    /// The freshness, as the probe reported it last.
    pub reported: Option<f64>,
    /// The best for the probe's budget, as it reported it last.
    pub optimum: Option<f64>,
    /// Fetches a minute in the time since the point before.
    pub fetches_per_minute: f64,
}

/// The points so far.
#[derive(Clone, Debug)]
pub struct TimeSeries {
    points: Vec<SeriesPoint>,
    step: f64,
    next: f64,
    fetches: u64,
    since: f64,
}

impl Default for TimeSeries {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            step: 1.0,
            next: 1.0,
            fetches: 0,
            since: 0.0,
        }
    }
}

impl TimeSeries {
    /// Whether it is time for another point.
    pub fn is_due(&self, time_s: f64) -> bool {
        time_s >= self.next
    }

    /// Adds a point; `fetches` is the count so far.
    pub fn add(&mut self, time_s: f64, fetches: u64, shares: [Option<f64>; 3]) {
        let [freshness, reported, optimum] = shares;
        let elapsed = (time_s - self.since).max(1e-3);
        let fetches_per_minute = 60.0 * (fetches - self.fetches.min(fetches)) as f64 / elapsed;
        self.points.push(SeriesPoint {
            time_s,
            freshness,
            reported,
            optimum,
            fetches_per_minute,
        });
        self.since = time_s;
        self.fetches = fetches;
        if self.points.len() >= MOST {
            self.thin_out();
        }
        self.next = time_s + self.step;
    }

    /// The points from old to new.
    pub fn points(&self) -> &[SeriesPoint] {
        &self.points
    }

    fn thin_out(&mut self) {
        self.step *= 2.0;
        let pairs = self.points.chunks(2).map(|pair| match *pair {
            // The later one stands for both, with the fetches of both.
            [first, second] => {
                let fetches_per_minute =
                    0.5 * (first.fetches_per_minute + second.fetches_per_minute);
                SeriesPoint {
                    fetches_per_minute,
                    ..second
                }
            }
            _ => pair[0],
        });
        self.points = pairs.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_takes_no_more_than_a_minute_does() {
        let mut series = TimeSeries::default();
        let mut time = 0.0;
        let mut fetches = 0;
        while time < 365.0 * 86_400.0 {
            time += if time < 1e5 { 1.0 } else { 600.0 };
            fetches += 1;
            if series.is_due(time) {
                series.add(time, fetches, [Some(0.5), None, None]);
            }
        }
        assert!(
            (MOST / 4..MOST).contains(&series.points().len()),
            "{}",
            series.points().len()
        );
        assert!(series.points().is_sorted_by(|a, b| a.time_s < b.time_s));
    }
}
