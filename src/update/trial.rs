//! When a new firmware has shown what it can.

use crate::time::Duration;

/// What a firmware on trial has to show, and in what time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Pages that were answered.
    pub fetches: u32,
    /// The least time up.
    pub least: Duration,
    /// The most time up: then it gives itself up, and the old one comes back.
    pub most: Duration,
}

impl Terms {
    /// Three good fetches and two minutes, within ten.
    pub const DEFAULT: Self = Self {
        fetches: 3,
        least: Duration::from_secs(120),
        most: Duration::from_secs(600),
    };

    /// What becomes of it, by its time up, the pages that were answered, and whether a good
    /// manifest was fetched since it started: a firmware that cannot do that could not be updated
    /// any more.
    #[must_use]
    pub fn judge(&self, up: Duration, answered: u32, manifest: bool) -> TrialStatus {
        if up >= self.least && answered >= self.fetches && manifest {
            TrialStatus::Confirm
        } else if up < self.most {
            TrialStatus::Wait
        } else if answered < self.fetches {
            TrialStatus::NoPages
        } else {
            TrialStatus::NoServer
        }
    }
}

/// What becomes of a firmware on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TrialStatus {
    /// It is not known yet.
    Wait,
    /// The firmware stays.
    Confirm,
    /// The firmware goes: too few pages were answered.
    NoPages,
    /// The firmware goes: it did not reach the update server.
    NoServer,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_have_to_be_shown_in_time() {
        let judge = |seconds, answered, manifest| {
            Terms::DEFAULT.judge(Duration::from_secs(seconds), answered, manifest)
        };
        assert_eq!(judge(119, 100, true), TrialStatus::Wait);
        assert_eq!(judge(120, 2, true), TrialStatus::Wait);
        assert_eq!(judge(120, 3, false), TrialStatus::Wait);
        assert_eq!(judge(120, 3, true), TrialStatus::Confirm);
        assert_eq!(judge(599, 0, false), TrialStatus::Wait);
        assert_eq!(judge(600, 2, true), TrialStatus::NoPages);
        assert_eq!(judge(600, 3, false), TrialStatus::NoServer);
        assert_eq!(judge(600, 3, true), TrialStatus::Confirm);
    }
}
