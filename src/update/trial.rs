//! When a new firmware has shown what it can.

use crate::time::Duration;

/// What a firmware on trial has to show, and in what time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Pages that were answered well.
    pub fetches: u32,
    /// The least time up.
    pub least: Duration,
    /// The most time up: then it gives itself up, and the old one comes back.
    pub most: Duration,
}

/// What a firmware on trial has shown since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Pages that were answered with a body, or with 304.
    pub good: u32,
    /// Pages that were answered at all: a 404 proves that something was asked for, not that it was
    /// the right thing.
    pub answered: u32,
    /// Pages that were not answered.
    pub failed: u32,
    /// A good manifest was fetched, and the server still answers: a firmware that cannot do that could
    /// not be updated any more.
    pub manifest: bool,
}

impl Shown {
    /// Pages that were asked for in vain. A redirect is on the way to something good, but without
    /// anything good, no answer counts.
    fn bad(&self) -> u32 {
        match self.good {
            0 => self.failed + self.answered,
            _ => self.failed,
        }
    }
}

impl Terms {
    /// The most time up where too few pages are due: a short list, one that is visited seldom, or
    /// hosts that are all outside their hours are no reason to give up what has done nothing wrong.
    /// Allowed hours come once a day.
    pub const PATIENCE: Duration = Duration::from_secs(86_400 + 600);

    /// Three good fetches and two minutes, within ten.
    pub const DEFAULT: Self = Self {
        fetches: 3,
        least: Duration::from_secs(120),
        most: Duration::from_secs(600),
    };

    /// What becomes of it, by its time up and what it has shown.
    ///
    /// A firmware that has asked for fewer pages in the most time than it should, and had each of
    /// them, stays: its list allows no more. One that could not ask for any goes on waiting for the
    /// first, as long as it reaches the update server, and until as many were in vain as have to be
    /// good.
    #[must_use]
    pub fn judge(&self, up: Duration, shown: &Shown) -> TrialStatus {
        let bad = shown.bad();
        if up >= self.least && shown.good >= self.fetches && shown.manifest {
            TrialStatus::Confirm
        } else if up < self.most {
            TrialStatus::Wait
        } else if !shown.manifest && shown.good > 0 {
            TrialStatus::NoServer
        } else if !shown.manifest || bad >= self.fetches || up >= Self::PATIENCE {
            TrialStatus::NoPages
        } else if shown.good > 0 && bad == 0 {
            TrialStatus::Confirm
        } else {
            TrialStatus::Wait
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
    /// The firmware goes: pages were answered, but it did not reach the update server.
    NoServer,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(seconds: u64, shown: Shown) -> TrialStatus {
        Terms::DEFAULT.judge(Duration::from_secs(seconds), &shown)
    }

    /// So many pages, all of them good.
    fn good(good: u32, manifest: bool) -> Shown {
        Shown {
            good,
            answered: good,
            failed: 0,
            manifest,
        }
    }

    #[test]
    fn all_three_have_to_be_shown_in_time() {
        assert_eq!(judge(119, good(100, true)), TrialStatus::Wait);
        assert_eq!(judge(120, good(2, true)), TrialStatus::Wait);
        assert_eq!(judge(120, good(3, false)), TrialStatus::Wait);
        assert_eq!(judge(120, good(3, true)), TrialStatus::Confirm);
        assert_eq!(judge(599, good(0, false)), TrialStatus::Wait);
        assert_eq!(judge(600, good(0, false)), TrialStatus::NoPages);
        // However few pages were due: what is missing is the server.
        assert_eq!(judge(600, good(1, false)), TrialStatus::NoServer);
        assert_eq!(judge(600, good(3, false)), TrialStatus::NoServer);
        assert_eq!(judge(600, good(3, true)), TrialStatus::Confirm);
    }

    #[test]
    fn an_answer_that_is_no_page_is_not_good() {
        for answered in [3, 100] {
            let refused = Shown {
                answered,
                ..good(0, true)
            };
            assert_eq!(judge(599, refused), TrialStatus::Wait, "{answered}");
            assert_eq!(judge(600, refused), TrialStatus::NoPages, "{answered}");
        }
    }

    #[test]
    fn a_list_on_which_little_is_due_does_not_doom_a_good_build() {
        // Three pages at 72 visits a day: the first is due after twenty minutes.
        assert_eq!(judge(600, good(0, true)), TrialStatus::Wait);
        assert_eq!(judge(1_200, good(1, true)), TrialStatus::Confirm);
        assert_eq!(judge(600, good(1, true)), TrialStatus::Confirm);
        let redirected = Shown {
            answered: 4,
            ..good(2, true)
        };
        assert_eq!(judge(600, redirected), TrialStatus::Confirm);
        // One page may be broken; as many as have to be good may not.
        for (failed, expected) in [(1, TrialStatus::Wait), (3, TrialStatus::NoPages)] {
            for shown in [good(0, true), good(2, true)] {
                let failing = Shown { failed, ..shown };
                assert_eq!(judge(600, failing), expected, "{failing:?}");
            }
        }
    }

    #[test]
    fn closed_hours_are_waited_for_by_who_reaches_the_update_server() {
        let night = good(0, true);
        assert_eq!(judge(86_999, night), TrialStatus::Wait);
        assert_eq!(judge(87_000, night), TrialStatus::NoPages);
        assert_eq!(judge(50_000, good(1, true)), TrialStatus::Confirm);
        assert_eq!(judge(600, good(0, false)), TrialStatus::NoPages);
    }
}
