//! What the log tells about one page.

use dunlin::learn::{Estimate, LearningSettings, Prior, Regularity, Visit};
use dunlin::time::Duration;

use super::names::PageName;

/// How much the latest interval counts for the usual one.
const LATEST: f64 = 0.3;
const DAY: f64 = 86_400.0;

/// One page, as far as the log has told.
#[derive(Clone, Debug, Default)]
pub struct PageStats {
    /// Answers so far, whatever they said.
    pub visits: u64,
    /// New versions found; the first one seen is not a change.
    pub changes: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// Turns that robots rules forbade.
    pub denied: u64,
    /// The last answer's status, or none after a failure.
    pub status: Option<u16>,
    /// The last answer was a redirect that is not followed: `https` if the probe cannot reach it
    /// for want of TLS, or `astray`.
    pub astray: Option<&'static str>,
    /// When it last answered, on the log's timeline in seconds.
    pub last_visit: Option<f64>,
    /// When a change was last found.
    pub last_change: Option<f64>,
    /// The usual time between two answers, in seconds.
    usual: Option<f64>,
    belief: Option<Estimate>,
    /// Was the last answer the same as the one before, if they could be compared?
    was_unchanged: Option<bool>,
    /// A count that goes up with whatever happens to the page: then it has to be shown again.
    pub revision: u64,
}

impl PageStats {
    /// Takes in an answer that came at `time`, and whether it was another version than before: a
    /// first one has nothing to differ from. All pages tell together how regularly they change.
    pub fn visited(
        &mut self,
        all: &mut Regularity,
        name: Option<&PageName>,
        time: f64,
        status: u16,
        changed: Option<bool>,
    ) {
        if let Some(last) = self.last_visit {
            let interval = (time - last).max(0.0);
            self.usual = Some(
                self.usual
                    .map_or(interval, |usual| usual + LATEST * (interval - usual)),
            );
            let span = Duration::from_secs_f64(interval);
            let prior = name
                .and_then(|name| name.prior)
                .unwrap_or_else(|| Prior::from_interval(span));
            let belief = self.belief.get_or_insert_with(|| Estimate::new(&prior));
            if let Some(changed) = changed {
                if let Some(was_unchanged) = self.was_unchanged {
                    let expected = changes(belief, interval / DAY);
                    all.follow(was_unchanged, expected as f32, changed);
                }
                belief.update(&Visit::new(span, changed), &LearningSettings::DEFAULT);
            }
        }
        self.was_unchanged = changed.map(|changed| !changed);
        if changed == Some(true) {
            self.changes += 1;
            self.last_change = Some(time);
        }
        self.visits += 1;
        self.status = Some(status);
        self.astray = None;
        self.last_visit = Some(time);
    }

    /// Changes a day, from the visits the log tells of; `None` before the second one.
    pub fn rate(&self) -> Option<f64> {
        self.belief.map(|belief| f64::from(belief.rate()))
    }

    /// Probability that the copy of the last visit is still good at `time`; 0 before the first
    /// visit.
    pub fn fresh(&self, all: &Regularity, time: f64) -> f64 {
        let Some(last) = self.last_visit else {
            return 0.0;
        };
        let (Some(belief), Some(usual)) = (&self.belief, self.usual) else {
            return 1.0;
        };
        let since = (time - last).max(0.0);
        let by_chance = fresh(belief, since / DAY);
        if usual <= 0.0 {
            return by_chance;
        }
        let unchanged = fresh(belief, usual / DAY) as f32;
        f64::from(all.fresh(unchanged, (since / usual) as f32, by_chance as f32))
    }

    /// When its next turn is likely to come: as long after the last one as is usual for it. The
    /// probe alone knows exactly.
    pub fn due(&self) -> Option<f64> {
        self.last_visit
            .zip(self.usual)
            .map(|(last, usual)| last + usual)
    }
}

/// The chance that nothing has happened in so many days, averaged over what the rate may be. See
/// `dunlin::scheduler`.
fn fresh(belief: &Estimate, days: f64) -> f64 {
    libm::exp(-changes(belief, days))
}

/// As many changes of a page whose rate is known leave it unchanged as often.
fn changes(belief: &Estimate, days: f64) -> f64 {
    f64::from(belief.shape()) * libm::log1p(days / f64::from(belief.time()))
}
