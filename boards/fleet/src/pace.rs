//! How often a probe reports, and how long it waits before it tries again.

use dunlin::math::split_mix;
use dunlin::time::Duration;

/// The longest time between two reports.
pub const REPORT: Duration = Duration::from_secs(900);
/// Nothing is done more often than this.
const LEAST: Duration = Duration::from_secs(1);
/// The longest pause before the broker is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest time in which nothing is said to the broker.
const LONGEST_SILENCE: Duration = Duration::from_secs(600);
/// Pauses double so often.
const DOUBLINGS: u32 = 10;

/// The pace of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The length of a lease, as the planner last said.
    lease: Duration,
    /// Attempts in a row that failed.
    failed: u32,
    /// Reports in a row that nobody has answered with something to be fetched.
    unanswered: u32,
    random: u64,
}

impl Pace {
    /// Before anything was granted, leases are taken to be this long. Probes with different seeds
    /// try at different times.
    pub(crate) fn new(lease: Duration, seed: u32) -> Self {
        Self {
            lease,
            failed: 0,
            unanswered: 0,
            random: seed.into(),
        }
    }

    /// The time between two reports: a lease survives three that are lost.
    pub(crate) fn period(&self) -> Duration {
        (self.lease / 4).min(REPORT).max(LEAST)
    }

    /// How long after a report the next one follows: soon, as long as there is
    /// nothing that may be fetched.
    pub(crate) fn reported(&mut self, is_leased: bool) -> Duration {
        if is_leased {
            self.unanswered = 0;
            return self.period();
        }
        let pause = doubled(LEAST, self.unanswered).min(self.period());
        self.unanswered = self.unanswered.saturating_add(1);
        pause
    }

    /// A lease was granted, under which something may be fetched or nothing.
    pub(crate) fn granted(&mut self, lease: Duration, is_worth_something: bool) {
        self.lease = lease;
        if is_worth_something {
            self.unanswered = 0;
        }
    }

    /// The broker can be reached again.
    pub(crate) fn joined(&mut self) {
        self.failed = 0;
    }

    /// How long to wait before the next attempt: from half to one and a half times a pause that
    /// doubles with each failure.
    pub(crate) fn failed(&mut self) -> Duration {
        let pause = doubled(LEAST, self.failed).min(LONGEST_PAUSE.min(self.period()));
        self.failed = self.failed.saturating_add(1);
        let share = split_mix(&mut self.random) % 1_024 + 512;
        Duration::from_micros(pause.as_micros().saturating_mul(share) / 1_024)
    }

    /// After how many seconds of silence the broker is asked whether it is there.
    pub(crate) fn keep_alive(&self) -> u16 {
        let silence = (self.lease / 2).min(LONGEST_SILENCE);
        silence.as_secs().clamp(5, 600) as u16
    }
}

fn doubled(pause: Duration, times: u32) -> Duration {
    pause * (1 << times.min(DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_survives_lost_reports_and_a_day_has_few() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        assert_eq!(pace.period(), REPORT);
        pace.granted(Duration::from_secs(20), true);
        assert_eq!(pace.period(), Duration::from_secs(5));
        pace.granted(Duration::DAY, true);
        assert_eq!(pace.period(), REPORT);
        pace.granted(Duration::ZERO, true);
        assert_eq!(pace.period(), LEAST);
    }

    #[test]
    fn who_has_no_lease_reports_soon_again_but_not_for_ever() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        let waits: [u64; 12] = core::array::from_fn(|_| pace.reported(false).as_secs());
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        assert_eq!(pace.reported(true), REPORT);
        assert_eq!(pace.reported(false).as_secs(), 1);
        // Who is granted nothing does not begin again for that.
        pace.granted(Duration::HOUR, false);
        assert_eq!(pace.reported(false).as_secs(), 2);
        pace.granted(Duration::HOUR, true);
        assert_eq!(pace.reported(false).as_secs(), 1);
    }

    #[test]
    fn pauses_grow_up_to_a_minute_and_differ_between_probes() {
        let mut one = Pace::new(Duration::HOUR, 1);
        let mut other = Pace::new(Duration::HOUR, 2);
        let mut differ = false;
        for _ in 0..100 {
            let pause = one.failed();
            let elsewhere = other.failed();
            assert!(pause <= LONGEST_PAUSE * 2 && pause >= LEAST / 2);
            differ |= pause != elsewhere;
        }
        assert!(differ);
        one.joined();
        assert!(one.failed() < LEAST * 2);
    }
}
