//! How often a probe reports, and how long it waits before it tries again.

use dunlin::math::split_mix;
use dunlin::time::{Duration, Instant};

/// The longest time between two reports.
pub const REPORT: Duration = Duration::from_secs(900);
/// Nothing is done more often than this.
const LEAST: Duration = Duration::from_secs(1);
/// Who may fetch reports again after this time, if nothing has answered: a planner that is there
/// answers within seconds.
const ANSWERED_WITHIN: Duration = Duration::from_secs(16);
/// A budget that fell by more than this share is acknowledged at once: others wait for that part.
const WORTH_ACKNOWLEDGING: f32 = 0.005;
/// The longest pause before the broker is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest time in which nothing is said to the broker.
const LONGEST_SILENCE: Duration = Duration::from_secs(600);
/// Pauses double so often.
const DOUBLINGS: u32 = 10;

/// The pace of a probe of a fleet: when it reports, and when it tries the broker again.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The length of a lease, as the planner last said.
    lease: Duration,
    /// Attempts in a row that failed.
    failed: u32,
    /// Reports in a row that nobody has answered with something to be fetched …
    unanswered: u32,
    /// … while there was a lease, or while there was none.
    is_leased: bool,
    /// When the last report was made, …
    reported: Instant,
    /// … and when the next one is due.
    next: Instant,
    /// Is the next report made to acknowledge a smaller budget …
    is_to_acknowledge: bool,
    /// … and was the last one?
    has_acknowledged: bool,
    random: u64,
}

impl Pace {
    /// Before anything was granted, leases are taken to be this long, and a report is due at once.
    /// Probes with different seeds try at different times.
    pub fn new(lease: Duration, seed: u32) -> Self {
        Self {
            lease,
            failed: 0,
            unanswered: 0,
            is_leased: false,
            reported: Instant::ZERO,
            next: Instant::ZERO,
            is_to_acknowledge: false,
            has_acknowledged: false,
            random: seed.into(),
        }
    }

    /// The time between two reports: a lease survives three that are lost.
    fn period(&self) -> Duration {
        (self.lease / 4).min(REPORT).max(LEAST)
    }

    /// When the next report is due.
    pub fn next_report(&self) -> Instant {
        self.next
    }

    /// The next report is due at once.
    pub fn report_soon(&mut self) {
        self.next = Instant::ZERO;
    }

    /// A report was made: until it is answered, it is repeated after pauses that double; the first
    /// one is short as long as there is nothing that may be fetched.
    pub fn reported(&mut self, is_leased: bool, now: Instant) {
        if self.is_leased != is_leased {
            self.is_leased = is_leased;
            self.unanswered = 0;
        }
        let first = match is_leased {
            true => ANSWERED_WITHIN,
            false => LEAST,
        };
        let pause = doubled(first, self.unanswered).min(self.period());
        self.unanswered = self.unanswered.saturating_add(1);
        self.reported = now;
        self.next = now + pause;
        self.has_acknowledged = core::mem::take(&mut self.is_to_acknowledge);
    }

    /// A lease was granted with so many fetches a day, where there were so many before; it is an
    /// answer if it answers the last report, and something may be fetched under it. Who may fetch
    /// nothing, or has still to take the list, goes on asking, ever less often.
    pub fn granted(
        &mut self,
        lease: Duration,
        is_answer: bool,
        (before, budget): (f32, f32),
        now: Instant,
    ) {
        self.lease = lease;
        if is_answer {
            self.unanswered = 0;
            self.next = self.reported + self.period();
        } else {
            self.next = self.next.min(now + self.period());
        }
        // Once between two reports, whatever a planner grants.
        let has_fallen = budget < before * (1.0 - WORTH_ACKNOWLEDGING);
        if has_fallen && !self.has_acknowledged {
            self.is_to_acknowledge = true;
            self.next = self.next.min(now + LEAST);
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

    fn now() -> Instant {
        Instant::ZERO + Duration::from_secs(10_000)
    }

    /// Seconds from one report to the next one.
    fn wait(pace: &mut Pace, is_leased: bool) -> u64 {
        pace.reported(is_leased, now());
        (pace.next_report() - now()).as_secs()
    }

    #[test]
    fn a_lease_survives_lost_reports_and_a_day_has_few() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        assert_eq!(pace.period(), REPORT);
        let mut period_of = |lease| {
            pace.reported(true, now());
            pace.granted(lease, true, (1.0, 1.0), now());
            (pace.next_report() - now()).as_secs()
        };
        assert_eq!(period_of(Duration::from_secs(20)), 5);
        assert_eq!(period_of(Duration::DAY), 900);
        assert_eq!(period_of(Duration::ZERO), 1);
    }

    #[test]
    fn who_has_no_lease_reports_soon_again_but_not_for_ever() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        let waits: [u64; 12] = core::array::from_fn(|_| wait(&mut pace, false));
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
        pace.granted(Duration::HOUR, true, (0.0, 5.0), now());
        assert_eq!(wait(&mut pace, false), 1);
        // Who is granted nothing does not begin again for that.
        pace.granted(Duration::HOUR, false, (0.0, 0.0), now());
        assert_eq!(wait(&mut pace, false), 2);
        pace.granted(Duration::HOUR, true, (0.0, 5.0), now());
        assert_eq!(wait(&mut pace, false), 1);
    }

    #[test]
    fn a_report_that_nobody_answers_is_repeated_long_before_the_lease_ends() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        let waits: [u64; 8] = core::array::from_fn(|_| wait(&mut pace, true));
        assert_eq!(waits, [16, 32, 64, 128, 256, 512, 900, 900]);
        // Whose lease has ended begins with short pauses.
        assert_eq!(wait(&mut pace, false), 1);
        pace.granted(Duration::HOUR, true, (5.0, 5.0), now());
        assert_eq!(wait(&mut pace, true), 16);
        // Answered: the next one follows its period after the last, whenever the answer came.
        let later = now() + Duration::from_secs(40);
        pace.granted(Duration::HOUR, true, (5.0, 6.0), later);
        assert_eq!(pace.next_report(), now() + REPORT);
    }

    #[test]
    fn a_smaller_budget_is_acknowledged_at_once_but_once_only() {
        let mut pace = Pace::new(Duration::HOUR, 1);
        let soon = now() + Duration::from_secs(1);
        pace.reported(true, now());
        pace.granted(Duration::HOUR, true, (100.0, 99.6), now());
        assert_eq!(pace.next_report(), now() + REPORT, "not worth a message");
        pace.granted(Duration::HOUR, true, (100.0, 90.0), now());
        assert_eq!(pace.next_report(), soon);
        // A planner that takes ever more gets no more messages for it.
        pace.reported(true, soon);
        pace.granted(Duration::HOUR, true, (90.0, 80.0), soon);
        assert_eq!(pace.next_report(), soon + REPORT);
        pace.reported(true, soon + REPORT);
        pace.granted(Duration::HOUR, true, (80.0, 70.0), soon + REPORT);
        assert_eq!(pace.next_report(), soon + REPORT + LEAST);
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
